"""Reading a file that a user names, whatever it is."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from gpudbg.errors import LoadError

RECORDING_MAGIC = b"gpurec\r\n"
RECORDING_SUFFIX = ".gpurec"
"""How a recording begins (`gpudbg.formats.recording`)."""
MOST_STREAMED = 256 << 20
"""Bytes taken from what is no regular file, such as a pipe: a device may go on for ever."""
MOST_READ = 8 << 30
"""Bytes taken from a regular file, which may be a sparse one of any size."""


def read_bytes(path: str | Path) -> bytes:
    """A file's bytes.

    Raises:
        LoadError: it cannot be read, or gives more than `MOST_STREAMED` and is no regular file.
    """
    try:
        with open(path, "rb") as file:
            state = os.fstat(file.fileno())
            if stat.S_ISREG(state.st_mode):
                if state.st_size > MOST_READ:
                    raise LoadError(
                        f"has {state.st_size:,} bytes, more than {MOST_READ >> 30} GiB",
                        path=str(path),
                    )
                return file.read()
            data = file.read(MOST_STREAMED + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LoadError(f"cannot be read: {reason}", path=str(path)) from error
    except MemoryError:
        raise LoadError("does not fit in this machine's memory", path=str(path)) from None
    if len(data) > MOST_STREAMED:
        raise LoadError(
            f"is no regular file and gives more than {MOST_STREAMED >> 20} MiB", path=str(path)
        )
    return data
