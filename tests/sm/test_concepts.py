"""What both engines share is one thing: the compiled implementation of a concept against the step
engine's, each on its own.  Barriers have `tests/engine/test_barriers.py`."""

from __future__ import annotations

import copy
import ctypes
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.mem.lanes import FULL
from gpudbg.mem.local import LocalMemory
from gpudbg.mem.pages import address_of, zeroed
from gpudbg.sm import record as rec
from gpudbg.sm.asynchronous import mbarrier
from gpudbg.sm.atomics.step import SIZES, UPDATES
from gpudbg.sm.divergence import step as divergence
from gpudbg.sm.engines.llvm import build, layout
from gpudbg.sm.faults import WarpErrorRaised
from gpudbg.sm.observer import Observer
from gpudbg.sm.state import Cta, WarpState
from tests.variants import number

CASES = 300
CAPACITY = 6
NEXT = 0x5000


# ---- divergence stack ------------------------------------------------------------------------


def _function(name: str, *arguments: Any) -> Callable[..., int]:
    """A function of the library that returns a pc."""
    at = build.library().address(layout.symbol(name))
    function: Callable[..., int] = ctypes.CFUNCTYPE(ctypes.c_int64, *arguments)(at)
    return function


def _warp(rng: random.Random) -> WarpState:
    """A warp with some lanes gone and a random stack."""
    cta = Cta(0, (0, 0, 0), 0, 0, 0)
    warp = WarpState(cta, 0, 0, 1, CAPACITY, LocalMemory(4))
    cta.warps = [warp]
    words = warp.words
    words[rec.VALID] = rng.choice((FULL, FULL, rng.getrandbits(32) | 1))
    words[rec.EXITED] = rng.choice((0, 0, rng.getrandbits(32) & rng.getrandbits(32)))
    live = words[rec.VALID] & ~words[rec.EXITED]
    warp.active = rng.choice((live, live & rng.getrandbits(32)))
    for n in range(rng.randrange(CAPACITY + 1)):
        kind = rng.choice(("DIV", "SSY", "PBK", "RET", "PEXIT"))
        mask = rng.choice((words[rec.VALID], words[rec.VALID] & rng.getrandbits(32)))
        warp.set_entry(n, rec.TOKEN_CODE[kind], mask, 8 + 32 * rng.randrange(100))
        words[rec.DEPTH] = n + 1
    return warp


def _twin(warp: WarpState) -> WarpState:
    """A warp with the same bytes."""
    other = WarpState(warp.cta, 0, 0, 1, CAPACITY, LocalMemory(4))
    other.record[:] = warp.record
    return other


def _by_step(warp: WarpState, act: Callable[[WarpState], int]) -> int:
    """The pc to go on at, or -1 where the step engine raises."""
    try:
        return act(warp)
    except WarpErrorRaised:
        return -1


def _same(one: WarpState, two: WarpState) -> bool:
    """Whether both have the same masks, status and stack."""
    about = ("active", "exited", "status", "stack")
    return all(getattr(one, name) == getattr(two, name) for name in about)


@pytest.mark.parametrize("kind", ["SSY", "PBK", "RET"])
def test_pop(kind: str) -> None:
    compiled = _function("pop", ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32, ctypes.c_int64)
    rng, outcomes = random.Random(kind), set()
    for _ in range(CASES):
        one = _warp(rng)
        lanes = one.active & rng.choice((FULL, rng.getrandbits(32)))
        if not lanes:
            continue
        two = _twin(one)
        expected = _by_step(one, lambda w, m=lanes: divergence.pop(w, NEXT, kind, m))  # type: ignore[misc]
        got = compiled(address_of(two.record), rec.TOKEN_CODE[kind], lanes, NEXT)
        assert got == expected
        if got != -1:
            assert _same(one, two)
        outcomes.add("raises" if got == -1 else "goes on" if got == NEXT else "target")
    assert outcomes == {"raises", "goes on", "target"}


def test_exit() -> None:
    compiled = _function("exit", ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64)
    rng, outcomes = random.Random("exit"), set()
    for _ in range(CASES):
        one = _warp(rng)
        lanes = one.active & rng.choice((FULL, FULL, rng.getrandbits(32)))
        if not lanes:
            continue
        two = _twin(one)
        holds = any(entry.kind == "PEXIT" for entry in one.stack)
        expected = _by_step(one, lambda w, m=lanes: divergence.exit_lanes(w, NEXT, m))  # type: ignore[misc]
        got = compiled(address_of(two.record), lanes, NEXT)
        if holds:
            # Left to the step engine, before anything has changed.
            assert got == -1
            continue
        assert got == expected
        if got != -1:
            assert _same(one, two)
        outcomes.add("done" if one.status == "exited" else "on")
    assert outcomes == {"done", "on"}


def test_spread() -> None:
    compiled = _function("spread", *[ctypes.c_void_p] * 2, ctypes.c_int32, ctypes.c_int64)
    rng, outcomes = random.Random("spread"), set()
    row = zeroed(256).view(np.uint32)
    for _ in range(CASES):
        one = _warp(rng)
        lanes = one.active & rng.choice((FULL, rng.getrandbits(32)))
        if not lanes:
            continue
        places = [8 + 32 * n for n in range(rng.choice((1, 2, 3, 9)))]
        row[:32] = [rng.choice(places) for _ in range(32)]
        targets: dict[int, int] = {}
        for lane in range(32):
            if lanes >> lane & 1:
                targets[int(row[lane])] = targets.get(int(row[lane]), 0) | 1 << lane
        two = _twin(one)
        expected = _by_step(one, lambda w, t=targets: divergence.branch_each(w, NEXT, dict(t)))  # type: ignore[misc]
        got = compiled(address_of(two.record), address_of(row), lanes, NEXT)
        assert got == expected
        if got != -1:
            assert _same(one, two)
        outcomes.add("full" if got == -1 else "fits")
    assert outcomes == {"full", "fits"}


# ---- atomics -----------------------------------------------------------------------------------


def _lanes(rng: random.Random, bits: int) -> npt.NDArray[Any]:
    """An aligned row of operands: small numbers, large ones, floats."""
    row = zeroed(256).view(np.uint32 if bits == 32 else np.uint64)[:32]
    for n in range(32):
        small = rng.randrange(4)
        wide = rng.getrandbits(bits)
        real = np.float32(rng.uniform(-4, 4)) if bits == 32 else np.float64(rng.uniform(-4, 4))
        row[n] = rng.choice((small, wide, int(real.view(row.dtype))))
    return row


@pytest.mark.in_turn(18)
@pytest.mark.parametrize("what", sorted(layout.ATOMICS))
def test_atomics(what: str) -> None:
    """Every operation on shared memory, and on global memory where other threads may be."""
    op, kind = what.split(".")
    bits = layout.ATOMICS[what]
    at = build.library().address(layout.symbol(f"atomic.shared.{what}"))
    pointers = [ctypes.c_void_p] * 4
    about = (*pointers, ctypes.c_int64, ctypes.c_int32, *[ctypes.c_void_p] * 3)
    compiled = ctypes.CFUNCTYPE(ctypes.c_bool, *about)(at)
    rng = random.Random(what)
    memory = zeroed(256).view(np.uint32 if bits == 32 else np.uint64)
    environment, record = zeroed(layout.ENVIRONMENT_BYTES), rec.new_record(1, 1)
    environment.view(np.int64)[layout.SHARED_BYTES // 8] = 256
    record.view(np.int64)[layout.SHARED_POINTER // 8] = address_of(memory)
    for _ in range(20):
        memory[:] = np.resize(_lanes(rng, bits), len(memory))
        first, second = _lanes(rng, bits), _lanes(rng, bits)
        offsets = zeroed(256).view(np.uint32)
        offsets[:32] = [bits // 8 * rng.randrange(5) for _ in range(32)]
        mask = rng.choice((FULL, rng.getrandbits(32)))
        out = zeroed(256).view(memory.dtype)
        state, olds = memory.tolist(), [0] * 32
        for lane in range(32):
            if mask >> lane & 1:
                place = int(offsets[lane]) // SIZES[kind]
                old = olds[lane] = state[place]
                if op == "CAS":
                    state[place] = int(second[lane]) if old == int(first[lane]) else old
                elif op.startswith("MBARRIER"):
                    both, drops = int(first[lane]), op == "MBARRIER_DROP"
                    transactions = (both >> 32) - (both >> 63 << 32)
                    state[place] = mbarrier.update(old, both & 0xFFFF_FFFF, transactions, drops)
                else:
                    state[place] = UPDATES[op, kind](old, int(first[lane]))
        rows = [address_of(each) for each in (offsets, first, second, out)]
        head = address_of(environment), address_of(record), None, rows[0]
        assert compiled(*head, 0, mask, *rows[1:])
        assert memory.tolist() == state
        assert out[:32].tolist() == olds


# ---- schedule and residency --------------------------------------------------------------------

UNEVEN = """
.kernel uneven
.registers 12
.param 8
.barriers 1
.shared 64
    S2R R0, SR_CTAID.X ;
    S2R R1, SR_TID.X ;
    SHR.U32 R2, R1, 0x5 ;
    IADD R3, R0, R2 ;
    LOP32I.AND R3, R3, 0x7 ;
    SHL R3, R3, 0x4 ;
LOOP:
    IADD32I R3, R3, -0x1 ;
    ISETP.GT.AND P0, PT, R3, RZ, PT ;
@P0 BRA LOOP ;
    BAR.SYNC 0x0 ;
    STS [RZ], R0 ;
    EXIT ;
"""
"""Blocks and warps of different lengths, more than fit at a time."""


class _Rows(Observer):
    """The order of instructions, and where the warps that made an access were."""

    def __init__(self) -> None:
        self.order: list[Any] = []
        self.places: list[Any] = []

    def instructions(self, batch: Any) -> None:
        self.order += batch.rows.tolist()

    def accesses(self, batch: Any) -> None:
        columns = (batch.cta, batch.warp, batch.sm, batch.slot)
        self.places += np.stack(columns, 1).tolist()


def test_schedule_and_residency() -> None:
    """Every instruction of the launch in the same order, and every CTA in the same place."""
    seen, count = [], number(60, 120)
    for engine in ("step", "run"):
        program = gpudbg.load(assemble_file(UNEVEN).cubin(), engine=engine, num_sms=3)
        out = program.device.buffer(np.zeros(4, np.uint32))
        session = program.launch("uneven", grid=count, block=160, args=[out])
        rows = _Rows()
        with session.subscribe(rows):
            assert session.run().kind == "exited"
        seen.append(copy.copy(rows))
    assert seen[0].order == seen[1].order
    assert seen[0].places == seen[1].places
    assert len(seen[0].places) == count * 5
    # Places are taken again, by CTAs that follow no row.
    assert len({(sm, slot) for _, _, sm, slot in seen[0].places}) < count * 5
