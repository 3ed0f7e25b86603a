"""A strict reader of GDB/MI output: every line must be a record of the documented grammar.

Written from the grammar in gdb's manual, apart from the bridge's own writer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

_STRING = re.compile(r'"((?:[^"\\\x00-\x1f\x7f-\U0010ffff]|\\[ntrvfab"\\]|\\[0-7]{3})*)"')
_KEY = re.compile(r"[A-Za-z_][A-Za-z_-]*")
"""Letters, `_` and `-`: Emacs takes no digit in a key."""
_HEAD = re.compile(r"(\d*)([\^*=])([a-z-]+)")
RESULTS = {"done", "running", "connected", "exit", "error"}


class GrammarError(Exception):
    """A line that is no record."""


@dataclass(slots=True)
class Record:
    """One output line."""

    kind: str
    token: str = ""
    name: str = ""
    fields: dict[str, Any] = field(default_factory=dict)
    text: str = ""
    line: str = ""


def unescape(text: str) -> str:
    """A C string's content."""
    plain = {"n": "\n", "t": "\t", "r": "\r", "v": "\v", "f": "\f", "a": "\a", "b": "\b"}

    def one(m: re.Match[str]) -> str:
        word = m[1]
        return chr(int(word, 8)) if word.isdigit() else plain.get(word, word)

    raw = re.sub(r"\\([0-7]{3}|.)", one, text)
    return raw.encode("latin-1").decode("utf-8", "replace")


def parse(line: str) -> Record:
    """One line without its newline.

    Raises:
        GrammarError: it breaks the grammar.
    """
    if line == "(gdb) ":
        return Record("prompt")
    if line[:1] in "~@&" and line:
        m = _STRING.fullmatch(line, 1)
        if m is None:
            raise GrammarError(f"stream record: {line!r}")
        return Record(line[0], text=unescape(m[1]))
    m = _HEAD.match(line)
    if m is None:
        raise GrammarError(f"no record: {line!r}")
    token, kind, name = m.groups()
    if kind == "^" and name not in RESULTS:
        raise GrammarError(f"result class {name!r}")
    if kind != "^" and token:
        raise GrammarError(f"token on an async record: {line!r}")
    fields, at = _pairs(line, m.end(), "")
    if at != len(line):
        raise GrammarError(f"garbage at {at} of {line!r}")
    return Record(kind, token, name, fields)


def _pairs(text: str, at: int, end: str) -> tuple[dict[str, Any], int]:
    out: dict[str, Any] = {}
    while at < len(text) and text[at] == ",":
        if text[at + 1 : at + 2] == "{":  # mi2: a place without a key
            value, at = _value(text, at + 1)
            out.setdefault("", []).append(value)
            continue
        m = _KEY.match(text, at + 1)
        if m is None or text[m.end() : m.end() + 1] != "=":
            raise GrammarError(f"key at {at} of {text!r}")
        value, at = _value(text, m.end() + 1)
        if m[0] in out:
            raise GrammarError(f"key {m[0]!r} twice in {text!r}")
        out[m[0]] = value
    return out, at


def _value(text: str, at: int) -> tuple[Any, int]:
    ch = text[at : at + 1]
    if ch == '"':
        m = _STRING.match(text, at)
        if m is None:
            raise GrammarError(f"string at {at} of {text!r}")
        return unescape(m[1]), m.end()
    if ch == "{":
        return _tuple(text, at)
    if ch == "[":
        return _list(text, at)
    raise GrammarError(f"value at {at} of {text!r}")


def _tuple(text: str, at: int) -> tuple[Any, int]:
    if text[at + 1] == "}":
        return {}, at + 2
    out: dict[str, Any] = {}
    at += 1
    while True:
        m = _KEY.match(text, at)
        if m is None or text[m.end() : m.end() + 1] != "=":
            raise GrammarError(f"key at {at} of {text!r}")
        value, at = _value(text, m.end() + 1)
        if m[0] in out and m[0] != "thread-id":
            raise GrammarError(f"key {m[0]!r} twice in {text!r}")
        out[m[0]] = value
        if text[at : at + 1] == "}":
            return out, at + 1
        if text[at : at + 1] != ",":
            raise GrammarError(f"tuple at {at} of {text!r}")
        at += 1


def _list(text: str, at: int) -> tuple[Any, int]:
    if text[at + 1] == "]":
        return [], at + 2
    out: list[Any] = []
    keys = set()
    at += 1
    while True:
        m = _KEY.match(text, at)
        if m is not None and text[m.end() : m.end() + 1] == "=":
            keys.add(m[0])
            at = m.end() + 1
        value, at = _value(text, at)
        out.append(value)
        if len(keys) > 1:
            raise GrammarError(f"list of mixed keys {keys} in {text!r}")
        if text[at : at + 1] == "]":
            return out, at + 1
        if text[at : at + 1] != ",":
            raise GrammarError(f"list at {at} of {text!r}")
        at += 1
