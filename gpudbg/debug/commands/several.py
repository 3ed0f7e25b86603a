"""Commands over several things: thread apply, rbreak, save breakpoints, info scope."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpudbg.answers import Answer, Listing, Notice, Printed, Sections
from gpudbg.debug.breakpoints.watched import TYPE_WORDS
from gpudbg.debug.commands.table import command
from gpudbg.debug.focus.focus import Focus, describe, first_lane
from gpudbg.debug.script.blocks import shown_lines
from gpudbg.debug.views import gdb_text
from gpudbg.debug.views.variable_places import scope_words
from gpudbg.errors import CommandError, GpudbgError
from gpudbg.patterns import user_pattern

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession


@command(
    "thread apply",
    usage="thread apply all|N|N-M … COMMAND",
    help="a command for warps by their number, in order of SM and slot from 1",
    group="focus",
    needs="stopped",
    details="The focus is where it was afterwards.  Options -q (no titles) and -s (errors silent).",
)
def thread_apply(session: DebugSession, argument: str) -> Sections:
    """Carry a command out with the focus on one warp after the other."""
    words = argument.split()
    if not words:
        raise CommandError("Please specify a thread ID list")
    warps = [w for w in session.grid.warps() if w.status != "exited"]
    chosen: list[int] = []
    while words and (words[0] == "all" or re.fullmatch(r"\d{1,7}(-\d{1,7})?", words[0])):
        word = words.pop(0)
        low, _, high = word.partition("-")
        if word == "all":
            chosen = list(range(1, len(warps) + 1))
        else:
            chosen += range(int(low), min(int(high or low), int(low) + 1000) + 1)
    quiet = silent = False
    while words and words[0] in ("-q", "-s", "-c", "-ascending"):
        option = words.pop(0)
        quiet, silent = quiet or option == "-q", silent or option == "-s"
    line = " ".join(words)
    if not line or not chosen:
        raise CommandError("Please specify a command at the end of 'thread apply'")
    parts: list[Answer] = []
    data: list[Any] = []
    focus, level = session.focus, session.frame_level
    before = session.stop
    try:
        for number in chosen:
            if not 1 <= number <= len(warps):
                parts.append(Notice(f"warning: Unknown thread {number}"))
                continue
            warp = warps[number - 1]
            session.focus = Focus(warp.sm, warp.slot, first_lane(warp.active or warp.valid))
            session.frame_level = 0
            title = f"\nThread {number} ({describe(session.grid, session.focus)}):\n"
            try:
                answer = session.command(line)
            except GpudbgError:
                if silent:
                    continue
                raise
            if session.stop is not before:
                return Sections((*parts, answer.answer), data)
            if answer.lines or not silent:
                parts += [Printed("" if quiet else title), answer.answer]
            data.append({"thread": number, "data": answer.data})
    finally:
        if session.stop is before:
            session.focus, session.frame_level = focus, level
    return Sections(tuple(parts), data)


@command(
    "rbreak",
    usage="rbreak [FILE:]REGEX",
    help="breakpoints on all functions whose names match",
    group="breakpoints",
)
def rbreak(session: DebugSession, argument: str) -> Sections:
    """Set breakpoints by pattern."""
    file, colon, rest = argument.partition(":")
    by_file = bool(colon) and not rest.startswith(":")
    pattern = rest if by_file else argument
    wanted = user_pattern(pattern.strip())
    parts: list[Notice] = []
    numbers: list[int] = []
    for name, _, line in session.symbols.function_places():
        if wanted.search(name) is None:
            continue
        if by_file and (line is None or not line.file.endswith(file.strip())):
            continue
        point = session.break_at(name)
        numbers.append(point.number)
        parts += [Notice(gdb_text.announcement(session, point)), Notice(f"{name};")]
    session.breakpoints.latest = tuple(numbers)
    return Sections(tuple(parts), numbers)


_VERBS = {
    None: "break",
    "write": "watch",
    "read": "rwatch",
    "access": "awatch",
    "store": "watch -store",
}
assert set(_VERBS) == set(TYPE_WORDS)


@command(
    "save breakpoints",
    usage="save breakpoints FILE",
    help="write breakpoints, conditions and commands to a file that `source` reads",
    group="breakpoints",
    needs="nothing",
)
def save_breakpoints(session: DebugSession, argument: str) -> Notice:
    """Write a file of commands."""
    name = argument.strip()
    if not name:
        raise CommandError("Argument required (file name in which to save)")
    lines: list[str] = []
    for row in session.breakpoints:
        kind = row.watch.target.kind if row.watch is not None else None
        verb = "tbreak" if row.temporary else _VERBS[kind]
        lines.append(f"{verb} {row.location}")
        if row.condition:
            lines.append(f"  condition $bpnum {row.condition}")
        if row.ignore:
            lines.append(f"  ignore $bpnum {row.ignore}")
        if row.commands:
            lines += ["  commands", *shown_lines(row.commands, 2), "  end"]
        if not row.enabled:
            lines.append("disable $bpnum")
    if not lines:
        return Notice("Nothing to save.", [])
    try:
        Path(name).expanduser().write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        raise CommandError(f"cannot write {name}: {error.strerror}") from None
    return Notice(f"Saved to file '{name}'.", lines)


@command(
    "info scope",
    usage="info scope LOCATION",
    help="the arguments and variables that a place knows",
    group="status",
)
def info_scope(session: DebugSession, argument: str) -> Notice | Listing:
    """Name what is in scope."""
    if not argument.strip():
        raise CommandError("requires an argument (an expression or variable): a linespec")
    found = session.symbols.resolve(argument, session.origin())
    here = session.symbols.function(found.addresses[0])
    known = scope_words(session, found.addresses[0])
    if known:
        return Listing(tuple(known), known.__getitem__, title=(f"Scope for {argument}:",))
    names = (
        [a.name for a in session.launch.arguments] if here == session.symbols.kernel_name else []
    )
    if not names:
        return Notice(f"Symbol table of {argument} has no arguments or locals.", [])
    return Listing(
        tuple(names),
        lambda name: f"Symbol {name} is a parameter of {here}, {name}@entry its value.",
        title=(f"Scope for {argument}:",),
    )
