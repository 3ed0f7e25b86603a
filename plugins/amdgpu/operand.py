"""The hwreg operand: 16 bits that name a register and a run of its bits.

    5:0  register id      10:6  first bit      15:11  size - 1

Read as an absolute expression, as `hwreg(id|name[, offset, size])` or as the structured
immediate `{id: .., offset: .., size: ..}`; printed as the assembler prints it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpudbg.bits import Field

from .expression import ExpressionParser, Symbols
from .reader import SourceToken, TokenCursor, TokenKind
from .registers import Processor, known_names

ID = Field(5, 0)
OFFSET = Field(10, 6)
SIZE_LESS_1 = Field(15, 11)


@dataclass(frozen=True, slots=True)
class HwReg:
    """A decoded operand.

    Args:
        id: register, 0..63.
        offset: first bit, 0..31.
        size: number of bits, 1..32; bits past 31 read as zero.
    """

    id: int
    offset: int = 0
    size: int = 32

    @classmethod
    def decode(cls, simm16: int) -> HwReg:
        """The operand in 16 bits."""
        return cls(ID.get(simm16), OFFSET.get(simm16), SIZE_LESS_1.get(simm16) + 1)

    def encode(self) -> int:
        """The 16 bits."""
        return SIZE_LESS_1.put(OFFSET.put(ID.put(0, self.id), self.offset), self.size - 1)

    @property
    def bits(self) -> Field:
        """The bits of the register that exist."""
        return Field(min(self.offset + self.size - 1, 31), self.offset)

    def text(self, processor: Processor) -> str:
        """As llvm-mc 19 prints it."""
        name = processor.registers[self.id].printed
        if self.offset == 0 and self.size == 32:
            return f"hwreg({name})"
        return f"hwreg({name}, {self.offset}, {self.size})"

    def to_json(self) -> dict[str, Any]:
        """As the dict the assembler cases use."""
        return {"id": self.id, "offset": self.offset, "size": self.size}


@dataclass(slots=True)
class _Value:
    """A part of the operand while it is read."""

    name: str
    what: str
    limits: range
    legal: str
    value: int
    token: SourceToken | None = None


def _parts() -> tuple[_Value, _Value, _Value]:
    return (
        _Value("id", "hardware register", range(64), "only 6-bit values are legal", 0),
        _Value("offset", "bit offset", range(32), "only 5-bit values are legal", 0),
        _Value("size", "bitfield width", range(1, 33), "only values from 1 to 32 are legal", 32),
    )


def parse_operand(cursor: TokenCursor, symbols: Symbols, processor: Processor) -> int:
    """Read an operand at the cursor; gives its 16 bits.

    Raises:
        AsmError: in llvm-mc 19's words.
    """
    start = cursor.token
    if start.punct("{"):
        return _structured(cursor, symbols)
    called = start.kind is TokenKind.NAME and start.text == "hwreg" and cursor.peek().punct("(")
    if called:
        return _macro(cursor, symbols, processor)
    expected = "a hwreg macro, structured immediate"
    value = ExpressionParser(cursor, symbols).absolute(expected)
    if not 0 <= value <= 0xFFFF:
        cursor.fail("invalid immediate: only 16-bit values are legal", start)
    return value


def _macro(cursor: TokenCursor, symbols: Symbols, processor: Processor) -> int:
    register, offset, size = _parts()
    cursor.advance()
    cursor.advance()
    register.token = cursor.token
    unsupported = _register(cursor, symbols, processor, register)
    if not cursor.take(")"):
        cursor.expect(",", "expected a comma or a closing parenthesis")
        for part, after, error in (
            (offset, ",", "expected a comma"), (size, ")", "expected a closing parenthesis"),
        ):  # fmt: skip
            part.token = cursor.token
            part.value = ExpressionParser(cursor, symbols).absolute()
            cursor.expect(after, error)
    if unsupported:
        cursor.fail("invalid hardware register: not supported on this GPU", register.token)
    return _encode(cursor, (register, offset, size))


def _register(
    cursor: TokenCursor, symbols: Symbols, processor: Processor, register: _Value
) -> bool:
    """Read the register of the macro; True when it is a name this processor lacks."""
    token = cursor.token
    if token.kind is TokenKind.NAME and token.text in known_names():
        cursor.advance()
        register.value = processor.ids.get(token.text, 0)
        return token.text not in processor.ids
    register.value = ExpressionParser(cursor, symbols).absolute("a register name")
    return False


def _structured(cursor: TokenCursor, symbols: Symbols) -> int:
    parts = _parts()
    cursor.advance()
    seen: set[str] = set()
    if not cursor.take("}"):
        while True:
            _structured_field(cursor, symbols, parts, seen)
            if cursor.take("}"):
                break
            cursor.expect(",", "comma or closing brace expected")
    return _encode(cursor, parts)


def _structured_field(
    cursor: TokenCursor, symbols: Symbols, parts: tuple[_Value, ...], seen: set[str]
) -> None:
    name = cursor.token
    if name.kind is not TokenKind.NAME:
        cursor.fail("field name expected")
    cursor.advance()
    cursor.expect(":", "colon expected")
    part = next((part for part in parts if part.name == name.text), None)
    if part is None:
        cursor.fail("unknown field", name)
    if part.name in seen:
        cursor.fail("duplicate field", name)
    seen.add(part.name)
    part.token = cursor.token
    part.value = ExpressionParser(cursor, symbols).absolute()


def _encode(cursor: TokenCursor, parts: tuple[_Value, ...]) -> int:
    for part in parts:
        if part.value not in part.limits:
            cursor.fail(f"invalid {part.what}: {part.legal}", part.token)
    register, offset, size = parts
    return HwReg(register.value, offset.value, size.value).encode()
