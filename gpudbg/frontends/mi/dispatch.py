"""One line in, exactly one result out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.errors import error_for_user
from gpudbg.frontends.mi import records
from gpudbg.frontends.mi.commands.registry import Answer
from gpudbg.frontends.mi.console import block_line, run_console
from gpudbg.frontends.mi.invoke import carry_out
from gpudbg.frontends.mi.parser import MiError, MiLine, parse_line

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
            answer = carry_out(bridge, ui, line.name, line.text)
        else:
            if ui.kind == "mi":
                _echo(ui, line.text)
            answer = run_console(bridge, ui, line.text)
    except MiError as e:
        error = e
    except Exception as e:
        error = MiError(str(error_for_user(e)))
    typed = not own or line.name == "interpreter-exec"
    _tell(bridge, ui, line, typed, own, answer, error)


def _echo(ui: Ui, text: str) -> None:
    """A console line said back, as gdb does.

    Vim's termdebug fills its assembly window once it sees `disassemble` itself, which gdb leaves
    to the terminal's echo; that one is off here.
    """
    if ui.silenced and text.startswith("disassemble"):
        ui.put(f"{text}\n")
    ui.stream("&", f"{text}\n")


WRITERS = ("data-write-memory", "data-write-memory-bytes", "var-assign")
"""Commands whose client knows that memory changes: gdb does not tell it."""


def _tell(
    bridge: Bridge,
    ui: Ui,
    line: MiLine,
    typed: bool,
    own: bool,
    answer: Answer,
    error: MiError | None,
) -> None:
    """What changed, the result, the prompt; then the engine starts.

    Breakpoints that an MI command changed are known to its client; those of console lines are
    reported. A change of memory is reported unless the command is one that writes memory.
    """
    token = line.token
    bridge.breakpoint_changes(None if typed else ui)
    bridge.memory_changes(ui if own and line.name in WRITERS else None)
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
