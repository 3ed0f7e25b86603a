"""What the row under the cursor means, in lines for the console."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from gpudbg.debug.stops.spinning import spin_of
from gpudbg.debug.values.never_written import ranges_words
from gpudbg.debug.values.operands import instruction_at, next_words, operand_values
from gpudbg.debug.views.text import lane_list
from gpudbg.frontends.tui.widgets.warps import why_words
from gpudbg.sm.sregs import WARP_SIZE

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.frontends.tui.view import View
    from gpudbg.sm.state import Cta, WarpState

BARRIER = re.compile(r"\bBAR\.\S+ (?:(0x[0-9a-f]+)|R\d+)")
"""A barrier instruction and the number it names."""
MISSING = 8
"""Warps that a barrier waits for and are told one by one."""
WARPS = 16


def explain(session: DebugSession, view: View, key: Hashable) -> list[str]:
    """Lines about a row's key; a hint where there is nothing to explain."""
    if isinstance(key, tuple) and key[0] in _EXPLAINERS:
        return _EXPLAINERS[key[0]](session, view, key)
    return ["`i` explains the row under the cursor: j k move it"]


def _code(session: DebugSession, view: View, key: Any) -> list[str]:
    code = view.code.code(key[1])
    if code is None:
        return ["no code here"]
    lines = [f"{code.offset:04x}  {code.text}   word 0x{code.word:016x}"]
    lines.append(control_sentence(code.control))
    insn = instruction_at(session, key[1])
    if insn is not None:
        reads, writes = insn.reads(), insn.writes()
        lines.append(f"reads {_names(reads)}; writes {_names(writes)}")
    lines += _barriers_of(session, code.text)
    if key[1] == view.pc and session.focus is not None:
        warp = session.warp().state
        if warp.barrier is not None:
            lines += barrier_lines(session, warp.cta, warp.barrier)
        lane = session.focus.lane
        values = operand_values(session, warp, lane, key[1])
        shown = "  ".join(f"{v.name}=0x{v.value:x}" for v in values)
        lines.append(f"lane {lane}: {shown or 'reads no register'}")
        lines.append("next: " + (next_words(session, warp, lane) or "no register changes"))
    return lines


def barrier_lines(session: DebugSession, cta: Cta, number: int) -> list[str]:
    """What a barrier of a block waits for, who has arrived, and where the others are."""
    slot = cta.barriers.slots[number]
    expected = cta.barriers.expected(number, len(cta.live))
    block = ",".join(map(str, cta.block))
    whom = "all live threads" if slot.count is None else "as many as its instruction says"
    lines = [
        f"barrier {number} of block ({block}): {slot.arrived} of {expected} threads have arrived; "
        f"it waits for {expected}, {whom}"
    ]
    there = [w for w in cta.live if w.index in slot.waiting]
    if there:
        lines.append(f"arrived: {_warps(there)}")
    gone_on = slot.arrived - WARP_SIZE * len(there)
    if gone_on > 0:
        lines.append(f"arrived and went on (BAR.ARV): {gone_on} threads")
    for w in [w for w in cta.live if w.index not in slot.waiting][:MISSING]:
        state = f"waits at barrier {w.barrier}" if w.barrier is not None else "runs"
        if not w.executed:
            state = "has not begun, and stands"
        lines.append(f"not there: warp {w.slot} {state} at {session.symbols.describe_line(w.pc)}")
    missing = len(cta.live) - len(there)
    if missing > MISSING:
        lines.append(f"and {missing - MISSING} warps more")
    return lines


def _warps(warps: list[WarpState]) -> str:
    shown = ", ".join(str(w.slot) for w in warps[:WARPS])
    more = f" and {len(warps) - WARPS} more" if len(warps) > WARPS else ""
    return f"warp{'s' if len(warps) > 1 else ''} {shown}{more}"


def _barriers_of(session: DebugSession, text: str) -> list[str]:
    """The barrier that an instruction of the focused block names; where a register does, all."""
    found = BARRIER.search(text)
    if found is None or session.focus is None:
        return []
    cta = session.warp().state.cta
    named = int(found[1], 16) if found[1] else None
    if named is not None:
        return barrier_lines(session, cta, named) if named < cta.barriers.allocated else []
    used = [n for n, slot in enumerate(cta.barriers.slots) if slot.arrived]
    return [line for n in used for line in barrier_lines(session, cta, n)]


def _names(access: Any) -> str:
    names = [f"R{i}" for i in sorted(access.registers)]
    names += [f"P{i}" for i in sorted(access.predicates)]
    if access.cc:
        names.append("CC")
    return " ".join(names) or "nothing"


def control_sentence(control: int) -> str:
    """The 21-bit control group in words."""
    stall, read, write = control & 0xF, control >> 8 & 7, control >> 5 & 7
    wait = control >> 11 & 0x3F
    parts = [f"stalls {stall} cycles" if stall else "no stall"]
    if wait:
        parts.append("waits for barriers " + ", ".join(str(i) for i in range(6) if wait >> i & 1))
    if read != 7:
        parts.append(f"sets read barrier {read}")
    if write != 7:
        parts.append(f"sets write barrier {write}")
    if not control >> 4 & 1:
        parts.append("may yield to another warp")
    reuse = control >> 17 & 0xF
    if reuse:
        parts.append("reuses operand " + ", ".join("abcd"[i] for i in range(4) if reuse >> i & 1))
    return "control: " + ", ".join(parts)


def _warp(session: DebugSession, view: View, key: Any) -> list[str]:
    row = view.snapshot.warp_row(key[1], key[2])
    if row is None:
        return ["that warp has gone"]
    waiting = row.valid & ~row.active & ~row.exited
    spin = None if row.why or not row.executed else spin_of(session, session.grid.warp(*key[1:3]))
    warp = session.grid.warp(*key[1:3])
    number = warp.barrier
    return [
        why_words(row),
        *(barrier_lines(session, warp.cta, number) if number is not None else []),
        *([f"from here it {spin.words}"] if spin is not None and spin.inside else []),
        f"active lanes {lane_list(row.active)}; waiting {lane_list(waiting)}; "
        f"ended {lane_list(row.exited & row.valid)}",
    ]


def _path(session: DebugSession, view: View, key: Any) -> list[str]:
    found = next((p for p in view.paths if (p.level, p.offset) == key[1:]), None)
    if found is None:
        return []
    where = session.symbols.describe_line(session.symbols.pc(found.offset))
    if found.level < 0:
        return [f"path a runs at {where}: lanes {lane_list(found.mask)}"]
    lanes = f"lanes {lane_list(found.mask)} wait" if found.mask else "nobody waits yet"
    lines = [f"path {found.letter}: a {found.kind} token; {lanes} to go on at {where}"]
    pushers = view.live.pushers(found.kind, found.offset) if view.live is not None else ()
    for offset in pushers:
        code = session.symbols.instruction(session.symbols.pc(offset))
        place = session.symbols.describe_line(session.symbols.pc(offset))
        lines.append(f"  pushed by {place}: {code.text if code is not None else ''}")
    return lines


def _never(session: DebugSession, view: View, key: Any) -> list[str]:
    return [
        f"{key[1]}: no instruction on the way here has written it; it holds what a launch gives"
    ]


def _value(session: DebugSession, view: View, key: Any) -> list[str]:
    rows = (*view.registers, *view.specials, *view.watches)
    found = next((r for r in rows if r.name == key[1]), None)
    if found is None:
        return []
    lines = [f"{found.name} in lane {view.lane}: {found.focus_text}   {found.shape.words}"]
    if found.changed:
        lines.append(f"changed since the last stop in lanes {lane_list(found.changed)}")
    return lines


def _bytes(session: DebugSession, view: View, key: Any) -> list[str]:
    space, address = key[1:]
    page = view.memory
    if page is None or page.space != space:
        return []
    at = address - page.address
    never = np.array([at + k in page.unwritten for k in range(min(16, len(page.data) - at))])
    where = f"{space} 0x{address:x}"
    if not never.any():
        return [f"{where}: {len(never)} bytes"]
    rest = "; they hold zeros here, and anything on a GPU"
    return [f"{where}: {ranges_words(never)}{rest}"]


_EXPLAINERS: dict[str, Callable[[DebugSession, View, Any], list[str]]] = {
    "pc": _code,
    "warp": _warp,
    "path": _path,
    "byte": _bytes,
    "register": _value,
    "never": _never,
    "predicate": _value,
    "flag": _value,
    "special": _value,
    "watch": _value,
}
