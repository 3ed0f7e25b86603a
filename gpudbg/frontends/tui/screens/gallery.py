"""Gallery: the shipped stories, what each is about, and how to open a program of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from gpudbg.debug import Story, load_story, stories
from gpudbg.frontends.tui import messages
from gpudbg.frontends.tui.actions import BY_ID
from gpudbg.frontends.tui.appearance import Appearance
from gpudbg.frontends.tui.keys import bindings
from gpudbg.frontends.tui.screens.list_detail import ListDetailScreen
from gpudbg.frontends.tui.seen import Seen
from gpudbg.frontends.tui.text import Row, fit, row
from gpudbg.frontends.tui.view import Running, ScreenView
from gpudbg.frontends.tui.widgets.base import Content, LinePane
from gpudbg.frontends.tui.widgets.chrome import KeyRow
from gpudbg.frontends.tui.widgets.notes import paragraphs, wrapped

if TYPE_CHECKING:
    from gpudbg.frontends.tui.screens.main import MainScreen

OWN = (
    ("gpudbg PROG.cubin", "a cubin; PROG.toml beside it says how it is launched"),
    ("gpudbg PROG.cu", "CUDA C++, with the extra `cuda`"),
    ("gpudbg --help", "flags of a launch"),
)
SOURCE_LINES = 60


class StoriesPane(LinePane):
    """The list."""

    number, title, pane = "1", "Demos", "stories"
    empty = "No story holds that. `/` and Enter shows all."

    def __init__(self, appearance: Appearance, seen: Seen) -> None:
        super().__init__(appearance)
        self.stories = [load_story(cubin) for cubin in stories().values()]
        self.seen = seen
        self.wanted = ""
        self.cursor = 0

    def find(self, text: str) -> None:
        """List only stories that hold a text in their name, title, summary or notes."""
        self.wanted = text
        self.top, self.cursor = 0, 0
        self.redraw()

    def _holds(self, story: Story) -> bool:
        words = " ".join((story.name, story.title, story.summary, *story.notes))
        return self.wanted.lower() in words.lower()

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """A row for each story, then how to open a program of one's own."""
        g = self.appearance.glyphs
        rows: list[Row] = []
        for n, story in enumerate(self.stories):
            if not self._holds(story):
                continue
            here = len(rows) == self.cursor
            seen = story.name in self.seen.stories
            rows.append(
                Row(
                    (
                        (f" {g.pc if here else ' '} ", "you"),
                        (fit(story.name, 18, g.cut) + " ", "text" if seen else "text.b"),
                        (story.summary, "text" if here else "muted"),
                    ),
                    key=("story", n),
                    right=((" seen ", "dim"),) if seen else (),
                )
            )
        if self.wanted:
            return Content(rows, f"{len(rows)} with {self.wanted!r}")
        rows += [Row(), row((" Open your own", "text.b"))]
        rows += [row((f"   {words:20} ", "you"), (about, "muted")) for words, about in OWN]
        count = sum(story.name in self.seen.stories for story in self.stories)
        return Content(rows, f"{count} of {len(self.stories)} seen")

    def action_move(self, by: int) -> None:
        """Move the cursor, as if the row were clicked."""
        super().action_move(by)
        self.post_message(messages.RowClicked(self.pane, self.key, None, 0))

    @property
    def chosen(self) -> Story | None:
        """The story under the cursor; before anything is drawn, the first."""
        key = self.key
        if isinstance(key, tuple):
            return self.stories[key[1]]
        return None if self._content.rows or self.wanted else next(iter(self.stories), None)


class AboutPane(LinePane):
    """What the chosen story is about."""

    number, title, pane = "2", "About", "about"
    story: Story | None = None

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """Title, notes, source."""
        story = self.story
        if story is None:
            return Content(())
        rows = [row((f" {story.title}", "text.b"))]
        for text in paragraphs(story.notes):
            rows += wrapped(text, width)
        for file in sorted(story.cubin.parent.glob("*.cu"))[:1]:
            lines = file.read_text(errors="replace").splitlines()[:SOURCE_LINES]
            rows += [Row(), row((f" {file.name}", "muted"))]
            rows += [row((f" {n:3}  ", "muted"), (t, "text")) for n, t in enumerate(lines, 1)]
        return Content(rows, story.name)


class GalleryScreen(ListDetailScreen):
    """See the module text."""

    SCOPE = "gallery"
    APART = True
    AUTO_FOCUS = "#pane-stories"
    BINDINGS: ClassVar[list[BindingType]] = bindings("gallery")
    KEYS = "g-keys"
    WIDE = 100
    LIST_PART = (3 / 5, 2 / 3)

    list_pane: StoriesPane
    about: AboutPane

    def __init__(self, main: MainScreen, appearance: Appearance) -> None:
        super().__init__(main, appearance, "gallery")
        self.list_pane = StoriesPane(appearance, main.gpudbg.seen)
        self.about = AboutPane(appearance)

    def show(self, view: ScreenView, running: Running | None) -> None:
        """The list does not depend on the machine."""
        self.list_pane.show(view, None)
        self.about.story = self.list_pane.chosen or self.about.story
        self.about.show(view, None)
        self.query_one(KeyRow).show(view, running)

    def show_chosen(self) -> None:
        """Show the chosen entry in full."""
        chosen = self.list_pane.chosen
        if chosen is not None and chosen is not self.about.story:
            self.about.story = chosen
            self.about.top = 0
            self.about.redraw()

    def action_search(self) -> None:
        """Ask for a text; an empty one lists all."""

        def find(text: str) -> None:
            self.list_pane.find(text)
            self.show_chosen()

        self.main.gpudbg.ask("Find a story", "deadlock, surface, warp", find, empty=True)

    def action_close(self) -> None:
        """Clear the search, else close the screen."""
        if self.list_pane.wanted:
            self.list_pane.find("")
            self.show_chosen()
        else:
            super().action_close()

    def action_main(self, name: str) -> None:
        """Ignore running keys: the program below is not the one shown."""
        if BY_ID[name].group != "Run" or name == "interrupt":
            super().action_main(name)

    def on_row_opened(self, event: messages.RowOpened) -> None:
        """Open the chosen story."""
        event.stop()
        chosen = self.list_pane.chosen
        if chosen is None or event.pane != "stories":
            return
        if self.main.engine.busy:
            self.main.note("the program below runs; ^C stops it")
            return
        self.dismiss(None)
        self.main.gpudbg.open_program(chosen.cubin)
