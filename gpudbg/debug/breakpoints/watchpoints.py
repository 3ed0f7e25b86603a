"""Watchpoints: stop where a place is changed, read or written.

    watch bins[3]                 when a store or an atomic changes it
    watch -store bins[3]          when one writes it, the same value too
    rwatch *(@shared int*)0x20    when it is read           awatch …   read or written
    watch $R4                     when it changes in the focused lane
    rwatch c[0x0][0x148]          when an instruction reads this constant
    rwatch %tid.x                 when the focused warp reads the special register

A watched place is fixed when the watchpoint is set: an address of device memory, of the focused
CTA's shared memory, of the focused thread's local memory, a register of the focused lane, or a
constant.  A variable that is in registers is looked for anew at each instruction of its frame.
The stop is after the instruction that touched it.  What cannot touch a watched place runs compiled:
that code tests its accesses, and leaves to the step engine what may touch one
(`gpudbg.sm.selection`).  A watchpoint on variables of a frame ends with that
(`gpudbg.debug.breakpoints.watch_scopes`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpudbg.debug.attached import Attached
from gpudbg.debug.breakpoints.targets import (
    registers_of,
    selected,
    selected_registers,
    target_of,
)
from gpudbg.debug.breakpoints.touched_lanes import overlapping, reaching, reading, using
from gpudbg.debug.breakpoints.watch_scopes import scope_of
from gpudbg.debug.breakpoints.watched import TOUCHED_BY, Watch, WatchKind, WatchTarget
from gpudbg.debug.focus.focus import first_lane
from gpudbg.debug.observing import subscribe, unsubscribe
from gpudbg.debug.stops.records import Trigger
from gpudbg.debug.values.access import read
from gpudbg.debug.values.backtrace import frames
from gpudbg.debug.values.context import WarpContext
from gpudbg.debug.views.aggregates import data_text
from gpudbg.errors import CommandError
from gpudbg.expr import evaluate, parse
from gpudbg.expr.evaluation import OPTIMIZED_OUT
from gpudbg.expr.types import Pointer, Scalar, bit_field
from gpudbg.sm.asynchronous.events import issuer
from gpudbg.sm.observer import Observer
from gpudbg.sm.selection import LEAVING, NOTHING, Selection

if TYPE_CHECKING:
    from gpudbg.debug.breakpoints.setting import Breakpoints
    from gpudbg.debug.breakpoints.table import Breakpoint
    from gpudbg.debug.inferior import Inferior
    from gpudbg.expr.evaluation import Result
    from gpudbg.sm.state import WarpState


class Watchpoints(Attached["Inferior"], Observer):
    """The watchpoints of a session; attached as an observer only while one is enabled."""

    selects = True

    def __init__(self, inferior: Inferior, breakpoints: Breakpoints) -> None:
        super().__init__(inferior)
        self._breakpoints = breakpoints
        layout = inferior.grid.gpu.layout
        self._windows = {"shared": layout.shared_window, "local": layout.local_window}
        self._rows: list[Breakpoint] = []
        self._touched: dict[int, tuple[WarpState, int, int]] = {}
        self._owners: dict[int, WarpState] = {}
        self._scopes: dict[int, WarpState] = {}
        self._leaving: dict[WarpState, int] = {}
        self._pc = self._issuer = 0
        self._pcs: dict[tuple[int, int], int] = {}
        self._last: tuple[Trigger, ...] = ()
        self.notes: list[str] = []
        """Conditions that could not be evaluated in the last call of `met`."""

    # ---- setting -----------------------------------------------------------------------
    def add(
        self,
        expression: str,
        kind: WatchKind = "write",
        condition: str | None = None,
        temporary: bool = False,
        stays: bool = False,
    ) -> Breakpoint:
        """Set a watchpoint on the place that an expression names in the focused lane.

        Args:
            stays: it watches the place after the frame of the expression's variables is left.

        Raises:
            CommandError: the expression is not a place, or one that nothing touches so.
        """
        target, result = target_of(self._inferior, expression, kind)
        where = (_where(target),)
        row = self._breakpoints.add(expression, (), where, condition, temporary)
        warp = self._inferior.focused()
        row.watch = Watch(target, result.type, "")
        if not stays:
            variable = target.frame is not None
            row.watch.scope = scope_of(self._inferior, expression, variable)
        row.watch.old = self._value(row, warp) or OPTIMIZED_OUT
        return row

    def forget_frames(self) -> None:
        """Delete watchpoints bound to frames: a new launch has none of their calls."""
        for row in self._breakpoints:
            if row.watch is not None and row.watch.scope is not None:
                self._breakpoints.remove(row.number)

    # ---- running -----------------------------------------------------------------------
    def arm(self) -> bool:
        """Prepare for a run or step: read the watched values. Returns whether anything is
        watched.
        """
        grid = self._inferior.grid
        self._rows = [r for r in self._breakpoints if r.enabled and r.watch is not None]
        self._touched, self._owners, self._last = {}, {}, ()
        self._scopes, self._leaving = {}, {}
        listening = self in grid.gpu.observers.members
        if self._rows and not listening:
            subscribe(self._inferior, self)
        elif listening and not self._rows:
            unsubscribe(self._inferior, self)
        for row in self._rows:
            watch = _watch(row)
            within = None if watch.scope is None else watch.scope.owner(grid)
            if within is not None:
                self._scopes[row.number] = within
            owner = next((w for w in grid.warps() if watch.target.owned_by(w)), None)
            if owner is None:
                continue
            # Read anew: the user may have written to the place since the last stop.
            value = self._value(row, owner)
            watch.old = watch.old if value is None else value
            if watch.target.in_registers:
                self._owners[row.number] = owner
        return bool(self._rows)

    def selection(self) -> Selection:
        """The accesses that the machine must report for the enabled watchpoints."""
        found = NOTHING
        for row in self._rows:
            owner = self._owners.get(row.number)
            target, scope = _watch(row).target, _watch(row).scope
            if scope is not None and row.number in self._scopes:
                found = found.joined(Selection((), (scope.selected(self._scopes[row.number]),)))
            if not target.in_registers:
                kinds = TOUCHED_BY[target.kind]
                found = found.joined(selected(target, kinds, self._inferior.grid.config.grid))
            elif owner is not None:
                found = found.joined(selected_registers(_watch(row), owner))
        return found

    def instruction(self, warp: WarpState, pc: int, instruction: Any, lanes: int) -> None:
        """Note the pc, since at `met` the warp has moved on, and the instruction's own register
        accesses.
        """
        self._pc = self._pcs[warp.sm, warp.slot] = pc
        self._issuer = issuer(instruction.op, lanes)
        if self._scopes and instruction.op in LEAVING:
            self._leaving[warp] = pc
        for row in self._rows:
            target = _watch(row).target
            found = 0
            if target.constant is not None:
                found = reading(target.constant, warp, instruction, lanes)
            elif target.in_registers and target.kind != "write" and target.owned_by(warp):
                registers = target.registers
                if target.frame is not None:
                    now = self._variable(row, warp)
                    registers = registers_of(None if now is None else now.place)
                found = using(target, registers, warp, instruction, lanes)
            if found:
                self._touched[row.number] = (warp, found, pc)

    def access(
        self, warp: WarpState, space: str, kind: str, address: Any, lanes: int, size: int
    ) -> None:
        """Note which watchpoints an access touches, and by which lanes."""
        for row in self._rows:
            target = _watch(row).target
            if kind not in TOUCHED_BY[target.kind]:
                continue
            if space == "cluster" and target.space == "shared":
                found = lanes & reaching(warp, address, size, target)
                if found:
                    self._touched[row.number] = (warp, self._issuer or found, self._pc)
            if target.in_registers or space not in (target.space, "generic"):
                continue
            if not target.owned_by(warp):
                continue
            at = address
            if space == "generic" and target.space in self._windows:
                at = np.asarray(address, np.uint64) - np.uint64(self._windows[target.space])
            mask = lanes & 1 << target.lane if target.space == "local" else lanes
            found = mask & overlapping(at, size, target)
            if found:
                self._touched[row.number] = (warp, self._issuer or found, self._pc)

    def met(self, warp: WarpState | None) -> bool:
        """After an instruction of `warp` (None: of several): whether a watchpoint stops the run."""
        if not self._touched and not self._owners and not self._leaving:
            return False
        left = self._scopes_left()
        touched, self._touched = self._touched, {}
        for number, owner in self._owners.items():
            target = _watch_of(self._rows, number).target
            if target.kind != "write":
                continue
            # The slot may by now hold a warp of a later block.
            if (warp is None or owner is warp) and owner.cta.block == target.block:
                lanes = 1 << target.lane
                touched[number] = (owner, lanes, self._pcs.get((owner.sm, owner.slot), owner.pc))
        found = list(left.values())
        self.notes = []
        for row in self._rows:
            if row.number in touched and row.number not in left:
                trigger = self._trigger(row, *touched[row.number])
                if trigger is not None:
                    found.append(trigger)
        self._last = tuple(found)
        return bool(found)

    def take(self) -> tuple[Trigger, ...]:
        """The triggers that ended the last run or step, handed out once; empty where something else
        ended it.
        """
        taken, self._last = self._last, ()
        return taken

    def restore(self, seen: tuple[Trigger, ...]) -> None:
        """Put triggers back, so that the next `take` returns them."""
        self._last = seen

    @property
    def seen(self) -> bool:
        """Whether the last `met` was true and its triggers have not been taken yet."""
        return bool(self._last)

    @property
    def watched(self) -> bool:
        """Whether the present run watches anything."""
        return bool(self._rows)

    def _scopes_left(self) -> dict[int, Trigger]:
        """Triggers of watchpoints whose frame has been left since the last look."""
        leaving, self._leaving = self._leaving, {}
        found = {}
        for number, owner in self._scopes.items() if leaving else ():
            watch = _watch_of(self._rows, number)
            scope = watch.scope
            assert scope is not None
            if owner in leaving and scope.left(self._inferior, owner):
                row = next(row for row in self._rows if row.number == number)
                row.hits += 1
                found[number] = self._trigger_of(row, owner, scope.lane, leaving[owner], watch.old)
        for number in found:
            del self._scopes[number]
            self._owners.pop(number, None)
        return found

    def _trigger_of(
        self, row: Breakpoint, warp: WarpState, lane: int, at: int, old: str, new: str | None = None
    ) -> Trigger:
        """The trigger record for a watchpoint; without `new` it says that the frame was left."""
        symbols = self._inferior.symbols
        pc = symbols.offset(at)
        who = (warp.sm, warp.slot, lane)
        place = symbols.place(symbols.pc(pc)).fields()
        over = new is None
        values = (old, old if new is None else new)
        kind = _watch(row).target.kind
        return Trigger(row.number, row.location, kind, *values, pc, *who, **place, over=over)

    def _trigger(self, row: Breakpoint, warp: WarpState, lanes: int, at: int) -> Trigger | None:
        watch = _watch(row)
        old, new = watch.old, self._value(row, warp)
        if new is None:
            # The variable has no place at this instruction.
            if watch.target.kind == "write":
                return None
            new = old
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
        # Of several lanes that write one word the last one's value stands: report that lane.
        one_word = watch.target.kind == "write" and isinstance(watch.type, Scalar)
        lane = lanes.bit_length() - 1 if one_word else first_lane(lanes)
        return self._trigger_of(row, warp, lane, at, old, new)

    def _variable(self, row: Breakpoint, warp: WarpState) -> Result | None:
        """The value of a variable in registers, in its own frame; None outside it or where it has
        no place.
        """
        target = _watch(row).target
        assert target.frame is not None
        rows = frames(self._inferior, warp)
        outside, function = target.frame
        level = len(rows) - 1 - outside
        if level < 0 or rows[level].function != function:
            return None
        try:
            result = evaluate(parse(row.location), WarpContext(self._inferior, warp, level))
        except CommandError:
            return None
        return result if result.valid[target.lane] else None

    def _value(self, row: Breakpoint, warp: WarpState) -> str | None:
        """The present value as text; None where a variable has none at this instruction."""
        watch = _watch(row)
        target = watch.target
        inferior = self._inferior
        if target.frame is not None:
            found = self._variable(row, warp)
            return None if found is None else _register_text(found.values[target.lane], found.type)
        if target.in_registers:
            result = evaluate(parse(row.location), WarpContext(inferior, warp))
            return _register_text(result.values[target.lane], result.type)
        home = _home(warp, target)
        space = "bank" if target.space == "constant" else target.space
        raw = read(inferior, space, target.address, target.size, home, target.lane)
        return _text(
            watch.type, raw if target.bits is None else _field(watch.type, raw, target.bits)
        )


def _watch(row: Breakpoint) -> Watch:
    assert row.watch is not None
    return row.watch


def _watch_of(rows: list[Breakpoint], number: int) -> Watch:
    return _watch(next(row for row in rows if row.number == number))


def _home(warp: WarpState, target: WatchTarget) -> WarpState:
    """A warp of the block whose shared memory is watched, to read it by; for other targets the
    given warp.
    """
    if target.space != "shared" or warp.cta.block == target.block:
        return warp
    owners = (cta for cta in warp.cta.cluster.ctas if cta.block == target.block and cta.warps)
    return next((cta.warps[0] for cta in owners), warp)


def _where(target: WatchTarget) -> str:
    if target.in_registers:
        return f"warp {target.warp} lane {target.lane} of block {target.block}"
    if target.space == "constant":
        bank, offset = target.address >> 32, target.address & 0xFFFFFFFF
        return f"c[0x{bank:x}][0x{offset:x}], {target.size} bytes"
    owner = "" if target.block is None else f" of block {target.block}"
    if target.space == "local":
        owner = f" of warp {target.warp} lane {target.lane}{owner}"
    return f"{target.space} 0x{target.address:x}, {target.size} bytes{owner}"


def _field(type_: Scalar, raw: bytes, bits: tuple[int, int]) -> bytes:
    """The bits of a bit-field, shifted down to a number of its type."""
    number = bit_field(int.from_bytes(raw, "little"), bits, type_.kind == "i")
    return (number & (1 << 8 * type_.size) - 1).to_bytes(type_.size, "little")


def _register_text(value: Any, type_: Any) -> str:
    return _text(type_, np.asarray(value).tobytes().ljust(type_.size, b"\0"))


def _text(type_: Any, raw: bytes) -> str:
    """A value as gdb prints it."""
    words = data_text(type_, raw)
    return f"({type_}) {words}" if isinstance(type_, Pointer) else words
