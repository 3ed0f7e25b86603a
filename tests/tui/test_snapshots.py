"""Screens look as they did: three sizes, in dark and light."""

from __future__ import annotations

import difflib
from typing import Any

import pytest

from .snapshots import FOLDER, SCREENS, SIZES, take


@pytest.mark.in_turn(1, each="screen")
@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize(
    "screen",
    [
        name if not name else pytest.param(name, marks=pytest.mark.full(instead="the main screen"))
        for name in SCREENS
    ],
)
async def test_the_screen_is_the_recorded_one(screen: Any, name: str) -> None:
    expected = (FOLDER / f"{screen}{name}.txt").read_text().splitlines()
    for palette, text in (await take(SIZES[name], screen)).items():
        changes = list(
            difflib.unified_diff(expected, text.splitlines(), "recorded", palette, n=0, lineterm="")
        )
        assert not changes, "\n".join(
            ["`python -m tests.tui.snapshots` records a change made on purpose", *changes[:40]]
        )
