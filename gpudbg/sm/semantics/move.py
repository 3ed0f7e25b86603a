"""Moves, predicate files, lanes: MOV S2R CS2R R2P P2R SHFL VOTE LDC B2R R2B."""

from __future__ import annotations

from gpudbg.isa.operands import RZ, Imm
from gpudbg.sm.semantics.machine import Flag, Machine, Mask, Value
from gpudbg.sm.semantics.memory import SIZES, check_data
from gpudbg.sm.semantics.operands import (
    ALL_ONES,
    Insn,
    pred_src,
    raw,
    wants_pred,
    write,
    write_pred,
    write_registers,
)
from gpudbg.sm.semantics.rows import register

_FLAGS: tuple[Flag, ...] = ("Z", "S", "C", "O")
"""Condition-code flags in the order of P2R and R2P, bit 0 first."""


@register("MOV", "MOV32I")
def mov(m: Machine, i: Insn) -> None:
    """Copy, in the lanes whose place in the quad is set in the mask (15 prints nothing)."""
    value = raw(m, i.o["b"])
    quad = i.o.get("imm")
    if quad is not None and quad.value & 15 != 15:
        own = m.reg(i.o["d"].index)
        value = m.select(m.mask((quad.value & 15) * 0x11111111), value, own)
    write(m, i, value)


@register("S2R")
def s2r(m: Machine, i: Insn) -> None:
    """Read a special register."""
    write(m, i, m.sreg(i.o["sr"].index))


@register("CS2R")
def cs2r(m: Machine, i: Insn) -> None:
    """Read a coupled special register: one 32-bit register (inferred)."""
    write(m, i, m.sreg_coupled(i.o["sr"].index))


def _file(i: Insn) -> tuple[bool, int]:
    """(is the predicate file, number of bits) of P2R and R2P."""
    return (True, 7) if i.o["file"].text == "PR" else (False, len(_FLAGS))


@register("P2R")
def p2r(m: Machine, i: Insn) -> None:
    """Ra with the masked bits of one byte replaced by P0..P6 or the flags Z S C O."""
    predicates, count = _file(i)
    selected = m.and_(raw(m, i.o["b"]), (1 << count) - 1)
    bits: Value = 0
    for n in range(count):
        one = m.from_mask(m.pred(n) if predicates else m.cc_read(_FLAGS[n]))
        bits = m.or_(bits, m.shl(one, n)) if n else one
    at = 8 * int((i.m["part"] or "B0")[1])
    mask = m.shl(selected, at)
    kept = m.and_(raw(m, i.o["a"]), m.not_(mask))
    write(m, i, m.or_(kept, m.and_(m.shl(bits, at), mask)))


@register("R2P")
def r2p(m: Machine, i: Insn) -> None:
    """Set the masked predicates or flags from one byte of Ra."""
    predicates, count = _file(i)
    byte = m.shr(raw(m, i.o["a"]), 8 * int((i.o["a"].part or "B0")[1]))
    selector = i.o["b"]
    which = [n for n in range(count) if not isinstance(selector, Imm) or selector.value >> n & 1]
    mask = raw(m, selector)
    new: list[Mask] = []
    for n in which:
        old = m.pred(n) if predicates else m.cc_read(_FLAGS[n])
        bit = m.bit(byte, n)
        new.append(bit if isinstance(selector, Imm) else m.mselect(m.bit(mask, n), bit, old))
    for n, value in zip(which, new, strict=True):
        if predicates:
            m.pred_write(n, value)
        else:
            m.cc_write(_FLAGS[n], value)
    if not predicates:
        m.cc_write("K", m.false())


@register("SHFL")
def shfl(m: Machine, i: Insn) -> None:
    """Another lane's register; own value and P false outside the segment (documented: shfl)."""
    a, b, c = (raw(m, i.o[slot]) for slot in "abc")
    found, inside = shuffled(m, a, b, c, i.m["mode"])
    write(m, i, found)
    write_pred(m, i, "p", inside)


def shuffled(
    m: Machine, value: Value, index: Value, control: Value, mode: str
) -> tuple[Value, Mask]:
    """What SHFL reads from other lanes, and whether they lie in the lane's segment."""
    lane, index = m.lane_id(), m.and_(index, 31)
    segment = m.and_(m.shr(control, 8), 31)
    outside = m.not_(segment)
    base = m.and_(lane, segment)
    limit = m.or_(base, m.and_(m.and_(control, 31), outside))
    if mode == "IDX":
        source = m.or_(base, m.and_(index, outside))
    elif mode == "UP":
        source = m.sub(lane, index)
    elif mode == "DOWN":
        source = m.add(lane, index)
    else:
        source = m.xor(lane, index)
    inside = m.mnot(m.slt(source, limit) if mode == "UP" else m.slt(limit, source))
    return m.lane_read(value, m.select(inside, source, lane)), inside


@register("VOTE")
def vote(m: Machine, i: Insn) -> None:
    """and / or / all-equal over the executing lanes; Rd is their ballot in every mode."""
    mode = i.m["mode"]
    if mode in ("R", "A", "RA"):
        return
    source = pred_src(m, i.o["pc"])
    here = m.lanes()
    yes = m.ballot(m.mand(here, source))
    write(m, i, yes)
    if wants_pred(i, "p"):
        no = m.ballot(m.mand(here, m.mnot(source)))
        any_, all_ = m.mnot(m.eq(yes, 0)), m.eq(no, 0)
        equal = m.mor(all_, m.mnot(any_))
        write_pred(m, i, "p", {"ANY": any_, "ALL": all_, "EQ": equal}[mode])


@register("LDC")
def ldc(m: Machine, i: Insn) -> None:
    """c[bank][Ra + offset]; `.IS` and `.ISL` carry bits 16.. into the bank number (inferred)."""
    size, signed = SIZES[i.m["size"]]
    place = i.o["cbank"]
    check_data(m, i.o["d"], size)
    offset: Value = place.offset & ALL_ONES
    if place.base is not None and place.base.index != RZ:
        offset = m.add(m.reg(place.base.index), offset)
    bank: Value = place.bank
    if i.m["mode"] in ("IS", "ISL"):
        bank = m.add(bank, m.shr(offset, 16))
        offset = m.and_(offset, 0xFFFF)
    write_registers(m, i.o["d"], m.const_load(bank, offset, size, signed))


@register("B2R")
def b2r(m: Machine, i: Insn) -> None:
    """`.RESULT`: count and truth of this warp's last BAR.RED; the raw state is not modelled."""
    if i.m["mode"] != "RESULT":
        m.gap("B2R without .RESULT (layout of the barrier state)")
    count, truth = m.barrier_result()
    write(m, i, count)
    write_pred(m, i, "p", truth)


@register("R2B", stops="layout of the barrier state unknown")
def r2b(m: Machine, i: Insn) -> None:
    """Restores barrier state whose layout is unknown."""
    m.gap("R2B (layout of the barrier state)")
