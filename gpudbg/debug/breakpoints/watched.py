"""Records of watchpoints: the watched place, fixed when it is set, and its last seen value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from gpudbg.dataclass import dataclass
from gpudbg.sm.selection import SPECIAL, SelectedConstant

if TYPE_CHECKING:
    from gpudbg.debug.breakpoints.watch_scopes import WatchScope
    from gpudbg.debug.stops.records import Trigger
    from gpudbg.sm.state import WarpState

WatchKind = Literal["write", "read", "access", "store"]
"""What stops: a changed value; a read; a read or write; a write, of the same value too."""
KIND_WORDS: dict[str, str] = {
    "write": "Hardware watchpoint",
    "read": "Hardware read watchpoint",
    "access": "Hardware access (read/write) watchpoint",
    "store": "Hardware store watchpoint",
}
"""gdb's words, by kind; gdb has none for stores of the same value."""
TYPE_WORDS: dict[str | None, str] = {
    None: "breakpoint",
    "write": "hw watchpoint",
    "read": "read watchpoint",
    "access": "acc watchpoint",
    "store": "store watchpoint",
}
"""Kind of watchpoint, or None -> gdb's name of a breakpoint's type."""
TOUCHED_BY: dict[WatchKind, tuple[str, ...]] = {
    "write": ("store", "atomic"),
    "read": ("load", "atomic"),
    "access": ("load", "store", "atomic"),
    "store": ("store", "atomic"),
}
"""Kinds of access of `Observer.access` that a watchpoint looks at."""


@dataclass(frozen=True, slots=True)
class WatchTarget:
    """The watched place.

    Attributes:
        kind: of the watchpoint.
        space: global, shared, local or constant; else register or special.
        address, size: the bytes; a constant's address has the bank above bit 32.
        block: the CTA of shared and local memory and of a register.
        warp, lane: the warp's number in it and its lane, of local memory and registers.
        registers: file and number of each register, as `SelectedRegister` has them.
        constant: where in a constant bank it can be read; memory may be one.
        frame: of a variable that is in registers, the number of frames outside of its own and
            the function: where it is differs from instruction to instruction.
        bits: of a bit-field the lowest bit in those bytes, and how many there are.
    """

    kind: WatchKind
    space: str
    address: int = 0
    size: int = 0
    block: tuple[int, int, int] | None = None
    warp: int = 0
    lane: int = 0
    registers: tuple[tuple[str, int], ...] = ()
    constant: SelectedConstant | None = None
    frame: tuple[int, str] | None = None
    bits: tuple[int, int] | None = None

    @property
    def in_registers(self) -> bool:
        """Whether the target is a register, a special register, or a variable in registers."""
        return self.space in ("register", SPECIAL)

    @property
    def stepped(self) -> str:
        """Why the owning warp must be single-stepped for this target; "" where compiled code may
        run.
        """
        if not self.in_registers:
            return ""
        if self.frame is not None:
            return "a variable is in different registers at different instructions"
        if self.kind == "write" and any(file == "barriers" for file, _ in self.registers):
            return "waiting lanes change a convergence barrier"
        if self.kind == "write" and self.space == SPECIAL:
            return "no instruction writes a special register"
        return ""

    def owned_by(self, warp: WarpState) -> bool:
        """Whether a warp can touch the place."""
        if self.block is not None and warp.cta.block != self.block:
            return False
        return not (self.in_registers or self.space == "local") or warp.index == self.warp


@dataclass(slots=True)
class Watch:
    """A breakpoint row's watched place and the value it had when last looked at.

    `scope` is the frame whose variables its expression names: where that is left, it ends.
    """

    target: WatchTarget
    type: Any
    old: str
    scope: WatchScope | None = None

    @property
    def words(self) -> str:
        """What gdb calls it."""
        return KIND_WORDS[self.target.kind]

    @property
    def cost(self) -> str:
        """How a run observes it in compiled code, in words."""
        target = self.target
        if target.space == "constant":
            return "compiled; instructions that may read it are stepped"
        if target.in_registers:
            whose = f"warp {target.warp} of block {target.block}"
            if target.stepped:
                return f"compiled; {whose} is stepped: {target.stepped}"
            return f"compiled; {whose} is stepped at instructions that {_VERBS[target.kind]} it"
        kinds = (
            "loads, stores"
            if len(TOUCHED_BY[target.kind]) > 2
            else ("loads" if target.kind == "read" else "stores")
        )
        return f"compiled; {kinds} and atomics are tested, what may touch it is stepped"


_VERBS: dict[WatchKind, str] = {
    "write": "write", "read": "read", "access": "read or write", "store": "write",
}  # fmt: skip


def lines_of(trigger: Trigger) -> tuple[str, ...]:
    """gdb's lines for what a watchpoint saw."""
    if trigger.over:
        words = f"Watchpoint {trigger.number} deleted because the program has left the block in"
        return (words, "which its expression is valid.")
    head = f"{KIND_WORDS[trigger.kind]} {trigger.number}: {trigger.expression}"
    if trigger.old == trigger.new:
        return (head, f"Value = {trigger.new}")
    return (head, f"Old value = {trigger.old}", f"New value = {trigger.new}")


def line_of(trigger: Trigger) -> str:
    """One line for what a watchpoint saw: `Watchpoint 1  out[5] was 0, is 23`."""
    if trigger.over:
        return f"Watchpoint {trigger.number}  {trigger.expression} is left; it is deleted"
    was = "" if trigger.old == trigger.new else f"was {trigger.old}, "
    return f"Watchpoint {trigger.number}  {trigger.expression} {was}is {trigger.new}"
