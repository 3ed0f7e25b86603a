"""Findings: what checks of the launch have found; Enter stands where an access is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import BindingType

from gpudbg.frontends.tui import messages
from gpudbg.frontends.tui.appearance import Appearance
from gpudbg.frontends.tui.keys import bindings
from gpudbg.frontends.tui.screens.list_detail import ListDetailScreen
from gpudbg.frontends.tui.text import Row, fit, row
from gpudbg.frontends.tui.view import Running, ScreenView
from gpudbg.frontends.tui.widgets.base import Content, LinePane
from gpudbg.frontends.tui.widgets.chrome import KeyRow
from gpudbg.frontends.tui.widgets.notes import wrapped

if TYPE_CHECKING:
    from gpudbg.frontends.tui.screens.main import MainScreen

_ROLES = {"error": "stop", "warning": "changed", "note": "muted"}


class FindingsPane(LinePane):
    """The list: a row a finding, and one for each of its accesses."""

    number, title, pane = "1", "Findings", "findings"
    empty = "The launch has not been checked; c checks it."

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance)
        self.report: Any = None
        self.cursor = 0

    @property
    def found(self) -> list[Any]:
        """Findings that no rule suppresses."""
        if self.report is None:
            return []
        return [f for f in self.report.findings if f.suppressed is None]

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """Rows for the findings and their accesses."""
        if self.report is None:
            return Content(())
        g = self.appearance.glyphs
        rows: list[Row] = []

        def add(key: Any, *parts: tuple[str, str]) -> None:
            here = len(rows) == self.cursor
            rows.append(Row(((f" {g.pc if here else ' '} ", "you"), *parts), key=key))

        for n, found in enumerate(self.found, 1):
            words = f"{found.kind} {found.cause}".replace("_", " ").strip()
            where = f", {found.space}" if found.space else ""
            times = f"  {found.count} times" if found.count > 1 else ""
            add(
                ("finding", n, len(found.accesses)),
                (f"{n:2} {fit(found.severity, 8, g.cut)}", _ROLES[found.severity]),
                (f"{words}{where}", "text.b"), (times, "muted"),
            )  # fmt: skip
            for side, access in enumerate(found.accesses, 1):
                add(
                    ("finding", n, side),
                    (f"     {fit(access.kind, 10, g.cut)}", "text"), (f" {access.place}", "you"),
                    (f"  {_who(access)}", "muted"),
                )  # fmt: skip
        rows += [row((f"   fault: {fault}", "stop")) for fault in self.report.faults]
        if self.report.gap:
            rows.append(row((f"   could not judge: {self.report.gap}", "stop")))
        if not rows:
            rows.append(row((f"   {self.report.lines()[-1]}", "text")))
        return Content(rows, f"{len(self.found)} of {', '.join(self.report.checks)}")

    def action_move(self, by: int) -> None:
        """Move the cursor, as if the row were clicked."""
        super().action_move(by)
        self.post_message(messages.RowClicked(self.pane, self.key, None, 0))

    @property
    def chosen(self) -> tuple[int, int] | None:
        """Numbers of the finding and of the access under the cursor."""
        key = self.key
        if isinstance(key, tuple):
            return key[1], key[2]
        found = self.found
        return (1, len(found[0].accesses)) if found else None


def _who(access: Any) -> str:
    """`thread 31,0,0 of block 0,0,0`: short, for rows."""
    thread, block = (",".join(map(str, at)) for at in (access.thread, access.block))
    return f"thread {thread} of block {block}"


class FindingPane(LinePane):
    """The chosen finding in full."""

    number, title, pane = "2", "What it is", "finding"
    finding: Any = None

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """The lines of the finding's explanation."""
        if self.finding is None:
            return Content(())
        rows: list[Row] = []
        for n, line in enumerate(self.finding.explain()):
            made = wrapped(line.strip(), width)
            rows += [row((f" {line}", "text.b"))] if not n else made
        return Content(rows, self.finding.kind.replace("_", " "))


class FindingsScreen(ListDetailScreen):
    """See the module text."""

    SCOPE = "findings"
    AUTO_FOCUS = "#pane-findings"
    BINDINGS: ClassVar[list[BindingType]] = bindings("findings")
    KEYS = "f-keys"
    WIDE = 110
    LIST_PART = (1 / 2, 1 / 2)

    list_pane: FindingsPane
    about: FindingPane

    def __init__(self, main: MainScreen, appearance: Appearance) -> None:
        super().__init__(main, appearance, "findings")
        self.list_pane = FindingsPane(appearance)
        self.about = FindingPane(appearance)

    def show(self, view: ScreenView, running: Running | None) -> None:
        """Show a new picture; during a check the previous report stays."""
        if running is None:
            self.list_pane.report = self.main.session.checks.report
        self.list_pane.show(view, None)
        self.show_chosen()
        self.about.show(view, None)
        self.query_one(KeyRow).show(view, running)

    def show_chosen(self) -> None:
        """Show the chosen entry in full."""
        chosen, found = self.list_pane.chosen, self.list_pane.found
        finding = found[chosen[0] - 1] if chosen and chosen[0] <= len(found) else None
        if finding is not self.about.finding:
            self.about.finding = finding
            self.about.top = 0
            self.about.redraw()

    def action_check(self) -> None:
        """Check the launch (again)."""
        self.main.run_command("check all")

    def on_row_opened(self, event: messages.RowOpened) -> None:
        """Stand at the access, on the main screen."""
        event.stop()
        chosen = self.list_pane.chosen
        if chosen is None or event.pane != self.list_pane.pane:
            return
        if self.main.engine.busy:
            self.main.refuse()
            return
        self.dismiss(None)
        self.main.run_command(f"finding {chosen[0]} {chosen[1]}")
