"""MI over a loopback socket: one client at a time, each with a debugger of its own."""

from __future__ import annotations

import queue
import socket
import sys
import threading
from collections.abc import Sequence

from gpudbg.errors import UsageError
from gpudbg.frontends.mi import records
from gpudbg.frontends.mi.server import Server, interrupts
from gpudbg.frontends.mi.ui import Event, Ui

BUSY = "another client is connected; one at a time"


def parse_address(text: str) -> tuple[str, int]:
    """Host and port of `127.0.0.1:4000`; port 0 takes a free one.

    Raises:
        UsageError: no port, or an address that others could reach.
    """
    host, _, port = text.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not port.isdecimal() or int(port) > 65535:
        raise UsageError(f"--mi-listen {text}: a port is missing", "--mi-listen 127.0.0.1:4000")
    if host not in ("127.0.0.1", "localhost", "::1"):
        raise UsageError(f"--mi-listen {text}: only this machine may connect", "127.0.0.1:PORT")
    return host, int(port)


def listen(address: str, startup: Sequence[str]) -> int:
    """Serve clients one after the other until Ctrl-C."""
    host, port = parse_address(address)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    waiting: queue.SimpleQueue[socket.socket] = queue.SimpleQueue()
    busy = threading.Event()
    with socket.socket(family, socket.SOCK_STREAM) as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            door.bind((host, port))
        except OSError as e:
            raise UsageError(f"--mi-listen {address}: {e.strerror}") from None
        door.listen()
        print(f"gpudbg: MI on {host}:{door.getsockname()[1]}", file=sys.stderr, flush=True)
        threading.Thread(target=_admit, args=(door, waiting, busy), daemon=True).start()
        while True:
            try:
                client = waiting.get()
            except KeyboardInterrupt:
                return 0
            with client:
                _serve(client, startup)
            busy.clear()


def _admit(
    door: socket.socket, waiting: queue.SimpleQueue[socket.socket], busy: threading.Event
) -> None:
    """Let one client in; tell a second one why not."""
    while True:
        try:
            client, _ = door.accept()
        except OSError:
            return
        if busy.is_set():
            with client:
                try:
                    client.sendall(
                        (records.stream("&", BUSY + "\n") + records.error("", BUSY)).encode()
                    )
                except OSError:
                    pass
            continue
        busy.set()
        waiting.put(client)


def _serve(client: socket.socket, startup: Sequence[str]) -> None:
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    ui = Ui(client.fileno(), client.fileno(), "mi", 4, "socket")
    server = Server(ui, events)
    with interrupts(server.bridge):
        server.serve(startup)
    try:
        client.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
