"""Local memory, shared offsets and constant banks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudbg.errors import UsageError
from gpudbg.mem.check import check
from gpudbg.mem.constant import ConstantBanks
from gpudbg.mem.faults import MemoryFault
from gpudbg.mem.local import LocalMemory
from gpudbg.mem.store import ByteStore
from gpudbg.mem.windows import WINDOW_BYTES

FULL = 0xFFFFFFFF
SIZES = (1, 2, 4, 8, 16)


def u32(values: list[int]) -> np.ndarray:
    return np.array(values, np.uint32)


@settings(max_examples=80)
@given(
    st.lists(st.integers(0, 9), min_size=32, max_size=32),
    st.sampled_from(SIZES),
    st.integers(1, FULL),
    st.sampled_from([(160, 0), (0, 160), (160, 160)]),
    st.booleans(),
)
def test_local_memory_is_private_bytes_of_each_lane(
    places: list[int], size: int, lanes: int, ranges: tuple[int, int], upper: bool
) -> None:
    high, low = ranges
    local = LocalMemory(high, low)
    start = local.start if high and (upper or not low) else 0
    where = [start + p * size for p in places]
    values = [
        u32([0x01020304 * (n + 1) + k & FULL for n in range(32)]) for k in range(max(1, size // 4))
    ]
    checked = local.place(u32(where), lanes, size)
    local.scatter(checked, lanes, size, values)
    got = local.gather(checked, lanes, size, False)
    for n in range(32):
        raw = b"".join(int(v[n]).to_bytes(4, "little") for v in values)[:size]
        if lanes >> n & 1:
            assert local.read(n, where[n], size) == raw
            assert b"".join(int(v[n]).to_bytes(4, "little") for v in got)[:size] == raw
        else:
            assert local.words[:, n].any() == np.False_
            assert [int(v[n]) for v in got] == [0] * len(got)


def test_stack_is_the_top_of_the_window() -> None:
    local = LocalMemory(64)
    local.place(u32([WINDOW_BYTES - 4] * 32), FULL, 4)
    local.place(u32([WINDOW_BYTES - 64] * 32), FULL, 4)
    for bad in (WINDOW_BYTES, WINDOW_BYTES - 68, 0, 0xFFFFFFFC):
        with pytest.raises(MemoryFault) as caught:
            local.place(u32([WINDOW_BYTES - 4] * 31 + [bad]), FULL, 4)
        assert caught.value.code == "OOR_ADDR"
        assert caught.value.lanes == 1 << 31
        assert caught.value.address == bad
    with pytest.raises(MemoryFault) as caught:
        local.place(u32([WINDOW_BYTES - 6] * 32), FULL, 4)
    assert caught.value.code == "MISALIGNED_ADDR"


def test_ranges_are_whole_sixteens() -> None:
    local = LocalMemory(17, 1)
    assert (local.high, local.low, local.size) == (32, 16, 48)
    assert local.words.shape == (12, 32)


def test_a_thread_s_bytes_for_the_debugger() -> None:
    local = LocalMemory(16, 8)
    local.write(3, local.start + 1, b"xyz")
    local.write(3, 0, b"low")
    assert local.read(3, local.start, 5) == b"\0xyz\0"
    assert local.read(3, 0, 4) == b"low\0"
    assert local.read(2, local.start, 5) == bytes(5)
    for address in (15, local.start - 1, WINDOW_BYTES - 1):
        with pytest.raises(UsageError, match="outside the thread's memory"):
            local.read(3, address, 2)


def test_no_local_memory_at_all() -> None:
    with pytest.raises(MemoryFault, match="it has none"):
        LocalMemory(0).place(u32([0] * 32), 1, 4)


@settings(max_examples=60)
@given(
    st.lists(st.integers(0, 300), min_size=32, max_size=32),
    st.sampled_from(SIZES),
    st.integers(1, FULL),
    st.integers(0, 260),
)
def test_checks_name_exactly_the_guilty_lanes(
    offsets: list[int], size: int, lanes: int, limit: int
) -> None:
    crooked = {n for n in range(32) if lanes >> n & 1 and offsets[n] % size}
    beyond = {n for n in range(32) if lanes >> n & 1 and offsets[n] + size > limit}
    guilty = crooked or beyond
    if not guilty:
        clean = check(u32(offsets), lanes, size, limit, "shared", "the CTA's")
        assert clean.tolist() == [o if lanes >> n & 1 else 0 for n, o in enumerate(offsets)]
        return
    with pytest.raises(MemoryFault) as caught:
        check(u32(offsets), lanes, size, limit, "shared", "the CTA's")
    assert caught.value.code == ("MISALIGNED_ADDR" if crooked else "OOR_ADDR")
    assert {n for n in range(32) if caught.value.lanes >> n & 1} == guilty
    assert caught.value.address == offsets[min(guilty)]


def bank(size: int) -> ByteStore:
    made = ByteStore(size)
    made.data[:] = np.arange(size, dtype=np.uint8)
    return made


def test_constant_words_are_live() -> None:
    store = bank(16)
    banks = ConstantBanks({0: store})
    assert banks.word(0, 4).tolist() == [0x07060504]
    store.data[4] = 0xFF
    assert banks.word(0, 4).tolist() == [0x070605FF]


def test_a_bank_ends_with_a_whole_word() -> None:
    """A kernel's last parameter can be 16 bits; the code reads it as the word that holds it."""
    banks = ConstantBanks({0: bank(18)})
    assert banks.word(0, 16).tolist() == [0x1110]
    assert int(banks.gather(0, u32([16] * 32), FULL, 4, False)[0][0]) == 0x1110
    with pytest.raises(MemoryFault):
        banks.word(0, 20)


@pytest.mark.parametrize(
    ("number", "offset", "code"),
    [(0, 6, "MISALIGNED_IMMC_ADDR"), (0, 16, "INVALID_CONST_ADDR"), (3, 0, "INVALID_CONST_ADDR")],
)
def test_bad_constant_operands(number: int, offset: int, code: str) -> None:
    with pytest.raises(MemoryFault) as caught:
        ConstantBanks({0: bank(16)}).word(number, offset)
    assert caught.value.code == code


@given(st.lists(st.integers(0, 7), min_size=32, max_size=32), st.sampled_from(SIZES), st.booleans())
def test_indexed_constant_loads(places: list[int], size: int, signed: bool) -> None:
    store = bank(128)
    banks = ConstantBanks({2: store})
    offsets = [p * size for p in places]
    got = banks.gather(2, u32(offsets), FULL, size, signed)
    for n, offset in enumerate(offsets):
        raw = store.data[offset : offset + size].tobytes()
        if size <= 4:
            assert int(got[0][n]) == int.from_bytes(raw, "little", signed=signed) & FULL
        else:
            assert b"".join(int(v[n]).to_bytes(4, "little") for v in got) == raw


def test_indexed_constant_faults() -> None:
    banks = ConstantBanks({2: bank(128)})
    with pytest.raises(MemoryFault) as caught:
        banks.gather(2, u32([0] * 31 + [128]), FULL, 4, False)
    assert (caught.value.code, caught.value.lanes) == ("INVALID_CONST_ADDR_LDC", 1 << 31)
    with pytest.raises(MemoryFault) as caught:
        banks.gather(2, u32([2] + [0] * 31), FULL, 4, False)
    assert (caught.value.code, caught.value.lanes) == ("MISALIGNED_ADDR", 1)
