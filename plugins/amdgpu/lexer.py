"""Tokens of AMDGPU assembler text, as llvm-mc 19 cuts them.

Comments are `;`, `//`, `/* */` and, at the start of a statement, `#`; a statement ends with its
line.  Columns count bytes, so text is cut as its UTF-8 bytes.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Token kinds; a punctuation token has kind `PUNCT` and its text."""

    IDENTIFIER = "identifier"
    STRING = "string"
    INTEGER = "integer"
    BIG = "big"
    REAL = "real"
    PUNCT = "punctuation"
    ERROR = "error"
    COMMENT = "comment"
    END = "end of statement"
    EOF = "end of file"


@dataclass(frozen=True, slots=True)
class Token:
    """One token.

    Args:
        kind: what it is.
        text: its characters (one a byte); for an `ERROR` the lexer's message.
        start: offset of the first byte.
        end: offset past the last byte.
        line: 1-based.
        column: 1-based.
        value: of an `INTEGER`: the signed 64-bit value; of an `ERROR`: how many bytes after the
            start of its literal it lies.
        comments: block comments between the token before and this one.
    """

    kind: Kind
    text: str
    start: int
    end: int
    line: int
    column: int
    value: int = 0
    comments: int = 0

    def punct(self, text: str) -> bool:
        """Whether this is that punctuation."""
        return self.kind is Kind.PUNCT and self.text == text


_DIGITS = frozenset("0123456789")
_HEX = _DIGITS | frozenset("abcdefABCDEF")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_IDENTIFIER = _LETTERS | _DIGITS | frozenset("_$.?@")
_PAIRS = frozenset({"==", "->", "||", "&&", "!=", "<<", "<=", "<>", ">>", ">="})
_SINGLES = frozenset(":+~()[]{}*,$@#?\\=-|^&!%/<>")
_ESCAPES = {"'": 39, "t": 9, "n": 10, "b": 8, "f": 12, "r": 13}


def to_bytes_text(text: str) -> str:
    """`text` with one character for each UTF-8 byte."""
    return text.encode("utf-8", "surrogatepass").decode("latin-1")


def tokenize(text: str) -> list[Token]:
    """All tokens of a source; the last is `EOF`, and an `END` comes before it.

    Args:
        text: any text.
    """
    return _Lexer(to_bytes_text(text)).run()


class _Lexer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.tokens: list[Token] = []
        self.lines = [0] + [i + 1 for i, char in enumerate(text) if char == "\n"]
        self.statement_start = True
        self.comments = 0

    def run(self) -> list[Token]:
        while self.at < len(self.text):
            self.step()
        if not self.statement_start:
            self.add(Kind.END, self.at)
        self.add(Kind.EOF, self.at)
        return self.tokens

    def peek(self, ahead: int = 0) -> str:
        """The character `ahead` of the position; NUL past the end, as the lexer's buffer has."""
        index = self.at + ahead
        return self.text[index] if index < len(self.text) else "\0"

    def add(self, kind: Kind, start: int, value: int = 0, text: str | None = None) -> None:
        line = bisect_right(self.lines, start)
        shown = self.text[start : self.at] if text is None else text
        column = start - self.lines[line - 1] + 1
        place = (start, self.at, line, column)
        self.tokens.append(Token(kind, shown, *place, value, self.comments))
        self.comments = 0

    def fail(self, start: int, message: str) -> None:
        self.add(Kind.ERROR, start, text=message)

    def skip(self, chars: frozenset[str]) -> None:
        while self.peek() in chars and self.at < len(self.text):
            self.at += 1

    def step(self) -> None:
        char = self.peek()
        start = self.at
        if char in " \t\0":
            self.at += 1
        elif char in "\r\n":
            self.at += 2 if self.text[start : start + 2] == "\r\n" else 1
            self.end(start)
        elif char == ";" or (char == "#" and self.statement_start):
            self.line_comment(start)
        elif char == "/" and self.peek(1) in "/*":
            self.slash(start)
        else:
            self.statement_start = False
            self.token(char, start)

    def end(self, start: int) -> None:
        self.add(Kind.END, start)
        self.statement_start = True

    def line_comment(self, start: int) -> None:
        while self.at < len(self.text) and self.text[self.at] not in "\r\n":
            self.at += 1
        if self.at < len(self.text):
            self.at += 2 if self.text[self.at : self.at + 2] == "\r\n" else 1
        self.end(start)

    def slash(self, start: int) -> None:
        if self.peek(1) == "/":
            self.line_comment(start)
            return
        self.statement_start = False
        close = self.text.find("*/", self.at + 2)
        self.at = len(self.text) if close < 0 else close + 2
        self.comments += 1
        if close < 0:
            self.fail(start, "unterminated comment")

    def token(self, char: str, start: int) -> None:
        if char in _LETTERS or char in "_.":
            self.identifier(start)
        elif char in _DIGITS:
            self.number(start)
        elif char == "'":
            self.character(start)
        elif char == '"':
            self.string(start)
        elif self.text[start : start + 2] in _PAIRS:
            self.at += 2
            self.add(Kind.PUNCT, start)
        else:
            self.at += 1
            if char in _SINGLES:
                self.add(Kind.PUNCT, start)
            else:
                self.fail(start, "invalid character in input")

    def identifier(self, start: int) -> None:
        self.at += 1
        if self.text[start] == "." and self.peek() in _DIGITS:
            self.skip(_DIGITS)
            if self.peek() not in _IDENTIFIER or self.peek() in "eE":
                self.float(start)
                return
        self.skip(_IDENTIFIER)
        alone = self.text[start : self.at] == "."
        self.add(Kind.PUNCT if alone else Kind.IDENTIFIER, start)

    def float(self, start: int) -> None:
        """The rest of a decimal floating-point literal, from within its fraction."""
        self.skip(_DIGITS)
        if self.peek() in "+-":
            into = self.at - start
            self.add(Kind.ERROR, self.at, into, "invalid sign in float literal")
            return
        if self.peek() in "eE":
            self.at += 1
            self.at += self.peek() in "+-"
            self.skip(_DIGITS)
        self.add(Kind.REAL, start)

    def hex_float(self, start: int, whole: bool) -> None:
        """The rest of `0x1.8p3`, from its point or `p`; `whole`: digits came before it."""
        what = "invalid hexadecimal floating-point constant: expected "
        fraction = False
        if self.peek() == ".":
            self.at += 1
            fraction = self.peek() in _HEX
            self.skip(_HEX)
        if not (whole or fraction):
            self.fail(start, what + "at least one significand digit")
            return
        if self.peek() not in "pP":
            self.fail(start, what + "exponent part 'p'")
            return
        self.at += 1
        self.at += self.peek() in "+-"
        if self.peek() not in _DIGITS:
            self.fail(start, what + "at least one exponent digit")
            return
        self.skip(_DIGITS)
        self.add(Kind.REAL, start)

    def integer(self, start: int, digits: str, radix: int, suffix: bool = True) -> None:
        end = self.at
        if suffix:
            self.at += self.peek() in "uU"
            self.at += self.peek() in "lL"
            self.at += self.peek() in "lL"
        value = _value(digits, radix)
        kind = Kind.INTEGER if value < 1 << 64 else Kind.BIG
        signed = value - (1 << 64) if (1 << 63) <= value < (1 << 64) else value
        self.add(kind, start, signed if kind is Kind.INTEGER else 0, self.text[start:end])

    def number(self, start: int) -> None:
        first = self.text[start]
        self.at += 1
        following = self.peek()
        if first != "0" or following == ".":
            self.skip(_DIGITS)
            if self.peek() in ".eE":
                self.at += self.peek() == "."
                self.float(start)
                return
            self.integer(start, self.text[start : self.at], 10)
        elif following in "bB":
            self.binary(start)
        elif following in "xX":
            self.hexadecimal(start)
        else:
            self.skip(_DIGITS)
            digits = self.text[start : self.at]
            if set(digits) & {"8", "9"}:
                self.fail(start, "invalid octal number")
            else:
                self.integer(start, digits, 8)

    def binary(self, start: int) -> None:
        if self.peek(1) not in _DIGITS:  # `0b`: the integer 0 and the identifier b
            self.integer(start, "0", 10, suffix=False)
            return
        self.at += 1
        first = self.at
        self.skip(frozenset("01"))
        if self.at == first:
            self.fail(start, "invalid binary number")
            return
        self.integer(start, self.text[first : self.at], 2)

    def hexadecimal(self, start: int) -> None:
        self.at += 1
        first = self.at
        self.skip(_HEX)
        if self.peek() in ".pP":
            self.hex_float(start, self.at > first)
        elif self.at == first:
            self.fail(start, "invalid hexadecimal number")
        else:
            self.integer(start, self.text[first : self.at], 16)

    def character(self, start: int) -> None:
        self.at += 1
        escaped = self.peek() == "\\"
        self.at += escaped
        if self.at >= len(self.text):
            self.fail(start, "unterminated single quote")
            return
        char = self.text[self.at]
        self.at += 1
        if self.peek() != "'":
            self.at = min(self.at + 1, len(self.text))
            self.fail(start, "single quote way too long")
            return
        self.at += 1
        code = _ESCAPES.get(char, ord(char)) if escaped else ord(char)
        self.add(Kind.INTEGER, start, code - 256 if code > 127 else code)

    def string(self, start: int) -> None:
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != '"':
            self.at += 2 if self.text[self.at] == "\\" else 1
        if self.at >= len(self.text):
            self.at = len(self.text)
            self.fail(start, "unterminated string constant")
            return
        self.at += 1
        self.add(Kind.STRING, start)


def _value(digits: str, radix: int) -> int:
    """Digits to an integer; a literal too long for any use is only known to be large."""
    digits = digits.lstrip("0") or "0"
    return 1 << 64 if len(digits) > 64 else int(digits, radix)
