"""Sockets that verbs listen on: ports as users give them, and who may speak.

Whoever can connect runs the debugger with the rights of its user.  A web page can make a browser
connect to the loopback, but only to speak HTTP: what begins like that is no client of ours.
"""

from __future__ import annotations

import re
import socket

from gpudbg.errors import UsageError

LOOPBACK = "127.0.0.1"
NAMES = (LOOPBACK, "localhost", "::1")
"""Hosts that only this machine reaches."""
MAX_PORT = (1 << 16) - 1
_HTTP = re.compile(rb"[A-Z]{3,10} \S+ HTTP/[0-9]")


def port_number(text: str, option: str) -> int:
    """A port as an option gives it; 0 takes a free one.

    Raises:
        UsageError: no number, or not one of a port.
    """
    if not (text.isascii() and text.isdecimal()):
        raise UsageError(f"{option}: {text!r} is no port", f"0 to {MAX_PORT}; 0 takes a free one")
    if len(text) > 9 or int(text) > MAX_PORT:
        raise UsageError(f"{option}: port {text[:20]} is not between 0 and {MAX_PORT}")
    return int(text)


def loopback_address(text: str, option: str) -> tuple[str, int]:
    """Host and port of `127.0.0.1:4000`, `[::1]:4000`, `:4000`.

    Raises:
        UsageError: no port, or an address that others could reach.
    """
    host, colon, port = text.rpartition(":")
    if not colon or not port:
        raise UsageError(f"{option} {text}: a port is missing", f"{option} {LOOPBACK}:4000")
    host = host.removeprefix("[").removesuffix("]") or LOOPBACK
    if host not in NAMES:
        raise UsageError(f"{option} {text}: only this machine may connect", f"{LOOPBACK}:PORT")
    return host, port_number(port, option)


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes any that is free.

    Raises:
        UsageError: the address cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        hint = "--port 0 takes a free one" if port else None
        raise UsageError(f"cannot listen on {host} port {port}: {reason}", hint) from None


def begins_http(data: bytes) -> bool:
    """Whether the first bytes of a connection are an HTTP request, as browsers send it."""
    return _HTTP.match(data) is not None
