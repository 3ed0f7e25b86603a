"""What plugins add to a session: console commands, views, observers and file formats.

The plugins are discovered once a process, by name only; a plugin's code is imported when
something of it is used.  A plugin's own defect becomes one error line that names it.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gpudbg.answers import NOTHING, Answer, Card, lines_of
from gpudbg.dataclass import dataclass
from gpudbg.debug.registry import Command as CommandRow
from gpudbg.debug.registry import CommandTable, Output
from gpudbg.errors import CommandError
from gpudbg.loading.foreign import call_plugin, known_plugins
from gpudbg.plugin import Entry
from gpudbg.sm.observer import EVENTS, Observer

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession

GROUP = "plugins"


def add_commands(table: CommandTable[DebugSession]) -> None:
    """Add every plugin's console commands to the table; a name already taken gets the plugin's as a
    prefix.
    """
    for entry in known_plugins().commands.values():
        name = entry.name if not table.has(entry.name) else f"{entry.plugin}-{entry.name}"
        usage = f"{name} {entry.usage}".strip()
        table.add(CommandRow((name,), usage, entry.help, GROUP, "nothing", _handler(entry)))


def _handler(entry: Entry) -> Callable[[DebugSession, str], Answer]:
    def handler(session: DebugSession, argument: str) -> Answer:
        try:
            words = shlex.split(argument)
        except ValueError as error:
            raise CommandError(f"{entry.name}: {error}", "quote words that hold blanks") from None
        return _of_plugin(entry, call_plugin(entry, lambda: entry.load()(session, words)))

    return handler


def _of_plugin(entry: Entry, found: Any) -> Answer:
    """Convert the result of a plugin's command to an answer; a result that cannot be printed is an
    error that names the plugin.
    """
    answer: Answer = call_plugin(entry, lambda: as_answer(found))
    call_plugin(entry, lambda: lines_of(answer))
    return answer


def as_answer(found: Any) -> Answer:
    """A command's plain data as an answer; `{"lines": …, "data": …}` says what to print."""
    if isinstance(found, Output):
        return found.answer
    if found is None:
        return NOTHING
    if isinstance(found, str):
        return Card(found, str.splitlines)
    if isinstance(found, dict) and set(found) == {"lines", "data"}:
        return Card(
            PluginAnswer(tuple(map(str, found["lines"])), found["data"]), PluginAnswer.lines
        )
    if isinstance(found, dict):
        return Card(found, lambda data: [f"{key}: {value}" for key, value in data.items()])
    if isinstance(found, list | tuple):
        return Card(found, lambda rows: list(map(str, rows)))
    return Card(found, lambda value: [str(value)])


@dataclass(frozen=True, slots=True)
class PluginAnswer:
    """What the contract of plugins lets a command say in two forms."""

    text: tuple[str, ...]
    data: Any

    def lines(self) -> tuple[str, ...]:
        """The answer for people."""
        return self.text

    def to_json(self) -> Any:
        """The answer for programs."""
        return self.data


def view_lines(session: DebugSession, name: str, width: int) -> Sequence[str]:
    """A plugin's view of the stopped machine.

    Raises:
        UsageError: no view of that name.
    """
    entry = known_plugins().find("views", name)

    def lines() -> list[str]:
        return [str(line) for line in entry.load()(session.snapshot(), width)]

    found: list[str] = call_plugin(entry, lines)
    return found


def make_observer(session: DebugSession, name: str) -> Any:
    """A plugin's observer, attached to the machine.

    Raises:
        UsageError: no observer of that name.
    """
    entry = known_plugins().find("observers", name)
    observer = _adapted(entry, call_plugin(entry, lambda: entry.load()()))
    session.subscribe(observer)
    return observer


def _adapted(entry: Entry, made: Any) -> Observer:
    """An observer that calls the hooks a plugin's object has; its defects name the plugin."""

    def guarded(hook: Callable[..., Any]) -> staticmethod[..., Any]:
        return staticmethod(lambda *given: call_plugin(entry, lambda: hook(*given)))

    inherited = [e for e in EVENTS if getattr(type(made), e, None) is getattr(Observer, e)]
    names = [n for n in (*EVENTS, "report") if n not in inherited]
    hooks = {n: guarded(getattr(made, n)) for n in names if callable(getattr(made, n, None))}
    adapted: Observer = type(type(made).__name__, (Observer,), hooks)()
    return adapted
