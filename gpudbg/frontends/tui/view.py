"""ScreenView: one frozen picture of everything the panes draw.

It is made once per stop, focus move or memory page (`gpudbg.frontends.tui.collect`), in the
thread that owns the machine; panes turn it into rows and never ask the machine.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass

if TYPE_CHECKING:
    from gpudbg.analysis import Liveness, LocalLiveness
    from gpudbg.debug import Path, Progress, Snapshot, WarpRow
    from gpudbg.debug.breakpoints import BreakpointRow
    from gpudbg.debug.pictures import ImagePicture, LaneRow, MemoryPage, OutputRow, VariableLine
    from gpudbg.debug.stops import FaultCard, Stop
    from gpudbg.debug.values import FragmentView
    from gpudbg.frontends.tui.code_index import CodeIndex
    from gpudbg.frontends.tui.trap_texts import TrapPicture


@dataclass(frozen=True, slots=True)
class Header:
    """What never changes during a launch."""

    program: str
    arch: str
    kernel: str
    grid: str
    block: str
    arguments: str
    shared_bytes: int


@dataclass(frozen=True, slots=True)
class FrameLine:
    """A call frame: as `backtrace` prints it, where it goes on, whether it is the selected one."""

    level: int
    text: str
    pc: int
    selected: bool


@dataclass(frozen=True, slots=True)
class ScreenView:
    """Everything drawn at one stop; see the module text.

    `end` is the last tick of the launch that is known: the machine stands before it in its past;
    `past` is the present tick where an earlier stop, number `past_stop`, is shown again;
    `where` a condition on warps, `matching` those (by SM and slot) that meet it.
    """

    number: int
    snapshot: Snapshot
    header: Header
    code: CodeIndex
    stop_title: str
    stop_where: str
    stop_line: str
    stop_role: str
    lane: int = 0
    sm: int = 0
    thread: str = ""
    cta: str = ""
    step_mode: str = "warp"
    seed: int = 0
    pc: int | None = None
    next_words: str = ""
    operands: frozenset[str] = frozenset()
    warps: tuple[WarpRow, ...] = ()
    paths: tuple[Path, ...] = ()
    letters: str = " " * 32
    registers: tuple[LaneRow, ...] = ()
    specials: tuple[LaneRow, ...] = ()
    watches: tuple[LaneRow, ...] = ()
    memory: MemoryPage | None = None
    outputs: tuple[OutputRow, ...] = ()
    points: tuple[BreakpointRow, ...] = ()
    stops: tuple[Stop, ...] = ()
    stops_before: int = 0
    live: Liveness | LocalLiveness | None = None
    tracked: int | None = None
    warps_at: dict[int, int] = field(default_factory=dict)
    fault: FaultCard | None = None
    trap: TrapPicture | None = None
    image: ImagePicture | None = None
    images: int = 0
    fragments: FragmentView | None = None
    notice: str = ""
    where: str = ""
    matching: frozenset[tuple[int, int]] = frozenset()
    end: int = 0
    variables: tuple[VariableLine, ...] = ()
    variable_words: str = ""
    frames: tuple[FrameLine, ...] = ()
    past: int | None = None
    past_stop: int = -1

    @property
    def focus_row(self) -> WarpRow | None:
        """The focused warp's row."""
        return self.snapshot.detail.row if self.snapshot.detail is not None else None

    @property
    def stop_number(self) -> int:
        """The number of the stop this is, from 0."""
        return self.stops_before + len(self.stops) - 1

    @property
    def tick(self) -> int:
        """Warp instructions since launch."""
        return self.snapshot.instructions


@dataclass(frozen=True, slots=True)
class Running:
    """Numbers shown while the machine runs."""

    label: str
    progress: Progress
    shown_tick: int

    @property
    def seconds(self) -> float:
        """Since the work began."""
        return self.progress.seconds

    @property
    def tick(self) -> int:
        """Instructions of the launch so far."""
        return self.progress.total


@dataclass(slots=True)
class ViewOptions:
    """What the user chose to look at; read when a view is made."""

    space: str = "shared"
    bank: int = 0
    where: str = ""
    address: int | None = None
    page_rows: int = 16
    register_format: str = "x"
    watches: list[str] = field(default_factory=list)
    follow_pointer: bool = True
    trap: bool = False
    trap_opens: bool = False
    tracked: int | None = None
    image: bool = False
    image_name: str = ""
    image_slice: int = 0
    variables: bool = False
    opened: set[str] = field(default_factory=set)
    matrix: bool = False
