"""A client that speaks to a real process through pipes and holds it to the framing rules."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from tests.mi.grammar import Record, parse
from tests.starter import Process

KERNELS = Path(__file__).resolve().parent / "kernels"
PATIENCE = 30.0


def command(*args: str) -> list[str]:
    """The command line of a debugger process."""
    return [sys.executable, "-m", "gpudbg", *args]


def begin(*args: str, cwd: str | None = None) -> subprocess.Popen[bytes] | Process:
    """A debugger process, quickly where the system can."""
    if hasattr(os, "pidfd_open"):
        return Process(args, cwd)
    pipe = subprocess.PIPE
    return subprocess.Popen(command(*args), stdin=pipe, stdout=pipe, cwd=cwd)


class Client:
    """One debugger process.

    Attributes:
        records: all that came, in order.
        chunks: what each read brought; each has to be whole lines.
    """

    def __init__(self, *args: str, cwd: str | None = None) -> None:
        self.process = begin(*args, cwd=cwd)
        self.records: list[Record] = []
        self.chunks: list[bytes] = []
        self._queue: queue.Queue[Record | Exception | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self._token = 0

    def __enter__(self) -> Client:
        self.until(lambda r: r.kind == "prompt")
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> int:
        """End it."""
        assert self.process.stdin is not None
        if self.process.poll() is None:
            try:
                self.process.stdin.close()
            except OSError:
                pass
        try:
            return self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

    def _read(self) -> None:
        assert self.process.stdout is not None
        rest = b""
        while data := os.read(self.process.stdout.fileno(), 1 << 20):
            self.chunks.append(data)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                try:
                    record = parse(line.decode("ascii"))
                    record.line = line.decode("ascii")
                    self._queue.put(record)
                except Exception as e:
                    self._queue.put(e)
        self._queue.put(None)

    def next(self, seconds: float = PATIENCE) -> Record | None:
        """The next record; None at the end."""
        found = self._queue.get(timeout=seconds)
        if isinstance(found, Exception):
            raise found
        if found is not None:
            self.records.append(found)
        return found

    def until(self, wanted: Any, seconds: float = PATIENCE) -> list[Record]:
        """Records up to and with the one wanted."""
        out: list[Record] = []
        end = time.monotonic() + seconds
        while True:
            record = self.next(max(end - time.monotonic(), 0.01))
            assert record is not None, f"the process ended: {out}"
            out.append(record)
            if wanted(record):
                return out

    def lines(self, begin: int = 0) -> list[str]:
        """Records as they came, from the `begin`-th on."""
        return [r.line for r in self.records[begin:]]

    def send(self, line: str) -> None:
        """A line as it is."""
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode("utf-8", "surrogateescape") + b"\n")
        self.process.stdin.flush()

    def ask(self, line: str) -> Record:
        """A command with a token; its result."""
        self._token += 1
        token = str(self._token)
        self.send(token + line)
        return self.until(lambda r: r.kind == "^" and r.token == token)[-1]

    def ok(self, line: str) -> dict[str, Any]:
        """A command that has to succeed; its fields."""
        record = self.ask(line)
        assert record.name in ("done", "running", "connected"), (line, record.fields)
        return record.fields

    def fails(self, line: str) -> str:
        """A command that has to fail; why."""
        record = self.ask(line)
        assert record.name == "error", (line, record)
        return str(record.fields["msg"])

    def stop(self) -> dict[str, Any]:
        """Up to the next `*stopped` and its prompt."""
        found = self.until(lambda r: r.kind == "*" and r.name == "stopped")[-1]
        self.until(lambda r: r.kind == "prompt")
        return found.fields

    def go(self, line: str) -> dict[str, Any]:
        """A command that runs the program; the stop."""
        assert self.ask(line).name == "running"
        return self.stop()

    def interrupt(self) -> None:
        """SIGINT to the process."""
        self.process.send_signal(signal.SIGINT)


def console_text(records: list[Record]) -> str:
    """The console stream of records."""
    return "".join(r.text for r in records if r.kind == "~")
