"""Launches of the kernels of sm_70 and later that lie in the tests."""

from __future__ import annotations

import gpudbg
from gpudbg.debug.session import DebugSession
from tests.kernel_cases import argument, cases, make_objects


def launched(
    name: str, arch: str, launch: int = 0, case: str = "", engine: str = "auto"
) -> DebugSession:
    """A session at the first instruction of a kernel's launch.

    Args:
        launch: which of the case's launches.
        case: part of its name; else the first one.
    """
    chosen = next(c for c in cases(arch, names=[name]) if case in c.id)
    program = gpudbg.load(str(chosen.cubin), engine=engine)
    objects = make_objects(chosen, program.device)
    row = chosen.launches[launch]
    args = [argument(a, objects) for a in row["args"]]
    return program.launch(
        row["entry"], grid=tuple(row["grid"]), block=tuple(row["block"]), args=args
    )
