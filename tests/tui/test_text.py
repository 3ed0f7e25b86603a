"""Rows, glyph sets and palettes."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudbg.frontends.tui import glyphs, theme
from gpudbg.frontends.tui.text import Row, clean, fit, lay_out, row, strip
from tests.narrowing import there

SPANS = st.lists(st.tuples(st.text(max_size=12), st.just("text")), max_size=6)


@given(SPANS, SPANS, st.integers(1, 90))
def test_a_row_fills_exactly_its_width(left: Any, right: Any, width: int) -> None:
    line = Row(tuple(left), right=tuple(right))
    assert sum(len(t) for t, _ in lay_out(line, width, "~")) == width


@given(st.text(min_size=1, max_size=40))
def test_program_text_never_reaches_the_terminal_raw(text: str) -> None:
    assert all(c.isprintable() or c == "\u00ad" for c in clean(text) if ord(c) < 0xA0)


def test_control_characters_become_dots() -> None:
    assert clean("a\x1b[31mb\n") == "a·[31mb·"


def test_cut_text_shows_it() -> None:
    spans = lay_out(row(("IADD32I R4, R4, 0x1", "text")), 10, "…")
    assert "".join(t for t, _ in spans) == "IADD32I R…"
    assert fit("abcdef", 4, "…") == "abc…"


def test_the_right_part_survives() -> None:
    line = Row((("a long left part", "text"),), right=(("inferred", "muted"),))
    text = "".join(t for t, _ in lay_out(line, 20, "…"))
    assert text == "a long lef… inferred"


def test_a_tint_covers_the_row() -> None:
    spans = lay_out(Row((("x", "now"), ("y", "you/lane-band")), tint="now-bg"), 5, "…")
    assert [s for _, s in spans] == ["now/now-bg", "you/lane-band", "text/now-bg"]


def test_ascii_glyphs_are_ascii_and_one_cell_wide() -> None:
    for field in dataclasses.fields(glyphs.Glyphs):
        value = getattr(glyphs.ASCII, field.name)
        assert value.isascii(), field.name
        assert len(value) == len(getattr(glyphs.UNICODE, field.name)) or field.name == "name"


@pytest.mark.parametrize(
    ("env", "name"),
    [
        ({"LANG": "en_US.UTF-8"}, "unicode"),
        ({"LANG": "C.UTF-8"}, "unicode"),
        ({"LANG": "C"}, "ascii"),
        ({"LANG": "C.UTF-8", "TERM": "linux"}, "ascii"),
        ({"LC_ALL": "de_DE.ISO-8859-1"}, "ascii"),
        ({"LANG": "ja_JP.UTF-8"}, "ascii"),
        ({"LANG": "ja_JP.UTF-8", "GPUDBG_ASCII": "0"}, "unicode"),
        ({"LANG": "en_US.UTF-8", "GPUDBG_ASCII": "1"}, "ascii"),
    ],
)
def test_glyphs_follow_the_locale(env: dict[str, str], name: str) -> None:
    assert glyphs.choose(env).name == name


@pytest.mark.parametrize(
    ("env", "name"),
    [
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, "dark"),
        ({"TERM": "xterm-256color"}, "256"),
        ({"TERM": "tmux-256color"}, "256"),
        ({"TERM": "xterm"}, "16"),
        ({"TERM": "screen"}, "16"),
        ({"TERM": "linux"}, "16"),
        ({"TERM": "xterm", "NO_COLOR": "1"}, "mono"),
        ({"TERM": "xterm", "GPUDBG_THEME": "light"}, "light"),
    ],
)
def test_palette_follows_the_terminal(env: dict[str, str], name: str) -> None:
    assert theme.choose(env).name == name


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(a: str, b: str) -> float:
    high, low = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", ["dark", "light", "contrast", "256"])
def test_text_can_be_read_on_every_ground(name: str) -> None:
    c = theme.PALETTES[name].colours
    for ground in ("bg", "band", "now-bg", "you-bg", "stop-bg", "lane-band"):
        assert _contrast(c["text"], c[ground]) >= 7, ground
        assert _contrast(c["muted"], c[ground]) >= 3.9, ground
    assert _contrast(c["dim"], c["bg"]) >= 3.1
    for role in ("now", "you", "stop", "run"):
        assert _contrast(c[role], c["bg"]) >= 4.3, role


def test_the_256_palette_keeps_amber_and_red_grounds_apart() -> None:
    from rich.color import ColorSystem

    p = theme.PALETTES["256"]
    grounds = {
        there(p.style(f"text/{g}").bgcolor).downgrade(ColorSystem.EIGHT_BIT).number
        for g in ("bg", "now-bg", "stop-bg", "you-bg")
    }
    assert len(grounds) == 4


def test_without_colour_attributes_carry_the_meaning() -> None:
    p = theme.PALETTES["mono"]
    assert p.style("text/now-bg").reverse
    assert p.style("now").bold
    assert not p.style("text").bold


def test_strip_has_the_asked_width() -> None:
    assert strip(row(("x", "text")), 7, theme.PALETTES["dark"], "…").cell_length == 7
