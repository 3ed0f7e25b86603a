"""Scalar models: compares, predicates, video, moves and lane exchange."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from gpudbg.isa.operands import Imm
from gpudbg.isa.spa5.insn import Instruction
from tests.semantics.model import (
    M32,
    Effect,
    Lane,
    model,
    result,
    s32,
    sx,
)
from tests.semantics.operands import immediate, index_of, predicate, src, word_of

COMPARE = {
    "F": lambda x, y: False,
    "T": lambda x, y: True,
    "LT": operator.lt,
    "EQ": operator.eq,
    "LE": operator.le,
    "GT": operator.gt,
    "NE": operator.ne,
    "GE": operator.ge,
}
BOOLEAN: dict[str, Callable[[int, int], int]] = {
    "AND": operator.and_,
    "OR": operator.or_,
    "XOR": operator.xor,
}


def cc_truth(name: str, z: int, s: int, c: int, o: int) -> int | None:
    """A condition-code test; None for the graphics state tests."""
    less = s ^ o
    tests = {
        "F": 0, "T": 1, "LT": (s & (1 - z)) ^ o, "EQ": z & (1 - s), "LE": s ^ (z | o),
        "GT": (1 - z) & (1 - less), "NE": 1 - z, "GE": 1 - less, "NUM": (1 - s) | (1 - z),
        "NAN": s & z, "LTU": less, "EQU": z, "LEU": z | less, "GTU": (1 - s) ^ (z | o),
        "NEU": s | (1 - z), "GEU": ((1 - s) | z) ^ o, "OFF": 1 - o, "LO": 1 - c, "SFF": 1 - s,
        "LS": z | (1 - c), "HI": c & (1 - z), "SFT": s, "HS": c, "OFT": o, "RLE": s | z,
        "RGT": (1 - s) & (1 - z),
    }  # fmt: skip
    return tests.get(name)


def compared(i: Instruction, lane: Lane) -> int:
    """The test of ISETP and ISET, `.X` on the whole 64-bit difference."""
    x, y = lane.raw(src(i, "a")), lane.raw(src(i, "b"))
    if not i.m["x"]:
        if not i.m["u32"]:
            x, y = s32(x), s32(y)
        return int(COMPARE[i.m["cmp"]](x, y))
    # The low words' difference was >= 0 (C) and zero (Z): borrow from the high words if not C.
    borrow = 1 - lane.cc("C")
    exact = (x - y if i.m["u32"] else s32(x) - s32(y)) - borrow
    less = exact < 0
    equal = exact & M32 == 0 and bool(lane.cc("Z"))
    name = i.m["cmp"]
    truths = {"F": False, "T": True, "LT": less, "GE": not less, "EQ": equal, "NE": not equal,
              "LE": less or equal, "GT": not (less or equal)}  # fmt: skip
    return int(truths[name])


def set_effect(i: Instruction, truth: int) -> Effect:
    """Result and flags of ISET, PSET, CSET."""
    value = (0x3F800000 if i.m["bf"] else M32) * truth
    flags = {"Z": 1 - truth, "S": truth * (not i.m["bf"]), "C": 0, "O": 0}
    return result(i, value, flags)


def setp_effect(i: Instruction, first: int, second: int) -> Effect | None:
    """Both predicates; which one wins when they are the same is open."""
    if index_of(i, "p") == index_of(i, "q") != 7:
        return None
    return Effect(predicates={index_of(i, "p"): first, index_of(i, "q"): second})


@model("ISETP")
def isetp(i: Instruction, lane: Lane) -> Effect | None:
    truth, pc = compared(i, lane), lane.pred(predicate(i, "pc"))
    bop = BOOLEAN[i.m["bop"]]
    return setp_effect(i, bop(truth, pc), bop(1 - truth, pc))


@model("ISET")
def iset(i: Instruction, lane: Lane) -> Effect | None:
    return set_effect(i, BOOLEAN[i.m["bop"]](compared(i, lane), lane.pred(predicate(i, "pc"))))


@model("ICMP")
def icmp(i: Instruction, lane: Lane) -> Effect | None:
    a, b, c = (lane.raw(src(i, s)) for s in "abc")
    truth = COMPARE[i.m["cmp"]](c if i.m["u32"] else s32(c), 0)
    return result(i, a if truth else b)


@model("SEL")
def sel(i: Instruction, lane: Lane) -> Effect | None:
    return result(i, lane.raw(src(i, "a" if lane.pred(predicate(i, "pc")) else "b")))


def psets(i: Instruction, lane: Lane, flip: int) -> int:
    """((not) Pa bop1 Pb) bop Pc."""
    first = BOOLEAN[i.m["bop1"]](
        lane.pred(predicate(i, "pa")) ^ flip, lane.pred(predicate(i, "pb"))
    )
    return BOOLEAN[i.m["bop"]](first, lane.pred(predicate(i, "pc")))


@model("PSETP")
def psetp(i: Instruction, lane: Lane) -> Effect | None:
    return setp_effect(i, psets(i, lane, 0), psets(i, lane, 1))


@model("PSET")
def pset(i: Instruction, lane: Lane) -> Effect | None:
    return set_effect(i, psets(i, lane, 0))


@model("CSETP", "CSET")
def cset(i: Instruction, lane: Lane) -> Effect | None:
    truth = cc_truth(i.m["cctest"], *(lane.cc(f) for f in "ZSCO"))
    if truth is None:
        return None
    bop, pc = BOOLEAN[i.m["bop"]], lane.pred(predicate(i, "pc"))
    if i.op == "CSET":
        return set_effect(i, bop(truth, pc))
    return setp_effect(i, bop(truth, pc), bop(1 - truth, pc))


# ---- video -------------------------------------------------------------------------------


def video(i: Instruction, lane: Lane, slot: str) -> int:
    """A video source as a number."""
    type_, part = i.m[slot + "type"], src(i, slot).part
    bits = int(type_[1:])
    value = lane.raw(src(i, slot)) >> (bits * int(part[1]) if part else 0)
    return sx(value, bits) if type_[0] == "S" else value & ((1 << bits) - 1)


MERGE = {"MRG_16H": (16, 16), "MRG_16L": (16, 0), "MRG_8B0": (8, 0), "MRG_8B2": (8, 16)}


def limited(value: int, bits: int, signed: bool) -> int:
    """Saturation to an integer type."""
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    return min(max(value, low), high)


def video_effect(i: Instruction, lane: Lane, value: int, signed: bool) -> Effect | None:
    """Saturation and the second step of a video instruction."""
    if i.m["cc"]:
        return None
    post, c = i.m["post"], lane.raw(src(i, "c"))
    bits, at = MERGE.get(post, (32, 0))
    if i.m["sat"]:
        value = limited(value, bits, signed)
    if post == "ACC":
        value += c
    elif post in ("MIN", "MAX"):
        pick = min if post == "MIN" else max
        value = pick(value, s32(c) if signed else c)
    elif post:
        field = ((1 << bits) - 1) << at
        value = value << at & field | c & ~field
    return result(i, value)


@model("VADD")
def vadd(i: Instruction, lane: Lane) -> Effect | None:
    a, b = video(i, lane, "a"), video(i, lane, "b")
    total = (-a if src(i, "a").neg else a) + (-b if src(i, "b").neg else b) + int(bool(i.m["po"]))
    return video_effect(i, lane, total, not i.m["ud"])


@model("VABSDIFF")
def vabsdiff(i: Instruction, lane: Lane) -> Effect | None:
    return video_effect(i, lane, abs(video(i, lane, "a") - video(i, lane, "b")), i.m["sd"])


@model("VMNMX")
def vmnmx(i: Instruction, lane: Lane) -> Effect | None:
    pick = max if i.m["mx"] else min
    return video_effect(i, lane, pick(video(i, lane, "a"), video(i, lane, "b")), not i.m["ud"])


@model("VSHL", "VSHR")
def vshift(i: Instruction, lane: Lane) -> Effect | None:
    count = video(i, lane, "b") & M32
    count = count & 31 if i.m["w"] else min(count, 32)
    a = video(i, lane, "a")
    value = a << count if i.op == "VSHL" else a >> count
    return video_effect(i, lane, value, not i.m["ud"])


@model("VSET")
def vset(i: Instruction, lane: Lane) -> Effect | None:
    truth = COMPARE[i.m["cmp"]](video(i, lane, "a"), video(i, lane, "b"))
    return video_effect(i, lane, int(truth), False)


@model("VSETP")
def vsetp(i: Instruction, lane: Lane) -> Effect | None:
    truth = int(COMPARE[i.m["cmp"]](video(i, lane, "a"), video(i, lane, "b")))
    bop, pc = BOOLEAN[i.m["bop"]], lane.pred(predicate(i, "pc"))
    return setp_effect(i, bop(truth, pc), bop(1 - truth, pc))


@model("VMAD")
def vmad(i: Instruction, lane: Lane) -> Effect | None:
    if i.m["cc"]:
        return None
    a, b, c = video(i, lane, "a"), video(i, lane, "b"), lane.raw(src(i, "c"))
    negated = src(i, "a").neg != src(i, "b").neg
    signed = "S" in i.m["atype"] + i.m["btype"] or negated or src(i, "c").neg
    product = -a * b if negated else a * b
    third = s32(c) if signed else c
    total = product + (-third if src(i, "c").neg else third) + int(bool(i.m["po"]))
    value = total >> {"": 0, "SHR_7": 7, "SHR_15": 15}[i.m["vshift"]]
    return result(i, limited(value, 32, signed) if i.m["sat"] else value)


@model("VABSDIFF4")
def vabsdiff4(i: Instruction, lane: Lane) -> Effect | None:
    if isinstance(src(i, "b"), Imm) or i.m["cc"]:
        return None
    a, b, c = (lane.raw(src(i, s)) for s in "abc")
    source = (b << 32 | a).to_bytes(8, "little")
    out = bytearray(c.to_bytes(4, "little"))
    total = c
    for k in range(4):
        if "XYZW"[k] not in i.m["lanes"]:
            continue
        x, y = source[int(src(i, "a").part[3 - k])], source[int(src(i, "b").part[3 - k])]
        x, y = (sx(v, 8) if t[0] == "S" else v for v, t in ((x, i.m["atype"]), (y, i.m["btype"])))
        value = abs(x - y)
        if i.m["sat"]:
            value = limited(value, 8, i.m["sd"])
        total += value
        out[k] = value & 0xFF
    return result(i, total if i.m["post"] == "ACC" else int.from_bytes(out, "little"))


@model("IDP")
def idp(i: Instruction, lane: Lane) -> Effect | None:
    a, b, total = (lane.raw(src(i, s)) for s in "abc")
    wide = 8 if i.m["mode"] == "4A" else 16
    first = 2 if i.m["mode"] == "2A.HI" else 0
    for k in range(32 // wide):
        x, y = a >> wide * k & ((1 << wide) - 1), b >> 8 * (k + first) & 0xFF
        x = sx(x, wide) if i.m["atype"][0] == "S" else x
        y = sx(y, 8) if i.m["btype"][0] == "S" else y
        total += x * y
    return result(i, total)


# ---- moves -------------------------------------------------------------------------------


@model("MOV", "MOV32I")
def mov(i: Instruction, lane: Lane) -> Effect | None:
    if immediate(i, "imm") >> (lane.index & 3) & 1:
        return result(i, lane.raw(src(i, "b")))
    return Effect()


@model("S2R")
def s2r(i: Instruction, lane: Lane) -> Effect | None:
    return result(i, index_of(i, "sr"))


@model("CS2R")
def cs2r(i: Instruction, lane: Lane) -> Effect | None:
    return result(i, index_of(i, "sr") + 1000)


def file_bits(i: Instruction, lane: Lane) -> list[int]:
    """P0..P6 or Z S C O as bits."""
    if word_of(i, "file") == "PR":
        return [lane.state.pred(n, lane.index) for n in range(7)]
    return [lane.cc(f) for f in "ZSCO"]


@model("P2R")
def p2r(i: Instruction, lane: Lane) -> Effect | None:
    value, mask = lane.raw(src(i, "a")), lane.raw(src(i, "b"))
    shift = 8 * int((i.m["part"] or "B0")[1])
    for n, bit in enumerate(file_bits(i, lane)):
        if mask >> n & 1:
            value = value & ~(1 << (n + shift)) | bit << (n + shift)
    return result(i, value)


@model("R2P")
def r2p(i: Instruction, lane: Lane) -> Effect | None:
    byte = lane.raw(src(i, "a")) >> 8 * int((src(i, "a").part or "B0")[1])
    mask = lane.raw(src(i, "b"))
    new = [byte >> n & 1 if mask >> n & 1 else old for n, old in enumerate(file_bits(i, lane))]
    if word_of(i, "file") == "PR":
        return Effect(predicates=dict(enumerate(new)))
    return Effect(flags=dict(zip("ZSCO", new, strict=True)) | {"K": 0})


@model("LEPC")
def lepc(i: Instruction, lane: Lane) -> Effect | None:
    return result(i, 16)


def _segment(i: Instruction, lane: Lane) -> tuple[int, int, int, int]:
    """SHFL's (index, first lane, last lane, outside mask) of this lane."""
    b, c = lane.raw(src(i, "b")) & 31, lane.raw(src(i, "c"))
    keep = c >> 8 & 31
    outside = ~keep & 31
    first = lane.index & keep
    return b, first, first | (c & 31 & outside), outside


@model("SHFL")
def shfl(i: Instruction, lane: Lane) -> Effect | None:
    b, first, last, outside = _segment(i, lane)
    mode = i.m["mode"]
    if mode == "IDX":
        source = first | (b & outside)
    else:
        source = {"UP": lane.index - b, "DOWN": lane.index + b, "BFLY": lane.index ^ b}[mode]
    inside = source >= last if mode == "UP" else source <= last
    other = Lane(lane.state, source % 32 if inside else lane.index, lane.constant)
    effect = result(i, other.raw(src(i, "a")))
    effect.predicates[index_of(i, "p")] = int(inside)
    return effect


@model("VOTE")
def vote(i: Instruction, lane: Lane) -> Effect | None:
    if "d" not in i.o:
        return Effect()
    index, negated = i.guard
    lanes = [
        k for k in range(32) if lane.state.active >> k & 1 and lane.state.pred(index, k) ^ negated
    ]
    votes = {k: Lane(lane.state, k, lane.constant).pred(predicate(i, "pc")) for k in lanes}
    values = set(votes.values())
    truth: dict[str, Any] = {"ALL": 0 not in values, "ANY": 1 in values, "EQ": len(values) <= 1}
    effect = result(i, sum(v << k for k, v in votes.items()))
    effect.predicates[index_of(i, "p")] = int(truth[i.m["mode"]])
    return effect


def shown(i: Instruction, lane: Lane) -> str:
    """Operands of a lane, for messages."""
    parts = [f"lane {lane.index}"]
    for slot in "abc":
        if slot in i.o and hasattr(src(i, slot), "neg"):
            parts.append(f"{slot}={lane.raw(src(i, slot)):#x}")
    return " ".join(parts) + f" flags {''.join(f for f in 'ZSCOK' if lane.cc(f))}"
