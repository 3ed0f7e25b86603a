"""Plugins in the console: info plugins, view, observe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpudbg.debug import extensions
from gpudbg.debug.commands.table import TABLE, command
from gpudbg.debug.registry import Output
from gpudbg.errors import CommandError
from gpudbg.loading import foreign

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession


@command(
    "info plugins", help="plugins, what they add, and what is broken", group="support",
    needs="nothing",
)  # fmt: skip
def info_plugins(session: DebugSession, argument: str) -> Output:
    """List plugins."""
    found = foreign.plugins().plugins
    lines = [info.line() for info in found]
    return Output(tuple(lines or ["no plugins are installed"]), [i.to_json() for i in found])


@command(
    "view",
    usage="view [NAME]",
    help="a plugin's view of the machine; without a name, the views there are",
    group="status",
    needs="nothing",
    completer=lambda s, text: [n for n in foreign.plugins().views if n.startswith(text)],
)
def view(session: DebugSession, argument: str) -> Output:
    """Show a view, or list them."""
    name = argument.strip()
    if not name:
        rows = foreign.plugins().views.values()
        lines = [f"{e.name:20} {e.help}  ({e.plugin})" for e in rows]
        return Output(tuple(lines or ["no plugin adds a view"]), [e.name for e in rows])
    width = session.settings.number("width")
    shown = tuple(extensions.view_lines(session, name, width))
    return Output(shown, list(shown))


@command(
    "observe",
    usage="observe [NAME [off]]",
    help="attach a plugin's observer to the machine, or take it off",
    group="running",
    needs="nothing",
    completer=lambda s, text: [n for n in foreign.plugins().observers if n.startswith(text)],
)
def observe(session: DebugSession, argument: str) -> Output:
    """Attach, detach or list observers."""
    words = argument.split()
    if not words:
        rows = foreign.plugins().observers.values()
        lines = [
            f"{'*' if e.name in session.observing else ' '} {e.name:18} {e.help}" for e in rows
        ]
        return Output(tuple(lines or ["no plugin adds an observer"]), [e.name for e in rows])
    name = words[0]
    if words[1:] == ["off"]:
        if name not in session.observing:
            raise CommandError(f"{name!r} is not attached")
        observer = session.observing.pop(name)
        session.grid.gpu.unsubscribe(observer)
        report = _report(observer)
        return Output((f"{name} is off", *extensions.as_output(report).lines), report)
    if len(words) > 1:
        raise CommandError(f"observe {argument!r} is not understood", "observe NAME [off]")
    if name not in session.observing:
        session.observing[name] = extensions.make_observer(session, name)
    return Output((f"{name} is on",), name)


def _report(observer: Any) -> Any:
    """What an observer has to say at its end: its `report()` where it has one."""
    report = getattr(observer, "report", None)
    return report() if callable(report) else None


extensions.add_commands(TABLE)
