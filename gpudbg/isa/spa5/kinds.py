"""What an operand's core is: how it is read from the word, printed, and parsed back.

A kind knows one thing only (a register number, a constant address, an immediate...); signs,
bars and suffixes around it belong to `spec.OperandSpec`.  `scan` takes text without blanks and
yields (end, bits, mask) for every way to read the operand at a position; the assembler tries them
in turn and keeps the first whose bits agree with the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ...bits import sign_extend
from ..bitsets import Bits
from ..floats import format_float, parse_float, scan_float
from ..operands import (
    RZ,
    Const,
    Imm,
    Name,
    Operand,
    Pred,
    Reg,
    SReg,
)
from .sregs import SREG_ALIASES
from .tables import ValueTable

Reading = tuple[int, int, int]

_REG = re.compile(r"R(Z|\d+)(?![A-Za-z0-9_])")
_PRED = re.compile(r"(!?)P(T|[0-6])(?!\w)")
HEX = re.compile(r"(-?)(0x[0-9a-fA-F]+|\d+)(?!\w|\.\d)")
_INT = r"(-?)(0x[0-9a-fA-F]+|\d+)"
_CONST = re.compile(rf"c\[(0x[0-9a-fA-F]+|\d+)\]\[{_INT}\]")
_SET = re.compile(r"\{(\d(?:,\d)*)?\}")
_WORD = re.compile(r"[A-Za-z_][\w.]*")


def reg_name(index: int) -> str:
    """`R4`, or `RZ` for 255."""
    return "RZ" if index == RZ else f"R{index}"


def pred_name(index: int) -> str:
    """`P3`, or `PT` for 7."""
    return "PT" if index == 7 else f"P{index}"


def signed_hex(value: int) -> str:
    """`0x1f`, `-0x4`."""
    return f"-{-value:#x}" if value < 0 else f"{value:#x}"


def number(sign: str, digits: str) -> int:
    """Value of a sign and decimal or hexadecimal digits."""
    value = int(digits, 16 if digits[:2] == "0x" else 10)
    return -value if sign else value


def register_number(text: str) -> int | None:
    """Register number of `Z` or digits, None when out of range."""
    if text == "Z":
        return RZ
    value = int(text)
    return value if value < RZ else None


class Kind:
    """Base of all kinds; `bits` is the field that holds the value."""

    expected = "operand"
    relative = False
    """True when the text depends on the instruction's address."""

    def __init__(self, bits: Bits) -> None:
        self.bits = bits
        self.mask = bits.mask

    @property
    def may_be_reserved(self) -> bool:
        """True when some values of the field are illegal (the kind has a `reserved` of its own)."""
        return type(self).reserved is not Kind.reserved

    def fields(self) -> list[tuple[str, Bits]]:
        """Named fields for the schema and `explain`."""
        return [("", self.bits)]

    def decode(self, word: int, count: int, flags: dict[str, Any]) -> Operand:
        """The operand object; `flags` are the signs and part of the spec."""
        raise NotImplementedError

    def show(self, word: int, pc: int) -> str:
        """Text of the core."""
        raise NotImplementedError

    def scan(self, text: str, pos: int, pc: int) -> Iterator[Reading]:
        """All readings of the core at `pos`."""
        raise NotImplementedError

    def _reading(self, end: int, value: int) -> Iterator[Reading]:
        yield end, self.bits.put(value), self.bits.mask

    def reserved(self, word: int) -> str | None:
        """Why the field's value is illegal, None when it is fine."""
        return None


class RegKind(Kind):
    """A general register."""

    expected = "register"

    def decode(self, word: int, count: int, flags: dict[str, Any]) -> Operand:
        return Reg(self.bits.get(word), count=count, **flags)

    def show(self, word: int, pc: int) -> str:
        return reg_name(self.bits.get(word))

    def scan(self, text: str, pos: int, pc: int) -> Iterator[Reading]:
        found = _REG.match(text, pos)
        if found and (index := register_number(found[1])) is not None:
            yield from self._reading(found.end(), index)


class SwapRegKind(RegKind):
    """The new value of CAS: the register after the compare value, two on when `wide` is set."""

    def __init__(self, bits: Bits, wide: Bits) -> None:
        super().__init__(bits)
        self.wide = wide
        self.mask |= wide.mask

    def index(self, word: int) -> int:
        """Register number."""
        return self.bits.get(word) + 1 + self.wide.get(word)

    def reserved(self, word: int) -> str | None:
        index = self.index(word)
        return None if index < RZ else f"the new value would be in register {index}"

    def decode(self, word: int, count: int, flags: dict[str, Any]) -> Operand:
        return Reg(self.index(word), count=count, **flags)

    def show(self, word: int, pc: int) -> str:
        return reg_name(self.index(word))

    def scan(self, text: str, pos: int, pc: int) -> Iterator[Reading]:
        for end, bits, _ in super().scan(text, pos, pc):
            index = self.bits.get(bits)
            for wide in (0, 1):
                first = index - 1 - wide
                if first >= 0 and index < RZ:
                    yield end, self.bits.put(first) | self.wide.put(wide), self.mask


class ZeroRegKind(RegKind):
    """RZ that no field encodes (the CAS forms with one register)."""

    expected = "RZ"

    def decode(self, word: int, count: int, flags: dict[str, Any]) -> Operand:
        return Reg(RZ, count=count, **flags)

    def show(self, word: int, pc: int) -> str:
        return "RZ"

    def scan(self, text: str, pos: int, pc: int) -> Iterator[Reading]:
        if text.startswith("RZ", pos):
            yield pos + 2, 0, 0


class ConstKind(Kind):
    """c[bank][offset]: bank, and a word offset that prints signed from its top bit."""

    expected = "constant c[bank][offset]"

    def __init__(self, bits: Bits, spaced: bool) -> None:
        super().__init__(bits)
        self.bank, self.offset = Bits.parse("38:34"), Bits.parse("33:20")
        self.spaced = spaced

    def fields(self) -> list[tuple[str, Bits]]:
        return [("bank", self.bank), ("offset", self.offset)]

    def decode(self, word: int, count: int, flags: dict[str, Any]) -> Operand:
        offset = sign_extend(self.offset.get(word), 14) * 4
        return Const(self.bank.get(word), offset, count=count, **flags)

    def show(self, word: int, pc: int) -> str:
        offset = sign_extend(self.offset.get(word), 14) * 4
        gap = " " if self.spaced else ""
        return f"c[{self.bank.get(word):#x}]{gap}[{signed_hex(offset)}]"

    def scan(self, text: str, pos: int, pc: int) -> Iterator[Reading]:
        found = _CONST.match(text, pos)
        if not found:
            return
        bank, offset = number("", found[1]), number(found[2], found[3])
        if bank < 32 and -0x8000 <= offset < 0x8000 and offset % 4 == 0:
            yield found.end(), self.bank.put(bank) | self.offset.put(offset >> 2), self.mask


class PredKind(Kind):
    """A predicate register; `negate` is the bit of `!`, if there is one.

    An `inverted` field holds the complement of the number (zero is PT).
    """

    expected = "predicate"
    inverted = False

    def __init__(self, bits: Bits, negate: Bits | None) -> None:
        super().__init__(bits)
        self.negate = negate
        if negate:
            self.mask |= negate.mask

    def fields(self) -> list[tuple[str, Bits]]:
        return [("", self.bits)] + ([("not", self.negate)] if self.negate else [])

    def decode(self, word: int, count: int, flags: dict[str, Any]) -> Operand:
        return Pred(self.index(word), bool(self.negate and self.negate.get(word)))

    def index(self, word: int) -> int:
        """Predicate number."""
        return self.bits.get(word) ^ (7 if self.inverted else 0)

    def show(self, word: int, pc: int) -> str:
        mark = "!" if self.negate and self.negate.get(word) else ""
        return mark + pred_name(self.index(word))

    def scan(self, text: str, pos: int, pc: int) -> Iterator[Reading]:
        found = _PRED.match(text, pos)
        if not found or (found[1] and not self.negate):
            return
        index = 7 if found[2] == "T" else int(found[2])
        bits = self.bits.put(index ^ (7 if self.inverted else 0))
        if found[1] and self.negate:
            bits |= self.negate.put(1)
        yield found.end(), bits, self.mask


class IntKind(Kind):
    """An integer immediate printed in hexadecimal; `scale` shifts the field left for display.

    With `extend` the field prints unsigned but means its sign extension (IADD3, VADD, VMAD).
    """

    expected = "integer"

    def __init__(self, bits: Bits, signed: bool, scale: int = 0, extend: bool = False) -> None:
        super().__init__(bits)
        self.signed, self.scale, self.extend = signed, scale, extend
        top = 1 << bits.width
        self.high = top >> 1 if signed else top
        self.low = -(top >> 1) if signed or extend else 0
        last = signed_hex((self.high - 1) << scale)
        self.expected = f"integer {signed_hex(self.low << scale)}..{last}"

    def value(self, word: int) -> int:
        """The immediate as a Python integer."""
        raw = self.bits.get(word)
        return (sign_extend(raw, self.bits.width) if self.signed else raw) << self.scale

    def decode(self, word: int, count: int, flags: dict[str, Any]) -> Operand:
        value = self.value(word)
        if self.extend:
            value = sign_extend(value, self.bits.width)
        return Imm(value & 0xFFFFFFFF, **flags)

    def show(self, word: int, pc: int) -> str:
        return signed_hex(self.value(word))

    def scan(self, text: str, pos: int, pc: int) -> Iterator[Reading]:
        found = HEX.match(text, pos)
        if not found:
            return
        value = number(found[1], found[2])
        if value & ((1 << self.scale) - 1):
            return
        value >>= self.scale
        if self.low <= value < self.high:
            yield from self._reading(found.end(), value)


class FloatKind(Kind):
    """A float immediate of `width` bits whose field holds the pattern's top bits."""

    expected = "floating point number"

    def __init__(self, bits: Bits, width: int) -> None:
        super().__init__(bits)
        self.width = width
        self.shift = max(width - bits.width, 0)
        if self.shift:
            self.expected = f"number that fits the top {bits.width} bits of a {width}-bit float"

    def pattern(self, word: int) -> int:
        """The full float pattern."""
        return (self.bits.get(word) << self.shift) & ((1 << self.width) - 1)

    def decode(self, word: int, count: int, flags: dict[str, Any]) -> Operand:
        return Imm(self.pattern(word), **flags)

    def show(self, word: int, pc: int) -> str:
        return format_float(self.pattern(word), self.width)

    def scan(self, text: str, pos: int, pc: int) -> Iterator[Reading]:
        found = scan_float(text, pos)
        if not found:
            return
        try:
            pattern = parse_float(found[1], self.width, self.bits.width)
        except OverflowError:
            return
        if pattern & ((1 << self.shift) - 1) == 0:
            yield from self._reading(found[0], pattern >> self.shift)


class HalfPairKind(Kind):
    """Two f16 immediates `high, low`; a half of fewer than 16 bits lacks its lowest bits."""

    expected = "two half-precision numbers"

    def __init__(self, high: Bits, low: Bits) -> None:
        super().__init__(Bits(high.ranges + low.ranges))
        self.halves = (high, low)

    def fields(self) -> list[tuple[str, Bits]]:
        return [("high", self.halves[0]), ("low", self.halves[1])]

    def decode(self, word: int, count: int, flags: dict[str, Any]) -> Operand:
        high, low = (h.get(word) << (16 - h.width) for h in self.halves)
        return Imm(high << 16 | low, **flags)

    def show(self, word: int, pc: int) -> str:
        return ", ".join(format_float(h.get(word) << (16 - h.width), 16) for h in self.halves)

    def scan(self, text: str, pos: int, pc: int) -> Iterator[Reading]:
        bits = 0
        for number, half in enumerate(self.halves):
            if number:
                if text[pos : pos + 1] != ",":
                    return
                pos += 1
            found = scan_float(text, pos)
            if not found:
                return
            try:
                pattern = parse_float(found[1], 16, half.width)
            except OverflowError:
                return
            if pattern & ((1 << (16 - half.width)) - 1):
                return
            bits |= half.put(pattern >> (16 - half.width))
            pos = found[0]
        yield pos, bits, self.mask


class SRegKind(Kind):
    """A special register; `names` are the architecture's 256 names."""

    expected = "special register SR_... or SR0 to SR255"

    def __init__(self, bits: Bits, names: tuple[str, ...]) -> None:
        super().__init__(bits)
        self.names = names
        self.numbers = {
            **{f"SR{i}": i for i in range(len(names))},
            **SREG_ALIASES,
            **{name.upper(): i for i, name in enumerate(names)},
        }

    def decode(self, word: int, count: int, flags: dict[str, Any]) -> Operand:
        index = self.bits.get(word)
        return SReg(index, self.names[index])

    def show(self, word: int, pc: int) -> str:
        return self.names[self.bits.get(word)]

    def scan(self, text: str, pos: int, pc: int) -> Iterator[Reading]:
        found = _WORD.match(text, pos)
        if found and (index := self.numbers.get(found[0].upper())) is not None:
            yield from self._reading(found.end(), index)


class NameKind(Kind):
    """A word from a table (2D, CC.NEU, PR...)."""

    def __init__(self, bits: Bits, table: ValueTable) -> None:
        super().__init__(bits)
        self.table = table
        names = list(dict.fromkeys(t for t in table.texts if t))
        self.expected = "one of " + " ".join(names[:8]) + (" ..." if len(names) > 8 else "")

    def decode(self, word: int, count: int, flags: dict[str, Any]) -> Operand:
        value = self.bits.get(word)
        return Name(value, self.table.text(value) or "?")

    def show(self, word: int, pc: int) -> str:
        return self.table.text(self.bits.get(word)) or "?"

    def scan(self, text: str, pos: int, pc: int) -> Iterator[Reading]:
        for value, name in enumerate(self.table.texts):
            if name and text.startswith(name, pos):
                end = pos + len(name)
                if not (text[end : end + 1].isalnum() or text[end : end + 1] == "_"):
                    yield from self._reading(end, value)


class BoardSetKind(Kind):
    """A set of scoreboards, `{5,3}`, highest first."""

    expected = "scoreboard set {n,n}"

    def decode(self, word: int, count: int, flags: dict[str, Any]) -> Operand:
        return Name(self.bits.get(word), self.show(word, 0))

    def show(self, word: int, pc: int) -> str:
        value = self.bits.get(word)
        members = (i for i in range(self.bits.width - 1, -1, -1) if value >> i & 1)
        return "{" + ",".join(map(str, members)) + "}"

    def scan(self, text: str, pos: int, pc: int) -> Iterator[Reading]:
        found = _SET.match(text, pos)
        if found:
            members = [int(x) for x in (found[1] or "").split(",") if x]
            if all(m < self.bits.width for m in members):
                yield from self._reading(found.end(), sum({1 << m for m in members}))


def field_value(kind: Kind, word: int) -> int:
    """All bits of the operand core as one number, for the `?N` (omit) rule."""
    if isinstance(kind, PredKind):
        return (kind.negate.get(word) << 3 if kind.negate else 0) | kind.index(word)
    return kind.bits.get(word)


def field_ones(kind: Kind) -> int:
    """The value `?` alone stands for: all ones (a predicate: plain PT)."""
    return (1 << kind.bits.width) - 1


def field_bits(kind: Kind, value: int) -> tuple[int, int]:
    """(bits, mask) of a core whose `field_value` is `value`."""
    if isinstance(kind, PredKind):
        bits = kind.bits.put((value & 7) ^ (7 if kind.inverted else 0))
        return bits | (kind.negate.put(value >> 3) if kind.negate else 0), kind.mask
    return kind.bits.put(value), kind.bits.mask
