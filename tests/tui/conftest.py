"""A bug that the screen would survive fails its test; what is remembered is the test's own."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import pytest
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
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


parse_rules = Stylesheet._parse_rules
parsed: dict[Hashable, list[RuleSet]] = {}
"""Rules by text, place and variables, of all applications of this process."""


@pytest.fixture(autouse=True)
def _styles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parse each style sheet once: every application would anew, a tenth of a test's time."""

    def parse_once(sheet: Stylesheet, css: str, *where: Any, **more: Any) -> list[RuleSet]:
        key = (css, *where, *more.items(), *sheet._variables.items())
        if key not in parsed:
            parsed[key] = parse_rules(sheet, css, *where, **more)
        return parsed[key]

    if not full():
        monkeypatch.setattr(Stylesheet, "_parse_rules", parse_once)


def forget_frame(screen: Screen[object]) -> None:
    """Do all that textual does for a frame but paint it."""
    if screen is screen.app.screen or screen in screen.app._background_screens:
        screen._compositor._dirty_regions.clear()
        screen._dirty_widgets.clear()
    screen.app._update_mouse_over(screen)
