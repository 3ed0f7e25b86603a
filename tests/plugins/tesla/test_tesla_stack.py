"""Stack entries, dumps and the spill model."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gpudbg_plugins.tesla.hierarchy import Chip, Hierarchy
from gpudbg_plugins.tesla.mangle import StackLayout
from gpudbg_plugins.tesla.stack import TYPE_CODES, TeslaStackEntry, WarpStack, list_dump
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudbg.errors import LoadError, UsageError
from gpudbg.plugin import Registry

CHIP, UNITS = Chip(0xA0), Hierarchy(0b101, 0b11)


def layout(log_alloc: int = 7, no_clamp: int = 1) -> StackLayout:
    return StackLayout.make(CHIP, UNITS, log_alloc=log_alloc, no_clamp=no_clamp)


entries = st.builds(
    TeslaStackEntry,
    type=st.integers(0, 7),
    target=st.integers(0, (1 << 22) - 1).map(lambda word: word << 2),
    number=st.integers(0, 4095),
    warp=st.integers(0, 31),
    mask=st.integers(0, (1 << 32) - 1),
)


@given(entries)
def test_entry_round_trip(entry: TeslaStackEntry) -> None:
    words = entry.encode()
    assert TeslaStackEntry.decode(*words, entry.number) == entry
    assert entry.number & 6 == TeslaStackEntry.decode(*words).number


@given(st.integers(0, (1 << 32) - 1), st.integers(0, (1 << 32) - 1))
def test_any_words_are_some_entry(word0: int, word1: int) -> None:
    assert TeslaStackEntry.decode(word0, word1).encode() == (word0, word1)


@pytest.mark.parametrize(("name", "top"), [("call", 2), ("call limited", 3), ("joinat", 6)])
def test_documented_types(name: str, top: int) -> None:
    word0, word1 = TeslaStackEntry(TYPE_CODES[name], 0x100, 0, 0, 0xFFFF).encode()
    assert word0 >> 29 == top
    assert word1 == 0xFFFF


def test_worked_example(decode: Callable[..., Any]) -> None:
    made = decode(
        "stack", "--encode", "call", "--target", 0x1234, "--entry", 5, "--warp", 3, "--mask", 0xF
    )
    assert made["words"] == ["0x4380048d", "0x0000000f"]
    found = decode("stack", *made["words"], "--entry", 5, "--warp", 3)
    assert (found["type_name"], found["target"], found["warp"], found["mask"]) == (
        "call", 0x1234, 3, 15,
    )  # fmt: skip
    assert found["oddities"] == []


def test_contradictions_are_told(decode: Callable[..., Any]) -> None:
    found = decode("stack", "0x0380048d", "0", "--entry", 0, "--warp", 4)
    assert len(found["oddities"]) == 3


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--encode", "jump"], "no stack entry type 'jump'"),
        (["--encode", "call", "--target", "0x1002"], "not aligned to 4"),
        (["--encode", "call", "--target", "0x1000000"], "24 bits"),
        (["--encode", "call", "1", "2"], "options only"),
        (["0x1ffffffff", "0"], "32 bits"),
        (["1", "two"], "'two' is not a number"),
        (["1", "2", "3"], "unexpected argument '3'"),
    ],
)
def test_bad_entries(argv: list[str], words: str, refuse: Callable[..., str]) -> None:
    assert words in refuse("stack", *argv)


def test_pushes_spill_the_oldest_block_and_pops_fetch_it() -> None:
    memory: dict[int, int] = {}
    stack = WarpStack(layout(), 9, 1, 2, limit=32, memory=memory)
    pushed = [stack.push("call", 0x100 + 8 * i, 0xF0F0) for i in range(12)]
    assert memory == {}
    pushed.append(stack.push("joinat", 0x800, 0xFF))
    where = layout().address(0, 9, 1, 2)
    assert memory[where] == pushed[0].encode()[0]
    assert len(memory) == 8
    assert stack.events == [f"warp 9: block 0 spilled to 0x{where:08x}"]
    assert stack.entries() == pushed
    assert [stack.pop() for _ in range(13)] == pushed[::-1]
    assert stack.events[-1] == "warp 9: block 0 fetched from memory"


@given(st.lists(st.integers(0, 3), max_size=120))
@settings(max_examples=60)
def test_stack_behaves_as_a_list(moves: list[int]) -> None:
    stack = WarpStack(layout(), 3, 0, 0, limit=24)
    model: list[TeslaStackEntry] = []
    for index, move in enumerate(moves):
        if move and len(model) < 24:
            model.append(stack.push("call", index * 4, 1 << index % 32))
        elif model:
            assert stack.pop() == model.pop()
    assert stack.entries() == model
    assert len(stack.resident) <= 3


def test_limits_underflow_and_mismatch() -> None:
    stack = WarpStack(layout(), 0, 0, 0, limit=4)
    with pytest.raises(UsageError, match="STACK_UNDERFLOW"):
        stack.pop()
    for _ in range(4):
        stack.push("joinat", 0, 1)
    with pytest.raises(UsageError, match="STACK_LIMIT"):
        stack.push("call", 0, 1)
    with pytest.raises(UsageError, match="STACK_MISMATCH"):
        stack.pop("call", "call limited")
    assert stack.pop("joinat").number == 3
    with pytest.raises(UsageError, match="no stack entry type"):
        stack.push("jump", 0, 1)


def test_aliased_warps_overwrite_each_other() -> None:
    memory: dict[int, int] = {}
    stacks = [WarpStack(layout(2), warp, 0, 0, 64, memory) for warp in (1, 5)]
    for stack in stacks:
        for i in range(13):
            stack.push("call", 4 * i, 1)
    assert stacks[0].entries()[0].warp == 5


def dump_of(stacks: list[WarpStack], size: int) -> bytes:
    data = bytearray(size)
    for stack in stacks:
        assert isinstance(stack.memory, dict)
        for address, word in stack.memory.items():
            struct.pack_into("<I", data, address, word)
    return bytes(data)


def test_dump_lists_what_was_spilled(tmp_path: Path, decode: Callable[..., Any]) -> None:
    stacks = [WarpStack(layout(), warp, mp, tp, 64) for warp, mp, tp in ((0, 0, 0), (7, 1, 2))]
    for stack in stacks:
        for i in range(17):
            stack.push("joinat" if i % 3 == 2 else "call", 8 * i + 4, 0xFF << i % 8)
    path = tmp_path / "stack.bin"
    path.write_bytes(dump_of(stacks, layout().size(5)))
    machine = ("--chipset", 0xA0, "--tp-mask", 5, "--mp-mask", 3)
    found = decode("stack", "--dump", path, *machine)["entries"]
    want = [entry.to_json() for stack in stacks for entry in stack.entries()[:8]]
    assert [{key: row[key] for key in want[0]} for row in found] == want
    assert [(row["tp"], row["mp"]) for row in found] == [(0, 0)] * 8 + [(2, 1)] * 8
    only = decode("stack", "--dump", path, "--warp", 7, *machine)["entries"]
    assert only == found[8:]
    assert decode("stack", "--dump", path, "--tp", 0, *machine)["entries"] == found[:8]


def test_dump_from_the_middle() -> None:
    stack = WarpStack(layout(), 0, 0, 0, 64)
    for i in range(17):
        stack.push("call", 4 * i, 1)
    start = layout().address(4, 0, 0, 0)
    data = dump_of([stack], layout().size(5))[start : start + 32]
    rows = list_dump(data, layout(), base=start)
    assert [row.entry.number for row in rows] == [4, 5, 6, 7]


def test_stale_and_foreign_words_are_marked() -> None:
    word0, word1 = TeslaStackEntry(TYPE_CODES["call"], 0x40, 3, 2, 1).encode()
    data = bytearray(0x40)
    struct.pack_into("<II", data, 0, word0, word1)
    (row,) = list_dump(bytes(data), layout())
    assert any("bits 23:22" in oddity for oddity in row.oddities)
    assert any("warp 2 has no memory here" in oddity for oddity in row.oddities)


def test_torn_dump_is_a_load_error(tmp_path: Path, registry: Registry) -> None:
    path = tmp_path / "torn.bin"
    path.write_bytes(bytes(13))
    code, output = registry.run_decoder("stack", ["--dump", str(path)])
    assert code == 2
    assert f"{path} at offset 0x8" in output


@given(st.binary(max_size=300))
def test_any_bytes_list_or_refuse(data: bytes) -> None:
    try:
        rows = list_dump(data, layout())
    except LoadError:
        assert len(data) % 8
    else:
        assert len(rows) <= len(data) // 8
