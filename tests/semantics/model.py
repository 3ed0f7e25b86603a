"""Scalar models of integer instructions on Python integers: one lane at a time.

Written from the documents, not from the emulator's code: sums are exact integers, carries and
overflows are read off them, fields are cut bit by bit.  A model takes (insn, lane) and returns an
`Effect`; None means that the documents leave the case open and nothing is compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from gpudbg.isa.operands import Const, Imm, Pred, Reg
from gpudbg.isa.spa5.insn import Instruction
from tests.semantics.harness import State
from tests.semantics.operands import Source, immediate, index_of, predicate, src

M32 = 0xFFFFFFFF
M64 = 0xFFFFFFFFFFFFFFFF


def s32(value: int) -> int:
    """Two's complement of the low 32 bits."""
    return sx(value, 32)


def sx(value: int, bits: int) -> int:
    """Two's complement of the low `bits`."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


@dataclass
class Effect:
    """What one lane writes: registers by number, predicates by number, flags by name."""

    registers: dict[int, int] = field(default_factory=dict)
    predicates: dict[int, int] = field(default_factory=dict)
    flags: dict[str, int] = field(default_factory=dict)


@dataclass
class Lane:
    """One lane's view of the state."""

    state: State
    index: int
    constant: Callable[[int, int], int]

    def raw(self, operand: Source) -> int:
        """A source before its modifiers."""
        if isinstance(operand, Reg):
            return self.state.lane(operand.index, self.index)
        if isinstance(operand, Const):
            return self.constant(operand.bank, operand.offset)
        assert isinstance(operand, Imm)
        return operand.value & M32

    def part(self, operand: Source, kind: str = "U") -> int:
        """A source's half or byte as a number."""
        value, part = self.raw(operand), operand.part
        if part:
            size = {"H": 16, "B": 8}[part[0]]
            value = value >> size * int(part[1]) & ((1 << size) - 1)
            return sx(value, size) if kind == "S" else value
        return s32(value) if kind == "S" else value

    def cc(self, name: str) -> int:
        """A flag before the instruction."""
        return self.state.flag(name, self.index)

    def pred(self, operand: Pred) -> int:
        """A source predicate."""
        return self.state.pred(operand.index, self.index) ^ operand.neg


Model = Callable[[Instruction, Lane], "Effect | None"]


class Models(dict[str, Model]):
    """Models by mnemonic; called, it is a decorator that enters one under its mnemonics."""

    def __call__(self, *names: str) -> Callable[[Model], Model]:
        def enter(function: Model) -> Model:
            self.update(dict.fromkeys(names, function))
            return function

        return enter


MODELS = model = Models()


def result(i: Instruction, value: int, flags: dict[str, int] | None = None) -> Effect:
    """An effect on Rd, with flags where the instruction has .CC."""
    effect = Effect({index_of(i, "d"): value & M32})
    if i.m["cc"] and flags is not None:
        effect.flags = {"K": 0} | flags
    return effect


def plain_flags(i: Instruction, lane: Lane, value: int) -> dict[str, int]:
    """Z and S of a result, C and O clear."""
    value &= M32
    zero = int(value == 0)
    if i.m["x"]:
        zero &= lane.cc("Z")
    return {"Z": zero, "S": value >> 31, "C": 0, "O": 0}


def add_flags(
    i: Instruction, lane: Lane, terms: list[tuple[int, bool]], one: int
) -> dict[str, int]:
    """Flags of a sum: terms are (32-bit pattern, complemented), `one` what is added to them."""
    wide = sum(~v & M32 if inverted else v for v, inverted in terms) + one
    exact = sum(~s32(v) if inverted else s32(v) for v, inverted in terms) + one
    flags = plain_flags(i, lane, wide)
    return flags | {"C": wide >> 32 & 1, "O": int(exact != s32(wide))}


def extra(i: Instruction, lane: Lane, negations: int) -> int:
    """What a sum adds to its complemented terms: the carry with .X, else a 1 per negation."""
    if i.m["x"]:
        return lane.cc("C")
    return negations + int(bool(i.m["po"]))


def sat32(value: int) -> int:
    """Signed saturation."""
    return min(max(value, -(1 << 31)), (1 << 31) - 1)


@model("IADD", "IADD32I")
def iadd(i: Instruction, lane: Lane) -> Effect | None:
    a, b = src(i, "a"), src(i, "b")
    if i.m["x"] and i.m["po"]:
        return None
    x, y = lane.raw(a), lane.raw(b)
    one = extra(i, lane, a.neg + b.neg)
    flags = add_flags(i, lane, [(x, a.neg), (y, b.neg)], one)
    if not i.m["sat"]:
        total = (~x if a.neg else x) + (~y if b.neg else y) + one
        return result(i, total, flags)
    exact = (~s32(x) if a.neg else s32(x)) + (~s32(y) if b.neg else s32(y)) + one
    value = sat32(exact)
    fresh = plain_flags(i, lane, value)
    flags |= {"Z": fresh["Z"], "S": fresh["S"], "O": int(value != exact)}
    return result(i, value, flags)


@model("IADD3")
def iadd3(i: Instruction, lane: Lane) -> Effect | None:
    parts = [lane.part(src(i, s)) for s in "abc"]
    negs = [src(i, s).neg for s in "abc"]
    inverted = [~v & M32 if n else v for v, n in zip(parts, negs, strict=True)]
    ones = [int(n and not i.m["x"]) for n in negs]
    carry = lane.cc("C") + 2 * lane.cc("K") if i.m["x"] else 0
    first = inverted[0] + inverted[1] + ones[0] + ones[1]
    if i.m["shift"] == "RS":
        first = (first & 0x1FFFFFFFF) >> 16
    elif i.m["shift"] == "LS":
        first <<= 16
    total = first + inverted[2] + ones[2] + carry
    flags = plain_flags(i, lane, total)
    flags |= {"C": total >> 32 & 1, "K": total >> 33 & 1}
    if i.m["shift"]:
        exact = s32(first & M32) + s32(inverted[2]) + ones[2] + carry
    else:
        exact = sum(s32(v) for v in inverted) + sum(ones) + carry
    flags["O"] = int(exact != s32(total))
    return result(i, total, flags)


@model("ISCADD", "ISCADD32I")
def iscadd(i: Instruction, lane: Lane) -> Effect | None:
    a, b = src(i, "a"), src(i, "b")
    shifted = lane.raw(a) << immediate(i, "imm") & M32
    y = lane.raw(b)
    one = extra(i, lane, a.neg + b.neg)
    flags = add_flags(i, lane, [(shifted, a.neg), (y, b.neg)], one)
    return result(i, (~shifted if a.neg else shifted) + (~y if b.neg else y) + one, flags)


@model("LEA")
def lea(i: Instruction, lane: Lane) -> Effect | None:
    a, b, s = src(i, "a"), src(i, "b"), immediate(i, "imm")
    y = lane.raw(b)
    if not i.m["hi"]:
        x = lane.raw(a) << s & M32
        one = extra(i, lane, a.neg)
        effect = result(
            i, (~x if a.neg else x) + y + one, add_flags(i, lane, [(x, a.neg), (y, False)], one)
        )
        low = effect.registers[index_of(i, "d")]
        high = 0
    else:
        index = lane.raw(a) | lane.raw(src(i, "c")) << 32
        moved = index << s
        low = moved & M32
        if a.neg and not i.m["x"]:
            moved = -moved
        x = moved >> 32 & M32
        inverted = a.neg and i.m["x"]
        one = lane.cc("C") if i.m["x"] else 0
        effect = result(
            i,
            (~x if inverted else x) + y + one,
            add_flags(i, lane, [(x, bool(inverted)), (y, False)], one),
        )
        high = effect.registers[index_of(i, "d")]
    address = high << 32 | low
    outside = not 0x1000000 <= address < 0x3000000
    effect.predicates[index_of(i, "p")] = int(outside)
    return effect


@model("IMNMX")
def imnmx(i: Instruction, lane: Lane) -> Effect | None:
    x, y = lane.raw(src(i, "a")), lane.raw(src(i, "b"))
    chain = i.m["xmode"]
    low = bool(lane.pred(predicate(i, "pc")))
    unsigned = i.m["u32"] or chain in ("XLO", "XMED")
    less = x < y if unsigned else s32(x) < s32(y)
    equal = x == y
    if chain in ("XLO", "XMED"):
        if not lane.cc("Z"):
            less, equal = not lane.cc("C"), False
    value = x if less == low else y
    flags = plain_flags(i, lane, value)
    if chain:
        flags |= {"Z": int(equal), "C": int(not less)}
    return result(i, value, flags)


@model("FLO")
def flo(i: Instruction, lane: Lane) -> Effect | None:
    value = lane.raw(src(i, "b"))
    if src(i, "b").inv:
        value = ~value & M32
    if src(i, "b").neg:
        value = -value & M32
    if not i.m["u32"] and value >> 31:
        value = ~value & M32
    at = next((k for k in range(31, -1, -1) if value >> k & 1), None)
    out = M32 if at is None else 31 - at if i.m["sh"] else at
    return result(i, out, plain_flags(i, lane, out))


@model("POPC")
def popc(i: Instruction, lane: Lane) -> Effect | None:
    value = lane.raw(src(i, "b"))
    if src(i, "b").inv:
        value = ~value & M32
    return result(i, bin(value).count("1"))


def number(value: int, type_: str) -> int:
    """A 32-bit pattern as a number by its type letter."""
    return value if type_[0] == "U" else s32(value)


@model("IMUL", "IMUL32I")
def imul(i: Instruction, lane: Lane) -> Effect | None:
    product = number(lane.raw(src(i, "a")), i.m["atype"]) * number(
        lane.raw(src(i, "b")), i.m["btype"]
    )
    value = product >> 32 if i.m["hi"] else product
    return result(i, value, plain_flags(i, lane, value))


@model("IMAD", "IMAD32I")
def imad(i: Instruction, lane: Lane) -> Effect | None:
    a, b, c = src(i, "a"), src(i, "b"), src(i, "c")
    product = number(lane.raw(a), i.m["atype"]) * number(lane.raw(b), i.m["btype"])
    if a.neg != b.neg:
        product = -product
    term = (product >> 32 if i.m["hi"] else product) & M32
    y = lane.raw(c)
    if i.m["x"] and (i.m["po"] or i.m["sat"]):
        return None
    one = extra(i, lane, int(c.neg))
    flags = add_flags(i, lane, [(term, False), (y, c.neg)], one)
    if not i.m["sat"]:
        return result(i, term + (~y if c.neg else y) + one, flags)
    exact = s32(term) + s32(-y if c.neg else y) + int(bool(i.m["po"]))
    value = sat32(exact)
    fresh = plain_flags(i, lane, value)
    if i.m["cc"]:
        return None
    return result(i, value, fresh)


@model("IMADSP")
def imadsp(i: Instruction, lane: Lane) -> Effect | None:
    def source(slot: str) -> int:
        value, type_ = lane.raw(src(i, slot)), i.m[slot + "type"]
        if "16H1" in type_:
            value >>= 16
        bits = int(type_[1:3])
        return sx(value, bits) if type_[0] == "S" else value & ((1 << bits) - 1)

    a, b, c = (source(s) for s in "abc")
    product = a * b & M32
    return result(i, product + c, add_flags(i, lane, [(product, False), (c & M32, False)], 0))


@model("XMAD")
def xmad(i: Instruction, lane: Lane) -> Effect | None:
    a, b = src(i, "a"), src(i, "b")
    x, y = lane.raw(a), lane.raw(b)

    def split(value: int, operand: Source, type_: str) -> tuple[int, int]:
        high = operand.part == "H1"
        chosen = value >> 16 if high else value & 0xFFFF
        other = value & 0xFFFF if high else value >> 16
        return (sx(chosen, 16) if type_ == "S16" else chosen), other

    left, other_left = split(x, a, i.m["atype"])
    right, other_right = split(y, b, i.m["btype"])
    product = left * right << (16 if i.m["psl"] else 0)
    third = lane.raw(src(i, "c"))
    mode = i.m["cmode"]
    if mode == "CLO":
        third &= 0xFFFF
    elif mode == "CHI":
        third >>= 16
    elif mode == "CBCC":
        third += y << 16
    elif mode == "CSFU":
        third -= 65536 * int(left < 0 and other_right != 0)
        third -= 65536 * int(right < 0 and other_left != 0)
    one = lane.cc("C") + 2 * lane.cc("K") if i.m["x"] else 0
    flags = add_flags(i, lane, [(product & M32, False), (third & M32, False)], one)
    value = product + third + one
    if i.m["mrg"]:
        value = value & 0xFFFF | y << 16
    return result(i, value, flags)


# ---- logic, shifts, fields ---------------------------------------------------------------


def inverted(lane: Lane, operand: Source) -> int:
    """A source with its `~`."""
    value = lane.raw(operand)
    return ~value & M32 if operand.inv else value


def logic_effect(i: Instruction, lane: Lane, value: int) -> Effect:
    """Result, flags and predicate of LOP and LOP3."""
    flags = plain_flags(i, lane, value)
    effect = result(i, value, flags)
    if "p" in i.o:
        zero = flags["Z"]
        truth = {"": 0, "T": 1, "Z": zero, "NZ": 1 - zero}[i.m["pmode"]]
        effect.predicates[index_of(i, "p")] = truth
    return effect


@model("LOP", "LOP32I")
def lop(i: Instruction, lane: Lane) -> Effect | None:
    x, y = inverted(lane, src(i, "a")), inverted(lane, src(i, "b"))
    value = {"AND": x & y, "OR": x | y, "XOR": x ^ y, "PASS_B": y}[i.m["lop"]]
    return logic_effect(i, lane, value)


@model("LOP3")
def lop3(i: Instruction, lane: Lane) -> Effect | None:
    a, b, c = (lane.raw(src(i, s)) for s in "abc")
    lut = immediate(i, "lut")
    value = 0
    for k in range(32):
        index = (a >> k & 1) * 4 + (b >> k & 1) * 2 + (c >> k & 1)
        value |= (lut >> index & 1) << k
    return logic_effect(i, lane, value)


def amount(i: Instruction, lane: Lane, limit: int) -> int:
    """A shift count, wrapped or clamped."""
    count = lane.raw(src(i, "b"))
    return count % limit if i.m["w"] else min(count, limit)


@model("SHL", "SHR")
def shift(i: Instruction, lane: Lane) -> Effect | None:
    if i.m["xmode"]:
        return None
    value, count = lane.raw(src(i, "a")), amount(i, lane, 32)
    if i.m["brev"]:
        value = int(f"{value:032b}"[::-1], 2)
    if i.op == "SHL":
        out = value << count
    else:
        out = (value if i.m["u32"] else s32(value)) >> count
    return result(i, out, plain_flags(i, lane, out))


@model("SHF")
def shf(i: Instruction, lane: Lane) -> Effect | None:
    if i.m["xmode"] in ("X", "XHI") or (i.m["xmode"] == "HI" and not i.m["right"]):
        return None
    count = amount(i, lane, 64 if i.m["stype"] else 32)
    pair = lane.raw(src(i, "c")) << 32 | lane.raw(src(i, "a"))
    if not i.m["right"]:
        out = (pair << count) >> 32
    else:
        moved = (sx(pair, 64) if i.m["stype"] == "S64" else pair) >> count
        out = moved >> 32 if i.m["xmode"] == "HI" else moved
    return result(i, out, plain_flags(i, lane, out))


@model("BFE")
def bfe(i: Instruction, lane: Lane) -> Effect | None:
    value, selector = lane.raw(src(i, "a")), lane.raw(src(i, "b"))
    if i.m["brev"]:
        value = int(f"{value:032b}"[::-1], 2)
    at, length = selector & 255, selector >> 8 & 255
    fill = 0 if i.m["u32"] or length == 0 else value >> min(at + length - 1, 31) & 1
    out = 0
    for k in range(32):
        bit = value >> (at + k) & 1 if k < length and at + k < 32 else fill
        out |= bit << k
    return result(i, out, plain_flags(i, lane, out))


@model("BFI")
def bfi(i: Instruction, lane: Lane) -> Effect | None:
    value, selector, base = (lane.raw(src(i, s)) for s in "abc")
    at, length = selector & 255, selector >> 8 & 255
    for k in range(at, min(at + length, 32)):
        base = base & ~(1 << k) | (value >> (k - at) & 1) << k
    return result(i, base, plain_flags(i, lane, base))


PRMT_BYTES = {
    "F4E": lambda k, n: n + k,
    "B4E": lambda k, n: (k - n) % 8,
    "RC8": lambda k, n: k,
    "ECL": lambda k, n: max(k, n),
    "ECR": lambda k, n: min(k, n),
    "RC16": lambda k, n: n % 2 + 2 * (k % 2),
}


@model("PRMT")
def prmt(i: Instruction, lane: Lane) -> Effect | None:
    a, b, c = (lane.raw(src(i, s)) for s in "abc")
    source = (c << 32 | a).to_bytes(8, "little")
    out = 0
    for n in range(4):
        if i.m["mode"]:
            byte = source[PRMT_BYTES[i.m["mode"]](b & 3, n)]
        else:
            nibble = b >> 4 * n & 15
            byte = source[nibble % 8]
            if nibble >= 8:
                byte = 255 if byte >= 128 else 0
        out |= byte << 8 * n
    return result(i, out)
