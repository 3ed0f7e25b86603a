"""What plugins add to a session: console commands, views, observers and file formats.

The plugins are discovered once a process, by name only; a plugin's code is imported when
something of it is used.  A plugin's own defect becomes one error line that names it.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gpudbg.debug.commands.registry import Command as CommandRow
from gpudbg.debug.commands.registry import CommandTable, Output
from gpudbg.errors import CommandError, GpudbgError, PluginError
from gpudbg.plugin import Entry, Registry, discover
from gpudbg.plugin.contract import place_of
from gpudbg.sm.observer import EVENTS, Observer

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.formats.program import Program

GROUP = "plugins"


@lru_cache(maxsize=1)
def plugins() -> Registry:
    """The plugins of this process: bundled, installed, and of GPUDBG_PLUGIN_PATH."""
    return discover()


def call(entry: Entry, function: Callable[[], Any]) -> Any:
    """Run a plugin's code; its own defects become a `PluginError` that names it.

    Raises:
        GpudbgError: what the plugin raised for its user.
        PluginError: anything else.
    """
    try:
        return function()
    except GpudbgError:
        raise
    except Exception as error:
        raise PluginError(
            f"plugin '{entry.plugin}' failed in {entry.name}: {type(error).__name__}: {error}"
            f"{place_of(error)}"
        ) from error


def add_commands(table: CommandTable) -> None:
    """Enter every plugin's console commands; a name that is taken gets the plugin's before it."""
    for entry in plugins().commands.values():
        name = entry.name if not table.has(entry.name) else f"{entry.plugin}-{entry.name}"
        usage = f"{name} {entry.usage}".strip()
        table.add(CommandRow((name,), usage, entry.help, GROUP, "nothing", _handler(entry)))


def _handler(entry: Entry) -> Callable[[DebugSession, str], Output]:
    def handler(session: DebugSession, argument: str) -> Output:
        try:
            words = shlex.split(argument)
        except ValueError as error:
            raise CommandError(f"{entry.name}: {error}", "quote words that hold blanks") from None
        return as_output(call(entry, lambda: entry.load()(session, words)))

    return handler


def as_output(found: Any) -> Output:
    """A command's plain data as an answer; `{"lines": …, "data": …}` says what to print."""
    if isinstance(found, Output):
        return found
    if isinstance(found, dict) and set(found) == {"lines", "data"}:
        return Output(tuple(map(str, found["lines"])), found["data"])
    if found is None:
        return Output()
    if isinstance(found, str):
        return Output(tuple(found.splitlines()), found)
    if isinstance(found, dict):
        return Output(tuple(f"{key}: {value}" for key, value in found.items()), found)
    rows = found if isinstance(found, list | tuple) else [found]
    return Output(tuple(map(str, rows)), found)


def view_lines(session: DebugSession, name: str, width: int) -> Sequence[str]:
    """A plugin's view of the stopped machine.

    Raises:
        UsageError: no view of that name.
    """
    entry = plugins().find("views", name)
    lines = call(entry, lambda: entry.load()(session.snapshot(), width))
    return [str(line) for line in lines]


def make_observer(session: DebugSession, name: str) -> Any:
    """A plugin's observer, attached to the machine.

    Raises:
        UsageError: no observer of that name.
    """
    entry = plugins().find("observers", name)
    observer = _adapted(entry, call(entry, lambda: entry.load()()))
    session.subscribe(observer)
    return observer


def _adapted(entry: Entry, made: Any) -> Observer:
    """An observer that calls the hooks a plugin's object has; its defects name the plugin."""

    def guarded(hook: Callable[..., Any]) -> staticmethod[..., Any]:
        return staticmethod(lambda *given: call(entry, lambda: hook(*given)))

    inherited = [e for e in EVENTS if getattr(type(made), e, None) is getattr(Observer, e)]
    names = [n for n in (*EVENTS, "report") if n not in inherited]
    hooks = {n: guarded(getattr(made, n)) for n in names if callable(getattr(made, n, None))}
    adapted: Observer = type(type(made).__name__, (Observer,), hooks)()
    return adapted


def read_foreign(data: bytes, path: str) -> Program | None:
    """A program in a format that a plugin reads, or None when none knows it.

    Raises:
        LoadError: a plugin knows the format, and the file is damaged.
        PluginError: a plugin's defect.
    """
    for entry in plugins().formats.values():
        reader = call(entry, entry.load)
        reader = reader() if isinstance(reader, type) else reader
        if call(entry, lambda reader=reader: reader.sniff(data)):  # type: ignore[misc]
            found = call(entry, lambda reader=reader: reader.load(data, path))  # type: ignore[misc]
            return _as_program(entry, found, path)
    return None


def _as_program(entry: Entry, found: Any, path: str) -> Program:
    """What a format's `load` gave: a program, or a cubin's bytes."""
    from gpudbg.formats.cubin import read_cubin
    from gpudbg.formats.program import Program

    if isinstance(found, bytes | bytearray):
        return read_cubin(bytes(found), path)
    if not isinstance(found, Program):
        kind = type(found).__name__
        raise PluginError(f"plugin '{entry.plugin}': {entry.name} gave {kind}, no cubin's bytes")
    return found
