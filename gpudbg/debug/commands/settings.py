"""Help, settings and odds: help, apropos, set, show, quit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpudbg.debug.commands import launch, scripts
from gpudbg.debug.commands.table import TABLE, command
from gpudbg.debug.registry import Command, Output
from gpudbg.debug.settings import NO_SCREEN
from gpudbg.debug.views.format import parse_int
from gpudbg.errors import CommandError
from gpudbg.expr.types import VOID

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession

GROUPS = {
    "running": "start, step and run the machine",
    "breakpoints": "stop at places, under conditions",
    "data": "registers, memory and expressions",
    "focus": "which warp, lane, block or thread is looked at",
    "code": "instructions and source lines",
    "status": "what the machine is doing",
    "traps": "the trap handler and the debugger port",
    "screen": "the terminal UI's panes",
    "scripts": "files of commands, blocks, commands of one's own",
    "support": "help and settings",
    "plugins": "commands that plugins add",
}
"""Command groups in the order help shows them."""

EXPRESSIONS = """\
$R4 the register, $F4 as float, $L4 R4:R5 as 64-bit, $D4 as double; $P0 $CC.Z $pc
$sm $warp $lane  threadIdx blockIdx blockDim gridDim (.x .y .z)  %tid.x %laneid …  SR_LANEID …
shared[3] local[0] (32-bit words)   *(@shared float*)0x20   c[0x0][0x140]   symbol[5]
C operators, casts, ?:, assignment; $name = 5 makes a variable.  print/x /d /u /f /t /c /o /z"""


@command(
    "help",
    "h",
    usage="help [COMMAND|GROUP|expressions]",
    help="explain commands",
    group="support",
    needs="nothing",
    completer=lambda s, t: TABLE.words(t),
)
def help_(session: DebugSession, argument: str) -> Output:
    """Help on a command, a group, or the list of groups."""
    word = argument.strip()
    if word == "expressions":
        return Output(tuple(EXPRESSIONS.splitlines()), EXPRESSIONS)
    if word in GROUPS:
        return _list([c for c in TABLE.commands if c.group == word])
    if word == "user-defined":
        return scripts.user_commands(session)
    user = session.scripting.scope.find(word) if word else None
    if user is not None:
        return Output(user[0].help or ("User-defined.",), {"names": [user[0].name]})
    if word:
        found, rest = TABLE.resolve(word)
        if rest:
            raise CommandError(f"no help on {word!r}")
        return _describe(found)
    lines = ["Groups of commands (help GROUP lists one, help COMMAND explains one):", ""]
    for group, meaning in GROUPS.items():
        names = ", ".join(c.name for c in TABLE.commands if c.group == group)
        lines.append(f"{group:12} {meaning}")
        lines.append(f"{'':12}   {names}")
    lines += ["", "`help expressions` explains $R4, shared[3], %tid.x and the like."]
    data = [_row(c) for c in TABLE.commands]
    return Output(tuple(lines), data)


def _row(c: Command[DebugSession]) -> dict[str, object]:
    return {"names": list(c.names), "usage": c.usage, "help": c.help, "group": c.group}


def _describe(c: Command[DebugSession]) -> Output:
    lines = [f"{c.usage}", f"    {c.help}"]
    if len(c.names) > 1:
        lines.append(f"    also: {', '.join(c.names[1:])}")
    lines += [f"    {text}" for text in c.details.splitlines()]
    if c.repeats:
        lines.append("    an empty line repeats it")
    return Output(tuple(lines), _row(c))


def _list(commands: list[Command[DebugSession]]) -> Output:
    return Output(tuple(f"{c.usage:38} {c.help}" for c in commands), [_row(c) for c in commands])


@command(
    "apropos",
    usage="apropos WORD",
    help="commands whose help speaks of a word",
    group="support",
    needs="nothing",
)
def apropos(session: DebugSession, argument: str) -> Output:
    """Search the help."""
    word = argument.strip().lower()
    if not word:
        raise CommandError("a word is missing", "apropos WORD")
    found = [
        c
        for c in TABLE.commands
        if word in " ".join((*c.names, c.usage, c.help, c.details)).lower()
    ]
    if not found:
        return Output((f"nothing speaks of {word!r}",), [])
    return _list(found)


@command(
    "set",
    "set var",
    "set variable",
    usage="set NAME VALUE | set EXPRESSION",
    help="change a setting, a register, a predicate or memory",
    group="data",
    needs="nothing",
    details="set $R4 = 7    set $P0 = 1   set shared[2] = 16   set step cta   set print-lanes all\n"
    "On the screen: set theme light   set keymap vim   set ascii on   (`layout save` keeps them)",
    completer=lambda s, text: s.settings.complete(text),
)
def set_(session: DebugSession, argument: str) -> Output:
    """A setting by name, otherwise an assignment."""
    found = session.settings.split(argument)
    if found is not None and not found[1].startswith("="):
        name, rest = found
        if session.settings.row(name).screen:
            # No error: a command file that begins with `set theme` runs on.
            return Output((NO_SCREEN,))
        if name in launch.SETTINGS:
            value = launch.set_launch(session, name, rest)
        else:
            value = session.settings.set(name, rest)
        note = session.settings.note(name)
        return Output((f"{name} is {value}", *([note] if note else [])), value)
    name = argument.strip().partition(" ")[0]
    if "=" not in argument and not re.match(r"\s*(\$\w+\s*(\+\+|--)|\+\+|--)", argument):
        if name:
            # The words before the value, too: `set print elemnts 4`.
            words = " ".join(argument.split()[:-1]) or name
            session.settings.row(words if words not in session.settings.rows else name)
        known = ", ".join(session.settings.rows)
        raise CommandError(
            f"{name!r} is not a setting" if name else "what is to be set is missing",
            f"settings: {known}; or an assignment like set $R4 = 7",
        )
    result = session.evaluate(argument)
    if result.type == VOID or _is_variable(session, argument):
        return Output()  # as gdb: nothing to say
    from gpudbg.debug.views.text import value_text

    lane = session.focus.lane if session.focus else 0
    return Output((value_text(result, lane),), None)


def _is_variable(session: DebugSession, argument: str) -> bool:
    name = re.match(r"\s*(\$\w+)", argument)
    return name is not None and name[1] in session.variables


@command(
    "show",
    usage="show [SETTING]",
    help="settings and their values",
    group="support",
    needs="nothing",
    completer=lambda s, text: s.settings.complete(text),
)
def show(session: DebugSession, argument: str) -> Output:
    """One setting, or all of them."""
    names = [argument.strip()] if argument.strip() else list(session.settings.rows)
    lines: list[str] = []
    values: dict[str, str] = {}
    for name in names:
        row = session.settings.row(name)
        values[name] = (
            launch.shown_launch(session, name)
            if name in launch.SETTINGS
            else session.settings.shown(name)
        )
        shown = "no screen" if row.screen else values[name]
        lines.append(f"{name:16} {shown:10} {row.help}")
    return Output(tuple(lines), values)


@command(
    "quit",
    "q",
    "exit",
    usage="quit [CODE]",
    help="leave gpudbg, with this exit code",
    group="support",
    needs="nothing",
)
def quit_(session: DebugSession, argument: str) -> Output:
    """Ask the frontend to end."""
    if argument:
        session.quit_code = parse_int(argument) & 0xFF
    session.quit_requested = True
    return Output()
