"""The main screen looks as it did: three sizes, in dark and light."""

from __future__ import annotations

import difflib

import pytest

from .snapshots import FOLDER, SIZES, take


@pytest.mark.parametrize("palette", ["dark", "light"])
@pytest.mark.parametrize("name", SIZES)
async def test_the_screen_is_the_recorded_one(name, palette):
    expected = (FOLDER / f"{name}.txt").read_text().splitlines()
    found = (await take(SIZES[name], palette)).splitlines()
    changes = list(difflib.unified_diff(expected, found, "recorded", "now", n=0, lineterm=""))
    assert not changes, "\n".join(
        ["`python -m tests.tui.snapshots` records a change made on purpose", *changes[:40]]
    )
