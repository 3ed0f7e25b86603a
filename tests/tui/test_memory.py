"""Memory pane: typed columns, search, and the map of allocations."""

from __future__ import annotations

import struct

import pytest

from gpudbg.errors import CommandError
from gpudbg.frontends.tui.memory_search import find, needle
from gpudbg.frontends.tui.widgets.memory import FORMATS, MemoryPane, page_rows, word_text

from .helpers import make_app, open_first, press, screen_text, settle, view_of


def test_what_is_typed_becomes_bytes():
    assert needle("0x1f") == (b"\x1f\0\0\0", 4)
    assert needle("-3") == (b"\xfd\xff\xff\xff", 4)
    assert needle("0x705000000") == ((0x705000000).to_bytes(8, "little"), 8)
    assert needle("1.5") == (struct.pack("<f", 1.5), 4)
    assert needle('"abc"') == (b"abc", 1)
    with pytest.raises(CommandError):
        needle(" ")
    with pytest.raises(CommandError):
        needle("0x1" + 16 * "0")


def test_search_goes_around_and_minds_alignment():
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
        ("double", struct.pack("<d", -2.5), "-2.5"),
    ],
)
def test_typed_columns(form, raw, text):
    assert word_text(raw, form) == text


def test_rows_of_a_form_stand_under_each_other():
    page = view_of(open_first(), space="global").memory
    for form in FORMATS:
        rows = page_rows(page, form)
        assert len({len(r.text) for r in rows[:-1]}) == 1, form


async def test_search_map_and_follow():
    app = make_app(open_first())
    async with app.run_test(size=(200, 60)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "M", *"in", "enter")
        values = app.session.buffer("in")
        base = app.main.current.memory.base
        await press(app, pilot, "slash", *str(int(values[100])), "enter")
        place = int((values == values[100]).argmax()) * 4
        assert app.main.current.memory.address == base + place & ~0xF
        assert f"at 0x{base + place:x}" in "\n".join(screen_text(app))
        await press(app, pilot, "slash", *"123456789", "enter")
        assert "is not in this memory" in "\n".join(screen_text(app))
        await press(app, pilot, "o", "o", "o", "o")
        assert app.main.current.memory.space == "map"
        pane = app.main.query_one(MemoryPane)
        known = [a.base for a in app.session.allocations()]
        assert [r.key[1] for r in pane._content.rows if r.key] == sorted(known)
        await press(app, pilot, "home", "enter")
        assert app.main.current.memory.space == "global"
        assert app.main.current.memory.base == min(known)
