"""Branches screen: go to, name, compare or delete branches of the launch."""

from __future__ import annotations

from collections.abc import Sequence
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


class BranchesScreen(ModalScreen["tuple[str, int] | None"]):
    """See the module text; answers with (action, branch number).

    Attributes:
        rows: the branches.
        said: the line, or lines, below them.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("branches")

    def __init__(self, session: DebugSession) -> None:
        super().__init__()
        self._session = session
        self.rows: tuple[Any, ...] = ()
        self.said = ""

    def compose(self) -> ComposeResult:
        """The branches and the keys."""
        with Vertical():
            yield Label("Branches of this launch", markup=False, id="heading")
            yield Choices(id="branches", markup=False)
            yield Label("", markup=False, id="state")
            yield Label(one_line("branches", {}), markup=False, id="keys")

    def on_mount(self) -> None:
        """List the branches and select the followed one."""
        self._fill()

    def _fill(self) -> None:
        self.rows = self._session.branches
        box = self.query_one(Choices)
        box.clear_options()
        box.add_options([Option(_line(row)) for row in self.rows])
        box.highlighted = next(n for n, row in enumerate(self.rows) if row.current)
        if len(self.rows) == 1:
            self._say("a change at an earlier tick begins another one")

    def _say(self, words: str) -> None:
        self.said = words
        self.query_one("#state", Label).update(words)

    def _chosen(self) -> Any:
        at = self.query_one(Choices).highlighted
        return self.rows[at] if at is not None else None

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Go to the end of the chosen branch."""
        event.stop()
        self.dismiss(("go", self.rows[event.option_index].number))

    def action_name(self) -> None:
        """Ask for a name of the followed branch."""
        self.dismiss(("name", next(row.number for row in self.rows if row.current)))

    def action_compare(self) -> None:
        """Show what differs at the ends of the chosen and the followed branch."""
        row = self._chosen()
        if row is None or row.current:
            self._say("choose another branch: it is compared with the one that is followed")
            return
        try:
            found = self._session.compare_branch(row.number)
        except GpudbgError as error:
            self._say(str(error).splitlines()[0])
            return
        # Leave lines for the branches, the heading and the keys.
        room = max(self.size.height - len(self.rows) - 5, 3)
        self._say("\n".join(_differences(found, row.number, room)))

    def action_drop(self) -> None:
        """Delete the chosen branch."""
        row = self._chosen()
        if row is None:
            return
        try:
            self._session.delete_branch(row.number)
        except GpudbgError as error:
            self._say(str(error).splitlines()[0])
            return
        self._fill()
        self._say(f"branch {row.number} is deleted")

    def action_close(self) -> None:
        """Esc."""
        self.dismiss(None)


def _differences(found: Sequence[Any], number: int, room: int) -> list[str]:
    """Lines for the differences at the ends of two branches, at most `room`."""
    if not found:
        return [f"branch {number} ends in the same state"]
    shown = found if len(found) <= room else found[: room - 1]
    lines = [
        f"{row.where:<36} here {_word(row.this_branch)}  there {_word(row.other_branch)}".rstrip()
        if row.this_branch is not None or row.other_branch is not None
        else row.where
        for row in shown
    ]
    if len(shown) < len(found):
        more = len(found) - len(shown)
        lines.append(f"… {more} more: `branch compare {number}` in the console shows all")
    return lines


def _word(value: int | None) -> str:
    return "-" if value is None else f"0x{value:x}"


def _line(row: Any) -> str:
    here = "*" if row.current else " "
    origin = "the launch" if row.parent is None else f"from {row.parent} at {row.begins_at:,}"
    return f"{here} {row.number}  {origin}, to tick {row.end:,}  {row.name}".rstrip()
