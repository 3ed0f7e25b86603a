"""Moves, special registers, and what lanes tell one another: MOV S2R R2UR SHFL VOTE MATCH REDUX."""

from __future__ import annotations

from gpudbg.isa.operands import Imm, Pred
from gpudbg.sm.semantics.float_operands import F32_NAN
from gpudbg.sm.semantics.machine import Mask, Value, WideMachine
from gpudbg.sm.semantics.move import shuffled
from gpudbg.sm.semantics.operands import ALL_ONES
from gpudbg.sm.semantics.rows import register_wide
from gpudbg.sm.semantics.wide.floats import extremes
from gpudbg.sm.semantics.wide.operands import (
    WideInsn,
    chosen,
    predicate,
    raw,
    raw_pair,
    wanted,
    write,
    write_pair,
    write_predicate,
    write_registers,
)

SRZ = 255


@register_wide("MOV64IUR")
def mov64(m: WideMachine, i: WideInsn) -> None:
    """A copy of a pair."""
    write_pair(m, i, raw_pair(m, i.o.get("a") or i.o["imm"]))


@register_wide("MOV", "UMOV")
def mov(m: WideMachine, i: WideInsn) -> None:
    """A copy, in the lanes of each quad that the mask names."""
    if "64" in i.m:
        write_pair(m, i, raw_pair(m, i.o.get("a") or i.o["imm"]))
        return
    value = raw(m, i.o["a"])
    mask = i.o.get("imm")
    if isinstance(mask, Imm) and mask.value != 0xF and i.op == "MOV":
        lanes = sum(0x11111111 << n for n in range(4) if mask.value >> n & 1)
        value = m.select(m.mask(lanes), value, m.reg(i.o["d"].index))
    write(m, i, value)


def _special(m: WideMachine, number: int) -> Value:
    return 0 if number == SRZ else m.sreg(number)


@register_wide("S2R", "S2UR")
def s2r(m: WideMachine, i: WideInsn) -> None:
    """A special register."""
    write(m, i, _special(m, i.o["sr"].index))


@register_wide("CS2R", "CS2UR")
def cs2r(m: WideMachine, i: WideInsn) -> None:
    """A special register, or two that follow one another."""
    number = i.o["sr"].index
    values = [_special(m, number)]
    if "32" not in i.m:
        values.append(0 if number == SRZ else _special(m, number + 1))
    write_registers(m, i.o["d"], values)


@register_wide("R2UR")
def r2ur(m: WideMachine, i: WideInsn) -> None:
    """The lowest executing lane's value; P: this lane's differs, `.OR`: or P was true before.

    Loops over the values of a pair of registers collect in P whether either differs (*inferred*
    from compiled code).
    """
    value = raw(m, i.o["a"])
    first = m.lane_read(value, _first_lane(m))
    differs = m.mnot(m.eq(value, first))
    if "OR" in i.m:
        differs = m.mor(differs, predicate(m, i.o["p"]))
    write(m, i, first)
    if wanted(i, "p"):
        write_predicate(m, i, "p", differs)


def _first_lane(m: WideMachine) -> Value:
    here = m.ballot(m.lanes())
    return m.sub(31, m.clz(m.and_(here, m.sub(0, here))))


@register_wide("SHFL")
def shfl(m: WideMachine, i: WideInsn) -> None:
    """Another lane's register, 0 of one that does not execute (measured on H100); own value and P
    false outside the segment (documented)."""
    sources = [o for o in i.operands if not isinstance(o, Pred)]
    value, index, control = (raw(m, o) for o in sources[1:4])
    mode = chosen(i, ("IDX", "UP", "DOWN", "BFLY"))
    found, inside = shuffled(m, m.select(m.lanes(), value, 0), index, control, mode)
    write(m, i, found)
    write_predicate(m, i, "p", inside)


@register_wide("VOTE", "VOTEU")
def vote(m: WideMachine, i: WideInsn) -> None:
    """and / or / all-equal over the executing lanes; Rd is their ballot."""
    source, here = predicate(m, i.o["pa"]), m.lanes()
    yes = m.ballot(m.mand(here, source))
    no = m.ballot(m.mand(here, m.mnot(source)))
    any_, all_ = m.mnot(m.eq(yes, 0)), m.eq(no, 0)
    write(m, i, yes)
    equal = m.mor(all_, m.mnot(any_))
    mode = chosen(i, ("ANY", "ALL", "EQ"), "ANY")
    write_predicate(m, i, "p", {"ANY": any_, "ALL": all_, "EQ": equal}[mode])


@register_wide("MATCH")
def match(m: WideMachine, i: WideInsn) -> None:
    """`.ANY`: executing lanes with an equal value; `.ALL`: all of them where all are equal."""
    wide = "U64" in i.m
    low: Value = 0
    high: Value = 0
    if wide:
        pair = raw_pair(m, i.o["a"])
        low, high = m.lo(pair), m.hi(pair)
    else:
        low = raw(m, i.o["a"])
    here = m.lanes()
    result: Value = 0
    for lane in range(32):
        same = m.eq(low, m.lane_read(low, lane))
        if wide:
            same = m.mand(same, m.eq(high, m.lane_read(high, lane)))
        bit = m.and_(m.ballot(here), 1 << lane)
        result = m.or_(result, m.select(same, bit, 0))
    if "ALL" in i.m:
        every = m.eq(result, m.ballot(here))
        write(m, i, m.select(every, result, 0))
        write_predicate(m, i, "p", every)
    else:
        write(m, i, result)


def _reduced(m: WideMachine, value: Value, operation: object, neutral: int) -> Value:
    """A value of all executing lanes, the same in each."""
    total = m.select(m.lanes(), value, neutral)
    for step in (1, 2, 4, 8, 16):
        other = m.lane_read(total, m.xor(m.lane_id(), step))
        total = operation(total, other)  # type: ignore[operator]
    return total


def _reduced_floats(m: WideMachine, i: WideInsn) -> Value:
    """The smallest or largest number, of absolute values with `ABS`; NaN counts with `.NAN`."""
    largest, keeps_nan = chosen(i, ("MAX", "MAXABS")) != "", "NAN" in i.m
    value = raw(m, i.o["a"])
    if chosen(i, ("MINABS", "MAXABS")):
        value = m.and_(value, 0x7FFFFFFF)
    # A lane that is off counts for nothing: NaN does where numbers win, an infinity where NaN does.
    neutral = (0xFF800000 if largest else 0x7F800000) if keeps_nan else F32_NAN
    pick = int(largest)
    return _reduced(m, value, lambda a, b: extremes(m, a, b, keeps_nan)[pick], neutral)


@register_wide("REDUX", "CREDUX")
def redux(m: WideMachine, i: WideInsn) -> None:
    """and, or, xor, sum, minimum, maximum over the executing lanes."""
    if "F32" in i.m:
        write(m, i, _reduced_floats(m, i))
        return
    name = chosen(i, ("OR", "XOR", "SUM", "MIN", "MAX"), "AND")
    signed = "S32" in i.m

    def least(a: Value, b: Value) -> Value:
        return m.select(m.slt(a, b) if signed else m.ult(a, b), a, b)

    def most(a: Value, b: Value) -> Value:
        return m.select(m.slt(a, b) if signed else m.ult(a, b), b, a)

    table = {
        "AND": (m.and_, ALL_ONES), "OR": (m.or_, 0), "XOR": (m.xor, 0), "SUM": (m.add, 0),
        "MIN": (least, 0x7FFFFFFF if signed else ALL_ONES),
        "MAX": (most, 0x80000000 if signed else 0),
    }  # fmt: skip
    write(m, i, _reduced(m, raw(m, i.o["a"]), *table[name]))


@register_wide("ELECT")
def elect(m: WideMachine, i: WideInsn) -> None:
    """The lowest lane is the leader: P there, and its number (*modelled*)."""
    first = _first_lane(m)
    leader: Mask = m.eq(m.lane_id(), first)
    write(m, i, first)
    write_predicate(m, i, "p", leader)


@register_wide("LEPC", "ULEPC")
def lepc(m: WideMachine, i: WideInsn) -> None:
    """The instruction's own address, or a target's."""
    target = i.target(m.pc())
    address = m.pc() if target is None else target
    write_registers(m, i.o["d"], [address & ALL_ONES, address >> 32])
