"""Commands and Python side by side: which of the two a typed line is."""

from __future__ import annotations

import builtins
import codeop
import keyword
import re
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpudbg.debug import CommandTable, UndefinedCommandError
from gpudbg.debug.script import BlockReader, head_of
from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession

_WORD = re.compile(r"\s*([A-Za-z_][\w-]*)")
_OF_THE_PROMPT = "source "
"""A command that the prompt carries out itself."""

_SHARED = frozenset({"break", "continue"})
"""Keywords of Python that mean nothing at the prompt and are commands."""


def python_state(text: str) -> str:
    """ "whole", "open" (more lines must follow) or "wrong", as Python reads it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "open" if codeop.compile_command(text, symbol="single") is None else "whole"
        except (SyntaxError, ValueError, OverflowError):
            return "wrong"


def as_command(
    line: str, table: CommandTable[DebugSession], names: Mapping[str, Any]
) -> str | None:
    """The console command a line is, without its `!`; None when it is Python.

    A line is a command when it begins with `!`, or with a command's name that is no name of the
    user's and that does not read as Python: `info warps`, `print $R4`, `x/4i $pc`, `step`, but
    not `print(x)`, `x = 3` or `list(range(3))`.

    Args:
        line: what was typed.
        table: the commands.
        names: the user's variables.
    """
    text = line.strip()
    if text.startswith("!"):
        return text[1:].strip()
    found = _WORD.match(line)
    if found is None or line[:1].isspace():
        return None
    word = found[1]
    if word in names or (keyword.iskeyword(word) and word not in _SHARED):
        return None
    if text == word:
        return text if _resolves(text, table) and not _only_python(word, table) else None
    if text.startswith(_OF_THE_PROMPT) and "=" not in text:
        return text  # its file name may read as a division
    if python_state(text) == "wrong":
        return text if _resolves(text, table) else None
    # Valid Python that begins with an unknown name followed by a blank, such as `thread (5,0,0)`.
    after = line[found.end() :]
    unknown = not hasattr(builtins, word) and after[:1].isspace() and after.lstrip()[:1] in "(*-+["
    return text if unknown and table.has(word) else None


def as_block(text: str, table: CommandTable[DebugSession], names: Mapping[str, Any]) -> str | None:
    """The lines of gdb's blocks (`define`, `if EXPR` without a colon), without a `!`; or None.

    `if` and `while` are Python's where Python reads them.
    """
    first, newline, rest = text.partition("\n")
    plain = first.strip().removeprefix("!").strip()
    head = head_of(plain)
    if head is None or head[0] == "python" or (first[:1].isspace()):
        return None
    word = head[0]
    if not first.startswith("!"):
        if word in names or python_state(first) != "wrong" or first.rstrip().endswith(":"):
            return None
        if keyword.iskeyword(word) and not head[1]:
            return None
    return plain + newline + rest


def open_block(lines: Sequence[str]) -> bool:
    """Whether a block lacks lines; one that is wrong lacks none."""
    reader = BlockReader()
    try:
        for line in lines:
            reader.feed(line)
    except CommandError:
        return False
    return reader.pending


def _resolves(text: str, table: CommandTable[DebugSession]) -> bool:
    try:
        table.resolve(text)
    except UndefinedCommandError:
        return False
    except CommandError:
        # An ambiguous or incomplete command is one all the same: its own message helps more.
        return True
    return True


def _only_python(word: str, table: CommandTable[DebugSession]) -> bool:
    """A bare built-in that is a command only as an abbreviation."""
    return hasattr(builtins, word) and not table.has(word)
