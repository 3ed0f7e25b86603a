"""Accesses to shared memory of other blocks, and by pointers that may point anywhere: compiled code
does what the step engine does, errors with their lanes included."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from tests.variants import rows

CUBIN = Path(__file__).resolve().parent / "cubin"
Argument = np.generic | Callable[[], Any]


def agree(kernel: str, grid: int, block: int, *args: Argument) -> tuple[Any, dict[str, int]]:
    """Run on both engines; the stop, and what compiled code left to the step engine."""
    found = []
    for engine in ("step", "run"):
        program = gpudbg.load(str(CUBIN / "remote.cubin"), engine=engine)
        given = [arg() if callable(arg) else arg for arg in args]
        session = program.launch(kernel, grid=grid, block=block, args=given)
        stop = session.run(max_instructions=100_000)
        buffers = [session.buffer(n).tobytes() for n, arg in enumerate(args) if callable(arg)]
        errors = [(e.name, e.space, e.access, e.lanes, e.address) for e in stop.errors]
        found.append((stop.kind, errors, session.grid.total, session.state_hash(), buffers))
    assert found[0] == found[1]
    fast = session.grid.fast
    assert fast is not None
    assert not fast.trouble
    report = fast.report()
    assert report is not None
    exits: dict[str, int] = {}
    for pc, count in report.exits.items():
        exits[report.code[pc].op] = exits.get(report.code[pc].op, 0) + count
    return stop, exits


def test_lanes_that_name_several_blocks() -> None:
    """Loads, stores and atomics of all widths, each lane at another block; nothing is stepped."""
    given = np.random.default_rng(1).integers(0, 1 << 32, (512, 4), dtype=np.uint32)
    stop, exits = agree("widths", 8, 64, given.copy, lambda: np.zeros((512, 4), np.uint32))
    assert stop.kind == "exited"
    assert sum(exits.values()) <= 4, exits


def test_what_counts_on_mbarriers_of_other_blocks() -> None:
    stop, exits = agree("counted", 4, 64, lambda: np.zeros(256, np.uint32))
    assert stop.kind == "exited"
    assert not exits.keys() & {"SYNCS", "STAS", "REDAS", "UCGABAR_ARV", "UCGABAR_WAIT"}, exits


@rows(
    ("kind", "name"),
    [
        (0, "ILLEGAL_INSTR_PARAM"), (1, "OOR_ADDR"), (2, "MISALIGNED_ADDR"), (3, "OOR_ADDR"),
        (4, "MISALIGNED_ADDR"),
    ],
)  # fmt: skip
def test_what_no_block_has(kind: int, name: str) -> None:
    """A rank, an offset, an alignment, a block that has ended: the error and its lanes."""
    stop, _ = agree("wrong", 2, 64, lambda: np.zeros(64, np.uint32), np.uint32(kind), np.uint32(37))
    assert [error.name for error in stop.errors] == [name]
    assert len(stop.errors[0].lanes) == (32 if kind == 3 else 1)


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("which", range(4))
def test_pointers_that_may_point_anywhere(which: int) -> None:
    """Global, shared and local memory in compiled code, and lanes in two of them."""
    out = np.arange(64, dtype=np.uint32)
    _, exits = agree("anywhere", 2, 32, out.copy, np.uint32(which))
    assert not exits.keys() & {"ATOM", "LD", "ST"}, exits
