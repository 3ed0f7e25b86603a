"""Where a warp stands, one answer for every screen, command, protocol and record.

A warp's pc is that of the instruction it goes on with; where each of its lanes has a pc (sm_70 and
later), that of the focused lane's group, and of the group that runs next in other warps.  That is
where it stands, but for two cases: in a deadlock a warp that waits at a barrier never goes on, so
it stands at the barrier; and a warp in a function that the machine itself carries out
(`__assertfail`, `vprintf`), which has no code to look at, stands at the call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.debug.stops.stop import DeadlockStop
from gpudbg.debug.values.lane_groups import shown_group, shown_lane
from gpudbg.formats.program import EXTERN_STRIDE

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.debug.values.lane_groups import LaneGroup
    from gpudbg.sm.state import WarpState


def standing_pc(inferior: Inferior, warp: WarpState, deadlock: bool | None = None) -> int:
    """The code address of the instruction a warp stands at.

    Args:
        inferior: for its last stop and the program.
        warp: the warp.
        deadlock: whether the stop is one; None asks the last one.
    """
    layout = inferior.symbols.layout
    if deadlock is None:
        deadlock = isinstance(inferior.stop, DeadlockStop)
    group = shown_group(inferior, warp)
    pc, waits = warp.pc, warp.status == "barrier"
    if group is not None:
        pc, waits = group.pc, group.waiting
    if deadlock and waits:
        return layout.before(pc)
    found = _return_address(inferior, warp, group)
    return layout.first(pc) if found is None else layout.before(found)


def in_machine_function(inferior: Inferior, warp: WarpState) -> bool:
    """Whether a warp is in a function that the machine carries out."""
    return _return_address(inferior, warp, shown_group(inferior, warp)) is not None


def _return_address(inferior: Inferior, warp: WarpState, group: LaneGroup | None) -> int | None:
    """The return address of a warp in a function that the machine emulates; None elsewhere."""
    pc = warp.pc if group is None else group.pc
    if pc & -EXTERN_STRIDE not in inferior.symbols.image.externs:
        return None
    if group is not None:
        from gpudbg.debug.values.unwinding import return_addresses

        lane = shown_lane(inferior, warp, group)
        return next(iter(return_addresses(inferior.symbols, warp, lane, pc)), None)
    return next((int(target) for kind, _, target in reversed(warp.stack) if kind == "RET"), None)


def error_pc(inferior: Inferior, warp: WarpState) -> int:
    """The instruction a warp's error is about; where it stands when it has none."""
    errors = inferior.stop.errors if inferior.stop is not None else ()
    mine = [e for e in errors if (e.sm, e.warp) == (warp.sm, warp.slot)]
    return inferior.symbols.pc(mine[0].pc) if mine else standing_pc(inferior, warp)
