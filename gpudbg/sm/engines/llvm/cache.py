"""The cache of compiled code on disk: one file an object, of bounded size, for many processes.

Files carry a digest of their content: one that is damaged or half written is compiled again.  A
file that is used has its time of change renewed; when the files together are larger than the
limit, those that were used longest ago go.  Nothing is locked: files appear under their names
whole, and a process that has read a file no longer needs it.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from gpudbg.dataclass import dataclass
from gpudbg.errors import UsageError

FOLDER: Final = "GPUDBG_CACHE"
"""Environment variable: the folder of the cache, or "off"."""
NO_CACHE: Final = "GPUDBG_NO_CACHE"
"""Environment variable: compile everything anew."""
SIZE: Final = "GPUDBG_CACHE_MB"
"""Environment variable: the limit in megabytes."""
DEFAULT_MB: Final = 128
LOW_WATER: Final = 0.75
"""Part of the limit that is left when files are taken away."""
FRESH_SECONDS: Final = 3600.0
"""A file that was used so lately is not marked as used again."""
_DIGEST_BYTES: Final = 32
_SUFFIX, _NEW = ".o", ".new"


@dataclass(frozen=True, slots=True)
class Contents:
    """What a cache holds.

    Attributes:
        folder: where it is; None: nothing is kept.
        files: objects.
        nbytes: their bytes.
        limit: most bytes.
    """

    folder: Path | None
    files: int
    nbytes: int
    limit: int


def folder() -> Path | None:
    """Where objects are kept, made if need be; None: nowhere."""
    found = place()
    if found is None:
        return None
    try:
        found.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return found


def place() -> Path | None:
    """Where objects are kept, whether it is there or not; None: nowhere."""
    named = os.environ.get(FOLDER, "")
    if os.environ.get(NO_CACHE) or named.lower() in ("off", "none", "0"):
        return None
    if named:
        return Path(named)
    from platformdirs import user_cache_path

    return user_cache_path("gpudbg") / "code"


def limit() -> int:
    """Most bytes of all objects.

    Raises:
        UsageError: the environment variable is no number.
    """
    named = os.environ.get(SIZE, "")
    if not named:
        return DEFAULT_MB << 20
    if not named.isdecimal():
        raise UsageError(f"{SIZE} is {named!r}", "a number of megabytes, such as 128")
    return int(named) << 20


def read(path: Path) -> bytes | None:
    """A cached object, or None where it is absent or damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    body = content[_DIGEST_BYTES:]
    if not body or hashlib.sha256(body).digest() != content[:_DIGEST_BYTES]:
        return None
    # The file may be gone by now, or read-only.
    with suppress(OSError):
        if time.time() - path.stat().st_mtime > FRESH_SECONDS:
            os.utime(path)
    return body


def note(about: bytes) -> None:
    """Note something on disk."""
    path = _noted_at(about)
    if path is not None and not path.exists():
        _put(path, b"made")


def is_noted(about: bytes) -> bool:
    """Whether `note` was called with it, here or in another process."""
    path = _noted_at(about)
    return path is not None and path.exists()


def _noted_at(about: bytes) -> Path | None:
    found = folder()
    return None if found is None else found / f"{hashlib.sha256(about).hexdigest()}{_SUFFIX}"


def write(path: Path, body: bytes) -> None:
    """Put an object in the cache in one step, so that no reader sees half of it."""
    most = limit()
    if len(body) + _DIGEST_BYTES > most or not _put(path, body):
        return
    room = _ROOM.get((path.parent, most), 0) - len(body) - _DIGEST_BYTES
    if room <= 0:
        room = (most - trim(path.parent, most)) // SCAN_AFTER
    _ROOM[path.parent, most] = room


def _put(path: Path, body: bytes) -> bool:
    """`write` without looking at how much there is; whether it was written."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=_NEW)
    except OSError:
        return False
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(body).digest() + body)
        os.replace(name, path)
    except OSError:
        # E.g. the disk is full: a partial file is useless.
        with suppress(OSError):
            os.unlink(name)
        return False
    return True


SCAN_AFTER: Final = 8
"""A process lists the folder again after writing this fraction of the free room: others write too,
and listing thousands of files takes longer than writing one.
"""
_ROOM: Final[dict[tuple[Path, int], int]] = {}
"""(Folder, limit) -> bytes that may be written before the folder is listed again."""


def trim(where: Path, most: int) -> int:
    """Take files away, those used longest ago first, if there are more than `most` bytes; and what
    a process that was killed has left half written.

    Returns:
        The bytes that are left.
    """
    rows, now = sorted(_files(where)), time.time()
    total = sum(size for _, size, _ in rows)
    goal = total if total <= most else most * LOW_WATER
    for used, size, path in rows:
        if total > goal or (path.suffix == _NEW and now - used > FRESH_SECONDS):
            total -= size
            with suppress(OSError):
                path.unlink()
    return total


def contents() -> Contents:
    """What the cache holds now."""
    found = place()
    rows = [] if found is None else list(_files(found))
    return Contents(found, len(rows), sum(size for _, size, _ in rows), limit())


def clear() -> Contents:
    """Take all files away; what was there."""
    before = contents()
    for _, _, path in [] if before.folder is None else list(_files(before.folder)):
        with suppress(OSError):
            path.unlink()
    return before


def _files(where: Path) -> Iterator[tuple[float, int, Path]]:
    """(Time of use, bytes, path) of the cache's own files, and no others."""
    try:
        with os.scandir(where) as entries:
            for entry in entries:
                with suppress(OSError):
                    if entry.name.endswith((_SUFFIX, _NEW)) and entry.is_file():
                        about = entry.stat()
                        yield about.st_mtime, about.st_size, Path(entry.path)
    except OSError:
        return
