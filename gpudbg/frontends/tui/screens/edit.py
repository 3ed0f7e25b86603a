"""Edit: one line with a value's present text; an answer that fails says why and stays."""

from __future__ import annotations

from collections.abc import Callable

from textual.widgets import Label

from gpudbg.errors import GpudbgError
from gpudbg.frontends.tui.screens.ask import AskScreen


class EditScreen(AskScreen):
    """A question whose line begins with `value`, selected: typing replaces it.

    Args:
        store: takes the answer; what it raises is shown under the line.
    """

    def __init__(self, question: str, value: str, store: Callable[[str], None]) -> None:
        super().__init__(question, "a value or an expression", value)
        self.store = store

    def answer(self, text: str) -> None:
        """Store a value; the line stays while that fails.  An empty or unchanged one is none."""
        if not text or text == self.value:
            self.dismiss(None)
            return
        try:
            self.store(text)
        except GpudbgError as error:
            state = self.query_one("#state", Label)
            state.update(" ".join(str(error).split()))
            state.add_class("trouble")
        else:
            self.dismiss(text)
