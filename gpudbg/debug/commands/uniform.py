"""info uniform: what registers have in common across a warp, and why branches diverge."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpudbg.answers import Table, column, typed_row
from gpudbg.debug.commands.table import command
from gpudbg.debug.values.lane_reasons import LaneReasons
from gpudbg.errors import CommandError

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
    symbols = session.symbols
    config = session.grid.launched.config
    reasons = LaneReasons(symbols, config.block)
    known = reasons.known
    if known is None:
        raise CommandError(
            f"{symbols.kernel.name} is too long to be analysed", "kernels of 4,000 instructions are"
        )
    wanted = argument.strip()
    found = _REGISTER.fullmatch(wanted)
    if wanted and not found and wanted != BRANCHES:
        raise CommandError(f"{wanted!r} is neither a register nor `{BRANCHES}`", "info uniform R4")
    rows = []
    for offset in known.flow.instructions:
        results = known.results(offset)
        if found:
            results = {n: shape for n, shape in results.items() if n == int(found[1])}
        why = "" if found else reasons.branch(offset)
        if not why and (wanted == BRANCHES or not results):
            continue
        words = (f"R{n} {'varying' if s is None else s.words()}" for n, s in results.items())
        rows.append(UniformRow(offset, reasons.text(offset), "; ".join(words), why))
    what = f"no instruction writes {wanted}" if found else "no branch diverges"
    return Table(UniformRow, tuple(rows), empty=f"{what} as far as the code says")
