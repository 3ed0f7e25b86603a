"""Messages of the Debug Adapter Protocol: frames of bytes, and the three kinds of messages.

Every message is a header (`Content-Length: N`, an empty line) and N bytes of JSON.  A body that
is no JSON leaves the next message readable; a header that is none does not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import IO, Any

from gpudbg.dataclass import dataclass

Body = dict[str, Any]
MAX_BYTES = 64 << 20
"""Of one message."""
MAX_HEADER = 4096


class FramingError(Exception):
    """Where the next message begins is not known."""


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """What a client asks.

    Attributes:
        seq: its number, 0 where it has none.
        command: what is asked.
        arguments: an empty object where there are none.
    """

    seq: int
    command: str
    arguments: Body


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A message that is no request, and why.

    Attributes:
        seq, command: as far as they are there, to answer it by.
    """

    why: str
    seq: int = 0
    command: str = ""


def read_messages(stream: IO[bytes]) -> Iterator[bytes]:
    """The bodies of a stream's messages until it ends.

    Raises:
        FramingError: a header without a usable length, or a message that is cut off.
    """
    while True:
        length = _header(stream)
        if length is None:
            return
        body = _exactly(stream, length)
        if len(body) < length:
            raise FramingError(f"the input ends {length - len(body)} bytes before a message does")
        yield body


def _header(stream: IO[bytes]) -> int | None:
    """The length that a header tells; None at the end of the stream."""
    length: int | None = None
    begun = False
    while True:
        line = stream.readline(MAX_HEADER)
        if not line:
            if begun:
                raise FramingError("the input ends in a header")
            return None
        text = line.decode("latin-1").strip()
        if not text:
            if begun and length is None:
                raise FramingError("a header without Content-Length")
            if begun:
                return length
            continue
        begun = True
        name, colon, value = text.partition(":")
        # An HTTP request, which a web page can have a browser send, is none: `POST /a:b HTTP/1.1`.
        named = name.strip().replace("-", "").isalnum()
        if not colon or not named or len(line) >= MAX_HEADER:
            raise FramingError(f"{text[:60]!r} is no header field")
        if name.strip().lower() == "content-length":
            if not value.strip().isdecimal() or int(value) > MAX_BYTES:
                raise FramingError(f"Content-Length {value.strip()[:40]!r} is no usable length")
            length = int(value)


def _exactly(stream: IO[bytes], length: int) -> bytes:
    pieces: list[bytes] = []
    while length > 0:
        piece = stream.read(min(length, 1 << 20))
        if not piece:
            break
        pieces.append(piece)
        length -= len(piece)
    return b"".join(pieces)


def parsed(body: bytes) -> ClientRequest | Unreadable:
    """A message's body as a request."""
    try:
        found = json.loads(body)
    except json.JSONDecodeError as error:
        return Unreadable(f"a message is no JSON from its character {error.pos} on")
    except ValueError:
        return Unreadable("a message is no JSON: its text is not UTF-8, or a number too long")
    except RecursionError:
        return Unreadable("a message nests too deeply")
    if not isinstance(found, dict):
        return Unreadable("a message is no object")
    seq, command = found.get("seq"), found.get("command")
    # The protocol counts from 1, nvim-dap from 0.
    number = seq if isinstance(seq, int) and not isinstance(seq, bool) else None
    name = command if isinstance(command, str) else ""
    if found.get("type") != "request":
        return Unreadable(f"a message of type {found.get('type')!r} is none that is answered")
    if not name:
        return Unreadable("a request without a command", number or 0)
    if number is None:
        return Unreadable("a request without a seq", 0, name)
    arguments = found.get("arguments")
    if arguments is not None and not isinstance(arguments, dict):
        return Unreadable(f"{name}: arguments are no object", number, name)
    return ClientRequest(number, name, arguments or {})


def framed(message: Body) -> bytes:
    """A message as it is sent."""
    data = json.dumps(message, separators=(",", ":"), default=str).encode()
    return b"Content-Length: %d\r\n\r\n" % len(data) + data


LINES = ("line", "endLine")
"""What line numbers stand under, in all messages."""


def with_lines(value: Any, by: int) -> Any:
    """A message's content with other line numbers; 0, for none, stays."""
    if isinstance(value, list):
        return [with_lines(each, by) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: each + by
        if key in LINES and type(each) is int and each + (by > 0) > 0
        else with_lines(each, by)
        for key, each in value.items()
    }


class MessageWriter:
    """Numbers and sends messages; any thread may ask it to.

    Attributes:
        first_line: the number that the client has for a file's first line.
    """

    def __init__(self, send: Callable[[bytes], None]) -> None:
        """Args: send: writes whole messages one after the other."""
        self._send = send
        self._seq = 0
        self.first_line = 1

    def _put(self, message: Body) -> None:
        self._seq += 1
        if self.first_line != 1 and "body" in message:
            message = message | {"body": with_lines(message["body"], self.first_line - 1)}
        self._send(framed({"seq": self._seq, **message}))

    def event(self, name: str, body: Body | None = None) -> None:
        """An event."""
        self._put({"type": "event", "event": name, **({"body": body} if body else {})})

    def answer(self, request: ClientRequest | Unreadable, body: Body | None = None) -> None:
        """A response that says yes."""
        self._response(request, True, {"body": body} if body else {})

    def refuse(self, request: ClientRequest | Unreadable, why: str, shown: bool = False) -> None:
        """A response that says no, and why.

        Args:
            shown: the client is to show it to the user by itself.
        """
        error = {"id": 1, "format": why.replace("{", "(").replace("}", ")"), "showUser": shown}
        self._response(request, False, {"message": why, "body": {"error": error}})

    def _response(self, request: ClientRequest | Unreadable, success: bool, rest: Body) -> None:
        self._put(
            {
                "type": "response",
                "request_seq": request.seq,
                "success": success,
                "command": request.command,
                **rest,
            }
        )
