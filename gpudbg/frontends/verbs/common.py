"""What the verbs share: whether there is a screen, and how answers are printed."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, TextIO

from gpudbg.answers import data_of, lines_of
from gpudbg.errors import EXIT_CLEAN, EXIT_FINDINGS

if TYPE_CHECKING:
    from gpudbg.answers import Answer


def has_screen() -> bool:
    """Whether there is a terminal to draw on, or a browser that textual-serve draws on."""
    if os.environ.get("TEXTUAL_DRIVER", "").endswith(":WebDriver"):
        return True
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    if os.environ.get("TERM", "") in ("dumb", "unknown") and os.name != "nt":
        name = os.environ["TERM"]
        print(f"TERM={name} cannot draw the terminal UI; this is the line console", file=sys.stderr)
        return False
    return True


def exit_code(code: object) -> int:
    """`sys.exit`'s argument as an exit code, as Python itself reads it."""
    if code is None or isinstance(code, int):
        return code or EXIT_CLEAN
    print(code, file=sys.stderr)
    return EXIT_FINDINGS


def emit_json(data: Any) -> None:
    """Print plain data as JSON."""
    from gpudbg.debug.views import dumps

    sys.stdout.write(dumps(data, indent=2) + "\n")


def emit(answer: Answer, as_json: bool, stream: TextIO | None = None) -> None:
    """Print an answer: its data as JSON, or its lines on standard output or another stream."""
    if as_json:
        emit_json(data_of(answer))
    else:
        print("\n".join(lines_of(answer)), file=stream)
