"""Everything a fault, trap or deadlock card says, as frozen data.

Order of a card: what, where, who, the instruction with its operands, the address against the
nearest allocation, the lanes, the status words with how they are known, and causes in one
sentence each.  Frontends draw it; nothing here is about drawing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpudbg.dataclass import dataclass
from gpudbg.debug.stops.cards import ErrorCard, StopPlace, place_of, resident
from gpudbg.debug.stops.records import ErrorRecord
from gpudbg.debug.stops.stop import DeadlockStop, Stop, TrapStop
from gpudbg.debug.values.operands import OperandValue, operand_values
from gpudbg.errors import GpudbgError
from gpudbg.mem.device import unwrapped
from gpudbg.regs.esr import GlobalErrorStatus
from gpudbg.regs.explain import certainty_of
from gpudbg.regs.warp_errors import warp_error
from gpudbg.sm.reports import ADDRESS_BITS

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.sm.state import WarpState
    from gpudbg.symbols.listing import CodeLine

_ACCESS_TITLES = {
    "MMU_FAULT": "Out-of-range",
    "MMU_NACK": "Out-of-range",
    "OOR_ADDR": "Out-of-range",
    "MISALIGNED_ADDR": "Misaligned",
    "INVALID_ADDR_SPACE": "Wrong-space",
    "INVALID_CONST_ADDR": "Out-of-range constant",
    "INVALID_CONST_ADDR_LDC": "Out-of-range constant",
}
_TITLES = {
    "STACK_OVERFLOW": "Stack overflow",
    "STACK_ERROR": "Mangled divergence stack",
    "RET_EMPTY_STACK_ERROR": "Return without a call",
    "ILLEGAL_INSTR_ENCODING": "Illegal instruction",
    "PC_OVERFLOW": "Jump outside the code",
    "PC_WRAP": "Jump outside the code",
    "MISALIGNED_PC": "Jump to a misaligned address",
    "OOR_REG": "Register out of range",
    "MISALIGNED_REG": "Misaligned register",
}
_CUDA_GDB = {
    "MMU_FAULT": "CUDA_EXCEPTION_14, Warp Illegal Address",
    "MMU_NACK": "CUDA_EXCEPTION_14, Warp Illegal Address",
    "OOR_ADDR": "CUDA_EXCEPTION_5, Warp Out-of-range Address",
    "MISALIGNED_ADDR": "CUDA_EXCEPTION_6, Warp Misaligned Address",
    "ILLEGAL_INSTR_ENCODING": "CUDA_EXCEPTION_4, Warp Illegal Instruction",
    "STACK_OVERFLOW": "CUDA_EXCEPTION_9, Warp Hardware Stack Overflow",
    "PC_OVERFLOW": "CUDA_EXCEPTION_8, Warp Invalid PC",
    "PC_WRAP": "CUDA_EXCEPTION_8, Warp Invalid PC",
    "MISALIGNED_PC": "CUDA_EXCEPTION_8, Warp Invalid PC",
    "INVALID_ADDR_SPACE": "CUDA_EXCEPTION_7, Warp Invalid Address Space",
}
"""Warp error -> the exception cuda-gdb's manual lists for it; the pairing is *inferred*."""

MIN_ARGUMENT = 64
"""Scalars below this explain any address by chance and are not named as a cause."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """The memory next to a faulting address: its name, range, and by how much it was missed.

    `side` is before, after or inside; `gap` the bytes between; `space` where it is.
    """

    name: str
    base: int
    size: int
    side: str
    gap: int
    elements: str = ""
    space: str = "global"


@dataclass(frozen=True, slots=True)
class StatusWord:
    """A status register as the fault would set it; `mark` says how that is known."""

    name: str
    value: int
    text: str
    mark: str


@dataclass(frozen=True, slots=True)
class FaultCard:
    """One fault, trap or deadlock and its place; masks are lane masks."""

    place: StopPlace
    title: str
    what: str
    number: int = 1
    total: int = 1
    guilty: int = 0
    active: int = 0
    exited: int = 0
    valid: int = 0xFFFFFFFF
    before: CodeLine | None = None
    operands: tuple[OperandValue, ...] = ()
    address_operand: str = ""
    address: int | None = None
    sum: str = ""
    nearest: Nearest | None = None
    lane_words: str = ""
    status: tuple[StatusWord, ...] = ()
    cuda_gdb: str = ""
    why: tuple[str, ...] = ()


def fault_card(session: DebugSession, stop: Stop, number: int = 0) -> FaultCard | None:
    """The card of a stop's error `number`, its trap or its deadlock; None for other stops."""
    if stop.errors:
        return _error_card(session, stop, min(number, len(stop.errors) - 1))
    if isinstance(stop, TrapStop | DeadlockStop) and stop.pc is not None:
        return _stop_card(session, stop)
    return None


def title(error: ErrorRecord) -> str:
    """`Out-of-range store`: what happened, as a noun phrase."""
    if error.name in _ACCESS_TITLES and error.access:
        return f"{_ACCESS_TITLES[error.name]} {error.access}"
    return _TITLES.get(error.name, error.name.replace("_", " ").capitalize())


def _stop_card(session: DebugSession, stop: Stop) -> FaultCard:
    assert stop.pc is not None
    place = place_of(session, stop)
    warp = resident(session, place.sm, place.warp)
    trap = isinstance(stop, TrapStop)
    why = _trap_why(session, warp) if trap else tuple(stop.detail)
    inside = warp is not None and warp.in_trap
    return FaultCard(
        place=place,
        title=("Trap handler" if inside else "Trap") if trap else "Deadlock",
        what=(place.code.text if place.code else "") if trap else "no warp can go on",
        guilty=warp.active if warp is not None and trap and not inside else 0,
        active=warp.active if warp is not None else 0,
        exited=warp.exited if warp is not None else 0,
        valid=warp.valid if warp is not None else 0,
        operands=operand_values(session, warp, place.lane, place.pc) if warp is not None else (),
        lane_words=_trap_lanes(warp) if warp is not None and trap and not inside else "",
        status=(_live_status(session, warp) or ()) if trap else (),
        why=why,
    )


def _trap_why(session: DebugSession, warp: WarpState | None) -> tuple[str, ...]:
    if warp is None or not warp.in_trap:
        return ("BPT stops the machine; continuing resumes after it.",)
    state = session.grid.traps.state(warp)
    where = session.symbols.describe_line(state["saved_pc"])
    return (
        f"The warp has entered the trap handler because of {state['cause']}.",
        f"It was interrupted at {where}; `finish` runs the handler to its return.",
    )


def _trap_lanes(warp: WarpState) -> str:
    count = warp.active.bit_count()
    return f"{count} of {warp.valid.bit_count()} lanes trap"


def _error_card(session: DebugSession, stop: Stop, number: int) -> FaultCard:
    found = ErrorCard.of(session, stop.errors[number])
    error, place = found.error, found.place
    warp = resident(session, place.sm, place.warp)
    operands = operand_values(session, warp, place.lane, place.pc) if warp is not None else ()
    nearest = _nearest(session, error, warp)
    guilty = sum(1 << n for n in error.lanes)
    base = next((o.name for o in operands if o.kind == "address"), "")
    sum_text, cause = _explain(session, error, nearest)
    around = session.symbols.around(place.pc, 1, 0)
    return FaultCard(
        place=place,
        title=title(error),
        what=_what(error),
        number=number + 1,
        total=len(stop.errors),
        guilty=guilty,
        active=warp.active if warp is not None else guilty,
        exited=warp.exited if warp is not None else 0,
        valid=warp.valid if warp is not None else 0xFFFFFFFF,
        before=around[0] if len(around) == 2 else None,
        operands=operands,
        address_operand=base,
        address=error.address,
        sum=sum_text,
        nearest=nearest,
        lane_words=_lane_words(error, warp),
        status=_status(session, error, warp),
        cuda_gdb=_CUDA_GDB.get(error.name, ""),
        why=(*cause, *found.stack),
    )


def _what(error: ErrorRecord) -> str:
    if error.space is None:
        row = warp_error(error.name)
        return row.meaning if row is not None else error.detail
    size = f", {error.size} bytes" if error.size else ""
    return f"{error.space} memory{size}"


def _lane_words(error: ErrorRecord, warp: WarpState | None) -> str:
    verb = {"load": "loads", "store": "stores", "atomic": "adds"}.get(error.access or "", "faults")
    lanes = list(error.lanes)
    if len(lanes) == 1:
        words = f"lane {lanes[0]} {verb}"
    else:
        from gpudbg.answers.words import lane_list

        words = f"lanes {lane_list(sum(1 << n for n in lanes))} fault"
    if warp is None:
        return words
    others = warp.valid & ~sum(1 << n for n in lanes)
    good = (others & warp.active).bit_count()
    exited = (others & warp.exited).bit_count()
    parked = others.bit_count() - good - exited
    parts = [(good, "are in range"), (parked, "are parked"), (exited, "have ended")]
    return "; ".join([words, *(f"{n} {w}" for n, w in parts if n)])


def _status(
    session: DebugSession, error: ErrorRecord, warp: WarpState | None
) -> tuple[StatusWord, ...]:
    """The words a trap handler reads: live while the warp has them, else as they would be."""
    arch = session.grid.gpu.arch
    whole = int(GlobalErrorStatus.SINGLE_WARP_ERROR)
    own = f"Warp Errors = 0x{error.code:02x} {error.name}"
    words = (
        _word("SR_GlobalErrorStatus", whole, "Single Warp Error", arch),
        _word("SR_WarpErrorStatus", error.code, own, arch),
    )
    live = _live_status(session, warp)
    if live is None:
        return words
    return tuple(w if w.value == now.value else now for w, now in zip(words, live, strict=True))


def _word(name: str, value: int, text: str, arch: str) -> StatusWord:
    """A status word with the mark that the table of registers gives its fields."""
    return StatusWord(name, value, text, str(certainty_of(name, value, arch)))


def _live_status(
    session: DebugSession, warp: WarpState | None
) -> tuple[StatusWord, StatusWord] | None:
    """Both status words as they stand; None where the warp's own is clear."""
    unit, arch = session.grid.traps, session.grid.gpu.arch
    if warp is None or not unit.warp_status(warp):
        return None
    from gpudbg.debug.views.traps import brief

    one, two = "SR_GlobalErrorStatus", "SR_WarpErrorStatus"
    whole, own = unit.global_status(session.grid.sms[warp.sm]), unit.warp_status(warp)
    return (
        _word(one, whole, brief(one, whole, arch), arch),
        _word(two, own, brief(two, own, arch), arch),
    )


def _nearest(session: DebugSession, error: ErrorRecord, warp: WarpState | None) -> Nearest | None:
    if error.address is None:
        return None
    if error.space == "global":
        found = session.grid.gpu.memory.nearest(error.address)
        if found is None:
            return None
        name, elements = _owner(session, found.base)
        return _gap(name or found.name, found.base, found.size, error.address, elements)
    if error.space == "shared" and warp is not None:
        size = len(warp.cta.shared.data)
        address = unwrapped(error.address, size, ADDRESS_BITS)
        return _gap("shared memory of the block", 0, size, address, "", "shared")
    if error.space == "local" and warp is not None and warp.local.high:
        local = warp.local
        return _gap("the thread's stack", local.start, local.high, error.address, "", "local")
    return None


def _gap(
    name: str, base: int, size: int, address: int, elements: str, space: str = "global"
) -> Nearest:
    if address < base:
        return Nearest(name, base, size, "before", base - address, elements, space)
    if address >= base + size:
        return Nearest(name, base, size, "after", address - base - size, elements, space)
    return Nearest(name, base, size, "inside", address - base, elements, space)


def _owner(session: DebugSession, base: int) -> tuple[str, str]:
    """(`p`, `64 x i32`) for a buffer argument; empty for other memory."""
    for a in session.launch.arguments:
        if a.buffer is not None and a.buffer.address == base:
            array = a.buffer.array()
            return a.name, f"{array.size:,} x {array.dtype.kind}{array.dtype.itemsize * 8}"
    return "", ""


def _explain(
    session: DebugSession, error: ErrorRecord, nearest: Nearest | None
) -> tuple[str, tuple[str, ...]]:
    """The address as a sum of arguments where one fits exactly, and causes in sentences."""
    why: list[str] = [error.detail] if error.detail else []
    if error.address is None or nearest is None:
        return "", tuple(why)
    if error.space == "local":
        return "", tuple(why)
    if error.space != "global":
        if nearest.side == "after" and nearest.size:
            why.append(f"The last byte of {nearest.name} is 0x{nearest.size - 1:x}.")
        if nearest.side == "after" and error.space == "shared":
            why += _dynamic_words(session, nearest)
        if nearest.side == "before":
            why.append(f"0x{error.address:x} is {-nearest.gap:,} as a signed number.")
        return "", tuple(why)
    arguments = session.launch.arguments
    for a in arguments:
        if a.buffer is None or a.buffer.address != nearest.base:
            continue
        distance = error.address - a.buffer.address
        item = a.buffer.array().dtype.itemsize
        text, sentences = _as_sum(session, a.name, distance, item)
        if error.name == "MISALIGNED_ADDR":
            return f"{a.name} + {distance:,} bytes", tuple(why)
        if not text and distance % item == 0:
            text = f"{a.name}[{distance // item}]"
            sentences = [f"The largest index of {a.name} is {a.buffer.array().size - 1:,}."]
        return text, (*why, *sentences)
    return "", tuple(why)


def _dynamic_words(session: DebugSession, nearest: Nearest) -> list[str]:
    """How much of a block's shared memory the launch gave, where the kernel may want more."""
    fixed = session.kernel.shared_static_bytes
    given = nearest.size - fixed
    if given < 0 or (fixed and not given):
        return []
    first = f"{given:,} bytes of it are" if given else "No byte of it is"
    return [
        f"{first} the launch's for `extern __shared__`: --shared N, or shared_bytes in the launch "
        "table, gives more."
    ]


def _as_sum(session: DebugSession, name: str, distance: int, item: int) -> tuple[str, list[str]]:
    """`p + 4*far` where a scalar argument explains the distance exactly."""
    for number, a in enumerate(session.launch.arguments):
        if a.buffer is not None or not isinstance(a.value, int | np.integer):
            continue
        value = int(a.value)
        if abs(value) < MIN_ARGUMENT:
            continue
        for factor in (item, 1):
            if value * factor == distance:
                scale = f"{factor}*" if factor > 1 else ""
                last = _last_index(session, name)
                return f"{name} + {scale}{a.name}", [
                    f"The distance equals argument {number} = {value:,}"
                    + (f" times {factor}" if factor > 1 else "")
                    + f"; the largest index in range is {last:,}."
                ]
    return "", []


def _last_index(session: DebugSession, name: str) -> int:
    try:
        return int(session.buffer(name).size) - 1
    except GpudbgError:
        return -1
