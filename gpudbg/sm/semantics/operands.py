"""Reading operand slots, writing destinations and condition codes: shared by all families.

The one place that knows how an instruction's slots and modifiers are spelt (`gpudbg.isa.spa5`).
Sources for the condition code and compare rules: PTX ISA `setp`/`addc` (documented), compiler
output for SM 5.x (inferred).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, Protocol

from gpudbg.isa.operands import PT, RZ, Const, Imm, Pred, Reg
from gpudbg.sm.semantics.machine import Flag, Machine, Mask, Value, Wide

SIGN = 0x80000000
ALL_ONES = 0xFFFFFFFF
INT_MAX = 0x7FFFFFFF

Source = Reg | Const | Imm


class Insn(Protocol):
    """What semantics read of a decoded instruction (`gpudbg.isa.spa5`)."""

    @property
    def op(self) -> str:
        """Mnemonic."""

    @property
    def o(self) -> Mapping[str, Any]:
        """Operands by slot."""

    @property
    def m(self) -> Mapping[str, Any]:
        """Modifiers by name; unknown ones are False or ""."""

    def target(self, pc: int) -> int | None:
        """Absolute address of a direct flow target."""


# ---- sources -----------------------------------------------------------------------------


def raw(m: Machine, operand: Source) -> Value:
    """The operand's 32 bits before any of its modifiers."""
    if isinstance(operand, Reg):
        return m.reg(operand.index)
    if isinstance(operand, Const):
        return m.const(operand.bank, operand.offset)
    return operand.value & ALL_ONES


def raw_pair(m: Machine, operand: Source) -> Wide:
    """The operand's 64 bits before any of its modifiers; an immediate is used as it is."""
    if isinstance(operand, Reg):
        return m.reg_pair(operand.index)
    if isinstance(operand, Const):
        return m.const_pair(operand.bank, operand.offset)
    return operand.value


def int_src(m: Machine, operand: Source) -> Value:
    """The operand as an integer: half selected, `~` and two's complement `-` applied."""
    value = half(m, raw(m, operand), operand.part)
    if operand.inv:
        value = m.not_(value)
    if operand.neg:
        value = m.sub(0, value)
    return value


def complemented(m: Machine, operand: Source) -> Value:
    """The operand with `-` as the one's complement; the caller adds the missing 1 (or carry)."""
    value = half(m, raw(m, operand), operand.part)
    return m.not_(value) if operand.neg else value


def half(m: Machine, value: Value, part: str, signed: bool = False) -> Value:
    """The piece `part` ("" H0 H1 B0..B3) of `value`, zero- or sign-extended to 32 bits."""
    if part == "":
        return value
    bits = 16 if part[0] == "H" else 8
    above = 32 - bits * (int(part[1]) + 1)
    if signed:
        return m.sar(m.shl(value, above) if above else value, 32 - bits)
    if not above:
        return m.shr(value, 32 - bits)
    low = m.shr(value, 32 - bits - above) if 32 - bits - above else value
    return m.and_(low, (1 << bits) - 1)


def pred_src(m: Machine, operand: Pred | None) -> Mask:
    """A source predicate; a form without one reads PT."""
    if operand is None:
        return m.true()
    if operand.index == PT:
        return m.false() if operand.neg else m.true()
    value = m.pred(operand.index)
    return m.mnot(value) if operand.neg else value


def lesser(
    m: Machine, operand: Pred | None, least: Callable[[], Mask], less: Mask, a: Value, b: Value
) -> Value:
    """The smaller of two values where a source predicate holds, else the larger.

    Args:
        least: reads the predicate; less: a is smaller.
    """
    if operand is None or operand.index == PT:
        # One choice, which hosts have an operation for.
        return m.select(less, b, a) if operand is not None and operand.neg else m.select(less, a, b)
    return m.select(m.mxor(less, m.mnot(least())), a, b)


def registers(m: Machine, operand: Reg, count: int) -> list[Value]:
    """`count` consecutive registers, aligned to their number; RZ is all zero."""
    if operand.index == RZ:
        return [0] * count
    check_aligned(m, operand, count)
    return [m.reg(operand.index + k) for k in range(count)]


def check_aligned(m: Machine, operand: Reg, count: int) -> None:
    """Raise MISALIGNED_REG unless the register number is a multiple of `count` (2 or 4)."""
    if operand.index != RZ and operand.index % count:
        m.warp_error("MISALIGNED_REG", detail=f"R{operand.index} holds {32 * count} bits")


def check_run(error: Callable[..., NoReturn], first: int, count: int) -> None:
    """Raise OOR_REG, by `Machine.warp_error`, unless so many registers follow one another."""
    if first + count > RZ:
        error("OOR_REG", detail=f"R{first} and {count - 1} more reach beyond R254")


# ---- destinations ------------------------------------------------------------------------


def write(m: Machine, i: Insn, value: Value, slot: str = "d") -> None:
    """Write the destination register."""
    m.reg_write(i.o[slot].index, value)


def write_registers(m: Machine, operand: Reg, values: Sequence[Value]) -> None:
    """Write consecutive registers, lowest first; RZ discards them all."""
    if operand.index == RZ:
        return
    for k, value in enumerate(values):
        m.reg_write(operand.index + k, value)


def wants_pred(i: Insn, slot: str) -> bool:
    """True when the form has the destination predicate and it is not PT."""
    operand = i.o.get(slot)
    return operand is not None and operand.index != PT


def write_pred(m: Machine, i: Insn, slot: str, value: Mask) -> None:
    """Write a destination predicate where there is one."""
    if wants_pred(i, slot):
        m.pred_write(i.o[slot].index, value)


# ---- condition code ----------------------------------------------------------------------


def is_zero(m: Machine, i: Insn, result: Value) -> Mask:
    """The Z flag of `result`; with `.X` the chained one: also zero so far."""
    zero = m.eq(result, 0)
    return m.mand(zero, m.cc_read("Z")) if i.m["x"] else zero


def write_cc(
    m: Machine, zero: Mask, sign: Mask, carry: Mask, overflow: Mask, high_carry: Mask | None = None
) -> None:
    """Write all flags; every producer but IADD3 clears the hidden high carry."""
    flags: tuple[tuple[Flag, Mask], ...] = (
        ("Z", zero),
        ("S", sign),
        ("C", carry),
        ("O", overflow),
        ("K", m.false() if high_carry is None else high_carry),
    )
    for flag, value in flags:
        m.cc_write(flag, value)


Flags = tuple[Mask, Mask, Mask, Mask]
"""Z, S, C, O of a result."""


def write_flagged(m: Machine, i: Insn, result: Value, flags: Flags | None) -> None:
    """Write the destination register, then the flags where there are some."""
    write(m, i, result)
    if flags is not None:
        write_cc(m, *flags)


def write_logic(m: Machine, i: Insn, result: Value) -> None:
    """Write a result without carry and its `.CC`."""
    write(m, i, result)
    cc_logic(m, i, result)


def cc_logic(m: Machine, i: Insn, result: Value) -> None:
    """`.CC` of a producer without carry: Z and S of the result, C and O clear (inferred)."""
    if i.m["cc"]:
        none = m.false()
        write_cc(m, is_zero(m, i, result), m.bit(result, 31), none, none)


def carry_in(m: Machine, i: Insn, plus_one: bool) -> Value | None:
    """What an adder takes in: the C flag with `.X`, 1 to complete a `-` or `.PO`, or nothing."""
    if i.m["x"]:
        return m.from_mask(m.cc_read("C"))
    return 1 if plus_one else None


def carry_count(m: Machine) -> Value:
    """The carry with its hidden high bit: IADD3.CC leaves 0 to 2 for IADD3.X and XMAD.X."""
    return m.add(m.from_mask(m.cc_read("C")), m.shl(m.from_mask(m.cc_read("K")), 1))


def add_carry(m: Machine, a: Value, b: Value, carry: Value | None) -> tuple[Value, Mask, Mask]:
    """a + b + carry: (sum, carry out of bit 31, signed overflow)."""
    total = m.add(a, b)
    out = m.ult(total, a)
    if carry is not None:
        first, total = total, m.add(total, carry)
        out = m.mor(out, m.ult(total, first))
    overflow = m.bit(m.and_(m.xor(a, total), m.xor(b, total)), 31)
    return total, out, overflow


def saturated(m: Machine, a: Value, total: Value, overflow: Mask) -> Value:
    """Signed saturation of a sum whose first term is `a`."""
    return m.select(overflow, m.select(m.bit(a, 31), SIGN, INT_MAX), total)


def _tests() -> dict[str, Callable[[Machine, Mask, Mask, Mask, Mask], Mask]]:
    """CC test name -> formula over (machine, Z, S, C, O)."""
    return {
        "F": lambda m, z, s, c, o: m.false(),
        "LT": lambda m, z, s, c, o: m.mxor(m.mand(s, m.mnot(z)), o),
        "EQ": lambda m, z, s, c, o: m.mand(z, m.mnot(s)),
        "LE": lambda m, z, s, c, o: m.mxor(s, m.mor(z, o)),
        "GT": lambda m, z, s, c, o: m.mnot(m.mor(z, m.mxor(s, o))),
        "NE": lambda m, z, s, c, o: m.mnot(z),
        "GE": lambda m, z, s, c, o: m.mnot(m.mxor(s, o)),
        "NUM": lambda m, z, s, c, o: m.mnot(m.mand(s, z)),
        "NAN": lambda m, z, s, c, o: m.mand(s, z),
        "LTU": lambda m, z, s, c, o: m.mxor(s, o),
        "EQU": lambda m, z, s, c, o: z,
        "LEU": lambda m, z, s, c, o: m.mor(z, m.mxor(s, o)),
        "GTU": lambda m, z, s, c, o: m.mxor(m.mnot(s), m.mor(z, o)),
        "NEU": lambda m, z, s, c, o: m.mor(s, m.mnot(z)),
        "GEU": lambda m, z, s, c, o: m.mxor(m.mor(m.mnot(s), z), o),
        "T": lambda m, z, s, c, o: m.true(),
        "OFF": lambda m, z, s, c, o: m.mnot(o),
        "LO": lambda m, z, s, c, o: m.mnot(c),
        "SFF": lambda m, z, s, c, o: m.mnot(s),
        "LS": lambda m, z, s, c, o: m.mor(z, m.mnot(c)),
        "HI": lambda m, z, s, c, o: m.mand(c, m.mnot(z)),
        "SFT": lambda m, z, s, c, o: s,
        "HS": lambda m, z, s, c, o: c,
        "OFT": lambda m, z, s, c, o: o,
        "RLE": lambda m, z, s, c, o: m.mor(s, z),
        "RGT": lambda m, z, s, c, o: m.mnot(m.mor(s, z)),
    }


CC_TESTS = _tests()
"""Formulas agree in two public readings of the hardware (inferred); CSM_* and FCSM_* have none."""


def cc_test(m: Machine, name: str) -> Mask:
    """A condition-code test (`BRA CC.NEU`, CSET, CSETP); a graphics state test is a gap."""
    if name == "T":
        return m.true()
    formula = CC_TESTS.get(name)
    if formula is None:
        m.gap(f"condition code test {name}")
        return m.false()
    z, s, c, o = (m.cc_read(flag) for flag in ("Z", "S", "C", "O"))
    return formula(m, z, s, c, o)


# ---- comparing and combining -------------------------------------------------------------


def order(m: Machine, name: str, less: Callable[[], Mask], equal: Callable[[], Mask]) -> Mask:
    """An integer compare operator from its less-than and equal."""
    if name in ("F", "T"):
        return m.true() if name == "T" else m.false()
    if name in ("EQ", "NE"):
        return equal() if name == "EQ" else m.mnot(equal())
    if name in ("LT", "GE"):
        return less() if name == "LT" else m.mnot(less())
    either = m.mor(less(), equal())
    return either if name == "LE" else m.mnot(either)


def int_compare(m: Machine, name: str, a: Value, b: Value, unsigned: bool) -> Mask:
    """`a name b` for F LT EQ LE GT NE GE T."""
    less = m.ult if unsigned else m.slt
    if name == "GT":
        return less(b, a)
    if name == "LE":
        return m.mnot(less(b, a))
    return order(m, name, lambda: less(a, b), lambda: m.eq(a, b))


def boolean(m: Machine, name: str, a: Mask, b: Mask) -> Mask:
    """AND OR XOR of two masks."""
    if name == "AND":
        return m.mand(a, b)
    return m.mor(a, b) if name == "OR" else m.mxor(a, b)


def combine(m: Machine, i: Insn, test: Mask) -> Mask:
    """`test bop pc`, the combine step of every compare."""
    pc, bop = i.o.get("pc"), i.m["bop"]
    if bop == "AND" and (pc is None or pc == Pred(PT)):
        return test
    return boolean(m, bop, test, pred_src(m, pc))


def write_setp(m: Machine, i: Insn, test: Mask) -> None:
    """Both predicates of a *SETP: P = test bop Pc, Q = (not test) bop Pc (documented)."""
    first = combine(m, i, test)
    second = combine(m, i, m.mnot(test)) if wants_pred(i, "q") else None
    write_pred(m, i, "p", first)
    if second is not None:
        write_pred(m, i, "q", second)


def write_set(m: Machine, i: Insn, truth: Mask, one: int = 0x3F800000) -> None:
    """Result of *SET: all ones (`.BF`: 1.0, as the bits `one`) where true, and its `.CC`."""
    write(m, i, m.select(truth, one if i.m["bf"] else ALL_ONES, 0))
    if i.m["cc"]:
        none = m.false()
        write_cc(m, m.mnot(truth), none if i.m["bf"] else truth, none, none)
