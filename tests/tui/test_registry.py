"""One row of the action registry for each key, with its handler; no key is handled elsewhere."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gpudbg.frontends.tui
from gpudbg.frontends.tui.actions import (
    ACTIONS,
    BY_NAME,
    GROUPS,
    KEY_ROWS,
    LOCAL_ACTIONS,
    TITLES,
)
from gpudbg.frontends.tui.handlers import HANDLERS
from gpudbg.frontends.tui.keymaps import keymap
from gpudbg.frontends.tui.keys import bindings, key_row, local
from gpudbg.frontends.tui.palette import PaletteProvider
from gpudbg.frontends.tui.screens.ask import AskScreen
from gpudbg.frontends.tui.screens.branches import BranchesScreen
from gpudbg.frontends.tui.screens.card import CardFrame, CardScreen
from gpudbg.frontends.tui.screens.fault import FaultScreen
from gpudbg.frontends.tui.screens.findings import FindingsScreen
from gpudbg.frontends.tui.screens.gallery import GalleryScreen
from gpudbg.frontends.tui.screens.help import HelpScreen
from gpudbg.frontends.tui.screens.history import HistoryScreen
from gpudbg.frontends.tui.screens.launch import LaunchScreen
from gpudbg.frontends.tui.screens.main import MainScreen
from gpudbg.frontends.tui.screens.origin import OriginScreen
from gpudbg.frontends.tui.screens.side import SideScreen
from gpudbg.frontends.tui.screens.surface import SurfaceScreen
from gpudbg.frontends.tui.screens.trap import TrapScreen
from gpudbg.frontends.tui.screens.watch import WatchScreen
from gpudbg.frontends.tui.screens.why import WhyScreen
from gpudbg.frontends.tui.widgets.base import LinePane
from gpudbg.frontends.tui.widgets.console import LogPane, Prompt
from gpudbg.frontends.tui.widgets.lane_table import LaneTablePane
from gpudbg.frontends.tui.widgets.memory import MemoryPane
from gpudbg.frontends.tui.widgets.surface import SurfacePane
from gpudbg.frontends.tui.widgets.timeline import TimelinePane
from tests.variants import rows

from .helpers import make_app, open_first, press, screen_text, settle

TUI = Path(gpudbg.frontends.tui.__file__).parent

OWNERS: dict[str, Any] = {
    "main": MainScreen, "side": SideScreen, "watch": WatchScreen, "trap": TrapScreen,
    "surface": SurfaceScreen, "history": HistoryScreen, "gallery": GalleryScreen,
    "findings": FindingsScreen, "card": CardScreen, "origin": OriginScreen, "why": WhyScreen,
    "branches": BranchesScreen,
    "fault": FaultScreen, "help": HelpScreen, "ask": AskScreen, "launch": LaunchScreen,
    "rows": LinePane, "prompt": Prompt, "log": LogPane, "memory": MemoryPane,
    "picture": SurfacePane, "lanes": LaneTablePane, "timeline": TimelinePane,
}  # fmt: skip
"""Scope -> the class whose keys they are."""
TYPED_TEXT = ("help.py", "on_key")
"""Takes letters that are typed to search, and no key with a meaning."""


def test_every_action_of_the_main_screen_has_a_handler() -> None:
    assert {a.id for a in ACTIONS} == set(HANDLERS)


def test_names_are_unique_and_groups_known() -> None:
    assert len(BY_NAME) == len(ACTIONS) + len(LOCAL_ACTIONS)
    assert {a.group for a in ACTIONS} == set(GROUPS)
    assert {a.scope for a in LOCAL_ACTIONS} <= set(OWNERS)


@rows("scope", OWNERS)
def test_the_class_of_a_scope_binds_its_rows_and_has_their_methods(scope: str) -> None:
    owner = OWNERS[scope]
    assert owner.BINDINGS == bindings(scope)
    for action in local(scope):
        name = action.do.partition("(")[0]
        if name and not name.startswith("app."):
            assert callable(getattr(owner, f"action_{name}", None)), action.name


def test_entries_of_key_rows_are_actions() -> None:
    for scope in KEY_ROWS:
        row = key_row(scope, keymap("vscode"), ("past", "nearest", "place", "values", "pointer"))
        assert len(row) == len(KEY_ROWS[scope].split())
        assert all(key for key, _, _ in row)
    assert set(TITLES) <= set(KEY_ROWS)


def handled_elsewhere(tree: ast.AST) -> Iterator[str]:
    """What binds a key, or asks which key an event is, in a module's code."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("Binding", "self.bind"):
            yield ast.unparse(node)
        elif isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
                    if part.name.lstrip("_").startswith(("on_key", "key_")):
                        if not part.decorator_list:
                            yield part.name
                elif isinstance(part, ast.AnnAssign | ast.Assign) and part.value is not None:
                    names = [part.target] if isinstance(part, ast.AnnAssign) else part.targets
                    text = ast.unparse(part.value)
                    if "BINDINGS" in map(ast.unparse, names) and not text.startswith("bindings("):
                        yield text
        elif isinstance(node, ast.Compare) and ast.unparse(node.left) == "event.key":
            if any(
                isinstance(c, ast.Constant) and isinstance(c.value, str) for c in node.comparators
            ):
                yield ast.unparse(node)


def test_no_key_is_handled_outside_the_registry() -> None:
    found = {
        (path.name, what)
        for path in TUI.rglob("*.py")
        if path.name != "keys.py"
        for what in handled_elsewhere(ast.parse(path.read_text()))
    }
    assert found == {TYPED_TEXT}


def test_planted_bindings_are_found() -> None:
    planted = """
class Pane:
    BINDINGS = [("x", "zoom", "")]
    def key_f(self): ...
    def press(self, event):
        if event.key == "f3": ...
"""
    assert len([*handled_elsewhere(ast.parse(planted))]) == 3


async def test_help_palette_and_key_row_of_a_side_screen() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(140, 40)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "w")
        assert "Space instruction" in screen_text(app)[-1]
        app.set_keys("x64dbg")
        await settle(app, pilot)
        assert "F7 instruction" in screen_text(app)[-1]
        words = [w for w, _, _ in PaletteProvider(app.screen).entries()]
        assert {"watch an expression", "values by value, lane, count"} <= set(words)
        await press(app, pilot, "question_mark")
        assert app.screen.query_one(CardFrame).texts[1].startswith(" Warp watch")
