"""Copies of large arrays: what they hold, on how many threads, and the memory they are made in."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from gpudbg.mem import copying
from gpudbg.mem.blocks import BLOCK, SharedBlocks

MIB = 1 << 20


@pytest.fixture(autouse=True)
def no_spare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "_spare", [])


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("size", [MIB, 9 * MIB + 12_345])
def test_contents(size: int, threads: int) -> None:
    """Blocks of zeros are left out, one whose first byte is zero is not."""
    array = np.arange(size, dtype=np.uint32).astype(np.uint8)
    array[2 * BLOCK : 5 * BLOCK] = 0
    array[-7:] = 0
    array[6 * BLOCK : 7 * BLOCK] = 0
    array[7 * BLOCK - 1] = 1
    first, before = SharedBlocks(array, None, threads), array.copy()
    assert sum(map(len, first.held())) == size - 3 * BLOCK
    assert np.array_equal(first.content(), before)
    array[3 * BLOCK] = array[8 * BLOCK] = 77
    second = SharedBlocks(array, first)
    assert not second.same(first)
    assert second.same(SharedBlocks(array))
    own = {id(block) for block in second.held()} - {id(block) for block in first.held()}
    assert len(own) == 2
    first.restore(array)
    assert np.array_equal(array, before)
    assert first.same(SharedBlocks(array, second))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_pieces_are_shared_out(threads: int) -> None:
    source = np.arange(23 * MIB, dtype=np.uint32).view(np.uint8)[: 23 * MIB]
    target = np.zeros(len(source), np.uint8)
    pieces = [(5, 6), (MIB, 12 * MIB + 3), (13 * MIB, 23 * MIB - 1)]
    copying.copy(target, source, pieces, threads)
    expected = np.zeros(len(source), np.uint8)
    for start, stop in pieces:
        expected[start:stop] = source[start:stop]
    assert np.array_equal(target, expected)


def test_memory_is_used_again_when_all_views_are_gone() -> None:
    array = np.ones(4 * MIB, np.uint8)
    first = SharedBlocks(array)
    assert not copying._spare
    array[BLOCK] = 2
    # It shares blocks of the first copy, which therefore stay.
    second = SharedBlocks(array, first)
    del first
    assert not copying._spare
    del second
    (pages,) = copying._spare
    again = SharedBlocks(array)
    assert not copying._spare
    assert np.array_equal(again.content(), array)
    # Much smaller copies leave it to others.
    del again
    small = SharedBlocks(array[:MIB])
    assert copying._spare == [pages]
    del small


@pytest.mark.skipif(sys.platform != "linux", reason="faults are counted as on Linux")
def test_copies_one_after_the_other_cost_no_faults() -> None:
    import resource

    array = np.ones(16 * MIB, np.uint8)
    faults = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        copy = SharedBlocks(array)
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
        del copy
    assert min(faults[1:]) < 50


def test_little_is_kept_spare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "MOST_SPARE", 5 * MIB)
    copies = [SharedBlocks(np.ones(4 * MIB, np.uint8)) for _ in range(3)]
    copies.clear()
    assert sum(map(len, copying._spare)) == 4 * MIB
