"""Ask: one line of input over the main screen."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Label

from gpudbg.frontends.tui.keys import bindings, one_line


class AskScreen(ModalScreen[str | None]):
    """A question with a line to type; Esc answers None."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("ask")

    def __init__(self, question: str, example: str, value: str = "") -> None:
        super().__init__()
        self.value = value
        self.question = question
        self.example = example

    def compose(self) -> ComposeResult:
        """Yield the question and the line."""
        with Vertical():
            yield Label(self.question, markup=False)
            box = Input(self.value, placeholder=self.example, compact=True, id="answer")
            box.cursor_blink = False
            yield box
            yield Label(one_line("ask", {}), markup=False, id="state")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the typed answer."""
        event.stop()
        self.answer(event.value.strip())

    def answer(self, text: str) -> None:
        """Handle the answer."""
        self.dismiss(text)

    def action_close(self) -> None:
        """Close without an answer."""
        self.dismiss(None)
