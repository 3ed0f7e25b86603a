"""Help, settings and odds: help, apropos, set, show, quit."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpudbg.answers import (
    NOTHING,
    Answer,
    Card,
    Listing,
    Notice,
    Sections,
    Table,
    TableStyle,
    column,
    typed_row,
)
from gpudbg.answers.data import record_data
from gpudbg.answers.formats import LIST
from gpudbg.dataclass import dataclass
from gpudbg.debug.commands import launch, scripts
from gpudbg.debug.commands.table import TABLE, command
from gpudbg.debug.registry import Command
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
def help_(session: DebugSession, argument: str) -> Answer:
    """Help on a command, a group, or the list of groups."""
    word = session.scripting.scope.expanded(argument.strip())
    if word == "expressions":
        return Card(EXPRESSIONS, str.splitlines)
    if word in GROUPS:
        return _list([c for c in TABLE.commands if c.group == word])
    if word == "user-defined":
        return scripts.user_commands(session)
    user = session.scripting.scope.find(word) if word else None
    if user is not None:
        return Card(UserHelp((user[0].name,), user[0].help), UserHelp.lines)
    if word:
        found, rest = TABLE.resolve(word)
        if rest:
            raise CommandError(f"no help on {word!r}")
        return Card(_row(found), CommandRow.lines)
    return Card(CommandGroups(tuple(map(_row, TABLE.commands))), CommandGroups.lines)


@typed_row
class UserHelp:
    """What is said of a user-defined command."""

    names: tuple[str, ...] = column(None, LIST)
    help: tuple[str, ...] = column(key="")

    def lines(self) -> tuple[str, ...]:
        """The help for people."""
        return self.help or ("User-defined.",)


@typed_row
class CommandRow:
    """A command, as help tells of it."""

    names: tuple[str, ...] = column(None, LIST)
    usage: str = column()
    help: str = column()
    group: str = column()
    details: str = column(key="")
    repeats: bool = column(key="")

    def line(self) -> str:
        """The command among others."""
        return f"{self.usage:38} {self.help}"

    def lines(self) -> list[str]:
        """The command in full."""
        out = [self.usage, f"    {self.help}"]
        if len(self.names) > 1:
            out.append(f"    also: {', '.join(self.names[1:])}")
        out += [f"    {text}" for text in self.details.splitlines()]
        if self.repeats:
            out.append("    an empty line repeats it")
        return out


@dataclass(frozen=True, slots=True)
class CommandGroups:
    """All commands, by group."""

    rows: tuple[CommandRow, ...]

    def lines(self) -> list[str]:
        """The groups for people."""
        out = ["Groups of commands (help GROUP lists one, help COMMAND explains one):", ""]
        for group, meaning in GROUPS.items():
            names = ", ".join(c.names[0] for c in self.rows if c.group == group)
            out += [f"{group:12} {meaning}", f"{'':12}   {names}"]
        return [*out, "", "`help expressions` explains $R4, shared[3], %tid.x and the like."]

    def to_json(self) -> list[Any]:
        """The commands."""
        return [record_data(c) for c in self.rows]


def _row(c: Command[DebugSession]) -> CommandRow:
    return CommandRow(c.names, c.usage, c.help, c.group, c.details, c.repeats)


def _list(commands: list[Command[DebugSession]]) -> Listing:
    return Listing(tuple(map(_row, commands)), CommandRow.line)


@command(
    "apropos",
    usage="apropos WORD",
    help="commands whose help speaks of a word",
    group="support",
    needs="nothing",
)
def apropos(session: DebugSession, argument: str) -> Listing:
    """Search the help."""
    word = argument.strip().lower()
    if not word:
        raise CommandError("a word is missing", "apropos WORD")
    found = [
        c
        for c in TABLE.commands
        if word in " ".join((*c.names, c.usage, c.help, c.details)).lower()
    ]
    return replace(_list(found), empty=f"nothing speaks of {word!r}")


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
def set_(session: DebugSession, argument: str) -> Answer:
    """A setting by name, otherwise an assignment."""
    found = session.settings.split(argument)
    if found is not None and not found[1].startswith("="):
        name, rest = found
        if session.settings.row(name).screen:
            # No error: a command file that begins with `set theme` runs on.
            return Notice(NO_SCREEN)
        if name in launch.SETTINGS:
            value = launch.set_launch(session, name, rest)
        else:
            value = session.settings.set(name, rest)
        note = session.settings.note(name)
        return Sections((Notice(f"{name} is {value}"), Notice(note)), value)
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
        return NOTHING  # as gdb: nothing to say
    from gpudbg.debug.views.text import value_text

    lane = session.focus.lane if session.focus else 0
    return Notice(value_text(result, lane))


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
def show(session: DebugSession, argument: str) -> Table:
    """One setting, or all of them."""
    names = [argument.strip()] if argument.strip() else list(session.settings.rows)
    rows = []
    for name in names:
        setting = session.settings.row(name)
        value = (
            launch.shown_launch(session, name)
            if name in launch.SETTINGS
            else session.settings.shown(name)
        )
        shown = "no screen" if setting.screen else value
        rows.append(ShownSetting(name, shown, value, setting.help))
    style = TableStyle(" ", head=False, fixed=True)
    return Table(ShownSetting, tuple(rows), style=style, by="name", value="value")


@typed_row
class ShownSetting:
    """A setting and its value."""

    name: str = column("", least=16)
    shown: str = column("", key="", least=10)
    value: str = column()
    help: str = column("", key="")


@command(
    "quit",
    "q",
    "exit",
    usage="quit [CODE]",
    help="leave gpudbg, with this exit code",
    group="support",
    needs="nothing",
)
def quit_(session: DebugSession, argument: str) -> Notice:
    """Ask the frontend to end."""
    if argument:
        session.quit_code = parse_int(argument) & 0xFF
    session.quit_requested = True
    return NOTHING
