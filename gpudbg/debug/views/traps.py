"""Trap state as rows and lines: words in short, the port's log, a warp in the handler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpudbg.answers import column, typed_row
from gpudbg.answers.formats import WORD, Format
from gpudbg.bits import lanes_of
from gpudbg.regs.explain import family_of_text
from gpudbg.regs.port import find_word
from gpudbg.regs.words import FieldKind
from gpudbg.sm.port import REGISTERS

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.regs.words import BitRow
    from gpudbg.sm.port import PortAccess


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
    trap = session.grid.sms[sm].trap
    gpc, tpc = divmod(trap.physical, 8)
    inside = "" if trap.in_tpc is None else f", SM {trap.in_tpc} of it"
    return f"SM {sm} (GPC {gpc}, TPC {tpc}{inside})"


@typed_row
class PortRow:
    """A register of an SM's debugger port."""

    register: str = column("Register")
    address: int | None = column(
        "Address", Format(lambda at: f"0x{at:06x}" if at is not None else "-")
    )
    value: int = column("Value", WORD)
    decoded: str = column("Fields")


def port_rows(session: DebugSession, sm: int) -> tuple[PortRow, ...]:
    """Every register of an SM's port."""
    port, arch = session.traps.port, session.grid.gpu.arch
    rows = []
    for name in REGISTERS:
        value = port.peek(sm, name)
        text = brief(name, value, arch)
        if name == "HWW_WARP_ESR_PC" and value:
            text = session.symbols.describe(value)
        rows.append(PortRow(name, port.address_of(sm, name), value, text))
    return tuple(rows)


@typed_row
class LogRow:
    """One access to the port, or an event: `register` is None there, and `text` tells it."""

    number: int = column()
    kind: str = column()
    sm: int | None = column()
    register: str | None = column()
    text: str = column()
    value: int = column()
    tick: int = column(key="")

    @property
    def where(self) -> str:
        """Which SM."""
        return "all SMs" if self.sm is None else f"SM {self.sm}"

    def __str__(self) -> str:
        head = f"{self.number:6}  {self.where:8} "
        if self.register is None:
            return f"{head}event      {self.text}"
        arrow = "->" if self.kind == "read" else "<-"
        line = f"{head}{self.kind:10} {self.register} {arrow} 0x{self.value:08x}  {self.text}"
        return line.rstrip()


def log_rows(session: DebugSession, count: int) -> tuple[LogRow, ...]:
    """The port's last accesses and events, decoded."""
    return tuple(_log_row(session, access) for access in session.traps.port.latest(count))


def _log_row(session: DebugSession, access: PortAccess) -> LogRow:
    event = access.kind == "event"
    decoded = "" if event else brief(access.register, access.value, session.grid.gpu.arch)
    return LogRow(
        access.number,
        access.kind,
        access.sm,
        None if event else access.register,
        access.register if event else decoded,
        access.value,
        access.tick,
    )


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
