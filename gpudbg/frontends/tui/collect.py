"""Collector: turns the stopped session into a `ScreenView`. Runs in the engine's thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.debug.pictures import StopTaker
from gpudbg.frontends.tui.stop_words import role_of
from gpudbg.frontends.tui.view import ScreenView, ViewOptions

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession
    from gpudbg.frontends.tui.trap_texts import TrapPicture


class Collector:
    """Makes views of one session."""

    def __init__(self, session: DebugSession, options: ViewOptions) -> None:
        self.session = session
        self.options = options
        self._taker = StopTaker(session, options)
        self.memory = self._taker.memory

    @property
    def taken(self) -> int:
        """How many views were made so far."""
        return self._taker.taken

    def take(self, notice: str = "") -> ScreenView:
        """Make the view of the session's present state."""
        picture = self._taker.take()
        return ScreenView.of(
            picture,
            stop_role="stop" if picture.hangs else role_of(picture.snapshot.stop),
            step_mode=self.session.settings.shown("step"),
            trap=self._trap(),
            notice=notice,
        )

    def _trap(self) -> TrapPicture | None:
        """The trap inspector's part of the view; None while that screen is closed."""
        if not self.options.trap:
            return None
        from gpudbg.frontends.tui import trap_texts

        return trap_texts.take(self.session)
