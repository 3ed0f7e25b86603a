"""info uniform: what registers have in common across a warp, and why branches diverge."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpudbg.answers import Table, column, typed_row
from gpudbg.debug.commands.table import command
from gpudbg.errors import CommandError
from gpudbg.symbols.lane_reasons import LaneReasons

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession

_REGISTER = re.compile(r"\$?R(\d+)", re.IGNORECASE)
BRANCHES = "branches"


@typed_row
class UniformRow:
    """An instruction, and what the lanes of its results have in common behind it."""

    offset: int = column()
    text: str = column("Instruction")
    registers: str = column("Lanes")
    diverges: str = column("Diverges", default="")


def known_lanes(session: DebugSession) -> LaneReasons:
    """What the launched kernel's code says of lanes.

    Raises:
        CommandError: it is too long to be analysed, or goes where the file does not say.
    """
    symbols = session.symbols
    found = LaneReasons.of_launch(symbols.image, symbols.kernel, session.grid.launched.config.block)
    if found.unclaimed:
        raise CommandError(f"lanes of {symbols.kernel.name}: {found.unclaimed}")
    return found


@command(
    "info uniform",
    usage="info uniform [branches | REGISTER]",
    help="what the lanes of each register have in common, proven from the code; why branches "
    "diverge",
    group="code",
    details="A claim holds for the active lanes behind the instruction: `uniform`, "
    "`base + 4*lane`, `uniform in each 16 lanes`, `varying`.\n`unless it wraps`: unless a sum of "
    "index arithmetic overflows within a warp.  The launch's block shape tells what tid is.\nWhat "
    "a debugger writes to registers is no part of it.",
)
def info_uniform(session: DebugSession, argument: str) -> Table:
    """List results of instructions, and branches."""
    reasons = known_lanes(session)
    wanted = argument.strip()
    found = _REGISTER.fullmatch(wanted)
    if wanted and not found and wanted != BRANCHES:
        raise CommandError(f"{wanted!r} is neither a register nor `{BRANCHES}`", "info uniform R4")
    rows = []
    for offset in reasons.offsets:
        results = reasons.results(offset, {int(found[1])} if found else None)
        why = "" if found else reasons.branch(offset)
        if why or (results and wanted != BRANCHES):
            rows.append(UniformRow(offset, reasons.text(offset), results, why))
    what = f"no instruction writes {wanted}" if found else "no branch diverges"
    return Table(UniformRow, tuple(rows), empty=f"{what} as far as the code says")
