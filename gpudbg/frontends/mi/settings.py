"""`set` and `show` under GDB/MI and on the gdb-like prompt: settings, launch flags, assignments."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from typing import TYPE_CHECKING

from gpudbg.debug.commands import SETTINGS as LAUNCH
from gpudbg.debug.commands import load, plan
from gpudbg.debug.values import machine_name
from gpudbg.errors import CommandError, GpudbgError
from gpudbg.frontends.mi import words
from gpudbg.frontends.mi.parser import MiError
from gpudbg.frontends.mi.table_commands import session_command
from gpudbg.frontends.mi.ui import open_terminal

if TYPE_CHECKING:
    from gpudbg.frontends.mi.bridge import Bridge
    from gpudbg.frontends.mi.commands.registry import Answer
    from gpudbg.frontends.mi.ui import Ui


def set_arguments(bridge: Bridge, text: str) -> None:
    """Launch flags of the next run."""
    try:
        bridge.arguments = shlex.split(text)
    except ValueError as e:
        raise MiError(f"program arguments: {e}") from None
    bridge.settings.set("args", text)
    if bridge.session is not None and not bridge.started:
        # What is shown before the run is of these flags; the run says what is wrong with them.
        with contextlib.suppress(GpudbgError):
            plan(bridge.session, bridge.arguments, fresh=True)


def use_terminal(bridge: Bridge, path: str) -> None:
    """Where the program's output goes; an empty path is MI's own stream."""
    if bridge.terminal is not None:
        os.close(bridge.terminal)
        bridge.terminal = None
    bridge.settings.set("inferior-tty", path)
    if path:
        try:
            bridge.terminal = open_terminal(path)
        except (OSError, ValueError):
            # As in gdb, which opens it only when the program starts.
            bridge.terminal = None


_LOOSE = ("env", "environment", "history", "style", "tui", "auto-load")
"""Families of settings that are taken as they come, and change nothing."""


def set_words(bridge: Bridge, text: str) -> None:
    """`set …`: a setting, launch flags, or an assignment.

    Raises:
        MiError, CommandError: neither.
    """
    name, _, rest = text.lstrip().partition(" ")
    if name == "prompt":
        _set_prompt(bridge, rest)
        return
    text, rest = text.strip(), rest.strip()
    if name == "args":
        set_arguments(bridge, rest)
        return
    if name in ("var", "variable"):
        _assign(bridge, rest)
        return
    if name in ("inferior-tty", "tty"):
        use_terminal(bridge, rest)
        return
    if name == "annotate":
        for ui in bridge.uis:
            ui.annotate = rest not in ("", "0")
        return
    if name in ("substitute-path", "directories"):
        _session_quiet(bridge, f"set {text}")
        return
    found = bridge.settings.split(text)
    if found is not None and not found[1].startswith("="):
        setting, value = found
        if setting == "addresses" and value == "offset":
            raise CommandError("MI shows code addresses; offsets are the console's")
        if LAUNCH.get(setting):
            flags = shlex.join([LAUNCH[setting], value])
            set_arguments(bridge, f"{shlex.join(bridge.arguments)} {flags}".strip())
            return
        bridge.settings.set(setting, value)
        tell(bridge, bridge.settings.note(setting))
        if setting == "target-async":
            bridge.settings.set("mi-async", value)
        return
    if name in _LOOSE:
        tell(bridge, f"set {text}: no effect here")
        return
    if ("=" in text and not text.startswith("=")) or text.endswith(("++", "--")):
        _assign(bridge, text)
        return
    if name in _FAMILIES:
        raise MiError(f'Undefined set {name} command: "{rest}".  Try "help set".')
    raise MiError(f'No symbol "{name}" in current context.')


_FAMILIES = ("print", "cuda", "debug", "logging", "breakpoint", "record", "source", "python", "tcp")
"""Families whose settings are those of the table and no others."""


def tell(bridge: Bridge, note: str) -> None:
    """A line for the log of every client."""
    for ui in bridge.uis:
        ui.stream("&", f"{note}\n" if note else "")


def _set_prompt(bridge: Bridge, text: str) -> None:
    """The prompt of consoles; MI keeps its own."""
    bridge.settings.set("prompt", text)
    for ui in bridge.uis:
        if ui.kind == "console":
            ui.prompt = text.replace("\\n", "\n")


def _session_quiet(bridge: Bridge, line: str) -> None:
    command, argument = load().resolve(line)
    session = bridge.host.owner
    command.carry_out(session, argument)


def _assign(bridge: Bridge, text: str) -> None:
    if "=" not in text and not text.endswith(("++", "--")):
        raise MiError("an assignment needs `=`")
    plain = text.lstrip().startswith("$") and not bridge.started
    if plain and not any(map(machine_name, re.findall(r"\$[A-Za-z_]\w*", text))):
        # Convenience variables are there before a run, and before a program.
        bridge.host.evaluate(text)
        return
    bridge.process().evaluate(text)


def shown_value(bridge: Bridge, text: str) -> str:
    """A setting's value.

    Raises:
        MiError: unknown.
    """
    name = " ".join(text.split())
    if name == "version":
        return words.version_lines()[0]
    if name == "directories":
        return ":".join([*bridge.sources.directories, "$cdir", "$cwd"])
    if name not in bridge.settings.rows:
        raise MiError(f'Undefined show command: "{name}".  Try "help show".')
    value = bridge.settings.shown(name)
    return "unlimited" if name in UNLIMITED and value == "0" else value


UNLIMITED = ("height", "width", "listsize")
"""Settings of which 0 means without a limit."""


def set_(bridge: Bridge, ui: Ui, argument: str) -> None:
    """`set …` typed."""
    if not argument:
        raise MiError('"set" must be followed by the name of a setting or an assignment.')
    set_words(bridge, argument)


def show(bridge: Bridge, ui: Ui, argument: str) -> Answer | None:
    """`show …` typed."""
    name = " ".join(argument.split())
    if name == "version":
        for line in words.version_lines():
            ui.stream("~", f"{line}\n")
        return None
    if name in ("directories", "substitute-path", "convenience", "") or name.startswith("values"):
        command, rest = load().resolve(f"show {argument}")
        return session_command(bridge, ui, command, rest)
    value = shown_value(bridge, name)
    sentence = words.SHOW.get(name, f'The current setting of "{name}" is "{{0}}".')
    ui.stream("~", sentence.format(value) + "\n")
    return None
