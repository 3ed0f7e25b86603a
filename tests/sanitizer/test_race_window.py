"""Races are the same however little memory their records may take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.sanitizer import race_cells, race_window, run
from gpudbg.sanitizer.race_window import RaceWindow, Suspects, WrittenGranules
from gpudbg.sm.trace import ACCESS_WORDS, what_of
from tests.sanitizer.test_twins import HERE, TWINS
from tests.variants import rows


def found(kernel: str, arch: str, engine: str = "step") -> list[Any]:
    twin = TWINS[kernel]
    program = gpudbg.load(str(HERE / f"twins.{arch}.cubin"), engine=engine)
    report = gpudbg.check(
        program, kernel, grid=twin.grid, block=twin.block, args=twin.args, checks=("race",)
    )
    return sorted((f.kind, f.cause, f.relation, f.count, f.fingerprint) for f in report.findings)


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts the passes after the first exact one."""
    made, again = [0], run._Run._again

    def counted(self: Any, *given: Any) -> bool:
        made[0] += 1
        return again(self, *given)

    monkeypatch.setattr(run._Run, "_again", counted)
    return made


@rows(("kernel", "arch"), [("vec_bad", "sm_52"), ("hist_bad", "sm_52"), ("lastb_bad", "sm_80")])
def test_passes_over_parts_of_memory_find_the_same(
    kernel: str, arch: str, monkeypatch: pytest.MonkeyPatch, passes: list[int]
) -> None:
    whole, before = found(kernel, arch), passes[0]
    with monkeypatch.context() as confined:
        for module in race_window, race_cells:
            confined.setattr(module, "BUCKET", 4)
            confined.setattr(module, "OPEN", 4)
        confined.setattr(race_cells, "_OPEN", 4)
        confined.setattr(race_window, "FLOOR", 15_000)
        confined.setattr(race_window, "RATIO", 0)
        assert found(kernel, arch) == whole
    assert whole
    assert passes[0] > before + 1


def test_only_what_the_first_pass_suspects_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    most, grown = [0], RaceWindow.grown

    def noted(self: RaceWindow, bytes_: int, granules: int = 0) -> None:
        grown(self, bytes_, granules)
        most[0] = max(most[0], self.bytes)

    monkeypatch.setattr(RaceWindow, "grown", noted)
    whole, all_records = found("lastb_bad", "sm_52"), most[0]
    most[0] = 0
    assert found("lastb_bad", "sm_52", "run") == whole
    assert most[0] < all_records // 2


def test_a_launch_that_goes_another_way_is_looked_at_as_a_whole(
    monkeypatch: pytest.MonkeyPatch, passes: list[int]
) -> None:
    """What the first pass did not suspect may race where the exact one took other ways."""
    whole, screen = found("vec_bad", "sm_52"), run._Run._screen

    def elsewhere(self: Any, session: Any) -> Any:
        stop = screen(self, session)
        assert self.suspects is not None
        self.suspects = Suspects(np.zeros(64, np.uint8), 0, np.zeros(1, np.uint8))
        self.screened += 1
        return stop

    monkeypatch.setattr(run._Run, "_screen", elsewhere)
    assert found("vec_bad", "sm_52", "run") == whole
    assert passes == [1]


def test_written_granules_are_those_of_stores_and_atomics() -> None:
    bits = np.zeros(8, np.uint8)
    noted = WrittenGranules(100, bits)
    accesses = np.zeros((4, ACCESS_WORDS), np.int64)
    given = [("store", "global", 8, 400), ("load", "global", 4, 420), ("atomic", "generic", 4, 440),
             ("store", "shared", 4, 460)]  # fmt: skip
    for row, (kind, space, size, address) in zip(accesses, given, strict=True):
        row[1] = 0b10 | what_of(kind, space, size) << 32
        row[3:] = 1 << 40
        row[4] = address
    noted.ordered(accesses)
    assert np.flatnonzero(np.unpackbits(bits, bitorder="little")).tolist() == [0, 1, 10]
    suspects = Suspects(None, 100, bits)
    assert suspects.of(False, np.array([99, 100, 102, 110, 200])).tolist() == [
        True, True, False, True, True,
    ]  # fmt: skip
    assert [suspects.inverted().has(False, n) for n in (99, 100, 102)] == [False, False, True]
