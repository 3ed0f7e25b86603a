"""A 20,000-instruction program with 64 warps on the SM stays quick to open and to step."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import pytest

from .helpers import make_app, open_kernel, screen_text, settle

ADD = 0x1C00000000170000
"""IADD32I R0, R0, 0x1"""
EXIT = 0xE30000000007000F
CONTROL = 0x7E0 | 0x7E0 << 21 | 0x7E0 << 42
COUNT = 20_000

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


@pytest.fixture
def big(tmp_path: Path) -> Path:
    """Raw words: additions, then EXIT."""
    words = [ADD] * (COUNT - 1) + [EXIT] * 4
    code = b""
    words = words[: len(words) // 3 * 3]
    for at in range(0, len(words), 3):
        bundle = [CONTROL, *words[at : at + 3]]
        code += b"".join(w.to_bytes(8, "little") for w in bundle)
    path = tmp_path / "big.bin"
    path.write_bytes(code)
    path.with_suffix(".toml").write_text(TABLE)
    return path


async def test_a_step_is_collected_and_drawn_within_50_ms(big):
    began = time.process_time()
    app = make_app(open_kernel(big))
    async with app.run_test(size=(200, 60)) as pilot:
        await settle(app, pilot)
        first = time.process_time() - began
        assert len(app.main.current.code.entries) >= COUNT
        assert sum(1 for w in app.main.current.warps if w.sm == 0) == 64
        spent = []
        for _ in range(15):
            start = time.process_time()
            app.session.step()
            app.main.adopt(app.engine.collector.take())
            screen_text(app)
            spent.append(time.process_time() - start)
        assert statistics.median(spent) < 0.05, spent
        assert first < 3, first
