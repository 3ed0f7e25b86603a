"""A host program: started with the stand-in library before CUDA's, watched until it ends."""

from __future__ import annotations

import codecs
import os
import shutil
import signal
import struct
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpudbg.errors import UsageError
from gpudbg.hosting.build import FIRST_LIBRARY

if TYPE_CHECKING:
    from gpudbg.hosting.server import HostServer

DRAIN = 2.0
"""Seconds to wait for output of processes that a program has left behind."""
FD = "GPUDBG_EXEC_FD"
_INTERPRETER, _DEVICE_CODE = 3, b".nv_fatbin"
"""PT_INTERP; the section of code for GPUs."""
ELF = b"\x7fELF"
_MACHINE = {3: "32-bit x86", 40: "32-bit ARM", 183: "ARM64", 243: "RISC-V", 62: "x86-64"}


class HostProgram:
    """A program that runs as a child.

    Attributes:
        path: its file.
        called: how messages call it: as its user does.
        process: the child.
    """

    def __init__(
        self,
        words: Sequence[str],
        library: Path,
        server: HostServer,
        shown: Callable[[str], None] | None = None,
        terminal: str = "",
    ) -> None:
        """Start it.

        Args:
            words: program and arguments.
            library: the folder of the stand-in library.
            server: takes its calls.
            shown: gets what it prints, where standard input and output are somebody else's.
            terminal: what it has for its input and output; "": what this process has.

        Raises:
            UsageError: it is not there or cannot be started.
        """
        self.path = self.called = found_program(words[0])
        broker = server.broker.theirs
        environment = dict(os.environ)
        earlier = environment.get("LD_LIBRARY_PATH", "")
        environment["LD_LIBRARY_PATH"] = os.pathsep.join([str(library), *filter(None, [earlier])])
        # Before the program's own constructors, which a runtime that is linked into it has.
        first = str(library / FIRST_LIBRARY)
        environment["LD_PRELOAD"] = " ".join([first, *environment.get("LD_PRELOAD", "").split()])
        environment[FD] = str(broker.fileno())
        held = None if not terminal else _opened(terminal)
        try:
            self.process = subprocess.Popen(
                list(words),
                env=environment,
                pass_fds=[broker.fileno()],
                executable=self.path,
                stdin=held if shown is None else subprocess.DEVNULL,
                stdout=held if shown is None else subprocess.PIPE,
                stderr=held,
            )
        except OSError as error:
            raise UsageError(f"{words[0]} cannot be started: {error.strerror}") from None
        finally:
            if held is not None:
                os.close(held)
        self._reader: threading.Thread | None = None
        if shown is not None:
            self._reader = threading.Thread(target=self._read, args=[shown], daemon=True)
            self._reader.start()
        self._pidfd = os.pidfd_open(self.process.pid)
        server.watch(self._pidfd, self.finished)

    def _read(self, shown: Callable[[str], None]) -> None:
        """Hand on what it prints."""
        assert self.process.stdout is not None
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        file = self.process.stdout.fileno()
        while data := os.read(file, 1 << 16):
            shown(decoder.decode(data))

    def drain(self) -> None:
        """Wait until all that it printed has been handed on."""
        if self._reader is not None:
            self._reader.join(timeout=DRAIN)

    def finished(self) -> bool:
        """Whether it has ended."""
        return self.process.poll() is not None

    @property
    def code(self) -> int:
        """Its exit code as a shell has it."""
        code = self.process.wait()
        return code if code >= 0 else 128 - code

    @property
    def crash(self) -> str:
        """The signal that ended it, or ""."""
        code = self.process.wait()
        return signal.Signals(-code).name if code < 0 else ""

    @property
    def is_closed(self) -> bool:
        """Whether it is linked statically, so that no library takes the driver's place in it, and
        has code for GPUs."""
        return _is_static(self.path) and _holds_device_code(self.path)

    def kill(self) -> None:
        """End it."""
        if not self.finished():
            self.process.kill()
            self.process.wait()

    def interrupt(self) -> None:
        """Interrupt it, as Ctrl-C would."""
        if not self.finished():
            self.process.send_signal(signal.SIGINT)


def _is_static(path: str) -> bool:
    """Whether an ELF file names no loader of libraries."""
    with open(path, "rb") as file:
        head = file.read(64)
        if not head.startswith(ELF) or len(head) < 64:
            return False
        (at,) = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        file.seek(at)
        table = file.read(size * count)
    kinds = [struct.unpack_from("<I", table, n)[0] for n in range(0, len(table) - 3, size or 1)]
    return bool(kinds) and _INTERPRETER not in kinds


def _holds_device_code(path: str) -> bool:
    with open(path, "rb") as file:
        return _DEVICE_CODE in file.read()


def _opened(terminal: str) -> int:
    """A terminal, or another file, for reading and writing."""
    try:
        return os.open(terminal, os.O_RDWR | os.O_NOCTTY)
    except OSError as error:
        hint = "the command `tty` in a terminal prints its name"
        raise UsageError(f"--tty {terminal}: {error.strerror}", hint) from None


def found_program(name: str) -> str:
    """The file of a program, which is for this machine.

    Raises:
        UsageError: there is none, or it cannot run here.
    """
    found = shutil.which(name)
    if found is None:
        if os.path.isdir(name):
            raise UsageError(f"{name} is a folder", "name a program in it")
        if os.path.exists(name):
            raise UsageError(f"{name} cannot be executed", f"`chmod +x {name}`, if it is a program")
        raise UsageError(f"no program {name}", "a path, or a name that is on the PATH")
    with open(found, "rb") as file:
        head = file.read(20)
    if not head.startswith((ELF, b"#!")):
        raise UsageError(
            f"{name} is no program: it begins neither as an ELF file nor with `#!`",
            f"`gpudbg info {name}` says what else it may be",
        )
    if head.startswith(ELF) and len(head) == 20:
        (machine,) = struct.unpack_from("<H", head, 18)
        if head[4] != 2 or machine != 62:
            kind = _MACHINE.get(machine, f"machine {machine}")
            raise UsageError(
                f"{name} is a {kind} program; `gpudbg exec` runs x86-64 programs",
                "`gpudbg dis` and `gpudbg run` read its device code",
            )
    return found
