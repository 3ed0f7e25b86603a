"""What `make test` leaves to `make test-all`: the same in every run, and a part of each class."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from tests import variants

ROW = list(range(100))


@pytest.fixture(autouse=True)
def _nothing_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variants, "left", Counter())


@pytest.fixture(params=[False, True])
def whole(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(variants, "full", lambda: request.param)
    return bool(request.param)


class Item:
    """A collected test, as far as the choice looks at it."""

    def __init__(self, nodeid: str, params: dict[str, Any], marker: pytest.Mark) -> None:
        self.nodeid = nodeid
        self.callspec = SimpleNamespace(params=params)
        self.markers = {marker.name: marker}

    def get_closest_marker(self, name: str) -> Any:
        return self.markers.get(name)


def items(marker: pytest.Mark) -> list[Any]:
    return [
        Item(f"test_x.py::test_y[{arch}-{n}]", {"arch": arch, "n": n}, marker)
        for arch in ("sm_50", "sm_80", "sm_90")
        for n in range(20)
    ]


def test_a_row_is_cut_at_equal_distances(whole: bool) -> None:
    taken = variants.some("a row", ROW, 10)
    assert taken == variants.some("a row", ROW, 10)
    assert len(taken) == (100 if whole else 10)
    if not whole:
        assert {n // 10 for n in taken} == set(range(10))


def test_every_thing_has_its_variant(whole: bool) -> None:
    taken = variants.in_turn(ROW, lambda n: n % 7)
    assert {n % 7 for n in taken} == set(range(7))
    assert len(taken) == (100 if whole else 7)
    assert variants.in_turn(ROW, lambda n: n % 7, first=True)[:3] == (
        [0, 7, 14] if whole else ROW[:3]
    )
    assert variants.number(3, 30) == (30 if whole else 3)


def test_parameter_sets_of_each_value() -> None:
    kept, left = variants.choose(items(pytest.mark.in_turn(2, each="arch").mark))
    assert len(kept) == 6
    assert len(left) == 54
    assert {item.nodeid.partition("[")[2][:5] for item in kept} == {"sm_50", "sm_80", "sm_90"}
    again, _ = variants.choose(items(pytest.mark.in_turn(2, each="arch").mark)[::-1])
    assert {item.nodeid for item in again} == {item.nodeid for item in kept}


def test_what_another_test_stands_for_is_left_out() -> None:
    kept, left = variants.choose(items(pytest.mark.full(instead="test_z").mark))
    assert (len(kept), len(left)) == (0, 60)
