"""Float immediates as nvdisasm prints and reads them.

Rule (measured): finite values of magnitude 1e9 and more as %.20e, others as %.20g; zero prints
`0`, and `-0.0 `, `+INF `, `-QNAN `, `+SNAN ` keep a space after them.  f32 signalling NaNs print
as QNAN because the disassembler widens the value to double first.
"""

from __future__ import annotations

import math
import re
import struct

_BIG = 1e9
_SPECIAL = re.compile(r"([+-])(INF|QNAN|SNAN)|-0\.0(?!\d)")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_EXPONENT = {16: 5, 32: 8, 64: 11}
_RAW = re.compile(r"0x[0-9a-fA-F]+")
# The text loses a NaN's payload.  These are the patterns compiled code holds: high words of f64
# infinity in 20-bit f32 fields, the canonical NaN elsewhere.
_QUIET_NAN: dict[int | tuple[int, int], int] = {
    (32, 20): 0x7FF00000,
    (16, 10): 0x7E00,
    32: 0x7FFFFFFF,
    16: 0x7FFF,
    64: 0x7FF8000000000000,
}
_SIGNAL_NAN = {16: 0x7D00, 32: 0x7FA00000, 64: 0x7FF4000000000000}


def _widen(bits: int, width: int) -> float:
    """The value of a float pattern of 16, 32 or 64 bits."""
    code = {16: ("<H", "<e"), 32: ("<I", "<f"), 64: ("<Q", "<d")}[width]
    return float(struct.unpack(code[1], struct.pack(code[0], bits))[0])


def format_float(bits: int, width: int) -> str:
    """Text of a float pattern of `width` bits."""
    exponent = _EXPONENT[width]
    mantissa = width - 1 - exponent
    top = (1 << exponent) - 1
    sign = "-" if bits >> (width - 1) else "+"
    if (bits >> mantissa) & top == top:
        fraction = bits & ((1 << mantissa) - 1)
        if not fraction:
            return f"{sign}INF "
        quiet = width != 64 or fraction >> (mantissa - 1)
        return f"{sign}{'QNAN' if quiet else 'SNAN'} "
    value = _widen(bits, width)
    if value == 0:
        return "-0.0 " if sign == "-" else "0"
    return f"{value:.20e}" if abs(value) >= _BIG else f"{value:.20g}"


def scan_float(text: str, pos: int) -> tuple[int, str] | None:
    """The float literal at `pos` of blank-free text: (end, literal), None when there is none."""
    found = _SPECIAL.match(text, pos) or _RAW.match(text, pos) or _NUMBER.match(text, pos)
    return (found.end(), found.group()) if found else None


def parse_float(literal: str, width: int, field_width: int = 0) -> int:
    """The pattern of `width` bits nearest to a literal; `0x...` is the pattern itself.

    Args:
        literal: a decimal number, `+INF`, `-QNAN`, `+SNAN`, or hexadecimal raw bits.
        width: 16, 32 or 64.
        field_width: bits of the field it goes to, which decides the pattern of a NaN.

    Raises:
        OverflowError: the value does not fit the format.
    """
    sign = int(literal.startswith("-")) << (width - 1)
    special = literal.lstrip("+-")
    if special == "INF":
        mantissa = width - 1 - _EXPONENT[width]
        return sign | ((1 << _EXPONENT[width]) - 1) << mantissa
    if special == "QNAN":
        return sign | _QUIET_NAN.get((width, field_width), _QUIET_NAN[width])
    if special == "SNAN":
        return sign | _SIGNAL_NAN[width]
    if special.startswith("0x"):
        if int(special, 16) >> width:
            raise OverflowError(literal)
        return int(special, 16)
    value = float(literal)
    if math.isinf(value):
        raise OverflowError(literal)
    code = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}[width]
    return int(struct.unpack(code[1], struct.pack(code[0], value))[0])
