"""What a watchpoint watches: a place that is fixed when it is set, and the value it had."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from gpudbg.dataclass import dataclass

if TYPE_CHECKING:
    from gpudbg.debug.stops.records import Trigger
    from gpudbg.expr.evaluation import Place
    from gpudbg.sm.state import WarpState

WatchKind = Literal["write", "read", "access"]
KIND_WORDS: dict[str, str] = {
    "write": "Hardware watchpoint",
    "read": "Hardware read watchpoint",
    "access": "Hardware access (read/write) watchpoint",
}
"""gdb's words, by kind."""
TYPE_WORDS: dict[str | None, str] = {
    None: "breakpoint",
    "write": "hw watchpoint",
    "read": "read watchpoint",
    "access": "acc watchpoint",
}
"""Kind of watchpoint, or None -> gdb's name of a breakpoint's type."""
TOUCHED_BY: dict[WatchKind, tuple[str, ...]] = {
    "write": ("store", "atomic"),
    "read": ("load", "atomic"),
    "access": ("load", "store", "atomic"),
}
"""Kinds of access of `Observer.access` that a watchpoint looks at."""


@dataclass(frozen=True, slots=True)
class WatchTarget:
    """The watched place.

    `space` is "register", or global, shared or local; `block` is the CTA of shared and local
    memory and of a register, `warp` the warp's number in it and `lane` its lane (of local memory
    and registers).
    """

    kind: WatchKind
    space: str
    address: int = 0
    size: int = 0
    block: tuple[int, int, int] | None = None
    warp: int = 0
    lane: int = 0

    def owned_by(self, warp: WarpState) -> bool:
        """Whether a warp can touch the place."""
        if self.block is not None and warp.cta.block != self.block:
            return False
        return self.space in ("global", "shared") or warp.cta.warps.index(warp) == self.warp


@dataclass(slots=True)
class Watch:
    """A breakpoint row's watched place and the value it had when last looked at.

    Attributes:
        place: a register's, as its expression named it.
        stepped: why compiled code cannot test whether it is touched, or "".
    """

    target: WatchTarget
    type: Any
    old: str
    place: Place
    stepped: str = ""

    @property
    def words(self) -> str:
        """What gdb calls it."""
        return KIND_WORDS[self.target.kind]

    @property
    def cost(self) -> str:
        """How a run looks after it where code is compiled."""
        target = self.target
        if target.space == "register":
            whose = f"warp {target.warp} of block {target.block}"
            return f"compiled; {whose} is stepped at instructions that write it"
        kinds = (
            "loads, stores"
            if len(TOUCHED_BY[target.kind]) > 2
            else ("loads" if target.kind == "read" else "stores")
        )
        return f"compiled; {kinds} and atomics are tested, what may touch it is stepped"


def lines_of(trigger: Trigger) -> tuple[str, ...]:
    """What a watchpoint saw, as gdb prints it."""
    head = f"{KIND_WORDS[trigger.kind]} {trigger.number}: {trigger.expression}"
    if trigger.old == trigger.new:
        return (head, f"Value = {trigger.new}")
    return (head, f"Old value = {trigger.old}", f"New value = {trigger.new}")


def line_of(trigger: Trigger) -> str:
    """The same in one line: `Watchpoint 1  out[5] was 0, is 23`."""
    was = "" if trigger.old == trigger.new else f"was {trigger.old}, "
    return f"Watchpoint {trigger.number}  {trigger.expression} {was}is {trigger.new}"
