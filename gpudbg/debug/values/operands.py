"""What the next instruction of a warp reads, and what it is about to change in one lane.

The change is found by trying: a pure instruction runs on the warp's own record, which is put back
afterwards.  Instructions that write memory, wait or talk to the machine are never tried; of those
the operands are shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpudbg.analysis.lane_shape import guess_kind
from gpudbg.dataclass import dataclass
from gpudbg.errors import DecodeError, GpudbgError
from gpudbg.isa.family import decode
from gpudbg.isa.operands import PT, Address, Reg
from gpudbg.mem.lanes import bools

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.isa.family import Instruction
    from gpudbg.sm.state import WarpState

NEVER_TRIED = tuple("ATOM RED ST SU BAR BPT CCTL TEX TLD TXQ SETC MEMBAR".split())
"""First letters of instructions with effects beyond the warp's own record."""


@dataclass(frozen=True, slots=True)
class OperandValue:
    """One operand of an instruction in one lane.

    `name` is as the text shows it (`R4`, `R2:R3`, `P0`), `column` where it stands in the text
    (-1: not found), `value` its bits, `kind` register, pair, predicate or address; `floats` when
    the active lanes' values of the register read best as floats.
    """

    name: str
    column: int
    value: int
    kind: str
    floats: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """A register or predicate the next instruction will change in a lane; `floats`: see above."""

    name: str
    before: int
    after: int
    floats: bool = False


def instruction_at(inferior: Inferior, pc: int) -> Instruction | None:
    """The decoded instruction at a pc, or None."""
    line = inferior.symbols.instruction(pc)
    if line is None or not line.legal:
        return None
    try:
        return decode(line.word, inferior.program.arch)
    except DecodeError:
        return None


def guard_mask(warp: WarpState, insn: Instruction) -> int:
    """Active lanes whose guard lets them execute an instruction."""
    index, negated = insn.guard
    held = warp.uniform_predicates if insn.uniform_guard else warp.predicates
    mask = 0xFFFFFFFF if index == PT else int(held[index])
    return (~mask if negated else mask) & warp.active & 0xFFFFFFFF


def operand_values(
    inferior: Inferior, warp: WarpState, lane: int, pc: int
) -> tuple[OperandValue, ...]:
    """Registers, pairs, predicates and addresses the instruction at `pc` reads, in text order."""
    insn = instruction_at(inferior, pc)
    code = inferior.symbols.instruction(pc)
    if insn is None or code is None:
        return ()
    out: list[OperandValue] = []
    index, _ = insn.guard
    if index != PT:
        name = f"UP{index}" if insn.uniform_guard else f"P{index}"
        held = warp.uniform_predicates if insn.uniform_guard else warp.predicates
        bit = int(held[index]) >> lane & 1
        out.append(OperandValue(name, code.text.find(name), bit, "predicate"))
    for slot, operand in insn.o.items():
        if slot in ("d", "d2", "p", "q"):
            continue
        found = _value(warp, lane, operand, code.text)
        if found is not None and found.name not in {o.name for o in out}:
            out.append(found)
    return tuple(out)


def _value(warp: WarpState, lane: int, operand: Any, text: str) -> OperandValue | None:
    reg, kind = (operand.base, "address") if isinstance(operand, Address) else (operand, "register")
    if not isinstance(reg, Reg) or reg.is_zero or reg.file != "R":
        return None
    if max(reg.registers(), default=0) >= warp.R.shape[0]:
        return None
    value = int(warp.R[reg.index][lane])
    name = f"R{reg.index}"
    wide = isinstance(operand, Address) and operand.wide
    if (wide or reg.count == 2) and reg.index + 1 < warp.R.shape[0]:
        value |= int(warp.R[reg.index + 1][lane]) << 32
        name = f"R{reg.index}:R{reg.index + 1}"
    floats = name.isalnum() and kind == "register" and _floats(warp.R[reg.index], warp.active)
    return OperandValue(name, _column(text, f"R{reg.index}"), value, kind, floats)


def _floats(row: NDArray[np.uint32], active: int) -> bool:
    """Whether the active lanes' values of a register read best as floats."""
    return guess_kind(row[bools(active)]) == "f"


def _column(text: str, name: str) -> int:
    """Where a whole word `name` stands among the sources, the last place it does."""
    at = len(text)
    while (at := text.rfind(name, 0, at)) >= 0:
        after = text[at + len(name) : at + len(name) + 1]
        if not after.isdigit():
            return at
    return -1


def changes(inferior: Inferior, warp: WarpState, lane: int) -> tuple[Change, ...]:
    """Registers and predicates of `lane` that the warp's next instruction will change.

    Empty where it changes none, cannot be tried, or would fault.
    """
    insn = instruction_at(inferior, warp.pc)
    if insn is None or warp.status != "ready" or insn.op.startswith(NEVER_TRIED):
        return ()
    writes = insn.writes()
    if not (writes.registers or writes.predicates):
        return ()
    if not guard_mask(warp, insn) >> lane & 1:
        return ()
    before = warp.R[:, lane].copy()
    predicates = [int(p) >> lane & 1 for p in list(warp.predicates)[:7]]
    after = _try(inferior, warp, lane)
    if after is None:
        return ()
    registers, flags = after
    out = [
        Change(
            f"R{i}",
            int(before[i]),
            int(registers[i][lane]),
            _floats(registers[i], warp.active),
        )
        for i in sorted(writes.registers)
        if i < len(before)
    ]
    out += [Change(f"P{i}", predicates[i], flags[i]) for i in sorted(writes.predicates) if i < 7]
    return tuple(out)


def _try(
    inferior: Inferior, warp: WarpState, lane: int
) -> tuple[np.ndarray[Any, Any], list[int]] | None:
    """All registers and the lane's predicates after one instruction; the warp stays as it was."""
    engine = inferior.grid.engine
    sm = inferior.grid.sms[warp.sm]
    with engine.trial(warp, sm):
        try:
            if engine.run(warp, sm, 1) in ("fault", "trap"):
                return None
            return warp.R.copy(), [int(p) >> lane & 1 for p in list(warp.predicates)[:7]]
        except GpudbgError:
            return None


def next_words(
    inferior: Inferior, warp: WarpState, lane: int, becomes: str = "->", unwritten: int = 0
) -> str:
    """In a few words what the next instruction does in a lane: `R4 8 -> 9`, `12 of 19 lanes`.

    Args:
        unwritten: mask of registers that no instruction has written so far: they have no value
            that would change or stay.
    """
    insn = instruction_at(inferior, warp.pc)
    if insn is None or warp.status == "exited":
        return ""
    lanes = guard_mask(warp, insn)
    if not warp.active >> lane & 1:
        return ""
    if not lanes >> lane & 1:
        return f"lane {lane} skips" if lanes else "no lane executes"
    found = changes(inferior, warp, lane)
    if found:
        return "  ".join(_change_words(c, becomes, unwritten) for c in found[:2])
    target = insn.target(inferior.symbols.offset(warp.pc))
    if target is not None and insn.guard[0] != PT:
        return f"{lanes.bit_count()} of {warp.active.bit_count()} lanes"
    values = operand_values(inferior, warp, lane, warp.pc)
    shown = [v for v in values[:3] if v.kind != "predicate"]
    return "  ".join(f"{v.name} {_short(v.value, v.floats)}" for v in shown)


def _change_words(change: Change, becomes: str, unwritten: int) -> str:
    register = int(change.name[1:]) if change.name[0] == "R" else None
    if register is not None and unwritten >> register & 1 and not change.before:
        return f"{change.name} {becomes} {_short(change.after, change.floats)}"
    if change.before == change.after:
        return f"{change.name} stays {_short(change.after, change.floats)}"
    before, after = (_short(v, change.floats) for v in (change.before, change.after))
    return f"{change.name} {before} {becomes} {after}"


def float_words(value: int) -> str:
    """A register's bits as a float: `44.0`."""
    number = float(np.uint32(value).view(np.float32))
    text = f"{number:.6g}"
    return text if set(text) & set(".en") else text + ".0"


def _short(value: int, floats: bool = False) -> str:
    """Small numbers in decimal, the rest in hex or as floats; small negative ones with a sign."""
    if floats and guess_kind(np.array([value], np.uint32)) == "f":
        return float_words(value)
    if value < 10_000:
        return str(value)
    if 0xFFFFFFFF - 10_000 < value <= 0xFFFFFFFF:
        return str(value - (1 << 32))
    return f"0x{value:x}"
