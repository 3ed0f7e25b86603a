"""PTX special registers in expressions: follow the recipe that ptxas lowers each of them to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpudbg.debug.values.access import read, special_value
from gpudbg.errors import CommandError
from gpudbg.expr.evaluation import LANES, SPECIAL, Place, Result, per_lane
from gpudbg.expr.types import U32, U64
from gpudbg.regs.ptx import Lowering, PtxRegister, Source, find_ptx, nearest_ptx

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.sm.state import WarpState


def read_ptx(inferior: Inferior, warp: WarpState, text: str) -> Result | None:
    """`%tid.x` and the like in 32 lanes; None when no PTX register has this name.

    Raises:
        CommandError: it does not exist on this architecture.
    """
    row = find_ptx(text)
    if row is None:
        near = nearest_ptx(text)
        if near:
            raise CommandError(
                f"no PTX register is called {text}", "did you mean " + ", ".join(near)
            )
        return None
    lowering = _lowering(row, inferior.program.arch)
    words = [_word(inferior, warp, lowering, i) for i in range(_count(lowering))]
    if lowering.by is not None:
        words = [_done(inferior, warp, words[0], *lowering.by)]
    place = _place(lowering)
    if len(words) == 1:
        return per_lane(words[0], U32, place)
    wide = words[0].astype(np.uint64) | words[1].astype(np.uint64) << np.uint64(32)
    return per_lane(wide, U64, place)


def _place(lowering: Lowering) -> Place | None:
    """The special register that code reads for it: the first of those that follow one another."""
    if lowering.source not in (Source.S2R, Source.CS2R):
        return None
    first, *others = lowering.registers
    in_turn = all(number == first + n for n, number in enumerate(others, 1))
    return Place(SPECIAL, first) if in_turn else None


def _lowering(row: PtxRegister, arch: str) -> Lowering:
    lowering = row.lowering(arch)
    if lowering is None:
        needs = f", it needs {row.target}" if row.target else ""
        raise CommandError(f"{row.name} does not exist on {arch}{needs}")
    return lowering


def _count(lowering: Lowering) -> int:
    if lowering.source in (Source.S2R, Source.CS2R):
        return len(lowering.registers)
    return lowering.words


def _word(
    inferior: Inferior, warp: WarpState, lowering: Lowering, index: int
) -> NDArray[np.uint32]:
    if lowering.source is Source.IMMEDIATE:
        value = (lowering.value or 0) >> 32 * index & 0xFFFFFFFF
        return np.full(LANES, value, np.uint32)
    if lowering.source is Source.CONSTANT:
        assert lowering.offset is not None
        return _constant(inferior, warp, lowering.offset + 4 * index)
    number = lowering.registers[index]
    values = special_value(inferior, warp, number, lowering.source is Source.CS2R)
    if lowering.bits is not None:
        field = lowering.bits
        values = (values >> np.uint32(field.lo)) & np.uint32((1 << field.width) - 1)
    if lowering.less is not None:
        values = values - _constant(inferior, warp, lowering.less)
    return values


def _done(
    inferior: Inferior, warp: WarpState, values: NDArray[np.uint32], what: str, number: int
) -> NDArray[np.uint32]:
    """What ptxas's code does with a value and a word of constant bank 0."""
    if what == "equals":
        return np.where(values == np.uint32(number), np.uint32(1), np.uint32(0))
    word = _constant(inferior, warp, number)
    if what == "times":
        factor: NDArray[np.float32] = word.view(np.float32)
        return np.asarray(values.astype(np.float32) * factor, np.uint32)
    if what == "least":
        return np.where(values < word, values, word)
    divisor = np.maximum(word, 1)  # 0 where no launch has written the word
    return values // divisor if what == "over" else values % divisor


def _constant(inferior: Inferior, warp: WarpState, offset: int) -> NDArray[np.uint32]:
    raw = read(inferior, "bank", offset, 4, warp, 0)
    return np.full(LANES, int.from_bytes(raw, "little"), np.uint32)
