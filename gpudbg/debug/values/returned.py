"""What a function has returned: by the ABI of `-G` builds from R4 on, in the caller.

*inferred* from code of NVRTC for sm_52 to sm_90: results of up to 16 bytes lie in R4 and the
registers behind it, structures as they lie in memory; larger ones are not looked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpudbg.dataclass import dataclass
from gpudbg.debug.values.backtrace import Frame
from gpudbg.debug.values.context import WarpContext
from gpudbg.debug.values.variables import known_variables
from gpudbg.expr.evaluation import LANES, Result
from gpudbg.expr.types import CType, Pointer, Scalar
from gpudbg.symbols.debug_variables import EVERYWHERE

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior

FIRST = 4
"""The register that a result begins in."""
MOST_BYTES = 16


@dataclass(frozen=True, slots=True)
class Returned:
    """A result: its bytes in the focused lane; of a number or pointer all 32 values."""

    type: CType
    raw: bytes
    result: Result | None


def result_type(inferior: Inferior, frame: Frame) -> CType | None:
    """The type of what a frame's function returns; None where it is not known, or void."""
    section, offset = inferior.symbols.image.section_offset(frame.pc) or ("", EVERYWHERE)
    function = known_variables(inferior.program).functions.get(section)
    if function is None or frame.inlined or not function.low <= offset < function.high:
        return None
    return function.returns


def returned(inferior: Inferior, type_: CType) -> Returned | None:
    """The result of a function that has just returned; None where it is too large."""
    if not 0 < type_.size <= MOST_BYTES:
        return None
    context = WarpContext(inferior, inferior.focused())
    words = np.zeros((LANES, 4), np.uint32)
    for n in range((type_.size + 3) // 4):
        words[:, n] = context.register(FIRST + n)
    cells = np.ascontiguousarray(words.view(np.uint8)[:, : type_.size])
    raw = cells[inferior.lane].tobytes()
    if not isinstance(type_, Scalar | Pointer):
        return Returned(type_, raw, None)
    dtype = type_.dtype if isinstance(type_, Scalar) else np.dtype(f"u{type_.size}")
    values = cells.view(dtype).reshape(LANES)
    if isinstance(type_, Pointer):
        values = values.astype(np.uint64)
    return Returned(type_, raw, Result(type_, values, np.ones(LANES, bool)))
