"""Scalar models of floating-point and conversion instructions, one lane at a time, on rationals.

Written from the documents; shares nothing with the emulator.  A model takes (insn, lane) and
returns an `Effect`; None means that nothing is compared.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath

from gpudbg.isa.operands import Const, Imm, Reg
from gpudbg.isa.spa5.insn import Instruction
from tests.numeric import model as real
from tests.ptxgen import ref
from tests.semantics.model import Effect, Lane, Models, sx
from tests.semantics.operands import Source, index_of, predicate, src

TWO_TO_THE_MINUS_14 = 0x38800000
ONE = {"f16": 0x3C00, "f32": 0x3F800000, "f64": 0x3FF << 52}
MODELS = model = Models()


# ---- operands and results --------------------------------------------------------------


def rounding(i: Instruction) -> str:
    return str(i.m["rnd"] or "RN")


def flushing(i: Instruction) -> bool:
    return bool(i.m["ftz"])


def signed(operand: Source, bits: int, fmt: str) -> int:
    """|x|, then -x."""
    if operand.abs:
        bits = ref.absolute(bits, fmt)
    return ref.negate(bits, fmt) if operand.neg else bits


def single(i: Instruction, lane: Lane, slot: str) -> int:
    """An f32 operand."""
    operand = src(i, slot if slot in i.o else "d")
    bits = signed(operand, lane.raw(operand), "f32")
    return ref.flush(bits, "f32") if flushing(i) else bits


def pair(lane: Lane, operand: Source) -> int:
    """64 bits of an operand."""
    if isinstance(operand, Imm):
        return operand.value
    if isinstance(operand, Const):
        low, high = (lane.constant(operand.bank, operand.offset + k) for k in (0, 4))
    elif operand.index == 255:
        return 0
    else:
        low, high = (lane.raw(Reg(operand.index + k)) for k in (0, 1))
    return high << 32 | low


def double(i: Instruction, lane: Lane, slot: str) -> int:
    """An f64 operand."""
    return signed(src(i, slot), pair(lane, src(i, slot)), "f64")


def float_flags(bits: int, fmt: str) -> dict[str, int]:
    nan = real.is_nan(bits, fmt)
    zero = ref.absolute(bits, fmt) == 0
    below = bool(real.sign_of(bits, fmt)) and not zero
    return {"Z": int(nan or zero), "S": int(nan or below), "C": 0, "O": 0, "K": 0}


def finish(
    i: Instruction,
    bits: int,
    fmt: str = "f32",
    value: Fraction | None = None,
    flush: bool = True,
) -> Effect:
    """Flush, saturate, flags, destination; `value` is the exact result of a product."""
    if fmt == "f32" and flush and flushing(i):
        bits = flushed(bits, fmt, value, rounding(i))
    if i.m["sat"]:
        bits = ref.saturate(bits, fmt)
    d = index_of(i, "d")
    effect = Effect({d: bits & 0xFFFFFFFF})
    if fmt == "f64" and d != 255:
        effect.registers[d + 1] = bits >> 32
    if i.m["cc"]:
        effect.flags = float_flags(bits, fmt)
    return effect


def flushed(bits: int, fmt: str, value: Fraction | None, rnd: str) -> int:
    """A result that is tiny after rounding becomes zero; without `value` a subnormal one does."""
    if value is not None and ref.at_border(bits, fmt) and ref.is_tiny(value, fmt, rnd):
        return bits & 1 << real.FORMATS[fmt][2] - 1
    return ref.flush(bits, fmt)


def exact(bits: list[int], fmt: str) -> Fraction | None:
    """a * b + c where all are finite."""
    return ref.exact(bits, fmt) if all(real.is_finite(x, fmt) for x in bits) else None


# ---- f32 -------------------------------------------------------------------------------


@model("FADD", "FADD32I")
def fadd(i: Instruction, lane: Lane) -> Effect | None:
    a, b = single(i, lane, "a"), single(i, lane, "b")
    return finish(i, real.add(a, b, "f32", rounding(i)))


def _zero(bits: int) -> bool:
    return ref.absolute(bits, "f32") == 0


@model("FMUL", "FMUL32I")
def fmul(i: Instruction, lane: Lane) -> Effect | None:
    a, b = single(i, lane, "a"), single(i, lane, "b")
    if i.m["ftz"] == "FMZ" and (_zero(a) or _zero(b)):
        return finish(i, 0)
    power = {"": 0, "D2": -1, "D4": -2, "D8": -3, "M2": 1, "M4": 2, "M8": 3}[i.m["scale"] or ""]
    value = exact([a, b], "f32")
    if value is None:
        return finish(i, real.mul(a, b, "f32", rounding(i)))
    value *= Fraction(2) ** power
    sign = real.sign_of(a, "f32") ^ real.sign_of(b, "f32")
    return finish(i, real.rounded(value, "f32", rounding(i), sign), "f32", value)


@model("FFMA", "FFMA32I")
def ffma(i: Instruction, lane: Lane) -> Effect | None:
    a, b, c = (single(i, lane, slot) for slot in "abc")
    if i.m["ftz"] == "FMZ" and (_zero(a) or _zero(b)):
        return finish(i, real.OWN_NAN["f32"] if real.is_nan(c, "f32") else c)
    return finish(i, real.fma(a, b, c, "f32", rounding(i)), "f32", exact([a, b, c], "f32"))


@model("FMNMX")
def fmnmx(i: Instruction, lane: Lane) -> Effect | None:
    a, b = single(i, lane, "a"), single(i, lane, "b")
    return finish(i, ref.minimum("f32", not lane.pred(predicate(i, "pc")))(a, b))


def _set_predicates(i: Instruction, lane: Lane, truth: bool, other: bool | None = None) -> Effect:
    pc, bop = bool(lane.pred(predicate(i, "pc"))), str(i.m["bop"]).lower()
    other = not truth if other is None else other
    effect = Effect()
    # P and Q may be the same register; Q is written last.
    effect.predicates[index_of(i, "p")] = int(ref.boolean(bop, truth, pc))
    effect.predicates[index_of(i, "q")] = int(ref.boolean(bop, other, pc))
    return effect


def _set_register(i: Instruction, lane: Lane, truth: bool) -> Effect:
    truth = ref.boolean(str(i.m["bop"]).lower(), truth, bool(lane.pred(predicate(i, "pc"))))
    value = (ONE["f32"] if i.m["bf"] else 0xFFFFFFFF) if truth else 0
    effect = Effect({index_of(i, "d"): value})
    if i.m["cc"]:
        effect.flags = {"Z": int(not truth), "S": value >> 31, "C": 0, "O": 0, "K": 0}
    return effect


def compared(name: str, a: int, b: int, fmt: str) -> bool:
    """A float compare operator of the hardware."""
    if name in ("F", "T"):
        return name == "T"
    return ref.compare(name.lower(), fmt)(a, b)


@model("FSETP")
def fsetp(i: Instruction, lane: Lane) -> Effect | None:
    a, b = single(i, lane, "a"), single(i, lane, "b")
    return _set_predicates(i, lane, compared(i.m["cmp"], a, b, "f32"))


@model("FSET")
def fset(i: Instruction, lane: Lane) -> Effect | None:
    a, b = single(i, lane, "a"), single(i, lane, "b")
    return _set_register(i, lane, compared(i.m["cmp"], a, b, "f32"))


@model("FCMP")
def fcmp(i: Instruction, lane: Lane) -> Effect | None:
    truth = compared(i.m["cmp"], single(i, lane, "c"), 0, "f32")
    return Effect({index_of(i, "d"): lane.raw(src(i, "a" if truth else "b"))})


@model("FCHK")
def fchk(i: Instruction, lane: Lane) -> Effect | None:
    ea, eb = ((single(i, lane, s) >> 23 & 255) - 127 for s in "ab")
    fast = -103 <= ea <= 127 and -126 <= eb <= 125 and -125 <= ea - eb <= 126
    return Effect(predicates={index_of(i, "p"): int(not fast)})


@model("FSWZADD")
def fswzadd(i: Instruction, lane: Lane) -> Effect | None:
    letters = str(i.m["swz"])[2 * (lane.index & 3) :][:2]
    terms = []
    for letter, slot in zip(letters, "ab", strict=True):
        bits = single(i, lane, slot)
        terms.append({"P": bits, "N": ref.negate(bits, "f32"), "Z": 1 << 31}[letter])
    a, b = terms
    return finish(i, real.add(a, b, "f32", rounding(i)))


def _near(function: Callable[[Any], Any], bits: int) -> int:
    """The f32 nearest to a function of an f32."""
    x = real.value(bits, "f32")
    with mpmath.workprec(300):
        y = ref.fraction(function(mpmath.mpf(x.numerator) / x.denominator))
    return real.rounded(y, "f32", "RN", real.sign_of(bits, "f32"))


MUFU: dict[str, Callable[[Any], Any]] = {
    "RCP": lambda x: 1 / x,
    "RSQ": lambda x: 1 / mpmath.sqrt(x),
    "LG2": lambda x: mpmath.log(x, 2),
    "EX2": lambda x: mpmath.mpf(2) ** max(min(x, 200), -200),
    "SIN": mpmath.sin,
    "COS": mpmath.cos,
    "SQRT": mpmath.sqrt,
}


@model("MUFU")
def mufu(i: Instruction, lane: Lane) -> Effect | None:
    function = str(i.m["func"])
    a = single(i, lane, "a")
    if function not in MUFU:
        return None
    a = ref.flush(a, "f32")
    infinity, sign = 0x7F800000, a & 0x80000000
    special = (
        not real.is_finite(a, "f32") or _zero(a) or (sign and function in ("RSQ", "LG2", "SQRT"))
    )
    if not special:
        bits = ref.flush(_near(MUFU[function], a), "f32")
    elif real.is_nan(a, "f32") or (real.is_inf(a, "f32") and function in ("SIN", "COS")):
        bits = real.OWN_NAN["f32"]
    elif _zero(a):
        pole, one = sign | infinity, ONE["f32"]
        bits = {
            "RCP": pole, "RSQ": pole, "LG2": 0xFF800000, "EX2": one, "SIN": a, "COS": one,
            "SQRT": a,
        }[function]  # fmt: skip
    elif function == "EX2":
        bits = 0 if sign else infinity
    elif sign and function != "RCP":
        bits = real.OWN_NAN["f32"]
    else:
        bits = {"RCP": sign, "RSQ": 0}.get(function, infinity)
    if i.m["sat"]:
        bits = ref.saturate(bits, "f32")
    return Effect({index_of(i, "d"): bits})


@model("RRO")
def rro(i: Instruction, lane: Lane) -> Effect | None:
    return Effect({index_of(i, "d"): ref.flush(single(i, lane, "b"), "f32")})


# ---- f64 -------------------------------------------------------------------------------


@model("DADD")
def dadd(i: Instruction, lane: Lane) -> Effect | None:
    a, b = double(i, lane, "a"), double(i, lane, "b")
    return finish(i, real.add(a, b, "f64", rounding(i)), "f64")


@model("DMUL")
def dmul(i: Instruction, lane: Lane) -> Effect | None:
    a, b = double(i, lane, "a"), double(i, lane, "b")
    return finish(i, real.mul(a, b, "f64", rounding(i)), "f64")


@model("DFMA")
def dfma(i: Instruction, lane: Lane) -> Effect | None:
    a, b, c = (double(i, lane, slot) for slot in "abc")
    return finish(i, real.fma(a, b, c, "f64", rounding(i)), "f64")


@model("DMNMX")
def dmnmx(i: Instruction, lane: Lane) -> Effect | None:
    a, b = double(i, lane, "a"), double(i, lane, "b")
    bits = ref.minimum("f64", not lane.pred(predicate(i, "pc")))(a, b)
    if real.is_nan(a, "f64") and real.is_nan(b, "f64"):
        bits = b | 1 << 51
    return finish(i, bits, "f64")


@model("DSETP")
def dsetp(i: Instruction, lane: Lane) -> Effect | None:
    truth = compared(i.m["cmp"], double(i, lane, "a"), double(i, lane, "b"), "f64")
    return _set_predicates(i, lane, truth)


@model("DSET")
def dset(i: Instruction, lane: Lane) -> Effect | None:
    truth = compared(i.m["cmp"], double(i, lane, "a"), double(i, lane, "b"), "f64")
    return _set_register(i, lane, truth)


# ---- conversions -----------------------------------------------------------------------

STEPS = {"": "rni", "ROUND": "rni", "FLOOR": "rmi", "CEIL": "rpi", "TRUNC": "rzi"}


def float_source(i: Instruction, lane: Lane, fmt: str) -> int:
    """The operand of F2F and F2I in its own format."""
    operand = src(i, "b")
    if fmt == "f64":
        return signed(operand, pair(lane, operand), fmt)
    if fmt == "f32":
        return single(i, lane, "b")
    half = lane.raw(operand) >> (16 if operand.part == "H1" else 0) & 0xFFFF
    return signed(operand, half, fmt)


@model("F2F")
def f2f(i: Instruction, lane: Lane) -> Effect | None:
    target, source = str(i.m["dtype"]).lower(), str(i.m["stype"]).lower()
    a = float_source(i, lane, source)
    if source != target:
        if target == "f64" and real.is_nan(a, source):
            bits = _widened_nan(a, source)
        else:
            bits = real.convert(a, source, target, rounding(i))
    elif real.is_nan(a, source):
        bits = a | 1 << 51 if source == "f64" else real.OWN_NAN[source]
    else:
        step = "" if i.m["irnd"] == "PASS" else STEPS[i.m["irnd"]]
        bits = ref.to_integral(source, step, False, False)(a)
    return finish(i, bits, target, flush=source != "f64")


def _widened_nan(bits: int, fmt: str) -> int:
    """The payload in the high bits of an f64, quieted."""
    precision, _, width = real.FORMATS[fmt]
    payload = bits & (1 << precision - 1) - 1
    return bits >> width - 1 << 63 | 0x7FF8 << 48 | payload << 53 - precision


@model("F2I")
def f2i(i: Instruction, lane: Lane) -> Effect | None:
    target, source = str(i.m["dtype"]).lower(), str(i.m["stype"]).lower()
    a = float_source(i, lane, source)
    bits = ref.float_to_int(source, target, STEPS[i.m["irnd"]], False)(a)
    size, d = int(target[1:]), index_of(i, "d")
    value = ref.as_int(bits, target) & (1 << max(size, 32)) - 1
    effect = Effect({d: value & 0xFFFFFFFF})
    if size == 64 and d != 255:
        effect.registers[d + 1] = value >> 32
    if i.m["cc"]:
        top = value >> max(size, 32) - 1
        effect.flags = {"Z": int(value == 0), "S": top, "C": 0, "O": 0, "K": 0}
    return effect


def int_source(i: Instruction, lane: Lane) -> int | None:
    """The operand of I2F and I2I as a number, before its signs."""
    operand, kind = src(i, "b"), str(i.m["stype"]).lower()
    size = int(kind[1:])
    if size == 64:
        value = pair(lane, operand) if not isinstance(operand, Imm) else sx(operand.value, 32)
        if isinstance(operand, Imm):
            return None
        return ref.as_int(value, kind)
    shift = 8 * int(operand.part[1]) if operand.part else 0
    if (size == 32 and shift) or (size == 16 and shift & 8):
        return None
    return ref.as_int(lane.raw(operand) >> shift, kind)


@model("I2F")
def i2f(i: Instruction, lane: Lane) -> Effect | None:
    target, kind = str(i.m["dtype"]).lower(), str(i.m["stype"])
    value, operand = int_source(i, lane), src(i, "b")
    if value is None:
        return None
    value = abs(value) if operand.abs else value
    value = -value if operand.neg else value
    sign = int(operand.neg and kind[0] == "U")
    return finish(i, real.rounded(Fraction(value), target, rounding(i), sign), target)


@model("I2I")
def i2i(i: Instruction, lane: Lane) -> Effect | None:
    target = str(i.m["dtype"]).lower()
    value, operand = int_source(i, lane), src(i, "b")
    if value is None:
        return None
    value = abs(value) if operand.abs else value
    value = -value if operand.neg else value
    if i.m["sat"]:
        low, high = ref.int_limits(target)
        value = min(max(value, low), high)
    value = ref.as_int(value, target) & 0xFFFFFFFF
    effect = Effect({index_of(i, "d"): value})
    if i.m["cc"]:
        effect.flags = {"Z": int(value == 0), "S": value >> 31, "C": 0, "O": 0, "K": 0}
    return effect


# ---- packed halves ---------------------------------------------------------------------


def halves(i: Instruction, lane: Lane, slot: str) -> tuple[tuple[int, int], str]:
    """Low and high value of an operand and their format."""
    operand = src(i, slot if slot in i.o else "d")
    raw = lane.raw(operand)
    if isinstance(operand, Const):
        # Compilers put f16 numbers there: `.FTZ` flushes what is subnormal as f16.
        bits = signed(operand, raw, "f32")
        if flushing(i) and bits & 0x7FFFFFFF < TWO_TO_THE_MINUS_14:
            bits &= 1 << 31
        wide = real.convert(bits, "f32", "f64", "RN")
        return (wide, wide), "f64"
    if operand.part == "F32":
        bits = single(i, lane, slot)
        return (bits, bits), "f32"
    low, high = raw & 0xFFFF, raw >> 16
    chosen = {"H0_H0": (low, low), "H1_H1": (high, high)}.get(operand.part, (low, high))
    values = [signed(operand, x, "f16") for x in chosen]
    if flushing(i):
        values = [ref.flush(x, "f16") for x in values]
    return (values[0], values[1]), "f16"


def both(i: Instruction, lane: Lane, slots: str, run: Callable[..., int]) -> Effect:
    """An arithmetic operation on both halves; `run` takes (format, operands...)."""
    operands = [halves(i, lane, s) for s in slots]
    # With an .F32 register a result is rounded to f32 first, with a constant only to f16.
    fmt = next((wide for wide in ("f32", "f64") if any(f == wide for _, f in operands)), "f16")
    results = []
    for k in (0, 1):
        values = [real.convert(v[k], f, fmt, "RN") if f != fmt else v[k] for v, f in operands]
        bits = run(fmt, *values)
        value = None if i.op.startswith("HADD2") else exact(values, fmt)
        if fmt != "f16":
            value = exact([bits, ONE[fmt]], fmt)
            bits = real.convert(bits, fmt, "f16", "RN")
        if i.m["sat"]:
            bits = ref.saturate(bits, "f16")
        results.append(flushed(bits, "f16", value, "RN") if flushing(i) else bits)
    low, high = results
    old = lane.raw(Reg(index_of(i, "d")))
    merged = {
        "F32": real.convert(low, "f16", "f32", "RN"),
        "MRG_H0": old & 0xFFFF0000 | low,
        "MRG_H1": old & 0xFFFF | high << 16,
    }.get(i.m["merge"], high << 16 | low)
    return Effect({index_of(i, "d"): merged})


@model("HADD2", "HADD2_32I")
def hadd2(i: Instruction, lane: Lane) -> Effect | None:
    return both(i, lane, "ab", lambda f, a, b: real.add(a, b, f, "RN"))


@model("HMUL2", "HMUL2_32I")
def hmul2(i: Instruction, lane: Lane) -> Effect | None:
    def run(fmt: str, a: int, b: int) -> int:
        if i.m["ftz"] == "FMZ" and 0 in (ref.absolute(a, fmt), ref.absolute(b, fmt)):
            return 0
        return real.mul(a, b, fmt, "RN")

    return both(i, lane, "ab", run)


@model("HFMA2", "HFMA2_32I")
def hfma2(i: Instruction, lane: Lane) -> Effect | None:
    def run(fmt: str, a: int, b: int, c: int) -> int:
        if i.m["ftz"] == "FMZ" and 0 in (ref.absolute(a, fmt), ref.absolute(b, fmt)):
            return real.OWN_NAN[fmt] if real.is_nan(c, fmt) else c
        return real.fma(a, b, c, fmt, "RN")

    return both(i, lane, "abc", run)


def half_tests(i: Instruction, lane: Lane) -> tuple[bool, bool]:
    (a, f), (b, g) = halves(i, lane, "a"), halves(i, lane, "b")
    low, high = (
        compared(
            i.m["cmp"],
            real.convert(a[k], f, "f64", "RN"),
            real.convert(b[k], g, "f64", "RN"),
            "f64",
        )
        for k in (0, 1)
    )
    return low, high


@model("HSET2")
def hset2(i: Instruction, lane: Lane) -> Effect | None:
    low, high = half_tests(i, lane)
    if i.m["bop"]:
        pc, bop = bool(lane.pred(predicate(i, "pc"))), str(i.m["bop"]).lower()
        low, high = ref.boolean(bop, low, pc), ref.boolean(bop, high, pc)
    one = ONE["f16"] if i.m["bf"] else 0xFFFF
    return Effect({index_of(i, "d"): low * one | high * one << 16})


@model("HSETP2")
def hsetp2(i: Instruction, lane: Lane) -> Effect | None:
    low, high = half_tests(i, lane)
    if not i.m["h_and"]:
        return _set_predicates(i, lane, low, high)
    pc, bop = bool(lane.pred(predicate(i, "pc"))), str(i.m["bop"]).lower()
    together = ref.boolean(bop, low, pc) and ref.boolean(bop, high, pc)
    effect = Effect(predicates={index_of(i, "p"): int(together)})
    effect.predicates[index_of(i, "q")] = int(not together)
    return effect
