"""Screenshots of the README and the site: real screens of real kernels, as SVG.

`make docs` takes them anew (`docs/_site/pictures.py`).
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from gpudbg.debug.session import DebugSession
from tests.tui.helpers import CUBINS, ROOT, make_app, open_first, open_kernel, press, settle

DOCS = ROOT / "docs"
KERNELS = ROOT / "tests" / "data" / "kernels"

OOB = (
    "--grid 1 --block 64 --num-sms 1 --arg p=i32[64]:zeros --arg i32:64 --arg i64:67108864"
).split()
TOUR = [
    *("--grid", "16", "--block", "256", "--num-sms", "1"),
    *("--arg", "in=u32[4096]:lcg(seed=241)", "--arg", "out=u32[4096]:zeros", "--arg", "i32:4000"),
]


def tour() -> DebugSession:
    """Divergent warps in a nested loop, at a breakpoint that has been met many times."""
    folder = Path(tempfile.mkdtemp())
    for path in (CUBINS / "divergence.cubin", KERNELS / "divergence.cu"):
        shutil.copy(path, folder)
    session = open_kernel(folder / "divergence.cubin", TOUR)
    session.break_at("13")
    return session


SHOTS: dict[str, tuple[Any, tuple[int, int], tuple[str, ...], tuple[str, ...]]] = {
    "screenshot-main": (
        tour,
        (120, 40),
        ("continue", "continue 120", "info stack"),
        ("space", "space"),
    ),
    "screenshot-fault": (lambda: open_kernel("fault_oob_global", OOB), (120, 40), (), ("f5",)),
    "screenshot-surface": (
        lambda: open_kernel(ROOT / "sessions" / "surface_clamp" / "surface_clamp.cubin"),
        (120, 40),
        ("continue",),
        ("v", "g", *"0, 30", "enter"),
    ),
    "screenshot-trap": (
        lambda: open_kernel(ROOT / "sessions" / "trap_handler" / "scatter.cubin"),
        (120, 40),
        ("continue",),
        ("escape", "t"),
    ),
    "screenshot-history": (
        open_first,
        (120, 40),
        (
            "set timeline on",
            # A stop for each warp.
            "set gather off",
            "break block_max+0x168 if blockIdx.x == 0",
            *("continue", "continue", "bookmark second turn", *["continue"] * 5),
            *("delete", "tbreak 23 if blockIdx.x == 0", "continue"),
        ),
        ("h", "shift+left", "shift+left", "shift+left"),
    ),
    "screenshot-small": (open_first, (80, 24), ("break first_steps.cu:13", "continue"), ("space",)),
}
"""Name -> session, size, console lines, keys."""


async def shoot(name: str, folder: Path, palette: str = "dark") -> Path:
    """One screenshot."""
    make, size, lines, keys = SHOTS[name]
    app = make_app(make(), palette=palette)
    async with app.run_test(size=size) as pilot:
        await settle(app, pilot)
        for line in lines:
            app.main.run_command(line)
            await settle(app, pilot)
        await press(app, pilot, *keys)
        path = folder / f"{name}.svg"
        path.write_text(app.export_screenshot(title="gpudbg"))
    return path
