"""One line in, exactly one result out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpudbg.errors import GpudbgError
from gpudbg.frontends.mi import records
from gpudbg.frontends.mi.bridge import RUNNING
from gpudbg.frontends.mi.commands.registry import Answer, Call, load
from gpudbg.frontends.mi.console import block_line, run_console
from gpudbg.frontends.mi.parser import MiError, parse_line, split_words

if TYPE_CHECKING:
    from gpudbg.frontends.mi.bridge import Bridge
    from gpudbg.frontends.mi.ui import Ui


def answer_line(bridge: Bridge, ui: Ui, raw: str) -> None:
    """Carry out a line of a client; every failure becomes its one answer."""
    line = parse_line(raw)
    own = bool(line.name)
    error: MiError | None = None
    answer = Answer("done")
    try:
        if ui.reader.pending and not own:
            # Only `end` is answered, as by gdb.
            answer = block_line(bridge, ui, line.text)
        elif own or raw.lstrip().startswith("-"):
            answer = _mi(bridge, ui, line.name, line.text)
        else:
            if ui.kind == "mi":
                _echo(ui, line.text)
            answer = run_console(bridge, ui, line.text)
    except MiError as e:
        error = e
    except GpudbgError as e:
        error = MiError(str(e))
    except re.error as e:
        error = MiError(f"Invalid regexp: {e}")
    except RecursionError:
        error = MiError("the line is nested too deeply")
    except Exception as e:
        error = MiError(f"internal error: {type(e).__name__}: {e}")
    typed = not own or line.name == "interpreter-exec"
    _tell(bridge, ui, line.token, typed, own, answer, error)


def _echo(ui: Ui, text: str) -> None:
    """A console line said back, as gdb does.

    Vim's termdebug fills its assembly window once it sees `disassemble` itself, which gdb leaves
    to the terminal's echo; that one is off here.
    """
    if ui.silenced and text.startswith("disassemble"):
        ui.put(f"{text}\n")
    ui.stream("&", f"{text}\n")


def _tell(
    bridge: Bridge,
    ui: Ui,
    token: str,
    typed: bool,
    own: bool,
    answer: Answer,
    error: MiError | None,
) -> None:
    """What changed, the result, the prompt; then the engine starts.

    Changes that an MI command made are known to its client; those of console lines are told.
    """
    bridge.breakpoint_changes(None if typed else ui)
    bridge.memory_changes(None if typed else ui)
    if typed:
        bridge.selection_changes()
    bridge.mark_selection()
    if error is not None:
        _put_error(ui, token, own, error)
        bridge.prompt(ui)
        return
    if answer.kind == "more":
        ui.flush()
        return
    runs = answer.kind in ("running", "killed")
    if ui.kind == "mi":
        kind = "running" if runs else answer.kind
        ui.put(records.result(token, kind, answer.fields))
    if runs:
        bridge.running_records()
        bridge.flush(but=ui)
    if bridge.exiting:
        ui.flush()
    elif ui.kind == "mi" or not runs:
        bridge.prompt(ui)
    if answer.kind == "running":
        bridge.launch_run()
    elif answer.kind == "killed":
        bridge.killed_by_signal()
        bridge.prompts()


def _put_error(ui: Ui, token: str, own: bool, error: MiError) -> None:
    if ui.kind != "mi":
        ui.put(f"{error.message}\n")
        return
    if not own:
        ui.stream("&", f"{error.message}\n")
    ui.put(records.error(token, error.message, error.code))


def run_mi(bridge: Bridge, ui: Ui, text: str) -> Answer:
    """An MI command inside another command (`-interpreter-exec mi "-…"`)."""
    line = parse_line(text)
    if not line.name or line.name.startswith("interpreter-exec"):
        raise MiError(f'-interpreter-exec: mi_execute_command: unknown command "{text}"')
    return _mi(bridge, ui, line.name, line.text)


def _mi(bridge: Bridge, ui: Ui, name: str, text: str) -> Answer:
    row = load().get(name)
    if row is None:
        raise MiError(f"Undefined MI command: {name}", "undefined-command")
    call = _call(bridge, ui, name, text)
    paused = None
    if bridge.run is None:
        # What an earlier Ctrl-C stopped has stopped: commands of the next breakpoint are wanted.
        bridge.host.interrupted = False
    else:
        if row.running == "refuse":
            raise MiError(RUNNING)
        if row.running == "pause":
            paused = bridge.pause()
    try:
        if row.selects and not (bridge.run is not None and row.running == "ok"):
            with bridge.selecting(call.thread, call.frame):
                fields = row.handler(call)
        else:
            fields = row.handler(call)
    except GpudbgError as e:
        if name.startswith("interpreter-exec"):
            ui.stream("&", f"{e}\n")
        raise
    except MiError as e:
        if name.startswith("interpreter-exec"):
            ui.stream("&", f"{e.message}\n")
        raise
    finally:
        bridge.go_on(paused)
    return fields if isinstance(fields, Answer) else Answer("done", fields or {})


_VALUED = ("--thread", "--frame", "--thread-group", "--language")


def _call(bridge: Bridge, ui: Ui, name: str, text: str) -> Call:
    """Words of a command, the options that all commands take cut off the front."""
    words = split_words(name, text)
    if name == "exec-arguments":
        return Call(bridge, ui, name, words, None, None, text)
    numbers: dict[str, int] = {}
    while words and words[0] in (*_VALUED, "--all"):
        option = words.pop(0)
        if option == "--all":
            continue
        if not words:
            raise MiError(f"option {option} needs a value")
        value = words.pop(0)
        if option in ("--thread", "--frame"):
            if not value.isdecimal():
                raise MiError(f"Invalid value for the '{option}' option")
            numbers[option] = int(value)
    return Call(bridge, ui, name, words, numbers.get("--thread"), numbers.get("--frame"), text)
