"""What the clients' tests share: kernels, a program that clients take for gdb, a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "tests" / "mi" / "kernels"


def gdb_script(folder: Path) -> str:
    """An executable named gdb that is gpudbg of this checkout."""
    script = folder / "gdb"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m gpudbg "$@"\n')
    script.chmod(0o755)
    return str(script)


def run_on_terminal(
    command: list[str], folder: Path, *, seconds: float = 600.0, **more: str
) -> list[str]:
    """Run an editor's script on a terminal; the lines it wrote to the file $RESULT."""
    result = folder / "result"
    env = {
        **os.environ,
        "RESULT": str(result),
        "GDB": gdb_script(folder),
        "KERNELS": str(KERNELS),
        "TERM": "xterm",
        "HOME": str(folder),
        **more,
    }
    child, fd = pty.fork()
    if child == 0:
        os.execve(command[0], command, env)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
    end = time.monotonic() + seconds
    screen = b""
    try:
        while time.monotonic() < end:
            screen = drain(fd)
            if result.exists() and result.read_text().endswith("done\n"):
                return result.read_text().splitlines()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(fd)
    raise AssertionError(f"{command[0]} did not end: {screen[-2000:]!r}")


def drain(fd: int, seconds: float = 0.2) -> bytes:
    """What a terminal shows within some time; it has to be read or its owner blocks."""
    out = b""
    while select.select([fd], [], [], seconds)[0]:
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        if not data:
            break
        out += data
    return out
