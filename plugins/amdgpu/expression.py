"""Integer expressions of the assembler: symbols and operators by its precedence, in 64 bits.

    primary   ( expr )   symbol   integer   - + ~ ! primary
    6 * / % << >>    5 | ! & ^    4 + -    3 == != <> < <= > >=    2 &&    1 ||

A comparison gives -1 when true, `&&` and `||` give 1; `>>` is logical and a shift count is taken
modulo 64; `a ! b` is a | ~b.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from .reader import TokenCursor, TokenKind

MAX_DEPTH = 60
"""Nesting beyond this is refused, so that no text can exhaust the stack."""

Symbols = dict[str, int]
"""Symbols with a value."""

_MASK = (1 << 64) - 1


def wrap(value: int) -> int:
    """`value` as a signed 64-bit integer."""
    value &= _MASK
    return value - (1 << 64) if value >> 63 else value


def _divide(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


BINARY: Mapping[str, tuple[int, Callable[[int, int], int]]] = {
    "*": (6, operator.mul),
    "/": (6, _divide),
    "%": (6, lambda a, b: a - b * _divide(a, b)),
    "<<": (6, lambda a, b: a << (b & 63)),
    ">>": (6, lambda a, b: (a & _MASK) >> (b & 63)),
    "|": (5, operator.or_),
    "!": (5, lambda a, b: a | ~b),
    "&": (5, operator.and_),
    "^": (5, operator.xor),
    "+": (4, operator.add),
    "-": (4, operator.sub),
    "==": (3, lambda a, b: -(a == b)),
    "!=": (3, lambda a, b: -(a != b)),
    "<>": (3, lambda a, b: -(a != b)),
    "<": (3, lambda a, b: -(a < b)),
    "<=": (3, lambda a, b: -(a <= b)),
    ">": (3, lambda a, b: -(a > b)),
    ">=": (3, lambda a, b: -(a >= b)),
    "&&": (2, lambda a, b: int(bool(a and b))),
    "||": (1, lambda a, b: int(bool(a or b))),
}
"""Operator -> (precedence, meaning); larger binds tighter."""

UNARY: Mapping[str, Callable[[int], int]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "!": operator.not_,
}


class ExpressionParser:
    """Parses expressions at a cursor; None is the value of what has none: an unknown symbol, a
    division by zero."""

    def __init__(self, cursor: TokenCursor, symbols: Symbols) -> None:
        self.cursor = cursor
        self.symbols = symbols
        self.depth = 0

    def absolute(self, expected: str = "") -> int:
        """An expression that has a value.

        Args:
            expected: what else could stand here, for the message.

        Raises:
            AsmError: not an expression, or without a value.
        """
        start = self.cursor.token
        value = self.expression()
        if value is None:
            what = f"expected {expected} or an absolute expression" if expected else ""
            self.cursor.fail(what or "expected absolute expression", start)
        return value

    def expression(self) -> int | None:
        """An expression.

        Raises:
            AsmError: as llvm-mc words it; also when nesting exceeds `MAX_DEPTH`.
        """
        self._deeper()
        result = self._binary(1, self._primary())
        self.depth -= 1
        return result

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.cursor.fail(f"expression nests deeper than {MAX_DEPTH} levels")

    def _binary(self, least: int, left: int | None) -> int | None:
        """Operators of precedence `least` and above after `left`."""
        while (precedence := self._precedence()) >= least:
            name = self.cursor.advance().text
            right = self._primary()
            if precedence < self._precedence():
                right = self._binary(precedence + 1, right)
            if left is None or right is None or (name in "/%" and right == 0):
                left = None
            else:
                left = wrap(BINARY[name][1](left, right))
        return left

    def _precedence(self) -> int:
        """Of the binary operator here; 0 where there is none."""
        token = self.cursor.token
        return (
            BINARY[token.text][0] if token.kind is TokenKind.PUNCT and token.text in BINARY else 0
        )

    def _primary(self) -> int | None:
        token = self.cursor.token
        if token.kind is TokenKind.PUNCT and token.text in UNARY:
            self._deeper()
            self.cursor.advance()
            value = self._primary()
            self.depth -= 1
            return None if value is None else wrap(int(UNARY[token.text](value)))
        if token.kind is TokenKind.INTEGER:
            return wrap(self.cursor.advance().value)
        if token.kind is TokenKind.NAME:
            return self.symbols.get(self.cursor.advance().text)
        if self.cursor.take("("):
            value = self.expression()
            self.cursor.expect(")", "expected ')'")
            return value
        self.cursor.fail("unknown token in expression")
