"""A client in the test's own process: an adapter in a thread, two pipes, whole messages."""

from __future__ import annotations

import io
import json
import os
import queue
import threading
from collections.abc import Callable
from typing import Any

from gpudbg.frontends.dap.adapter import Adapter
from gpudbg.frontends.dap.families import load
from gpudbg.frontends.dap.protocol import framed, read_messages

PATIENCE = 30.0
Message = dict[str, Any]


class Client:
    """Speaks to an adapter and keeps all that it says.

    Attributes:
        messages: in the order in which they came.
    """

    def __init__(self, **initialize: Any) -> None:
        read, self._to = os.pipe()
        self._queue: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self.messages: list[Message] = []
        self.adapter = Adapter(self._take, load())
        stream = os.fdopen(read, "rb")
        self.thread = threading.Thread(target=self.adapter.serve, args=(stream,), daemon=True)
        self.thread.start()
        self._seq = 0
        self.capabilities = self.ask("initialize", adapterID="gpudbg", **initialize)

    def _take(self, data: bytes) -> None:
        for body in read_messages(io.BytesIO(data)):
            self._queue.put(json.loads(body))

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        if self.thread.is_alive():
            self.ask("disconnect")
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()
        os.close(self._to)

    def raw(self, data: bytes) -> None:
        os.write(self._to, data)

    def send(self, command: str, **arguments: Any) -> int:
        self._seq += 1
        message = {"seq": self._seq, "type": "request", "command": command, "arguments": arguments}
        self.raw(framed(message))
        return self._seq

    def until(self, wanted: Callable[[Message], bool]) -> Message:
        """The next message that is wanted; those before it are kept in `messages`."""
        while True:
            message = self._queue.get(timeout=PATIENCE)
            self.messages.append(message)
            if wanted(message):
                return message

    def response(self, command: str, **arguments: Any) -> Message:
        seq = self.send(command, **arguments)
        return self.until(lambda m: m["type"] == "response" and m["request_seq"] == seq)

    def ask(self, command: str, **arguments: Any) -> Any:
        """The body of an answer that says yes."""
        message = self.response(command, **arguments)
        assert message["success"], message
        return message.get("body", {})

    def refused(self, command: str, **arguments: Any) -> str:
        """The words of an answer that says no."""
        message = self.response(command, **arguments)
        assert not message["success"], message
        return str(message["message"])

    def event(self, name: str) -> Message:
        """The body of the next event of a name."""
        found = self.until(lambda m: m["type"] == "event" and m["event"] == name)
        return dict(found.get("body", {}))

    def rest(self) -> list[Message]:
        """What has come and was not asked for yet."""
        found = []
        while not self._queue.empty():
            found.append(self._queue.get())
        return found

    def launch(self, lines: dict[str, list[Any]] | None = None, **configuration: Any) -> Message:
        """Launch, set breakpoints by file, and wait for the first stop."""
        self.ask("launch", **configuration)
        self.event("initialized")
        for file, rows in (lines or {}).items():
            points = [row if isinstance(row, dict) else {"line": row} for row in rows]
            self.ask("setBreakpoints", source={"path": file}, breakpoints=points)
        self.ask("configurationDone")
        return self.event("stopped")

    def frames(self, thread: int) -> list[Message]:
        return list(self.ask("stackTrace", threadId=thread)["stackFrames"])

    def scope(self, name: str, frame: int) -> dict[str, Message]:
        """The variables of a frame's scope by name."""
        scopes = {row["name"]: row for row in self.ask("scopes", frameId=frame)["scopes"]}
        return self.children(scopes[name]["variablesReference"])

    def children(self, reference: int) -> dict[str, Message]:
        rows = self.ask("variables", variablesReference=reference)["variables"]
        return {row["name"]: row for row in rows}
