"""Files that commands and decoders read: whole, up to a size."""

from __future__ import annotations

from pathlib import Path

from gpudbg.errors import LoadError


def read_file(name: str, most: int, limit: str) -> bytes:
    """The bytes of a file of at most `most` bytes; `limit` is that size in words.

    Raises:
        LoadError: the file cannot be read, is larger, or its name holds a NUL.
    """
    try:
        path = Path(name)
        if path.stat().st_size > most:
            raise LoadError(f"larger than {limit}", path=name)
        return path.read_bytes()
    except OSError as error:
        raise LoadError(error.strerror or str(error), path=name) from error
    except ValueError as error:  # a NUL in the name
        raise LoadError(str(error), path=ascii(name)) from error
