"""Console lines inside MI and on a gdb-like prompt: gdb's own words first, then our commands."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gpudbg.answers import Answer as Record
from gpudbg.answers import lines_of
from gpudbg.debug import directed
from gpudbg.debug.breakpoints import located_row
from gpudbg.debug.commands import completed, frame_row, functions_answer, load
from gpudbg.debug.focus import target_id
from gpudbg.debug.script import Player, Statement
from gpudbg.debug.values import frames
from gpudbg.debug.views import breakpoint_listing
from gpudbg.errors import CommandError, GpudbgError
from gpudbg.frontends.mi import settings, shown
from gpudbg.frontends.mi.bridge import BUSY, INFERIOR
from gpudbg.frontends.mi.commands import execution
from gpudbg.frontends.mi.commands.registry import Answer
from gpudbg.frontends.mi.invoke import run_mi
from gpudbg.frontends.mi.opened import NOT_STARTED
from gpudbg.frontends.mi.parser import MiError, split_words
from gpudbg.frontends.mi.table_commands import DONE, session_command

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession
    from gpudbg.debug.stops import Stop
    from gpudbg.frontends.mi.bridge import Bridge
    from gpudbg.frontends.mi.ui import Ui

Own = Callable[["Bridge", "Ui", str], "Answer | None"]


def run_console(bridge: Bridge, ui: Ui, text: str) -> Answer:
    """Carry out one console line; its text goes to `ui`.

    Raises:
        MiError, GpudbgError: why not.
    """
    line = text.strip()
    if line.startswith("server "):
        line = line[7:].strip()
    if not line and ui.kind == "console":
        line = ui.repeat
    ui.repeat = ""
    if not line or line.startswith("#"):
        return DONE
    bridge.host.interrupted = False
    kept = text.lstrip().removeprefix("server ")
    statement = ui.reader.feed(kept if kept.strip() == line else line)
    if statement is None:
        return _more(bridge, ui)
    return carry_out(bridge, ui, statement)


def _more(bridge: Bridge, ui: Ui) -> Answer:
    """The prompt of a block's lines."""
    head = ui.reader.opened
    try:
        if head is not None:
            bridge.host.check_head(head.text)
    except CommandError:
        ui.reader.clear()
        raise
    ui.stream("~", ">")
    return Answer("more")


def block_line(bridge: Bridge, ui: Ui, text: str) -> Answer:
    """A line inside a block; errors as `run_console`."""
    try:
        statement = ui.reader.feed(text)
    except CommandError:
        ui.reader.clear()
        raise
    if statement is None:
        ui.stream("~", ">")
        return Answer("more")
    bridge.host.interrupted = False
    return carry_out(bridge, ui, statement)


def carry_out(bridge: Bridge, ui: Ui, statement: Statement) -> Answer:
    """Carry out what was typed, up to its end or to a line that lets the program run."""
    player = Player(bridge.host)
    player.add([statement])
    return go_on(bridge, ui, player)


def go_on(bridge: Bridge, ui: Ui, player: Player) -> Answer:
    """Carry out what is left of a script; what lets the program run keeps the rest for its stop.

    Raises:
        GpudbgError: what failed, naming file and line.
    """
    while (line := player.next()) is not None:
        try:
            answer = plain_line(bridge, ui, line.text)
        except MiError as error:
            if not player.scripted:
                raise
            raise player.failed(CommandError(error.message)) from None
        except GpudbgError as error:
            raise player.failed(error) from None
        if player.scripted:
            ui.repeat = ""
        if answer.kind == "killed" and player.scripted:
            bridge.killed_by_signal()
        elif answer.kind not in ("done", "more"):
            bridge.waiting = player
            return answer
    return DONE


def is_command(line: str) -> bool:
    """Whether a line names a command, of the table or of the debugger around a session."""
    return _own(line.strip())[0] is not None or load().knows(line)


def plain_line(bridge: Bridge, ui: Ui, text: str) -> Answer:
    """A line that is no block, file nor user command; errors as `run_console`."""
    line = text.strip()
    ui.repeat = ""
    own, argument = _own(line)
    if own is not None:
        # A prompt may end in blanks.
        argument = text.lstrip()[4:] if line.startswith("set prompt ") else argument
        return own(bridge, ui, argument) or DONE
    command, argument = load().resolve(line)
    command = directed(load(), command, bridge.settings)
    ui.repeat = line if command.repeats else ""
    # `who-wrote/3` lists, and moves nothing.
    resumes = None if argument.startswith("/") else _RESUMES.get(command.name)
    if resumes is not None:
        answer = resumes(bridge, argument)
        if bridge.run is not None:
            bridge.run.typed = True
        return answer
    return session_command(bridge, ui, command, argument)


def _own(line: str) -> tuple[Own | None, str]:
    parts = line.split(None, 2)
    for count in (2, 1):
        name = " ".join(parts[:count])
        if len(parts) >= count and name in _OWN:
            rest = line
            for part in parts[:count]:
                rest = rest[len(part) :].lstrip()
            return _OWN[name], rest
    return None, line


# ---- what resumes ----------------------------------------------------------------------
Resume = Callable[["Bridge", str], Answer]


def _count(text: str) -> int:
    if not text.strip():
        return 1
    try:
        count = int(text, 0)
    except ValueError:
        raise MiError(f'No symbol "{text.strip()}" in current context.') from None
    if count < 1:
        raise MiError("a count is 1 or more")
    return count


def _ready(bridge: Bridge) -> None:
    if bridge.run is not None:
        raise MiError(BUSY)
    bridge.process(NOT_STARTED)


def _run(bridge: Bridge, argument: str) -> Answer:
    if bridge.run is not None:
        raise MiError("The program is already being run.")
    if argument.strip():
        settings.set_arguments(bridge, argument)
    return execution.start(bridge)


def _start(bridge: Bridge, argument: str) -> Answer:
    if bridge.run is not None:
        raise MiError("The program is already being run.")
    if argument.strip():
        settings.set_arguments(bridge, argument)
    return execution.start(bridge, stop_at_entry=True)


def _launch(bridge: Bridge, argument: str) -> Answer:
    if bridge.run is not None:
        raise MiError("The program is already being run.")
    words, form = completed(bridge.loaded(), argument)
    if form is not None:
        bridge.say(f"run {shlex.join(words)}\n")
    return _start(bridge, shlex.join([*bridge.arguments, *words]))


def _continue(bridge: Bridge, argument: str) -> Answer:
    _ready(bridge)
    if argument.strip():
        session = bridge.loaded()
        session.breakpoints.ignore_current(session.stop, _count(argument) - 1)
    return execution.go(bridge)


def _line_step(over: bool) -> Resume:
    def resume(bridge: Bridge, argument: str) -> Answer:
        _ready(bridge)
        count = _count(argument)
        return execution.resume(bridge, lambda s: s.step_line(count, over=over), execution.STEP_END)

    return resume


def _instruction_step(over: bool) -> Resume:
    def resume(bridge: Bridge, argument: str) -> Answer:
        _ready(bridge)
        parts = argument.split()
        scope = parts.pop() if parts and parts[-1] in ("warp", "cta", "sm", "all") else None
        count = _count(" ".join(parts))
        return execution.resume(
            bridge, lambda s: s.step(count, scope=scope, over=over), execution.STEP_END
        )

    return resume


def _until(bridge: Bridge, argument: str) -> Answer:
    _ready(bridge)
    return execution.until(bridge, argument.strip() or None)


def _finish(bridge: Bridge, argument: str) -> Answer:
    _ready(bridge)
    session = bridge.loaded()
    row = frame_row(session, shown.selected_frame(session))
    answer = execution.finish(bridge)
    bridge.say(f"Run till exit from {row}\n")
    return answer


def _back(work: Callable[[DebugSession, str], Stop]) -> Resume:
    def resume(bridge: Bridge, argument: str) -> Answer:
        if bridge.run is not None:
            raise MiError(BUSY)
        return execution.back(bridge, lambda s: work(s, argument.strip()))

    return resume


def _reverse_finish(bridge: Bridge, argument: str) -> Answer:
    if bridge.run is not None:
        raise MiError(BUSY)
    return execution.reverse_finish(bridge)


_RESUMES: dict[str, Resume] = {
    "run": _run,
    "start": _start,
    "launch": _launch,
    "continue": _continue,
    "step": _line_step(False),
    "next": _line_step(True),
    "stepi": _instruction_step(False),
    "nexti": _instruction_step(True),
    "until": _until,
    "finish": _finish,
    "reverse-continue": _back(lambda s, text: s.reverse_cont()),
    "reverse-finish": _reverse_finish,
    "reverse-next": _back(lambda s, text: s.reverse_step_line(_count(text), over=True)),
    "reverse-nexti": _back(lambda s, text: s.reverse_next(_count(text))),
    "reverse-step": _back(lambda s, text: s.reverse_step_line(_count(text))),
    "reverse-stepi": _back(lambda s, text: s.reverse_step(_count(text))),
    "reverse-until": _back(lambda s, text: s.reverse_until(text.strip() or None)),
    "who-wrote": _back(lambda s, text: s.provenance.jump(text, "write")),
    "who-read": _back(lambda s, text: s.provenance.jump(text, "read")),
    "goto": _back(lambda s, text: s.goto_place(text)),
    "branch": _back(lambda s, text: s.branch(text.strip())),
}
"""Commands of the table that run the machine: here they run in the engine's thread."""


# ---- threads ---------------------------------------------------------------------------
def _thread(bridge: Bridge, ui: Ui, argument: str) -> Answer | None:
    word = argument.strip()
    if word and not word.isdecimal():
        command, rest = load().resolve(f"thread {argument}")
        return session_command(bridge, ui, command, rest)
    session = bridge.process("No thread selected")
    if word:
        bridge.ids.select(session, int(word))
    number = bridge.ids.focused(session)
    title = target_id(session.warp().state)
    if not word:
        ui.stream("~", f"[Current thread is {number} ({title})]\n")
        return None
    ui.stream("~", f"[Switching to thread {number} ({title})]\n")
    frame = frames(session)[0]
    ui.stream("~", f"{frame_row(session, frame)}\n")
    if frame.line is not None:
        ui.stream("~", f"{frame.line.number}\t{shown.source_text(session, frame)}\n")
    bridge.annotate()
    return None


def _info_threads(bridge: Bridge, ui: Ui, argument: str) -> None:
    """Warps as gdb lists threads."""
    session = bridge.session
    if session is None or not bridge.started:
        ui.stream("~", "No threads.\n")
        return
    if bridge.run is not None:
        raise MiError(BUSY)
    ui.stream("~", "  Id   Target Id                                Frame \n")
    for row in bridge.ids.threads(session, bridge.ids.known()):
        mark = "*" if row.current else " "
        where = frame_row(session, row.frame)[4:]
        ui.stream("~", f"{mark} {row.number:<4} {row.title:<40} {where}\n")


def _info_inferiors(bridge: Bridge, ui: Ui, argument: str) -> None:
    """The one program."""
    state = f"process {os.getpid()}" if bridge.started else "<null>"
    ui.stream("~", "  Num  Description       Connection           Executable        \n")
    ui.stream("~", f"* 1    {state:<17} 1 (native)           {bridge.path or ''} \n")


# ---- lists -----------------------------------------------------------------------------
def _print(ui: Ui, answer: Record) -> None:
    for text in lines_of(answer):
        ui.stream("~", f"{text}\n")


def _breakpoints(bridge: Bridge, ui: Ui, argument: str) -> None:
    rows = [located_row(bridge.session, point) for point in bridge.breakpoints]
    _print(ui, breakpoint_listing(rows, "No breakpoints or watchpoints."))


def _watchpoints(bridge: Bridge, ui: Ui, argument: str) -> None:
    """Watchpoints alone."""
    rows = [located_row(bridge.session, point) for point in bridge.breakpoints if point.watch]
    _print(ui, breakpoint_listing(rows, "No watchpoints."))


def _functions(bridge: Bridge, ui: Ui, argument: str) -> None:
    _print(ui, functions_answer(bridge.loaded(), argument))


# ---- gdb's other words -----------------------------------------------------------------
def _quit(bridge: Bridge, ui: Ui, argument: str) -> Answer:
    bridge.exiting = True
    return Answer("exit")


def _kill(bridge: Bridge, ui: Ui, argument: str) -> None:
    if not bridge.started:
        raise MiError(NOT_STARTED)
    bridge.kill()
    ui.stream("~", f"[{INFERIOR} killed]\n")


def _file(bridge: Bridge, ui: Ui, argument: str) -> None:
    if not argument:
        bridge.close_program()
        return
    path = shlex.split(argument)[0]
    ui.stream("~", f"Reading symbols from {path}...\n")
    bridge.open(path)


def _tty(bridge: Bridge, ui: Ui, argument: str) -> None:
    settings.use_terminal(bridge, argument.strip())


def _inferior(bridge: Bridge, ui: Ui, argument: str) -> None:
    if argument.strip() not in ("", "1"):
        raise MiError(f"Inferior ID {argument.strip()} not known.")
    state = f"process {os.getpid()}" if bridge.started else "<null>"
    word = "Switching to" if argument.strip() else "Current"
    word = f"{word} inferior 1" if argument.strip() else f"{word} inferior is 1"
    ui.stream("~", f"[{word} [{state}] ({bridge.path or '<noexec>'})]\n")


def _cd(bridge: Bridge, ui: Ui, argument: str) -> None:
    there = Path(bridge.cwd, argument or "~").expanduser()
    if not there.is_dir():
        raise MiError(f"{argument}: No such file or directory.")
    bridge.cwd = str(there.resolve())
    _pwd(bridge, ui, "")


def _pwd(bridge: Bridge, ui: Ui, argument: str) -> None:
    ui.stream("~", f"Working directory {bridge.cwd}.\n")


def _complete(bridge: Bridge, ui: Ui, argument: str) -> None:
    for text in completions(bridge, argument):
        ui.stream("~", f"{text}\n")


def _new_ui(bridge: Bridge, ui: Ui, argument: str) -> None:
    parts = argument.split()
    if len(parts) != 2:
        raise MiError("Usage: new-ui <interpreter> <tty>")
    bridge.new_ui(parts[0], parts[1])
    ui.stream("~", "New UI allocated\n")


def _interpreter_exec(bridge: Bridge, ui: Ui, argument: str) -> Answer:
    parts = split_words("interpreter-exec", argument)
    if len(parts) < 2:
        raise MiError("Usage: interpreter-exec INTERPRETER COMMAND...")
    run = run_console if parts[0] == "console" else run_mi
    return run(bridge, ui, " ".join(parts[1:]))


def _target(bridge: Bridge, ui: Ui, argument: str) -> None:
    if argument.split()[:1] not in (["native"], ["exec"], ["sim"]):
        raise MiError("the emulated GPU is the only target: target native")
    bridge.target = True


def _say(text: str) -> Own:
    def own(bridge: Bridge, ui: Ui, argument: str) -> None:
        ui.stream("~", text)

    return own


def _refuse(text: str) -> Own:
    def own(bridge: Bridge, ui: Ui, argument: str) -> None:
        raise MiError(text)

    return own


def _handle(bridge: Bridge, ui: Ui, argument: str) -> None:
    """Signals are the machine's errors: they stop the program whatever is asked for."""
    settings.tell(bridge, f"handle {argument}: no effect here, every error stops the program")


def _jump(bridge: Bridge, ui: Ui, argument: str) -> Answer:
    _ready(bridge)
    if not argument.strip():
        raise MiError("Argument required (starting address).")
    bridge.loaded().jump(argument.strip())
    return execution.go(bridge)


def _interrupt(bridge: Bridge, ui: Ui, argument: str) -> None:
    bridge.interrupt()


_OWN: dict[str, Own] = {
    "quit": _quit,
    "q": _quit,
    "exit": _quit,
    "kill": _kill,
    "k": _kill,
    "file": _file,
    "exec-file": _file,
    "symbol-file": _file,
    "tty": _tty,
    "set": settings.set_,
    "show": settings.show,
    "complete": _complete,
    "inferior": _inferior,
    "cd": _cd,
    "pwd": _pwd,
    "new-ui": _new_ui,
    "interpreter-exec": _interpreter_exec,
    "target": _target,
    "thread": _thread,
    "info threads": _info_threads,
    "info inferiors": _info_inferiors,
    "info breakpoints": _breakpoints,
    "info break": _breakpoints,
    "info b": _breakpoints,
    "info watchpoints": _watchpoints,
    "info functions": _functions,
    "info sharedlibrary": _say("No shared libraries loaded at this time.\n"),
    "info shared": _say("No shared libraries loaded at this time.\n"),
    "info signals": _say("Signals of the emulated GPU stop the program and are reported.\n"),
    "handle": _handle,
    "maintenance": _refuse("maintenance commands are gdb's own: there are none here"),
    "skip": _refuse(
        "skip is not supported: step enters functions that have lines; use next, or finish"
    ),
    "jump": _jump,
    "interrupt": _interrupt,
    "python": _refuse("Python scripting is not supported in this copy of GDB."),
    "py": _refuse("Python scripting is not supported in this copy of GDB."),
    "attach": _refuse("the emulated GPU is started by run, there is nothing to attach to"),
    "detach": _kill,
}
"""gdb's commands that belong to the debugger around a session; all else is in the table."""


# ---- completion ------------------------------------------------------------------------
def completions(bridge: Bridge, text: str) -> list[str]:
    """Whole lines that begin with `text`."""
    table = load()
    blank = " " in text
    found = {n for c in table.commands for n in (c.name,) if n.startswith(text)}
    found |= {n for n in _OWN if n.startswith(text)}
    if not blank:
        return sorted({n.split(" ")[0] for n in found})
    if found:
        return sorted(found)
    try:
        command, argument = table.resolve(text)
    except CommandError:
        return []
    if command.completer is None or bridge.session is None or bridge.run is not None:
        return []
    lead = text[: len(text) - len(argument)] if argument else text
    more = cast("Any", command.completer)(bridge.session, argument)
    return sorted(lead + m for m in more if m)


def common_prefix(texts: list[str]) -> str:
    """What all of some texts begin with."""
    low, high = min(texts), max(texts)
    count = next((n for n, ch in enumerate(low) if high[n : n + 1] != ch), len(low))
    return low[:count]
