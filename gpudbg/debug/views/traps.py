"""Trap state as rows and lines: words in short, the port's log, a warp in the handler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpudbg.bits import lanes_of
from gpudbg.regs.explain import family_of_text
from gpudbg.regs.port import find_word
from gpudbg.regs.words import FieldKind
from gpudbg.sm.port import REGISTERS

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.regs.words import BitRow
    from gpudbg.sm.port import Access


def brief(register: str, value: int, arch: str) -> str:
    """A word in one line: its set flags, its numbers, the warps of a mask."""
    word = find_word(register)
    if word is None:
        return ""
    family = next((f for f in reversed(family_of_text(arch)) if f in word.families), None)
    if family is None:
        return ""
    rows = [row for row in word.rows_for(family) if not row.reserved]
    parts = [text for row in rows if (text := _part(row, value, register))]
    return " ".join(parts)


def _part(row: BitRow, word: int, register: str) -> str:
    value = row.bits.get(word)
    if not value:
        return ""
    if row.kind is FieldKind.FLAG:
        return row.name
    if row.kind is FieldKind.MASK:
        first = 32 if register.endswith("_HI") else 0
        return "warps " + ranges([first + n for n in lanes_of(value)])
    if row.name == "PC":
        return ""
    return f"{row.name}={row.value_name(value) or value}"


def ranges(numbers: list[int]) -> str:
    """Ascending numbers as "0-3 5 8-9"."""
    parts: list[list[int]] = []
    for n in numbers:
        if parts and parts[-1][-1] == n - 1:
            parts[-1].append(n)
        else:
            parts.append([n])
    return " ".join(f"{p[0]}-{p[-1]}" if len(p) > 1 else str(p[0]) for p in parts)


def place(session: DebugSession, sm: int) -> str:
    """ "SM 0 (GPC 0, TPC 0)"."""
    gpc, tpc = divmod(session.grid.sms[sm].trap.physical, 8)
    return f"SM {sm} (GPC {gpc}, TPC {tpc})"


def port_rows(session: DebugSession, sm: int) -> tuple[list[tuple[str, ...]], list[dict[str, Any]]]:
    """Every register of an SM's port: table rows and the same as data."""
    port, arch = session.traps.port, session.grid.gpu.arch
    rows: list[tuple[str, ...]] = []
    data: list[dict[str, Any]] = []
    for name in REGISTERS:
        value, address = port.peek(sm, name), port.address_of(sm, name)
        text = brief(name, value, arch)
        if name == "HWW_WARP_ESR_PC" and value:
            text = session.symbols.describe(value)
        shown = f"0x{address:06x}" if address is not None else "-"
        rows.append((name, shown, f"0x{value:08x}", text))
        data.append({"register": name, "address": address, "value": value, "decoded": text})
    return rows, data


def log_line(session: DebugSession, access: Access) -> str:
    """One line of the port's log, decoded."""
    where = "all SMs" if access.sm is None else f"SM {access.sm}"
    if access.kind == "event":
        return f"{access.number:6}  {where:8} event      {access.register}"
    text = brief(access.register, access.value, session.grid.gpu.arch)
    arrow = "->" if access.kind == "read" else "<-"
    line = f"{access.number:6}  {where:8} {access.kind:10} {access.register} {arrow} "
    return f"{line}0x{access.value:08x}  {text}".rstrip()


def access_json(session: DebugSession, access: Access) -> dict[str, Any]:
    """A line of the log as data."""
    event = access.kind == "event"
    decoded = "" if event else brief(access.register, access.value, session.grid.gpu.arch)
    return {
        "number": access.number,
        "kind": access.kind,
        "sm": access.sm,
        "register": None if event else access.register,
        "text": access.register if event else decoded,
        "value": access.value,
    }


def warp_lines(session: DebugSession, state: dict[str, Any]) -> list[str]:
    """A warp's trap state, from `TrapUnit.state`."""
    head = f"SM {state['sm']} warp {state['warp']}"
    words = [w for w in ("paused", "trapped", "critical") if state[w]]
    status = brief("SR_WarpErrorStatus", state["status"], session.grid.gpu.arch)
    note = f", {', '.join(words)}" if words else ""
    lines = [f"{head}: status 0x{state['status']:08x} {status}".rstrip() + note]
    if state["in_handler"]:
        where = session.symbols.describe_line(state["saved_pc"])
        lines.append(f"    in the handler because of {state['cause']}")
        lines.append(f"    interrupted at {where}, lanes 0x{state['saved_active']:08x}")
    return lines
