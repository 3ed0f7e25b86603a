"""GDB/MI input: one line to a token, a command and its words."""

from __future__ import annotations

import re
from dataclasses import field

from gpudbg.dataclass import dataclass
from gpudbg.errors import GpudbgError

_TOKEN = re.compile(r"\s*([0-9]*)")
_OCTALS = re.compile(r"(?:\\[0-7]{1,3})+")
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b"}


class MiError(GpudbgError):
    """An `^error` answer.

    Attributes:
        message: what went wrong.
        code: MI's error code, or None.
    """

    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class MiLine:
    """A parsed line: an MI command with words, or console text (`name` empty).

    Attributes:
        token: digits to echo.
        name: command without the dash.
        text: everything behind the name, or the console line.
    """

    token: str
    name: str
    text: str


def parse_line(raw: str) -> MiLine:
    """Split a line; never fails (words are split later, so that a token is always known)."""
    line = raw.rstrip("\r\n")
    m = _TOKEN.match(line)
    assert m is not None
    rest = line[m.end() :]
    if not rest.startswith("-"):
        return MiLine(m[1], "", rest)
    name, _, text = _cut(rest[1:])
    return MiLine(m[1], name, text)


def _cut(text: str) -> tuple[str, str, str]:
    m = re.match(r"\S*", text)
    assert m is not None
    return m[0], " ", text[m.end() :].strip()


def split_words(name: str, text: str) -> list[str]:
    """Words at blanks; a word in double quotes is a C string.

    Raises:
        MiError: an unfinished string, or text glued to one.
    """
    out: list[str] = []
    at = 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if at >= len(text):
            return out
        if text[at] == '"':
            word, at = _string(name, text, at + 1)
        else:
            end = at
            while end < len(text) and not text[end].isspace():
                end += 1
            word, at = text[at:end], end
        out.append(word)


def _string(name: str, text: str, at: int) -> tuple[str, int]:
    out: list[str] = []
    while at < len(text):
        ch = text[at]
        if ch == '"':
            at += 1
            if at < len(text) and not text[at].isspace():
                break
            return "".join(out), at
        if ch == "\\" and at + 1 < len(text):
            piece, at = _escape(text, at + 1)
            out.append(piece)
            continue
        out.append(ch)
        at += 1
    raise MiError(f"Problem parsing arguments: {name} {text}")


def _escape(text: str, at: int) -> tuple[str, int]:
    """What follows a backslash; octal bytes that belong to one character are taken together."""
    m = _OCTALS.match(text, at - 1)
    if m is not None:
        codes = [int(digits, 8) & 0xFF for digits in m[0].split("\\")[1:]]
        return bytes(codes).decode("utf-8", "surrogateescape"), m.end()
    return _SIMPLE.get(text[at], text[at]), at + 1


@dataclass(slots=True)
class MiOptions:
    """A command's options and what is left of its words."""

    values: dict[str, str] = field(default_factory=dict)
    rest: list[str] = field(default_factory=list)

    def has(self, name: str) -> bool:
        """Whether an option was given."""
        return name in self.values

    def get(self, name: str) -> str | None:
        """An option's value."""
        return self.values.get(name)


def take_options(name: str, words: list[str], flags: str = "", values: str = "") -> MiOptions:
    """Options in front of a command's arguments.

    Args:
        name: for messages.
        words: the words behind the command.
        flags: options without a value, blank-separated, with their dashes.
        values: options with a value.

    Raises:
        MiError: an option that needs a value has none.
    """
    plain, valued = flags.split(), values.split()
    out = MiOptions()
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        if word in plain:
            out.values[word] = ""
            at += 1
        elif word in valued:
            if at + 1 >= len(words):
                raise MiError(f"-{name}: Option {word} requires an argument")
            out.values[word] = words[at + 1]
            at += 2
        else:
            break
    out.rest = words[at:]
    return out
