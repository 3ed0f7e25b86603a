"""Origin card: shows where a value comes from; Enter goes to the instruction that wrote it last.

Registers of the focused warp are looked up in the timeline; memory, and what that does not keep,
is searched for in launches that are short, else when one goes there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from gpudbg.dataclass import dataclass
from gpudbg.debug.pictures import code_text, warp_of
from gpudbg.errors import GpudbgError
from gpudbg.frontends.tui.keys import bindings, key_row
from gpudbg.frontends.tui.screens.card import CardFrame, CardScreen
from gpudbg.frontends.tui.text import Row, Span, row

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession
    from gpudbg.frontends.tui.appearance import Appearance
    from gpudbg.frontends.tui.view import ScreenView

WIDE = 90
QUICK = 20_000
"""Most ticks of a launch that are searched without asking."""


@dataclass(frozen=True, slots=True)
class WrittenValue:
    """A value that was asked about.

    Attributes:
        name, value: as its pane shows them.
        place: the expression for `who-wrote`; "" where it is computed and no place.
        writer: who wrote it last, where that is known without a search.
        there: what the card's keys can do: `place`, `values` (32 of them), `pointer`.
    """

    name: str
    value: str
    place: str
    writer: str
    there: tuple[str, ...]


def register_writer(session: DebugSession, view: ScreenView, name: str) -> str:
    """The last writer of a register in the focused lane, as far as the timeline knows."""
    focus = view.focus_row
    if focus is None or name[:1] != "R" or not name[1:].isdecimal():
        return ""
    found = session.timeline.written(warp_of(view, focus), int(name[1:]), 0, view.tick, view.lane)
    if not found:
        return ""
    last = found[-1]
    return f"{code_text(view, last.pc)}   tick {last.tick:,}, {view.tick - last.tick:,} before now"


def place_writer(session: DebugSession, view: ScreenView, place: str) -> str:
    """The last writer of a place, searched in short launches only; "" for others."""
    if not place or view.tick > QUICK:
        return ""
    try:
        found = session.who_wrote(place, n=1)
    except GpudbgError:
        return ""
    if not isinstance(found, tuple) or not found:
        return ""
    last = found[0]
    if not last.instruction:
        return last.note or f"there at tick {last.tick:,}"
    who = f"lane {last.lane} of warp {last.warp}"
    return f"{last.instruction}   {who}   tick {last.tick:,}, {view.tick - last.tick:,} before now"


class OriginScreen(CardScreen):
    """See the module text; answers go, why, values, pointer or None."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("origin")

    def __init__(self, appearance: Appearance, origin: WrittenValue) -> None:
        super().__init__(appearance)
        self.origin = origin

    def frame(self, width: int, height: int) -> CardFrame:
        """The card: name and value, the instruction that wrote it, and the keys."""
        o = self.origin
        if not o.place:
            words = "it is computed: no instruction writes it"
        else:
            words = o.writer or "Enter searches the launch backwards for it"
        keys: list[Span] = [("   ", "text")]
        for key, label, action in key_row("origin", {}, o.there):
            if not action.needs or action.needs in o.there:
                keys += [(key, "you.b"), (f" {label}   ", "text")]
        rows = [
            row((f"   {o.name}  ", "text.b"), (o.value, "text")),
            Row(),
            row(("   written by  ", "muted"), (words, "text" if o.writer else "muted")),
            Row(),
            row(*keys),
        ]
        return CardFrame(self.appearance, rows, min(width - 2, WIDE), "you", "Where it comes from")

    def action_answer(self, word: str) -> None:
        """Close with an answer, where that is possible."""
        needs = {"go": "place", "why": "place"}.get(word, word)
        if needs in self.origin.there:
            self.dismiss(word)
