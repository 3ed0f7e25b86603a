"""ScreenView: the picture of a stop, with what only this screen shows of it.

It is made once per stop, focus move or memory page (`gpudbg.frontends.tui.collect`), in the
thread that owns the machine; panes turn it into rows and never ask the machine.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Self

from gpudbg.dataclass import dataclass
from gpudbg.debug.pictures import PictureOptions, StopPicture

if TYPE_CHECKING:
    from gpudbg.debug import Progress
    from gpudbg.frontends.tui.trap_texts import TrapPicture


@dataclass(frozen=True, slots=True)
class ScreenView(StopPicture):
    """Everything drawn at one stop; see the module text.

    `past` is the present tick where an earlier stop, number `past_stop`, is shown again.
    """

    stop_role: str = ""
    step_mode: str = "warp"
    trap: TrapPicture | None = None
    notice: str = ""
    past: int | None = None
    past_stop: int = -1

    @classmethod
    def of(cls, picture: StopPicture, **own: Any) -> Self:
        """The view of a picture."""
        facts = {row.name: getattr(picture, row.name) for row in fields(StopPicture)}
        return cls(**facts, **own)

    @property
    def masks(self) -> tuple[int, int]:
        """Lane masks of the focused warp: active lanes, lanes that have not exited."""
        row = self.focus_row
        return (row.active, row.valid & ~row.exited) if row is not None else (0, 0)


@dataclass(frozen=True, slots=True)
class Running:
    """Numbers shown while the machine runs."""

    label: str
    progress: Progress
    shown_tick: int

    @property
    def seconds(self) -> float:
        """Seconds since the job began."""
        return self.progress.seconds

    @property
    def tick(self) -> int:
        """Warp instructions of the launch so far."""
        return self.progress.total


@dataclass(slots=True)
class ViewOptions(PictureOptions):
    """What the user chose to look at; read when a view is made."""

    follow_pointer: bool = True
    trap: bool = False
    trap_opens: bool = False
