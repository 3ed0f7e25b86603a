"""Checks of the run: check, info checks, info hazards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.analysis.findings import report
from gpudbg.debug.checks import CHECKS
from gpudbg.debug.commands.table import command
from gpudbg.debug.registry import Output
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
def check(session: DebugSession, argument: str) -> Output:
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
    return Output((f"check {name} is {how}",), {"check": name, "on": how == "on"})


def _static(session: DebugSession) -> Output:
    from gpudbg.analysis.hazards import check_program

    found = check_program(session.program, [session.kernel.section])
    lines = [f"{session.kernel.name}: {len(found)} findings over all paths"]
    for finding in found:
        lines += ["", *finding.lines()]
    return Output(tuple(lines), [f.to_json() for f in found])


@command("info checks", help="checks and whether they are on", group="status", needs="nothing")
def info_checks(session: DebugSession, argument: str) -> Output:
    """List the checks."""
    lines = []
    data = {}
    for name, kind in CHECKS.items():
        running = session.checks.get(name)
        state = "off" if running is None else f"on, {len(running.findings)} findings"
        lines.append(f"{name:10} {state:20} {kind.help}")
        data[name] = {"on": running is not None, "help": kind.help}
    return Output(tuple(lines), data)


@command("info hazards", help="hazards found so far", group="status", needs="nothing")
def info_hazards(session: DebugSession, argument: str) -> Output:
    """Findings of the hazards check."""
    running = session.checks.get("hazards")
    if running is None:
        raise CommandError("the hazards check is off", "`check hazards` starts it")
    return Output(tuple(report("hazards", running)), [f.to_json() for f in running.findings])
