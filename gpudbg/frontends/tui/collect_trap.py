"""The trap inspector's part of a `View`: status words, port registers, saved state, the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpudbg.debug.views import traps as trap_views
from gpudbg.debug.views.text import lane_list
from gpudbg.errors import GpudbgError
from gpudbg.isa.spa5.sched import first_instruction
from gpudbg.regs.explain import WordExplanation, explain_esr
from gpudbg.regs.words import Certainty
from gpudbg.sm import record as rec
from gpudbg.sm.port import REGISTERS, valid_mask
from gpudbg.sm.trap.state import Cause

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.sm.state import WarpState

LOG_LINES = 200
MASKS = ("WARP_VALID_MASK", "BPT_TRAP_MASK", "BPT_PAUSE_MASK")
"""Registers in two halves that are drawn as one row of warps, not as words."""


@dataclass(frozen=True, slots=True)
class TrapField:
    """One named field of a word; `value_name` is empty where the value has no name."""

    name: str
    hi: int
    lo: int
    value: int
    value_name: str
    meaning: str
    certainty: Certainty
    note: str


@dataclass(frozen=True, slots=True)
class TrapWord:
    """A status word or a port register; `place` says where it is read (`S2R 64`, an address).

    `writable` words belong to the port; `fields` are the named ones, highest bits first;
    `text` is the word in short and `lines` the explanation in full.
    """

    name: str
    value: int
    place: str
    writable: bool
    fields: tuple[TrapField, ...]
    text: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LogRow:
    """One access or event of the port."""

    number: int
    kind: str
    where: str
    register: str
    value: int
    text: str
    tick: int


@dataclass(frozen=True, slots=True)
class SavedWarp:
    """What is saved of one warp in the handler or paused, by `ROWS`; "" where there is nothing."""

    slot: int
    values: tuple[str, ...]


ROWS = ("Cause", "PC", "Active", "Exited", "Stack", "State")
"""Rows of `SavedWarp`."""
CAUSES = {
    Cause.WARP_ERROR: "error",
    Cause.BPT_TRAP: "BPT.TRAP",
    Cause.BPT_CAL: "BPT.CAL",
    Cause.SINGLE_STEP: "step",
    Cause.STOP_REQUEST: "stop",
    Cause.OTHER_WARP: "another",
    Cause.PREEMPTION: "preempt",
}
"""Causes as they fit into a column."""


@dataclass(frozen=True, slots=True)
class TrapPicture:
    """Everything the trap inspector draws.

    `masks` are (label, 64-bit mask of warp slots); `saved` are (name, value, words) of the
    focused warp, `each` what is saved of every warp in the handler or paused, the focused one
    first; `entry` is the handler's first pc, or None without one.
    """

    sm: int
    place: str
    words: tuple[TrapWord, ...]
    masks: tuple[tuple[str, int], ...]
    warp: int | None
    inside: bool
    saved: tuple[tuple[str, str, str], ...]
    each: tuple[SavedWarp, ...]
    handler: str
    entry: int | None
    log: tuple[LogRow, ...]


def take(session: DebugSession) -> TrapPicture:
    """The trap state of the focused warp and its SM (of SM 0 when no warp is left)."""
    focus, unit, port = session.focus, session.grid.traps, session.traps.port
    number = focus.sm if focus is not None else 0
    sm = session.grid.sms[number]
    warp = session.grid.warp(focus.sm, focus.warp) if focus is not None else None
    words = [_word(session, "SR_GlobalErrorStatus", unit.global_status(sm), "S2R 64", False)]
    if warp is not None:
        place = f"S2R 66   warp {warp.slot}"
        words.append(_word(session, "SR_WarpErrorStatus", unit.warp_status(warp), place, False))
    for name in REGISTERS:
        if name.startswith(MASKS):
            continue
        address = port.address_of(number, name)
        place = f"port 0x{address:x}" if address is not None else "port"
        words.append(_word(session, name, port.peek(number, name), place, True))
    placed = unit.handler
    return TrapPicture(
        sm=number,
        place=trap_views.place(session, number),
        words=tuple(words),
        masks=(
            ("VALID", valid_mask(sm)),
            ("TRAP", sm.trap.trapped),
            ("PAUSE", port.pause_mask(sm)),
        ),
        warp=warp.slot if warp is not None else None,
        inside=warp is not None and warp.in_trap,
        saved=tuple(_saved(session, warp)) if warp is not None else (),
        each=_each(session, number, warp),
        handler=placed.handler.name if placed is not None else "",
        entry=placed.entry if placed is not None else None,
        log=tuple(_log(session, number)),
    )


def _word(session: DebugSession, name: str, value: int, place: str, writable: bool) -> TrapWord:
    arch = session.grid.gpu.arch
    try:
        found: WordExplanation | None = explain_esr(name, value, arch)
    except GpudbgError:
        # A register that this family has without a public layout: its value still shows.
        found = None
    fields = () if found is None else tuple(_fields(found))
    text = trap_views.brief(name, value, arch)
    if name == "HWW_WARP_ESR_PC":
        text = session.symbols.describe_line(value) if value else ""
    lines = () if found is None else tuple(found.lines())
    return TrapWord(name, value, place, writable, fields, text, lines)


def _fields(found: WordExplanation) -> list[TrapField]:
    out = [
        TrapField(
            f.row.name,
            f.row.bits.hi,
            f.row.bits.lo,
            f.value,
            f.row.value_name(f.value) or "",
            f.row.meaning,
            f.row.certainty,
            f.row.note,
        )
        for f in found.fields
        if not f.row.reserved
    ]
    return sorted(out, key=lambda f: -f.hi)


def _saved(session: DebugSession, warp: WarpState) -> list[tuple[str, str, str]]:
    """What is saved of the focused warp, or what it has while it runs its own code."""
    state, symbols = session.grid.traps.state(warp), session.symbols
    inside = bool(state["in_handler"])
    pc = int(state["saved_pc"]) if inside else first_instruction(warp.pc)
    active = int(state["saved_active"]) if inside else warp.active
    code = symbols.instruction(pc)
    words = symbols.describe_line(pc) + (f"   {code.text}" if code is not None else "")
    rows = [
        ("Cause", "", state["cause"] if inside else "not in the trap handler"),
        ("Return" if inside else "PC", symbols.short(pc), words),
        ("Active", f"{active:08x}", f"lanes {lane_list(active)}"),
    ]
    if warp.exited & warp.valid:
        ended = warp.exited & warp.valid
        rows.append(("Exited", f"{ended:08x}", f"lanes {lane_list(ended)}"))
    placed = session.grid.traps.handler
    if inside and placed is not None:
        depth = placed.read(warp.sm, warp.slot, "depth")
        rows.append(("Stack", str(depth), "tokens at entry"))
        record = placed.area.base + placed.place(warp.sm, warp.slot)
        rows.append(("Record", f"0x{record:x}", "the warp's part of the save area"))
    notes = [w for w in STATES if state[w]]
    if notes:
        rows.append(("State", "", ", ".join(notes)))
    return rows


STATES = ("paused", "trapped", "critical")
"""What can be said of a warp's place in the trap protocol, the most telling first."""


def _each(session: DebugSession, number: int, focus: WarpState | None) -> tuple[SavedWarp, ...]:
    """Every warp of an SM that is in the handler or paused, the focused one first."""
    unit = session.grid.traps
    found = []
    for warp in session.grid.sms[number].resident():
        state = unit.state(warp)
        if state["in_handler"] or state["paused"] or state["trapped"]:
            found.append((warp is not focus, warp, state))
    found.sort(key=lambda row: row[0])
    return tuple(SavedWarp(w.slot, _values(session, w, state)) for _, w, state in found)


def _values(session: DebugSession, warp: WarpState, state: dict[str, Any]) -> tuple[str, ...]:
    inside = bool(state["in_handler"])
    placed = session.grid.traps.handler
    cause = CAUSES.get(Cause(warp.words[rec.TRAP_CAUSE]), "") if inside else ""
    pc = int(state["saved_pc"]) if inside else first_instruction(warp.pc)
    active = int(state["saved_active"]) if inside else warp.active
    ended = warp.exited & warp.valid
    depth = placed.read(warp.sm, warp.slot, "depth") if inside and placed is not None else None
    return (
        cause,
        session.symbols.short(pc),
        f"{active:08x}",
        f"{ended:08x}" if ended else "",
        "" if depth is None else str(depth),
        next((word for word in STATES if state[word]), ""),
    )


def _log(session: DebugSession, number: int) -> list[LogRow]:
    rows = []
    arch = session.grid.gpu.arch
    for a in session.traps.port.latest(LOG_LINES):
        if a.sm not in (None, number):
            continue
        where = "all SMs" if a.sm is None else f"SM {a.sm}"
        if a.kind == "event":
            rows.append(LogRow(a.number, a.kind, where, "", 0, a.register, a.tick))
        else:
            text = trap_views.brief(a.register, a.value, arch)
            rows.append(LogRow(a.number, a.kind, where, a.register, a.value, text, a.tick))
    return rows
