"""Damaged cubins: every mutation gives a program or one LoadError, quickly."""

from __future__ import annotations

import struct
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpudbg.errors import LoadError
from gpudbg.formats.cubin import read_cubin
from gpudbg.formats.layout import relocate
from gpudbg.formats.lines import PTX_LINE, read_lines
from tests.kernel_cases import KERNELS

SEEDS = [
    (KERNELS / "cubin" / name).read_bytes()
    for name in (
        "sm_50/func_ptr.cubin",
        "sm_50/constant_mem.cubin",
        "sm_50/bound_images.cubin",
        "sm_50-G/recursion.cubin",
        "sm_61/matmul_tiled.cubin",
    )
] + [
    path.read_bytes()
    for path in sorted((Path(__file__).parents[1] / "isa" / "volta" / "cubins").glob("*.cubin"))
    if path.suffixes[0] in (".sm_75", ".sm_90a", ".sm_120a")
]
INTERESTING = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 40, (1 << 64) - 1)
SLOWEST_SECONDS = 10.0


def load(data: bytes) -> None:
    """Read, place and read lines; only LoadError may come out, and soon."""
    start = time.process_time()
    try:
        program = read_cubin(data, "fuzz.cubin")
        relocate(program, 0x1000, dict.fromkeys(program.segments, 0x7F0000000000))
        read_lines(program)
        read_lines(program, PTX_LINE)
    except LoadError as error:
        message = str(error)
    else:
        message = "fuzz.cubin"
    assert "fuzz.cubin" in message
    assert time.process_time() - start < SLOWEST_SECONDS


def headers(data: bytes) -> list[int]:
    """File offsets of everything with a meaning: ELF header, section headers, tables' contents."""
    shoff, shnum = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
    spots = list(range(16, 64))
    for index in range(shnum):
        at = shoff + 64 * index
        spots += range(at, at + 64, 4)
        kind, offset, size = struct.unpack_from("<4xI16xQQ", data, at)
        if kind in (2, 4, 9, 0x70000000, 0x70000001):
            spots += range(offset, offset + min(size, 600))
    return spots


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("seed", range(len(SEEDS)))
def test_every_prefix(seed: int) -> None:
    data = SEEDS[seed]
    for length in [*range(0, 200, 7), *range(200, len(data), max(len(data) // 150, 1))]:
        with pytest.raises(LoadError):
            read_cubin(data[:length], "fuzz.cubin")


@settings(max_examples=600, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_structural_mutations(data: st.DataObject) -> None:
    seed = data.draw(st.sampled_from(SEEDS))
    spots = headers(seed)
    body = bytearray(seed)
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.sampled_from(spots))
        size = data.draw(st.sampled_from((1, 2, 4, 8)))
        value = data.draw(st.sampled_from(INTERESTING) | st.integers(0, (1 << 64) - 1))
        body[at : at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
    load(bytes(body[: len(seed)]))


@settings(max_examples=200)
@given(st.sampled_from(SEEDS), st.integers(0), st.binary(min_size=1, max_size=64))
def test_random_overwrites(seed: bytes, at: int, junk: bytes) -> None:
    at %= len(seed)
    load(seed[:at] + junk + seed[at + len(junk) :])


@settings(max_examples=100)
@given(st.binary(max_size=300))
def test_any_bytes_after_the_magic(tail: bytes) -> None:
    load(b"\x7fELF" + tail)
    load(SEEDS[0][:64] + tail)


def test_lying_sizes_allocate_nothing() -> None:
    """Every section in turn claims the whole file, then an absurd size."""
    data = SEEDS[0]
    shoff, shnum = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
    for size in (len(data), 1 << 40, (1 << 64) - 1):
        whole = bytearray(data)
        for index in range(shnum):
            one = bytearray(data)
            struct.pack_into("<QQ", one, shoff + 64 * index + 24, 0, size)
            struct.pack_into("<QQ", whole, shoff + 64 * index + 24, 0, size)
            load(bytes(one))
        load(bytes(whole))
