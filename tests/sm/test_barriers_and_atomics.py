"""CTA barriers and read-modify-write operations on their own."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudbg.mem.local import LocalMemory
from gpudbg.sm import record as rec
from gpudbg.sm.atomics.step import SIZES, UPDATES
from gpudbg.sm.barriers import step as barriers
from gpudbg.sm.barriers.phase import Arrival, Barriers
from gpudbg.sm.engines import numeric
from gpudbg.sm.faults import WarpErrorRaised
from gpudbg.sm.state import Cta, WarpState

FULL = 0xFFFFFFFF


def cta_of(warps: int, allocated: int = 16) -> Cta:
    cta = Cta(0, (0, 0, 0), 0, 0, 0)
    cta.barriers = Barriers(allocated)
    for n in range(warps):
        warp = WarpState(cta, n, n, 1, 8, LocalMemory(0))
        warp.words[rec.VALID] = FULL
        warp.active = FULL
        cta.warps.append(warp)
    return cta


def arrive(
    cta: Cta,
    warp: int,
    mode: str = "SYNC",
    barrier: int = 0,
    count: int | None = None,
    reduce: str = "",
    lanes: int = FULL,
    pred: int = FULL,
) -> list[int]:
    arrival = Arrival(mode, barrier, count, reduce, lanes, pred)
    barriers.check(cta.warps[warp], arrival)
    return [w.index for w in barriers.arrive(cta.warps[warp], arrival)]


def waiting(cta: Cta) -> list[int]:
    return [w.index for w in cta.warps if w.status == "barrier"]


def finish(cta: Cta, warp: int) -> list[int]:
    cta.warps[warp].words[rec.STATUS] = rec.DONE
    return [w.index for w in barriers.warp_exited(cta)]


def test_sync_waits_for_all() -> None:
    cta = cta_of(3)
    assert arrive(cta, 0) == []
    assert arrive(cta, 2) == []
    assert waiting(cta) == [0, 2]
    assert cta.barrier_words() == ["barrier 0 holds 64 of 96"]
    assert arrive(cta, 1) == [0, 2, 1]
    assert waiting(cta) == []
    assert cta.barrier_words() == []


def test_named_barriers_with_counts_are_independent() -> None:
    cta = cta_of(4)
    arrive(cta, 0, barrier=1, count=64)
    arrive(cta, 1, barrier=2, count=64)
    assert arrive(cta, 2, barrier=1, count=64) == [0, 2]
    assert waiting(cta) == [1]
    assert arrive(cta, 3, barrier=2, count=64) == [1, 3]


def test_producers_arrive_without_waiting() -> None:
    cta = cta_of(2)
    assert arrive(cta, 0, "ARV", count=64) == []
    assert cta.warps[0].status == "ready"
    assert arrive(cta, 1, count=64) == [1]
    arrive(cta, 1, count=64)
    assert arrive(cta, 0, "ARV", count=64) == [1]


def test_counts_are_rounded_up_to_warps() -> None:
    cta = cta_of(3)
    arrive(cta, 0, count=33)
    assert cta.barriers.expected(0, len(cta.live)) == 64
    assert arrive(cta, 1, count=33) == [0, 1]


def test_exited_warps_lower_the_total() -> None:
    cta = cta_of(3)
    arrive(cta, 0)
    arrive(cta, 1)
    assert finish(cta, 2) == [0, 1]
    arrive(cta, 0, barrier=1, count=96)
    assert finish(cta, 1) == []
    assert waiting(cta) == [0]


@pytest.mark.parametrize(
    ("reduce", "preds", "lanes", "popc", "truth"),
    [
        ("POPC", (0b1011, 0xF0), (FULL, FULL), 7, True),
        ("AND", (FULL, FULL), (FULL, FULL), 64, True),
        ("AND", (FULL, FULL ^ 4), (FULL, FULL), 63, False),
        ("AND", (FULL, FULL ^ 4), (FULL, FULL ^ 4), 63, True),
        ("OR", (0, 0), (FULL, FULL), 0, False),
        ("OR", (0, 8), (FULL, FULL), 1, True),
        ("OR", (8, 0), (FULL ^ 8, FULL), 0, False),
    ],
)
def test_reductions(
    reduce: str, preds: tuple[int, int], lanes: tuple[int, int], popc: int, truth: bool
) -> None:
    cta = cta_of(2)
    for n in range(2):
        arrive(cta, n, "RED", reduce=reduce, lanes=lanes[n], pred=preds[n])
    for warp in cta.warps:
        assert warp.words[rec.BAR_COUNT] == popc
        assert warp.words[rec.BAR_PRED] == (FULL if truth else 0)
    # A plain barrier afterwards leaves the result, and the next reduction starts afresh.
    arrive(cta, 0)
    arrive(cta, 1)
    assert cta.warps[0].words[rec.BAR_COUNT] == popc
    arrive(cta, 0, "RED", reduce="POPC", pred=1)
    arrive(cta, 1, "RED", reduce="POPC", pred=0)
    assert cta.warps[0].words[rec.BAR_COUNT] == 1


def test_barriers_that_are_not_allocated() -> None:
    cta = cta_of(1, allocated=2)
    with pytest.raises(WarpErrorRaised) as caught:
        arrive(cta, 0, barrier=2)
    assert caught.value.code == "ILLEGAL_INSTR_PARAM2"
    assert waiting(cta) == []


# ---- atomics -----------------------------------------------------------------------------


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


INTEGERS: dict[str, Callable[[int, int], int]] = {
    "ADD": lambda old, b: old + b,
    "AND": lambda old, b: old & b,
    "OR": lambda old, b: old | b,
    "XOR": lambda old, b: old ^ b,
    "EXCH": lambda old, b: b,
}


@given(st.sampled_from(("U32", "S32", "U64", "S64")), st.data())
def test_integer_atomics(type_: str, data: st.DataObject) -> None:
    bits = 8 * SIZES[type_]
    old, b = (data.draw(st.integers(0, (1 << bits) - 1)) for _ in range(2))
    for op, model in INTEGERS.items():
        assert UPDATES[op, type_](old, b) == model(old, b) % (1 << bits), op
    x, y = (signed(v, bits) if type_[0] == "S" else v for v in (old, b))
    assert UPDATES["MIN", type_](old, b) == (old if x <= y else b)
    assert UPDATES["MAX", type_](old, b) == (old if x >= y else b)


@pytest.mark.parametrize(
    ("op", "old", "b", "new"),
    [
        ("INC", 3, 5, 4),
        ("INC", 5, 5, 0),
        ("INC", 6, 5, 0),
        ("INC", 0, 0, 0),
        ("DEC", 3, 5, 2),
        ("DEC", 0, 5, 5),
        ("DEC", 6, 5, 5),
        ("DEC", 5, 5, 4),
    ],
)
def test_wrapping_counters(op: str, old: int, b: int, new: int) -> None:
    assert UPDATES[op, "U32"](old, b) == new


def f32(value: float) -> int:
    return int.from_bytes(struct.pack("<f", value), "little")


def f64(value: float) -> int:
    return int.from_bytes(struct.pack("<d", value), "little")


@pytest.mark.parametrize(
    ("old", "b", "new"),
    [
        (f32(1.5), f32(2.25), f32(3.75)),
        (f32(16777216.0), f32(1.0), f32(16777216.0)),
        (1, f32(1.0), f32(1.0)),
        (0x007FFFFF, 0x00000001, 0),
        (0x807FFFFF, 0x80000000, 0x80000000),
        (0x00800001, 0x80800000, 0),
        (f32(3e38), f32(3e38), 0x7F800000),
        (f32(-3e38), f32(-3e38), 0xFF800000),
        (0x7F7FFFFF, 0x72FFFFFF, 0x7F7FFFFF),
        (0x7F7FFFFF, 0x73000000, 0x7F800000),
        (0x7F800000, 0xFF800000, 0x7FFFFFFF),
        (0xFFC12345, 0, 0x7FFFFFFF),
    ],
)
def test_f32_addition_flushes_subnormals(old: int, b: int, new: int) -> None:
    assert UPDATES["ADD", "F32"](old, b) == new


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid")
@pytest.mark.filterwarnings("ignore:invalid")
def test_f64_nan_goes_on_as_it_is() -> None:
    """An H100 passes NaNs of f64 atomics unquieted, memory's before the operand's."""
    signalling = 0x7FF0000000000123
    assert UPDATES["ADD", "F64"](signalling, 0) == signalling
    assert UPDATES["ADD", "F64"](f64(1.0), 0xFFF8000000000456) == 0xFFF8000000000456
    assert UPDATES["ADD", "F64"](signalling, 0xFFF8000000000456) == signalling
    with np.errstate(all="ignore"):
        got = UPDATES["ADD", "F64"](f64(float("inf")), f64(float("-inf")))
    assert got == 0xFFF8000000000000


@given(st.integers(0, FULL), st.integers(0, FULL))
def test_f32_addition_agrees_with_the_float_unit(old: int, b: int) -> None:
    with np.errstate(all="ignore"):
        a, c = (numeric.ftz(np.array([v], np.uint32)) for v in (old, b))
        expected = int(numeric.ftz(numeric.fadd(a, c))[0])
    assert UPDATES["ADD", "F32"](old, b) == expected


def test_f64_and_packed_half_addition() -> None:
    assert UPDATES["ADD", "F64"](f64(0.1), f64(0.2)) == f64(0.1 + 0.2)
    assert UPDATES["ADD", "F64"](1, 1) == 2
    halves = np.array([1.5, -2.0], np.float16).view(np.uint32).item()
    added = UPDATES["ADD", "F16x2"](halves, halves)
    assert np.array([added], np.uint32).view(np.float16).tolist() == [3.0, -4.0]
    big = np.array([60000.0, 1.0], np.float16).view(np.uint32).item()
    assert UPDATES["ADD", "F16x2"](big, big) & 0xFFFF == 0x7C00
    other = np.array([2.0, -3.0], np.float16).view(np.uint32).item()
    for op, pick in (("MIN", min), ("MAX", max)):
        got = np.array([UPDATES[op, "F16x2"](halves, other)], np.uint32).view(np.float16)
        assert got.tolist() == [pick(1.5, 2.0), pick(-2.0, -3.0)]
    assert UPDATES["MIN", "F16x2"](0x7E003C00, 0x40007E00) == 0x40003C00
