"""A small DAP client over a process's pipes, to drive Eclipse's cdt-gdb-adapter."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import time
from collections.abc import Callable
from typing import Any

Message = dict[str, Any]
PATIENCE = 30.0


class Adapter:
    """One debug adapter process.

    Attributes:
        events: all events so far.
    """

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.events: list[Message] = []
        self._seq = 0
        self._queue: queue.Queue[Message | None] = queue.Queue()
        self._answers: dict[int, Message] = {}
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        out = self.process.stdout
        assert out is not None
        while True:
            length = 0
            while (line := out.readline()) not in (b"\r\n", b""):
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            if not length:
                self._queue.put(None)
                return
            self._queue.put(json.loads(out.read(length)))

    def _next(self, end: float) -> None:
        message = self._queue.get(timeout=max(end - time.monotonic(), 0.01))
        assert message is not None, f"the adapter ended; events: {self.events[-10:]}"
        if message["type"] == "event":
            self.events.append(message)
        elif message["type"] == "response":
            self._answers[message["request_seq"]] = message

    def post(self, name: str, **arguments: Any) -> int:
        """Send a request; its number."""
        self._seq += 1
        body = {"seq": self._seq, "type": "request", "command": name, "arguments": arguments}
        data = json.dumps(body).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()
        return self._seq

    def answer(self, seq: int, seconds: float = PATIENCE) -> Message:
        """The response to a request."""
        end = time.monotonic() + seconds
        while seq not in self._answers:
            self._next(end)
        return self._answers.pop(seq)

    def request(self, name: str, **arguments: Any) -> Any:
        """Send a request that has to succeed; its body."""
        found = self.answer(self.post(name, **arguments))
        assert found["success"], (name, arguments, found.get("message"))
        return found.get("body", {})

    def wait(
        self,
        name: str,
        begin: int = 0,
        fits: Callable[[Message], bool] = lambda e: True,
        seconds: float = PATIENCE,
    ) -> Message:
        """The first event of a name since the `begin`-th event."""
        end = time.monotonic() + seconds
        while True:
            for event in self.events[begin:]:
                if event["event"] == name and fits(event):
                    return event
            self._next(end)

    def close(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait(10)
