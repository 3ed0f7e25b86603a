"""cuda-gdb's `info cuda …` tables: names, columns and rows as cuda-gdb has them.

Fields, headings and alignment are those of NVIDIA/cuda-gdb's gdb/cuda/cuda-commands.c, 2024.

A `Table` serves both forms: lines for the console (rows grouped under headings, no columns that
only machines read) and fields for GDB/MI.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from gpudbg.answers.words import dim
from gpudbg.debug.focus import cuda_coords as coords
from gpudbg.debug.focus.cuda_coords import Place, Wanted
from gpudbg.debug.focus.focus import Dim3
from gpudbg.debug.stops.cuda_exceptions import EXCEPTIONS, exception_of
from gpudbg.debug.values.frames import waiting_pc
from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.sm.state import WarpState

LEFT, CENTER, RIGHT = -1, 0, 1


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        field: its name in MI.
        heading: above it.
        align: of heading and cells.
        only: "cli" or "mi" where the other lacks it.
        least: characters it has at least.
        before: what the console puts in front of each cell.
    """

    field: str
    heading: str
    align: int = RIGHT
    only: str = ""
    least: int = 0
    before: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of one `info cuda` command; each may stand under a heading in the console."""

    name: str
    columns: tuple[Column, ...]
    rows: tuple[dict[str, str], ...]
    headings: tuple[str, ...]
    empty: str

    def shown(self, kind: str) -> list[Column]:
        """The columns of the console ("cli") or of GDB/MI ("mi")."""
        return [c for c in self.columns if c.only in ("", kind)]

    def width(self, column: Column) -> int:
        """Characters of a column."""
        cells = (len(r[column.field]) for r in self.rows)
        return max(len(column.heading), column.least, *cells, 0)

    def lines(self) -> list[str]:
        """The table as the console prints it."""
        if not self.rows:
            return [self.empty]
        columns = self.shown("cli")
        out = ["".join(_cell(c.heading, self.width(c), c.align) + " " for c in columns)]
        heading = ""
        for row, above in zip(self.rows, self.headings, strict=True):
            if above != heading:
                out.append(above)
                heading = above
            cells = (c.before + _cell(row[c.field], self.width(c), c.align) for c in columns)
            out.append("".join(f"{cell} " for cell in cells))
        return out


def _cell(text: str, width: int, align: int) -> str:
    if align == CENTER:
        # As gdb centres: an odd blank goes behind.
        return (" " * ((width - len(text)) // 2) + text).ljust(width)
    return text.ljust(width) if align == LEFT else text.rjust(width)


Builder = Callable[["DebugSession", Wanted], Table]
Rows = list[tuple[str, dict[str, str]]]
"""(heading, row) pairs."""

_CURRENT = Column("current", " ")


def _table(name: str, empty: str, columns: Iterable[Column], rows: Rows) -> Table:
    return Table(
        name, (_CURRENT, *columns), tuple(r for _, r in rows), tuple(h for h, _ in rows), empty
    )


def build(session: DebugSession, option: str, text: str) -> Table:
    """The table of `info cuda OPTION FILTER`.

    Raises:
        CommandError: cuda-gdb's words for an unknown option or filter.
    """
    if not option:
        raise CommandError("Missing option.")
    names = [n for n in BUILDERS if n == option or (len(option) > 1 and n.startswith(option))]
    if not names:
        raise CommandError(f"Unrecognized option: '{option}'.")
    builder, default = BUILDERS[names[0]]
    return builder(session, {**default, **_filter(session, text)})


def _filter(session: DebugSession, text: str) -> Wanted:
    try:
        asked, wanted = coords.parse(text, ("breakpoint",))
    except CommandError:
        raise CommandError(f"Incorrect filter: '{text.strip()}'.") from None
    if asked:
        raise CommandError(f"Incorrect filter: '{text.strip()}'.")
    return wanted


def _here(session: DebugSession) -> Place | None:
    return None if session.focus is None or session.finished else coords.current(session)


def _wanted(session: DebugSession, wanted: Wanted) -> list[Place]:
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


def _warps(found: list[Place]) -> list[WarpState]:
    return list({id(p.state): p.state for p in found}.values())


def _mark(on: bool) -> str:
    return "*" if on else " "


# ---- hardware --------------------------------------------------------------------------
def _devices(session: DebugSession, wanted: Wanted) -> Table:
    gpu = session.grid.gpu
    if wanted.get("device", 0) not in (0, "all", "any", "current"):
        rows: Rows = []
    else:
        mask = sum(1 << sm.index for sm in session.grid.sms if any(True for _ in sm.resident()))
        slots = len(session.grid.sms[0].warps)
        row = {
            "current": _mark(_here(session) is not None),
            "device": "0",
            "pci_bus": "00:00.0",
            "name": "gpudbg emulated SM",
            "description": gpu.arch,
            "sm_type": gpu.arch,
            "num_sms": str(gpu.num_sms),
            "num_warps": str(slots),
            "num_lanes": "32",
            "num_regs": "255",
            "active_sms_mask": f"0x{mask:0{max(8, (gpu.num_sms + 3) // 4)}x}",
        }
        rows = [("", row)]
    columns = (
        Column("device", "Dev"),
        Column("pci_bus", "PCI Bus/Dev ID"),
        Column("name", "Name"),
        Column("description", "Description"),
        Column("sm_type", "SM Type"),
        Column("num_sms", "SMs"),
        Column("num_warps", "Warps/SM"),
        Column("num_lanes", "Lanes/Warp"),
        Column("num_regs", "Max Regs/Lane"),
        Column("active_sms_mask", "Active SMs Mask"),
    )
    return _table("InfoCudaDevicesTable", "No CUDA devices.", columns, rows)


def _sms(session: DebugSession, wanted: Wanted) -> Table:
    here = _here(session)
    rows: Rows = []
    chosen = wanted.get("sm", "all")
    if here is not None and chosen == "current":
        chosen = here.sm
    for sm in session.grid.sms if here is not None and not session.finished else ():
        if isinstance(chosen, int) and sm.index != chosen:
            continue
        mask = sum(1 << w.slot for w in sm.resident() if w.status != "exited")
        row = {
            "current": _mark(here is not None and here.sm == sm.index),
            "sm": str(sm.index),
            "active_warps_mask": f"0x{mask:016x}",
        }
        rows.append(("Device 0", row))
    columns = (
        Column("sm", "SM"),
        Column("active_warps_mask", "Active Warps Mask"),
    )
    return _table("InfoCudaSmsTable", "No CUDA SMs.", columns, rows)


def _warps_table(session: DebugSession, wanted: Wanted) -> Table:
    here = _here(session)
    rows: Rows = []
    for w in _warps(_wanted(session, wanted)):
        live = w.valid & ~w.exited
        lane = ((w.active or live) & -(w.active or live)).bit_length() - 1
        row = {
            "current": _mark(here is not None and here.state is w),
            "warp": str(w.slot),
            "active_lanes_mask": f"0x{w.active:08x}",
            "divergent_lanes_mask": f"0x{live & ~w.active:08x}",
            "active_physical_pc": f"0x{waiting_pc(session, w, lane):016x}",
            "kernel": str(coords.KERNEL),
            "blockIdx": dim(w.cta.block),
            "threadIdx": dim(w.thread(lane)),
        }
        rows.append((f"Device 0 SM {w.sm}", row))
    columns = (
        Column("warp", "Wp"),
        Column("active_lanes_mask", "Active Lanes Mask"),
        Column("divergent_lanes_mask", "Divergent Lanes Mask"),
        Column("active_physical_pc", "Active PC"),
        Column("kernel", "Kernel"),
        Column("blockIdx", "BlockIdx"),
        Column("threadIdx", "First Active ThreadIdx"),
    )
    return _table("InfoCudaWarpsTable", "No CUDA Warps.", columns, rows)


def _lanes(session: DebugSession, wanted: Wanted) -> Table:
    here = _here(session)
    errors = session.stop.errors if session.stop is not None else ()
    rows: Rows = []
    for p in _wanted(session, wanted):
        names = [
            EXCEPTIONS[exception_of(e.name)]
            for e in errors
            if (e.sm, e.warp) == (p.sm, p.warp) and p.lane in e.lanes
        ]
        row = {
            "current": _mark(here is not None and here.focus == p.focus),
            "lane": str(p.lane),
            "state": "active" if p.state.active >> p.lane & 1 else "divergent",
            "physical_pc": f"0x{waiting_pc(session, p.state, p.lane):016x}",
            "threadIdx": dim(p.thread),
            "exception": names[0] if names else "None",
        }
        rows.append((f"Device 0 SM {p.sm} Warp {p.warp}", row))
    columns = (
        Column("lane", "Ln"),
        Column("state", "State", CENTER),
        Column("physical_pc", "PC", CENTER),
        Column("threadIdx", "ThreadIdx"),
        Column("exception", "Exception", CENTER),
    )
    return _table("InfoCudaLanesTable", "No CUDA Lanes.", columns, rows)


# ---- software --------------------------------------------------------------------------
def invocation(session: DebugSession) -> str:
    """`saxpy(n=1000,x=0x700000000)`"""
    from gpudbg.debug.views.arguments import argument_rows

    arguments = ",".join(f"{a.name}={a.text}" for a in argument_rows(session))
    return f"{session.symbols.kernel_name}({arguments})"


def _kernel_row(session: DebugSession, here: Place | None) -> dict[str, str]:
    grid = session.grid
    mask = sum(1 << sm.index for sm in grid.sms if any(True for _ in sm.resident()))
    return {
        "current": _mark(here is not None),
        "level": "0",
        "kernel": str(coords.KERNEL),
        "parent": "-",
        "device": str(coords.DEVICE),
        "grid": str(coords.GRID),
        "status": "Active",
        "sms_mask": f"0x{mask:08x}",
        "gridDim": dim(grid.grid),
        "blockDim": dim(grid.block),
        "invocation": invocation(session),
    }


_LAUNCH = (
    Column("kernel", "Kernel"),
    Column("device", "Dev"),
    Column("grid", "Grid"),
    Column("status", "Status"),
    Column("gridDim", "GridDim"),
    Column("blockDim", "BlockDim"),
    Column("invocation", "Invocation", LEFT),
)


def _kernels(session: DebugSession, wanted: Wanted) -> Table:
    here = _here(session)
    shown = here is not None and coords.fits(here, {k: wanted[k] for k in wanted}, here)
    rows: Rows = [("", _kernel_row(session, here))] if shown else []
    kernel, device, grid, status, *dims = _LAUNCH
    columns = (
        kernel,
        Column("parent", "Parent"),
        device,
        grid,
        status,
        Column("sms_mask", "SMs Mask"),
        *dims,
    )
    return _table("InfoCudaKernelsTable", "No CUDA kernels.", columns, rows)


def _launch_trace(session: DebugSession, wanted: Wanted) -> Table:
    here = _here(session)
    rows: Rows = [("", _kernel_row(session, here))] if here is not None else []
    columns = (Column("level", "Lvl", LEFT, before="#"), *_LAUNCH)
    return _table("InfoCudaLaunchTraceTable", "No CUDA kernels.", columns, rows)


def _launch_children(session: DebugSession, wanted: Wanted) -> Table:
    return _table("InfoCudaLaunchChildrenTable", "No CUDA kernels.", _LAUNCH, [])


def _contexts(session: DebugSession, wanted: Wanted) -> Table:
    here = _here(session)
    row = {
        "current": _mark(here is not None),
        "context": "0x0000000000000001",
        "device": str(coords.DEVICE),
        "state": "active",
    }
    columns = (Column("context", "Context"), Column("device", "Dev"), Column("state", "State"))
    rows: Rows = [("", row)] if here is not None else []
    return _table("InfoCudaContextsTable", "No CUDA contexts.", columns, rows)


def _coalescing(session: DebugSession) -> bool:
    return session.settings.shown("cuda coalescing") != "off"


def _number(at: Dim3, size: Dim3) -> int:
    """Position in x-fastest order."""
    return at[0] + size[0] * (at[1] + size[1] * at[2])


_KERNEL_MI = Column("kernel", "Kernel", RIGHT, "mi")


def _blocks(session: DebugSession, wanted: Wanted) -> Table:
    here = _here(session)
    size = session.grid.grid
    first: dict[Dim3, Place] = {}
    for p in _wanted(session, wanted):
        first.setdefault(p.block, p)
    order = sorted(first.values(), key=lambda p: _number(p.block, size))
    groups: list[list[Place]] = []
    for p in order:
        joins = groups and _number(p.block, size) == _number(groups[-1][-1].block, size) + 1
        if joins and _coalescing(session):
            groups[-1].append(p)
        else:
            groups.append([p])
    rows: Rows = []
    for group in groups:
        inside = here is not None and here.block in [p.block for p in group]
        row = {
            "current": _mark(inside),
            "kernel": str(coords.KERNEL),
            "from": dim(group[0].block),
            "to": dim(group[-1].block),
            "blockIdx": dim(group[0].block),
            "count": str(len(group)),
            "state": "running",
            "device": str(coords.DEVICE),
            "sm": str(group[0].sm),
        }
        rows.append((f"Kernel {coords.KERNEL}", row))
    state = Column("state", "State")
    if _coalescing(session):
        columns: tuple[Column, ...] = (
            _KERNEL_MI,
            Column("from", "BlockIdx"),
            Column("to", "To BlockIdx"),
            Column("count", "Count"),
            state,
        )
        return _table("CoalescedInfoCudaBlocksTable", "No CUDA blocks.", columns, rows)
    columns = (
        _KERNEL_MI,
        Column("blockIdx", "BlockIdx"),
        state,
        Column("device", "Dev"),
        Column("sm", "SM"),
    )
    return _table("UncoalescedInfoCudaBlocksTable", "No CUDA blocks.", columns, rows)


def _threads(session: DebugSession, wanted: Wanted) -> Table:
    here = _here(session)
    grid = session.grid
    per_block = grid.block[0] * grid.block[1] * grid.block[2]

    def number(p: Place) -> int:
        return _number(p.block, grid.grid) * per_block + _number(p.thread, grid.block)

    groups: list[tuple[int, list[Place]]] = []
    for p in sorted(_wanted(session, wanted), key=number):
        pc = waiting_pc(session, p.state, p.lane)
        joins = groups and groups[-1][0] == pc and number(groups[-1][1][-1]) + 1 == number(p)
        if joins and _coalescing(session):
            groups[-1][1].append(p)
        else:
            groups.append((pc, [p]))
    rows: Rows = []
    for pc, group in groups:
        low, high = group[0], group[-1]
        line = session.symbols.line(pc)
        row = {
            "current": _mark(here is not None and here.focus in [p.focus for p in group]),
            "kernel": str(coords.KERNEL),
            "from_blockIdx": dim(low.block),
            "from_threadIdx": dim(low.thread),
            "to_blockIdx": dim(high.block),
            "to_threadIdx": dim(high.thread),
            "blockIdx": dim(low.block),
            "threadIdx": dim(low.thread),
            "count": str(len(group)),
            "virtual_pc": f"0x{pc:016x}",
            "device": str(coords.DEVICE),
            "sm": str(low.sm),
            "warp": str(low.warp),
            "lane": str(low.lane),
            "filename": PurePath(line.file).name if line else "n/a",
            "line": str(line.number) if line else "0",
        }
        rows.append((f"Kernel {coords.KERNEL}", row))
    pc_column = Column("virtual_pc", "PC")
    place = (Column("filename", "Filename"), Column("line", "Line", least=5))
    if _coalescing(session):
        columns: tuple[Column, ...] = (
            _KERNEL_MI,
            Column("from_blockIdx", "BlockIdx"),
            Column("from_threadIdx", "ThreadIdx"),
            Column("to_blockIdx", "To BlockIdx"),
            Column("to_threadIdx", "To ThreadIdx"),
            Column("count", "Count"),
            pc_column,
            *place,
        )
        return _table("CoalescedInfoCudaThreadsTable", "No CUDA threads.", columns, rows)
    columns = (
        _KERNEL_MI,
        Column("blockIdx", "BlockIdx"),
        Column("threadIdx", "ThreadIdx"),
        pc_column,
        Column("device", "Dev"),
        Column("sm", "SM"),
        Column("warp", "Wp"),
        Column("lane", "Ln"),
        *place,
    )
    return _table("UncoalescedInfoCudaThreadsTable", "No CUDA threads.", columns, rows)


BUILDERS: dict[str, tuple[Builder, Wanted]] = {
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
