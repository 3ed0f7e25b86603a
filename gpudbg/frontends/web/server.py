"""Serving the terminal UI to browsers: textual-serve behind a token.

Every address begins with the token: the page, its files and the socket.  Whoever has the address
can run the debugger with the rights of the user that serves it, so it listens on the loopback
interface by default.  Each page that is opened is a session and a process of its own.
"""

from __future__ import annotations

import asyncio
import hmac
import html
import os
import secrets
import shlex
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Container, Sequence
from importlib.resources import files
from ipaddress import ip_address
from string import Template
from typing import Any
from urllib.parse import urlsplit

from aiohttp import WSCloseCode, web
from textual_serve.app_service import AppService
from textual_serve.server import Server

from gpudbg.frontends.loopback import NAMES, listening

TOKEN_BYTES = 24
FONT_SIZE = 14
GRACE_S = 5.0
"""How long a session may take to end when its page has gone."""
HEARTBEAT_S = 15.0
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'self' data:; connect-src 'self' ws: wss:; "
    "style-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Session(AppService):
    """One page's process, started without a shell; the page is notified when it ends."""

    def __init__(self, words: Sequence[str], page: web.WebSocketResponse, **more: Any) -> None:
        """A session of a command, for the page at the other end of a socket."""

        async def close() -> None:
            await page.close()

        super().__init__(
            shlex.join(words),
            write_bytes=page.send_bytes,
            write_str=page.send_str,
            close=close,
            **more,
        )
        self._words = tuple(words)

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        process = await asyncio.create_subprocess_exec(
            *self._words,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=self._build_environment(width, height),
        )
        self._process, self._stdin = process, process.stdin
        return process

    async def run(self) -> None:
        """Carry bytes in both directions until the process ends."""
        try:
            await super().run()
        finally:
            await self.remote_close()

    async def stop(self) -> None:
        """End the process; one that does not answer is killed."""
        process = self._process
        if process is None:
            return
        try:
            async with asyncio.timeout(GRACE_S):
                await super().stop()
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
        finally:
            if process.stdin is not None:
                process.stdin.close()


class TokenServer(Server):
    """textual-serve whose every address needs the token, without requests to other hosts."""

    def __init__(
        self,
        words: Sequence[str],
        title: str,
        token: str | None = None,
        hosts: Sequence[str] = (),
    ) -> None:
        """Serve a command, given as words; `hosts` are names by which it may be called."""
        super().__init__(shlex.join(words), title=title, public_url="")
        self.hosts = frozenset(name.lower() for name in (*hosts, "localhost"))
        self.token = token or secrets.token_urlsafe(TOKEN_BYTES)
        self._words = tuple(words)
        self._pages: set[web.WebSocketResponse] = set()

    async def app(self) -> web.Application:
        """What textual-serve serves, under the token."""
        outer = web.Application(middlewares=[self._guard])
        outer.add_subapp(f"/{self.token}/", await self._make_app())
        return outer

    @web.middleware
    async def _guard(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if why := foreign(request.host, request.headers.get("Origin"), self.hosts):
            return web.Response(status=403, text=f"{why}\n", headers=HEADERS)
        given = request.path.split("/")[1]
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode()):
            return web.Response(
                status=403,
                text="This address lacks the token. Use the one that `gpudbg serve` printed.\n",
                headers=HEADERS,
            )
        if request.path == f"/{self.token}":
            raise web.HTTPFound(f"/{self.token}/", headers=HEADERS)
        found: web.StreamResponse = await handler(request)
        return found

    async def handle_index(self, request: web.Request) -> web.StreamResponse:
        """The page."""
        font = _cells(request.query.get("fontsize", "")) or FONT_SIZE
        page = Template(files("gpudbg.frontends.web").joinpath("page.html").read_text("utf-8"))
        text = page.substitute(title=html.escape(self.title), font_size=font)
        return web.Response(text=text, content_type="text/html", headers=HEADERS)

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """One page: a session from here to its end."""
        page = web.WebSocketResponse(heartbeat=HEARTBEAT_S)
        await page.prepare(request)
        session = Session(self._words, page, download_manager=self.download_manager)
        width, height = (_cells(request.query.get(name, "")) for name in ("width", "height"))
        self._pages.add(page)
        try:
            await session.start(width or 80, height or 24)
            await self._process_messages(page, session)
        finally:
            self._pages.discard(page)
            await session.stop()
        return page

    async def on_startup(self, app: web.Application) -> None:
        """The address is printed by `serve`."""

    async def on_shutdown(self, app: web.Application) -> None:
        """Close every page, which ends its session."""
        await asyncio.gather(*(page.close(code=WSCloseCode.GOING_AWAY) for page in self._pages))


def foreign(host: str, origin: str | None, names: Container[str]) -> str:
    """Why a request is not from a page of ours; "" when it is.

    A page of another site may know the address: the browser tells its origin.  A name that
    somebody else lets point here (DNS rebinding) is neither an address nor a name of ours.

    Args:
        host: the Host header.
        origin: the Origin header, None without one.
        names: names of this machine that count.
    """
    name = (urlsplit(f"//{host}").hostname or "") if host else ""
    try:
        ip_address(name)
    except ValueError:
        if name not in names:
            return f"This server is not called {name!r}."
    if origin is not None and urlsplit(origin).netloc != host:
        return f"A page of {origin} may not use this server."
    return ""


def _cells(text: str) -> int:
    """A width or height that a page asks for; 0 when it is none."""
    return int(text) if text.isdecimal() and len(text) < 4 else 0


def address(server: TokenServer, door: socket.socket) -> str:
    """The address to open in a browser."""
    host, port = door.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = socket.gethostname()
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/{server.token}/"


def serve(words: Sequence[str], title: str, host: str, port: int) -> int:
    """Serve until Ctrl-C or SIGTERM; every session is ended then."""
    os.environ.update(
        {"COLORTERM": "truecolor", "GPUDBG_ASCII": os.environ.get("GPUDBG_ASCII") or "0"}
    )
    server = TokenServer(words, title, hosts=(host, socket.gethostname(), socket.getfqdn()))
    door = listening(host, port)
    print(f"{title} at\n  {address(server, door)}\nCtrl-C ends it.", flush=True)
    if host not in NAMES:
        print(
            "Not only this machine can reach it: whoever has the address runs programs as you, "
            "and HTTP does not hide it.",
            file=sys.stderr,
        )
    web.run_app(
        server.app(),
        sock=door,
        print=None,
        access_log=None,
        shutdown_timeout=2 * GRACE_S,
    )
    return 0
