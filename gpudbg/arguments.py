"""Words of a command line: argparse whose complaints are `UsageError`, and numbers."""

from __future__ import annotations

import argparse
import difflib
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
