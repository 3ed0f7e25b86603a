"""Float formats of 4 to 19 bits: narrowing an exact f64 to one, and widening one.

bf16, tf32, fp8 (E4M3, E5M2), fp6 (E2M3, E3M2), fp4 (E2M1) and the scale format E8 (ue8m0); values
and NaN patterns as PTX `cvt` documents them.
"""

from __future__ import annotations

from typing import NamedTuple

from gpudbg.sm.semantics.float_operands import F64_MAGNITUDE, F64_SIGN
from gpudbg.sm.semantics.machine import Rounding, Value, Wide, WideMachine

_F64_BIAS = 1023
_F64_INFINITY = 0x7FF0_0000_0000_0000
_F64_NAN = 0x7FF8_0000_0000_0000


class NarrowFormat(NamedTuple):
    """A float format with a sign bit.

    Attributes:
        exponent, mantissa: bits of each field.
        largest: pattern of the largest finite value.
        nan: the canonical NaN; a format without NaN has its largest value there.
        infinity: pattern of infinity; `nan` where the format has none.
    """

    exponent: int
    mantissa: int
    largest: int
    nan: int
    infinity: int

    @property
    def bits(self) -> int:
        """Bits of a value."""
        return 1 + self.exponent + self.mantissa

    @property
    def lowest(self) -> int:
        """Exponent of the smallest normal value."""
        return 2 - (1 << self.exponent - 1)


FORMATS = {
    "F16": NarrowFormat(5, 10, 0x7BFF, 0x7FFF, 0x7C00),
    "BF16": NarrowFormat(8, 7, 0x7F7F, 0x7FFF, 0x7F80),
    "TF32": NarrowFormat(8, 10, 0x3FBFF, 0x3FFFF, 0x3FC00),
    "E5M2": NarrowFormat(5, 2, 0x7B, 0x7F, 0x7C),
    "E4M3": NarrowFormat(4, 3, 0x7E, 0x7F, 0x7F),
    "E3M2": NarrowFormat(3, 2, 0x1F, 0x1F, 0x1F),
    "E2M3": NarrowFormat(2, 3, 0x1F, 0x1F, 0x1F),
    "E2M1": NarrowFormat(2, 1, 0x7, 0x7, 0x7),
}
SCALE = "E8"
"""Eight bits of exponent without sign or mantissa: 2**(n - 127), 0xff NaN."""


def narrow(m: WideMachine, value: Wide, kind: str, rnd: Rounding, finite: bool = False) -> Value:
    """An exact f64 rounded once to a format, in the low bits; subnormal results are kept.

    Args:
        kind: a name of `FORMATS`, or `SCALE`.
        rnd: RN, RM, RP or RZ.
        finite: what overflows, and infinity, becomes the largest value (`.SATFINITE`).
    """
    if kind == SCALE:
        return _narrow_scale(m, value, rnd, finite)
    form = FORMATS[kind]
    sign = m.wand(value, F64_SIGN)
    magnitude = m.wand(_rounded(m, value, form, rnd), F64_MAGNITUDE)
    code = _encoded(m, magnitude, form)
    finite_source = m.wult(m.wand(value, F64_MAGNITUDE), _F64_INFINITY)
    over = m.ult(form.largest, code)
    code = m.select(m.mand(over, finite_source), _overflow(m, sign, form, rnd, finite), code)
    beyond = form.largest if finite else form.infinity
    code = m.select(m.mor(finite_source, m.dnan(value)), code, beyond)
    signed = m.or_(code, m.shr(m.hi(sign), 32 - form.bits))
    nan = m.dnan(value)
    if form.infinity == form.nan != form.largest:
        # E4M3: what would be an infinity is NaN, which has no sign (measured on H100).
        nan = m.mor(nan, m.eq(code, form.nan))
    return m.select(nan, form.nan, signed)


def narrow_randomly(m: WideMachine, value: Wide, kind: str, finite: bool, random: Value) -> Value:
    """An exact f64 rounded by the carry out of its discarded bits and random ones (`cvt.rs`).

    What overflows is infinity (*modelled*), with `finite` the largest value.

    Args:
        random: 16 bits, a fraction of the last place of the result.
    """
    form = FORMATS[kind]
    magnitude = m.wand(value, F64_MAGNITUDE)
    exponent, least = m.wshr(magnitude, 52), _F64_BIAS + form.lowest
    exponent = m.wselect(m.wult(exponent, least), least, exponent)
    # A power of two: 2**-16 of the last place.
    step = m.wshl(m.wsub(exponent, form.mantissa + 16), 52)
    total = m.dadd(magnitude, m.dmul(step, m.int_to_f64(m.zext(random), False, "RN")), "RZ")
    odd = m.mor(m.dnan(value), m.weq(magnitude, _F64_INFINITY))
    total = m.wselect(odd, value, m.wor(total, m.wand(value, F64_SIGN)))
    code = narrow(m, total, kind, "RZ", finite)
    if finite:
        return code
    limit = (_F64_BIAS + (1 << form.exponent - 1)) << 52
    sign = m.shr(m.hi(m.wand(value, F64_SIGN)), 32 - form.bits)
    over = m.mnot(m.mor(m.dnan(value), m.wult(m.wand(total, F64_MAGNITUDE), limit)))
    return m.select(over, m.or_(sign, form.infinity), code)


def _rounded(m: WideMachine, value: Wide, form: NarrowFormat, rnd: Rounding) -> Wide:
    """The value rounded to the format's grid, with an exponent that has no upper limit.

    Adding and taking away 2**52 quanta leaves what the addition has rounded to.
    """
    exponent = m.wshr(m.wand(value, F64_MAGNITUDE), 52)
    least = _F64_BIAS + form.lowest
    exponent = m.wselect(m.wult(exponent, least), least, exponent)
    grid = m.wshl(m.wadd(exponent, 52 - form.mantissa), 52)
    grid = m.wor(grid, m.wand(value, F64_SIGN))
    return m.dadd(m.dadd(value, grid, rnd), m.wxor(grid, F64_SIGN))


def _encoded(m: WideMachine, magnitude: Wide, form: NarrowFormat) -> Value:
    """The pattern of a magnitude on the grid: subnormals as what they are above the smallest
    normal value, which is added."""
    least = (_F64_BIAS + form.lowest) << 52
    small = m.wult(magnitude, least)
    lifted = m.wselect(small, m.dadd(magnitude, least), magnitude)
    field = m.wshr(lifted, 52 - form.mantissa)
    first = (_F64_BIAS + form.lowest - 1) << form.mantissa
    code = m.lo(m.wsub(field, first))
    return m.select(small, m.sub(code, 1 << form.mantissa), code)


def _overflow(m: WideMachine, sign: Wide, form: NarrowFormat, rnd: Rounding, finite: bool) -> Value:
    if finite or rnd == "RZ":
        return form.largest
    if rnd == "RN":
        return form.infinity
    negative = m.mnot(m.weq(sign, 0))
    up, down = (form.infinity, form.largest) if rnd == "RP" else (form.largest, form.infinity)
    return m.select(negative, down, up)


def _narrow_scale(m: WideMachine, value: Wide, rnd: Rounding, finite: bool) -> Value:
    """The exponent of a magnitude, toward zero or (`.RP`) up; *inferred* for negative values."""
    magnitude = m.wand(value, F64_MAGNITUDE)
    if rnd == "RP":
        magnitude = m.wadd(magnitude, (1 << 52) - 1)
    code = m.wsub(m.wshr(magnitude, 52), _F64_BIAS - 127)
    code = m.wselect(m.wslt(code, 0), 0, code)
    top = 0xFE if finite else 0xFF
    code = m.wselect(m.wslt(top, code), top, code)
    return m.select(m.dnan(value), 0xFF, m.lo(code))


def widen(m: WideMachine, pattern: Value, kind: str) -> Wide:
    """A pattern of a format of at most eight bits, or f16 or bf16, as an exact f64."""
    if kind == "F16":
        return m.f16_to_f64(m.and_(pattern, 0xFFFF))
    if kind == "BF16":
        return m.f32_to_f64(m.shl(pattern, 16))
    if kind == SCALE:
        number = m.wshl(m.wadd(m.zext(pattern), _F64_BIAS - 127), 52)
        return m.wselect(m.eq(pattern, 0xFF), _F64_NAN, number)
    form = FORMATS[kind]
    # As an f16 the same fields mean a number that is off by the difference of the biases.
    magnitude = m.and_(pattern, (1 << form.bits - 1) - 1)
    half = m.f16_to_f64(m.shl(magnitude, 10 - form.mantissa))
    number = m.dmul(half, (_F64_BIAS + 14 + form.lowest) << 52)
    sign = m.wshl(m.zext(m.and_(m.shr(pattern, form.bits - 1), 1)), 63)
    number = m.wor(number, sign)
    if kind == "E4M3":
        number = m.wselect(m.eq(magnitude, form.nan), _F64_NAN, number)
    return number
