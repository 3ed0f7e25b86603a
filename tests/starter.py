"""Debugger processes that begin with their modules loaded, at a tenth of the cost of a start.

A helper process imports what a debugger does and forks for each one that a test begins: a process
of its own, with its own streams, signals and end.  That a start of Python comes to the same is
tested by `tests/cli` and by the clients that start `python -m gpudbg` themselves.
"""

from __future__ import annotations

import array
import functools
import importlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from typing import IO, NoReturn

LOADED = (
    "gpudbg.cli", "gpudbg.api.opening", "gpudbg.frontends.mi.main", "gpudbg.frontends.mi.server",
    "gpudbg.api.programs", "gpudbg.debug.session", "gpudbg.sm.begin", "gpudbg.sm.engines.step",
)  # fmt: skip
"""Modules that sessions load, beside those of commands; what else one wants it loads itself."""
_MOST = 1 << 20
spent = 0.0
"""Seconds of processor time that processes have taken which have ended."""


class Process:
    """A process of the helper's, with the part of `subprocess.Popen` that tests use."""

    def __init__(self, args: Sequence[str], cwd: str | None = None) -> None:
        theirs_in, ours_in = os.pipe()
        ours_out, theirs_out = os.pipe()
        self._end, told = socket.socketpair()
        asked = json.dumps([list(args), cwd or os.getcwd(), dict(os.environ)]).encode()
        try:
            fds = [theirs_in, theirs_out, 2, told.fileno()]
            given = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
            _helper().sendmsg([asked], given)
        finally:
            for fd in (theirs_in, theirs_out):
                os.close(fd)
            told.close()
        self.pid = int(self._end.recv(32))
        self.stdin: IO[bytes] = open(ours_in, "wb", buffering=0)
        self.stdout: IO[bytes] = open(ours_out, "rb", buffering=0)
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, as `Popen` gives it.

        Raises:
            TimeoutExpired: it has not ended.
        """
        if self.returncode is None:
            self._end.settimeout(timeout)
            try:
                status, milliseconds = map(int, self._end.recv(32).split())
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired("gpudbg", timeout or 0) from None
            self._end.close()
            global spent
            spent += milliseconds / 1000
            self.returncode = status
        return self.returncode

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@functools.cache
def _helper() -> socket.socket:
    """A connection to the helper of this process, which ends with it."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in (ours, its):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MOST)
    subprocess.Popen(
        [sys.executable, "-m", "tests.starter", str(its.fileno())],
        pass_fds=[its.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    its.close()
    return ours


def main(fd: int) -> None:
    """The helper: begin what is asked for and tell when it has ended."""
    for name in LOADED:
        importlib.import_module(name)
    for package in ("gpudbg.debug.commands", "gpudbg.frontends.mi.commands"):
        for family in importlib.import_module(f"{package}.families").FAMILIES:
            # Which plugins there are depends on the environment of who asks.
            if family != "plugins":
                importlib.import_module(f"{package}.{family}")
    asked = socket.socket(fileno=fd)
    waiting = selectors.DefaultSelector()
    waiting.register(asked, selectors.EVENT_READ)
    while True:
        for key, _ in waiting.select():
            if key.fileobj is not asked:
                pid, told = key.data
                _, status, used = os.wait4(pid, 0)
                milliseconds = int(1000 * (used.ru_utime + used.ru_stime))
                waiting.unregister(key.fd)
                os.close(key.fd)
                told.send(b"%d %d" % (os.waitstatus_to_exitcode(status), milliseconds))
                told.close()
                continue
            message, fds, _, _ = socket.recv_fds(asked, _MOST, 4)
            if not message:
                return
            pid = os.fork()
            if not pid:
                waiting.close()
                asked.close()
                _become(fds, *json.loads(message))
            told = socket.socket(fileno=fds.pop())
            told.send(b"%d" % pid)
            for given in fds:
                os.close(given)
            waiting.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, told))


def _become(fds: list[int], args: list[str], cwd: str, environ: dict[str, str]) -> NoReturn:
    """Be the debugger."""
    for number, fd in enumerate(fds[:3]):
        os.dup2(fd, number)
    for fd in fds:
        os.close(fd)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environ)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = ["gpudbg", *args]
    from gpudbg.cli import main

    sys.exit(main())


if __name__ == "__main__":
    main(int(sys.argv[1]))
