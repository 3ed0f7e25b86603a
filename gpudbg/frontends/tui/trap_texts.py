"""The trap inspector's part of a `ScreenView`: what the records of traps say, as texts in rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.answers import lane_list
from gpudbg.dataclass import dataclass
from gpudbg.debug.values import TrapWord, WarpTrap, trap_state
from gpudbg.debug.views import LogRow

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession


@dataclass(frozen=True, slots=True)
class SavedWarp:
    """What is saved of one warp in the handler or paused, by `ROWS`; "" where there is nothing."""

    slot: int
    values: tuple[str, ...]


ROWS = ("Cause", "PC", "Active", "Exited", "Stack", "State")
"""Rows of `SavedWarp`."""
CAUSES = {
    "WARP_ERROR": "error",
    "BPT_TRAP": "BPT.TRAP",
    "BPT_CAL": "BPT.CAL",
    "SINGLE_STEP": "step",
    "STOP_REQUEST": "stop",
    "OTHER_WARP": "another",
    "PREEMPTION": "preempt",
}
"""Causes as they fit into a column."""
STATES = ("paused", "trapped", "critical")
"""What can be said of a warp's place in the trap protocol, the most telling first."""


@dataclass(frozen=True, slots=True)
class TrapPicture:
    """Everything the trap inspector draws.

    `masks` are (label, 64-bit mask of warp slots); `saved` are (name, value, words) of the
    focused warp, `each` what is saved of every warp in the handler or paused, the focused one
    first; `entry` is the handler's first pc, or None without one.
    """

    sm: int
    place: str
    words: tuple[TrapWord, ...]
    masks: tuple[tuple[str, int], ...]
    warp: int | None
    inside: bool
    saved: tuple[tuple[str, str, str], ...]
    each: tuple[SavedWarp, ...]
    handler: str
    entry: int | None
    log: tuple[LogRow, ...]


def take(session: DebugSession) -> TrapPicture:
    """The trap state of the focused warp and its SM (of SM 0 when no warp is left)."""
    state = trap_state(session)
    warp = state.warp
    return TrapPicture(
        sm=state.sm,
        place=state.place,
        words=state.words,
        masks=state.masks,
        warp=warp.slot if warp is not None else None,
        inside=warp is not None and warp.inside,
        saved=tuple(_saved(session, warp)) if warp is not None else (),
        each=tuple(SavedWarp(w.slot, _values(session, w)) for w in state.warps),
        handler=state.handler,
        entry=state.entry,
        log=state.log,
    )


def _saved(session: DebugSession, warp: WarpTrap) -> list[tuple[str, str, str]]:
    """What is saved of the focused warp, or what it has while it runs its own code."""
    symbols, inside = session.symbols, warp.inside
    code = symbols.instruction(warp.pc)
    words = symbols.describe_line(warp.pc) + (f"   {code.text}" if code is not None else "")
    rows = [
        ("Cause", "", warp.cause_words if inside else "not in the trap handler"),
        ("Return" if inside else "PC", symbols.short(warp.pc), words),
        ("Active", f"{warp.active:08x}", f"lanes {lane_list(warp.active)}"),
    ]
    if warp.exited:
        rows.append(("Exited", f"{warp.exited:08x}", f"lanes {lane_list(warp.exited)}"))
    if warp.depth is not None:
        if symbols.layout.has_control_words:
            rows.append(("Stack", str(warp.depth), "tokens at entry"))
        else:
            rows.append(("Groups", str(warp.depth), "others of the warp, which stand"))
        rows.append(("Record", f"0x{warp.record:x}", "the warp's part of the save area"))
    notes = [word for word in STATES if getattr(warp, word)]
    if notes:
        rows.append(("State", "", ", ".join(notes)))
    return rows


def _values(session: DebugSession, warp: WarpTrap) -> tuple[str, ...]:
    return (
        CAUSES.get(warp.cause, ""),
        session.symbols.short(warp.pc),
        f"{warp.active:08x}",
        f"{warp.exited:08x}" if warp.exited else "",
        "" if warp.depth is None else str(warp.depth),
        next((word for word in STATES if getattr(warp, word)), ""),
    )
