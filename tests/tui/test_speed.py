"""A 20,000-instruction program with 64 warps on the SM stays quick to open and to step.

Work is counted in calls of Python functions, which a loaded machine does not change; `make bench`
has the times.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudbg.debug.liveness import MAX_INSTRUCTIONS
from tests.calls import calls_of

from .helpers import make_app, open_kernel, screen_text, settle

ADD = 0x1C00000000170000
"""IADD32I R0, R0, 0x1"""
EXIT = 0xE30000000007000F
CONTROL = 0x7E0 | 0x7E0 << 21 | 0x7E0 << 42
COUNT = 20_000
SHORT = 300

TABLE = """
kernel = "big"
grid = 8
block = 256
[sm]
arch = "sm_50"
num_sms = 1
[raw]
num_regs = 32
num_barriers = 1
"""


def program(folder: Path, count: int) -> Path:
    """Raw words: `count` additions, then EXIT."""
    words = [ADD] * (count - 1) + [EXIT] * 4
    code = b""
    words = words[: len(words) // 3 * 3]
    for at in range(0, len(words), 3):
        bundle = [CONTROL, *words[at : at + 3]]
        code += b"".join(w.to_bytes(8, "little") for w in bundle)
    path = folder / f"{count}.bin"
    path.write_bytes(code)
    path.with_suffix(".toml").write_text(TABLE)
    return path


async def calls_of_a_step(path: Path, count: int) -> int:
    """The calls of one step with its picture collected and drawn, on a full SM."""
    app = make_app(open_kernel(path))
    async with app.run_test(size=(200, 60)) as pilot:
        await settle(app, pilot)
        assert len(app.main.current.code.entries) >= count
        assert sum(1 for w in app.main.current.warps if w.sm == 0) == 64

        def step_and_draw() -> None:
            app.session.step()
            app.main.adopt(app.engine.collector.take())
            screen_text(app)

        step_and_draw()
        return min(calls_of(step_and_draw) for _ in range(3))


@pytest.mark.parametrize(("few", "many"), [(SHORT, 4 * SHORT), (MAX_INSTRUCTIONS + 300, COUNT)])
async def test_a_step_does_not_walk_the_program(tmp_path: Path, few: int, many: int) -> None:
    # Registers of programs above MAX_INSTRUCTIONS are not told unwritten: more rows are drawn.
    short = await calls_of_a_step(program(tmp_path, few), few)
    long = await calls_of_a_step(program(tmp_path, many), many)
    assert long < 1.2 * short
