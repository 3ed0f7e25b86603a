"""Watch scopes: the call whose variables an expression names; the watchpoint ends when it returns.

As in gdb a watchpoint on a variable lasts as long as the call whose variable it is.  A parameter
of the kernel itself is the same in every thread of the launch: `watch out[5]` outlasts the thread
in whose frame it was set.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass
from gpudbg.debug.values.backtrace import lane_depth
from gpudbg.debug.values.context import WarpContext
from gpudbg.expr import parse
from gpudbg.expr.parser import names
from gpudbg.expr.types import Pointer, Struct
from gpudbg.sm.selection import LEAVES, SelectedRegister

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.sm.grid import Grid
    from gpudbg.sm.state import WarpState
    from gpudbg.symbols.debug_variables import DebugVariable


@dataclass(frozen=True, slots=True)
class WatchScope:
    """One lane's call, in which a watched expression has its meaning.

    Attributes:
        block, warp, lane: whose.
        depth: how many calls it is in; 0: the kernel's own frame.
    """

    block: tuple[int, int, int]
    warp: int
    lane: int
    depth: int

    def owner(self, grid: Grid) -> WarpState | None:
        """The warp that executes the call; None where it is no longer resident."""
        return next((w for w in grid.warps() if self._of(w)), None)

    def _of(self, warp: WarpState) -> bool:
        return warp.index == self.warp and warp.cta.block == self.block

    def left(self, inferior: Inferior, warp: WarpState) -> bool:
        """Whether the lane has left the call; to be asked when its warp has returned or exited."""
        if not self._of(warp):
            return False
        if warp.status == "exited" or warp.exited >> self.lane & 1:
            return True
        return self.depth > 0 and lane_depth(inferior, warp, self.lane) < self.depth

    def selected(self, owner: WarpState) -> SelectedRegister:
        """The instructions after which the call may have been left."""
        return SelectedRegister(LEAVES, 0, owner.cta.number, owner.index)


def scope_of(inferior: Inferior, expression: str, in_registers: bool) -> WatchScope | None:
    """The frame that an expression's variables belong to, in the focused lane; None without any.

    Args:
        in_registers: what is watched is a register that holds a variable.
    """
    assert inferior.focus is not None
    warp = inferior.focused()
    context = WarpContext(inferior, warp, inferior.frame_level)
    texts = (name.text for name in names(parse(expression)) if name.text[:1] not in ("$", "%"))
    levels = [level for text in texts for level in _level(context, text)]
    if in_registers:
        levels.append(context.frame.level)
    if not levels:
        return None
    # With several frames the innermost one ends the watchpoint: it is left first.
    frame = WarpContext(inferior, warp, min(levels)).frame
    return WatchScope(warp.cta.block, warp.index, inferior.focus.lane, frame.physical)


def _level(context: WarpContext, text: str) -> Iterator[int]:
    """Level of the frame that a name's variable lives in; nothing for variables that outlive their
    frame.
    """
    scope, _, name = text.rpartition("::")
    if scope and context.is_function(scope):
        context = context.function_scope(scope)
    elif scope:
        return
    known = context.variables()
    base = name.partition(".")[0]
    for variable, _ in () if known is None else known.variables():
        if variable.name == base or (variable.name == "this" and _has(variable, base)):
            kept = variable.frame_offset is not None or bool(variable.registers)
            if kept and not (variable.parameter and context.frame.own):
                yield context.frame.level
            return


def _has(this: DebugVariable, name: str) -> bool:
    """Whether an unqualified name is a member of the object `this` points at."""
    pointer = this.type
    target = pointer.target if isinstance(pointer, Pointer) else None
    return isinstance(target, Struct) and target.field(name) is not None
