"""Open other screens, panes by name, stories, the palette, help; switch the theme; quit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.frontends.tui.handlers import HANDLERS, handles
from gpudbg.frontends.tui.theme import PALETTES
from gpudbg.frontends.tui.widgets.notes import NotesPane

if TYPE_CHECKING:
    from gpudbg.frontends.tui.screens.main import MainScreen


@handles("watch")
def watch(screen: MainScreen) -> None:
    """Open the warp watch screen."""
    screen.gpudbg.open_screen("watch")


@handles("trap")
def trap(screen: MainScreen) -> None:
    """Open the trap inspector."""
    screen.gpudbg.open_screen("trap")


@handles("surface")
def surface(screen: MainScreen) -> None:
    """Open the surface viewer."""
    if screen.current is not None and not screen.current.images:
        screen.note("this launch has no surfaces and no textures", "muted")
        return
    screen.gpudbg.open_screen("surface")


@handles("matrix")
def matrix(screen: MainScreen) -> None:
    """Show the operands of the nearest tensor-core instruction as matrices."""
    if not screen.session.symbols.has_tensor_cores:
        screen.note(f"{screen.session.program.arch} has no tensor cores", "muted")
        return
    screen.options.matrix = True
    screen.focus_pane("matrix")
    if not screen.engine.busy:
        screen.quick(lambda session: None)


@handles("gallery")
def gallery(screen: MainScreen) -> None:
    """Open the gallery of shipped stories."""
    screen.gpudbg.open_screen("gallery")


@handles("findings")
def findings(screen: MainScreen) -> None:
    """Open the findings of `gpudbg check` for this launch; checks it on first use."""
    screen.gpudbg.open_screen("findings")
    if not screen.engine.busy and screen.session.checks.report is None:
        screen.run_command("check all")


@handles("notes")
def notes(screen: MainScreen) -> None:
    """Show the story's notes, where the program has one."""
    if screen.story is None:
        screen.note("this is no shipped story; `G` lists them", "muted")
    else:
        screen.focus_pane("notes")


def run_story_command(screen: MainScreen, number: int, command: str) -> None:
    """Carry out a command of the story."""
    if screen.engine.busy:
        screen.refuse()
        return
    notes = screen.query_one(NotesPane)
    if notes.out_of_sight():
        # It was out of sight and has now been scrolled into view: run it on the next key press.
        return
    notes.ran(number)
    screen.run_command(command)


@handles("fault")
def fault(screen: MainScreen) -> None:
    """Open the card of the present fault."""
    if screen.current is not None and screen.current.fault is not None:
        screen.open_fault()
    else:
        screen.note("there is no fault at this stop", "muted")


HANDLERS["history"] = lambda screen: screen.gpudbg.open_screen("history")

HANDLERS["output"] = lambda screen: screen.focus_pane("output")

HANDLERS["marks"] = lambda screen: screen.focus_pane("marks")

HANDLERS["console"] = lambda screen: screen.focus_pane("console")

HANDLERS["palette"] = lambda screen: screen.app.action_command_palette()

HANDLERS["help"] = lambda screen: screen.gpudbg.open_screen("help")

HANDLERS["quit"] = lambda screen: screen.gpudbg.leave()


@handles("theme")
def theme(screen: MainScreen) -> None:
    """Switch to the next palette."""
    names = list(PALETTES)
    at = names.index(screen.appearance.palette.name)
    screen.gpudbg.set_appearance(theme=names[(at + 1) % len(names)])
