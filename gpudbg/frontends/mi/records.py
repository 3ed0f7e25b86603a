"""GDB/MI output: values to text, and the kinds of records.

A tuple is a dict, a list of values a list, and a list of `key=value` pairs a `Pairs`; a constant
is a str or an int.  Clients strip inner keys by name, so the two list forms are kept apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

PROMPT = "(gdb) \n"

Value = Any
"""str, int, dict[str, Value], list[Value] or Pairs."""

_ESCAPES = {0x22: '\\"', 0x5C: "\\\\", 0x0A: "\\n", 0x09: "\\t", 0x0D: "\\r"}


class Pairs(list[tuple[str, Value]]):
    """A list whose members have keys: `[frame={…},frame={…}]`."""

    @classmethod
    def of(cls, key: str, values: Iterable[Value]) -> Pairs:
        """Every value under the same key."""
        return cls((key, value) for value in values)


def c_string(text: str) -> str:
    """A quoted C string: escapes that every client knows, other bytes as three-digit octal."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    out = []
    for byte in text.encode("utf-8", "surrogateescape"):
        if byte in _ESCAPES:
            out.append(_ESCAPES[byte])
        elif 32 <= byte < 127:
            out.append(chr(byte))
        else:
            out.append(f"\\{byte:03o}")
    return '"' + "".join(out) + '"'


def value_text(value: Value) -> str:
    """A value as MI writes it."""
    if isinstance(value, Pairs):
        return (
            "[" + ",".join(f"{k}={value_text(v)}" if k else value_text(v) for k, v in value) + "]"
        )
    if isinstance(value, Mapping):
        return "{" + fields_text(value) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(value_text(v) for v in value) + "]"
    return c_string(str(value))


def fields_text(fields: Mapping[str, Value]) -> str:
    """`key=value` parts; a key of blanks stands for a value without a key."""
    return ",".join(
        value_text(v) if not k.strip() else f"{k}={value_text(v)}" for k, v in fields.items()
    )


def result(token: str, kind: str, fields: Mapping[str, Value] | None = None) -> str:
    """`TOKEN^done,…` as one line."""
    return f"{token}^{kind}{',' + fields_text(fields) if fields else ''}\n"


def error(token: str, message: str, code: str | None = None) -> str:
    """`TOKEN^error,msg="…"`"""
    fields = {"msg": message, **({"code": code} if code else {})}
    return result(token, "error", fields)


def execution(kind: str, fields: Mapping[str, Value]) -> str:
    """`*stopped,…`"""
    return f"*{kind}{',' + fields_text(fields) if fields else ''}\n"


def notification(kind: str, fields: Mapping[str, Value]) -> str:
    """`=thread-created,…`"""
    return f"={kind}{',' + fields_text(fields) if fields else ''}\n"


def stream(mark: str, text: str) -> str:
    """Console `~`, target `@` or log `&` text."""
    return f"{mark}{c_string(text)}\n"
