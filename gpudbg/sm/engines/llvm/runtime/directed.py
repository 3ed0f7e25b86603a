"""Doubles with directed rounding: the host's own rounding mode, set for one operation.

The mode is a register of the host's thread.  What runs under another mode than to nearest is a
function of its own, with operations that the compiler may not move or fold, and it sets the mode
back: nothing else ever sees it changed.
"""

from __future__ import annotations

from typing import Final

F64 = "<32 x double>"
_MODES: Final = {"RZ": 0, "RP": 2, "RM": 3}
"""Rounding -> argument of `llvm.set.rounding`."""
NEAREST: Final = 1
OPERATIONS: Final = {"dadd": ("fadd", 2), "dmul": ("fmul", 2), "dfma": ("fma", 3)}
"""Operation -> the compiler's name, operands."""

ROUNDINGS: Final = tuple(_MODES)


def symbol(operation: str, rnd: str) -> str:
    """The function of an operation."""
    return f"gpudbg_directed_{operation}_{rnd}"


def directed_functions() -> list[str]:
    """A function for each operation and rounding: vectors in, a vector out."""
    return [
        _function(operation, count, rnd)
        for operation, count in OPERATIONS.values()
        for rnd in _MODES
    ]


def _function(operation: str, count: int, rnd: str) -> str:
    names = [f"%x{n}" for n in range(count)]
    listed = ", ".join(f"{F64} {name}" for name in names)
    return "\n".join(
        [
            f"define private {F64} @{symbol(operation, rnd)}({listed}) noinline strictfp {{",
            f"  call void @llvm.set.rounding(i32 {_MODES[rnd]}) strictfp",
            f"  %r = call {F64} @llvm.experimental.constrained.{operation}.v32f64({listed}, "
            'metadata !"round.dynamic", metadata !"fpexcept.strict") strictfp',
            f"  call void @llvm.set.rounding(i32 {NEAREST}) strictfp",
            f"  ret {F64} %r",
            "}",
        ]
    )
