"""Call frames and source path: backtrace, frame, up, down, directory, substitute-path."""

from __future__ import annotations

import shlex
from operator import attrgetter
from pathlib import PurePath
from typing import TYPE_CHECKING

from gpudbg.answers import Answer, Card, Listing, Notice, column, typed_row
from gpudbg.debug.commands.table import command
from gpudbg.debug.commands.variables import variable_rows
from gpudbg.debug.registry import quoted_words
from gpudbg.debug.values.backtrace import Frame, frames, selected_frame
from gpudbg.debug.values.variables import known_variables
from gpudbg.debug.views import gdb_text
from gpudbg.debug.views.arguments import argument_doubts, argument_rows, frame_arguments
from gpudbg.debug.views.format import parse_int
from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession


def frame_words(session: DebugSession, frame: Frame) -> str:
    """`walk (in=0x705000000, n=100) at walk.cu:24`"""
    values = ", ".join(f"{a.entry}={a.text}" for a in frame_arguments(session, frame))
    where = f" at {PurePath(frame.line.file).name}:{frame.line.number}" if frame.line else ""
    return f"{frame.function} ({values}){where}"


def mid_line(session: DebugSession, frame: Frame) -> bool:
    """Whether the innermost frame stands behind the first instruction of its line (gdb says so)."""
    if frame.level or frame.line is None or not gdb_text.wanted(session):
        return False
    return session.symbols.line_extent(frame.pc)[0] != frame.pc


def frame_row(session: DebugSession, frame: Frame) -> str:
    """`#0  walk (in=0x705000000) at walk.cu:24`"""
    address = ""
    if frame.level or mid_line(session, frame):
        # A bare number is a code address only under `addresses code`: else name the place.
        codes = gdb_text.wanted(session)
        address = f"0x{frame.pc:016x} in " if codes else f"{session.symbols.describe(frame.pc)} in "
    return f"#{frame.level:<3}{address}{frame_words(session, frame)}"


@typed_row
class FrameRow:
    """A call frame; `words` are the lines that people see."""

    level: int = column()
    pc: int = column()
    function: str = column()
    file: str | None = column()
    line: int | None = column()
    inlined: bool = column()
    words: tuple[str, ...] = column(key="")


def _row(frame: Frame, *words: str) -> FrameRow:
    line = frame.line
    return FrameRow(
        frame.level,
        frame.pc,
        frame.function,
        line.file if line else None,
        line.number if line else None,
        frame.inlined,
        words,
    )


@command(
    "backtrace",
    "bt",
    "where",
    usage="backtrace [full] [COUNT]",
    help="call frames of the focused warp, inlined calls included",
    group="status",
    needs="stopped",
    details="`info stack` shows the divergence stack.",
)
def backtrace(session: DebugSession, argument: str) -> Listing:
    """List frames."""
    rows = list(frames(session))
    words = [w for w in argument.split() if w not in ("full", "-full")]
    full = len(words) < len(argument.split())
    if words:
        count = parse_int(" ".join(words), "count")
        rows = rows[:count] if count >= 0 else rows[count:]
    # No table of variables: as `info locals`.
    more = ("No locals.",) if full else ()
    found = (_row(frame, frame_row(session, frame), *more) for frame in rows)
    return Listing(tuple(found), attrgetter("words"))


def _select(session: DebugSession, level: int) -> Card:
    rows = frames(session)
    session.frame_level = level
    frame = rows[level]
    lines = [frame_row(session, frame)]
    if frame.line is not None:
        text = session.sources.text(frame.line.file, frame.line.number)
        lines.append(f"{frame.line.number}\t{text}")
        size = session.settings.number("listsize")
        begin = max(frame.line.number - size // 2, 1)
        session.list_state = (frame.line.file, begin, begin)
    return Card(_row(frame, *lines), attrgetter("words"))


@command(
    "frame",
    "f",
    usage="frame [LEVEL | function NAME]",
    help="look at a call frame: its line, and what `list` shows",
    group="status",
    needs="stopped",
)
def frame_(session: DebugSession, argument: str) -> Card:
    """Show or select a frame."""
    count = len(frames(session))
    level = session.frame_level
    word, _, name = argument.strip().partition(" ")
    if word and len(word) > 1 and "function".startswith(word):
        found = [f.level for f in frames(session) if f.function == name.strip()]
        if not found:
            raise CommandError(f'No frame for function "{name.strip()}".')
        level = found[0]
    elif argument.strip():
        word = argument.strip().removeprefix("level ").strip()
        level = parse_int(word, "frame level")
    if not 0 <= level < count:
        raise CommandError(f"No frame at level {word}.", f"there are {count}")
    return _select(session, level)


def _move(session: DebugSession, argument: str, sign: int) -> Card:
    count = parse_int(argument, "count") if argument.strip() else 1
    level = session.frame_level + sign * count
    last = len(frames(session)) - 1
    if sign > 0 and session.frame_level == last:
        raise CommandError("Initial frame selected; you cannot go up.")
    if sign < 0 and session.frame_level == 0:
        raise CommandError("Bottom (innermost) frame selected; you cannot go down.")
    return _select(session, min(max(level, 0), last))


@command("up", usage="up [N]", help="the calling frame", group="status", needs="stopped")
def up(session: DebugSession, argument: str) -> Card:
    """Select the caller's frame."""
    return _move(session, argument, 1)


@command("down", usage="down [N]", help="the called frame", group="status", needs="stopped")
def down(session: DebugSession, argument: str) -> Card:
    """Select the callee's frame."""
    return _move(session, argument, -1)


@command(
    "info frame",
    "info f",
    help="the selected call frame",
    group="status",
    needs="stopped",
)
def info_frame(session: DebugSession, argument: str) -> Card:
    """Describe the frame."""
    rows, frame = frames(session), selected_frame(session)
    place = session.symbols.describe(frame.pc)
    kind = "inlined call" if frame.inlined else "kernel" if frame.own else "call"
    lines = [
        f"Stack level {frame.level}, frame of {frame_words(session, frame)}",
        f" pc = 0x{session.shown_pc(frame.pc):x} <{place}>, {kind}, call depth {frame.physical}",
    ]
    if frame.level + 1 < len(rows):
        lines.append(f" called from {frame_words(session, rows[frame.level + 1])}")
    return Card(_row(frame, *lines), attrgetter("words"))


def _no_variables(session: DebugSession, frame: Frame) -> Notice:
    """The answer where a frame's variables are unknown, with the reason."""
    words = f"No symbol table info available for {frame.function}."
    return Notice(words + _why_none(session), {})


def _why_none(session: DebugSession) -> str:
    """A line that says why a program has no variables; gdb has none."""
    reason = known_variables(session.program).reason
    said = reason and not gdb_text.wanted(session)
    return f"\nno variable information ({reason})" if said else ""


@command(
    "info args",
    help="arguments of the selected frame; without -G what the launch passed to the kernel",
    group="status",
    needs="stopped",
    details="NAME@entry is the value at the kernel's entry; without -G, arguments of device"
    " functions are not known.",
)
def info_args(session: DebugSession, argument: str) -> Answer:
    """List arguments."""
    stack = frames(session)
    frame = stack[min(session.frame_level, len(stack) - 1)]
    known = session.context().variables()
    if known is not None and known.scopes():
        rows = variable_rows(session, known, parameters=True)
        return Listing(rows, attrgetter("words"), empty="No arguments.", by="name", value="value")
    if not frame.own:
        return _no_variables(session, frame)
    return Listing(
        tuple(argument_rows(session)),
        lambda a: f"{a.entry} = {a.text}",
        empty="No arguments.",
        foot=tuple(argument_doubts(session)),
        by="name",
        value="text",
    )


@command(
    "info locals",
    help="local variables of the selected frame (-G builds), innermost block first",
    group="status",
    needs="stopped",
)
def info_locals(session: DebugSession, argument: str) -> Answer:
    """List the variables that a debug build's tables tell of."""
    known = session.context().variables()
    if known is None:
        return Notice("No locals." + _why_none(session), {})
    if not known.scopes():
        return _no_variables(session, known.frame)
    rows = variable_rows(session, known, parameters=False)
    return Listing(rows, attrgetter("words"), empty="No locals.", by="name", value="value")


# ---- source path -----------------------------------------------------------------------
@command(
    "directory",
    "dir",
    usage="directory [DIR …]",
    help="search source files there first (without DIR: forget all)",
    group="code",
    needs="nothing",
)
def directory(session: DebugSession, argument: str) -> Notice:
    """Add to the source path."""
    words = quoted_words(argument)
    session.sources.add_directories([part for w in words for part in w.split(":") if part])
    return show_directories(session, "")


@command("show directories", help="where source files are searched", group="code", needs="nothing")
def show_directories(session: DebugSession, argument: str) -> Notice:
    """Show the source path."""
    shown = ":".join([*session.sources.directories, "$cdir", "$cwd"])
    return Notice(f"Source directories searched: {shown}", list(session.sources.directories))


@command(
    "set directories",
    usage="set directories DIR[:DIR …]",
    help="replace the source path",
    group="code",
    needs="nothing",
)
def set_directories(session: DebugSession, argument: str) -> Notice:
    """Replace the source path."""
    session.sources.add_directories([])
    words = [w for w in argument.replace(":", " ").split() if w not in ("$cdir", "$cwd")]
    return directory(session, " ".join(shlex.quote(w) for w in words))


@command(
    "set substitute-path",
    usage="set substitute-path FROM TO",
    help="look for source files recorded below FROM below TO",
    group="code",
    needs="nothing",
)
def set_substitute(session: DebugSession, argument: str) -> Listing:
    """Add a rule."""
    words = quoted_words(argument)
    if len(words) != 2:
        raise CommandError("Incorrect usage, two paths are needed", "set substitute-path FROM TO")
    session.sources.substitute(*words)
    return show_substitute(session, "")


@command(
    "unset substitute-path",
    usage="unset substitute-path [FROM]",
    help="drop a source path rule (without FROM: all)",
    group="code",
    needs="nothing",
)
def unset_substitute(session: DebugSession, argument: str) -> Listing:
    """Drop rules."""
    session.sources.forget_rules(argument.strip() or None)
    return show_substitute(session, "")


@command("show substitute-path", help="source path rules", group="code", needs="nothing")
def show_substitute(session: DebugSession, argument: str) -> Listing:
    """List rules."""
    return Listing(
        tuple(session.sources.rules),
        lambda rule: f"  `{rule[0]}' -> `{rule[1]}'.",
        title=("List of all source path substitution rules:",),
    )


@command(
    "return",
    usage="return [EXPRESSION]",
    help="leave the selected frame's function without running the rest of it",
    group="running",
    needs="stopped",
)
def return_(session: DebugSession, argument: str) -> Card:
    """Return from the selected function without running it: registers restored; an expression gives
    the result.
    """
    session.leave_function(argument.strip())
    return _select(session, 0)
