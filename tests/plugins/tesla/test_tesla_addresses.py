"""The address cases whole, and the bijection between positions and addresses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gpudbg_plugins.tesla.hierarchy import Chip, Hierarchy
from gpudbg_plugins.tesla.mangle import VALID_LOG_ALLOC, LocalLayout, StackLayout
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.variants import rows

CASES = json.loads((Path(__file__).parent / "tesla-address-cases.json").read_text())["cases"]
MACHINE = ("chipset", "tp_mask", "mp_mask", "no_clamp")
LOCAL = (*MACHINE, "program", "warp_halves_method", "local_warps_log_alloc")
STACK = (*MACHINE, "stack_warps_log_alloc")
LOCAL_SPOT = ("addr", "lane", "warp", "mp", "tp")
STACK_SPOT = ("entry", "warp", "mp", "tp")


def options(case: dict[str, Any], keys: tuple[str, ...]) -> list[str]:
    return [word for key in keys for word in (f"--{key.replace('_', '-')}", str(case[key]))]


@rows("case", CASES, ids=[case["id"] for case in CASES])
def test_case_forward(case: dict[str, Any], decode: Callable[..., Any]) -> None:
    keys = LOCAL + LOCAL_SPOT if case["kind"] == "local" else STACK + STACK_SPOT
    found = decode(case["kind"], *options(case, keys))
    wanted = {key: value for key, value in case.items() if key != "id"}
    assert {key: found[key] for key in wanted} == wanted


@rows("case", CASES, ids=[case["id"] for case in CASES])
def test_case_backward(case: dict[str, Any], decode: Callable[..., Any]) -> None:
    keys = LOCAL if case["kind"] == "local" else STACK
    found = decode(case["kind"], case["address"], *options(case, keys))
    log = case[f"{case['kind']}_warps_log_alloc"]
    same = ("addr", "lane", "mp", "tp") if case["kind"] == "local" else ("entry", "mp", "tp")
    assert {key: found[key] for key in same} == {key: case[key] for key in same}
    assert found["warp"] == case["warp"] % (1 << (5 if log == 7 else log))
    assert (case["warp"] in found["warps"]) == case["warp_runs"]


machines = st.builds(
    lambda chipset, tps, mps: (Chip(chipset), Hierarchy(tps, mps)),
    st.integers(0x50, 0xAF),
    st.integers(1, 0xFFFF),
    st.integers(1, 0xF),
)
logs = st.sampled_from(VALID_LOG_ALLOC)


@given(machines, st.sampled_from((1, 2)), logs, st.integers(0, 1), st.integers(0, (1 << 32) - 1))
@settings(max_examples=300)
def test_local_address_to_position_and_back(
    machine: tuple[Chip, Hierarchy], halfwarps: int, log: int, no_clamp: int, seed: int
) -> None:
    layout = LocalLayout.make(*machine, halfwarps=halfwarps, log_alloc=log, no_clamp=no_clamp)
    address = seed % layout.size(0xD)
    spot = layout.position(address)
    if spot.owner is None:
        assert machine[0].chipset < 0xA0
        return
    owner = spot.owner
    assert layout.address(spot.addr, spot.lane, owner.warp, owner.mp, owner.tp) == address
    for warp in owner.warps:
        assert layout.address(spot.addr, spot.lane, warp, owner.mp, owner.tp) == address
        assert layout.group.runs(warp)


@given(machines, logs, st.integers(0, 1), st.data())
@settings(max_examples=300)
def test_stack_position_to_address_and_back(
    machine: tuple[Chip, Hierarchy], log: int, no_clamp: int, data: st.DataObject
) -> None:
    layout = StackLayout.make(*machine, log_alloc=log, no_clamp=no_clamp)
    entry = data.draw(st.integers(0, 4095))
    warp = data.draw(st.integers(0, layout.group.warp_slots - 1))
    mp = data.draw(st.sampled_from(machine[1].mps))
    tp = data.draw(st.sampled_from(machine[1].tps))
    address = layout.address(entry, warp, mp, tp)
    assert address < layout.size(0xD)
    found = layout.position(address)
    assert found.owner is not None
    assert (found.entry, found.byte) == (entry, 0)
    assert (found.owner.warp, found.owner.mp, found.owner.tp) == (warp, mp, tp)


@pytest.mark.parametrize("chipset", [0x50, 0xA0])
@pytest.mark.parametrize("halfwarps", [1, 2])
def test_local_addresses_of_one_outer_step_are_all_different(chipset: int, halfwarps: int) -> None:
    units = Hierarchy(0b10110, 0b101)
    layout = LocalLayout.make(Chip(chipset), units, halfwarps=halfwarps, log_alloc=1, no_clamp=1)
    seen = [
        layout.address(addr, lane, warp, mp, tp)
        for addr in range(16)
        for lane in range(layout.lanes)
        for warp in range(2)
        for mp in units.mps
        for tp in units.tps
    ]
    assert len(set(seen)) == len(seen)
    holes = layout.group.tps_size - len(seen)
    assert holes == (0 if chipset >= 0xA0 else layout.group.warps_size)
    assert all(address < layout.group.tps_size for address in seen)


def test_wide_access_touches_places_64_bytes_apart(decode: Callable[..., Any]) -> None:
    found = decode("local", "--addr", 0x20, "--lane", 3, "--size", 16)
    first = found["address"]
    assert found["words"] == [first, first + 0x40, first + 0x80, first + 0xC0]


def test_physid_names_the_thread(decode: Callable[..., Any]) -> None:
    machine = ("--chipset", 0xA0, "--pmc", 0x07000010)
    by_physid = decode("local", "--addr", 8, "--physid", 0x00410B05, *machine)
    by_ids = decode("local", "--addr", 8, "--tp", 4, "--mp", 1, "--warp", 11, "--lane", 5, *machine)
    assert by_physid == by_ids


def test_hole_belongs_to_nobody(decode: Callable[..., Any]) -> None:
    found = decode("stack", 3 * 0x800, "--chipset", 0x50, "--tp-mask", 7, "--mp-mask", 3)
    assert found["hole"]
    assert found["tp"] is None


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["local", "0", "--local-warps-log-alloc", "5"], "use 7 if you mean 5"),
        (["local", "0", "--local-warps-log-alloc", "6"], "valid values are 0-4 and 7"),
        (["stack", "0", "--stack-warps-log-alloc", "5"], "use 7 if you mean 5"),
        (["stack", "0", "--stack-warps-log-alloc", "8"], "invalid value"),
        (["local", "0", "--no-clamp", "2"], "NO_CLAMP 2"),
        (["local", "0", "--warp-halves-method", "3"], "WARP_HALVES 3"),
        (["local", "0", "--warp-halves-method", "0", "--program", "FP"], "1 or 2"),
        (["local", "--addr", "0", "--lane", "16", "--warp-halves-method", "1"], "16 lanes"),
        (["local", "--addr", "0", "--tp", "3"], "TP 3 is not active"),
        (["local", "--addr", "0", "--mp", "2"], "MP 2 is not active"),
        (["local", "--addr", "0x10000"], "16 bits"),
        (["local", "--addr", "2", "--size", "4"], "not aligned"),
        (["local", "--addr", "0", "--size", "3"], "1, 2, 4, 8 or 16"),
        (["local", "--addr", "64", "--local-size-log", "3"], "beyond the 64 bytes"),
        (["local", "0", "--local-size-log", "14"], "0 to 0xd"),
        (["local", "0x80000000"], "beyond 64 KiB"),
        (["local", "0x100000000"], "4 GiB"),
        (["local", "-1"], "4 GiB"),
        (["local", "0", "--base", "0x100"], "above the base"),
        (["local", "0", "--chipset", "0x40"], "not of the Tesla family"),
        (["local", "0", "--tp-mask", "0"], "no TP is active"),
        (["local", "0", "--pmc", "0x0f000000"], "no TP is active"),
        (["local", "0", "--pmc", "1"], "no MP is active"),
        (["local", "0", "--pmc", "0x01000001", "--tp-mask", "1"], "exclude"),
        (["local", "0", "--addr", "0"], "either"),
        (["local"], "either"),
        (["local", "zero"], "'zero' is not a number"),
        (["local", "0", "1"], "unexpected argument"),
        (["stack", "--entry", "8", "--stack-size-log", "4"], "beyond the 8 entries"),
        (["stack"], "one of"),
        (["stack", "0", "--entry", "0"], "one of"),
        (["stack", "--dump", "/no/such/file"], "/no/such/file"),
        (["stack", "--dump", "/"], "directory"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(argv: list[str], words: str, refuse: Callable[..., str]) -> None:
    assert words in refuse(*argv)
