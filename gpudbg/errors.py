"""The error tree: every failure a user can cause or meet, with its exit code.

Branches say who is at fault: the file (`LoadError`), the arguments (`UsageError`), the
machine code (`DecodeError`, `AssembleError`), the command typed (`CommandError`), or gpudbg
itself (`ModelGap`, `InternalError`).  Messages say what happened, where, and what to do next.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

Answered = TypeVar("Answered")

EXIT_CLEAN = 0
EXIT_FINDINGS = 1
EXIT_USAGE = 2
EXIT_FAULT = 3
EXIT_GAP = 4
EXIT_CODES = {
    EXIT_CLEAN: "ran clean",
    EXIT_FINDINGS: "findings",
    EXIT_USAGE: "usage: arguments, files or commands that do not fit",
    EXIT_FAULT: "the kernel faulted",
    EXIT_GAP: "a gap of gpudbg or its model",
}
"""Exit code -> what it says."""


class GpudbgError(Exception):
    """Root of all errors shown to users as one line.

    Args:
        message: what happened and where.
        hint: what to do next; shown after the message.
    """

    exit_code: int = EXIT_USAGE

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        # By what it holds: the arguments of some branches make up a message.
        return _remade, (type(self), self.args, self.__dict__)


def _remade(kind: type[GpudbgError], args: tuple[Any, ...], held: dict[str, Any]) -> GpudbgError:
    """An error as it was when it was pickled."""
    made = kind.__new__(kind)
    made.args = args
    made.__dict__.update(held)
    return made


class UsageError(GpudbgError):
    """Arguments or a launch table that do not fit the program."""


def _one_line(text: str) -> str:
    """Text with names out of a damaged file: what does not print is escaped."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


class LoadError(GpudbgError):
    """A file that cannot be read as what it claims to be; names file and offset."""

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        offset: int | None = None,
        hint: str | None = None,
    ) -> None:
        where = path or "<bytes>"
        if offset is not None:
            where += f" at offset 0x{offset:x}"
        super().__init__(_one_line(f"{where}: {message}"), hint)
        self.path = path
        self.offset = offset
        self.reason = message.removeprefix("cannot be read: ")


class DecodeError(GpudbgError, ValueError):
    """A word that encodes no instruction of the architecture; `reason` says why."""

    def __init__(self, message: str, *, word: int = 0, reason: str = "") -> None:
        super().__init__(message)
        self.word = word
        self.reason = reason or message


class AssembleError(GpudbgError, ValueError):
    """SASS text that cannot be encoded: file, line, column (1-based) and what was expected.

    Attributes:
        path, line, column, expected: of the first error.
        errors: all errors of the file, one by one.
    """

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        line: int | None = None,
        column: int | None = None,
        expected: str | None = None,
    ) -> None:
        where = ":".join(str(x) for x in (path, line, column) if x is not None)
        text = f"{where}: {message}" if where else message
        if expected:
            text += f"; expected {expected}"
        super().__init__(text)
        self.path, self.line, self.column, self.expected = path, line, column, expected
        self._all: tuple[AssembleError, ...] = ()

    @property
    def errors(self) -> tuple[AssembleError, ...]:
        """All errors of the file; the error itself where it is the only one."""
        return self._all or (self,)

    @classmethod
    def of_all(cls, errors: Sequence[AssembleError], cut: bool = False) -> AssembleError:
        """One error for all of a file, in the order of its lines; each has a line of the message.

        Args:
            errors: at least one.
            cut: there may be more.
        """
        rows = sorted(errors, key=lambda e: (e.line or 0, e.column or 0))
        if len(rows) == 1 and not cut:
            return rows[0]
        made = cls("\n".join(e.message for e in rows))
        more = " or more" if cut else ""
        made.hint = None
        made.message = f"{len(rows)}{more} errors\n{made.message}"
        made.args = (made.message,)
        first = rows[0]
        made.path, made.line, made.column = first.path, first.line, first.column
        made.expected, made._all = first.expected, tuple(rows)
        return made


class CompileError(GpudbgError):
    """CUDA C++ or PTX that its compiler refuses; the compiler's words follow the first line."""


class CommandError(GpudbgError):
    """A console command, expression or address that cannot be carried out."""


class ModelGap(GpudbgError):  # noqa: N818 - a gap is the word users meet
    """An instruction, register or mode that decodes but has no semantics here; never skipped."""

    exit_code = EXIT_GAP


class PluginError(GpudbgError):
    """A plugin that does not load or breaks its contract."""

    exit_code = EXIT_GAP


class InternalError(GpudbgError):
    """A defect of gpudbg itself."""

    exit_code = EXIT_GAP


NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Why a file system takes nothing more."""
TRACEBACK = "GPUDBG_TRACEBACK"
"""Set in the environment: defects show Python's traceback."""


def error_for_user(error: BaseException) -> GpudbgError:
    """Any exception as the error that a front end shows in its place.

    A front end must not end because of what one command, display, condition, callback or plugin
    raises.  What is nobody's defect says what happened, code outside gpudbg is named by file and
    line, and the rest is a defect of ours.
    """
    if isinstance(error, GpudbgError):
        return error
    if isinstance(error, re.error):
        return CommandError(f"Invalid regexp: {error}")
    if isinstance(error, RecursionError):
        return CommandError("this is nested too deeply")
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return UsageError(
            "not enough memory for this program and its launch",
            "smaller buffers, a smaller grid or `ulimit -v` may help",
        )
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        what = error.filename or "the output"
        return UsageError(f"{what} cannot be written: {error.strerror}")
    text = f"{type(error).__name__}: {error}".removesuffix(": ")
    place = place_of(error)
    if place and not _of_library(place):
        return CommandError(f"{text}{place}")
    if os.environ.get(TRACEBACK):
        import traceback

        traceback.print_exception(error, file=sys.stderr)
    return InternalError(
        f"internal error: {text}", f"set {TRACEBACK}=1 for the place, and please report it"
    )


def for_user(function: Callable[..., Answered], *given: Any) -> Answered:
    """What a function answers; whatever it raises is an error that front ends show.

    Raises:
        GpudbgError: see `error_for_user`.
    """
    try:
        return function(*given)
    except (GpudbgError, BrokenPipeError):
        raise
    except Exception as error:
        raise error_for_user(error) from error


def place_of(error: BaseException) -> str:
    """` at FILE:LINE`: the last line outside gpudbg's core where an exception came by."""
    core = os.path.dirname(os.path.abspath(__file__)) + os.sep
    found, frames = "", error.__traceback__
    while frames is not None:
        file = frames.tb_frame.f_code.co_filename
        typed = file.startswith(("<gpudbg>", "<stdin>", "<ipython"))
        if typed or (os.path.isabs(file) and not file.startswith(core) and "importlib" not in file):
            found = f" at {file}:{frames.tb_lineno}"
        frames = frames.tb_next
    if isinstance(error, SyntaxError) and error.filename:
        return f" at {error.filename}:{error.lineno}"
    return found


def _of_library(place: str) -> bool:
    """Whether a place lies in Python's own library or an installed one: nobody's code here."""
    return "site-packages" in place or place.startswith(
        f" at {os.path.dirname(os.__file__)}{os.sep}"
    )
