"""Device memory: allocation, faults, explanations, and lane access against a plain model."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudbg.errors import UsageError
from gpudbg.mem.device import GUARD_BYTES, DeviceMemory
from gpudbg.mem.faults import MemoryFault
from gpudbg.mem.windows import SM_5X, SM_6X

SIZES = (1, 2, 4, 8, 16)
FULL = 0xFFFFFFFF


def addresses(values: list[int]) -> np.ndarray:
    return np.array(values, np.uint64)


def memory_with(*sizes: int) -> DeviceMemory:
    memory = DeviceMemory(SM_5X)
    for n, size in enumerate(sizes):
        made = memory.allocate(size, f"buffer {n}")
        made.writable()[:] = np.random.default_rng(n).integers(0, 256, size, np.uint8)
    return memory


def expected_words(memory: DeviceMemory, address: int, size: int, signed: bool) -> list[int]:
    raw = memory.read(address, size)
    if size <= 4:
        return [int.from_bytes(raw, "little", signed=signed) & FULL]
    return [int.from_bytes(raw[k : k + 4], "little") for k in range(0, size, 4)]


lane_plan = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 63)), min_size=32, max_size=32)


@settings(max_examples=60)
@given(lane_plan, st.sampled_from(SIZES), st.integers(1, FULL), st.booleans(), st.booleans())
def test_gather_reads_what_each_lane_addresses(
    plan: list[tuple[int, int]], size: int, lanes: int, signed: bool, one: bool
) -> None:
    memory = memory_with(1024, 1024, 1024)
    bases = [a.base for a in memory.allocations()]
    # Lanes outside the mask get addresses that would fault.
    wanted = [
        bases[0 if one else which] + place * size if lanes >> n & 1 else 3 + n
        for n, (which, place) in enumerate(plan)
    ]
    got = memory.gather(addresses(wanted), lanes, size, signed)
    assert len(got) == max(1, size // 4)
    for n, address in enumerate(wanted):
        words = [int(column[n]) for column in got]
        if lanes >> n & 1:
            assert words == expected_words(memory, address, size, signed)
        else:
            assert words == [0] * len(words)


@settings(max_examples=60)
@given(lane_plan, st.sampled_from(SIZES), st.integers(1, FULL), st.integers(0, 2**32 - 1))
def test_scatter_writes_ascending_so_the_highest_lane_wins(
    plan: list[tuple[int, int]], size: int, lanes: int, seed: int
) -> None:
    memory = memory_with(1024, 1024, 1024)
    model = {a.base: bytearray(a.data.tobytes()) for a in memory.allocations()}
    bases = list(model)
    values = [
        np.random.default_rng(seed + k).integers(0, 2**32, 32, np.uint32)
        for k in range(max(1, size // 4))
    ]
    wanted = []
    for n, (which, place) in enumerate(plan):
        # Half of the places collide on purpose.
        offset = (place % 8) * size
        wanted.append(bases[which] + offset)
        if lanes >> n & 1:
            raw = b"".join(int(v[n]).to_bytes(4, "little") for v in values)[:size]
            model[bases[which]][offset : offset + size] = raw
    memory.scatter(addresses(wanted), lanes, size, values)
    for allocation in memory.allocations():
        assert allocation.data.tobytes() == bytes(model[allocation.base])


def test_one_bad_lane_stops_the_whole_store() -> None:
    memory = memory_with(256)
    (buffer,) = memory.allocations()
    before = buffer.data.tobytes()
    wanted = [buffer.base + 4 * n for n in range(32)]
    wanted[7] = buffer.end
    wanted[9] = buffer.base - 4
    with pytest.raises(MemoryFault) as caught:
        memory.scatter(addresses(wanted), FULL, 4, [np.ones(32, np.uint32)])
    assert caught.value.code == "MMU_FAULT"
    assert caught.value.lanes == 1 << 7 | 1 << 9
    assert caught.value.address == buffer.end
    assert buffer.data.tobytes() == before


def test_last_bytes_are_reachable_and_no_further() -> None:
    memory = memory_with(10)
    (buffer,) = memory.allocations()
    memory.gather(addresses([buffer.base + 8] * 32), FULL, 2, False)
    with pytest.raises(MemoryFault, match="4-byte access to unmapped address 0x"):
        memory.gather(addresses([buffer.base + 8] * 32), FULL, 4, False)
    text = memory.describe(buffer.base + 8, 4)
    assert text == "8 bytes into buffer 0 (10 bytes), 2 bytes beyond its end"


def test_misalignment_is_seen_before_range() -> None:
    memory = memory_with(256)
    (buffer,) = memory.allocations()
    wanted = [buffer.base + n for n in range(32)]
    with pytest.raises(MemoryFault) as caught:
        memory.gather(addresses(wanted), 0b111111, 4, False)
    assert caught.value.code == "MISALIGNED_ADDR"
    assert caught.value.lanes == 0b101110
    assert caught.value.address == buffer.base + 1


def test_addresses_beyond_the_space_are_out_of_range() -> None:
    for layout in (SM_5X, SM_6X):
        memory = DeviceMemory(layout)
        memory.allocate(64, "x")
        with pytest.raises(MemoryFault) as caught:
            memory.gather(addresses([1 << layout.bits] * 32), FULL, 4, False)
        assert caught.value.code == "OOR_ADDR"


def test_guards_lie_between_allocations() -> None:
    memory = DeviceMemory(SM_5X)
    made = [memory.allocate(size, str(size)) for size in (1, 5000, 0, 1 << 20)]
    for first, second in pairwise(made):
        assert second.base - first.end >= GUARD_BYTES
    for a in made:
        assert memory.find(a.end) is None
        assert memory.find(a.base - 1) is None


def test_freed_memory_is_gone_but_remembered() -> None:
    memory = memory_with(64, 64)
    first, second = list(memory.allocations())
    memory.free(first)
    assert memory.find(first.base) is None
    assert list(memory.allocations()) == [second]
    assert list(memory.allocations(freed=True)) == [first, second]
    assert "which was freed" in memory.describe(first.base + 8)
    with pytest.raises(MemoryFault):
        memory.gather(addresses([first.base] * 32), 1, 4, False)


def test_explanations() -> None:
    memory = DeviceMemory(SM_5X)
    assert memory.describe(5) == "a null pointer + 5"
    assert memory.describe(0x5000) == "no device memory is allocated"
    y = memory.allocate(100, "buffer y (argument 3)")
    assert (
        memory.describe(y.end + 12) == "12 bytes past the end of buffer y (argument 3) (100 bytes)"
    )
    assert memory.describe(y.end) == "at the end of buffer y (argument 3) (100 bytes)"
    assert memory.describe(y.base - 1) == "1 byte before buffer y (argument 3) (100 bytes)"
    assert memory.describe(y.base + 4) == "4 bytes into buffer y (argument 3) (100 bytes)"
    z = memory.allocate(100, "z")
    assert "past the end of buffer y" in memory.describe(y.end + 500)
    assert "before z" in memory.describe(z.base - 500)


def test_bytes_read_and_write() -> None:
    memory = memory_with(64)
    (buffer,) = memory.allocations()
    memory.write(buffer.base + 3, b"abc")
    assert memory.read(buffer.base + 2, 5)[1:4] == b"abc"
    for address, count in ((buffer.base + 60, 5), (buffer.base - 1, 1), (0, 1)):
        with pytest.raises(UsageError, match="no device memory at"):
            memory.read(address, count)


@pytest.mark.parametrize("size", [-1, 1 << 41])
def test_impossible_allocations_are_refused(size: int) -> None:
    with pytest.raises(UsageError):
        DeviceMemory(SM_5X).allocate(size, "too much")


def test_a_null_pointer_is_named() -> None:
    memory = memory_with(10)
    for address, words in ((0, "a null pointer"), (16, "a null pointer + 16")):
        assert memory.describe(address, 4) == words
        with pytest.raises(MemoryFault) as caught:
            memory.gather(addresses([address] * 32), FULL, 4, False)
        told = caught.value.message("load", 4)
        assert told == f"4-byte load from unmapped address 0x{address:x}, {words}"
    with pytest.raises(MemoryFault) as caught:
        memory.gather(addresses([0x9000] * 32), FULL, 4, False)
    assert caught.value.message("store", 8) == "8-byte store to unmapped address 0x9000"
