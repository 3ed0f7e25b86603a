"""Reading a file that a user names, whatever it is."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from gpudbg.errors import LoadError

RECORDING_MAGIC = b"gpurec\r\n"
"""How a recording begins (`gpudbg.formats.recording`)."""
MOST_STREAMED = 256 << 20
"""Bytes taken from what is no regular file, such as a pipe: a device may go on for ever."""


def read_bytes(path: str | Path) -> bytes:
    """A file's bytes.

    Raises:
        LoadError: it cannot be read, or gives more than `MOST_STREAMED` and is no regular file.
    """
    try:
        with open(path, "rb") as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return file.read()
            data = file.read(MOST_STREAMED + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LoadError(f"cannot be read: {reason}", path=str(path)) from error
    if len(data) > MOST_STREAMED:
        raise LoadError(
            f"is no regular file and gives more than {MOST_STREAMED >> 20} MiB", path=str(path)
        )
    return data
