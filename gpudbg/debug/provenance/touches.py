"""Who wrote or read a place: the record of one time."""

from __future__ import annotations

from pathlib import PurePath
from typing import Final

from gpudbg.answers import column, dim, lane_list, typed_row
from gpudbg.answers.formats import COORDINATES, LANES, Format

_MOST: Final = 4
"""Different values of lanes that a line shows."""


def _pc(pc: int | None) -> str:
    return "" if pc is None else f"0x{pc:x}"


def _block(at: tuple[int, int, int] | None) -> str:
    return "" if at is None else dim(at)


def _values(values: tuple[str, ...]) -> str:
    different = list(dict.fromkeys(values))
    more = f", … ({len(different)} values)" if len(different) > _MOST else ""
    return ", ".join(different[:_MOST]) + more


_PC: Final = Format(_pc)
_PLACE: Final = Format(_block, COORDINATES.data)
_VALUES: Final = Format(_values, list)


@typed_row
class PlaceTouch:
    """One time that a place was written or read.

    `tick` counts warp instructions of the launch before it: `session.goto(tick)` stands there.
    `kind` is store, load, atomic, async copy, register or constant; `edit` for what was changed
    from the prompt or a script, `launch` for what was there when the launch (or the warp) began.
    `block`, `thread`, `warp`, `lane` name the thread whose value stands, `lanes` are all lanes of
    its warp that touched the place; None where no thread did.  `pc` is relative to the kernel's
    code.  `old` and `value` are the place's value before and after, as text.  `asked` are the lanes
    that the place belongs to, or that named it, and `values` what each of them has afterwards.

    >>> stop = session.run()
    >>> for touch in session.who_wrote("out[2]", n=2):
    ...     print(touch)
    out[2] = 5026: store by block (2,0,0) thread (0,0,0), STG.E [R2], R4, first_steps.cu:24, was 0
    out[2] = 0: there when the launch began, from buffer out (argument 1)
    """

    tick: int = column("Tick")
    kind: str = column("Kind")
    block: tuple[int, int, int] | None = column("Block", _PLACE)
    thread: tuple[int, int, int] | None = column("Thread", _PLACE)
    warp: int | None = column()
    lane: int | None = column()
    lanes: int = column("Lanes", LANES)
    pc: int | None = column("PC", _PC)
    instruction: str = column("Instruction")
    function: str | None = column()
    file: str | None = column()
    line: int | None = column()
    old: str = column("Old")
    value: str = column("Value")
    values: tuple[str, ...] = column("Values", _VALUES)
    asked: int = column("For lanes", LANES)
    place: str = column()
    note: str = column("Where")

    def __str__(self) -> str:
        said = f"{self.place} = {self.value}: "
        if self.kind == "launch":
            return f"{said}there when the launch began{self.note and ', '}{self.note}"
        if self.kind == "edit":
            return f"{said}changed from outside at tick {self.tick:,}, was {self.old}"
        who = f"{self.kind} by block {dim(self.block)} thread {dim(self.thread)}"
        if self.lanes.bit_count() > 1:
            who += f" (lanes {lane_list(self.lanes)})"
        changed = "" if self.old == self.value else f", was {self.old}"
        where = f", {self.where}" if self.where else ""
        return f"{said}{who}, {self.instruction}{where}{changed}"

    @property
    def where(self) -> str:
        """File and line, as people write them."""
        return "" if self.file is None else f"{PurePath(self.file).name}:{self.line}"

    @property
    def inside(self) -> bool:
        """Whether an instruction of the launch did it."""
        return self.kind not in ("edit", "launch")
