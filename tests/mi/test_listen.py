"""`--mi-listen`: one client at a time over a loopback socket, each with a debugger of its own."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Iterator

import pytest

from gpudbg.errors import UsageError
from gpudbg.frontends.loopback import loopback_address
from tests.mi.client import KERNELS, PATIENCE, command
from tests.mi.grammar import Record, parse


class Remote:
    """A client over a socket."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self._stream = self.socket.makefile("rb")

    def next(self) -> Record | None:
        """The next record; None when the other side has closed."""
        try:
            line = self._stream.readline()
        except ConnectionResetError:
            return None
        return parse(line.decode("ascii").rstrip("\n")) if line else None

    def until(self, kind: str, name: str = "") -> Record:
        """Records up to one of a kind and name."""
        while True:
            record = self.next()
            assert record is not None
            if record.kind == kind and name in ("", record.name):
                return record

    def ask(self, line: str) -> Record:
        """A command's result."""
        self.socket.sendall(line.encode() + b"\n")
        return self.until("^")

    def vanish(self) -> None:
        """Cut the connection without a word."""
        self._stream.close()
        self.socket.close()


@pytest.fixture
def port() -> Iterator[int]:
    """A debugger that listens; its port."""
    with subprocess.Popen(
        command("--mi-listen", "127.0.0.1:0", str(KERNELS / "endless.cubin")),
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        told = re.search(r"MI on 127\.0\.0\.1:(\d+)", process.stderr.readline())
        assert told is not None
        yield int(told[1])
        process.terminate()
        process.wait(PATIENCE)


def admitted(port: int) -> Remote:
    """The next client that is let in: the one before may still be on its way out."""
    for _ in range(600):
        client = Remote(port)
        first = client.next()
        if first is not None and first.name == "thread-group-added":
            client.until("prompt")
            return client
        client.vanish()
    raise AssertionError("nobody was let in")


@pytest.mark.full(instead="test_a_page_in_a_browser_is_no_client")
def test_one_client_at_a_time(port: int) -> None:
    first = Remote(port)
    record = first.next()
    assert record is not None
    assert (record.kind, record.name) == ("=", "thread-group-added")
    first.until("prompt")
    second = Remote(port)
    assert "one at a time" in second.until("&").text
    assert "one at a time" in second.until("^", "error").fields["msg"]
    assert second.next() is None
    # The first runs an endless kernel and vanishes: nothing of it stays, the next one is let in.
    assert first.ask("-break-insert endless.cu:7").name == "done"
    assert first.ask("-exec-run").name == "running"
    first.vanish()
    third = admitted(port)
    assert third.ask("-thread-info").fields == {"threads": []}
    assert third.ask("-break-list").fields["BreakpointTable"]["nr_rows"] == "0"
    assert third.ask("-exec-run").name == "running"
    assert third.ask("-exec-interrupt").name == "done"
    assert third.until("*", "stopped").fields["signal-name"] == "SIGINT"
    assert third.ask("-gdb-exit").name == "exit"
    assert third.next() is None
    admitted(port).vanish()


def test_a_page_in_a_browser_is_no_client(port: int) -> None:
    """What a page can have a browser send begins as HTTP does, and may hold lines of MI."""
    page = Remote(port)
    page.socket.sendall(b"POST /a:b HTTP/1.1\r\nHost: x\r\n\r\n1-gdb-version\n")
    seen = []
    while (record := page.next()) is not None:
        seen.append(record)
    assert not [record for record in seen if record.kind == "^"]


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("127.0.0.1:99999", "--mi-listen: port 99999 is not between 0 and 65535"),
        ("127.0.0.1:", "a port is missing"),
        ("127.0.0.1:x", "--mi-listen: 'x' is no port"),
        ("[::1]:\u0663", "is no port"),
    ],
)
def test_a_port_that_is_none_is_called_what_it_is(address: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        loopback_address(address, "--mi-listen")


@pytest.mark.full(instead="test_one_client_at_a_time")
@pytest.mark.in_turn(1)
@pytest.mark.parametrize("address", ["0.0.0.0:4000", "127.0.0.1", "127.0.0.1:99999", "example:1"])
def test_only_this_machine(address: str) -> None:
    done = subprocess.run(
        command("--mi-listen", address), capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
