"""One `gpudbg exec`: device, server and program, from start to end."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from gpudbg.api.device import Device
from gpudbg.architectures import real
from gpudbg.errors import EXIT_CLEAN, EXIT_FINDINGS
from gpudbg.hosting.build import built_library
from gpudbg.hosting.cuda_errors import NO_CODE
from gpudbg.hosting.launching import Runs
from gpudbg.hosting.memory import HostDevice
from gpudbg.hosting.program import HostProgram, found_program
from gpudbg.hosting.server import HostServer, Postponed

if TYPE_CHECKING:
    from gpudbg.debug.stops.stop import Stop
    from gpudbg.hosting.checking import CheckedRuns
    from gpudbg.hosting.process import HostProcess, LaunchRequest
    from gpudbg.sanitizer.settings import CheckSettings


def _postponed(process: HostProcess, request: LaunchRequest) -> None:
    raise Postponed(request)


def _checked_runs(settings: CheckSettings, seconds: float | None) -> CheckedRuns:
    """Carries launches out with checks; these are loaded where somebody asks for them."""
    from gpudbg.hosting.checking import CheckedRuns

    return CheckedRuns(settings, seconds)


class Execution:
    """A host program on an emulated device.

    Attributes:
        machine: the device.
        runs: carries launches out.
        checks: does so with checks; None: nobody asked for them.
        notices: what a program's error codes do not say.
        no_code: those of code that the device cannot have.
    """

    def __init__(
        self,
        words: Sequence[str],
        *,
        arch: str,
        sms: int | None = None,
        engine: str = "auto",
        on_fault: str = "stop",
        debug: bool = False,
        check: CheckSettings | None = None,
        check_seconds: float | None = None,
        captured: bool = False,
        recording: str = "",
        called: str = "",
        terminal: str = "",
    ) -> None:
        """Start a program.

        Args:
            words: it and its arguments.
            arch, sms, engine, on_fault: of the device.
            debug: launches wait for a debugger (`gpudbg.hosting.debugging`).
            check: launches run with these checks (`gpudbg.hosting.checking`).
            check_seconds: how long each may take for that.
            captured: what the program prints goes where the device's output goes, and it has no
                standard input: a front end has both.
            recording: file for a recording of the first launch that fails.
            called: how messages call the program; "": by its file.
            terminal: the program has it for its input and output, and is not captured.

        Raises:
            UsageError: no such program or architecture, or nothing to build the library with.
        """
        found_program(words[0])
        library = built_library()
        device = Device(real(arch), num_sms=sms, engine=engine, on_fault=on_fault)
        device.gpu.marking = debug or bool(recording)
        marking = device.gpu.marking or check is not None
        self.machine = HostDevice(device, marking=marking)
        self.runs = Runs(recording)
        self.checks = None if check is None else _checked_runs(check, check_seconds)
        self.notices: list[str] = []
        self.no_code: list[str] = []
        self.server = HostServer(
            self.machine, _postponed if debug else self.checks or self.runs, self._note
        )
        captured = captured and not terminal
        self.server.echo = not captured
        shown = device.gpu.output.write if captured else None
        self.program = HostProgram(words, library, self.server, shown, terminal)
        self.program.called = called or self.program.path

    def _note(self, text: str, code: int) -> None:
        if text not in self.notices:
            self.notices.append(text)
            if code in NO_CODE:
                self.no_code.append(text)

    def run(self) -> int:
        """Serve the program to its end; its exit code."""
        try:
            while True:
                with suppress(KeyboardInterrupt):
                    # The program gets the same signal, and says how it ends.
                    self.server.serve()
                    return self.program.code
        finally:
            self.close()

    def close(self) -> None:
        """End what is left of the program."""
        self.program.kill()
        self.server.close()

    @property
    def stops(self) -> list[Stop]:
        """What ended launches before their end."""
        return self.runs.stops

    @property
    def dropped_code(self) -> int:
        """The exit code of a program that ended with 0 and went on without accesses."""
        return EXIT_FINDINGS if self.machine.device.gpu.on_fault.total else EXIT_CLEAN

    def last_words(self) -> str:
        """What is to be said at the end, one line, or nothing."""
        if total := self.machine.device.gpu.on_fault.total:
            return f"{total:,} wild access{'es' * (total != 1)} dropped"
        if self.runs.gaps:
            return f"{self.runs.gaps[0]}"
        if self.stops:
            stop = self.stops[0]
            then = stop.recorded or "`gpudbg exec --debug` stops there"
            return f"{stop.message} ({then})"
        if not self.server.connected and self.program.is_closed:
            called = self.program.called
            return f"{called} is linked statically: link it without -static to run it here"
        if self.program.crash:
            return f"{self.program.called} was ended by {self.program.crash}, not by a kernel"
        if self.notices and self.program.code:
            return self.notices[0]
        if self.no_code:
            # A program that looks at no error code ends well without having computed anything.
            return self.no_code[0]
        if not self.server.connected:
            return f"{self.program.called} called no CUDA function"
        return ""
