"""The Tesla pane of the terminal interface: hierarchy map and address ruler, live."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, Static

from gpudbg.errors import GpudbgError
from gpudbg.plugin import parse_int

from . import views
from .hierarchy import Chip, Hierarchy
from .mangle import LocalLayout
from .physid import PhysId
from .views import TeslaSnapshot


class TeslaPane(Vertical):
    """Three inputs (chip, PMC 0x1540, local address) over the two views.

    A bad value leaves the last good picture and shows what is wrong below it.
    """

    DEFAULT_CSS = """
    TeslaPane Horizontal { height: 3; }
    TeslaPane Input { width: 1fr; }
    TeslaPane #tesla-error { color: $error; height: auto; }
    """
    FIELDS = (("chipset", "0x86"), ("pmc", "0x03000001"), ("address", "0x0"))

    def compose(self) -> ComposeResult:
        """Inputs above, picture below."""
        with Horizontal():
            for name, value in self.FIELDS:
                field = Input(value, placeholder=name, id=f"tesla-{name}")
                field.border_title = name
                yield field
        yield Static(id="tesla-hierarchy", markup=False)
        yield Static(id="tesla-ruler", markup=False)
        yield Static(id="tesla-error", markup=False)

    def on_mount(self) -> None:
        """First picture."""
        self.redraw()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Redraw at every change."""
        self.redraw()

    def on_resize(self) -> None:
        """Redraw to the new width."""
        self.redraw()

    def _number(self, name: str, bits: int) -> int:
        return parse_int(self.query_one(f"#tesla-{name}", Input).value.strip(), name, bits)

    def snapshot(self) -> TeslaSnapshot:
        """What the inputs describe.

        Raises:
            UsageError: a value that is no number or does not exist.
        """
        chip = Chip(self._number("chipset", 16))
        units = Hierarchy.from_pmc(self._number("pmc", 32))
        layout = LocalLayout.make(chip, units, halfwarps=2, log_alloc=7, no_clamp=1)
        address = self._number("address", 32)
        found = layout.position(address)
        focus = None
        if found.owner is not None:
            focus = PhysId(found.owner.tp, found.owner.mp, found.owner.warp, found.lane)
        return TeslaSnapshot(chip, units, focus, layout, address)

    def redraw(self) -> None:
        """Draw both views, or the error."""
        if not self.is_mounted:
            return
        error = self.query_one("#tesla-error", Static)
        try:
            snapshot = self.snapshot()
        except GpudbgError as problem:
            error.update(str(problem))
            return
        error.update("")
        width = max(self.size.width, views.MIN_WIDTH)
        self.query_one("#tesla-hierarchy", Static).update(
            "\n".join(views.hierarchy(snapshot, width))
        )
        self.query_one("#tesla-ruler", Static).update("\n".join(views.ruler(snapshot, width)))
