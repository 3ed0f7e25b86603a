"""Register pool (`setmaxnreg`): warp groups that release registers and acquire more.

All four warps of a group execute the same one, with all lanes; between two of them the warps meet
at a barrier; what a warp gives back it no longer uses; what it takes must once be there (PTX ISA).
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final

from gpudbg.bits import lanes_of
from gpudbg.dataclass import dataclass
from gpudbg.sanitizer.findings import CheckFinding
from gpudbg.sanitizer.monitor import ExecutedInstruction, RunCheck

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpudbg.sanitizer.collector import FindingCollector
    from gpudbg.sanitizer.findings import FindingAccess
    from gpudbg.sanitizer.places import AccessPlaces
    from gpudbg.sm.barriers.phase import Arrival
    from gpudbg.sm.state import Cta, WarpState

_VALUE: Final = re.compile(r"(0x[0-9a-f]+)\s*$")
_WARPS: Final = 4
_FULL: Final = 0xFFFF_FFFF
_UNIT: Final = 8
"""Registers are allocated in units of this size."""
LEAST, MOST = 24, 256
"""Least and greatest count that may be requested."""


@dataclass(slots=True)
class RegisterLimit:
    """The registers that a warp may use.

    Attributes:
        now: registers of a thread; None: as many as the launch gives.
        given: (count, whether more, side) of each instruction in order.
        met: it has been at a barrier since the last one.
        lost: mask of registers whose contents went when it gave them back; `fresh`: those of them
            that it has taken again and not written yet.
    """

    now: int
    given: list[tuple[int, bool, FindingAccess]] = field(default_factory=list)
    met: bool = True
    lost: int = 0
    fresh: int = 0


class RegisterPoolCheck(RunCheck):
    """Finds wrong uses of setmaxnreg in one launch.

    Args:
        registers: of a thread at its beginning.
    """

    def __init__(
        self, findings: FindingCollector, places: AccessPlaces, registers: int, *, init: bool
    ) -> None:
        self._findings, self._places, self._init = findings, places, init
        self._registers = -(-registers // _UNIT) * _UNIT
        self._limits: dict[tuple[int, int], RegisterLimit] = {}
        self._masks: dict[int, tuple[int, int]] = {}

    def _limit(self, warp: WarpState) -> RegisterLimit:
        key = (warp.cta.number, warp.index)
        found = self._limits.get(key)
        if found is None:
            found = self._limits[key] = RegisterLimit(self._registers)
        return found

    def barrier(
        self, step: ExecutedInstruction, arrival: Arrival, released: Sequence[WarpState]
    ) -> None:
        held = self._limits.get((step.warp.cta.number, step.warp.index))
        if held is not None:
            held.met = True

    def executed(self, step: ExecutedInstruction) -> None:
        if step.insn.op == "USETMAXREG":
            if step.active:
                self._sets(step)
            return
        held = self._limits.get((step.warp.cta.number, step.warp.index))
        if held is not None and step.lanes and held.given:
            self._uses(step, held)

    def _sets(self, step: ExecutedInstruction) -> None:
        held, found = self._limit(step.warp), _VALUE.search(step.insn.text())
        if found is None:
            return
        count, more = int(found[1], 16), "DEALLOC" not in step.insn.text()
        side = self._places.access("arrive", step.pc, step.warp, next(iter(lanes_of(step.active))))
        live = step.warp.valid & ~step.warp.exited
        if held.given and held.given[-1][2].pc == step.pc and more and not held.met:
            # TRY_ALLOC is repeated until enough are free.
            return
        trouble = self._trouble(held, count, more)
        if step.active != live or live != _FULL:
            trouble = f"{(_FULL & ~step.active).bit_count()} lanes of the warp do not take part"
        if trouble:
            self._add(trouble, side)
        if not more:
            held.lost |= (1 << held.now) - 1 & ~((1 << count) - 1)
        elif self._init:
            held.fresh = held.lost & (1 << count) - 1
            held.lost &= ~held.fresh
        held.now, held.met = count, False
        held.given.append((count, more, side))

    def _trouble(self, held: RegisterLimit, count: int, more: bool) -> str:
        """What is wrong with a request for `count` registers, or ""."""
        if not LEAST <= count <= MOST or count % _UNIT:
            return f"{count} registers: from {LEAST} to {MOST}, by {_UNIT}"
        if more and count < held.now:
            return f"takes {count} registers, less than the {held.now} that the warp has"
        if not more and count > held.now:
            return f"gives registers back until there are {count}, more than the {held.now} it has"
        if not held.met:
            return "the second one without a barrier of the group after the first"
        return ""

    def _uses(self, step: ExecutedInstruction, held: RegisterLimit) -> None:
        """Check an instruction of a warp whose limit was changed."""
        masks = self._masks.get(step.pc)
        if masks is None:
            masks = self._masks[step.pc] = (
                _mask(step.insn.reads().registers), _mask(step.insn.writes().registers),
            )  # fmt: skip
        reads, writes = masks
        above = (reads | writes) >> held.now
        if above:
            register = held.now + (above & -above).bit_length() - 1
            text = f"uses R{register}, which the warp has given back: it has {held.now}"
            self._add(text, self._side("use", step), held.given[-1][2])
        new = reads & held.fresh
        if new:
            register = (new & -new).bit_length() - 1
            self._add_unset(register, self._side("use", step), held.given[-1][2])
        held.fresh &= ~(writes | new)

    def _side(self, kind: str, step: ExecutedInstruction) -> FindingAccess:
        return self._places.access(kind, step.pc, step.warp, next(iter(lanes_of(step.lanes))))

    def _add(
        self, text: str, side: FindingAccess, other: FindingAccess | None = None,
        cause: str = "setmaxnreg",
    ) -> None:  # fmt: skip
        sides = (side,) if other is None else (other, side)
        self._findings.add(
            ("sync", cause, side.pc),
            lambda: CheckFinding(
                "sync", "error", cause, None, None, sides, where=f"{side.place}: {text}",
                fix="setmaxnreg of the same count by all four warps of the group, a barrier "
                "between two",
            ),
        )  # fmt: skip

    def _add_unset(self, register: int, side: FindingAccess, taken: FindingAccess) -> None:
        text = f"{side.place} reads R{register}, which nobody has written since it was taken"
        self._findings.add(
            ("uninitialised", "taken", side.pc),
            lambda: CheckFinding(
                "uninitialised", "error", "value", "register", None, (taken, side), where=text
            ),
        )

    # ---- the end of a block ----------------------------------------------------------------
    def cta_end(self, cta: Cta) -> None:
        mine = {key[1]: h for key, h in self._limits.items() if key[0] == cta.number}
        for warp in mine:
            del self._limits[cta.number, warp]
        groups = {warp // _WARPS for warp, held in mine.items() if held.given}
        for group in sorted(groups):
            self._alike(group, mine, len(cta.warps))
        self._enough(mine, len(cta.warps))

    def _alike(self, group: int, mine: dict[int, RegisterLimit], warps: int) -> None:
        """Check that all warps of a group executed the same instruction."""
        members = range(_WARPS * group, min(_WARPS * group + _WARPS, warps))
        rows = {w: mine[w].given if w in mine else [] for w in members}
        longest = max(rows.values(), key=len)
        for turn, (count, _, side) in enumerate(longest):
            for warp, row in rows.items():
                if len(row) <= turn:
                    self._add(f"warp {warp} of its group does not take part", side)
                    return
                if row[turn][0] != count:
                    text = f"asks for {row[turn][0]} registers, warp {side.warp} for {count}"
                    self._add(text, row[turn][2], side)
                    return

    def _enough(self, mine: dict[int, RegisterLimit], warps: int) -> None:
        """Check that acquired registers were available at some time, with groups progressing in any
        order.
        """
        total = self._registers * warps
        held = dict.fromkeys(range(warps), self._registers)
        turns = dict.fromkeys(mine, 0)
        moved = True
        while moved:
            moved = False
            for warp, limit in mine.items():
                while turns[warp] < len(limit.given):
                    count, more, _ = limit.given[turns[warp]]
                    free = total - sum(held.values())
                    if more and count - held[warp] > free:
                        break
                    held[warp], moved = count, True
                    turns[warp] += 1
        for warp, limit in mine.items():
            if turns[warp] < len(limit.given):
                count, _, side = limit.given[turns[warp]]
                free = total - sum(held.values())
                text = (
                    f"warp {warp} waits for {count} registers for ever: it has {held[warp]}, and "
                    f"the block's pool {free // max(_WARPS, 1)} for each of its group"
                )
                self._add(text, side, cause="deadlock")
                return


def _mask(registers: Any) -> int:
    return sum(1 << n for n in set(registers) if n != 255)
