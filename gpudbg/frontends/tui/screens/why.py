"""Why screen: the tree of values that a value was computed from.

Enter has the launch stand at the instruction that made the chosen value; `+` goes on below a value
that has more to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Label, OptionList
from textual.widgets.option_list import Option

from gpudbg.errors import GpudbgError
from gpudbg.frontends.tui.keys import bindings, one_line
from gpudbg.frontends.tui.widgets.options import Choices

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession

FURTHER = 2
"""Levels that `+` adds below a value."""


class WhyScreen(ModalScreen[int | None]):
    """See the module text; the answer is a tick."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("why")

    def __init__(self, session: DebugSession, top: Any) -> None:
        super().__init__()
        self._session = session
        self._top = top
        self._further: dict[int, Any] = {}
        self.causes: list[Any] = []

    def compose(self) -> ComposeResult:
        """The tree and the keys."""
        with Vertical():
            yield Label(f"Why {self._top.what} is {self._top.value}", markup=False, id="heading")
            yield Choices(id="causes", markup=False)
            yield Label(one_line("why", {}), markup=False, id="state")

    def on_mount(self) -> None:
        """Show the whole tree, its top selected."""
        self._fill(0)

    def _fill(self, chosen: int) -> None:
        self.causes = []
        lines: list[str] = []
        self._add(self._top, "", "", lines)
        box = self.query_one(Choices)
        box.clear_options()
        box.add_options([Option(line) for line in lines])
        box.highlighted = min(chosen, len(lines) - 1)

    def _add(self, cause: Any, first: str, rest: str, lines: list[str]) -> None:
        children = self._further.get(id(cause), cause).children
        more = " (shown above)" if cause.again else " …" if cause.cut and not children else ""
        self.causes.append(cause)
        lines.append(f"{first}{cause}{more}")
        for n, child in enumerate(children):
            last = n == len(children) - 1
            self._add(
                child, rest + ("└ " if last else "├ "), rest + ("  " if last else "│ "), lines
            )

    def action_more(self) -> None:
        """Add deeper sources of the chosen value."""
        at = self.query_one(Choices).highlighted
        cause = self.causes[at] if at is not None else None
        if cause is None or not cause.cut or cause.again:
            return
        try:
            self._further[id(cause)] = self._session.why(cause, FURTHER)
        except GpudbgError as error:
            self.query_one("#state", Label).update(str(error).splitlines()[0])
            return
        self._fill(at or 0)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Go to the instruction."""
        event.stop()
        tick = self.causes[event.option_index].tick
        if tick is None:
            self.query_one("#state", Label).update("no instruction made this value")
        else:
            self.dismiss(tick)

    def action_close(self) -> None:
        """Esc."""
        self.dismiss(None)
