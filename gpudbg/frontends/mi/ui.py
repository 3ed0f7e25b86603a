"""One client's line: where records go, one write each, and where its input comes from."""

from __future__ import annotations

import os
import queue
import stat
import termios
import threading
from typing import Literal

from gpudbg.debug.script import BlockReader
from gpudbg.frontends.loopback import begins_http
from gpudbg.frontends.mi import records

Kind = Literal["mi", "console"]
Event = tuple[str, object, str]
"""(what, who, text): "line" and "eof" of a `Ui`, "finished" of a run, "client" of a socket."""

CHUNK = 1 << 16
SOCKET = "socket"
"""Name of a client at the other end of a socket."""


class Ui:
    """A reader and a writer of lines.

    Attributes:
        kind: "mi", or "console" for a gdb-like prompt.
        version: of MI, 2 to 4.
        name: for messages.
        dead: the other side is gone.
        repeat: what an empty line on a console does again.
        annotate: a console tells places as `gdb --fullname` does, for editors that show them.
        reader: of the lines being typed, up to a block's `end`.
    """

    def __init__(
        self, read_fd: int, write_fd: int, kind: Kind, version: int = 3, name: str = "stdio"
    ) -> None:
        self.read_fd = read_fd
        self.write_fd = write_fd
        self.kind: Kind = kind
        self.version = version
        self.name = name
        self.dead = False
        self.repeat = ""
        self.annotate = False
        self.reader = BlockReader(joins=kind != "mi")
        self.prompt = records.PROMPT if kind == "mi" else "(gdb) "
        self._lock = threading.Lock()
        self._waiting: list[str] = []
        self._saved: list[object] | None = None

    # ---- out ---------------------------------------------------------------------------
    def put(self, text: str) -> None:
        """Keep whole records until `flush`; only the bridge's own thread does this."""
        self._waiting.append(text)

    def flush(self) -> None:
        """Everything kept, in one write."""
        text = "".join(self._waiting)
        self._waiting.clear()
        if text:
            self.write(text)

    def write(self, text: str) -> None:
        """Whole records at once; safe from any thread."""
        data = text.encode("utf-8", "surrogateescape")
        with self._lock:
            try:
                while data:
                    data = data[os.write(self.write_fd, data) :]
            except OSError:
                self.dead = True

    def stream(self, mark: str, text: str) -> None:
        """Console `~`, target `@` or log `&` text; plain text on a console."""
        if not text:
            return
        self.put(records.stream(mark, text) if self.kind == "mi" else text)

    def ready(self) -> None:
        """The prompt."""
        self.put(self.prompt)
        self.flush()

    # ---- in ----------------------------------------------------------------------------
    def listen(self, events: queue.SimpleQueue[Event]) -> None:
        """Start to read lines into the queue; "eof" ends them."""
        threading.Thread(target=self._read, args=(events,), daemon=True, name=self.name).start()

    def _read(self, events: queue.SimpleQueue[Event]) -> None:
        rest = b""
        terminal = os.isatty(self.read_fd)
        after_return, first = False, True
        while True:
            try:
                data = os.read(self.read_fd, CHUNK)
            except OSError:
                data = b""
            if not data or (data == b"\x04" and not rest):
                break
            if first and self.name == SOCKET and begins_http(data):
                break
            first = False
            if terminal:
                # vim ends its lines with a bare return; the other half of a CR LF is dropped.
                if after_return and data[:1] == b"\n":
                    data = data[1:]
                if data:
                    after_return = data[-1:] == b"\r"
                data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                events.put(("line", self, line.decode("utf-8", "surrogateescape")))
        if rest:
            events.put(("line", self, rest.decode("utf-8", "surrogateescape")))
        events.put(("eof", self, ""))

    def quiet_terminal(self) -> None:
        """On a terminal: no echo, no line editing (which would cut lines at 4096 bytes).

        Output stays as the terminal makes it: termdebug splits its input at the returns.
        """
        if not os.isatty(self.read_fd):
            return
        try:
            mode = termios.tcgetattr(self.read_fd)
            self._saved = list(mode)
            mode[3] &= ~(termios.ECHO | termios.ICANON)
            mode[0] &= ~termios.ICRNL
            termios.tcsetattr(self.read_fd, termios.TCSANOW, mode)
        except termios.error:
            self._saved = None

    @property
    def silenced(self) -> bool:
        """Whether this is a terminal whose echo was switched off here."""
        return self._saved is not None

    def close(self) -> None:
        """Give the terminal back as it was."""
        if self._saved is not None:
            try:
                termios.tcsetattr(self.read_fd, termios.TCSANOW, self._saved)  # type: ignore[arg-type]
            except termios.error:
                pass
            self._saved = None


def open_terminal(path: str) -> int:
    """A terminal device for reading and writing.

    Raises:
        OSError: it cannot be opened or is none.
    """
    fd = os.open(path, os.O_RDWR | os.O_NOCTTY)
    if not stat.S_ISCHR(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(f"{path} is not a terminal")
    return fd
