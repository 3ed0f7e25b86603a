"""MI over a loopback socket: one client at a time, each with a debugger of its own."""

from __future__ import annotations

import queue
import socket
import sys
import threading
from collections.abc import Sequence

from gpudbg.frontends.loopback import listening, loopback_address
from gpudbg.frontends.mi import records
from gpudbg.frontends.mi.server import Server, interrupts
from gpudbg.frontends.mi.ui import SOCKET, Event, Ui

BUSY = "another client is connected; one at a time"


def listen(address: str, startup: Sequence[str]) -> int:
    """Serve clients one after the other until Ctrl-C."""
    host, port = loopback_address(address, "--mi-listen")
    waiting: queue.SimpleQueue[socket.socket] = queue.SimpleQueue()
    busy = threading.Event()
    with listening(host, port) as door:
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
    ui = Ui(client.fileno(), client.fileno(), "mi", 4, SOCKET)
    server = Server(ui, events)
    with interrupts(server.bridge):
        server.serve(startup)
    try:
        client.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
