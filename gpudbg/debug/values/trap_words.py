"""Traps of an SM as frozen records: status words, warps in the handler, the log of the port."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass
from gpudbg.debug.views import traps as trap_views
from gpudbg.errors import GpudbgError
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
"""Registers in two halves: masks of warps, which `TrapState.masks` has in one piece."""


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
class WarpTrap:
    """A warp and the trap handler.

    Attributes:
        slot: on its SM.
        inside: it is in the handler; `pc`, `active` and `depth` are then what it was
            interrupted with, else (but for `depth`) its own.
        cause: why it is inside, a name of `gpudbg.sm.trap.state.Cause`; `cause_words` says it.
        pc: a code address.
        active, exited: lane masks.
        depth: tokens on the divergence stack at entry, or None outside; from sm_70 on the groups
            of lanes that did not enter.
        record: address of the warp's part of the save area, or None outside.
        paused, trapped, critical: its place in the trap protocol.
    """

    slot: int
    inside: bool
    cause: str
    cause_words: str
    pc: int
    active: int
    exited: int
    depth: int | None
    record: int | None
    paused: bool
    trapped: bool
    critical: bool


@dataclass(frozen=True, slots=True)
class TrapState:
    """Everything about the traps of an SM.

    `place` says where the SM is; `masks` are (label, 64-bit mask of warp slots); `warp` is the
    focused one and `warps` are those in the handler or paused, the focused one first; `entry` is
    the handler's first pc, or None without one.
    """

    sm: int
    place: str
    words: tuple[TrapWord, ...]
    masks: tuple[tuple[str, int], ...]
    warp: WarpTrap | None
    warps: tuple[WarpTrap, ...]
    handler: str
    entry: int | None
    log: tuple[trap_views.LogRow, ...]


def trap_state(session: DebugSession) -> TrapState:
    """The trap state of the focused warp and its SM (of SM 0 when no warp is left)."""
    focus, unit, port = session.focus, session.grid.traps, session.traps.port
    number = focus.sm if focus is not None else 0
    sm = session.grid.sms[number]
    warp = session.focused() if focus is not None else None
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
    here = [(w is not warp, _warp(session, w)) for w in sm.resident()]
    here.sort(key=lambda row: row[0])
    return TrapState(
        sm=number,
        place=trap_views.place(session, number),
        words=tuple(words),
        masks=(
            ("VALID", valid_mask(sm)),
            ("TRAP", sm.trap.trapped),
            ("PAUSE", port.pause_mask(sm)),
        ),
        warp=_warp(session, warp) if warp is not None else None,
        warps=tuple(w for _, w in here if w.inside or w.paused or w.trapped),
        handler=placed.handler.name if placed is not None else "",
        entry=placed.entry if placed is not None else None,
        log=tuple(r for r in trap_views.log_rows(session, LOG_LINES) if r.sm in (None, number)),
    )


def _warp(session: DebugSession, warp: WarpState) -> WarpTrap:
    unit = session.grid.traps
    state, placed, inside = unit.state(warp), unit.handler, warp.in_trap
    area = placed if inside else None
    return WarpTrap(
        slot=warp.slot,
        inside=inside,
        cause=Cause(warp.words[rec.TRAP_CAUSE]).name if inside else "",
        cause_words=state["cause"],
        pc=int(state["saved_pc"]) if inside else session.symbols.layout.first(warp.pc),
        active=int(state["saved_active"]) if inside else warp.active,
        exited=warp.exited & warp.valid,
        depth=area.read(warp.sm, warp.slot, "depth") if area is not None else None,
        record=area.area.base + area.place(warp.sm, warp.slot) if area is not None else None,
        paused=state["paused"],
        trapped=state["trapped"],
        critical=state["critical"],
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
