"""A user's program as a type checker sees it: `make types` checks it, nobody runs it.

The typing errors at its end are expected: strict mode tells of an ignored error that is not there.
`test_public_types.py` has the same done by a checker of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import gpudbg


def fault_line(stop: gpudbg.Stop) -> int | None:
    for error in stop.errors:
        if error.file is not None:
            return error.line
    return stop.line


def lanes(warp: gpudbg.WarpView) -> list[gpudbg.LaneView]:
    return [warp.lane(n) for n in range(32)]


def rows(snapshot: gpudbg.Snapshot) -> list[gpudbg.WarpRow]:
    return list(snapshot.warps)


program: gpudbg.LoadedProgram = gpudbg.load("k.cubin")
device: gpudbg.Device = program.device
buffer: gpudbg.DeviceBuffer = device.buffer(np.zeros(4, np.float32))
session: gpudbg.DebugSession = program.launch("k", grid=1, block=32, args=[buffer])
try:
    stop: gpudbg.Stop = session.run().check()
except gpudbg.KernelError as error:
    print(error.stop.thread, fault_line(error.stop))
with session.trace("access") as log:
    entries: Sequence[gpudbg.TraceEntry] = log
point: gpudbg.Breakpoint = session.break_at("k")
mine: list[gpudbg.LaneView] = lanes(session.warp())
mine[0].R[4] = 3
image: gpudbg.DeviceImage = device.texture(np.zeros((4, 4), np.float32))


# ---- typing errors -----------------------------------------------------------------------
gpudbg.laod("k.cubin")  # type: ignore[attr-defined]


def f(stop: gpudbg.Stopp) -> None: ...  # type: ignore[name-defined]


gpudbg.load("k.cubin").lunch()  # type: ignore[attr-defined]
gpudbg.load("k.cubin").launch(griid=1)  # type: ignore[call-arg]
gpudbg.open("k.cubin").run().chek()  # type: ignore[attr-defined]
