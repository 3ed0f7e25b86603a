"""The folder that a server was started for: names in calls lead into it, and files outside of it
stay closed to whatever a call does.

Three guards, one behind the other: names are resolved before they are used (`Sandbox.path`), what
Python opens is held against the folder (an audit hook), and on Linux the kernel holds the process
and its compilers to it (`landlock`).
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from gpudbg.errors import UsageError
from gpudbg.frontends.mcp import landlock

_SYSTEM: Final = (
    "/usr", "/lib", "/lib32", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/localtime",
    "/dev/null", "/dev/urandom", "/dev/random", "/proc/cpuinfo", "/proc/meminfo", "/proc/self",
    "/proc/sys", "/sys/devices/system/cpu",
)  # fmt: skip
"""What programs read of a system: libraries, nothing of its users."""
_COMPILERS: Final = ("GPUDBG_NVRTC", "GPUDBG_PTXAS", "CUDA_PATH", "CUDA_HOME")
_OPENING: Final = {"open", "os.listdir", "os.scandir", "os.remove", "os.rename", "os.mkdir",
                   "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod"}  # fmt: skip
"""Audit events whose first arguments are paths."""
_NEVER: Final = ("socket.bind", "socket.connect", "os.system", "os.exec", "os.posix_spawn")
"""Audit events of what no tool does."""


class Sandbox:
    """A folder, and what else may be read or written.

    Attributes:
        folder: the folder, resolved.
        scratch: a folder of the server's own: texts that calls pass, files of compilers.
    """

    def __init__(self, folder: str, scratch: str) -> None:
        self.folder, self.scratch = Path(os.path.realpath(folder)), Path(os.path.realpath(scratch))

    def path(self, name: str) -> str:
        """A name of a call as a path.

        Raises:
            UsageError: it leads out of the folder, or is no name.
        """
        if not name or "\0" in name:
            raise UsageError(f"{name!r} is no file's name")
        path = os.path.realpath(self.folder / name)
        if not self.holds(path):
            raise UsageError(
                f"{name}: outside of {self.folder}", "this server reads and writes that folder only"
            )
        return path

    def holds(self, path: str) -> bool:
        """Whether a resolved path lies in the folder, or in the server's own."""
        return any(_below(path, str(root)) for root in (self.folder, self.scratch))

    def confine(self, kept: list[str]) -> bool:
        """Keep this process to the folder for good; whether the kernel does, too.

        Args:
            kept: folders of ours that are written: the cache of compiled code.
        """
        for path in kept:
            os.makedirs(path, exist_ok=True)
        readable = [os.path.realpath(p) for p in _readable()]
        writable = [str(self.folder), str(self.scratch), *map(os.path.realpath, kept)]
        os.environ["TMPDIR"] = tempfile.tempdir = str(self.scratch)
        held = landlock.confine([*_SYSTEM, *readable], [*writable, "/dev/null"])
        sys.addaudithook(_Guard([*_SYSTEM, *readable], [*writable, "/dev/null"]).heard)
        return held


class _Guard:
    """Refuses what Python itself would open."""

    def __init__(self, readable: list[str], writable: list[str]) -> None:
        self.writable = tuple(writable)
        self.readable = (*readable, *writable)

    def heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        """An event of Python's audit.

        Raises:
            PermissionError: it is none that a tool may cause.
        """
        if event in _NEVER:
            raise PermissionError(1, "not allowed to programs of this server", event)
        if event not in _OPENING:
            return
        roots = self.writable if _changes(event, arguments) else self.readable
        for path in (a for a in arguments[:2] if isinstance(a, str | bytes | os.PathLike)):
            if event == "open" and path is not arguments[0]:
                continue  # Its second argument is the mode.
            real = os.path.realpath(os.fsdecode(path))
            if not any(_below(real, root) for root in roots):
                raise PermissionError(13, "outside of the server's folder", os.fsdecode(path))


def _changes(event: str, arguments: tuple[Any, ...]) -> bool:
    """Whether an event writes."""
    if event in ("os.listdir", "os.scandir"):
        return False
    if event != "open":
        return True
    flags = arguments[2] if len(arguments) > 2 and isinstance(arguments[2], int) else 0
    return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC))


def _below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def _readable() -> Iterator[str]:
    """Python's own files and ours, and compilers that variables name."""
    yield from (sys.prefix, sys.base_prefix, sys.exec_prefix)
    yield from (entry for entry in sys.path if entry)
    yield str(Path(__file__).resolve().parents[3] / "plugins")
    yield os.path.dirname(os.path.realpath(sys.executable))
    for variable in _COMPILERS:
        if value := os.environ.get(variable):
            yield value if os.path.isdir(value) else os.path.dirname(value)
