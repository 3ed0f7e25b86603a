"""Plugins in the console: info plugins, view, observe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpudbg.answers import Answer, Listing, Notice, Sections
from gpudbg.debug import extensions
from gpudbg.debug.commands.table import TABLE, command
from gpudbg.errors import CommandError
from gpudbg.loading import foreign
from gpudbg.plugin import PluginInfo

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession


@command(
    "info plugins", help="plugins, what they add, and what is broken", group="support",
    needs="nothing",
)  # fmt: skip
def info_plugins(session: DebugSession, argument: str) -> Listing:
    """List plugins."""
    found = tuple(foreign.known_plugins().plugins)
    return Listing(found, PluginInfo.line, empty="no plugins are installed")


@command(
    "view",
    usage="view [NAME]",
    help="a plugin's view of the machine; without a name, the views there are",
    group="status",
    needs="nothing",
    completer=lambda s, text: [n for n in foreign.known_plugins().views if n.startswith(text)],
)
def view(session: DebugSession, argument: str) -> Listing:
    """Show a view, or list them."""
    name = argument.strip()
    if not name:
        views = foreign.known_plugins().views
        return Listing(
            tuple(views),
            lambda name: f"{name:20} {views[name].help}  ({views[name].plugin})",
            empty="no plugin adds a view",
        )
    width = session.settings.number("width")
    return Listing(tuple(extensions.view_lines(session, name, width)))


@command(
    "observe",
    usage="observe [NAME [off]]",
    help="attach a plugin's observer to the machine, or take it off",
    group="running",
    needs="nothing",
    completer=lambda s, text: [n for n in foreign.known_plugins().observers if n.startswith(text)],
)
def observe(session: DebugSession, argument: str) -> Answer:
    """Attach, detach or list observers."""
    words = argument.split()
    if not words:
        found, attached = foreign.known_plugins().observers, frozenset(session.observing)
        return Listing(
            tuple(found),
            lambda name: f"{'*' if name in attached else ' '} {name:18} {found[name].help}",
            empty="no plugin adds an observer",
        )
    name = words[0]
    if words[1:] == ["off"]:
        if name not in session.observing:
            raise CommandError(f"{name!r} is not attached")
        observer = session.observing.pop(name)
        session.grid.gpu.unsubscribe(observer)
        report = _report(observer)
        return Sections((Notice(f"{name} is off"), extensions.as_answer(report)), report)
    if len(words) > 1:
        raise CommandError(f"observe {argument!r} is not understood", "observe NAME [off]")
    if name not in session.observing:
        session.observing[name] = extensions.make_observer(session, name)
    return Notice(f"{name} is on", name)


def _report(observer: Any) -> Any:
    """What an observer has to say at its end: its `report()` where it has one."""
    report = getattr(observer, "report", None)
    return report() if callable(report) else None


extensions.add_commands(TABLE)
