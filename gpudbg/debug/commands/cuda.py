"""cuda-gdb's own commands: info cuda …, cuda COORDINATES, autostep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.answers import Notice, Sections, Table
from gpudbg.debug import cuda_info
from gpudbg.debug.commands.table import command
from gpudbg.debug.focus import cuda_coords as coords
from gpudbg.debug.stops.standing import standing_pc
from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession

OPTIONS = """\
devices  sms  warps  lanes  kernels  blocks  threads  contexts  launch trace  launch children
FILTER names coordinates: device N  sm N  warp N  lane N  kernel N  grid N  block X[,Y[,Z]]
thread X[,Y[,Z]]; N may be current, all or any; threads also take breakpoint N|all.
`set cuda coalescing off` shows blocks and threads one by one."""


@command(
    "info cuda",
    usage="info cuda OPTION [FILTER]",
    help="cuda-gdb's tables of devices, SMs, warps, lanes, kernels, blocks and threads",
    group="status",
    details=OPTIONS,
    completer=lambda s, t: [n for n in cuda_info.CUDA_INFO_TABLES if n.startswith(t)],
)
def info_cuda(session: DebugSession, argument: str) -> Table | Notice:
    """One table."""
    words = argument.split()
    size = 2 if words[:1] == ["launch"] else 1
    option = " ".join(words[:size])
    if option == "managed":
        return Notice("No managed variables.", [])
    if option == "line":
        place = session.symbols.resolve(f"*{' '.join(words[1:])}", session.origin()).addresses[0]
        text = session.symbols.describe_line(place)
        return Notice(text, text)
    return cuda_info.build_cuda_info(session, option, " ".join(words[size:]))


def switch_words(session: DebugSession) -> str:
    """cuda-gdb's announcement of the focus."""
    return f"[Switching focus to CUDA {coords.coords_words(coords.current_coords(session))}]"


@command(
    "cuda",
    usage="cuda COORDINATE [N] …",
    help="show or move the focus by cuda-gdb's coordinates",
    group="focus",
    details="cuda block thread    cuda kernel 0 block 1,0,0 thread 15    cuda sm 0 warp 2 lane 5",
)
def cuda(session: DebugSession, argument: str) -> Notice | Sections:
    """Query, or switch."""
    if not argument.strip():
        raise CommandError("Missing argument(s).")
    asked, wanted = coords.parse_coords(argument)
    if not wanted:
        place = coords.current_coords(session)
        return Notice(coords.coords_words(place, asked), coords.coords_fields(place))
    if not coords.switch_to_coords(session, wanted):
        return Notice("CUDA focus unchanged.", coords.coords_fields(coords.current_coords(session)))
    place = coords.current_coords(session)
    pc = standing_pc(session, place.state)
    line = session.symbols.line(pc)
    there = session.symbols.describe(pc)
    if line is not None:
        there = f"{line.number}\t{session.sources.text(line.file, line.number)}"
    return Sections((Notice(switch_words(session)), Notice(there)), coords.coords_fields(place))


@command(
    "autostep",
    "astep",
    usage="autostep [LOCATION] [for N [lines|instructions]]",
    help="accepted for cuda-gdb's sake: every error here is precise",
    group="breakpoints",
)
def autostep(session: DebugSession, argument: str) -> Notice:
    """Nothing to do: the machine stops at the guilty instruction."""
    return Notice("errors of the emulated SM are precise; autostep is not needed")
