"""Condition codes: the four flags of $c0..$c3 and the predicates over them.

Source: NV50 CUDA notes, "Bits in condition registers"; the predicate codes come from later
public documentation of the instruction set.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from gpudbg.bits import mask, sign_extend

ZERO, SIGN, CARRY, OVERFLOW = 1, 2, 4, 8
FLAG_NAMES = (("z", ZERO, "zero"), ("s", SIGN, "sign"), ("c", CARRY, "carry"),
              ("o", OVERFLOW, "overflow"))  # fmt: skip

Test = Callable[[bool, bool, bool, bool], bool]


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition an instruction can be predicated on."""

    code: int
    name: str
    test: Test

    def holds(self, flags: int) -> bool:
        """Whether it holds for four flag bits."""
        return self.test(
            bool(flags & ZERO), bool(flags & SIGN), bool(flags & CARRY), bool(flags & OVERFLOW)
        )


_TESTS: tuple[tuple[int, str, Test], ...] = (
    (0x00, "never", lambda z, s, c, o: False),
    (0x01, "l", lambda z, s, c, o: (s and not z) ^ o),
    (0x02, "e", lambda z, s, c, o: z and not s),
    (0x03, "le", lambda z, s, c, o: s ^ (z or o)),
    (0x04, "g", lambda z, s, c, o: not z and not (s ^ o)),
    (0x05, "lg", lambda z, s, c, o: not z),
    (0x06, "ge", lambda z, s, c, o: not (s ^ o)),
    (0x07, "lge", lambda z, s, c, o: not z or not s),
    (0x08, "u", lambda z, s, c, o: z and s),
    (0x09, "lu", lambda z, s, c, o: s ^ o),
    (0x0A, "eu", lambda z, s, c, o: z),
    (0x0B, "leu", lambda z, s, c, o: z or (s ^ o)),
    (0x0C, "gu", lambda z, s, c, o: (not s) ^ (z or o)),
    (0x0D, "lgu", lambda z, s, c, o: not z or s),
    (0x0E, "geu", lambda z, s, c, o: (not s or z) ^ o),
    (0x0F, "always", lambda z, s, c, o: True),
    (0x10, "o", lambda z, s, c, o: o),
    (0x11, "c", lambda z, s, c, o: c),
    (0x12, "a", lambda z, s, c, o: not z and c),
    (0x13, "s", lambda z, s, c, o: s),
    (0x1C, "ns", lambda z, s, c, o: not s),
    (0x1D, "na", lambda z, s, c, o: z or not c),
    (0x1E, "nc", lambda z, s, c, o: not c),
    (0x1F, "no", lambda z, s, c, o: not o),
)
PREDICATES = tuple(Predicate(*row) for row in _TESTS)


def of_integer(result: int, bits: int = 32) -> int:
    """Flags of an integer result without carry: zero and the top bit."""
    value = result & mask(bits)
    return (ZERO if value == 0 else 0) | (SIGN if value >> (bits - 1) else 0)


def of_addition(a: int, b: int, bits: int = 32, carry_in: int = 0) -> tuple[int, int]:
    """Result and flags of an integer addition; overflow is judged before any saturation."""
    total = (a & mask(bits)) + (b & mask(bits)) + carry_in
    true = sign_extend(a, bits) + sign_extend(b, bits) + carry_in
    result = total & mask(bits)
    flags = of_integer(result, bits)
    flags |= CARRY if total >> bits else 0
    flags |= OVERFLOW if true != sign_extend(result, bits) else 0
    return result, flags


def of_float(result: float) -> int:
    """Flags of a floating-point result: NaN sets zero and sign together."""
    if math.isnan(result):
        return ZERO | SIGN
    return (ZERO if result == 0 else 0) | (SIGN if result < 0 else 0)


def names(flags: int) -> str:
    """The set flags as letters, `-` for none."""
    return "".join(name for name, bit, _ in FLAG_NAMES if flags & bit) or "-"


def holding(flags: int) -> list[str]:
    """Names of the predicates that hold."""
    return [predicate.name for predicate in PREDICATES if predicate.holds(flags)]
