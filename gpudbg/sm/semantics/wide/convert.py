"""Conversions: F2F F2I I2F I2FP FRND F2FP F2IP I2IP I2I."""

from __future__ import annotations

from gpudbg.architectures import age
from gpudbg.isa.operands import Imm
from gpudbg.isa.volta.counts import conversion_types
from gpudbg.sm.semantics.convert import INTEGRAL
from gpudbg.sm.semantics.float_operands import (
    F16_SIGN,
    F16_TINY,
    F64_MAGNITUDE,
    F64_QUIET,
    f16_ftz,
    f64_sat,
)
from gpudbg.sm.semantics.machine import Rounding, Value, Wide, WideMachine
from gpudbg.sm.semantics.operands import half
from gpudbg.sm.semantics.rows import register_wide
from gpudbg.sm.semantics.wide.formats import (
    FORMATS,
    SCALE,
    narrow,
    narrow_randomly,
    widen,
)
from gpudbg.sm.semantics.wide.halves import narrow_bf16
from gpudbg.sm.semantics.wide.operands import (
    Source,
    WideInsn,
    chosen,
    f32,
    f64,
    flushes,
    integer,
    raw,
    raw_pair,
    rounding,
    signs64,
    write,
    write_pair,
)

F64_PAYLOAD = (1 << 52) - 1
_BLACKWELL = 100
_DIRECTED: dict[str, Rounding] = {"FLOOR": "RM", "CEIL": "RP", "TRUNC": "RZ"}


def real(m: WideMachine, i: WideInsn, kind: str, operand: Source) -> Wide:
    """A float source as an exact f64; `|x|` and `-x` leave a NaN as it is."""
    if kind == "F64":
        return f64(m, operand)
    value = raw(m, operand)
    if kind == "F32":
        return signs64(m, operand, m.f32_to_f64(m.ftz(value) if flushes(i) else value))
    value = half(m, value, operand.part or "H0")
    if kind == "F16":
        value = f16_ftz(m, value) if flushes(i) else value
        return signs64(m, operand, m.f16_to_f64(value))
    single = m.shl(value, 16)
    return signs64(m, operand, m.f32_to_f64(m.ftz(single) if flushes(i) else single))


def write_real(m: WideMachine, i: WideInsn, value: Wide, kind: str, rnd: Rounding) -> None:
    """An f64 as the result, rounded once."""
    if "SAT" in i.m:
        value = f64_sat(m, value)
    if kind == "F64":
        write_pair(m, i, m.wselect(m.dnan(value), m.wor(value, F64_QUIET), value))
    else:
        write(m, i, _narrowed_real(m, i, value, kind, rnd))


def _narrowed_real(m: WideMachine, i: WideInsn, value: Wide, kind: str, rnd: Rounding) -> Value:
    if kind == "F16":
        return _flushed_half(m, i, value, m.f64_to_f16(value, rnd))
    if kind == "BF16":
        return narrow_bf16(m, value, rnd)
    single = m.f64_to_f32(value, rnd)
    return m.ftz(single) if flushes(i) else single


def _flushed_half(m: WideMachine, i: WideInsn, value: Wide, half_: Value) -> Value:
    """`.FTZ` makes an f16 zero that is subnormal before it is rounded (measured on H100)."""
    if not flushes(i):
        return half_
    tiny = m.dlt(m.wand(value, F64_MAGNITUDE), F16_TINY)
    return m.select(tiny, m.and_(half_, F16_SIGN), half_)


@register_wide("F2F", "UF2F")
def f2f(m: WideMachine, i: WideInsn) -> None:
    """Change of size with one rounding; widening is exact."""
    target, source = conversion_types("F2F", tuple(i.m))
    value = real(m, i, source, i.o["a"])
    if source == "F64" and target in _NAN_OF_F64 and "SAT" not in i.m:
        rounded = _narrowed_real(m, i, value, target, rounding(i))
        write(m, i, m.select(m.dnan(value), _narrow_nan(m, value, target), rounded))
    else:
        write_real(m, i, value, target, rounding(i))


_NAN_OF_F64 = {"F32": (32, 29, 0x7FC00000), "F16": (16, 42, 0x7E00), "BF16": (16, 45, 0x7FC0)}
"""Format -> bits, where an f64's mantissa is cut, exponent and quiet bit."""


def _narrow_nan(m: WideMachine, value: Wide, target: str) -> Value:
    """A NaN of f64 in a smaller format: sign and upper payload stay (measured on H100)."""
    bits, cut, quiet = _NAN_OF_F64[target]
    payload = m.lo(m.wshr(m.wand(value, F64_PAYLOAD), cut))
    sign = m.and_(m.shr(m.hi(value), 32 - bits), 1 << bits - 1)
    return m.or_(m.or_(payload, quiet), sign)


@register_wide("FRND", "UFRND")
def frnd(m: WideMachine, i: WideInsn) -> None:
    """To an integral value; the sign of zero is kept."""
    kind, _ = conversion_types("FRND", tuple(i.m))
    mode = _DIRECTED.get(chosen(i, tuple(_DIRECTED)), "RN")
    write_real(m, i, m.dround(real(m, i, kind, i.o["a"]), mode), kind, "RN")


@register_wide("F2I", "UF2I")
def f2i(m: WideMachine, i: WideInsn) -> None:
    """Round to integral and clamp; NaN gives 0 with `.NTZ`, else the highest bit."""
    target, source = conversion_types("F2I", tuple(i.m))
    signed, bits = target[0] == "S", int(target[1:])
    value = real(m, i, source, i.o["a"])
    mode = INTEGRAL[chosen(i, ("FLOOR", "CEIL", "TRUNC"), "ROUND")]
    result = m.f64_to_int(m.dround(value, mode), signed, bits)
    nan = 0 if "NTZ" in i.m else 1 << bits - 1
    result = m.wselect(m.dnan(value), nan, result)
    if bits == 64:
        write_pair(m, i, result)
    else:
        write(m, i, m.lo(result))


@register_wide("I2F", "I2FP", "UI2F", "UI2FP")
def i2f(m: WideMachine, i: WideInsn) -> None:
    """The integer rounded once."""
    target, source = conversion_types("I2F", tuple(i.m))
    signed, bits = source[0] == "S", int(source[1:])
    operand = i.o["a"]
    if bits == 64:
        value = raw_pair(m, operand)
        if isinstance(operand, Imm):
            # An immediate is the high word (measured on H100).
            value = m.wshl(value, 32)
    else:
        word = raw(m, operand)
        if bits < 32:
            word = half(m, word, operand.part or ("B0" if bits == 8 else "H0"), signed)
        value = m.sext(word) if signed else m.zext(word)
    if target == "F32":
        write(m, i, m.int_to_f32(value, signed, rounding(i)))
    else:
        write_real(m, i, m.int_to_f64(value, signed, rounding(i)), target, rounding(i))


def _packed_types(i: WideInsn) -> tuple[str, str]:
    """(result's format, source's) of F2FP; F16 and F32 are not always printed."""
    named = [name for name in i.m if name in FORMATS or name in (SCALE, "F32")]
    unpacks = "UNPACK_B" in i.m or "UNPACK_B_MERGE_C" in i.m
    if unpacks:
        target = named[0] if len(named) > 1 else "F16"
        return target, named[-1] if named else ""
    return (named[0] if named and named[0] != "F32" else "F16"), "F32"


@register_wide("F2FP", "UF2FP")
def f2fp(m: WideMachine, i: WideInsn) -> None:
    """Two numbers narrowed and packed, the first one into the high part; or two widened.

    `.PACK_AB`: a above b.  `.MERGE_C`: a below a half of c; `.PACK_AB_MERGE_C`: two bytes (fp4: one
    byte) below it.  `.UNPACK_B`: two small numbers to halves, `.UNPACK_B_MERGE_C` the other way.
    """
    target, source = _packed_types(i)
    if "S2_6" in i.m or any(n.startswith(("INVALID", "???")) for n in i.m):
        m.gap(f"{i.op}.{'.'.join(i.m)}")
    rnd, random = rounding(i), _random_bits(m, i, target) if "RS" in i.m else None
    finite = "SATFINITE" in i.m

    def made(wide: Wide, place: int = 0) -> Value:
        if random is None:
            found = narrowed(m, wide, target, rnd, finite)
        else:
            found = narrow_randomly(m, wide, target, finite, random[place])
        if "RELU" not in i.m:
            return found
        sign = FORMATS[target].bits - 1 if target in FORMATS else 31
        negative = m.mand(m.bit(found, sign), m.mnot(m.dnan(wide)))
        return m.select(negative, 0, found)

    sources = [i.o[slot] for slot in "abc" if slot in i.o]
    if "UNPACK_B" in i.m or "UNPACK_B_MERGE_C" in i.m:
        pieces = [made(widen(m, part, source)) for part in _two_parts(m, sources[0], source)]
        rest = sources[1:]
    else:
        count = 1 if "MERGE_C" in i.m or "PACK_B" in i.m else 2
        wides = [m.f32_to_f64(f32(m, o, flushes(i))) for o in sources[:count]]
        pieces = [made(w, place) for place, w in enumerate(reversed(wides))]
        rest = sources[count:] if random is None or "PACK_AB_MERGE_C" in i.m else []
    if target == "TF32":
        write(m, i, m.shl(pieces[0], 13))
        return
    write(m, i, _packed(m, i, pieces, target, rest[0] if rest else None))


def _random_bits(m: WideMachine, i: WideInsn, target: str) -> tuple[Value, Value]:
    """What `.RS` adds for b and for a, as fractions of 16 bits, from c, the operand of the random
    bits (PTX documents them for all four numbers of `cvt.rs`; the first of two instructions leaves
    the second one's bits in the same places).

    A byte each of E2M1, and 16 bits for both numbers of six and eight bits, are *inferred*.
    """
    if age(i.arch)[0] < _BLACKWELL or "MERGE_C" in i.m:
        m.gap(f"{i.op}.{'.'.join(i.m)}")
    word = raw(m, i.o["c"])
    low, high = m.and_(word, 0xFFFF), m.shr(word, 16)
    if target == "BF16":
        return low, high
    if target == "F16":
        return m.shl(m.and_(low, 0x1FFF), 3), m.shl(m.and_(high, 0x1FFF), 3)
    if target == "E2M1":
        return m.and_(low, 0xFF00), m.and_(high, 0xFF00)
    return high, high


def narrowed(m: WideMachine, wide: Wide, target: str, rnd: Rounding, finite: bool) -> Value:
    """An f64 as a packed format."""
    if target == "F16" and not finite:
        return m.f64_to_f16(wide, rnd)
    if target == "BF16" and not finite:
        return narrow_bf16(m, wide, rnd)
    return narrow(m, wide, target, rnd, finite)


def _two_parts(m: WideMachine, operand: Source, kind: str) -> list[Value]:
    """The low and the high number that an operand holds beside one another."""
    word = raw(m, operand)
    if kind in ("F16", "BF16"):
        return [m.and_(word, 0xFFFF), m.shr(word, 16)]
    if kind == "E2M1":
        byte = half(m, word, operand.part if operand.part[:1] == "B" else "B0")
        return [m.and_(byte, 0xF), m.shr(byte, 4)]
    pair = half(m, word, operand.part or "H0")
    return [m.and_(pair, 0xFF), m.shr(pair, 8)]


def _packed(
    m: WideMachine, i: WideInsn, pieces: list[Value], target: str, merged: Source | None
) -> Value:
    """Pieces from the lowest on, above them what is merged."""
    bits = {"E2M1": 4, "F16": 16, "BF16": 16}.get(target, 8)
    result = pieces[0]
    for place, piece in enumerate(pieces[1:], 1):
        result = m.or_(result, m.shl(piece, bits * place))
    if merged is None:
        return result
    kept = raw(m, merged)
    if merged.part == "H1":
        kept = m.shr(kept, 16)
    return m.or_(result, m.shl(kept, bits * len(pieces)))


@register_wide("F2IP", "UF2IP")
def f2ip(m: WideMachine, i: WideInsn) -> None:
    """a and b as integers of eight bits, a above b, below the low half of c; NaN is 0x80, with
    `.NTZ` or `.RELU` 0 (measured on H100)."""
    signed = "S8" in i.m
    mode: Rounding = "RZ" if "TRUNC" in i.m else "RN"
    result = _merged_half(m, i.o["c"])
    for slot, place in (("a", 8), ("b", 0)):
        value = m.dround(m.f32_to_f64(f32(m, i.o[slot])), mode)
        if "RELU" in i.m:
            value = m.wselect(m.dlt(0, value), value, 0)
        byte = m.and_(m.lo(m.f64_to_int(value, signed, 8)), 0xFF)
        if "RELU" not in i.m and "NTZ" not in i.m:
            byte = m.select(m.dnan(value), 0x80, byte)
        result = m.or_(result, m.shl(byte, place))
    write(m, i, result)


def _merged_half(m: WideMachine, operand: Source) -> Value:
    """The half of an operand that is kept, as the high half."""
    word = raw(m, operand)
    return m.and_(word, 0xFFFF0000) if operand.part == "H1" else m.shl(word, 16)


@register_wide("I2IP", "UI2IP")
def i2ip(m: WideMachine, i: WideInsn) -> None:
    """a and b saturated and packed, a above b, over the low bits of c moved up.

    Without `.SAT` they are cut (measured on H100); RELU makes negative values 0 (*inferred*).
    """
    kind = chosen(i, ("U8", "S8", "U16", "S16", "U4", "S4", "U2", "S2"))
    bits, signed = int(kind[1:]), kind[0] == "S"
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    limited = "SAT" in i.m or "SATRELU" in i.m
    positive = "SATRELU" in i.m or "RELU" in i.m
    if positive:
        low = 0
    result: Value = m.shl(raw(m, i.o["c"]), 2 * bits) if bits < 16 else 0
    if i.o["c"].part == "H1" and bits < 16:
        result = m.and_(raw(m, i.o["c"]), 0xFFFF0000)
    for slot, place in (("a", bits), ("b", 0)):
        value = m.sext(integer(m, i.o[slot]))
        if limited or positive:
            value = m.wselect(m.wslt(value, low), low, value)
        if not limited:
            result = m.or_(result, m.shl(m.and_(m.lo(value), (1 << bits) - 1), place))
            continue
        value = m.wselect(m.wslt(high, value), high, value)
        result = m.or_(result, m.shl(m.and_(m.lo(value), (1 << bits) - 1), place))
    write(m, i, result)


@register_wide("I2I", "UI2I")
def i2i(m: WideMachine, i: WideInsn) -> None:
    """A word saturated to a smaller type, and extended again."""
    kind = chosen(i, ("U8", "S8", "U16", "S16"))
    bits, signed = int(kind[1:]), kind[0] == "S"
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    value = m.sext(integer(m, i.o["a"]))
    value = m.wselect(m.wslt(value, low), low, value)
    write(m, i, m.lo(m.wselect(m.wslt(high, value), high, value)))
