"""gpudbg serve PROG: the terminal UI in a browser, on this machine by default."""

from __future__ import annotations

import sys
from pathlib import Path

import gpudbg
from gpudbg.arguments import Parser
from gpudbg.errors import UsageError
from gpudbg.frontends.loopback import port_number
from gpudbg.options import add_verb_options

DEFAULT_PORT = 8000
INSTALL = "pip install 'gpudbg[serve]' brings it"


def main(argv: list[str]) -> int:
    """Run the verb."""
    p = Parser(
        prog="gpudbg serve",
        usage="gpudbg serve [--host HOST] [--port PORT] PROG [launch flags]\n"
        "       gpudbg serve [--host HOST] [--port PORT] demo [NAME]",
        description="The terminal UI in a browser. The address that is printed holds a token, "
        "without which nothing is served; every page is a session of its own.",
        allow_abbrev=False,
    )
    add_verb_options(p, "serve")
    args, words = p.parse_known_args(argv)
    if not words:
        raise UsageError("gpudbg serve: no program is named", "gpudbg serve PROG, or: serve demo")
    port = port_number(args.port, "--port")
    try:
        from gpudbg.frontends.web.server import serve
    except ImportError as e:
        raise UsageError(f"serving needs textual-serve ({e.name} is missing)", INSTALL) from None
    title = _check(words)
    return serve([*child(), *words], title, args.host, port)


def child() -> list[str]:
    """The command of this very gpudbg, whatever lies in the folder it is started in."""
    package = str(Path(gpudbg.__file__).resolve().parents[1])
    start = f"import sys; sys.path.insert(0, {package!r}); from gpudbg.cli import main; "
    return [sys.executable, "-P", "-c", start + "sys.exit(main())"]


def _check(words: list[str]) -> str:
    """Open what will be served once, so that errors are printed here; what to call it."""
    from gpudbg.api import open_session
    from gpudbg.frontends.verbs import debug, demo

    if words[0] == "demo":
        return f"gpudbg demo {demo.find(demo.parser().parse_args(words[1:]).name).stem}"
    args = debug.parser().parse_args(words)
    open_session(args.program, args, may_wait=True).close()
    return f"gpudbg {Path(args.program).name}"
