"""Lines of a text file or a stream, one at a time, however long the input is."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from gpudbg.errors import CommandError, LoadError

MAX_SOURCE_BYTES = 4 << 20
"""Largest source file that is looked into."""
MAX_SCRIPT_BYTES = 16 << 20
"""Largest file of commands."""
LONGEST = 1 << 20
"""Most characters of a line: what goes on without an end is no text."""
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def lines_of(file: BinaryIO, name: str) -> Iterator[str]:
    """Lines without their ends (LF or CRLF), as they come.

    UTF-8, or UTF-16 with a byte order mark; other bytes become U+FFFD.

    Args:
        file: what to read; it is not closed.
        name: what messages call it.

    Raises:
        LoadError: a line of more than `LONGEST` characters, or the input cannot be read.
    """
    buffered = file if isinstance(file, io.BufferedReader) else io.BufferedReader(_raw(file))
    try:
        utf16 = buffered.peek(2)[:2] in _UTF16
        text = io.TextIOWrapper(
            buffered, "utf-16" if utf16 else "utf-8", errors="replace", newline="\n"
        )
        try:
            number = 0
            while line := text.readline(LONGEST + 1):
                number += 1
                if len(line) > LONGEST:
                    raise LoadError(
                        f"line {number} is longer than {LONGEST:,} characters; this is no text",
                        path=name,
                    )
                line = line.removesuffix("\n").removesuffix("\r")
                yield line.removeprefix("\ufeff") if number == 1 else line
        finally:
            text.detach()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LoadError(f"cannot be read: {reason}", path=name) from error


def _raw(file: BinaryIO) -> io.RawIOBase:
    """A stream that is no buffered file, such as one in memory, as one can be read from."""
    return _Adapter(file)


class _Adapter(io.RawIOBase):
    """The reading half of any binary stream."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def readable(self) -> bool:
        """It is there to be read."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill a buffer."""
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to read from.

    Raises:
        LoadError: it cannot be opened.
    """
    try:
        file = open(path, "rb")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LoadError(f"cannot be read: {reason}", path=str(path)) from error
    with file:
        yield file


def read_text(path: str | os.PathLike[str], most: int, strict: bool = False) -> str:
    """A text file's contents; bytes that are no UTF-8 become U+FFFD, or are refused if strict.

    Raises:
        LoadError: it cannot be read, or holds more than `most` bytes.
    """
    data = beginning(path, most + 1)
    if len(data) > most:
        raise LoadError(f"is larger than {most >> 20} MiB; this is no such text", path=str(path))
    try:
        return data.decode("utf-8", "strict" if strict else "replace")
    except UnicodeDecodeError as error:
        raise LoadError(
            f"is no UTF-8 text: {error.reason}", offset=error.start, path=str(path)
        ) from None


def beginning(path: str | os.PathLike[str], count: int) -> bytes:
    """The first bytes of a file, which may be a device that goes on for ever.

    Raises:
        LoadError: it cannot be read.
    """
    with opened(path) as file:
        try:
            return file.read(count)
        except OSError as error:
            raise LoadError(f"cannot be read: {error.strerror}", path=str(path)) from error


def script_text(path: str | os.PathLike[str], most: int = MAX_SCRIPT_BYTES) -> str:
    """What a file of commands holds.

    Raises:
        CommandError: it cannot be read, or is too large to be one.
    """
    try:
        return read_text(path, most)
    except LoadError as error:
        raise CommandError(f"cannot read {path}: {error.reason}") from None


def is_text_file(path: Path, most: int) -> bool:
    """Whether a path is a regular file of at most `most` bytes (no device, no pipe)."""
    try:
        return path.is_file() and path.stat().st_size <= most
    except (OSError, ValueError):
        return False
