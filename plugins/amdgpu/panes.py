"""The AMD pane of the terminal interface: paste a wave's registers, read what happened."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static, TextArea

from gpudbg.errors import GpudbgError

from . import views
from .dump import parse_dump
from .registers import DEFAULT_PROCESSOR

PLACEHOLDER = f"mcpu = {DEFAULT_PROCESSOR}\nSTATUS = 0\nTRAPSTS = 0\nMODE = 0\n"


class WavePane(Vertical):
    """A text area for `NAME = VALUE` lines over the view of the wave they describe.

    Bad text leaves the last good picture and shows what is wrong below it.
    """

    DEFAULT_CSS = """
    WavePane TextArea { height: 1fr; min-height: 4; }
    WavePane VerticalScroll { height: 2fr; }
    WavePane #amdgpu-error { color: $error; height: auto; }
    """

    def compose(self) -> ComposeResult:
        """Text above, picture below."""
        yield TextArea(PLACEHOLDER, id="amdgpu-text")
        with VerticalScroll():
            yield Static(id="amdgpu-wave", markup=False)
        yield Static(id="amdgpu-error", markup=False)

    def on_mount(self) -> None:
        """First picture."""
        self.redraw()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Redraw at every change."""
        self.redraw()

    def on_resize(self) -> None:
        """Redraw to the new width."""
        self.redraw()

    def redraw(self) -> None:
        """Draw the wave, or the error."""
        if not self.is_mounted:
            return
        error = self.query_one("#amdgpu-error", Static)
        try:
            dump = parse_dump(self.query_one("#amdgpu-text", TextArea).text, DEFAULT_PROCESSOR)
        except GpudbgError as problem:
            error.update(str(problem))
            return
        error.update("")
        lines = views.wave(dump, self.size.width)
        self.query_one("#amdgpu-wave", Static).update("\n".join(lines))
