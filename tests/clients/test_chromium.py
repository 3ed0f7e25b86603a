"""`gpudbg serve` in a real browser: the first screen, keys, a stop, the end.

Needs chromium (`apt-get install chromium`).  Spoken to by the DevTools protocol; the picture is
left in the file that GPUDBG_SCREENSHOT names.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.clients.kit import ROOT
from tests.launching import FIRST

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PATIENCE_S = 90
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

LISTEN = """
const Plain = window.WebSocket;
window.seen = "";
window.WebSocket = class extends Plain {
  constructor(...words) {
    super(...words);
    this.addEventListener("message", (event) => {
      if (typeof event.data !== "string") window.seen += new TextDecoder().decode(event.data);
    });
  }
};
"""
"""The page keeps what its terminal is told: the terminal itself is a canvas."""


class Page:
    """A page by the DevTools protocol."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A method's answer."""
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        while True:
            answer = await self._socket.receive_json(timeout=PATIENCE_S)
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return dict(answer["result"])

    async def value(self, expression: str) -> Any:
        """What JavaScript says."""
        found = await self.call("Runtime.evaluate", expression=expression)
        return found["result"].get("value")

    async def wait(self, expression: str) -> None:
        """Until it is true."""
        end = time.monotonic() + PATIENCE_S
        while not await self.value(expression):
            assert time.monotonic() < end, (expression, await self.value("window.seen.slice(-999)"))
            await asyncio.sleep(0.1)

    async def press(self, key: str, code: int, text: str = "") -> None:
        """A key, as a keyboard sends it."""
        words = {"key": key, "windowsVirtualKeyCode": code, "code": key}
        await self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **words)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **words)

    async def picture(self, path: str) -> bytes:
        """A screenshot."""
        made = await self.call("Page.captureScreenshot", format="png")
        data = base64.b64decode(made["data"])
        if path:
            Path(path).write_bytes(data)
        return data


@pytest.fixture
def url() -> Iterator[str]:
    """The address that `gpudbg serve` prints."""
    words = [sys.executable, "-m", "gpudbg", "serve", "--port", "0", str(FIRST)]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert server.stdout is not None
    server.stdout.readline()
    yield server.stdout.readline().strip()
    server.send_signal(signal.SIGINT)
    assert server.wait(PATIENCE_S) == 0


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[str]:
    """The HTTP address of a browser's DevTools."""
    assert CHROMIUM is not None
    words = [
        CHROMIUM, "--headless=new", "--no-sandbox", "--window-size=1280,800", "--disable-gpu",
        "--remote-debugging-port=0", f"--user-data-dir={tmp_path}", "about:blank",
    ]  # fmt: skip
    running = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert running.stderr is not None
    found = None
    while found is None:
        line = running.stderr.readline()
        assert line, "chromium has ended"
        found = re.search(r"DevTools listening on ws://([\d.:]+)/", line)
    yield f"http://{found[1]}"
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()


async def test_a_session_in_the_browser(url: str, browser: str) -> None:
    async with aiohttp.ClientSession() as web:
        async with web.get(f"{browser}/json/list") as answer:
            tabs = [tab for tab in await answer.json() if tab["type"] == "page"]
        async with web.ws_connect(tabs[0]["webSocketDebuggerUrl"], max_msg_size=0) as socket:
            page = Page(socket)
            await page.call("Page.enable")
            await page.call("Emulation.setFocusEmulationEnabled", enabled=True)
            await page.call("Page.addScriptToEvaluateOnNewDocument", source=LISTEN)
            await page.call("Page.navigate", url=url)
            await page.wait("window.seen.includes('Entry')")
            await page.wait("document.body.classList.contains('-first-byte')")
            await page.press(" ", 32, " ")
            await page.wait("window.seen.includes('+0x10')")
            path = os.environ.get("GPUDBG_SCREENSHOT", "")
            end = time.monotonic() + PATIENCE_S
            while len(await page.picture(path)) < 40_000:
                assert time.monotonic() < end, "the screen stays empty"
                await asyncio.sleep(0.2)
            await page.press("F5", 116)
            await page.wait("window.seen.includes('Finished')")
            await page.press("q", 81, "q")
            await page.wait("document.body.classList.contains('-closed')")
