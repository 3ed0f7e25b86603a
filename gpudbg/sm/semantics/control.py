"""Flow, divergence stack, barriers.

A flow instruction acts on the executing lanes whose condition-code test holds; the others fall
through.  A target in constant memory takes the place of the instruction's own field (modelled).
"""

from __future__ import annotations

from gpudbg.isa.operands import Imm, Reg
from gpudbg.sm.semantics.machine import Machine, Mask, TokenKind, Value
from gpudbg.sm.semantics.operands import Insn, cc_test, pred_src, raw
from gpudbg.sm.semantics.rows import register

_ABSOLUTE = frozenset(("JMP", "JMX", "JCAL"))

REACH = 1 << 24
"""Farther than the 24-bit distance of relative flow goes."""

PUSHES: dict[str, TokenKind] = {
    "SSY": "SSY",
    "PBK": "PBK",
    "PCNT": "PCNT",
    "PRET": "RET",
    "PLONGJMP": "PLONGJMP",
    "PEXIT": "PEXIT",
}
"""Mnemonic -> token that it pushes."""

_POPS: dict[str, TokenKind] = {
    "SYNC": "SSY",
    "BRK": "PBK",
    "CONT": "PCNT",
    "RET": "RET",
    "LONGJMP": "PLONGJMP",
}


def _lanes(m: Machine, i: Insn) -> Mask:
    """Executing lanes whose CC test holds."""
    test = i.m["cctest"]
    return m.lanes() if test in ("T", "", False) else m.mand(m.lanes(), cc_test(m, test))


def _target(m: Machine, i: Insn) -> int | Value:
    """Where the instruction goes: an address, or one per lane."""
    place = i.o.get("cbank")
    if place is not None:
        value = m.const(place.bank, place.offset)
        if place.base is not None:
            value = m.add(value, m.reg(place.base.index))
        return value if i.op in _ABSOLUTE else m.add(value, m.pc() + 8)
    target = i.o["target"]
    address = target.address(m.pc())
    if target.base is None or target.base.is_zero:
        # A distance that reaches below address 0 comes out near 2^32: the engines see it negative.
        wrapped = i.op not in _ABSOLUTE and address - m.pc() > REACH
        return int(address) - (1 << 32 if wrapped else 0)
    return m.add(m.reg(target.base.index), address)


@register("BRA", "BRX", "JMP", "JMX")
def branch(m: Machine, i: Insn) -> None:
    """Branch; `.U` and `.LMT` are hints."""
    target = _target(m, i)
    m.branch(_lanes(m, i), target)


@register("CAL", "JCAL")
def call(m: Machine, i: Insn) -> None:
    """Push the return address and go; `.NOINC` is ignored (modelled)."""
    m.call(_target(m, i))


@register(*PUSHES)
def push(m: Machine, i: Insn) -> None:
    """Push a token for the active lanes."""
    m.push(PUSHES[i.op], _target(m, i))


@register(*_POPS)
def pop(m: Machine, i: Insn) -> None:
    """Wait for, or take, the matching token."""
    m.pop(_POPS[i.op], _lanes(m, i))


@register("EXIT", "KIL")
def exit_(m: Machine, i: Insn) -> None:
    """End the lanes; KIL has no other meaning in compute (modelled)."""
    m.exit(_lanes(m, i))


@register("SAM", "RAM")
def quad_mask(m: Machine, i: Insn) -> None:
    """Turn on whole quads, or restore the saved mask (inferred: quadon, quadpop)."""
    m.quad_activate(i.op == "SAM")


@register("NOP")
def nop(m: Machine, i: Insn) -> None:
    """Nothing; `.TRIG` counts a performance event that is not modelled."""


def _barrier_count(m: Machine, operand: Reg | Imm | None, packed: bool) -> Value | None:
    """Threads a barrier waits for; `packed`: in bits 16..27 of a register, else in its low bits.

    Compilers pack id and count into one register, `BFI R, n, 0xc10, id; BAR.SYNC R, R`, and use
    the plain count beside an immediate id (inferred).
    """
    if operand is None:
        return None
    if isinstance(operand, Imm):
        return operand.value or None
    count = m.reg(operand.index)
    return m.and_(m.shr(count, 16) if packed else count, 0xFFF)


@register("BAR")
def bar(m: Machine, i: Insn) -> None:
    """CTA barrier: SYNC waits, ARV arrives, RED also combines Pc (result by B2R.RESULT)."""
    mode = i.m["mode"]
    if mode in ("SCAN", "SYNCALL"):
        m.gap(f"BAR.{mode}")
    identity = raw(m, i.o["id"])
    if isinstance(i.o["id"], Reg):
        identity = m.and_(identity, 0xFFFF)
    count = _barrier_count(m, i.o.get("n"), isinstance(i.o["id"], Reg))
    pred = pred_src(m, i.o.get("pc")) if mode == "RED" else None
    m.barrier(mode, identity, count, i.m["red"] if mode == "RED" else "", pred)
