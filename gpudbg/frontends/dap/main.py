"""One client on standard input and output, or one after the other on a loopback port."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from types import FrameType

from gpudbg.frontends.dap.adapter import Adapter
from gpudbg.frontends.dap.families import load
from gpudbg.frontends.loopback import LOOPBACK, listening


def on_streams() -> int:
    """Serve standard input and output; what is printed by mistake goes to standard error."""
    out = os.dup(1)
    os.dup2(2, 1)
    adapter = Adapter(lambda data: _write(out, data), load())
    _pause_on_interrupt(adapter)
    # A reader of its own: Python closes sys.stdin when it ends, and would wait for the thread that
    # reads it, as the client need not have closed its end.
    adapter.serve(os.fdopen(os.dup(0), "rb"))
    return 0


def on_port(port: int) -> int:
    """Serve clients on a port of this machine, one at a time, until Ctrl-C."""
    with listening(LOOPBACK, port) as door:
        print(f"gpudbg: DAP on {LOOPBACK}:{door.getsockname()[1]}", file=sys.stderr, flush=True)
        while True:
            try:
                client, _ = door.accept()
            except KeyboardInterrupt:
                return 0
            with client, client.makefile("rb") as stream:
                adapter = Adapter(client.sendall, load())
                with suppress(OSError):
                    adapter.serve(stream)


def _write(fd: int, data: bytes) -> None:
    """All of it; a client that has gone ends the loop by its input."""
    with suppress(OSError):
        while data:
            data = data[os.write(fd, data) :]


def _pause_on_interrupt(adapter: Adapter) -> None:
    def paused(number: int, frame: FrameType | None) -> None:
        adapter.pause()

    signal.signal(signal.SIGINT, paused)
