"""Stop cards: a stop in full, with its place, errors, loops and output buffers.

One record for every reader: `StopCard.lines` is the console's text, `fault_cards` adds what only
the terminal UI has room for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.answers.words import dim, lane_list
from gpudbg.dataclass import dataclass
from gpudbg.debug.stops.records import ErrorRecord
from gpudbg.debug.stops.spinning import spin_lines
from gpudbg.debug.stops.stack_sizes import stack_words
from gpudbg.debug.stops.standing import standing_pc
from gpudbg.debug.stops.stop import DeadlockStop, ExitStop, Stop
from gpudbg.debug.views.text import output_lines

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.sm.state import WarpState
    from gpudbg.symbols.listing import CodeLine


@dataclass(frozen=True, slots=True)
class StopPlace:
    """Who stands where: a lane, the pc as `saxpy+0x48`, the source line, the instruction."""

    where: str
    line: str
    block: tuple[int, int, int] | None
    thread: tuple[int, int, int] | None
    sm: int
    warp: int
    lane: int
    pc: int
    code: CodeLine | None


def place_of(inferior: Inferior, subject: Stop | ErrorRecord) -> StopPlace:
    """The place of a stop, or of an error and its first lane."""
    symbols = inferior.symbols
    pc = symbols.pc(subject.pc or 0)
    line = symbols.line(pc)
    if isinstance(subject, ErrorRecord):
        lane = subject.lanes[0] if subject.lanes else 0
    else:
        lane = subject.lane or 0
    return StopPlace(
        where=symbols.describe(pc),
        line=str(line) if line else "",
        block=subject.block,
        thread=subject.thread,
        sm=subject.sm or 0,
        warp=subject.warp or 0,
        lane=lane,
        pc=pc,
        code=symbols.instruction(pc),
    )


def resident(inferior: Inferior, sm: int, slot: int) -> WarpState | None:
    """The warp of a slot; None where it is gone."""
    return next((w for w in inferior.grid.warps() if (w.sm, w.slot) == (sm, slot)), None)


@dataclass(frozen=True, slots=True)
class ErrorCard:
    """An error of a warp: its record, where it stands, what is to be said of the stack."""

    error: ErrorRecord
    place: StopPlace
    stack: tuple[str, ...]

    @classmethod
    def of(cls, inferior: Inferior, error: ErrorRecord) -> ErrorCard:
        """The card of an error of the launch."""
        warp = resident(inferior, error.sm, error.warp)
        stack = stack_words(inferior, error, warp)
        return cls(error, place_of(inferior, error), tuple(stack))

    def lines(self) -> list[str]:
        """What, where, who, the instruction, the address and its nearest allocation."""
        error, place = self.error, self.place
        detail = f": {error.detail}" if error.detail else ""
        lanes = lane_list(sum(1 << n for n in error.lanes))
        lines = [
            f"  error   {error.name} (0x{error.code:02x}){detail}",
            f"  where   {place.where}" + (f" {place.line}" if place.line else ""),
            f"  who     block {dim(error.block)} thread {dim(error.thread)}"
            f"  sm {error.sm} warp {error.warp} lanes {lanes}",
        ]
        if place.code is not None:
            lines.append(f"  insn    {place.code.offset:04x}  {place.code.text}")
        if error.address is not None:
            what = " ".join(str(w) for w in (error.space, error.access) if w)
            lines.append(f"  address 0x{error.address:x}  {what}, {error.size} bytes")
        if error.nearest:
            lines.append(f"  nearest {error.nearest}")
        return [*lines, *(f"  stack   {words}" for words in self.stack)]


@dataclass(frozen=True, slots=True)
class StopCard:
    """A stop: its errors, or the instruction it stands at and the loops, or the outputs."""

    stop: Stop
    errors: tuple[ErrorCard, ...] = ()
    code: CodeLine | None = None
    spins: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()

    @classmethod
    def of(cls, inferior: Inferior, stop: Stop) -> StopCard:
        """The card of a stop of the session."""
        errors = tuple(ErrorCard.of(inferior, error) for error in stop.errors)
        if isinstance(stop, ExitStop):
            return cls(stop, errors, outputs=tuple(output_lines(inferior)))
        if errors or inferior.focus is None:
            return cls(stop, errors)
        pc = standing_pc(inferior, inferior.focused(), isinstance(stop, DeadlockStop))
        return cls(stop, (), inferior.symbols.instruction(pc), tuple(spin_lines(inferior)))

    def lines(self) -> list[str]:
        """The stop for people: why, where and who, then the instruction or the errors."""
        lines = [self.stop.message]
        if self.errors:
            lines += [line for card in self.errors for line in card.lines()]
        else:
            lines += self.stop.detail
        if self.code is not None:
            lines.append(f"=> {self.code.offset:04x}  {self.code.text}")
        recorded = [f"  {self.stop.recorded}"] if self.stop.recorded else []
        return [*lines, *self.spins, *self.outputs, *recorded]
