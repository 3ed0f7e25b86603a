"""Branches and register liveness of a long program, computed for the rows that are shown.

`liveness.Liveness` analyses a whole section.  Here only branch instructions are searched for in all
of the code, as arrays of words; whether a register is live is followed from the row asked for, up
to a budget of instructions.  What is not known (a return, a token without a listed target, the end
of the budget) counts as live: the mark says that the value may still be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gpudbg.analysis.liveness import CALLS, always_writes, mark_of, mask_of
from gpudbg.code_layout import layout_of
from gpudbg.errors import DecodeError
from gpudbg.isa.family import Instruction, decode, destination_bit, patterns
from gpudbg.sm.cfg import ENDS, FLOW, INDIRECT, JUMPS, POPS, PUSHES, goes_on

BUDGET: Final = 600
"""Instructions looked at for the marks of one window."""
KEPT: Final = 8
"""Registers whose lives are remembered."""
EVERY: Final = -1
"""All registers, as a mask."""
WITHOUT: Final = FLOW | frozenset(PUSHES) | {"NOP", "BAR", "DEPBAR", "MEMBAR", "BPT"}
"""Instructions that write no register: their low bits say something else."""
WIDEST: Final = 4
"""Most registers that one instruction writes from its first on."""

Words = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]


@lru_cache(maxsize=1 << 14)
def _masks(word: int, arch: str) -> tuple[int, int]:
    """Registers that an instruction reads and may write."""
    try:
        insn = decode(word, arch)
    except DecodeError:
        return 0, 0
    if insn.op in CALLS:
        return EVERY, EVERY
    return mask_of(insn.reads().registers), mask_of(insn.writes().registers)


class LocalLiveness:
    """See the module text; the questions are those that `Liveness` answers.

    Args:
        code: the section, from its first bundle on.
        arch: "sm_50", ...
        known: targets of stack and indirect branches by offset, where the file lists them.
    """

    def __init__(self, code: bytes, arch: str, known: Mapping[int, tuple[int, ...]]) -> None:
        self._code = code
        self._arch = arch
        self._layout = layout_of(arch)
        self._known = known
        self._budget = BUDGET
        self._lives: dict[int, dict[int, bool]] = {}

    # ---- branches ----------------------------------------------------------------------
    @cached_property
    def _words(self) -> Words:
        """The low 64 bits of every word, control words included."""
        words: Words = np.frombuffer(self._code[: len(self._code) // 8 * 8], "<u8")
        return words[:: self._layout.word_bytes // 8]

    def _hits(self, ops: frozenset[str]) -> npt.NDArray[np.bool_]:
        """Which words are encoded as instructions of some mnemonics are."""
        hit = np.zeros(len(self._words), bool)
        for mask, value in patterns(ops, self._arch):
            hit |= self._words & np.uint64(mask) == np.uint64(value)
        return hit & self._is_instruction

    @cached_property
    def _is_instruction(self) -> npt.NDArray[np.bool_]:
        """Which words are instructions, not control words."""
        out = np.ones(len(self._words), bool)
        if self._layout.has_control_words:
            out[:: self._layout.bundle_bytes // self._layout.word_bytes] = False
        return out

    def _places(self, ops: Iterable[str]) -> list[int]:
        """Offsets of the instructions of some mnemonics."""
        wanted = frozenset(ops)
        size = self._layout.word_bytes
        found = [int(n) * size for n in np.flatnonzero(self._hits(wanted))]
        return [o for o in found if (insn := self._insn(o)) is not None and insn.op in wanted]

    @cached_property
    def _branches(self) -> tuple[Ints, Ints]:
        """Sources and targets of the direct jumps."""
        rows = []
        for offset in self._places(JUMPS):
            insn = self._insn(offset)
            goal = insn.target(offset) if insn is not None else None
            if goal is not None:
                rows.append((offset, self._layout.first(goal)))
        table = np.array(rows, np.int64).reshape(-1, 2)
        return table[:, 0], table[:, 1]

    @cached_property
    def _pushes(self) -> dict[tuple[str, int], tuple[int, ...]]:
        out: dict[tuple[str, int], tuple[int, ...]] = {}
        for offset in self._places(PUSHES):
            insn = self._insn(offset)
            goal = insn.target(offset) if insn is not None else None
            if insn is not None and goal is not None:
                key = (insn.op, self._layout.first(goal))
                out[key] = (*out.get(key, ()), offset)
        return out

    @property
    def branches(self) -> bool:
        """Whether there is a direct jump at all."""
        return bool(len(self._branches[0]))

    def window(self, first: int, last: int) -> dict[int, int]:
        """The direct jumps that begin, end or pass between two offsets; a window is to be drawn."""
        self._budget = BUDGET
        source, target = self._branches
        low, high = np.minimum(source, target), np.maximum(source, target)
        seen = np.flatnonzero((low <= last) & (high >= first))
        return {int(source[n]): int(target[n]) for n in seen}

    def pushers(self, kind: str, target: int) -> tuple[int, ...]:
        """The instructions that push a token of a kind for a place (offsets)."""
        goal = self._layout.first(target)
        if kind != "DIV":
            return self._pushes.get((kind, goal), ())
        source, to = self._branches
        out = []
        for n in np.flatnonzero(
            (to == goal) | (source >= goal - 2 * self._layout.word_bytes) & (source < goal)
        ):
            offset = int(source[n])
            insn = self._insn(offset)
            falls = insn is not None and goes_on(insn)
            if falls and goal in (int(to[n]), self._layout.next(offset)):
                out.append(offset)
        return tuple(out)

    # ---- registers ---------------------------------------------------------------------
    def _insn(self, offset: int) -> Instruction | None:
        try:
            return decode(self._word(offset), self._arch)
        except DecodeError:
            return None

    def _word(self, offset: int) -> int:
        return self._layout.word_at(self._code, offset)

    def reads(self, offset: int) -> int:
        """Registers an instruction reads, as a mask; a call reads them all."""
        return _masks(self._word(offset), self._arch)[0]

    def writes(self, offset: int) -> int:
        """Registers an instruction may write, as a mask; a call writes them all."""
        return _masks(self._word(offset), self._arch)[1]

    def sets(self, offset: int) -> int:
        """Registers that the instruction itself writes, as a mask."""
        insn = self._insn(offset) if 0 <= offset < len(self._code) else None
        return mask_of(insn.writes().registers) if insn is not None else 0

    def untouched(self, offsets: Iterable[int], count: int) -> int:
        """The first `count` registers that no instruction of the section names as a destination."""
        return ~self._destinations & (1 << count) - 1

    @cached_property
    def _destinations(self) -> int:
        """Registers that may be written, as a mask; the place of stores' data counts as one."""
        if self._places(CALLS):
            return EVERY
        is_code = self._is_instruction & ~self._hits(WITHOUT)
        fields = self._words[is_code] >> np.uint64(destination_bit(self._arch))
        out = 0
        for first in np.unique(fields & np.uint64(0xFF)).tolist():
            out |= ((1 << WIDEST) - 1) << int(first)
        return out

    def mark(self, offset: int, register: int) -> str:
        """What an instruction is to a register; see `Liveness.mark`."""
        bit = 1 << register
        read, written = _masks(self._word(offset), self._arch)
        return mark_of(bool(read & bit), bool(written & bit), lambda: self._live(offset, register))

    def _live(self, offset: int, register: int) -> bool:
        """Whether a path from an offset may read a register before it is written."""
        if register not in self._lives:
            for old in list(self._lives)[: 1 - KEPT]:
                del self._lives[old]
            self._lives[register] = {}
        lives, bit = self._lives[register], 1 << register
        came: dict[int, int | None] = {offset: None}
        todo, hit = [offset], None
        while todo and hit is None:
            at = todo.pop()
            known = lives.get(at)
            if known is not None:
                hit = at if known else None
                continue
            if not self._budget:
                return True
            self._budget -= 1
            insn = self._insn(at)
            if insn is None:
                continue
            following = self._following(at, insn)
            if self.reads(at) & bit or following is None:
                hit = at
            elif not (always_writes(insn) and self.writes(at) & bit):
                for goal in following:
                    if goal not in came:
                        came[goal] = at
                        todo.append(goal)
        if hit is None:
            lives.update(dict.fromkeys(came, False))
            return False
        back: int | None = hit
        while back is not None:
            lives[back], back = True, came[back]
        return True

    def _following(self, offset: int, insn: Instruction) -> list[int] | None:
        """Where control can go from an instruction; None: not known."""
        out: list[Any] = []
        if insn.op in JUMPS:
            goal = insn.target(offset)
            if goal is None:
                return None
            out.append(self._layout.first(goal))
        elif insn.op in POPS or insn.op in INDIRECT:
            listed = self._known.get(offset)
            if not listed:
                return None
            out += [self._layout.first(t) for t in listed]
        elif insn.op in ENDS and not goes_on(insn):
            return []
        if goes_on(insn):
            out.append(self._layout.next(offset))
        return [o for o in out if 0 <= o < len(self._code)]
