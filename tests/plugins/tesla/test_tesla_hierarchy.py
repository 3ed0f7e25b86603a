"""Thread hierarchy, SM versions, physid, and the views over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from gpudbg_plugins.tesla import provenance, views
from gpudbg_plugins.tesla.hierarchy import Chip, Hierarchy, compressed_id, expand_id
from gpudbg_plugins.tesla.mangle import LocalLayout, StackLayout
from gpudbg_plugins.tesla.physid import PhysId
from hypothesis import given
from hypothesis import strategies as st


def test_physid_example(decode: Callable[..., Any]) -> None:
    found = decode("physid", "0x00410b05", "--chipset", 0xA0, "--pmc", 0x03000016)
    expected = {"lane": 5, "warp": 11, "mp": 1, "tp": 4, "quad": 1, "quad_lane": 1}
    assert {key: found[key] for key in expected} == expected
    assert (found["compressed_tp"], found["compressed_mp"], found["active"]) == (2, 1, True)
    assert found["notes"] == []


@given(st.integers(0, 15), st.integers(0, 3), st.integers(0, 31), st.integers(0, 31))
def test_physid_round_trip(tp: int, mp: int, warp: int, lane: int) -> None:
    ident = PhysId(tp, mp, warp, lane)
    assert PhysId.decode(ident.encode()) == ident
    assert ident.encode() & ~0x00F31F1F == 0


def test_physid_bits_no_chip_sets_are_told(decode: Callable[..., Any]) -> None:
    found = decode("physid", "0x01000020")
    assert found["lane"] == 32
    assert len(found["notes"]) == 2


def test_physid_of_a_missing_unit(decode: Callable[..., Any]) -> None:
    found = decode("physid", "0x00301a00", "--chipset", 0x86, "--tp-mask", 7, "--mp-mask", 3)
    assert not found["active"]
    assert "an MP of this chip has 24 warps" in found["notes"][0]


@pytest.mark.parametrize(
    ("pmc", "tps", "mps"),
    [
        (0x03000001, [0], [0, 1]),
        (0x05000016, [1, 2, 4], [0, 2]),
        (0xF7FF03FF, list(range(10)), [0, 1, 2]),
    ],
)
def test_pmc(pmc: int, tps: list[int], mps: list[int], decode: Callable[..., Any]) -> None:
    found = decode("hierarchy", pmc, "--chipset", 0xA0)
    assert (found["tps"], found["mps"]) == (tps, mps)
    assert found["mps_total"] == len(tps) * len(mps)
    assert found["threads_total"] == len(tps) * len(mps) * 32 * 32


@pytest.mark.parametrize(
    ("chipset", "name", "warps", "registers", "beyond"),
    [
        (0x50, "sm_10", 24, 8192, set()),
        (0x84, "sm_11", 24, 8192, {"atomics_g32", "breakpoints"}),
        (0x98, "sm_11", 24, 8192, {"atomics_g32", "breakpoints"}),
        (0xA0, "sm_13", 32, 16384, {"doubles", "vote", "atomics_g64", "atomics_s32"}),
        (0xA5, "sm_12", 32, 16384, {"vote", "atomics_g64", "atomics_s32"}),
        (0xA8, "sm_12", 32, 16384, {"vote", "atomics_g64", "atomics_s32"}),
    ],
)
def test_versions(
    chipset: int,
    name: str,
    warps: int,
    registers: int,
    beyond: set[str],
    decode: Callable[..., Any],
) -> None:
    found = decode("hierarchy", "0x01000001", "--chipset", chipset)
    assert (found["sm_version"], found["warps_per_mp"], found["registers_per_mp"]) == (
        name, warps, registers,
    )  # fmt: skip
    assert beyond <= set(found["features"])
    assert ("doubles" in found["features"]) == (name == "sm_13")
    assert found["sm_version_basis"] == "documented"


def test_unnamed_chips_say_so() -> None:
    assert Chip(0xAC).sm_version_basis.startswith("inferred")


@given(st.integers(1, 0xFFFF))
def test_compressed_ids_number_the_active_units(mask: int) -> None:
    units = Hierarchy(mask, 1)
    assert [compressed_id(mask, tp) for tp in units.tps] == list(range(units.tp_count))
    assert [expand_id(mask, i) for i in range(units.tp_count)] == list(units.tps)
    assert expand_id(mask, units.tp_count) is None


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["physid"], "either"),
        (["physid", "1", "--tp", "0"], "either"),
        (["physid", "0x100000000"], "32 bits"),
        (["physid", "--lane", "32"], "5 bits"),
        (["physid", "--mp", "4"], "2 bits"),
        (["physid", "--frob", "1"], "unknown option '--frob'"),
        (["physid", "--tp"], "needs a value"),
        (["physid", "--tp", "1", "--tp", "1"], "twice"),
        (["hierarchy", "0"], "no TP is active"),
        (["hierarchy", "0x10000"], "no TP is active"),
        (["hierarchy", "0xf"], "no MP is active"),
        (["hierarchy", "1", "--pmc", "1"], "once"),
        (["hierarchy", "0x01000001", "--chipset", "0xc0"], "not of the Tesla family"),
        (["hierarchy", "\u00bd"], "not a number"),
    ],
)
def test_bad_input(argv: list[str], words: str, refuse: Callable[..., str]) -> None:
    assert words in refuse(*argv)


def snapshot(stack: bool = False) -> views.TeslaSnapshot:
    chip, units = Chip(0x50), Hierarchy(0x16, 3)
    layout: LocalLayout | StackLayout
    if stack:
        layout = StackLayout.make(chip, units, log_alloc=2, no_clamp=1)
        return views.TeslaSnapshot(chip, units, None, layout, layout.address(5, 1, 1, 2))
    layout = LocalLayout.make(chip, units, halfwarps=2, log_alloc=3, no_clamp=1)
    address = layout.address(0x25, 21, 3, 1, 4)
    return views.TeslaSnapshot(chip, units, PhysId(4, 1, 3, 21), layout, address)


def test_hierarchy_view() -> None:
    lines = views.hierarchy(snapshot(), 80)
    assert "3 TP x 2 MP x 24 warps" in lines[0]
    assert lines[1].endswith("·")
    assert "[MP1]" in lines[5]
    assert lines[-1].replace("quads ", "").replace(" ", "").index("■") == 21


def test_ruler_view() -> None:
    lines = views.ruler(snapshot(), 80)
    assert (
        lines[0] == "0x00014f55 = outer 2x0x8000 + TP 2x0x2000 + warp 3x0x400 + MP 1x0x200 + 0x155"
    )
    assert "TP 4 MP 1 warp 3 lane 21, l[0x25]" in lines
    names, digits = lines[-2].split()[1:], lines[-1].split("(")[0].split()
    assert dict(zip(names, digits, strict=True)) == {
        "l4": "1", "a3": "0", "a2": "1", "l3": "0", "l2": "1", "l1": "0", "l0": "1",
        "a1": "0", "a0": "1",
    }  # fmt: skip
    assert "entry 5 byte 0" in "\n".join(views.ruler(snapshot(stack=True), 80))


@given(st.integers(0, 400), st.integers(0, (1 << 26) - 1))
def test_views_fit_their_width(width: int, address: int) -> None:
    held = snapshot()
    moved = views.TeslaSnapshot(held.chip, held.units, held.focus, held.layout, address)
    for line in (*views.hierarchy(moved, width), *views.ruler(moved, width)):
        assert len(line) <= max(width, views.MIN_WIDTH)


def test_views_draw_a_foreign_snapshot() -> None:
    assert views.hierarchy(object(), 80)
    assert views.ruler(object(), 80)


async def test_pane_follows_its_inputs_and_keeps_the_last_good_picture() -> None:
    from gpudbg_plugins.tesla.panes import TeslaPane
    from textual.app import App, ComposeResult
    from textual.widgets import Input, Static

    class Host(App[None]):
        def compose(self) -> ComposeResult:
            yield TeslaPane()

    app = Host()
    async with app.run_test(size=(100, 40)) as pilot:

        def text(name: str) -> str:
            return str(app.query_one(f"#tesla-{name}", Static).content)

        assert "1 TP x 2 MP" in text("hierarchy")
        app.query_one("#tesla-address", Input).value = "0x44c"
        await pilot.pause()
        assert "warp 1 lane 3, l[0x4]" in text("ruler")
        app.query_one("#tesla-address", Input).value = "0x44cz"
        await pilot.pause()
        assert "not a number" in text("error")
        assert "warp 1 lane 3, l[0x4]" in text("ruler")


def test_every_behaviour_has_a_standing_and_a_basis() -> None:
    for row in provenance.BEHAVIOURS:
        assert row.standing in ("documented", "inferred", "modelled")
        assert row.what
        if row.standing == "inferred":
            assert row.basis != "NV50 CUDA notes", row.what
    assert {row.standing for row in provenance.BEHAVIOURS} == {
        "documented", "inferred", "modelled",
    }  # fmt: skip
    assert all("NV50 CUDA notes" not in line for line in provenance.lines())
