"""What a race check keeps of memory is the same, packed or not."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from gpudbg.sanitizer.launched_warps import MOST_WARPS, LaunchedWarps, WarpPlace
from gpudbg.sanitizer.race_cells import Cells
from gpudbg.sanitizer.race_records import AccessRecord, Agent, Cell
from gpudbg.sanitizer.race_window import RaceWindow

LAUNCHED = LaunchedWarps(1 << 30, (5, 3, 2), (40, 2, 1))


def cells_of_memory() -> Cells:
    return Cells(LAUNCHED, RaceWindow(), shared=False)


def record(dice: random.Random, kind: str) -> AccessRecord:
    warp = LAUNCHED.base + dice.randrange(30) * MOST_WARPS + dice.randrange(3)
    lane = dice.randrange(32)
    return AccessRecord(
        warp, dice.choice((1 << lane, 0xFFFFFFFF, 0xFF00, 0x30)), dice.randrange(1 << 20),
        dice.choice((15, 1, 12)), dice.randrange(8) * 16, 0, kind,
        dice.choice((None, 0, 0xFFFFFFFF)) if kind == "store" else None,
        WarpPlace(warp, LAUNCHED), (warp - LAUNCHED.base) // MOST_WARPS, dice.choice((1, 4, 16)),
        read_only=kind == "load" and dice.random() < 0.5,
    )  # fmt: skip


def test_packed_records_are_those_that_were_put() -> None:
    dice, cells, known = random.Random(3), cells_of_memory(), {}
    for _ in range(4000):
        number = dice.randrange(600) * 7
        cell = Cell(
            [record(dice, "store") for _ in range(dice.randrange(3))],
            [record(dice, "load") for _ in range(dice.randrange(1, 3))],
        )
        cells.put(number, cell)
        known[number] = cell.writes[:], cell.reads[:]
    assert {*cells.numbers()} == {*known}
    assert len(cells) == len(known)
    for number, (writes, reads) in known.items():
        found = cells.get(number)
        assert found is not None
        assert (found.writes, found.reads) == (writes, reads)
    assert not cells._rich


def test_bytes_of_neighbouring_lanes_are_one_word() -> None:
    cells = cells_of_memory()
    one = replace(record(random.Random(1), "store"), value=7, size=1)
    writes = [replace(one, lanes=16 << n, bytes=1 << n) for n in range(4)]
    cells.put(4, Cell(writes * 4, []))
    assert len(cells) == 1
    found = cells.get(4)
    assert found is not None
    assert found.writes == writes * 4
    assert not cells._rich


@pytest.mark.parametrize(
    "more", [{"strong": 2, "number": 1 << 18}, {"lanes": 0x11}, {"tick": 1 << 20}]
)
def test_others_are_kept_as_they_are(more: dict[str, int]) -> None:
    cells, dice = cells_of_memory(), random.Random(5)
    plain = record(dice, "load")
    cells.put(9, Cell([], [plain]))
    cell = Cell([replace(plain, kind="store", **more)], [plain])  # type: ignore[arg-type]
    cells.put(9, cell)
    assert len(cells) == 1
    assert cells.get(9) is cell
    cells.put(9, Cell([], [plain]))
    assert len(cells) == 1
    found = cells.get(9)
    assert found is not None
    assert (found.writes, found.reads) == ([], [plain])
    assert not cells._rich


@pytest.mark.parametrize("count", [1, 5, 20])
def test_strong_accesses_and_copies_keep_their_order(count: int) -> None:
    cells, dice = cells_of_memory(), random.Random(count)
    made = Cell()
    for n in range(count):
        agent = Agent("copy", -1 - n, 1, n + 1, False) if dice.random() < 0.5 else None
        kind = dice.choice(("store", "atomic", "load"))
        more: dict[str, Any] = {"strong": dice.randrange(3), "lanes": 1, "value": 5, "pc": 16 * n}
        one = replace(record(dice, kind), agent=agent, unread=kind == "atomic", **more)
        made.counted(one)
        (made.writes if one.writes else made.reads).append(one)
    writes, reads, state = made.writes[:], made.reads[:], (made.number, made.chain)
    cells.put(3, made)
    cells._close()
    assert not cells._rich
    assert len(cells) == 1
    found = cells.get(3)
    assert found is not None
    assert (found.writes, found.reads) == (writes, reads)
    ordered = any(r.strong or r.agent for r in (*writes, *reads))
    assert (found.number, found.chain) == (state if ordered else (0, 0))


def test_a_thread_has_the_coordinates_of_its_launch() -> None:
    place = WarpPlace(LAUNCHED.base + 7 * MOST_WARPS + 1, LAUNCHED)
    assert (place.cta, place.block, place.index) == (7, (2, 1, 0), 1)
    assert place.thread(9) == (1, 1, 0)
