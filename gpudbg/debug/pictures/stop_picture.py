"""StopPicture: one frozen picture of a session at a stop, all that frontends with panes draw.

`taking.py` makes it once per stop, focus move or memory page, in the thread that owns the machine.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass

if TYPE_CHECKING:
    from gpudbg.analysis.liveness import Liveness
    from gpudbg.analysis.local_liveness import LocalLiveness
    from gpudbg.debug.breakpoints.rows import BreakpointRow
    from gpudbg.debug.pictures.code_index import CodeIndex
    from gpudbg.debug.pictures.images import ImagePicture
    from gpudbg.debug.pictures.lane_row import LaneRow
    from gpudbg.debug.pictures.memory import MemoryPage
    from gpudbg.debug.pictures.outputs import OutputRow
    from gpudbg.debug.pictures.variables import VariableLine
    from gpudbg.debug.snapshot import Snapshot, WarpRow
    from gpudbg.debug.stops.fault_cards import FaultCard
    from gpudbg.debug.stops.stop import Stop
    from gpudbg.debug.values.fragment_view import FragmentView
    from gpudbg.debug.warp_paths import Path
    from gpudbg.symbols.lane_reasons import LaneReasons


@dataclass(frozen=True, slots=True)
class LaunchHeader:
    """What never changes during a launch, as text."""

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
class StopPicture:
    """A session at one stop; see the module text.

    `end` is the last tick of the launch that is known: the machine stands before it in its past;
    `hangs` whether warps were found to wait in vain where a run was cut short;
    `where` a condition on warps, `matching` those (by SM and slot) that meet it;
    `lanes` what the code says of lanes, while that is shown.
    """

    number: int
    snapshot: Snapshot
    header: LaunchHeader
    code: CodeIndex
    stop_title: str
    stop_where: str
    stop_line: str
    hangs: bool = False
    lane: int = 0
    sm: int = 0
    thread: str = ""
    cta: str = ""
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
    lanes: LaneReasons | None = None
    warps_at: dict[int, int] = field(default_factory=dict)
    fault: FaultCard | None = None
    image: ImagePicture | None = None
    images: int = 0
    fragments: FragmentView | None = None
    where: str = ""
    matching: frozenset[tuple[int, int]] = frozenset()
    end: int = 0
    variables: tuple[VariableLine, ...] = ()
    variable_words: str = ""
    frames: tuple[FrameLine, ...] = ()

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


@dataclass(slots=True)
class PictureOptions:
    """What was chosen to be looked at; read when a picture is made."""

    space: str = "shared"
    bank: int = 0
    where: str = ""
    address: int | None = None
    page_rows: int = 16
    register_format: str = "x"
    watches: list[str] = field(default_factory=list)
    tracked: int | None = None
    lanes: bool = False
    image: bool = False
    image_name: str = ""
    image_slice: int = 0
    variables: bool = False
    opened: set[str] = field(default_factory=set)
    matrix: bool = False
