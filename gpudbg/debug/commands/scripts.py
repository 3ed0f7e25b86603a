"""Scripts: source, define, document, commands, if, while, echo, shell."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from gpudbg.answers import Answer, Listing, Printed, column, typed_row
from gpudbg.answers.formats import Format
from gpudbg.debug.commands.table import command
from gpudbg.debug.script.blocks import shown_lines
from gpudbg.errors import CommandError
from gpudbg.expr.escapes import unescaped

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession

BLOCKS = """\
Blocks end with a line `end` and may stand in each other; `else` divides an `if`.
  if EXPR … else … end     while EXPR … end     loop_break     loop_continue
  define NAME … end        a command; $argc, $arg0, $arg1 … are its arguments
  document NAME … end      what `help NAME` says
  commands [N …] … end     carried out when the program stops at breakpoint N (without N: the
                           last one); `silent` as first line keeps the stop quiet
Conditions are looked at in the focused lane.  Ctrl-C ends a script."""


def _whole(session: DebugSession, text: str) -> NoReturn:
    """Refuse a block keyword outside its block: the reader hands on whole blocks only."""
    raise CommandError(f"{text}: its lines are missing, up to `end`", "help define")


def _block(name: str, usage: str, help_: str, *names: str) -> None:
    @command(
        name, *names, usage=usage, help=help_, group="scripts", needs="nothing", details=BLOCKS
    )
    def handler(session: DebugSession, argument: str) -> NoReturn:
        _whole(session, f"{name} {argument}".strip())


_block("if", "if EXPRESSION", "lines up to `else` or `end` when an expression is true")
_block("while", "while EXPRESSION", "lines up to `end` as long as an expression is true")
_block("define", "define NAME", "make a command of the lines up to `end`")
_block("document", "document NAME", "what `help` says of a user-defined command")
_block("commands", "commands [N …]", "lines carried out when breakpoint N stops the program")
_block("loop_break", "loop_break", "leave the innermost `while`")
_block("loop_continue", "loop_continue", "go on with the next round of the innermost `while`")


@command(
    "source",
    usage="source FILE",
    help="carry out a file of commands; the first that fails ends it",
    group="scripts",
    needs="nothing",
    details=BLOCKS,
)
def source(session: DebugSession, argument: str) -> Answer:
    """Carry out a file."""
    return session.command(f"source {argument}").answer


@command(
    "echo",
    usage="echo TEXT",
    help="print text; \\n ends a line, none is ended otherwise",
    group="scripts",
    needs="nothing",
)
def echo(session: DebugSession, argument: str) -> Printed:
    """Print the argument with its escapes carried out."""
    text = unescaped(argument)
    return Printed(text, text)


# ---- user-defined commands -------------------------------------------------------------
@command(
    "show user",
    usage="show user [NAME]",
    help="what user-defined commands are made of",
    group="scripts",
    needs="nothing",
    completer=lambda s, t: [n for n in s.scripting.scope.commands if n.startswith(t)],
)
def show_user(session: DebugSession, argument: str) -> Listing:
    """List bodies."""
    scope = session.scripting.scope
    found = scope.commands.values() if not argument else [scope.documented(argument)]
    rows = (UserCommandRow(row.name, tuple(shown_lines(row.body, 1))) for row in found)
    return Listing(tuple(rows), UserCommandRow.lines, by="name", value="body")


@typed_row
class UserCommandRow:
    """A user-defined command and its lines."""

    name: str = column()
    body: tuple[str, ...] = column(None, Format(data=lambda body: [t[2:] for t in body]))

    def lines(self) -> tuple[str, ...]:
        """The command for people."""
        return f'User command "{self.name}":', *self.body, ""


def user_commands(session: DebugSession) -> Listing:
    """`help user-defined`."""
    rows = session.scripting.scope.commands.values()
    lines = {r.name: f"{r.name} -- {(r.help or ('User-defined.',))[0]}" for r in rows}
    return Listing(tuple(lines), lines.__getitem__, empty="no user-defined commands")


@command(
    "show convenience",
    "show conv",
    help="convenience variables and their values",
    group="scripts",
    needs="nothing",
)
def show_convenience(session: DebugSession, argument: str) -> Listing:
    """List variables."""
    from gpudbg.debug.views.text import value_text

    lane = session.focus.lane if session.focus is not None else 0
    rows = session.scripting.scope.variables
    lines = {name: f"{name} = {value_text(value, lane)}" for name, value in rows.items()}
    none = "No debugger convenience values now defined."
    return Listing(tuple(lines), lines.__getitem__, empty=none)


# ---- other programs --------------------------------------------------------------------
SHELL_HELP = """\
Off unless gpudbg was started with --allow-shell: a file of commands may come from anybody."""


def _shell(session: DebugSession, argument: str, text: str | None = None) -> Printed:
    """Run a command of the shell, `text` its input, and show what it printed."""
    import subprocess

    from gpudbg.expr.evaluation import uniform
    from gpudbg.expr.types import I32

    session.scripting.scope.require_shell()
    if not argument:
        raise CommandError("a shell command is missing", "shell ls")
    done = subprocess.run(
        argument,
        shell=True,
        input=text or "",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    session.variables["$_shell_exitcode"] = uniform(done.returncode, I32)
    return Printed(done.stdout, {"exit_code": done.returncode, "output": done.stdout})


@command(
    "shell",
    usage="shell COMMAND",
    help="carry out a shell command (off by default)",
    group="scripts",
    needs="nothing",
    details=SHELL_HELP,
)
def shell(session: DebugSession, argument: str) -> Printed:
    """Run a shell command."""
    return _shell(session, argument)


@command(
    "make",
    usage="make ARGUMENTS",
    help="carry out make (off by default)",
    group="scripts",
    needs="nothing",
    details=SHELL_HELP,
)
def make(session: DebugSession, argument: str) -> Printed:
    """Run make."""
    return _shell(session, f"make {argument}")


@command(
    "pipe",
    usage="pipe COMMAND | SHELL COMMAND",
    help="give what a command says to a shell command (off by default)",
    group="scripts",
    needs="nothing",
    details=SHELL_HELP,
)
def pipe(session: DebugSession, argument: str) -> Printed:
    """Run a command, then a shell command with its text as input."""
    session.scripting.scope.require_shell()
    line, bar, program = argument.partition("|")
    if not bar or not line.strip():
        raise CommandError("Missing COMMAND", "pipe info warps | grep barrier")
    return _shell(session, program, session.command(line.strip()).printed)


@command(
    "python",
    "py",
    usage="python",
    help="gdb's Python is not here; `gpudbg script FILE.py` runs Python with sessions",
    group="scripts",
    needs="nothing",
)
def python(session: DebugSession, argument: str) -> NoReturn:
    """Refuse: a program's or a stranger's text never runs as Python."""
    raise CommandError("Python scripting is not supported here", "gpudbg script FILE.py")
