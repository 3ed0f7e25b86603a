"""Going forward within the past: commands that run and step follow the recorded order.

While a launch stands in its past its grid has a `Follower`, which carries out what a session asks
for: by the moves that were recorded, and with the caller's breakpoints and conditions.  At the
present, or once something is changed, the grid moves by itself again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from gpudbg.debug.history.move_log import ACTING, set_driven, words_of
from gpudbg.sm import record as rec

if TYPE_CHECKING:
    from gpudbg.debug.history.replay import Replay
    from gpudbg.sm.events import StopEvent
    from gpudbg.sm.state import WarpState


CHANGED: Final = "here something was changed when this was recorded; going on keeps that"


class Follower:
    """Moves a grid by its past (`gpudbg.sm.moves.RecordedOrder`).

    Args:
        replay: the states of the launch.
        fork: called when something was changed in the past: it becomes a branch of its own.
    """

    def __init__(self, replay: Replay, fork: Callable[[], None]) -> None:
        self._replay, self._fork = replay, fork

    def carry_out(self, kind: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> StopEvent:
        """A move by the order that was recorded; see `RecordedOrder`."""
        replay = self._replay
        if replay.crossed:
            return replay.grid.event("limit", None, replay.grid.total, (CHANGED,))
        driven = words_of(replay.grid)
        if replay.log.edited(replay.grid):
            self._fork()
        elif replay.at < replay.end:
            event = self._followed(kind, args, keywords)
            if event is not None:
                return event
        set_driven(replay.grid, driven)
        replay.resume()
        made: StopEvent = getattr(replay.grid, kind)(*args, **keywords)
        return made

    def _followed(
        self, kind: str, args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> StopEvent | None:
        """Carry out a move as far as the present. Returns None where that was reached: the caller
        does the rest there.

        `keywords` are changed to what is left of them.
        """
        if kind == "run":
            return self._run(keywords)
        if kind in ("step_warp", "run_warp"):
            warp = args[0]
            count = keywords.get("count", args[1] if len(args) > 1 else 1)
            until = keywords.get(
                "until", args[2] if len(args) > 2 and kind == "step_warp" else None
            )
            return self._step(warp, count, until)
        return self._some(kind, args)

    # ---- a run -------------------------------------------------------------------------
    def _run(self, keywords: dict[str, Any]) -> StopEvent | None:
        replay, grid = self._replay, self._replay.grid
        before, most = grid.total, keywords.get("max_instructions")
        last = None if most is None else before + most
        asked = {k: v for k, v in keywords.items() if k not in ("max_instructions", "hang_check")}
        while replay.at < replay.end:
            event = replay.onward(last, asked)
            if event is not None and event.kind not in ("limit", "step"):
                return event
            if event is not None and event.kind == "step" and asked.get("until") is not None:
                return event
            if replay.crossed or (last is not None and grid.total >= last):
                said = (CHANGED,) if replay.crossed else ()
                return grid.event("limit", grid.schedule.warp, before, said)
        if last is not None:
            keywords["max_instructions"] = last - grid.total
        return None

    # ---- steps -------------------------------------------------------------------------
    def _step(
        self, warp: WarpState, count: int, until: Callable[[WarpState], bool] | None
    ) -> StopEvent | None:
        """Go on until a warp has executed `count` more instructions in the recorded order."""
        replay, grid = self._replay, self._replay.grid
        before, goal = grid.total, warp.executed + count
        asked = {"until": lambda w: w is warp}
        while replay.at < replay.end and warp.words[rec.STATUS] != rec.DONE:
            event = replay.onward(None, asked)
            if event is not None and event.kind not in ("limit", "step"):
                return event
            arrived = until is not None and until(warp)
            if warp.executed >= goal or arrived:
                return grid.event("step", warp, before)
            if replay.crossed:
                return grid.event("limit", warp, before, (CHANGED,))
        if warp.words[rec.STATUS] == rec.DONE:
            return grid.event("exited" if grid.finished else "step", None, before)
        return None

    def _some(self, kind: str, args: tuple[Any, ...]) -> StopEvent | None:
        """Replay as many instructions as a step of a CTA, an SM, or the whole grid would
        execute.
        """
        replay, grid = self._replay, self._replay.grid
        before = grid.total
        if kind == "step_cta":
            warps = list(args[0].warps)
        else:
            warps = list(grid.warps() if kind == "step_all" else grid.sms[args[0]].resident())
        # Stopped ones are ready again when the step begins.
        ready = [warp for warp in warps if warp.words[rec.STATUS] in ACTING]
        last = before + max(len(ready), 1)
        while replay.at < replay.end and grid.total < last and not replay.crossed:
            event = replay.onward(last, {})
            if event is not None and event.kind not in ("limit", "step"):
                return event
        if ready or grid.total > before or replay.crossed:
            return grid.event("step", ready[0] if ready else None, before)
        return None
