"""Explain the row under the cursor as lines for the console."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from gpudbg.answers import lane_list
from gpudbg.debug.commands import known_lanes
from gpudbg.debug.stops import spin_of
from gpudbg.debug.values import (
    instruction_at,
    next_words,
    operand_values,
    ranges_words,
    untouched,
    waited_for,
)
from gpudbg.errors import CommandError
from gpudbg.frontends.tui.explain_waits import barrier_lines, group_lines, waits_of_code
from gpudbg.frontends.tui.widgets.warps import why_words

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession
    from gpudbg.frontends.tui.view import ScreenView


def explain(session: DebugSession, view: ScreenView, key: Hashable) -> list[str]:
    """Lines about a row's key; a hint where there is nothing to explain."""
    if isinstance(key, tuple) and key[0] in _EXPLAINERS:
        return _EXPLAINERS[key[0]](session, view, key)
    return ["`i` explains the row under the cursor: j k move it"]


def _code(session: DebugSession, view: ScreenView, key: Any) -> list[str]:
    code = view.code.code(key[1])
    if code is None:
        return ["no code here"]
    lines = [f"{code.offset:04x}  {code.text}   word 0x{code.hex}"]
    lines.append(control_sentence(code.control))
    insn = instruction_at(session, key[1])
    if insn is not None:
        reads, writes = insn.reads(), insn.writes()
        lines.append(f"reads {_names(reads)}; writes {_names(writes)}")
    lines += lane_lines(session, view, key[1])
    lines += waits_of_code(session, view.focus_row, key[1], code.text)
    if key[1] == view.pc and session.focus is not None:
        warp, lane = session.focused(), session.focus.lane
        values = operand_values(session, warp, lane, key[1])
        shown = "  ".join(f"{v.name}=0x{v.value:x}" for v in values)
        lines.append(f"lane {lane}: {shown or 'reads no register'}")
        never = untouched(session.symbols, view.live, warp)
        will = next_words(session, warp, lane, unwritten=never)
        lines.append("next: " + (will or "no register changes"))
    return lines


def lane_lines(session: DebugSession, view: ScreenView, pc: int) -> list[str]:
    """What the code says of an instruction's lanes; nothing outside the launched kernel."""
    if session.focus is None or view.code.is_foreign(pc):
        return []
    try:
        remark = known_lanes(session).remark(pc - view.code.base)
    except CommandError as error:
        return [str(error)]
    return [f"lanes: {remark}"] if remark else []


def _names(access: Any) -> str:
    return " ".join(access.names) or "nothing"


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


def _warp(session: DebugSession, view: ScreenView, key: Any) -> list[str]:
    row = view.snapshot.warp_row(key[1], key[2])
    if row is None:
        return ["that warp has gone"]
    waiting = row.valid & ~row.active & ~row.exited
    warp = session.warp(key[2], key[1]).state
    spin = None if row.why or not row.executed else spin_of(session, warp)
    waits = waited_for(session, key[1], key[2])
    return [
        why_words(row),
        *(barrier_lines(session, waits) if waits is not None else []),
        *([f"from here it {spin.words}"] if spin is not None and spin.inside else []),
        f"active lanes {lane_list(row.active)}; waiting {lane_list(waiting)}; "
        f"ended {lane_list(row.exited & row.valid)}",
    ]


def _path(session: DebugSession, view: ScreenView, key: Any) -> list[str]:
    found = next((p for p in view.paths if (p.level, p.offset) == key[1:]), None)
    if found is None:
        return []
    groups = view.focus_row.groups if view.focus_row is not None else ()
    group = next((g for g in groups if g.lanes == found.mask), None)
    if group is not None and view.focus_row is not None:
        return [f"path {found.letter}", *group_lines(view.focus_row, group)]
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


def _never(session: DebugSession, view: ScreenView, key: Any) -> list[str]:
    return [
        f"{key[1]}: no instruction on the way here has written it; it holds what a launch gives"
    ]


def _value(session: DebugSession, view: ScreenView, key: Any) -> list[str]:
    rows = (*view.registers, *view.specials, *view.watches)
    found = next((r for r in rows if r.name == key[1]), None)
    if found is None:
        return []
    lines = [f"{found.name} in lane {view.lane}: {found.focus_text}   {found.shape.words}"]
    if found.changed:
        lines.append(f"changed since the last stop in lanes {lane_list(found.changed)}")
    return lines


def _bytes(session: DebugSession, view: ScreenView, key: Any) -> list[str]:
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


_EXPLAINERS: dict[str, Callable[[DebugSession, ScreenView, Any], list[str]]] = {
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
