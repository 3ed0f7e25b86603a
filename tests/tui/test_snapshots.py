"""Screens look as they did: three sizes, in dark and light."""

from __future__ import annotations

import difflib

import pytest

from .snapshots import FOLDER, SCREENS, SIZES, take


@pytest.mark.parametrize("palette", ["dark", "light"])
@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("screen", SCREENS)
async def test_the_screen_is_the_recorded_one(screen, name, palette):
    expected = (FOLDER / f"{screen}{name}.txt").read_text().splitlines()
    found = (await take(SIZES[name], palette, screen)).splitlines()
    changes = list(difflib.unified_diff(expected, found, "recorded", "now", n=0, lineterm=""))
    assert not changes, "\n".join(
        ["`python -m tests.tui.snapshots` records a change made on purpose", *changes[:40]]
    )
