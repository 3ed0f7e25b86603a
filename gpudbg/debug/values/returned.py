"""What a function has returned: by the ABI of `-G` builds from R4 on, in the caller.

*inferred* from code of NVRTC for sm_52 to sm_90: results of up to 16 bytes lie in R4 and the
registers behind it, structures as they lie in memory; larger ones are not looked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpudbg.bits import lanes_of
from gpudbg.dataclass import dataclass
from gpudbg.debug.values.backtrace import Frame, selected_frame
from gpudbg.debug.values.context import WarpContext
from gpudbg.debug.values.lane_groups import shown_group
from gpudbg.debug.values.variables import known_variables
from gpudbg.errors import CommandError
from gpudbg.expr import evaluate, parse
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


def words_of(inferior: Inferior, expression: str) -> NDArray[np.uint32]:
    """The registers of a result, each in 32 lanes, of a function that is to return an expression.

    Raises:
        CommandError: the selected frame's function has no type of a result, or none of a number.
    """
    type_ = result_type(inferior, selected_frame(inferior))
    unknown = CommandError(
        "return EXPRESSION: which register a function's result is in is not known",
        "set it first (`set var $R4 = 1`), then `return`",
    )
    if not isinstance(type_, Scalar | Pointer) or not 0 < type_.size <= 8:
        raise unknown
    given = evaluate(parse(expression), WarpContext(inferior, inferior.focused()))
    if not isinstance(given.type, Scalar | Pointer):
        raise unknown
    if not given.valid[inferior.lane]:
        raise CommandError(given.why or f"{expression} has no value in the focused lane")
    dtype = type_.dtype if isinstance(type_, Scalar) else np.dtype(np.uint64)
    cells = np.zeros((LANES, 8), np.uint8)
    cells[:, : dtype.itemsize] = given.values.astype(dtype).view(np.uint8).reshape(LANES, -1)
    return cells.view(np.uint32)[:, : (type_.size + 3) // 4]


def give(inferior: Inferior, words: NDArray[np.uint32]) -> None:
    """Put a result where the caller, which the lanes are back in, looks for it."""
    warp = inferior.focused()
    group = shown_group(inferior, warp)
    lanes = list(lanes_of(warp.active if group is None else group.mask))
    warp.note_edit()
    for n in range(words.shape[1]):
        warp.R[FIRST + n][lanes] = words[lanes, n]
