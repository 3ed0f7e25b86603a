"""Words of a command line: argparse whose complaints are `UsageError`, and numbers."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Callable, Iterable
from typing import NoReturn

from gpudbg.errors import UsageError


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


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """An argparse type: a whole number in a range; argparse names the flag where it is none."""

    def read(text: str) -> int:
        try:
            value = int(text, 0)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if value < least or (most is not None and value > most):
            words = f"at least {least}" if most is None else f"between {least} and {most}"
            raise argparse.ArgumentTypeError(f"{value} is not {words}")
        return value

    return read


def suggest(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the nearest known name, else the known names listed."""
    known = list(known)
    close = difflib.get_close_matches(name, known, 1)
    return f"did you mean '{close[0]}'?" if close else "known: " + ", ".join(known)
