"""Watch targets: the place named by an expression, resolved once when the watchpoint is set."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from gpudbg.debug.breakpoints.watched import WatchKind, WatchTarget
from gpudbg.debug.values.access import banked, resolve
from gpudbg.debug.values.backtrace import frames
from gpudbg.debug.values.context import SHARED_FILES, WarpContext
from gpudbg.debug.values.shared_registers import BARRIER, PREDICATE, UNIFORM
from gpudbg.errors import CommandError
from gpudbg.expr import evaluate, parse
from gpudbg.expr.parser import NameNode
from gpudbg.regs.special import SPECIAL_REGISTERS
from gpudbg.sm.residency.step import number_of
from gpudbg.sm.selection import (
    ANY,
    EVERY,
    SPECIAL,
    SelectedConstant,
    SelectedRange,
    SelectedRegister,
    Selection,
)
from gpudbg.sm.sregs import CHANGING, CLEARED, CLOCKS

if TYPE_CHECKING:
    from gpudbg.debug.breakpoints.watched import Watch
    from gpudbg.debug.inferior import Inferior
    from gpudbg.expr.evaluation import Place, Result
    from gpudbg.sm.launch import Dim
    from gpudbg.sm.state import WarpState

MAX_BYTES: Final = 1 << 16
_FILES: Final = {
    "register": "registers",
    "pair": "registers",
    "apart": "registers",
    "predicate": "predicates",
    "flag": "cc",
    "cc": "cc",
    UNIFORM: "uniform",
    PREDICATE: "uniform_predicates",
    BARRIER: "barriers",
}
"""Kind of place -> file of `SelectedRegister`."""
assert _FILES.keys() >= set(SHARED_FILES)


def target_of(inferior: Inferior, expression: str, kind: WatchKind) -> tuple[WatchTarget, Result]:
    """The place that an expression names in the focused lane, and its value.

    Raises:
        CommandError: it is not a place, or one that nothing touches in this way.
    """
    inferior.require_stopped()
    assert inferior.focus is not None
    warp = inferior.focused()
    result = evaluate(parse(expression), WarpContext(inferior, warp, inferior.frame_level))
    place = result.place
    if place is None and (frame := _not_yet(inferior, expression, warp)) is not None:
        lane, size = inferior.focus.lane, result.type.size
        whose = WatchTarget(kind, "register", 0, size, warp.cta.block, warp.index, lane)
        return replace(whose, frame=frame), result
    if place is None or place.kind not in (*_FILES, SPECIAL, "memory"):
        raise CommandError(
            f"cannot watch {expression}: it is a value, not a place",
            "watch a variable, an element, *(TYPE *)ADDRESS or a register",
        )
    if place.kind == "memory":
        return _memory(inferior, expression, kind, result, warp), result
    size, lane = result.type.size, inferior.focus.lane
    whose = WatchTarget(kind, "register", 0, size, warp.cta.block, warp.index, lane)
    if place.kind == SPECIAL:
        _check_special(expression, kind, place.index, inferior.program.arch)
        numbers = tuple((SPECIAL, place.index + n) for n in range(max(size // 4, 1)))
        return replace(whose, space=SPECIAL, registers=numbers), result
    registers = tuple((_FILES[place.kind], number) for number in numbers_of(place))
    return replace(whose, registers=registers, frame=_frame(inferior, expression, warp)), result


def numbers_of(place: Place) -> tuple[int, ...]:
    """Register numbers of a place; 0 stands for the condition code."""
    if place.kind in ("cc", "flag"):
        return (0,)
    if place.kind == "pair":
        return place.index, place.index + 1
    if place.kind == "apart":
        return place.index, int(place.name.removeprefix("R"))
    return (place.index,)


def registers_of(place: Place | None) -> tuple[tuple[str, int], ...]:
    """(register file, number) of each register of a place; empty for other kinds of place."""
    if place is None or place.kind not in _FILES:
        return ()
    return tuple((_FILES[place.kind], number) for number in numbers_of(place))


def _check_special(expression: str, kind: WatchKind, number: int, arch: str) -> None:
    """Refuse a special register whose watchpoint could never be met, or would stop at each
    instruction.
    """
    name = SPECIAL_REGISTERS[number].nvdisasm or expression
    if kind == "store":
        raise CommandError(
            f"cannot watch {expression}: no instruction writes {name}", f"rwatch {expression}"
        )
    if kind != "write":
        return
    if number in CLOCKS:
        raise CommandError(
            f"cannot watch {expression}: {name} counts instructions, each one changes it",
            f"`rwatch {expression}` stops where it is read; `goto TICK` goes to a time",
        )
    # From sm_70 on this number names another register, one that belongs to the SM.
    cleared = number == CLEARED and arch < "sm_7"
    if number not in CHANGING and not cleared:
        raise CommandError(
            f"cannot watch {expression}: {name} stays as it is while a warp runs",
            f"`rwatch {expression}` stops where it is read",
        )


def _frame(inferior: Inferior, expression: str, warp: WarpState) -> tuple[int, str] | None:
    """Where the expression is a variable: number of frames outside its own, and its function; None
    for registers (`$R4`).
    """
    # A name after `$` is a register or convenience variable, never a variable of the program.
    if isinstance(parse(expression), NameNode) and expression.strip()[:1] == "$":
        return None
    rows = frames(inferior, warp)
    own = rows[min(inferior.frame_level, len(rows) - 1)]
    return len(rows) - 1 - own.level, own.function


def _not_yet(inferior: Inferior, expression: str, warp: WarpState) -> tuple[int, str] | None:
    """The frame of a variable that has a register elsewhere in its function but none at this
    instruction; None otherwise.
    """
    known = WarpContext(inferior, warp, inferior.frame_level).variables()
    rows = () if known is None else (variable for variable, _ in known.variables())
    found = next((row for row in rows if row.name == expression.strip()), None)
    return _frame(inferior, expression, warp) if found is not None and found.registers else None


def _memory(
    inferior: Inferior, expression: str, kind: WatchKind, result: Result, warp: WarpState
) -> WatchTarget:
    place, size, lane = result.place, result.type.size, inferior.lane
    assert place is not None
    assert place.addresses is not None
    if not result.valid[lane] or not 0 < size <= MAX_BYTES:
        why = result.why or f"it has {size} bytes"
        raise CommandError(f"cannot watch {expression}: {why}")
    bits, at = place.bits, int(place.addresses[lane])
    if bits is not None:
        # The bytes that hold part of the bit-field: stores to other bytes of its word touch only
        # neighbours.
        first, end = bits[0] // 8, (bits[0] + bits[1] + 7) // 8
        at, size, bits = at + first, end - first, (bits[0] - 8 * first, bits[1])
    space, address = resolve(inferior, place.space, at)
    if space in ("bank", "const"):
        return replace(_constant(expression, kind, address, size), bits=bits)
    if space not in ("global", "shared", "local"):
        raise CommandError(f"cannot watch {expression}: {space} memory is never written")
    block = None if space == "global" else warp.cta.block
    target = WatchTarget(kind, space, address, size, block, warp.index, lane, bits=bits)
    bank = banked(inferior, address) if space == "global" and kind in ("read", "access") else None
    return target if bank is None else replace(target, constant=SelectedConstant(*bank, size))


def _constant(expression: str, kind: WatchKind, address: int, size: int) -> WatchTarget:
    if kind in ("write", "store"):
        raise CommandError(
            f"cannot watch {expression}: no instruction writes this constant bank",
            f"`rwatch {expression}` stops where it is read",
        )
    bank, offset = address >> 32, address & 0xFFFFFFFF
    constant = SelectedConstant(bank, offset, size)
    return WatchTarget(kind, "constant", address, size, constant=constant)


# ---- what observers select ---------------------------------------------------------------
def selected(target: WatchTarget, kinds: tuple[str, ...], grid: Dim) -> Selection:
    """The memory that a target covers, for the machine's access filter."""
    constants = () if target.constant is None else (target.constant,)
    if target.space == "constant":
        return Selection(constants=constants)
    cta = ANY if target.block is None else number_of(target.block, grid)
    warp = target.warp if target.space == "local" else ANY
    what = target.space, target.address, target.size, "load" in kinds, "store" in kinds
    return Selection((SelectedRange(*what, cta, warp),), constants=constants)


def selected_registers(watch: Watch, owner: WarpState) -> Selection:
    """The registers that a target covers, for the machine's access filter."""
    target, who = watch.target, (owner.cta.number, owner.index)
    if target.stepped:
        return Selection((), (SelectedRegister(EVERY, 0, *who),))
    reads, writes = target.kind in ("read", "access"), target.kind != "read"
    return Selection(
        (), tuple(SelectedRegister(*at, *who, reads, writes) for at in target.registers)
    )
