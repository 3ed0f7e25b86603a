"""Reading and writing operands of 128-bit instructions, of lanes and of the uniform datapath."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from gpudbg.isa.operands import Const, Imm, Pred, Reg
from gpudbg.sm.semantics.float_operands import F32_SIGN, F64_MAGNITUDE, F64_SIGN, signs32
from gpudbg.sm.semantics.machine import Mask, Rounding, Value, Wide, WideMachine
from gpudbg.sm.semantics.operands import ALL_ONES, check_run, half

Source = Reg | Const | Imm
ROUNDINGS: tuple[Rounding, ...] = ("RM", "RP", "RZ")


class WideInsn(Protocol):
    """What semantics read of a decoded instruction."""

    @property
    def op(self) -> str:
        """Mnemonic."""

    @property
    def word(self) -> int:
        """The 128 bits."""

    @property
    def arch(self) -> str:
        """Architecture."""

    @property
    def o(self) -> Mapping[str, Any]:
        """Operands by slot."""

    @property
    def m(self) -> Sequence[str]:
        """Modifiers."""

    @property
    def operands(self) -> Sequence[Any]:
        """Operands in text order."""

    @property
    def guard(self) -> tuple[int, bool]:
        """Guard predicate and whether it is negated."""

    def target(self, pc: int) -> int | None:
        """Absolute address of a direct flow target."""


def raw(m: WideMachine, operand: Source) -> Value:
    """The operand's 32 bits before its signs."""
    if isinstance(operand, Reg):
        return m.ureg(operand.index) if operand.file == "UR" else m.reg(operand.index)
    if isinstance(operand, Const):
        if operand.handle is not None:
            return bindless(m, operand, 4)[0]
        return m.const(operand.bank, operand.place)
    return operand.value & ALL_ONES


def bindless(m: WideMachine, operand: Const, size: int) -> Sequence[Value]:
    """cx[UR][offset]: words of a bank that a descriptor in a pair of uniform registers names."""
    assert operand.handle is not None
    handle = m.ureg_pair(operand.handle.index)
    return m.bindless_load(handle, operand.offset & ALL_ONES, size, False)


def raw_pair(m: WideMachine, operand: Source) -> Wide:
    """The operand's 64 bits before its signs; an integer immediate is extended by its sign."""
    if isinstance(operand, Reg):
        return m.ureg_pair(operand.index) if operand.file == "UR" else m.reg_pair(operand.index)
    if isinstance(operand, Const):
        if operand.handle is not None:
            low, high = bindless(m, operand, 8)
            return m.wide(low, high)
        return m.const_pair(operand.bank, operand.place)
    return operand.value & 0xFFFF_FFFF_FFFF_FFFF


def integer(m: WideMachine, operand: Source) -> Value:
    """The operand as an integer: its piece, `~`, two's complement `-`."""
    value = half(m, raw(m, operand), operand.part if operand.part[:1] in ("H", "B") else "")
    if operand.inv:
        value = m.not_(value)
    return m.sub(0, value) if operand.neg else value


def f32(m: WideMachine, operand: Source, flush: bool = False) -> Value:
    """The operand as f32: `|x|`, then `-x`, then flushed if asked."""
    value = signs32(m, operand, raw(m, operand), F32_SIGN)
    return m.ftz(value) if flush else value


def f64(m: WideMachine, operand: Source) -> Wide:
    """The operand as f64: `|x|`, then `-x`."""
    return signs64(m, operand, raw_pair(m, operand))


def signs64(m: WideMachine, operand: Source, value: Wide) -> Wide:
    """`|x|`, then `-x` of an f64; a NaN keeps its sign (measured on H100)."""
    if not (operand.abs or operand.neg):
        return value
    changed = m.wand(value, F64_MAGNITUDE) if operand.abs else value
    changed = m.wxor(changed, F64_SIGN) if operand.neg else changed
    return m.wselect(m.dnan(value), value, changed)


def predicate(m: WideMachine, operand: Pred | None) -> Mask:
    """A source predicate; one that is not there reads true."""
    if operand is None:
        return m.true()
    if operand.index == 7:
        return m.false() if operand.neg else m.true()
    value = m.upred(operand.index) if operand.file == "UP" else m.pred(operand.index)
    return m.mnot(value) if operand.neg else value


def write(m: WideMachine, i: WideInsn, value: Value, slot: str = "d") -> None:
    """Write the destination register."""
    operand = i.o.get(slot)
    if operand is not None:
        (m.ureg_write if operand.file == "UR" else m.reg_write)(operand.index, value)


def write_pair(m: WideMachine, i: WideInsn, value: Wide, slot: str = "d") -> None:
    """Write the destination pair."""
    operand = i.o[slot]
    if operand.file == "UR":
        if operand.index != 255:
            m.ureg_write(operand.index, m.lo(value))
            m.ureg_write(operand.index + 1, m.hi(value))
    else:
        m.reg_pair_write(operand.index, value)


def write_registers(m: WideMachine, operand: Reg, values: Sequence[Value]) -> None:
    """Write consecutive registers."""
    if operand.index == 255:
        return
    check_run(m.warp_error, operand.index, len(values))
    for n, value in enumerate(values):
        if operand.file == "UR":
            m.ureg_write(operand.index + n, value)
        else:
            m.reg_write(operand.index + n, value)


def read_registers(m: WideMachine, operand: Source, count: int) -> list[Value]:
    """Consecutive registers; RZ is all zero."""
    if not isinstance(operand, Reg) or operand.index == 255:
        return [raw(m, operand)] + [0] * (count - 1)
    check_run(m.warp_error, operand.index, count)
    read = m.ureg if operand.file == "UR" else m.reg
    return [read(operand.index + n) for n in range(count)]


def write_predicate(m: WideMachine, i: WideInsn, slot: str, value: Mask) -> None:
    """Write a destination predicate, where the form has it."""
    operand = i.o.get(slot)
    if operand is not None and operand.index != 7:
        (m.upred_write if operand.file == "UP" else m.pred_write)(operand.index, value)


def wanted(i: WideInsn, slot: str) -> bool:
    """Whether a destination predicate is more than PT."""
    operand = i.o.get(slot)
    return operand is not None and operand.index != 7


def rounding(i: WideInsn) -> Rounding:
    """The rounding; to nearest where none is named."""
    return next((r for r in ROUNDINGS if r in i.m), "RN")


def flushes(i: WideInsn) -> bool:
    """Whether subnormal operands and results become zero."""
    return "FTZ" in i.m or "FMZ" in i.m


def chosen(i: WideInsn, names: Sequence[str], default: str = "") -> str:
    """The first modifier that is one of some names."""
    return next((name for name in i.m if name in names), default)


def boolean(m: WideMachine, i: WideInsn, a: Mask, b: Mask) -> Mask:
    """a AND, OR, XOR b, as the modifier says."""
    if "OR" in i.m:
        return m.mor(a, b)
    return m.mxor(a, b) if "XOR" in i.m else m.mand(a, b)
