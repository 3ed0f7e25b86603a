"""Assembler text cut into tokens, and the place in them while they are read.

Names, integers and punctuation; comments are `;`, `//`, `/* */` and, at the start of a line, `#`; a
statement ends with its line.  Columns count bytes, as llvm-mc does, so text is cut as its UTF-8.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import NoReturn

from .errors import AsmError

MAX_SOURCE = 1 << 16
"""Bytes of text that are read; more is refused."""


class TokenKind(StrEnum):
    """Token kinds; what is of no other kind is `PUNCT`."""

    NAME = "name"
    INTEGER = "integer"
    PUNCT = "punctuation"
    END = "end of statement"
    EOF = "end of text"


@dataclass(frozen=True, slots=True)
class SourceToken:
    """One token.

    Attributes:
        kind, text: what it is, and its characters.
        line, column: its place, from 1.
        value: of an `INTEGER`.
    """

    kind: TokenKind
    text: str
    line: int
    column: int
    value: int = 0

    def punct(self, text: str) -> bool:
        """Whether this is that punctuation."""
        return self.kind is TokenKind.PUNCT and self.text == text


_TOKENS = re.compile(
    r"(?P<gap>[ \t\0]+|/\*.*?\*/)|(?P<end>(?://|;)[^\r\n]*(?:\r\n|[\r\n]|$)|\r\n|[\r\n])"
    r"|(?P<name>[A-Za-z_.][\w$.?@]*)|(?P<number>0[xX][0-9a-fA-F]+|0[bB][01]+|[0-9]+)(?![\w.])"
    r"|(?P<punct>==|\|\||&&|!=|<<|<=|<>|>>|>=|.)",
    re.ASCII | re.DOTALL,
)
_HASH = re.compile(r"^[ \t]*#[^\r\n]*", re.MULTILINE)


def tokens_of(text: str) -> list[SourceToken]:
    """All tokens of a text; the last two are `END` and `EOF`.

    Raises:
        AsmError: the text is too long, or an integer has no value.
    """
    if len(text) > MAX_SOURCE:
        raise AsmError(f"text is longer than {MAX_SOURCE} bytes", 1, 1)
    # One character for each byte; comments of `#` become blanks of their length.
    text = text.encode("utf-8", "surrogatepass").decode("latin-1")
    text = _HASH.sub(lambda match: " " * len(match[0]), text)
    found: list[SourceToken] = []
    line, start = 1, 0
    for match in _TOKENS.finditer(text):
        kind, column = match.lastgroup, match.start() - start + 1
        if kind == "end":
            found.append(SourceToken(TokenKind.END, match[0], line, column))
        elif kind == "name":
            found.append(SourceToken(TokenKind.NAME, match[0], line, column))
        elif kind == "number":
            found.append(
                SourceToken(
                    TokenKind.INTEGER, match[0], line, column, _value(match[0], line, column)
                )
            )
        elif kind == "punct":
            found.append(SourceToken(TokenKind.PUNCT, match[0], line, column))
        # As llvm-mc counts: lines by line feeds, columns behind carriage returns as well.
        line += match[0].count("\n")
        last = max(map(match[0].rfind, "\r\n"))
        if last >= 0:
            start = match.start() + last + 1
    column = len(text) - start + 1
    return [
        *found,
        SourceToken(TokenKind.END, "", line, column),
        SourceToken(TokenKind.EOF, "", line, column),
    ]


def _value(digits: str, line: int, column: int) -> int:
    """An integer; one with a leading 0 is octal."""
    base = 8 if digits.isdecimal() and len(digits) > 1 and digits[0] == "0" else 0
    try:
        value = int(digits, base)
    except ValueError:
        raise AsmError("invalid number", line, column) from None
    if value >> 64:
        raise AsmError("literal value out of range for directive", line, column)
    return value


class TokenCursor:
    """The reader's place in the tokens; what is read past the end stays at `EOF`."""

    def __init__(self, tokens: list[SourceToken]) -> None:
        self._tokens = tokens
        self._index = 0

    @property
    def token(self) -> SourceToken:
        """The current token."""
        return self._tokens[self._index]

    def peek(self) -> SourceToken:
        """The next token."""
        return self._tokens[min(self._index + 1, len(self._tokens) - 1)]

    def advance(self) -> SourceToken:
        """Step over the current token and give it."""
        token = self.token
        self._index = min(self._index + 1, len(self._tokens) - 1)
        return token

    def at_end(self) -> bool:
        """Whether the statement ends here."""
        return self.token.kind in (TokenKind.END, TokenKind.EOF)

    def take(self, text: str) -> bool:
        """Step over the punctuation `text` when it is here."""
        if not self.token.punct(text):
            return False
        self.advance()
        return True

    def expect(self, text: str, error: str) -> None:
        """Step over the punctuation `text`.

        Raises:
            AsmError: `error`, at the current token.
        """
        if not self.take(text):
            self.fail(error)

    def fail(self, error: str, at: SourceToken | None = None, hint: str | None = None) -> NoReturn:
        """Refuse the text at a token (the current one by default).

        Raises:
            AsmError: always.
        """
        token = at or self.token
        raise AsmError(error, token.line, token.column, hint)
