"""From a message to a handler, and from what that gives to an answer, by the table."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from gpudbg.hosting.table import BY_HAND, FORMATS, ApiFunction, ApiParameter, functions

Handler = Callable[..., Any]
_WORD = struct.Struct("<Q")


class ApiCall:
    """One function of the table, ready to be carried out.

    Attributes:
        function: the row.
        handler: what does it.
    """

    def __init__(self, function: ApiFunction) -> None:
        self.function = function
        module, _, name = function.handler.partition(".")
        found = getattr(import_module(f"gpudbg.hosting.calls.{module}"), name)
        self.handler: Handler = found
        self._given = function.given
        self._reader, self._writer = function.reader(), function.writer()
        self._answered = function.answered

    def read(self, data: bytearray) -> tuple[Any, ...]:
        """The arguments of a message.

        Raises:
            ValueError: it is too short.
        """
        if self._reader is not None:
            if len(data) < self._reader.size:
                raise ValueError("a short message")
            return self._reader.unpack_from(data)
        out: list[Any] = []
        view, at = memoryview(data), 0
        for parameter in self._given:
            value, at = _value(parameter, view, at)
            out.append(value)
        return tuple(out)

    def write(self, made: Any) -> bytes:
        """The answer's bytes."""
        answered = self._answered
        if not answered:
            return b""
        values = made if len(answered) > 1 else (made,)
        if self._writer is not None:
            return self._writer.pack(*values)
        return b"".join(_bytes(p, value) for p, value in zip(answered, values, strict=True))


def _value(parameter: ApiParameter, view: memoryview, at: int) -> tuple[Any, int]:
    if parameter.kind in FORMATS:
        (value,) = struct.unpack_from("<" + FORMATS[parameter.kind], view, at)
        return value, at + 8
    (size,) = _WORD.unpack_from(view, at)
    if at + 8 + size > len(view):
        raise ValueError("a short message")
    data = view[at + 8 : at + 8 + size]
    if parameter.kind == "text":
        return bytes(data).decode("utf-8", "replace"), at + 8 + size
    return data, at + 8 + size


def _bytes(parameter: ApiParameter, value: Any) -> bytes:
    if parameter.kind in FORMATS:
        return struct.pack("<" + FORMATS[parameter.kind], value)
    return _WORD.pack(len(value)) + bytes(value)


@cache
def call_of(number: int) -> ApiCall | None:
    """What a message's number means; None: nothing."""
    rows = functions()
    if not 0 <= number < len(rows) or rows[number].handler == BY_HAND:
        return None
    return ApiCall(rows[number])
