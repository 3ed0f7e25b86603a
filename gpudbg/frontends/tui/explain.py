"""What the row under the cursor means, in lines for the console."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from gpudbg.debug.operands import instruction_at, next_words, operand_values
from gpudbg.debug.spinning import spin_of
from gpudbg.debug.views import lane_list
from gpudbg.frontends.tui.widgets.warps import why_words

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.frontends.tui.view import View


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
    if key[1] == view.pc and session.focus is not None:
        warp = session.warp().state
        lane = session.focus.lane
        values = operand_values(session, warp, lane, key[1])
        shown = "  ".join(f"{v.name}=0x{v.value:x}" for v in values)
        lines.append(f"lane {lane}: {shown or 'reads no register'}")
        lines.append("next: " + (next_words(session, warp, lane) or "no register changes"))
    return lines


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
    return [
        why_words(row),
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


_EXPLAINERS: dict[str, Callable[[DebugSession, View, Any], list[str]]] = {
    "pc": _code,
    "warp": _warp,
    "path": _path,
    "register": _value,
    "never": _never,
    "predicate": _value,
    "flag": _value,
    "special": _value,
    "watch": _value,
}
