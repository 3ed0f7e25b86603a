"""Reference: what is covered of GDB/MI and of the Debug Adapter Protocol."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from gpudbg.frontends.dap import families as dap_families
from gpudbg.frontends.dap.requests.lifecycle import CAPABILITIES
from gpudbg.frontends.mi.commands import families as mi_families
from gpudbg.manual.markdown import code, plain, section, table

RUNNING = {
    "ok": "answers",
    "pause": "halts the program for a moment",
    "refuse": "is refused",
}


def mi() -> str:
    """The page on GDB/MI."""
    rows = sorted(mi_families.load().values(), key=lambda row: row.name)
    return "\n".join(
        (
            "`gpudbg --interpreter=mi2 PROG` is what an editor starts in place of gdb. These are "
            "the MI commands it answers; any other gets the error `undefined-command`. Every "
            "line that does not begin with `-` is a [command of the console](commands.md), "
            "`-interpreter-exec console` takes one, too.\n",
            table(
                ("command", "while the program runs", "what"),
                ([code(f"-{row.name}"), RUNNING[row.running], _says(row.handler)] for row in rows),
            ),
        )
    )


def dap() -> str:
    """The page on the Debug Adapter Protocol."""
    rows = dap_families.load().values()
    return "\n".join(
        (
            "`gpudbg dap` speaks the Debug Adapter Protocol on its standard input and output, or "
            "with `--port` on a port of this machine's loopback. A request that is not listed is "
            "answered by an error that names it.\n",
            section(2, "Requests"),
            table(
                ("request", "while the program runs", "what"),
                ([code(row.name), RUNNING[row.running], _says(row.handler)] for row in rows),
            ),
            section(2, "Capabilities", "What the answer to `initialize` says.\n"),
            table(("capability", "value"), _capabilities()),
        )
    )


def _capabilities() -> Iterable[list[str]]:
    for name, value in CAPABILITIES.items():
        if isinstance(value, list):
            yield [code(name), " ".join(code(word) for word in value if word.strip())]
        else:
            yield [code(name), str(value).lower()]


def _says(handler: Callable[..., Any]) -> str:
    """The first sentence of a handler's docstring."""
    text = inspect.getdoc(handler) or ""
    return plain(" ".join(text.partition("\n\n")[0].split()))
