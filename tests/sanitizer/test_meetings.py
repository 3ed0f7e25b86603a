"""Lanes that meet by masks, barriers come to twice, counters in halves of registers, shared memory
below the kernel's, flags in shared memory.

`python -m tests.sanitizer.test_meetings` compiles `meetings.cu` (one kernel a line or two) anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import gpudbg
from tests.sanitizer.test_async_twins import line_of

HERE = Path(__file__).parent
ARCHITECTURES = ("sm_80", "sm_90a")


class Meeting(NamedTuple):
    """A kernel's block, `kind/space/cause` of what it has, and where its code shows that."""

    block: int
    found: str = ""
    archs: tuple[str, ...] = ARCHITECTURES


MEETINGS = {
    "tiles": Meeting(64),
    "tiles_across": Meeting(64, "race/shared/read_write"),
    "vote": Meeting(32),
    "vote_absent": Meeting(32, "sync/None/mask"),
    "twice": Meeting(64, "sync/None/wrong_count"),
    "halves": Meeting(32),
    "below": Meeting(64, "out_of_bounds/shared/"),
    "handed": Meeting(64),
    # On sm_80 its code is that of an acquire load.
    "handed_plain": Meeting(64, "race/shared/read_write", ("sm_90a",)),
    "flag": Meeting(64),
    "flag_bare": Meeting(64, "race/shared/read_write"),
    "odd_count": Meeting(64, "sync/None/wrong_count"),
    "gone_by": Meeting(64, "sync/None/divergent_barrier"),
    "gone": Meeting(64, "sync/None/exited_threads"),
    # Its shuffle stands behind the kernel's end.
    "apart": Meeting(32, "sync/None/mask"),
}


@pytest.mark.in_turn(1, each="name")
@pytest.mark.parametrize(("name", "arch"), [(n, a) for n in MEETINGS for a in MEETINGS[n].archs])
def test_meeting(name: str, arch: str) -> None:
    program = gpudbg.load(str(HERE / f"meetings.{arch}.cubin"))
    values, out = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    args = [program.device.buffer(values), program.device.buffer(out)]
    block, wanted, _ = MEETINGS[name]
    report = gpudbg.check(program, name, block=block, args=args, max_instructions=100_000)
    found = {f"{f.kind}/{f.space}/{f.cause}" for f in report.findings if f.severity != "note"}
    assert len(found) == bool(wanted), report.lines()
    assert all(f.startswith(wanted) for f in found), report.lines()
    lines = {a.line for f in report.findings for a in f.accesses}
    assert lines <= {line_of(name, "meetings.cu")}


def build() -> None:
    """Compile the kernels."""
    from tests.kernels_own.build import nvrtc

    text = (HERE / "meetings.cu").read_text()
    for arch in ARCHITECTURES:
        options = [f"--gpu-architecture={arch}", "--generate-line-info"]
        (HERE / f"meetings.{arch}.cubin").write_bytes(nvrtc(text, "meetings.cu", options))


if __name__ == "__main__":
    build()
