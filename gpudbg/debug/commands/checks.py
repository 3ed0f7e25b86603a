"""Checks of the run: check, finding, info checks, info findings, info hazards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpudbg.analysis.findings import finding_lines, heading
from gpudbg.answers import Answer, Card, Listing, Notice, Table, TableStyle, column, typed_row
from gpudbg.dataclass import dataclass
from gpudbg.debug.checks import CHECKS, DEFAULT, kind_of
from gpudbg.debug.commands.run import stop_answer
from gpudbg.debug.commands.table import command
from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.debug.stops.stop import Stop

DETAILS = """\
check all               run the launch from its beginning and look for bad accesses, races,
                        values nobody has written, barriers not all come to, leaks; then start again
check race              the same for one check, or several: check race,init
check hazards           follow the run from now on and collect findings
check hazards static    look at all paths of the kernel's function now, without running it
check NAME off          stop, and forget the findings
info findings           what was found; `finding N` goes to it"""
_USAGE = "check [all|NAME[,NAME...]] [on|off|static]"


def _names(session: DebugSession, text: str) -> list[str]:
    return [name for name in ("all", *CHECKS) if name.startswith(text.strip())]


@command(
    "check",
    usage=_USAGE,
    help="look for mistakes",
    group="running",
    needs="nothing",
    details=DETAILS,
    completer=_names,
)
def check(session: DebugSession, argument: str) -> Answer:
    """Carry out, start, stop or list checks."""
    words = argument.split()
    if not words:
        return info_checks(session, "")
    how = words[1] if len(words) > 1 else "on"
    if len(words) > 2 or how not in ("on", "off", "static"):
        raise CommandError(f"check {argument.strip()!r} is not understood", _USAGE)
    names = DEFAULT if words[0] == "all" else tuple(n for n in words[0].split(",") if n)
    whole = any([kind_of(name).whole for name in names])
    if how == "static":
        if whole:
            raise CommandError(f"{words[0]!r} needs a run", f"check {words[0]}")
        return _static(session)
    if how == "off":
        for name in names:
            session.checks.detach(name)
    elif whole:
        return _findings(session.checks.launch(names))
    else:
        for name in names:
            session.checks.attach(name)
    return Notice(f"check {words[0]} is {how}", {"check": words[0], "on": how == "on"})


def _findings(report: Any) -> Listing:
    """What was found, by number."""
    found = [f for f in report.findings if f.suppressed is None]
    rows = tuple(NumberedFinding(n, f) for n, f in enumerate(found, 1))
    more = [f"fault: {fault}" for fault in report.faults]
    if report.gap:
        more.append(f"could not judge: {report.gap}")
    foot = (*more, report.lines()[-1], *(("`finding N` goes to one",) if rows else ()))
    return Listing(rows, NumberedFinding.lines, foot=foot)


@dataclass(frozen=True, slots=True)
class NumberedFinding:
    """A finding and its number."""

    number: int
    finding: Any

    def lines(self) -> list[str]:
        """The finding in full."""
        first, *rest = self.finding.explain()
        return [f"{self.number:3}  {first}", *(f"     {line}" for line in rest)]

    def to_json(self) -> dict[str, Any]:
        """The finding as data."""
        found: dict[str, Any] = {"number": self.number} | self.finding.to_json()
        return found


@command("info findings", help="what the last check found", group="status", needs="nothing")
def info_findings(session: DebugSession, argument: str) -> Listing:
    """Findings of the last check of the launch."""
    return _findings(_report(session))


def _report(session: DebugSession) -> Any:
    if session.checks.report is None:
        raise CommandError("the launch has not been checked", "`check all` checks it")
    return session.checks.report


@command(
    "finding",
    usage="finding N [ACCESS]",
    help="to where a finding's access is made",
    group="running",
    needs="nothing",
    details="Launches again and runs the access's thread to it: the last one of the finding, or "
    "`finding N 1`, the first.",
)
def finding(session: DebugSession, argument: str) -> Card:
    """Stand before an access of a finding."""
    try:
        numbers = [int(word) for word in argument.split()]
    except ValueError:
        numbers = []
    if not numbers or len(numbers) > 2:
        raise CommandError(f"finding {argument.strip()!r} is not understood", "finding N [ACCESS]")
    found = [f for f in _report(session).findings if f.suppressed is None]
    if not 0 < numbers[0] <= len(found):
        raise CommandError(f"no finding {numbers[0]}", f"there are {len(found)}: `info findings`")
    sides = found[numbers[0] - 1].accesses
    side = numbers[1] if len(numbers) > 1 else len(sides)
    if not sides or not 0 < side <= len(sides):
        raise CommandError(f"finding {numbers[0]} has {len(sides)} accesses")
    return stop_answer(session, stand_at(session, sides[side - 1]))


def stand_at(session: DebugSession, access: Any) -> Stop:
    """Restart the launch and run to the first time that a thread makes an access."""
    session.restart()
    (x, y, z), (a, b, c) = access.thread, access.block
    condition = (
        f"threadIdx.x == {x} && threadIdx.y == {y} && threadIdx.z == {z} && "
        f"blockIdx.x == {a} && blockIdx.y == {b} && blockIdx.z == {c}"
    )
    place = f"*0x{access.pc - session.symbols.base:x}"
    with session.breakpoints.alone(lambda: session.breakpoints.set_at(place, condition)):
        return session.cont()


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
        how = "done" if kind.whole else "on"
        state = "off" if running is None else f"{how}, {len(running.findings)} findings"
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
