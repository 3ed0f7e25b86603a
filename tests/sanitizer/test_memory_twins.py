"""Memory: launches with a defect beside launches of the same kernel without it.

`python -m tests.sanitizer.test_memory_twins` compiles `memory_twins.cu` (one kernel a line) anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import gpudbg

HERE = Path(__file__).parent
ARCHITECTURES = ("sm_52", "sm_80")
I32 = np.int32


class Launch(NamedTuple):
    """A launch, and (kind, space, cause, count) of what it has; count 0: any."""

    kernel: str
    n: int
    found: tuple[tuple[str, str, str, int], ...] = ()
    block: int = 32
    words: int = 128
    shared: int = 0


def past(space: str = "global", count: int = 1) -> tuple[tuple[str, str, str, int], ...]:
    return (("out_of_bounds", space, "past_end", count),)


LAUNCHES = (
    # Variables beside each other.
    Launch("sym_read", 0), Launch("sym_read", 3, past(count=3)),
    Launch("sym_write", 0), Launch("sym_write", 5, past(count=5)),
    Launch("sym_before", 0),
    Launch("sym_before", 2, (("out_of_bounds", "global", "before_start", 2),)),
    Launch("sym_atomic", 0), Launch("sym_atomic", 1, past()),
    Launch("sym_rows", 3), Launch("sym_rows", 4, past(count=32)),
    Launch("sym_walk", 32), Launch("sym_walk", 33, past(count=32)),
    Launch("sym_bytes", 4), Launch("sym_bytes", 5, past(count=4)),
    Launch("sym_call", 0), Launch("sym_call", 2, past(count=2)),
    Launch("sym_struct", 3), Launch("sym_struct", 4, past(count=32)),
    Launch("sym_const", 0),
    *(Launch(f"sym_{name}_ok", n) for name, n in (
        ("select", 0), ("select", 1), ("branch", 3), ("table", 1), ("one_based", 32),
        ("from_end", 1), ("distance", 1), ("swap", 5), ("argument", 3), ("argument", 1),
        ("wide", 2), ("hash", 1),
    )),
    # The heap.
    Launch("leak_ok", 0), Launch("leak", 1, (("leak", "global", "", 32),)),
    Launch("leak", 0, (("leak", "global", "", 28),)),
    Launch("twice_ok", 1), Launch("twice", 1, (("double_free", "global", "", 32),)),
    Launch("inner_free", 0), Launch("inner_free", 1, (("invalid_free", "global", "", 32),)),
    Launch("after_free_ok", 1), Launch("after_free", 1, (("use_after_free", "global", "", 32),)),
    Launch("heap_past", 3), Launch("heap_past", 4, past(count=32)),
    Launch("heap_other", 0, (), 64),
    Launch("heap_other", 1, (("use_after_free", "global", "", 32),), 64),
    # By space.
    Launch("aligned", 2), Launch("aligned", 1, (("misaligned", "global", "", 32),)),
    Launch("shared_aligned", 8, (), 32, 128, 64),
    Launch("shared_aligned", 6, (("misaligned", "shared", "", 32),), 32, 128, 64),
    Launch("local_aligned", 4), Launch("local_aligned", 2, (("misaligned", "local", "", 32),)),
    Launch("dynamic", 5, (), 32, 128, 128),
    Launch("dynamic", 37, past("shared", 32), 32, 128, 128),
    Launch("frame", 0), Launch("frame", 1, (("out_of_bounds", "local", "frame", 32),)),
    Launch("bank", 0), Launch("bank", 5000, past("const", 32)),
    Launch("two_places", 64), Launch("two_places", 110, past(count=14) + past(count=18)),
    Launch("vector_tail", 0), Launch("vector_tail", 4, past()),
    Launch("null_later", 0), Launch("null_later", 1, (("out_of_bounds", "global", "null", 1),)),
    Launch("reduction", 96), Launch("reduction", 100, past(count=4)),
    Launch("two_buffers", 0),
    Launch("two_buffers", 8, (("out_of_bounds", "global", "before_start", 8),)),
    # Images: 8 rows of 32 words; outside is defined but for `.trap`.
    Launch("surface_row", 3), Launch("surface_row", 9, past("surface", 32)),
    Launch("surface_store", 0), Launch("surface_store", 4, past("surface")),
    Launch("surface_clamp", 9), Launch("surface_zero", 9), Launch("texture_far", 900),
)  # fmt: skip


def arguments(program: Any, launch: Launch) -> list[Any]:
    out = np.zeros(
        launch.words, np.float32 if launch.kernel in ("sym_rows", "texture_far") else I32
    )
    given: list[Any] = [out, launch.n]
    if launch.kernel.startswith("surface"):
        given.insert(0, program.device.surface(np.zeros((8, 32), I32)))
    elif launch.kernel.startswith("texture"):
        given.insert(0, program.device.texture(np.zeros((8, 32), np.float32)))
    elif launch.kernel == "two_buffers":
        given.insert(1, np.zeros(launch.words, I32))
    return given


@pytest.mark.in_turn(9)
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("launch", LAUNCHES, ids=lambda row: f"{row.kernel}-{row.n}")
def test_twin(launch: Launch, arch: str) -> None:
    program = gpudbg.load(str(HERE / f"memory_twins.{arch}.cubin"))
    report = gpudbg.check(
        program, launch.kernel, block=launch.block, shared_bytes=launch.shared,
        args=arguments(program, launch), max_instructions=200_000,
    )  # fmt: skip
    found = tuple((f.kind, f.space, f.cause, f.count) for f in report.findings)
    assert sorted(found) == sorted(launch.found), "\n".join(report.lines())
    assert report.status == ("findings" if launch.found else "clean")


def test_a_neighbour_is_named() -> None:
    program = gpudbg.load(str(HERE / "memory_twins.sm_80.cubin"))
    report = gpudbg.check(program, "sym_read", args=[np.zeros(32, I32), 3], checks=["memory"])
    assert report.findings[0].allocation == "left (128 B), 0 B past its end, in after"


@pytest.mark.parametrize("kernel", ["twice", "after_free", "heap_past"])
def test_findings_of_the_heap_say_who_allocated(kernel: str) -> None:
    """A second free, a use after the free, an access outside."""
    launch = next(row for row in LAUNCHES if row.kernel == kernel and row.found)
    program = gpudbg.load(str(HERE / "memory_twins.sm_52.cubin"))
    report = gpudbg.check(
        program, kernel, block=launch.block, args=arguments(program, launch), checks=["memory"]
    )
    (finding,) = report.findings
    assert ", allocated at memory_twins.cu:" in finding.allocation
    assert (" freed at memory_twins.cu:" in finding.where) == (kernel == "twice")


def build() -> None:
    """Compile the kernels."""
    from tests.kernels_own.build import nvrtc

    text = (HERE / "memory_twins.cu").read_text()
    for arch in ARCHITECTURES:
        options = [f"--gpu-architecture={arch}", "--generate-line-info"]
        (HERE / f"memory_twins.{arch}.cubin").write_bytes(nvrtc(text, "memory_twins.cu", options))


if __name__ == "__main__":
    build()
