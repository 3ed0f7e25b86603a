"""cuda-gdb's `info cuda …` tables: names, columns and rows as cuda-gdb has them.

Fields, headings and alignment are those of NVIDIA/cuda-gdb's gdb/cuda/cuda-commands.c, 2024.

The rows serve every form: lines for the console (grouped under headings), and fields for GDB/MI,
which gets columns that people do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeVar

from gpudbg.answers import Table, TableStyle, column, typed_row
from gpudbg.answers.columns import CENTER, LEFT, RIGHT
from gpudbg.answers.formats import COORDINATES, COUNT, Format, spoken
from gpudbg.debug.focus import cuda_coords as coords
from gpudbg.debug.focus.cuda_coords import LanePlace, Wanted
from gpudbg.debug.focus.focus import Dim3, Focus
from gpudbg.debug.stops.cuda_exceptions import EXCEPTIONS, exception_of
from gpudbg.debug.values.backtrace import waiting_pc
from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.sm.state import WarpState

Row = TypeVar("Row")
Builder = Callable[["DebugSession", Wanted], Table]

CUDA_GDB = TableStyle(" ", align=RIGHT, ragged=False)
MARK = spoken(Format(lambda on: "*" if on else " "))
NUMBER, AT = spoken(COUNT), spoken(COORDINATES)
PC, LANE_MASK = spoken(Format("0x{:016x}".format)), spoken(Format("0x{:08x}".format))


def _table(
    name: str, empty: str, kind: type[Row], rows: Iterable[Row], shown: tuple[str, ...] = ()
) -> Table:
    return Table(
        kind,
        tuple(rows),
        empty,
        style=CUDA_GDB,
        group=lambda row: str(getattr(row, "group", "")),
        shown=shown,
        name=name,
    )


def build_cuda_info(session: DebugSession, option: str, text: str) -> Table:
    """The table of `info cuda OPTION FILTER`.

    Raises:
        CommandError: cuda-gdb's words for an unknown option or filter.
    """
    if not option:
        raise CommandError("Missing option.")
    names = [
        n for n in CUDA_INFO_TABLES if n == option or (len(option) > 1 and n.startswith(option))
    ]
    if not names:
        raise CommandError(f"Unrecognized option: '{option}'.")
    builder, default = CUDA_INFO_TABLES[names[0]]
    return builder(session, {**default, **_filter(session, text)})


def _filter(session: DebugSession, text: str) -> Wanted:
    try:
        asked, wanted = coords.parse_coords(text, ("breakpoint",))
    except CommandError:
        raise CommandError(f"Incorrect filter: '{text.strip()}'.") from None
    if asked:
        raise CommandError(f"Incorrect filter: '{text.strip()}'.")
    return wanted


def _here(session: DebugSession) -> LanePlace | None:
    return None if session.focus is None or session.finished else coords.current_coords(session)


def _wanted(session: DebugSession, wanted: Wanted) -> list[LanePlace]:
    here = _here(session)
    if here is None:
        return []
    stops = wanted.pop("breakpoint", None)
    found = [p for p in coords.places(session) if coords.fits(p, wanted, here)]
    if stops is not None:
        points = [b for b in session.breakpoints if stops == "all" or b.number == stops]
        pcs = {a for b in points for a in b.addresses}
        found = [p for p in found if waiting_pc(session, p.state, p.lane) in pcs]
    return found


def _warps(found: list[LanePlace]) -> list[WarpState]:
    return list({id(p.state): p.state for p in found}.values())


# ---- hardware --------------------------------------------------------------------------
@typed_row
class DeviceRow:
    """A device."""

    current: bool = column(" ", MARK)
    device: int = column("Dev", NUMBER)
    pci_bus: str = column("PCI Bus/Dev ID")
    name: str = column("Name")
    description: str = column("Description")
    sm_type: str = column("SM Type")
    num_sms: int = column("SMs", NUMBER)
    num_warps: int = column("Warps/SM", NUMBER)
    num_lanes: int = column("Lanes/Warp", NUMBER)
    num_regs: int = column("Max Regs/Lane", NUMBER)
    active_sms_mask: str = column("Active SMs Mask")


def _devices(session: DebugSession, wanted: Wanted) -> Table:
    gpu, sms = session.grid.gpu, session.grid.sms
    digits = max(8, (gpu.num_sms + 3) // 4)
    row = DeviceRow(
        current=_here(session) is not None,
        device=coords.DEVICE,
        pci_bus="00:00.0",
        name="gpudbg emulated SM",
        description=gpu.arch,
        sm_type=gpu.arch,
        num_sms=gpu.num_sms,
        num_warps=len(sms[0].warps),
        num_lanes=32,
        num_regs=255,
        active_sms_mask=f"0x{_active_sms(session):0{digits}x}",
    )
    rows = [row] if wanted.get("device", 0) in (0, "all", "any", "current") else []
    return _table("InfoCudaDevicesTable", "No CUDA devices.", DeviceRow, rows)


def _active_sms(session: DebugSession) -> int:
    """The mask of SMs with resident warps."""
    return sum(1 << sm.index for sm in session.grid.sms if any(True for _ in sm.resident()))


@typed_row
class ActiveSm:
    """An SM and its warps."""

    current: bool = column(" ", MARK)
    sm: int = column("SM", NUMBER)
    active_warps_mask: int = column("Active Warps Mask", PC)
    group: str = column(key="", default="Device 0")


def _sms(session: DebugSession, wanted: Wanted) -> Table:
    here = _here(session)
    rows = []
    chosen = wanted.get("sm", "all")
    if here is not None and chosen == "current":
        chosen = here.sm
    for sm in session.grid.sms if here is not None and not session.finished else ():
        if isinstance(chosen, int) and sm.index != chosen:
            continue
        mask = sum(1 << w.slot for w in sm.resident() if w.status != "exited")
        rows.append(ActiveSm(here is not None and here.sm == sm.index, sm.index, mask))
    return _table("InfoCudaSmsTable", "No CUDA SMs.", ActiveSm, rows)


@typed_row
class ActiveWarp:
    """A warp: its lanes, and where they are."""

    current: bool = column(" ", MARK)
    warp: int = column("Wp", NUMBER)
    active_lanes_mask: int = column("Active Lanes Mask", LANE_MASK)
    divergent_lanes_mask: int = column("Divergent Lanes Mask", LANE_MASK)
    active_physical_pc: int = column("Active PC", PC)
    kernel: int = column("Kernel", NUMBER)
    block: Dim3 = column("BlockIdx", AT, "blockIdx")
    thread: Dim3 = column("First Active ThreadIdx", AT, "threadIdx")
    group: str = column(key="")


def _warps_table(session: DebugSession, wanted: Wanted) -> Table:
    here = _here(session)
    rows = (
        _active_warp(session, w, here is not None and here.state is w)
        for w in _warps(_wanted(session, wanted))
    )
    return _table("InfoCudaWarpsTable", "No CUDA Warps.", ActiveWarp, rows)


def _active_warp(session: DebugSession, w: WarpState, current: bool) -> ActiveWarp:
    live = w.valid & ~w.exited
    lane = ((w.active or live) & -(w.active or live)).bit_length() - 1
    return ActiveWarp(
        current=current,
        warp=w.slot,
        active_lanes_mask=w.active,
        divergent_lanes_mask=live & ~w.active,
        active_physical_pc=waiting_pc(session, w, lane),
        kernel=coords.KERNEL,
        block=w.cta.block,
        thread=w.thread(lane),
        group=f"Device 0 SM {w.sm}",
    )


@typed_row
class ActiveLane:
    """A lane: its state, where it is, and its exception."""

    current: bool = column(" ", MARK)
    lane: int = column("Ln", NUMBER)
    state: str = column("State", align=CENTER)
    physical_pc: int = column("PC", PC, align=CENTER)
    thread: Dim3 = column("ThreadIdx", AT, "threadIdx")
    exception: str = column("Exception", align=CENTER)
    group: str = column(key="")


def _lanes(session: DebugSession, wanted: Wanted) -> Table:
    here = _here(session)
    errors = session.stop.errors if session.stop is not None else ()
    rows = []
    for p in _wanted(session, wanted):
        names = [
            EXCEPTIONS[exception_of(e.name)]
            for e in errors
            if (e.sm, e.warp) == (p.sm, p.warp) and p.lane in e.lanes
        ]
        row = ActiveLane(
            current=here is not None and here.focus == p.focus,
            lane=p.lane,
            state="active" if p.state.active >> p.lane & 1 else "divergent",
            physical_pc=waiting_pc(session, p.state, p.lane),
            thread=p.thread,
            exception=names[0] if names else "None",
            group=f"Device 0 SM {p.sm} Warp {p.warp}",
        )
        rows.append(row)
    return _table("InfoCudaLanesTable", "No CUDA Lanes.", ActiveLane, rows)


# ---- software --------------------------------------------------------------------------
def invocation(session: DebugSession) -> str:
    """`saxpy(n=1000,x=0x700000000)`"""
    from gpudbg.debug.views.arguments import argument_rows

    arguments = ",".join(f"{a.name}={a.text}" for a in argument_rows(session))
    return f"{session.symbols.kernel_name}({arguments})"


@typed_row
class LaunchRow:
    """A kernel that runs."""

    current: bool = column(" ", MARK)
    level: int = column("Lvl", NUMBER, align=LEFT, before="#")
    kernel: int = column("Kernel", NUMBER)
    parent: str = column("Parent")
    device: int = column("Dev", NUMBER)
    grid: int = column("Grid", NUMBER)
    status: str = column("Status")
    sms_mask: int = column("SMs Mask", LANE_MASK)
    grid_dim: Dim3 = column("GridDim", AT, "gridDim")
    block_dim: Dim3 = column("BlockDim", AT, "blockDim")
    invocation: str = column("Invocation", align=LEFT)


def _launches(session: DebugSession, here: LanePlace | None) -> list[LaunchRow]:
    if here is None:
        return []
    grid = session.grid
    row = LaunchRow(
        current=True,
        level=0,
        kernel=coords.KERNEL,
        parent="-",
        device=coords.DEVICE,
        grid=coords.GRID,
        status="Active",
        sms_mask=_active_sms(session),
        grid_dim=grid.grid,
        block_dim=grid.block,
        invocation=invocation(session),
    )
    return [row]


_LAUNCH = ("kernel", "device", "grid", "status", "gridDim", "blockDim", "invocation")
_KERNEL = ("kernel", "parent", "device", "grid", "status", "sms_mask", *_LAUNCH[4:])


def _kernels(session: DebugSession, wanted: Wanted) -> Table:
    here = _here(session)
    fits = here is not None and coords.fits(here, {k: wanted[k] for k in wanted}, here)
    rows = _launches(session, here) if fits else []
    columns = ("current", *_KERNEL)
    return _table("InfoCudaKernelsTable", "No CUDA kernels.", LaunchRow, rows, columns)


def _launch_trace(session: DebugSession, wanted: Wanted) -> Table:
    rows, columns = _launches(session, _here(session)), ("current", "level", *_LAUNCH)
    return _table("InfoCudaLaunchTraceTable", "No CUDA kernels.", LaunchRow, rows, columns)


def _launch_children(session: DebugSession, wanted: Wanted) -> Table:
    columns = ("current", *_LAUNCH)
    return _table("InfoCudaLaunchChildrenTable", "No CUDA kernels.", LaunchRow, (), columns)


@typed_row
class ContextRow:
    """A context."""

    current: bool = column(" ", MARK)
    context: int = column("Context", PC)
    device: int = column("Dev", NUMBER)
    state: str = column("State")


def _contexts(session: DebugSession, wanted: Wanted) -> Table:
    rows = [ContextRow(True, 1, coords.DEVICE, "active")] if _here(session) is not None else []
    return _table("InfoCudaContextsTable", "No CUDA contexts.", ContextRow, rows)


def _coalescing(session: DebugSession) -> bool:
    return session.settings.shown("cuda coalescing") != "off"


def _number(at: Dim3, size: Dim3) -> int:
    """Position in x-fastest order."""
    return at[0] + size[0] * (at[1] + size[1] * at[2])


@typed_row
class BlockRange:
    """Blocks that follow one another; a single one where they are not joined."""

    current: bool = column(" ", MARK)
    kernel: int = column("Kernel", NUMBER, only="mi")
    first: Dim3 = column("BlockIdx", AT, "from")
    last: Dim3 = column("To BlockIdx", AT, "to")
    block: Dim3 = column("BlockIdx", AT, "blockIdx")
    count: int = column("Count", NUMBER)
    state: str = column("State")
    device: int = column("Dev", NUMBER)
    sm: int = column("SM", NUMBER)
    group: str = column(key="")


def _blocks(session: DebugSession, wanted: Wanted) -> Table:
    here = _here(session)
    size = session.grid.grid
    first: dict[Dim3, LanePlace] = {}
    for p in _wanted(session, wanted):
        first.setdefault(p.block, p)
    order = sorted(first.values(), key=lambda p: _number(p.block, size))
    groups: list[list[LanePlace]] = []
    for p in order:
        joins = groups and _number(p.block, size) == _number(groups[-1][-1].block, size) + 1
        if joins and _coalescing(session):
            groups[-1].append(p)
        else:
            groups.append([p])
    rows = [
        BlockRange(
            current=here is not None and here.block in [p.block for p in group],
            kernel=coords.KERNEL,
            first=group[0].block,
            last=group[-1].block,
            block=group[0].block,
            count=len(group),
            state="running",
            device=coords.DEVICE,
            sm=group[0].sm,
            group=f"Kernel {coords.KERNEL}",
        )
        for group in groups
    ]
    name, columns = "Coalesced", ("current", "kernel", "from", "to", "count", "state")
    if not _coalescing(session):
        name, columns = "Uncoalesced", ("current", "kernel", "blockIdx", "state", "device", "sm")
    return _table(f"{name}InfoCudaBlocksTable", "No CUDA blocks.", BlockRange, rows, columns)


@typed_row
class ThreadRange:
    """Threads that follow one another at one place; a single one where they are not joined."""

    current: bool = column(" ", MARK)
    kernel: int = column("Kernel", NUMBER, only="mi")
    first_block: Dim3 = column("BlockIdx", AT, "from_blockIdx")
    first_thread: Dim3 = column("ThreadIdx", AT, "from_threadIdx")
    last_block: Dim3 = column("To BlockIdx", AT, "to_blockIdx")
    last_thread: Dim3 = column("To ThreadIdx", AT, "to_threadIdx")
    block: Dim3 = column("BlockIdx", AT, "blockIdx")
    thread: Dim3 = column("ThreadIdx", AT, "threadIdx")
    count: int = column("Count", NUMBER)
    virtual_pc: int = column("PC", PC)
    device: int = column("Dev", NUMBER)
    sm: int = column("SM", NUMBER)
    warp: int = column("Wp", NUMBER)
    lane: int = column("Ln", NUMBER)
    filename: str = column("Filename")
    line: int = column("Line", NUMBER, least=5)
    group: str = column(key="")


_JOINED = (
    "current", "kernel", "from_blockIdx", "from_threadIdx", "to_blockIdx", "to_threadIdx", "count",
    "virtual_pc", "filename", "line",
)  # fmt: skip
_SINGLE = (
    "current", "kernel", "blockIdx", "threadIdx", "virtual_pc", "device", "sm", "warp", "lane",
    "filename", "line",
)  # fmt: skip


def _threads(session: DebugSession, wanted: Wanted) -> Table:
    here = _here(session)
    grid = session.grid
    per_block = grid.block[0] * grid.block[1] * grid.block[2]

    def number(p: LanePlace) -> int:
        return _number(p.block, grid.grid) * per_block + _number(p.thread, grid.block)

    groups: list[tuple[int, list[LanePlace]]] = []
    for p in sorted(_wanted(session, wanted), key=number):
        pc = waiting_pc(session, p.state, p.lane)
        joins = groups and groups[-1][0] == pc and number(groups[-1][1][-1]) + 1 == number(p)
        if joins and _coalescing(session):
            groups[-1][1].append(p)
        else:
            groups.append((pc, [p]))
    rows = [
        _thread_range(session, pc, group, here is not None and here.focus in _focuses(group))
        for pc, group in groups
    ]
    name, columns = ("Coalesced", _JOINED) if _coalescing(session) else ("Uncoalesced", _SINGLE)
    return _table(f"{name}InfoCudaThreadsTable", "No CUDA threads.", ThreadRange, rows, columns)


def _focuses(group: list[LanePlace]) -> list[Focus]:
    return [p.focus for p in group]


def _thread_range(
    session: DebugSession, pc: int, group: list[LanePlace], current: bool
) -> ThreadRange:
    low, high = group[0], group[-1]
    line = session.symbols.line(pc)
    return ThreadRange(
        current=current,
        kernel=coords.KERNEL,
        first_block=low.block,
        first_thread=low.thread,
        last_block=high.block,
        last_thread=high.thread,
        block=low.block,
        thread=low.thread,
        count=len(group),
        virtual_pc=pc,
        device=coords.DEVICE,
        sm=low.sm,
        warp=low.warp,
        lane=low.lane,
        filename=PurePath(line.file).name if line else "n/a",
        line=line.number if line else 0,
        group=f"Kernel {coords.KERNEL}",
    )


CUDA_INFO_TABLES: dict[str, tuple[Builder, Wanted]] = {
    "devices": (_devices, {}),
    "sms": (_sms, {"device": "current"}),
    "warps": (_warps_table, {"sm": "current"}),
    "lanes": (_lanes, {"sm": "current", "warp": "current"}),
    "kernels": (_kernels, {}),
    "blocks": (_blocks, {"kernel": "current"}),
    "threads": (_threads, {"kernel": "current"}),
    "contexts": (_contexts, {}),
    "launch trace": (_launch_trace, {}),
    "launch children": (_launch_children, {}),
}
"""Option -> builder and default filter."""
