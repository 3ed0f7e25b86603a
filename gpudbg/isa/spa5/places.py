"""Operand cores that are places: memory addresses, constant addresses, flow targets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ...bits import sign_extend
from ..bitsets import Bits
from ..operands import RZ, Address, CBankAddress, Operand, Reg, Target
from .kinds import HEX, IntKind, Kind, Reading, number, reg_name, register_number, signed_hex

_INT = r"(-?)(0x[0-9a-fA-F]+|\d+)"
_CBANK = re.compile(rf"c\[(0x[0-9a-fA-F]+|\d+)\]\[(?:R(Z|\d+)(?:\+{_INT})?|{_INT})\]")
_ADDRESS = re.compile(rf"\[(?:R(Z|\d+)(?:\+{_INT})?|{_INT})\]")
_JUMPREG = re.compile(r"R(Z|\d+)(?:(-?)(0x[0-9a-fA-F]+))?(?![\w.])")


class AddressKind(Kind):
    """[base + offset] with the base in bits 15..8 and a signed, possibly scaled offset."""

    expected = "address [R+offset]"

    def __init__(self, bits: Bits, scale: int, base: Bits) -> None:
        super().__init__(bits)
        self.offset = IntKind(bits, signed=True, scale=scale)
        self.base = base
        self.mask |= base.mask

    def fields(self) -> list[tuple[str, Bits]]:
        return [("base", self.base), ("offset", self.bits)]

    def decode(self, word: int, count: int, flags: dict[str, Any]) -> Operand:
        index = self.base.get(word)
        wide = count == 2 and self.bits.width > 0
        return Address(Reg(index, count=count), self._offset(word, index), wide)

    def _offset(self, word: int, base: int) -> int:
        if not self.bits.width:
            return 0
        if base == RZ:
            return self.bits.get(word) << self.offset.scale
        return self.offset.value(word)

    def show(self, word: int, pc: int) -> str:
        base = self.base.get(word)
        offset = self._offset(word, base)
        if base == RZ:
            return f"[{offset:#x}]" if offset else "[RZ]"
        return f"[{reg_name(base)}+{signed_hex(offset)}]" if offset else f"[{reg_name(base)}]"

    def scan(self, text: str, pos: int, pc: int) -> Iterator[Reading]:
        found = _ADDRESS.match(text, pos)
        if not found:
            return
        base = RZ if found[1] is None else register_number(found[1])
        sign, digits = found[2] or found[4] or "", found[3] or found[5] or "0"
        value = number(sign, digits)
        if base is None or value & ((1 << self.offset.scale) - 1):
            return
        value >>= self.offset.scale
        top = 1 << self.bits.width
        if value == 0 or -(top >> 1) <= value < (top if base == RZ else top >> 1):
            yield found.end(), self.bits.put(value) | self.base.put(base), self.mask


class AttributeKind(Kind):
    """A graphics attribute address: a[offset], a[base] or a[base+offset].

    Style `Z` prints a zero offset without base as a[RZ]; style `0` allows no other offset.
    """

    expected = "attribute address a[...]"

    def __init__(self, bits: Bits, base: Bits | None, style: str = "") -> None:
        super().__init__(bits)
        self.base, self.style = base, style
        self.mask |= base.mask if base else 0

    def fields(self) -> list[tuple[str, Bits]]:
        out = [("base", self.base)] if self.base else []
        return out + ([("offset", self.bits)] if self.bits.width else [])

    def _offset(self, word: int) -> int:
        raw, width = self.bits.get(word), self.bits.width
        return sign_extend(raw, width) if self.base and width else raw

    def decode(self, word: int, count: int, flags: dict[str, Any]) -> Operand:
        base = self.base.get(word) if self.base else RZ
        return Address(Reg(base), self._offset(word))

    def reserved(self, word: int) -> str | None:
        wrong = self.style == "0" and self.bits.get(word)
        return "a physical attribute address has no offset" if wrong else None

    def show(self, word: int, pc: int) -> str:
        offset = signed_hex(self._offset(word))
        if not self.base:
            return "a[RZ]" if offset == "0x0" and self.style == "Z" else f"a[{offset}]"
        base = reg_name(self.base.get(word))
        return f"a[{base}]" if offset == "0x0" else f"a[{base}+{offset}]"

    def scan(self, text: str, pos: int, pc: int) -> Iterator[Reading]:
        found = _ADDRESS.match(text, pos + 1) if text.startswith("a[", pos) else None
        if not found or (found[1] in (None, "Z")) < (self.base is None):
            return
        base = register_number(found[1]) if found[1] else RZ
        value = number(found[2] or found[4] or "", found[3] or found[5] or "0")
        top = 1 << self.bits.width
        low, high = (-(top >> 1), top >> 1) if self.base else (0, top)
        if base is not None and (low <= value < high or value == 0):
            bits = self.bits.put(value) | (self.base.put(base) if self.base else 0)
            yield found.end(), bits, self.mask


class CBankKind(Kind):
    """c[bank][base + offset] with a byte offset; the base field is absent in plain flow targets."""

    expected = "constant address c[bank][R+offset]"

    def __init__(self, base: Bits | None) -> None:
        super().__init__(Bits.parse("40:20"))
        self.bank, self.offset, self.base = Bits.parse("40:36"), Bits.parse("35:20"), base
        if base:
            self.mask |= base.mask

    def fields(self) -> list[tuple[str, Bits]]:
        return [("bank", self.bank), ("offset", self.offset)] + (
            [("base", self.base)] if self.base else []
        )

    def decode(self, word: int, count: int, flags: dict[str, Any]) -> Operand:
        base = Reg(self.base.get(word)) if self.base else None
        return CBankAddress(self.bank.get(word), base, sign_extend(self.offset.get(word), 16))

    def show(self, word: int, pc: int) -> str:
        offset = sign_extend(self.offset.get(word), 16)
        where = signed_hex(offset)
        if self.base and (base := self.base.get(word)) != RZ:
            where = reg_name(base) + (f"+{where}" if offset else "")
        return f"c[{self.bank.get(word):#x}][{where}]"

    def scan(self, text: str, pos: int, pc: int) -> Iterator[Reading]:
        found = _CBANK.match(text, pos)
        if not found or (found[2] is not None and self.base is None):
            return
        bank = number("", found[1])
        offset = number(found[3] or found[5] or "", found[4] or found[6] or "0")
        base = RZ if found[2] is None else register_number(found[2])
        if bank > 31 or base is None or not -0x8000 <= offset < 0x10000:
            return
        bits = self.bank.put(bank) | self.offset.put(offset)
        if self.base:
            bits |= self.base.put(base)
        yield found.end(), bits, self.mask


class TargetKind(Kind):
    """A flow target: relative to the next word, or absolute; `base` adds a register."""

    expected = "branch target"

    def __init__(self, bits: Bits, relative: bool, base: Bits | None) -> None:
        super().__init__(bits)
        self.relative, self.base = relative, base
        if base:
            self.mask |= base.mask

    def fields(self) -> list[tuple[str, Bits]]:
        return ([("base", self.base)] if self.base else []) + [("", self.bits)]

    def value(self, word: int) -> int:
        """The field: signed when relative or added to a register."""
        raw = self.bits.get(word)
        return sign_extend(raw, self.bits.width) if self.relative or self.base else raw

    def decode(self, word: int, count: int, flags: dict[str, Any]) -> Operand:
        base = Reg(self.base.get(word)) if self.base else None
        return Target(self.value(word), self.relative, base)

    def show(self, word: int, pc: int) -> str:
        value = self.value(word)
        if self.base:
            reg = reg_name(self.base.get(word))
            return f"{reg} {signed_hex(value)}" if value else reg
        return signed_hex(pc + 8 + value if self.relative else value)

    def scan(self, text: str, pos: int, pc: int) -> Iterator[Reading]:
        base = 0
        if self.base:
            found = _JUMPREG.match(text, pos)
            if not found or (index := register_number(found[1])) is None:
                return
            base = self.base.put(index)
            value = number(found[2] or "", found[3] or "0")
        else:
            found = HEX.match(text, pos)
            if not found:
                return
            value = number(found[1], found[2]) - (pc + 8 if self.relative else 0)
        half = 1 << (self.bits.width - 1)
        low, high = (-half, half) if self.relative or self.base else (0, half * 2)
        if low <= value < high:
            yield found.end(), base | self.bits.put(value), self.mask
