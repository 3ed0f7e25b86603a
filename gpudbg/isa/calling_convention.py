"""Registers and barriers of the C ABI, as compiled code keeps them.

*Inferred* from what ptxas keeps in registers across calls of functions that it does not know.
"""

from __future__ import annotations

from typing import Final

STACK_POINTER: Final = 1
RETURN_PAIR: Final = 20
"""First register of the return address in functions of the C ABI, from sm_70 on."""
CALLEE_SAVED: Final = frozenset(
    (STACK_POINTER, 2, *range(16, 20), *range(22, 32), *(n for n in range(32, 255) if n % 8 >= 4))
)
"""Registers that a function gives back as it got them; on sm_50 to sm_62 the `RETURN_PAIR`, too."""
BARRIERS: Final = 1000
"""`FunctionEntry(BARRIERS + n)` is what convergence barrier Bn held."""
FIRST_SAVED_BARRIER: Final = 6
"""Those from here on a function gives back as it got them."""
