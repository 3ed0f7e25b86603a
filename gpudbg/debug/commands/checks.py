"""Checks of the run: check, info checks, info hazards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.analysis.findings import finding_lines, heading
from gpudbg.answers import Answer, Listing, Notice, Table, TableStyle, column, typed_row
from gpudbg.debug.checks import CHECKS
from gpudbg.debug.commands.table import command
from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession

DETAILS = """\
check NAME          follow the run from now on and collect findings
check NAME off      stop, and forget them
check hazards static   look at all paths of the kernel's function now, without running it
info hazards        what was found so far"""


def _names(session: DebugSession, text: str) -> list[str]:
    return [name for name in CHECKS if name.startswith(text.strip())]


@command(
    "check",
    usage="check [NAME [on|off|static]]",
    help="watch the run for mistakes",
    group="running",
    needs="nothing",
    details=DETAILS,
    completer=_names,
)
def check(session: DebugSession, argument: str) -> Answer:
    """Start, stop or list checks."""
    words = argument.split()
    if not words:
        return info_checks(session, "")
    name, how = words[0], words[1] if len(words) > 1 else "on"
    if len(words) > 2 or how not in ("on", "off", "static"):
        raise CommandError(
            f"check {argument.strip()!r} is not understood", "check NAME [on|off|static]"
        )
    if how == "static":
        if name != "hazards":
            raise CommandError(f"{name!r} needs a run", "check NAME, then continue")
        return _static(session)
    session.checks.attach(name)
    if how == "off":
        session.checks.detach(name)
    return Notice(f"check {name} is {how}", {"check": name, "on": how == "on"})


def _static(session: DebugSession) -> Listing:
    from gpudbg.analysis.hazards import check_program

    found = check_program(session.program, [session.kernel.section])
    title = f"{session.kernel.name}: {len(found)} findings over all paths"
    return Listing(tuple(found), finding_lines, title=(title,))


@typed_row
class CheckRow:
    """A check, and whether it watches."""

    name: str = column("", least=10)
    state: str = column("", key="", least=20)
    on: bool = column()
    help: str = column("")


@command("info checks", help="checks and whether they are on", group="status", needs="nothing")
def info_checks(session: DebugSession, argument: str) -> Table:
    """List the checks."""
    rows = []
    for name, kind in CHECKS.items():
        running = session.checks.get(name)
        state = "off" if running is None else f"on, {len(running.findings)} findings"
        rows.append(CheckRow(name, state, running is not None, kind.help))
    return Table(CheckRow, tuple(rows), style=TableStyle(" ", head=False, fixed=True), by="name")


@command("info hazards", help="hazards found so far", group="status", needs="nothing")
def info_hazards(session: DebugSession, argument: str) -> Listing:
    """Findings of the hazards check."""
    running = session.checks.get("hazards")
    if running is None:
        raise CommandError("the hazards check is off", "`check hazards` starts it")
    title = heading("hazards", running)
    return Listing(tuple(running.findings), finding_lines, title=(title,))
