"""Resident warps by place or by condition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpudbg.debug.focus.focus import first_lane
from gpudbg.debug.values.context import WarpContext
from gpudbg.debug.values.lanes import array_mask
from gpudbg.errors import CommandError, UsageError
from gpudbg.expr import evaluate, parse_condition
from gpudbg.validation import maybe_whole, whole

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.sm.state import WarpState


def warp_at(inferior: Inferior, index: int | None, sm: int | None) -> WarpState:
    """The warp of a slot, on the focused SM unless one is given; the focused warp by default.

    Raises:
        UsageError: there is none, or an SM without a slot.
    """
    if index is None:
        if sm is not None:
            raise UsageError(f"which warp of sm {sm}?", "index is its slot there")
        return inferior.focused()
    index, sm = whole(index, "index", 0), maybe_whole(sm, "sm", 0)
    if sm is None:
        sm = inferior.focus.sm if inferior.focus else 0
    for warp in inferior.grid.warps():
        if (warp.sm, warp.slot) == (sm, index):
            return warp
    raise UsageError(f"sm {sm} has no resident warp {index}")


def warps_where(inferior: Inferior, condition: str = "") -> Iterator[WarpState]:
    """Warps with an active lane where an expression holds; all without one.

    Raises:
        CommandError: it assigns, or cannot be computed in an active lane.
    """
    tree = parse_condition(condition) if condition.strip() else None
    for state in inferior.grid.warps():
        if tree is not None:
            result = evaluate(tree, WarpContext(inferior, state))
            failed = state.active & ~array_mask(result.valid)
            if failed:
                raise CommandError(
                    f"{condition}: no value in lane {first_lane(failed)} of "
                    f"warp {state.slot} on sm {state.sm}: {result.why}"
                )
            if not state.active & array_mask(result.truth()):
                continue
        yield state
