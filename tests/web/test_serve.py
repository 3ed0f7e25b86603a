"""gpudbg serve: nothing without the token, no shell in between, nothing left behind."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp.test_utils import TestClient, TestServer
from aiohttp.web import Application, Request

from gpudbg.cli import main
from gpudbg.frontends.web.server import TokenServer
from tests.launching import FIRST
from tests.tui.helpers import CUBINS, LOOP, PATIENCE_S

TOKEN = "0123456789abcdef"


@asynccontextmanager
async def client(server: TokenServer) -> AsyncIterator[TestClient[Request, Application]]:
    """A client of the server; its socket is on the loopback interface."""
    async with TestClient(TestServer(await server.app())) as made:
        yield made


def server_of(*words: str, pid_file: Path | None = None) -> TokenServer:
    """A server of gpudbg, which leaves its process number behind."""
    note = f"open({str(pid_file)!r}, 'w').write(str(os.getpid()))" if pid_file else ""
    text = f"import os, sys; {note}\nfrom gpudbg.cli import main; sys.exit(main(sys.argv[1:]))"
    return TokenServer([sys.executable, "-c", text, *words], "gpudbg a <b>", TOKEN)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "https://127.0.0.1:1"}, 403),
        ({"Host": "evil.example"}, 403),
        ({"Host": "evil.example", "Origin": "http://evil.example"}, 403),
        ({"Host": "localhost:8000", "Origin": "http://localhost:8000"}, 200),
        ({"Host": "[::1]:8000"}, 200),
        ({"Host": "myself:8000", "Origin": "http://myself:8000"}, 200),
        ({}, 200),
    ],
)
async def test_pages_of_others_and_borrowed_names_are_refused(
    headers: dict[str, str], status: int
) -> None:
    """Who has the token but is another site's page, or came by a name that was pointed here."""
    server = TokenServer([sys.executable, "-c", "pass"], "x", TOKEN, hosts=["MySelf"])
    async with client(server) as web:
        async with web.get(f"/{TOKEN}/", headers=headers) as answer:
            assert answer.status == status
        if status == 403:
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await web.ws_connect(f"/{TOKEN}/ws", headers=headers)
            assert refused.value.status == 403


async def read_until(ws: aiohttp.ClientWebSocketResponse, text: bytes) -> None:
    seen = b""
    end = time.monotonic() + PATIENCE_S
    while text not in seen:
        # The page goes on drawing: only the clock says that the text does not come.
        assert time.monotonic() < end, seen[-500:]
        message = await ws.receive(PATIENCE_S)
        assert message.type not in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED), seen[-500:]
        seen += message.data if isinstance(message.data, bytes) else b""


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def ended(pid: int) -> None:
    end = time.monotonic() + PATIENCE_S
    while alive(pid):
        assert time.monotonic() < end, f"process {pid} still runs"
        await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    "path",
    ["/", "/?token=" + TOKEN, "/static/js/textual.js", "/ws", "/download/x", "/%ff/", "//",
     f"/{TOKEN[:-1]}/", f"/{TOKEN}0/", f"/x/{TOKEN}/"],
)  # fmt: skip
async def test_nothing_is_served_without_the_token(path: str) -> None:
    async with client(server_of(str(FIRST))) as web, web.get(path) as answer:
        assert answer.status == 403
        assert TOKEN not in await answer.text()


async def test_a_socket_needs_the_token() -> None:
    async with client(server_of(str(FIRST))) as web:
        for path in ("/ws", "/0123/ws", f"/ws?token={TOKEN}"):
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await web.ws_connect(path)
            assert refused.value.status == 403


async def test_the_page_asks_no_other_host() -> None:
    async with client(server_of(str(FIRST))) as web:
        async with web.get(f"/{TOKEN}") as answer:
            assert answer.status == 200
            assert answer.url.path == f"/{TOKEN}/"
            assert answer.headers["Referrer-Policy"] == "no-referrer"
            page = await answer.text()
        assert "gpudbg a &lt;b&gt;" in page
        assert not re.findall(r"(?:https?:)?//\w+\.\w+", page)
        for found in re.findall(r"""(?:src|href)="([^"]+)"|url\("([^"]+)"\)""", page):
            async with web.get(f"/{TOKEN}/{''.join(found)}") as answer:
                assert answer.status == 200


@pytest.mark.full(instead="test_ctrl_c_ends_it_and_leaves_nothing")
async def test_a_page_is_a_session_that_ends_with_it(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    loop = str(CUBINS / "fault_infinite_loop.cubin")
    async with client(server_of(loop, *LOOP, "-ex", "set stop-on-hang off", pid_file=note)) as web:
        ws = await web.ws_connect(f"/{TOKEN}/ws?width=100&height=30")
        await read_until(ws, b"Entry")
        pid = int(note.read_text())
        # The page goes away while the kernel runs for ever, which is a proven hang otherwise.
        await ws.send_str(json.dumps(["stdin", "c"]))
        await read_until(ws, b"Running")
        assert alive(pid)
        await ws.close()
        await ended(pid)


@pytest.mark.full(instead="test_ctrl_c_ends_it_and_leaves_nothing")
async def test_the_end_of_the_server_ends_its_sessions(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    async with client(server_of(str(FIRST), pid_file=note)) as web:
        ws = await web.ws_connect(f"/{TOKEN}/ws?width=100&height=30")
        await read_until(ws, b"Entry")
    await ended(int(note.read_text()))


async def test_words_reach_the_program_as_they_are(tmp_path: Path) -> None:
    words = ["a b", "$(touch x)", "`id`", "it's", '"', "\\", "*", "; exit 3", "a\nb", "", "é", "&"]
    note = tmp_path / "words"
    text = f"import json, sys; open({str(note)!r}, 'w').write(json.dumps(sys.argv[1:]))"
    server = TokenServer([sys.executable, "-c", text, *words], "words", TOKEN)
    async with client(server) as web, web.ws_connect(f"/{TOKEN}/ws") as ws:
        # A program that ends closes its page, even when it never drew anything.
        while (await ws.receive(PATIENCE_S)).type != aiohttp.WSMsgType.CLOSE:
            pass
    assert json.loads(note.read_text()) == words


def test_ctrl_c_ends_it_and_leaves_nothing() -> None:
    server = subprocess.Popen(
        [sys.executable, "-m", "gpudbg", "serve", "--port", "0", str(FIRST)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        assert "first_steps.cubin" in server.stdout.readline()
        url = server.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{20,}/", url)
        asyncio.run(open_page(url))
        server.send_signal(signal.SIGINT)
        assert server.wait(PATIENCE_S) == 0
        end = time.monotonic() + PATIENCE_S
        while group_alive(server.pid):
            assert time.monotonic() < end, "a session outlives the server"
            time.sleep(0.05)
    finally:
        if server.poll() is None:
            server.kill()
            server.wait()


async def open_page(url: str) -> None:
    """A page that is still open when its client goes away without a word."""
    async with aiohttp.ClientSession() as web:
        ws = await web.ws_connect(url + "ws?width=100&height=30")
        await read_until(ws, b"Entry")


def group_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "no program is named"),
        (["/no/such.cubin"], "/no/such.cubin"),
        (["--port", "70000", str(FIRST)], "between 0 and 65535"),
        (["--port", "x", str(FIRST)], "--port: 'x' is no port"),
        (["demo", "nosuch"], "no story is called 'nosuch'"),
        ([str(FIRST), "--nosuch"], "--nosuch"),
    ],
)
def test_mistakes_are_told_before_anything_is_served(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", *words]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert len(said.splitlines()) == 1


def test_a_program_whose_arguments_nobody_gave_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page shows the launch form, as the terminal does."""
    served: list[str] = []

    def serve(command: list[str], title: str, host: str, port: int) -> int:
        served.append(title)
        return 0

    monkeypatch.setattr("gpudbg.frontends.web.server.serve", serve)
    assert main(["serve", str(CUBINS / "saxpy.cubin")]) == 0
    assert served == ["gpudbg saxpy.cubin"]


def test_a_port_in_use_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["serve", "--port", str(taken.getsockname()[1]), str(FIRST)]) == 2
    assert "cannot listen on 127.0.0.1" in capsys.readouterr().err


def test_without_the_library_one_line_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "gpudbg.frontends.web.server")
    monkeypatch.setitem(sys.modules, "textual_serve.server", None)
    assert main(["serve", str(FIRST)]) == 2
    said = capsys.readouterr().err
    assert "pip install 'gpudbg[serve]'" in said
    assert len(said.splitlines()) <= 2
