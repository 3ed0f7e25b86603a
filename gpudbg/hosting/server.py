"""Takes the calls of host programs and answers them."""

from __future__ import annotations

import selectors
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gpudbg.errors import GpudbgError
from gpudbg.hosting.channel import Broker, HostChannel
from gpudbg.hosting.cuda_errors import INVALID_VALUE, NOT_SUPPORTED, UNKNOWN, CudaError
from gpudbg.hosting.dispatch import call_of
from gpudbg.hosting.process import HostProcess, LaunchRequest

if TYPE_CHECKING:
    from gpudbg.hosting.memory import HostDevice

Notice = Callable[[str, int], None]


class Postponed(Exception):  # noqa: N818 - no error: a launch that somebody else carries out
    """A launch is asked for whose answer waits."""

    def __init__(self, request: LaunchRequest) -> None:
        super().__init__()
        self.request = request


class HostServer:
    """Serves the processes of a host program.

    Attributes:
        machine: the device.
        broker: where processes announce themselves.
        connected: processes so far.
        echo: programs print what the device prints, among their own output.
    """

    def __init__(
        self,
        machine: HostDevice,
        launch: Callable[[HostProcess, LaunchRequest], None],
        notice: Notice = lambda text, code: None,
    ) -> None:
        """Args:
        launch: carries launches out, or raises `Postponed`.
        notice: gets what a program's error code does not say, and the code.
        """
        self.machine = machine
        self.broker = Broker()
        self.launch = launch
        self.connected = 0
        self.echo = True
        self._notice = notice
        self._selector = selectors.DefaultSelector()
        self._selector.register(self.broker.mine, selectors.EVENT_READ, self._connect)
        self._printed = 0
        self._finished = False
        self._waiting: tuple[HostChannel, HostProcess] | None = None

    def watch(self, file: Any, finished: Callable[[], bool]) -> None:
        """Serve until a file is readable and `finished` says yes."""

        def noticed() -> None:
            self._finished = finished() or self._finished

        self._selector.register(file, selectors.EVENT_READ, noticed)

    # ---- serving -----------------------------------------------------------------------
    def serve(self) -> tuple[HostProcess, LaunchRequest] | None:
        """Answer calls until a launch is postponed, which is returned; None: the program ended."""
        while True:
            ready = self._selector.select()
            # Calls come before the end of the program that made them.
            for key, _ in sorted(ready, key=lambda pair: not isinstance(pair[0].data, tuple)):
                if isinstance(key.data, tuple):
                    channel, process = key.data
                    request = self._one(channel, process)
                    if request is not None:
                        self._waiting = channel, process
                        return process, request
                else:
                    key.data()
            if self._finished and not any(isinstance(k.data, tuple) for k, _ in ready):
                return None

    def complete(self, status: int = 0) -> None:
        """Answer the launch that waits."""
        if self._waiting is not None:
            (channel, _), self._waiting = self._waiting, None
            channel.answer(status, b"", self._output())

    def close(self) -> None:
        """Serve no more."""
        self._selector.close()
        self.broker.close()

    def _connect(self) -> None:
        found = self.broker.take()
        if found is None:
            return
        end, pid = found
        channel, process = HostChannel(end, pid), HostProcess(self.machine, pid, self.launch)
        self.connected += 1
        channel.tell(*self.machine.facts(process))
        self._selector.register(channel, selectors.EVENT_READ, (channel, process))

    def _one(self, channel: HostChannel, process: HostProcess) -> LaunchRequest | None:
        """Carry one call out; a launch that is postponed."""
        message = channel.next()
        if message is None:
            self._selector.unregister(channel)
            channel.close()
            process.reset()
            return None
        number, _context, data = message
        try:
            channel.answer(0, self._carried_out(process, number, data), self._output())
        except CudaError as error:
            if error.said:
                self._notice(error.said, error.code)
            channel.answer(error.code, b"", self._output())
        except Postponed as postponed:
            return postponed.request
        return None

    def _carried_out(self, process: HostProcess, number: int, data: bytearray) -> bytes:
        call = call_of(number)
        if call is None:
            raise CudaError(NOT_SUPPORTED)
        try:
            return call.write(call.handler(process, *call.read(data)))
        except (ValueError, struct.error) as error:
            raise CudaError(INVALID_VALUE, f"{call.function.name}: {error}") from error
        except GpudbgError as error:
            raise CudaError(UNKNOWN, f"{call.function.name}: {error}") from error

    def _output(self) -> bytes:
        """What the device has printed since the last answer."""
        pieces = self.machine.device.gpu.output.pieces
        if len(pieces) == self._printed or not self.echo:
            return b""
        new = "".join(pieces[self._printed :])
        self._printed = len(pieces)
        return new.encode("utf-8", "surrogateescape")
