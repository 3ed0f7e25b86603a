"""Devices that programs are loaded on."""

from __future__ import annotations

from collections.abc import Sequence

from gpudbg.api.programs import LoadedProgram, Source, read
from gpudbg.device.device import EmulatedDevice
from gpudbg.formats.program import Program
from gpudbg.sm.gpu import Allocate


class Device(EmulatedDevice):
    """An emulated GPU of one's own choosing.

    It lives as long as something uses it: a program, a session, a buffer; `close` or the end of a
    `with` block ends it before that, with everything that is on it.

    Attributes:
        gpu: the machine below.
        images: textures and surfaces that have not been freed.
        closed: after `close`.

    >>> device = gpudbg.Device(arch="sm_52", num_sms=4, seed=7)
    >>> device
    <Device sm_52, 4 SMs>
    >>> program = device.load("sessions/first_steps/first_steps.cubin")
    >>> image = device.texture(np.eye(4, dtype=np.float32), "2d", address="clamp", name="eye")
    >>> surface = device.surface(np.zeros((8, 8), np.uint8), "2d", layout="pitch")
    """

    def load(self, source: Source, *, options: Sequence[str] = ()) -> LoadedProgram:
        """Read a program and place it on this device; arguments and errors as `gpudbg.load`."""
        return self.adopt(read(source, self.arch, options))

    def adopt(self, program: Program, allocate: Allocate | None = None) -> LoadedProgram:
        """Place a program that has been read already.

        Args:
            allocate: makes the memory of its variables; None: device memory.
        """
        self.require_open()
        return LoadedProgram(self, self.gpu.load(program, allocate))
