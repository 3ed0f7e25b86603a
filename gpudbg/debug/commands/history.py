"""Going back: reverse-stepi, reverse-step, reverse-continue, goto, branches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.answers import Card, Notice, Table, column, typed_row
from gpudbg.debug.commands.run import stop_answer
from gpudbg.debug.commands.table import command
from gpudbg.debug.history.branches import BranchRow
from gpudbg.debug.history.comparing import StateDifference
from gpudbg.debug.views.format import parse_int
from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession

MOST_SHOWN = 100
"""Differences that `branch compare` lists."""
_DETAILS = (
    "A launch is deterministic: it is carried out again from a checkpoint.  In the past, commands\n"
    "that run and step follow the order that was recorded, up to the present."
)


def _count(argument: str) -> int:
    return parse_int(argument, "count") if argument.strip() else 1


@command(
    "reverse-stepi",
    "rsi",
    usage="reverse-stepi [N]",
    help="take back the launch's last warp instruction; the focus goes to its warp",
    group="running",
    repeats=True,
    details=_DETAILS,
)
def reverse_stepi(session: DebugSession, argument: str) -> Card:
    """Step back by instructions of the launch."""
    return stop_answer(session, session.reverse_step(_count(argument)))


@command(
    "reverse-nexti",
    "rni",
    usage="reverse-nexti [N]",
    help="go back by an instruction of the focused warp; a call is one",
    group="running",
    repeats=True,
    details=_DETAILS,
)
def reverse_nexti(session: DebugSession, argument: str) -> Card:
    """Step back by instructions of the focused warp, over calls."""
    return stop_answer(session, session.reverse_next(_count(argument)))


@command(
    "reverse-step",
    "rs",
    usage="reverse-step [N]",
    help="go back to where the focused warp's source line began, or the one before",
    group="running",
    repeats=True,
    details=_DETAILS,
)
def reverse_step(session: DebugSession, argument: str) -> Card:
    """Step back to where a source line began."""
    return stop_answer(session, session.reverse_step_line(_count(argument)))


@command(
    "reverse-next",
    "rn",
    usage="reverse-next [N]",
    help="like reverse-step, over calls",
    group="running",
    repeats=True,
    details=_DETAILS,
)
def reverse_next(session: DebugSession, argument: str) -> Card:
    """Step back to where a source line began, over calls."""
    return stop_answer(session, session.reverse_step_line(_count(argument), over=True))


@command(
    "reverse-continue",
    "rc",
    help="go back to the last breakpoint, watchpoint or fault that was met, or the beginning",
    group="running",
    repeats=True,
    details=_DETAILS
    + "\nAt a watchpoint the launch stands before the instruction that touched it.",
)
def reverse_continue(session: DebugSession, argument: str) -> Card:
    """Run back to the last stop."""
    return stop_answer(session, session.reverse_cont())


@command(
    "reverse-finish",
    help="go back to the call of the function that the focused warp is in",
    group="running",
    details=_DETAILS,
)
def reverse_finish(session: DebugSession, argument: str) -> Card:
    """Run back to the call of the present function."""
    return stop_answer(session, session.reverse_finish())


@command(
    "reverse-until",
    "reverse-advance",
    usage="reverse-until [LOCATION]",
    help="go back to where the focused warp stood at a location; else by a line, out of a loop",
    group="running",
    details=_DETAILS,
    completer=lambda s, text: s.symbols.complete_location(text),
)
def reverse_until(session: DebugSession, argument: str) -> Card:
    """Run back to a place."""
    return stop_answer(session, session.reverse_until(argument.strip() or None))


@command(
    "goto",
    "goto-bookmark",
    usage="goto TICK|BOOKMARK",
    help="stand after so many warp instructions of the launch",
    group="running",
    details="`info timeline` counts them; `goto end` is the present, `goto NAME` a bookmark.\n"
    + _DETAILS,
)
def goto(session: DebugSession, argument: str) -> Card:
    """Stand at a tick or bookmark."""
    return stop_answer(session, session.goto_place(argument))


@typed_row
class RecordState:
    """Which part of the launch's past can be gone back to."""

    tick: int = column()
    end: int = column()
    past: bool = column()
    moves: int = column()
    checkpoints: int = column()

    def lines(self) -> list[str]:
        """For people."""
        where = "the present" if not self.past else "the past"
        return [
            f"tick {self.tick:,} of {self.end:,}, in {where}",
            f"{self.moves:,} moves, {self.checkpoints} checkpoints",
        ]


@command(
    "record",
    usage="record [save] FILE.gpurec",
    help="write the launch, with all its past, to a file that opens on any machine",
    group="running",
    details="`gpudbg FILE.gpurec` opens it at its end, without the program's own files; bookmarks\n"
    "and branches are in it.  It holds the program, its inputs and what was done, not every\n"
    "instruction.",
)
def record_save(session: DebugSession, argument: str) -> Notice:
    """Write the launch as a recording."""
    word, _, rest = argument.strip().partition(" ")
    path = rest.strip() if word == "save" else argument.strip()
    if not path or (word != "save" and not path.endswith(".gpurec")):
        raise CommandError(
            "a launch is always recorded; to which file is it to be written?",
            "record save FILE.gpurec",
        )
    size = session.save_recording(path)
    branches = len(session.branches)
    words = f", {branches} branches" if branches > 1 else ""
    return Notice(f"{path}: {size:,} bytes{words}", {"file": path, "bytes": size})


@command(
    "info record",
    help="where the launch stands in what was recorded of it",
    group="running",
)
def info_record(session: DebugSession, argument: str) -> Card:
    """Show how much of the past is kept."""
    history = session.history
    replay = history.replay
    found = RecordState(
        history.tick, history.end_tick, history.in_past, len(replay.moves), len(replay.marks)
    )
    return Card(found, RecordState.lines)


@command(
    "info branches",
    help="ways the launch was led on after something was changed in its past",
    group="running",
    details="Writing a register or memory in the past begins a branch; the way that was recorded\n"
    "is kept.  `branch N` goes to the end of one, `branch compare N` says what differs.",
)
def info_branches(session: DebugSession, argument: str) -> Table:
    """List branches."""
    return Table(BranchRow, session.branches)


@command(
    "branch",
    usage="branch N|NAME",
    help="go to the end of another branch",
    group="running",
    completer=lambda s, text: _completed(s, text),
)
def branch(session: DebugSession, argument: str) -> Card:
    """Stand at the end of another branch."""
    if not argument.strip():
        raise CommandError("which branch?", "`info branches` lists them")
    return stop_answer(session, session.branch(argument.strip().strip('"')))


@command(
    "branch name",
    usage="branch name TEXT",
    help="name the branch that is followed; without a text it has no name",
    group="running",
)
def branch_name(session: DebugSession, argument: str) -> Table:
    """Name the followed branch."""
    session.name_branch(argument.strip().strip('"'))
    return info_branches(session, "")


@command(
    "branch delete",
    usage="branch delete N|NAME",
    help="forget a branch that is not followed; its number is not given again",
    group="running",
    completer=lambda s, text: _completed(s, text),
)
def branch_delete(session: DebugSession, argument: str) -> Table:
    """Delete a branch."""
    session.delete_branch(_named(argument, "delete"))
    return info_branches(session, "")


@command(
    "branch compare",
    usage="branch compare N|NAME [TICK]",
    help="what differs at the end of another branch and of this one, or at a tick of both",
    group="running",
    details="Nothing moves.  Here is the branch that is followed; words are 32 bits.",
    completer=lambda s, text: _completed(s, text),
)
def branch_compare(session: DebugSession, argument: str) -> Table:
    """Compare another branch's state with this one's."""
    which, _, tick = argument.strip().rpartition(" ")
    if not which or not tick.replace(",", "").isdecimal():
        which, tick = argument, ""
    at = parse_int(tick.replace(",", ""), "tick") if tick else None
    found = session.compare_branch(_named(which, "compare"), at)
    more = len(found) - MOST_SHOWN
    return Table(
        StateDifference, found[:MOST_SHOWN], empty="the two branches have the same state there",
        foot=(f"and {more:,} more",) if more > 0 else (), name="differences",
    )  # fmt: skip


def _named(rest: str, word: str) -> str:
    if not rest.strip():
        raise CommandError(f"branch {word}: which one?", "`info branches` lists them")
    return rest.strip().strip('"')


def _completed(session: DebugSession, text: str) -> list[str]:
    return [row.name for row in session.branches if row.name and row.name.startswith(text)]
