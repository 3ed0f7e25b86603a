"""Random keys, pastes, clicks and sizes in bursts: the application stays alive and consistent.

    python -m tests.tui.fuzz_keys --count 2000 --seed 1

A failing burst is printed with its seed; `--seed` and `--count 1` repeat it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sys
import time
import traceback

from textual.events import Key, MouseDown, MouseMove, MouseUp, Paste, Resize
from textual.geometry import Size
from textual.message import Message

from gpudbg.debug.session import DebugSession
from gpudbg.frontends.tui.actions import ACTIONS
from gpudbg.frontends.tui.app import GpudbgApp
from gpudbg.frontends.tui.screens.main import MainScreen
from gpudbg.frontends.tui.widgets.base import LinePane

from ..debug.modern import launched
from .helpers import DIVERGE, OOB, PATIENCE_S, TRAP, make_app, open_first, open_kernel

KEYS = sorted(
    {key for a in ACTIONS for key in a.keys.split(",")} - {"q", "ctrl+q"}
    | {"enter", "up", "down", "left", "right", "home", "end", "pageup", "pagedown", "backspace",
       "delete", "j", "k", "4", "5", "9", "0", "f12", "alt+x", "ctrl+u", "ctrl+z", "W", "X", "é"}
)  # fmt: skip
OFTEN = ("enter", "escape", "space", "slash", "colon", "tab", "question_mark", "w", "h", "t", "G")
TEXTS = (
    "R4", "EXIT", "stepi", "break 12", "p $R4\nstepi\nstepi", "\n\n\n", "1/0", "x" * 3000,
    "\x1b[99;9X", "é漢\u200b", "print (((((1", "focus lane 9", "layout src", "watch R1",
)  # fmt: skip
PROGRAMS = (
    open_first,
    lambda: open_kernel("fault_oob_global", OOB),
    lambda: open_kernel("fault_trap", TRAP),
    lambda: open_kernel("divergence", DIVERGE),
    lambda: launched("divergence", "sm_80"),
    lambda: launched("mma_f16", "sm_80"),
    lambda: launched("recursion", "sm_90"),
    lambda: launched("its_handoff", "sm_75"),
    lambda: launched("warp_ops", "sm_120"),
)
SIZES = ((80, 24), (120, 40), (200, 60), (40, 10), (20, 5), (132, 43), (300, 90), (1, 1))


def key(name: str) -> Key:
    """A key event as the terminal's parser makes it."""
    characters = {"space": " ", "slash": "/", "colon": ":", "question_mark": "?"}
    return Key(name, name if len(name) == 1 else characters.get(name))


def mouse(kind: type[MouseDown | MouseUp | MouseMove], x: int, y: int) -> Message:
    """A mouse event at a cell."""
    return kind(None, x, y, 0, 0, 1, False, False, False, x, y)


def burst(rng: random.Random, width: int, height: int) -> list[Message]:
    """Inputs that arrive in one write."""
    out: list[Message] = []
    for _ in range(rng.choice((1, 2, 3, 5, 8, 20))):
        kind = rng.random()
        if kind < 0.45:
            out.append(key(rng.choice(KEYS)))
        elif kind < 0.75:
            out.append(key(rng.choice(OFTEN)))
        elif kind < 0.83:
            out += [key(c) for c in rng.choice(TEXTS) if c.isprintable()][:40]
        elif kind < 0.88:
            out.append(Paste(rng.choice(TEXTS)))
        elif kind < 0.95:
            x, y = rng.randrange(max(width, 1)), rng.randrange(max(height, 1))
            out += [mouse(MouseDown, x, y), mouse(MouseUp, x, y)]
        else:
            size = Size(*rng.choice(SIZES))
            out.append(Resize(size, size))
    return out


async def rest(app: GpudbgApp) -> None:
    """Wait until everything is done; a run that lasts is interrupted.

    Patience is processor time: other work on the machine is no failure.
    """
    busy = time.process_time() + PATIENCE_S
    end = time.monotonic() + 15 * PATIENCE_S
    while True:
        await asyncio.sleep(0.002)
        if app._exit or app.at_rest:
            return
        if time.process_time() > busy or time.monotonic() > end:
            raise AssertionError("inputs are not carried out")
        if app.main.is_attached and app.main.running_now() is not None:
            app.post_message(key("ctrl+c"))


def check(app: GpudbgApp, session: DebugSession) -> None:
    """What holds whatever was pressed."""
    assert not app._exit, "the application has ended"
    assert any(isinstance(s, MainScreen) for s in app.screen_stack), "the main screen is gone"
    assert app.screen.is_running, "the screen is dead"
    names = [type(s).__name__ for s in app.screen_stack]
    assert len(names) < 9, f"screens pile up: {names}"
    view = app.main.current
    assert view is not None
    assert view.tick == app.session.grid.total, "the picture is of another tick"
    for pane in app.main.query(LinePane):
        assert not any("cannot be drawn" in t for t in pane.texts), pane.texts


async def campaign(seed: int, bursts: int) -> list[Message]:
    """Bursts on one application; the inputs given.

    Raises:
        AssertionError: the application is not as it must be.
    """
    rng = random.Random(seed)
    session = rng.choice(PROGRAMS)()
    app = make_app(session)
    given: list[Message] = []
    async with app.run_test(size=rng.choice(SIZES[:3])) as pilot:
        await rest(app)
        for _ in range(bursts):
            inputs = burst(rng, *app.size)
            given += inputs
            for event in inputs:
                app.post_message(event)
            await rest(app)
            check(app, session)
        # From wherever it is, Escape leads back, and the machine steps.
        for _ in range(12):
            app.post_message(key("escape"))
        await rest(app)
        assert app.screen is app.main, f"Escape does not lead back: {app.screen_stack}"
        await pilot.pause()
    return given


def main() -> int:
    """Run campaigns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="applications")
    parser.add_argument("--bursts", type=int, default=25, help="bursts for each")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    os.environ["GPUDBG_TRACEBACK"] = "1"
    failed = inputs = 0
    for seed in range(args.seed, args.seed + args.count):
        try:
            inputs += len(asyncio.run(campaign(seed, args.bursts)))
        except Exception as error:
            failed += 1
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{where.filename}:{where.lineno}"
            print(f"seed {seed}: {type(error).__name__}: {error}  {place}", flush=True)
    print(f"{args.count} applications, {inputs} inputs, {failed} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
