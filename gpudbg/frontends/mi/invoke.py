"""An MI command by its name: the words of its line, what it needs of a program that runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.errors import GpudbgError
from gpudbg.frontends.mi.bridge import RUNNING
from gpudbg.frontends.mi.commands.registry import TABLE, Answer, MiCall
from gpudbg.frontends.mi.parser import MiError, parse_line, split_words

if TYPE_CHECKING:
    from gpudbg.frontends.mi.bridge import Bridge
    from gpudbg.frontends.mi.ui import Ui


def run_mi(bridge: Bridge, ui: Ui, text: str) -> Answer:
    """An MI command inside another command (`-interpreter-exec mi "-…"`)."""
    line = parse_line(text)
    if not line.name or line.name.startswith("interpreter-exec"):
        raise MiError(f'-interpreter-exec: mi_execute_command: unknown command "{text}"')
    return carry_out(bridge, ui, line.name, line.text)


def carry_out(bridge: Bridge, ui: Ui, name: str, text: str) -> Answer:
    """Carry out an MI command.

    Raises:
        MiError, GpudbgError: why not.
    """
    row = TABLE.get(name)
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
    finally:
        bridge.go_on(paused)
    return fields if isinstance(fields, Answer) else Answer("done", fields or {})


_VALUED = ("--thread", "--frame", "--thread-group", "--language")


def _call(bridge: Bridge, ui: Ui, name: str, text: str) -> MiCall:
    """Words of a command, the options that all commands take cut off the front."""
    words = split_words(name, text)
    if name == "exec-arguments":
        return MiCall(bridge, ui, name, words, None, None, text)
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
    return MiCall(bridge, ui, name, words, numbers.get("--thread"), numbers.get("--frame"), text)
