"""Const buffers, global memory, registers, condition flags."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

import pytest
from gpudbg_plugins.tesla import flags, models
from gpudbg_plugins.tesla.constbuf import ConstSpaces
from gpudbg_plugins.tesla.errors import DataError
from gpudbg_plugins.tesla.globalmem import GlobalSpace
from gpudbg_plugins.tesla.memory import WordMemory
from gpudbg_plugins.tesla.registers import ThreadRegisters
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudbg.errors import UsageError
from gpudbg.plugin import discover
from tests.variants import rows

REGISTRY = discover()

words = st.integers(0, (1 << 32) - 1)


def consts() -> ConstSpaces:
    held = ConstSpaces(WordMemory())
    held.define(0x20000, 3 << 16 | 0)
    held.define(0x1000, 5 << 16 | 0x200)
    held.bind(3 << 12 | 2 << 8 | 1, "CP")
    held.bind(5 << 12 | 15 << 8 | 1, "CP")
    return held


def test_size_zero_means_65536() -> None:
    assert consts().buffers[3].size == 65536
    assert consts().buffers[5].size == 0x200


def test_upload_increments_and_overflows() -> None:
    held = consts()
    held.set_upload(0x3FFE << 8 | 3)
    held.data(1)
    held.data(2)
    assert held.read("CP", 2, 0xFFF8) == 1
    assert held.read("CP", 2, 0xFFFC) == 2
    with pytest.raises(DataError, match="overflowed"):
        held.data(3)
    assert held.memory.read(0x20000) == 0
    held.set_upload(3)
    held.data(4)
    assert held.read("CP", 2, 0) == 4


@given(st.integers(0, 100), st.lists(words, min_size=1, max_size=20))
def test_upload_lands_where_it_is_read(start: int, data: list[int]) -> None:
    held = consts()
    held.set_upload(start << 8 | 3)
    for word in data:
        held.data(word)
    assert [held.read("CP", 2, 4 * (start + i)) for i in range(len(data))] == data
    assert held.memory.read(0x20000 + 4 * start) == data[0]


def test_without_flush_the_old_word_stays() -> None:
    held = consts()
    held.memory.write(0x1010, 0x11)
    assert held.read("CP", 15, 0x10) == 0x11
    held.memory.write(0x1010, 0x22)
    assert held.stale() == [0x1010]
    assert held.read("CP", 15, 0x10) == 0x11
    held.flush()
    assert held.read("CP", 15, 0x10) == 0x22
    held.set_upload(4 << 8 | 5)
    held.data(0x33)
    assert held.read("CP", 15, 0x10) == 0x33, "an upload needs no flush"


def test_narrow_reads_and_reads_past_the_buffer() -> None:
    held = consts()
    held.memory.write(0x1000, 0x44332211)
    assert [held.read("CP", 15, i, 1) for i in range(4)] == [0x11, 0x22, 0x33, 0x44]
    assert held.read("CP", 15, 2, 2) == 0x4433
    assert held.read("CP", 15, 0x200) == 0
    assert held.read("VP", 15, 0) == 0
    for space, offset, size in ((16, 0, 4), (15, 0x10000, 4), (15, 2, 4), (15, 0, 8)):
        with pytest.raises(UsageError):
            held.read("CP", space, offset, size)


def test_upload_past_the_buffer_or_to_none() -> None:
    held = consts()
    held.set_upload(0x80 << 8 | 5)
    assert "nothing stored" in held.data(7)
    assert held.memory.read(0x1200) == 0
    held.set_upload(9)
    with pytest.raises(DataError, match="not defined"):
        held.data(7)


def test_bindings() -> None:
    held = consts()
    held.bind(5 << 12 | 1 << 8 | 2 << 4 | 1)
    assert held.bindings["GP", 1] == 5
    held.bind(1 << 8 | 2 << 4)
    assert ("GP", 1) not in held.bindings
    with pytest.raises(DataError, match="program type 1"):
        held.bind(1 << 4 | 1)
    with pytest.raises(DataError, match="multiple of 0x100"):
        held.define(0, 0x80)


@pytest.mark.parametrize(
    ("mode", "pitch", "reg", "offset"),
    [
        (0, 0x400, 0x00000000, 0),
        (0, 0x400, 0x00050041, 0x541),
        (1, 0x1000, 0x000900FF, 0x167F),
        (3, 0x4000, 0x00210100, 0x6040),
    ],
)
def test_tiling_examples(
    mode: int, pitch: int, reg: int, offset: int, decode: Callable[..., Any]
) -> None:
    found = decode("global", reg, "--mode", mode << 8, "--pitch", pitch, "--base", 0x100000)
    assert found["offset"] == offset
    assert found["address"] == 0x100000 + offset
    assert (found["x"], found["y"]) == (reg & 0xFFFF, reg >> 16)
    back = decode(
        "global", "--address", found["address"], "--mode", mode << 8, "--pitch", pitch,
        "--base", 0x100000,
    )  # fmt: skip
    assert back["reg"] == reg


@given(st.integers(0, 5), st.integers(1, 64), st.integers(0, 500), st.data())
def test_tiling_is_a_bijection_within_a_surface(
    mode: int, columns: int, last_line: int, data: st.DataObject
) -> None:
    row = columns * 64 << (mode + 2)
    pitch = (row + 0xFF) & ~0xFF
    limit = last_line << 16 | (columns * 64 - 1)
    space = GlobalSpace(0x4000, pitch, limit, mode << 8)
    x = data.draw(st.integers(0, columns * 64 - 1))
    y = data.draw(st.integers(0, last_line))
    access = space.access(y << 16 | x)
    assert not access.out_of_bounds
    assert space.reg_of(access.address) == y << 16 | x
    assert access.offset < (last_line // (4 << mode) + 1) * pitch
    assert space.notes() == []


def test_tiling_covers_a_tile_once() -> None:
    space = GlobalSpace(0, 0x200, 7 << 16 | 127, 0x100)
    offsets = {space.access(y << 16 | x).offset for y in range(8) for x in range(128)}
    assert offsets == set(range(8 * 128))


@pytest.mark.parametrize(
    ("mode", "limit", "reg", "outside"),
    [
        (1, 0xFFF, 0xFFF, False),
        (1, 0xFFF, 0x1000, True),
        (0, 0x000F00FF, 0x000F00FF, False),
        (0, 0x000F00FF, 0x00100000, True),
        (0, 0x000F00FF, 0x00000100, True),
        (0, 0x000F00FF, 0x00100100, True),
    ],
)
def test_limits_per_axis(mode: int, limit: int, reg: int, outside: bool) -> None:
    assert GlobalSpace(0, 0x400, limit, mode).access(reg).out_of_bounds == outside


@rows(
    ("argv", "words"),
    [
        (["global", "0", "--pitch", "0x80"], "DATA_ERROR 0x04 INVALID_VALUE: pitch 0x80"),
        (["global", "0", "--pitch", "0x800100"], "up to 0x800000"),
        (["global", "0", "--limit", "0x1000"], "multiple of 0x100, less 1"),
        (["global", "0", "--mode", "0x600"], "tile mode 6"),
        (["global", "0", "--mode", "0x10"], "bits 7:4"),
        (["global", "0", "--mode", "2"], "INVALID_BITFIELD"),
        (["global", "0x100000000"], "32 bits"),
        (["global"], "either"),
        (["global", "--address", "0x10", "--base", "0x20"], "within the limit"),
        (["const", "CB_DATA", "0"], "none of CB_ADDR"),
        (["const", "CB_DEF_SET", "0x10080"], "not a multiple of 0x100"),
        (["const", "CB_ADDR", "0x80"], "unknown bits"),
        (["const", "SET_PROGRAM_CB", "0x11", "--object", "tesla"], "program type 1"),
        (["regs", "$r128"], "the last is $r127"),
        (["regs", "$r64l"], "halves exist up to index 63"),
        (["regs", "$r3d"], "divisible by 2"),
        (["regs", "$r6q"], "divisible by 4"),
        (["regs", "$r126q"], "the last is $r124q"),
        (["regs", "$c4"], "$c0 to $c3"),
        (["regs", "$a8"], "$a0 to $a7"),
        (["regs", "$o4d"], "no pairs"),
        (["regs", "$o3"], "write-only"),
        (["regs", "$o3=1"], "CP programs have no outputs"),
        (["regs", "$physid=1"], "read-only"),
        (["regs", "$r1l=0x10000"], "16 bits"),
        (["regs", "$x"], "no register '$x'"),
        (["regs", "$r0", "--alloc", "129"], "0 to 128"),
        (["cflags", "16"], "4 bits"),
        (["cflags", "--add", "1"], "two integers"),
        (["cflags", "1", "--integer", "--float"], "exclude"),
        (["cflags", "1", "--integer", "--bits", "0"], "1 to 64"),
        (["method", "NOPE", "1"], "no method 'NOPE'"),
        (["method", "CB_DATA[16]", "1"], "0 to 15"),
        (["method", "tesla.LAUNCH", "0"], "no method LAUNCH"),
        (["method", "GRIDDIM", "x"], "not a number"),
    ],
)
def test_bad_input(argv: list[str], words: str, refuse: Callable[..., str]) -> None:
    assert words in refuse(*argv)


@pytest.mark.parametrize("word", ["CB_DEF_SET", "0x2ac", "tesla.0x1288", "turing.cb_def_set"])
def test_const_words_by_name_and_number(word: str) -> None:
    code, text = REGISTRY.run_decoder("const", [word, "0x7f0000"])
    assert (code, text.rpartition(": ")[2]) == (0, "buffer 127, 65536 bytes")


def test_register_views() -> None:
    held = ThreadRegisters(allocated=16)
    held.write("$r4q", 0x44444444_33333333_22222222_11111111)
    assert held.read("r5") == 0x22222222
    assert held.read("$r6d") == 0x44444444_33333333
    held.write("$r5h", 0xABCD)
    assert (held.read("$r5"), held.read("$r5l"), held.read("$r5h")) == (0xABCD2222, 0x2222, 0xABCD)


def test_registers_beyond_the_allocation_read_zero() -> None:
    held = ThreadRegisters(allocated=6)
    held.write("$r4q", (1 << 128) - 1)
    assert held.read("$r4q") == (1 << 64) - 1
    assert held.read("$r6") == 0
    assert "beyond" in (held.note("$r6") or "")
    assert held.note("$r5") is None


def test_outputs() -> None:
    held = ThreadRegisters(outputs=64, program="VP")
    held.write("$o3", 0x12345678)
    held.write("$o4l", 0xABCD)
    held.write("$o5h", 0x1234)
    held.write("$o63", 7)
    held.write("$o63h", 0xFFFF)
    held.write("$o127", 9)
    held.write("$o100", 9)
    assert held.o[3] == 0x12345678
    assert held.o[4] == 0xABCDABCD
    assert held.o[5] == 0x12341234
    assert held.o[63] == 7, "$o63h is a bit bucket"
    assert held.o[127] == held.o[100] == 0


def test_output_127_is_a_bucket_even_when_declared() -> None:
    held = ThreadRegisters(outputs=128, program="GP")
    held.write("$o127", 9)
    assert held.o[127] == 0


def test_address_and_special_registers() -> None:
    held = ThreadRegisters(specials={"physid": 0x410B05})
    for index in range(8):
        held.write(f"$a{index}", 0x100 + index)
    assert [held.read(f"$a{i}") for i in range(8)] == [
        0, 0x101, 0x102, 0x103, 0x104, 0, 0, 0x107,
    ]  # fmt: skip
    assert held.read("$physid") == held.read("$sr0") == 0x410B05
    assert (held.read("$sr2"), held.read("$sr3")) == (0, 0x20)


def test_condition_registers() -> None:
    held = ThreadRegisters()
    held.write("$c1", 0b0101)
    assert [held.read(f"$c1.{flag}") for flag in "zsco"] == [1, 0, 1, 0]
    held.write("$c1.s", 1)
    held.write("$c1.z", 0)
    assert held.read("$c1") == 0b0110


@given(words, words)
def test_flags_of_addition(a: int, b: int) -> None:
    result, found = flags.of_addition(a, b)
    signed = [word - (1 << 32) if word >> 31 else word for word in (a, b)]
    assert result == (a + b) & 0xFFFFFFFF
    assert bool(found & flags.ZERO) == (result == 0)
    assert bool(found & flags.SIGN) == bool(result >> 31)
    assert bool(found & flags.CARRY) == (a + b > 0xFFFFFFFF)
    assert bool(found & flags.OVERFLOW) == (not -(1 << 31) <= sum(signed) < 1 << 31)


@given(words, words)
def test_predicates_of_a_comparison_are_the_integer_orders(a: int, b: int) -> None:
    signed = [word - (1 << 32) if word >> 31 else word for word in (a, b)]
    _, found = flags.of_addition(a, ~b & 0xFFFFFFFF, 32, 1)
    holding = set(flags.holding(found))
    assert ("lg" in holding) == (a != b)
    assert ("lu" in holding) == (signed[0] < signed[1])
    assert ("ge" in holding) == (signed[0] >= signed[1])
    assert ("g" in holding) == (signed[0] > signed[1])
    assert ("leu" in holding) == (signed[0] <= signed[1])
    assert ("nc" in holding) == (a < b)
    assert ("a" in holding) == (a > b)


@pytest.mark.parametrize(
    ("value", "name", "predicates"),
    [
        (1.5, "-", {"g", "lg", "lge", "ge"}),
        (-2.0, "s", {"l", "lg", "le", "lu"}),
        (0.0, "z", {"e", "le", "ge", "lge"}),
        (math.nan, "zs", {"u", "eu", "geu", "leu"}),
    ],
)
def test_flags_of_floats(
    value: float, name: str, predicates: set[str], decode: Callable[..., Any]
) -> None:
    (word,) = struct.unpack("<I", struct.pack("<f", value))
    found = decode("cflags", word, "--float")
    assert found["names"] == name
    assert predicates <= set(found["predicates"])
    if name == "zs":
        assert not {"e", "l", "g", "le", "ge", "lge"} & set(found["predicates"])


def test_each_predicate_and_its_opposite() -> None:
    table = {predicate.code: predicate for predicate in flags.PREDICATES}
    assert len(table) == 24
    for held in range(16):
        for code in range(0x10, 0x14):
            assert table[code].holds(held) != table[{0x10: 0x1F, 0x11: 0x1E, 0x12: 0x1D,
                                                     0x13: 0x1C}[code]].holds(held)  # fmt: skip
        assert not table[0].holds(held)
        assert table[15].holds(held)


DECODERS = ("physid", "hierarchy", "local", "stack", "const", "global", "regs", "cflags", "method")
FLAGS = (
    "--chipset", "--pmc", "--tp-mask", "--mp-mask", "--physid", "--tp", "--mp", "--warp", "--lane",
    "--program", "--addr", "--entry", "--no-clamp", "--size", "--base", "--dump", "--encode",
    "--mask", "--mode", "--limit", "--pitch", "--address", "--alloc", "--add", "--float", "--bits",
    "--local-warps-log-alloc", "--stack-size-log", "--object", "--json", "--", "-h",
)  # fmt: skip
VALUES = (
    "0", "1", "7", "0xa0", "0xffffffff", "-1", "x", "", "$r3", "$o5l=2", "CB_ADDR", "LAUNCH",
    "call", "tesla", "CP", "\u00d7", "1e9", "9" * 40,
)  # fmt: skip


@given(st.sampled_from(DECODERS), st.lists(st.sampled_from(FLAGS + VALUES), max_size=6))
@settings(max_examples=300)
def test_no_arguments_make_a_decoder_fail(name: str, argv: list[str]) -> None:
    code, output = REGISTRY.run_decoder(name, argv)
    assert code in (0, 2) or (name == "method" and code == 4)
    assert output
    assert "failed:" not in output
    assert "does not load" not in output


def test_models_are_inverse() -> None:
    for model, position in (
        (models.LocalModel(), {"addr": 0x124, "lane": 9, "warp": 3, "mp": 1, "tp": 0}),
        (models.StackModel(), {"entry": 13, "warp": 3, "mp": 1, "tp": 0}),
        (models.GlobalModel(base=0x1000, mode=0x100, pitch=0x1000), {"reg": 0x000900FF}),
    ):
        found = model.position_of(model.address_of(position))
        assert {key: found[key] for key in position} == position
    with pytest.raises(UsageError, match="lane, warp"):
        models.LocalModel().address_of({"addr": 0, "mp": 0, "tp": 0})
    with pytest.raises(UsageError, match="out of bounds"):
        models.GlobalModel(limit=0xFF).address_of({"reg": 0x100})
