"""Accesses of warps whose lanes are in several allocations: compiled, and as on the step engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpudbg
from tests.variants import full

SOURCE = """\
.kernel move
.registers 24
.param 8, 8
    S2R R0, SR_TID.X
    ISETP.LT.AND P0, PT, R0, {lanes}, PT
    SHL R1, R0, 0x3
    IADD R2.CC, R1, c[0x0][0x140]
    IADD.X R3, RZ, c[0x0][0x144]
    IADD R4.CC, R1, c[0x0][0x148]
    IADD.X R5, RZ, c[0x0][0x14c]
    LDG.E.64 R6, [R2]
    LDG.E.64 R8, [R4]
    @P0 {load} R12, [R6]
    @P0 {store}
    EXIT
"""
WIDTHS = {1: ".U8", 2: ".S16", 4: "", 8: ".64", 16: ".128"}
MORE = [("MAX.S32", 4), ("ADD.F32.FTZ.RN", 4), ("AND", 4)]
"""Atomics."""
WORDS = 256
"""Of each of three buffers."""


def _text(size: int, lanes: int, atomic: str) -> str:
    load = f"LDG.E{WIDTHS[size]}"
    store = f"STG.E{WIDTHS[size]} [R8], R12"
    if atomic:
        store = f"ATOM.E.{atomic} R16, [R8], R12"
    return SOURCE.format(lanes=hex(lanes), load=load, store=store)


def _outcome(
    engine: str, text: str, places: np.ndarray[Any, Any], bad: dict[int, int]
) -> tuple[Any, list[bytes], int]:
    """How a launch ended, what is in memory, and how often compiled code was left.

    Args:
        places: for loads and stores: of each thread, the buffer and the offset in it.
        bad: thread -> what is added to the address of its store.
    """
    program = gpudbg.assemble_program(text, "sm_50", engine=engine)
    device = program.device
    rng = np.random.default_rng(5)
    buffers = [device.buffer(rng.integers(0, 1 << 32, WORDS, dtype=np.uint32)) for _ in range(3)]
    bases = np.array([buffer.address for buffer in buffers], np.uint64)
    tables = [bases[row[:, 0]] + row[:, 1].astype(np.uint64) for row in places]
    for thread, more in bad.items():
        tables[1][thread] += np.uint64(more & (1 << 64) - 1)
    session = program.launch("move", 1, len(tables[0]), [device.buffer(t) for t in tables])
    stop = session.run()
    fast = session.grid.fast
    report = None if fast is None else fast.report()
    exits = 0 if report is None else sum(report.exits.values())
    end = stop.kind, [(e.name, e.lanes, e.address, e.pc) for e in stop.errors]
    return end, [b.array().tobytes() for b in buffers], exits


def _places(size: int, seed: int, threads: int = 192) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    found = rng.integers(0, 3, (2, threads, 2))
    found[..., 1] = rng.integers(0, WORDS * 4 // size, (2, threads)) * size
    return found


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("lanes", [192, 45])
def test_moves(size: int, lanes: int) -> None:
    text, places = _text(size, lanes, ""), _places(size, size)
    step, run = (_outcome(engine, text, places, {}) for engine in ("step", "run"))
    assert run[:2] == step[:2]
    assert step[0][0] == "exited"
    assert run[2] <= 1, "the first store to memory that is kept for a restart is stepped"


@pytest.mark.parametrize(
    ("atomic", "size"),
    [("ADD", 4), ("EXCH", 4), ("ADD.U64", 8), *(MORE if full() else [])],
)
def test_atomics(atomic: str, size: int) -> None:
    text, places = _text(size, 192, atomic), _places(size, 9)
    step, run = (_outcome(engine, text, places, {}) for engine in ("step", "run"))
    assert run[:2] == step[:2]
    assert run[2] <= 1


@pytest.mark.parametrize("size", [1, 4, 16])
@pytest.mark.parametrize("more", [1, 1 << 20, -(1 << 40), 1 << 33])
def test_one_lane_goes_wrong(size: int, more: int) -> None:
    """Outside of all memory or misaligned: nothing is stored, and the error is the same."""
    text, places = _text(size, 192, ""), _places(size, 30 + size)
    step, run = (_outcome(engine, text, places, {37: more}) for engine in ("step", "run"))
    assert run[:2] == step[:2]
    if size > 1 or more > 1:
        assert step[0][0] == "warp_error"


def test_bytes_are_marked_as_written() -> None:
    """In memory without contents, of which a debugger shows what was written."""
    text, marks = _text(4, 192, ""), []
    for engine in ("step", "run"):
        program = gpudbg.assemble_program(text, "sm_50", engine=engine)
        device = program.device
        source = device.buffer(np.arange(WORDS, dtype=np.uint32))
        fresh = [device.empty(WORDS, np.uint32) for _ in range(3)]
        places = _places(4, 3)
        bases = np.array([buffer.address for buffer in fresh], np.uint64)
        loads = np.uint64(source.address) + places[0][:, 1].astype(np.uint64)
        stores = bases[places[1][:, 0]] + places[1][:, 1].astype(np.uint64)
        session = program.launch("move", 1, 192, [device.buffer(loads), device.buffer(stores)])
        assert session.run().kind == "exited"
        found = [b.allocation.marks for b in fresh]
        assert all(m is not None and m.any() for m in found)
        marks.append([m.tobytes() for m in found if m is not None])
    assert marks[0] == marks[1]
