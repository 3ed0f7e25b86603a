"""Memory pane: typed columns, search, and the map of allocations."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from gpudbg.debug.pictures import MemoryPage
from gpudbg.errors import CommandError
from gpudbg.frontends.tui.memory_search import find, needle
from gpudbg.frontends.tui.screens.history import HistoryScreen
from gpudbg.frontends.tui.widgets.memory import (
    COLUMNS,
    MemoryPane,
    form_of,
    page_rows,
    word_text,
)
from tests.launching import FIRST
from tests.narrowing import a, there

from .helpers import current, make_app, open_first, open_kernel, press, screen_text, settle, view_of


def test_what_is_typed_becomes_bytes() -> None:
    assert needle("0x1f") == (b"\x1f\0\0\0", 4)
    assert needle("-3") == (b"\xfd\xff\xff\xff", 4)
    assert needle("0x705000000") == ((0x705000000).to_bytes(8, "little"), 8)
    assert needle("1.5") == (struct.pack("<f", 1.5), 4)
    assert needle('"abc"') == (b"abc", 1)
    with pytest.raises(CommandError):
        needle(" ")
    with pytest.raises(CommandError):
        needle("0x1" + 16 * "0")


def test_search_goes_around_and_minds_alignment() -> None:
    data = bytes([0, 7, 0, 0, 7, 0, 0, 0, 7, 0, 0, 0])
    seven = (7).to_bytes(4, "little")
    assert find(data, seven, -1, 4) == 4
    assert find(data, seven, 4, 4) == 8
    assert find(data, seven, 8, 4) == 4
    assert find(data, b"\x07", 4, 1) == 8
    assert find(data, b"\x09", 0, 1) is None


@pytest.mark.parametrize(
    ("form", "raw", "text"),
    [
        ("bytes", b"\xfe", "fe"),
        ("i16", b"\xfe\xff", "-2"),
        ("hex64", (0x705000000).to_bytes(8, "little"), "0000000705000000"),
        ("f64", struct.pack("<d", -2.5), "-2.5"),
    ],
)
def test_typed_columns(form: str, raw: Any, text: str) -> None:
    assert word_text(raw, form) == text


def test_rows_of_a_form_stand_under_each_other() -> None:
    page = view_of(open_first(), space="global").memory
    for form in COLUMNS:
        rows = page_rows(there(page), form)
        assert len({len(r.text) for r in rows[:-1]}) == 1, form


async def test_search_map_and_follow() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(200, 60)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "M", *"in", "enter")
        values = app.session.buffer("in")
        base = there(current(app).memory).base
        await press(app, pilot, "slash", *str(int(values[100])), "enter")
        place = int((values == values[100]).argmax()) * 4
        assert there(current(app).memory).address == base + place & ~0xF
        assert f"at 0x{base + place:x}" in "\n".join(screen_text(app))
        await press(app, pilot, "slash", *"123456789", "enter")
        assert "is not in this memory" in "\n".join(screen_text(app))
        await press(app, pilot, "o", "o", "o", "o")
        assert there(current(app).memory).space == "map"
        pane = app.main.query_one(MemoryPane)
        known = [a.base for a in app.session.allocations()]
        assert [a(tuple, r.key)[1] for r in pane._content.rows if r.key] == sorted(known)
        await press(app, pilot, "home", "enter")
        assert there(current(app).memory).space == "global"
        assert there(current(app).memory).base == min(known)


SOURCE = """
extern "C" __global__ void block_max(const unsigned *in, int *out, int n)
"""


async def test_columns_are_of_the_parameters_type(tmp_path: Path) -> None:
    # The launch table says i32; the kernel's source, beside the cubin, knows better.
    cubin = tmp_path / FIRST.name
    cubin.write_bytes(FIRST.read_bytes())
    cubin.with_suffix(".toml").write_text(FIRST.with_suffix(".toml").read_text())
    cubin.with_suffix(".cu").write_text(SOURCE)
    app = make_app(open_kernel(cubin))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        pane = app.main.query_one(MemoryPane)
        assert pane.form == "hex", "nobody tells the type of shared memory"
        await press(app, pilot, "M", *"in", "enter")
        value = struct.unpack("<I", there(current(app).memory).data[:4])[0]
        assert pane.form == "u32"
        assert " in  u32[256]  0x" in pane.texts[0]
        assert f" {value} " in pane.texts[1]
        assert pane.texts[2].endswith("[4]")
        await press(app, pilot, "x")
        assert pane.form == "hex"
        assert " hex  in  u32[256]  0x" in pane.texts[0]
        await press(app, pilot, "o")
        assert pane.form == "i32", "the next buffer has a type of its own"
        await press(app, pilot, "M", *"in", "enter")
        assert pane.form == "hex", "a choice stays with its buffer"
        await press(app, pilot, "M", *"(@shared short*)16", "enter")
        assert (there(current(app).memory).space, pane.form) == ("shared", "i16")


@pytest.mark.parametrize(
    ("element", "form"),
    [("f32", "f32"), ("u8", "bytes"), ("f64", "f64"), ("b8", "hex"), ("", "hex"), ("u64", "u64")],
)
def test_the_form_of_a_type(element: str, form: str) -> None:
    assert form_of(element) == form


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_after_the_end_memory_shows_what_came_out(size: tuple[int, int]) -> None:
    app = make_app(open_first())
    async with app.run_test(size=size) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "5")
        pane = app.main.query_one(MemoryPane)
        assert there(current(app).memory).space == "shared"
        await press(app, pilot, "c")
        page = current(app).memory
        assert (there(page).space, there(page).error) == ("global", "")
        assert there(page).label.startswith("out "), "the launch table marks it"
        await press(app, pilot, "5")
        assert str(int(app.session.buffer("out")[0])) in pane.texts[1]
        # Spaces of a warp are passed over while there is none.
        seen = set()
        for _ in range(4):
            await press(app, pilot, "5", "o")
            seen.add(there(current(app).memory).space)
        assert seen == {"global", "map"}
        app.options.space, app.options.address = "shared", 64
        await press(app, pilot, "r")
        assert (
            there(current(app).memory).space,
            there(current(app).memory).address,
        ) == ("shared", 64)


def test_bytes_that_nobody_has_written_are_blank() -> None:
    data = bytes(range(1, 17))
    for form, texts in (
        ("hex", ["········", "····0605", "0c0b0a09", "100f0e0d"]),
        ("bytes", ["··", "··", "··", "··", "05", "06", "··", "··", "09"]),
        ("i32", ["··", str(0x08070605)]),
    ):
        page = MemoryPage(
            "shared", "", 0, 16, 0, data, unwritten=frozenset((0, 1, 2, 3, 6, 7))
        )  # fmt: skip
        words = [text.strip() for text, _ in page_rows(there(page), form)[0].spans[2::2]]
        assert words[: len(texts)] == texts
    assert "...." in page_rows(page, "hex", blank=".")[0].text


async def test_shared_memory_before_and_after_a_store() -> None:
    session = open_first()
    app = make_app(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        pane = app.main.query_one(MemoryPane)
        assert all("········ ········" in text for text in pane.texts[1:5])
        session.break_at("block_max+0x208")
        await press(app, pilot, "f5")
        assert not any("········" in text for text in pane.texts[1:5])
        await press(app, pilot, "5", "j", "i")
        assert "16 bytes" in "\n".join(screen_text(app))


@pytest.mark.full(instead="test_after_the_end_memory_shows_what_came_out")
async def test_output_and_history_say_never_written(tmp_path: Path) -> None:
    path = tmp_path / "k.sass"
    path.write_text(
        ".kernel k\n.param out 8\nS2R R0, SR_TID.X\nMOV R2, c[0x0][0x140]\n"
        "MOV R3, c[0x0][0x144]\nMOV32I R4, 0x7\nSTG.E [R2], R4\nSTG.E [R2+0xc], R4\nEXIT\n"
    )
    app = make_app(open_kernel(path, "--grid 1 --block 32 --arg out=i32[6]".split()))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        for line in ("break k+0x38", "continue"):
            app.main.run_command(line)
            await settle(app, pilot)
        await press(app, pilot, "9")
        texts = app.main.line_pane("output").texts
        assert "5 of 6 never written" in texts[1]
        assert texts[2].split() == ["0", "7", *["··"] * 5]
        app.main.run_command("stepi")
        await settle(app, pilot)
        await press(app, pilot, "h")
        changed = a(HistoryScreen, app.screen).changed.texts
        assert not any(text.split()[:1] == ["R4"] for text in changed)
        await press(app, pilot, "shift+left")
        changed = a(HistoryScreen, app.screen).changed.texts
        assert any("R4" in text and "never written → " in text for text in changed), changed


def test_a_watched_value_in_memory_is_never_written_as_in_its_pane() -> None:
    session = open_first()
    asked = ["shared[3]", "*(@shared int*)(4 * threadIdx.x)", "out[0]"]
    view = view_of(session, watches=asked)
    assert [w.why for w in view.watches][:2] == ["never written"] * 2
    session.execute("set var shared[3] = 0")
    view = view_of(session, watches=asked)
    assert view.watches[0].why == ""
    assert view.watches[0].focus_text == "0"
    assert view.watches[1].why == ""
