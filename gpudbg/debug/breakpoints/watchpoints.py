"""Watchpoints: stop where memory or a register changes, or memory is read.

    watch bins[3]                 when a store or an atomic changes it
    rwatch *(@shared int*)0x20    when it is read           awatch …   read or written
    watch $R4                     when it changes in the focused lane

A watched place is fixed when the watchpoint is set: an address of device memory, of the focused
CTA's shared memory, of the focused thread's local memory, or a register of the focused lane.  The
stop is after the instruction that touched it.  What cannot touch a watched place runs compiled:
that code tests its accesses, and leaves to the step engine what may touch one
(`gpudbg.sm.selection`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpudbg.debug.attached import Attached
from gpudbg.debug.breakpoints.watched import TOUCHED_BY, Watch, WatchKind, WatchTarget
from gpudbg.debug.focus.focus import first_lane
from gpudbg.debug.observing import subscribe, unsubscribe
from gpudbg.debug.stops.records import Trigger
from gpudbg.debug.values.access import read, resolve
from gpudbg.debug.values.context import SHARED_FILES, WarpContext
from gpudbg.debug.values.shared_registers import PREDICATE, UNIFORM
from gpudbg.debug.views.format import format_value
from gpudbg.errors import CommandError
from gpudbg.expr import evaluate, parse
from gpudbg.expr.evaluation import Place, Result
from gpudbg.expr.parser import NameNode
from gpudbg.expr.types import Array, Scalar
from gpudbg.mem.windows import RANK_SHIFT, WINDOW_BYTES
from gpudbg.sm.observer import Observer
from gpudbg.sm.residency.step import number_of
from gpudbg.sm.selection import ANY, NOTHING, SelectedRange, SelectedRegister, Selection

if TYPE_CHECKING:
    from gpudbg.debug.breakpoints.setting import Breakpoints
    from gpudbg.debug.breakpoints.table import Breakpoint
    from gpudbg.debug.inferior import Inferior
    from gpudbg.sm.launch import Dim
    from gpudbg.sm.state import WarpState

REGISTERS = ("register", "pair", "predicate", "flag", "cc", *SHARED_FILES)
_FILES = {
    "register": "registers",
    "pair": "registers",
    "predicate": "predicates",
    "flag": "cc",
    "cc": "cc",
    UNIFORM: "uniform",
    PREDICATE: "uniform_predicates",
}
"""Kind of place -> file of `SelectedRegister`."""
MAX_BYTES = 1 << 16


class Watchpoints(Attached["Inferior"], Observer):
    """The session's watchpoints at work; an observer only while one is enabled."""

    selects = True

    def __init__(self, inferior: Inferior, breakpoints: Breakpoints) -> None:
        super().__init__(inferior)
        self._breakpoints = breakpoints
        layout = inferior.grid.gpu.layout
        self._windows = {"shared": layout.shared_window, "local": layout.local_window}
        self._rows: list[Breakpoint] = []
        self._touched: dict[int, tuple[WarpState, int, int]] = {}
        self._owners: dict[int, WarpState] = {}
        self._pc = 0
        self._pcs: dict[tuple[int, int], int] = {}
        self._last: tuple[Trigger, ...] = ()
        self.notes: list[str] = []
        """Conditions that could not be computed at the last `met`."""

    # ---- setting -----------------------------------------------------------------------
    def add(
        self,
        expression: str,
        kind: WatchKind = "write",
        condition: str | None = None,
        temporary: bool = False,
    ) -> Breakpoint:
        """A watchpoint on the place an expression names in the focused lane.

        Raises:
            CommandError: the expression is not a place, or a register is to be watched for reads.
        """
        target, result = self._target(expression, kind)
        where = (_where(target),)
        row = self._breakpoints.add(expression, (), where, condition, temporary)
        warp = self._inferior.focused()
        assert result.place is not None
        row.watch = Watch(target, result.type, "", result.place, _stepped(expression, result.place))
        row.watch.old = self._value(row, warp)
        return row

    def _target(self, expression: str, kind: WatchKind) -> tuple[WatchTarget, Result]:
        inferior = self._inferior
        inferior.require_stopped()
        assert inferior.focus is not None
        focus = inferior.focus
        warp = inferior.focused()
        result = evaluate(parse(expression), WarpContext(inferior, warp))
        place = result.place
        if place is None or place.kind not in (*REGISTERS, "memory"):
            raise CommandError(
                f"cannot watch {expression}: it is a value, not a place",
                "watch a variable, an element, *(TYPE *)ADDRESS or a register",
            )
        mine = warp.cta.warps.index(warp)
        if place.kind != "memory":
            if kind != "write":
                raise CommandError("a register can only be watched for changes", "watch $R4")
            size = result.type.size
            return WatchTarget(kind, "register", 0, size, warp.cta.block, mine, focus.lane), result
        assert place.addresses is not None
        size = result.type.size
        if not result.valid[focus.lane] or not 0 < size <= MAX_BYTES:
            why = result.why or f"it has {size} bytes"
            raise CommandError(f"cannot watch {expression}: {why}")
        space, address = resolve(inferior, place.space, int(place.addresses[focus.lane]))
        if space not in ("global", "shared", "local"):
            raise CommandError(f"cannot watch {expression}: {space} memory is never written")
        block = None if space == "global" else warp.cta.block
        return WatchTarget(kind, space, address, size, block, mine, focus.lane), result

    # ---- running -----------------------------------------------------------------------
    def arm(self) -> bool:
        """Get ready for a run or step; whether anything is watched."""
        grid = self._inferior.grid
        self._rows = [r for r in self._breakpoints if r.enabled and r.watch is not None]
        self._touched, self._owners, self._last = {}, {}, ()
        listening = self in grid.gpu.observers.members
        if self._rows and not listening:
            subscribe(self._inferior, self)
        elif listening and not self._rows:
            unsubscribe(self._inferior, self)
        for row in self._rows:
            watch = _watch(row)
            owner = next((w for w in grid.warps() if watch.target.owned_by(w)), None)
            if owner is None:
                continue
            # The user may have written there since the last stop.
            watch.old = self._value(row, owner)
            if watch.target.space == "register":
                self._owners[row.number] = owner
        return bool(self._rows)

    def selection(self) -> Selection:
        """What is watched."""
        found = NOTHING
        for row in self._rows:
            owner = self._owners.get(row.number)
            target = _watch(row).target
            if target.space != "register":
                found = found.joined(_selected(target, self._inferior.grid.config.grid))
            elif owner is not None:
                found = found.joined(_selected_registers(_watch(row), owner))
        return found

    def instruction(self, warp: WarpState, pc: int, instruction: Any, lanes: int) -> None:
        """Remember the pc: at `met` the warp has moved on."""
        self._pc = self._pcs[warp.sm, warp.slot] = pc

    def access(
        self, warp: WarpState, space: str, kind: str, address: Any, lanes: int, size: int
    ) -> None:
        """Note which watchpoints an access touches, and by which lanes."""
        for row in self._rows:
            target = _watch(row).target
            if kind not in TOUCHED_BY[target.kind]:
                continue
            if space == "cluster" and target.space == "shared":
                found = lanes & _reaching(warp, address, size, target)
                if found:
                    self._touched[row.number] = (warp, found, self._pc)
            if space not in (target.space, "generic"):
                continue
            if not target.owned_by(warp):
                continue
            at = address
            if space == "generic" and target.space in self._windows:
                at = np.asarray(address, np.uint64) - np.uint64(self._windows[target.space])
            mask = lanes & 1 << target.lane if target.space == "local" else lanes
            found = mask & _overlapping(at, size, target)
            if found:
                self._touched[row.number] = (warp, found, self._pc)

    def met(self, warp: WarpState | None) -> bool:
        """After an instruction of `warp` (None: of several): whether a watchpoint stops the run."""
        if not self._touched and not self._owners:
            return False
        touched, self._touched = self._touched, {}
        for number, owner in self._owners.items():
            target = _watch_of(self._rows, number).target
            # A later block may be in its place.
            if (warp is None or owner is warp) and owner.cta.block == target.block:
                lanes = 1 << target.lane
                touched[number] = (owner, lanes, self._pcs.get((owner.sm, owner.slot), owner.pc))
        found = []
        self.notes = []
        for row in self._rows:
            if row.number in touched:
                trigger = self._trigger(row, *touched[row.number])
                if trigger is not None:
                    found.append(trigger)
        self._last = tuple(found)
        return bool(found)

    def take(self) -> tuple[Trigger, ...]:
        """What ended the last run or step; empty where it was something else, and the next time."""
        taken, self._last = self._last, ()
        return taken

    def restore(self, seen: tuple[Trigger, ...]) -> None:
        """Let `take` give back what it gave before."""
        self._last = seen

    @property
    def seen(self) -> bool:
        """Whether the last `met` was true and its triggers have not been taken yet."""
        return bool(self._last)

    @property
    def watched(self) -> bool:
        """Whether the present run watches anything."""
        return bool(self._rows)

    def _trigger(self, row: Breakpoint, warp: WarpState, lanes: int, at: int) -> Trigger | None:
        watch = _watch(row)
        old, new = watch.old, self._value(row, warp)
        watch.old = new
        if watch.target.kind == "write" and old == new:
            return None
        tested = self._breakpoints.test(row, warp, lanes)
        if not tested.stops:
            return None
        row.hits += 1
        if row.ignore > 0 and not tested.note:
            row.ignore -= 1
            return None
        lanes = tested.lanes or tested.failed
        if tested.note:
            self.notes.append(tested.note)
        symbols = self._inferior.symbols
        pc = symbols.offset(at)
        # Of lanes that write one word, the last one's value stands: it is the lane to look at.
        one_word = watch.target.kind == "write" and isinstance(watch.type, Scalar)
        lane = lanes.bit_length() - 1 if one_word else first_lane(lanes)
        who = (warp.sm, warp.slot, lane)
        place = symbols.place(symbols.pc(pc)).fields()
        return Trigger(row.number, row.location, watch.target.kind, old, new, pc, *who, **place)

    def _value(self, row: Breakpoint, warp: WarpState) -> str:
        watch = _watch(row)
        target = watch.target
        inferior = self._inferior
        if target.space == "register":
            result = evaluate(parse(row.location), WarpContext(inferior, warp))
            return _scalar_text(result.values[target.lane], result.type)
        home = _home(warp, target)
        raw = read(inferior, target.space, target.address, target.size, home, target.lane)
        if isinstance(watch.type, Array):
            element = watch.type.target
            if not isinstance(element, Scalar):
                return raw.hex(" ")
            values = np.frombuffer(raw, element.dtype)
            return "{" + ", ".join(_scalar_text(v, element) for v in values) + "}"
        if isinstance(watch.type, Scalar):
            return _scalar_text(np.frombuffer(raw, watch.type.dtype)[0], watch.type)
        return f"0x{int.from_bytes(raw, 'little'):x}"


def _watch(row: Breakpoint) -> Watch:
    assert row.watch is not None
    return row.watch


def _watch_of(rows: list[Breakpoint], number: int) -> Watch:
    return _watch(next(row for row in rows if row.number == number))


def _stepped(expression: str, place: Place) -> str:
    """Why compiled code cannot test whether a place is touched, or ""."""
    if place.kind == "memory":
        return ""
    if place.kind not in _FILES:
        return "waiting lanes change a convergence barrier"
    # What stands behind a `$` is no variable.
    if not isinstance(parse(expression), NameNode) or expression.strip()[:1] != "$":
        return "a variable is in a register here, and may be elsewhere at other instructions"
    return ""


def _selected(target: WatchTarget, grid: Dim) -> Selection:
    """The bytes that a target is about."""
    kinds = TOUCHED_BY[target.kind]
    cta = ANY if target.block is None else number_of(target.block, grid)
    warp = target.warp if target.space == "local" else ANY
    what = target.space, target.address, target.size, "load" in kinds, "store" in kinds
    return Selection((SelectedRange(*what, cta, warp),))


def _selected_registers(watch: Watch, owner: WarpState) -> Selection:
    """The registers that a watchpoint is about."""
    if watch.stepped:
        return Selection(stepped=watch.stepped)
    who, index = (owner.cta.number, owner.index), watch.place.index
    numbers = (index, index + 1) if watch.place.kind == "pair" else (index,)
    file = _FILES[watch.place.kind]
    return Selection((), tuple(SelectedRegister(file, n, *who) for n in numbers))


def _overlapping(address: Any, size: int, target: WatchTarget) -> int:
    """The lanes whose access of `size` bytes meets the watched bytes."""
    at = np.broadcast_to(np.asarray(address), (32,)).astype(np.uint64)
    low = np.uint64(max(target.address - size + 1, 0))
    high = np.uint64(target.address + target.size - 1)
    inside = (at >= low) & (at <= high)
    return int(np.packbits(inside, bitorder="little").view("<u4")[0])


def _reaching(warp: WarpState, address: Any, size: int, target: WatchTarget) -> int:
    """The lanes whose access to other blocks of the cluster meets the watched bytes."""
    at = np.broadcast_to(np.asarray(address), (32,)).astype(np.uint64)
    ctas = warp.cta.cluster.ctas
    ranks = [n for n, cta in enumerate(ctas) if cta.block == target.block]
    inside = np.isin(at >> np.uint64(RANK_SHIFT), ranks)
    lanes = int(np.packbits(inside, bitorder="little").view("<u4")[0])
    return lanes & _overlapping(at & np.uint64(WINDOW_BYTES - 1), size, target)


def _home(warp: WarpState, target: WatchTarget) -> WarpState:
    """A warp of the block whose shared memory is watched; the given one elsewhere."""
    if target.space != "shared" or warp.cta.block == target.block:
        return warp
    owners = (cta for cta in warp.cta.cluster.ctas if cta.block == target.block and cta.warps)
    return next((cta.warps[0] for cta in owners), warp)


def _where(target: WatchTarget) -> str:
    if target.space == "register":
        return f"warp {target.warp} lane {target.lane} of block {target.block}"
    owner = "" if target.block is None else f" of block {target.block}"
    if target.space == "local":
        owner = f" of warp {target.warp} lane {target.lane}{owner}"
    return f"{target.space} 0x{target.address:x}, {target.size} bytes{owner}"


def _scalar_text(value: Any, type_: Any) -> str:
    return format_value(value, getattr(type_, "kind", "u"), type_.size, None)
