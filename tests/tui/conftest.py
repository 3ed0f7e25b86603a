"""A bug that the screen would survive fails its test; what is remembered is the test's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.screen import Screen

from tests.variants import full

PAINTED = ("test_gallery", "test_snapshots", "test_terminal", "test_speed")
"""Files whose tests paint every frame in the first tier too: all kinds of panes, and terminals."""


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GPUDBG_TRACEBACK", "1")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("GPUDBG_KEYMAP", "GPUDBG_THEME", "GPUDBG_ASCII"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _frames(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paint what a test reads (`screen_text` paints the whole screen), not each frame in between.

    No test looks at those, and they take a third of its time; `make test-all` paints them.
    """
    if not full() and request.module.__name__.rpartition(".")[2] not in PAINTED:
        monkeypatch.setattr(Screen, "_compositor_refresh", forget_frame)


def forget_frame(screen: Screen[object]) -> None:
    """Do all that textual does for a frame but paint it."""
    if screen is screen.app.screen or screen in screen.app._background_screens:
        screen._compositor._dirty_regions.clear()
        screen._dirty_widgets.clear()
    screen.app._update_mouse_over(screen)
