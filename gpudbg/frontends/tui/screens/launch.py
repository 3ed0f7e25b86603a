"""Launch form: which kernel, how many blocks and threads, and every argument, to fill in.

It opens by itself where a program's launch is not complete, and on the key `N`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Label, OptionList
from textual.widgets.option_list import Option

from gpudbg.debug.commands import form_of, laid_over, opening_of, save_form
from gpudbg.errors import GpudbgError
from gpudbg.frontends.tui.base_app import BaseApp
from gpudbg.frontends.tui.keys import bindings, one_line
from gpudbg.frontends.tui.widgets.options import Choices

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession
    from gpudbg.launch import LaunchForm

MAX_LISTED = 300
"""Kernels that the list shows at a time; typing in its box finds the others."""


class LaunchScreen(ModalScreen[bool]):
    """See the module text.  Answers whether the launch is to begin.

    Args:
        session: planned anew by what is filled in.
        show: called when another kernel is looked at.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("launch")

    def __init__(self, session: DebugSession, show: Callable[[], object]) -> None:
        super().__init__()
        self.session = session
        self._show = show
        self.kernels = [*session.program.kernels, *session.program.elsewhere]
        self.form = form_of(session)

    def compose(self) -> ComposeResult:
        """Kernels where there are several, sizes, arguments."""
        with VerticalScroll(id="form"):
            yield Label(f"Launch {self.session.program.path}", classes="title", markup=False)
            if len(self.kernels) > 1:
                yield self._line("kernel", "", self._box(self._shown(self.form.kernel), "kernel"))
                yield Choices(id="kernels", markup=False)
            yield VerticalScroll(id="fields")
            yield Label(one_line("launch", {}, gap="  "), id="state", markup=False)

    def on_mount(self) -> None:
        """The first form."""
        self._list("")
        self.call_later(self._fill, True)

    def _shown(self, kernel: str) -> str:
        return self.session.program.shown(kernel)

    @staticmethod
    def _box(value: str, name: str) -> Input:
        # Show the form's first state.
        box = Input(value, compact=True, id=name, select_on_focus=name == "kernel")
        box.cursor_blink = False
        return box

    @staticmethod
    def _line(name: str, kind: str, box: Input) -> Horizontal:
        return Horizontal(
            Label(name, classes="name", markup=False),
            box,
            Label(f" {kind}", classes="type", markup=False),
            classes="line",
        )

    async def _fill(self, focus: bool = False) -> None:
        """Boxes for the form's values."""
        fields = self.query_one("#fields", VerticalScroll)
        await fields.remove_children()
        form = self.form
        rows = [
            self._line("grid", "blocks", self._box(form.grid, "grid")),
            self._line("block", "threads", self._box(form.block, "block")),
            self._line("shared", "bytes", self._box(form.shared, "shared")),
        ]
        rows += [
            self._line(a.name, a.type, self._box(a.text, f"arg-{n}"))
            for n, a in enumerate(form.arguments)
        ]
        await fields.mount_all(rows)
        if focus:
            self.query_one("#kernel" if len(self.kernels) > 1 else "#grid", Input).focus()

    # ---- kernels -----------------------------------------------------------------------
    def _list(self, text: str) -> None:
        """Build the input boxes for the form's values."""
        if len(self.kernels) < 2:
            return
        wanted = text.lower()
        found = [k for k in self.kernels if wanted in self._shown(k).lower()] or self.kernels
        table = self.query_one("#kernels", OptionList)
        table.clear_options()
        table.add_options(Option(self._shown(k), id=k) for k in found[:MAX_LISTED])
        chosen = [n for n, k in enumerate(found[:MAX_LISTED]) if k == self.form.kernel]
        table.highlighted = chosen[0] if chosen else 0

    @on(Input.Changed, "#kernel")
    def _search(self, event: Input.Changed) -> None:
        if event.value != self._shown(self.form.kernel):
            self._list(event.value)

    @on(OptionList.OptionSelected)
    async def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if event.option.id is not None:
            await self._choose(event.option.id)

    async def _choose(self, kernel: str) -> None:
        """Another kernel: its arguments, and its code behind the form."""
        try:
            self.session.plan(laid_over(self.session, ["--kernel", kernel]))
        except GpudbgError as error:
            self._tell(str(error), True)
            return
        self.form = form_of(self.session)
        self.query_one("#kernel", Input).value = self._shown(kernel)
        await self._fill()
        self._show()
        self.query_one("#grid", Input).focus()

    # ---- what is filled in -------------------------------------------------------------
    def _filled(self) -> LaunchForm:
        """The form as it stands in the boxes."""
        arguments = tuple(
            replace(a, text=self.query_one(f"#arg-{n}", Input).value.strip())
            for n, a in enumerate(self.form.arguments)
        )
        sizes = {
            name: self.query_one(f"#{name}", Input).value.strip()
            for name in ("grid", "block", "shared")
        }
        return replace(self.form, arguments=arguments, **sizes)

    @on(Input.Submitted)
    async def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if event.input.id != "kernel":
            self.action_launch()
            return
        table = self.query_one("#kernels", OptionList)
        if table.highlighted is not None:
            found = table.get_option_at_index(table.highlighted).id
            if found is not None:
                await self._choose(found)

    def action_launch(self) -> None:
        """Read the form from the boxes."""
        try:
            self.session.plan(opening_of(self.session).with_form(self._filled()))
            self.session.require_launchable()
        except GpudbgError as error:
            self._tell(getattr(error, "message", str(error)), True)
            return
        self.dismiss(True)

    def action_save(self) -> None:
        """Write the launch table beside the program."""
        try:
            path = save_form(self.session.program.path, self._filled())
        except GpudbgError as error:
            self._tell(str(error), True)
        else:
            self._tell(f"saved to {path}", False)

    def action_close(self) -> None:
        """Close the form and keep what was filled in."""
        # What cannot be read is not kept; the form says so when it is to launch.
        with suppress(GpudbgError):
            if self._filled() != self.form:
                self.session.plan(opening_of(self.session).with_form(self._filled()))
        self.dismiss(False)

    def _tell(self, words: str, trouble: bool) -> None:
        state = self.query_one("#state", Label)
        state.update(" ".join(words.split()))
        if isinstance(self.app, BaseApp):
            # Textual's own label does not count what it shows.
            self.app.appearance.changes += 1
        state.set_class(trouble, "trouble")
