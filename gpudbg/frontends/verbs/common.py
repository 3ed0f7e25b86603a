"""What the verbs share: argparse that raises UsageError, JSON output, program loading."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from gpudbg.answers import data_of, lines_of
from gpudbg.errors import UsageError
from gpudbg.formats.names import plain_name

if TYPE_CHECKING:
    from gpudbg.answers import Answer
    from gpudbg.formats.program import Program


class Parser(argparse.ArgumentParser):
    """argparse whose complaints are one line and exit code 2 through `UsageError`."""

    def error(self, message: str) -> NoReturn:
        """Complain."""
        # The command line says first that it is gpudbg who complains.
        verb = self.prog.removeprefix("gpudbg").strip()
        unknown = (
            message.rpartition("unrecognized arguments: ")[2] if "unrecognized" in message else ""
        )
        flags = [flag for action in self._actions for flag in action.option_strings]
        near = difflib.get_close_matches(unknown.partition(" ")[0].partition("=")[0], flags, n=2)
        if unknown.startswith("-") and near:
            message += f"; did you mean {' or '.join(near)}?"
        raise UsageError(f"{verb}: {message}" if verb else message, f"see `{self.prog} --help`")


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


def integer(text: str) -> int:
    """An argparse type: decimal, 0x, 0b, or bare hex digits with letters."""
    try:
        return int(text, 0)
    except ValueError:
        pass
    try:
        return int(text, 16)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def plain_kernel(program: Program, name: str | None) -> str | None:
    """A kernel's name in the program for how a person writes it, as launches take it."""
    if name is None or name in program.kernels:
        return name
    from gpudbg.launch import kernel_name

    return kernel_name(program, name)


def known_names(name: str, known: Iterable[str], limit: int = 8) -> str:
    """A hint: the names nearest to one that is not there, else the first that are."""
    names = list(dict.fromkeys(known))
    plain = {plain_name(n): n for n in names} | {n: n for n in names}
    near = difflib.get_close_matches(name, plain, n=3)
    if near:
        return f"did you mean {', '.join(near)}?"
    more = f" and {len(names) - limit:,} more" if len(names) > limit else ""
    return "known: " + (", ".join(names[:limit]) or "none") + more


def emit_json(data: Any) -> None:
    """Print plain data as JSON."""
    from gpudbg.debug.views import dumps

    sys.stdout.write(dumps(data, indent=2) + "\n")


def emit(answer: Answer, as_json: bool) -> None:
    """Print an answer: its data as JSON, or its lines."""
    if as_json:
        emit_json(data_of(answer))
    else:
        print("\n".join(lines_of(answer)))
