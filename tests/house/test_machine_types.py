"""Semantics cannot mix masks, 32-bit and 64-bit values: the type checker says so.

The checker reads this file as all others (`make types`): a line of `wrong` that it did not refuse
would be an `ignore` that nothing needs, which is an error of its own.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from gpudbg.sm.semantics.machine import Machine, Mask, Value, Wide

ROOT = Path(__file__).resolve().parents[2]


def right(m: Machine, a: Value, w: Wide, c: Mask) -> Value:
    return m.select(m.mand(c, m.eq(a, 3)), m.lo(m.wadd(w, 1)), m.from_mask(c))


def wrong(m: Machine, a: Value, w: Wide, c: Mask) -> None:
    m.add(a, c)  # type: ignore[arg-type]
    m.add(a, w)  # type: ignore[arg-type]
    m.wadd(w, a)  # type: ignore[arg-type]
    m.mand(c, a)  # type: ignore[arg-type]
    m.mand(c, 1)  # type: ignore[arg-type]
    _ = a + 1  # type: ignore[operator]


def test_the_checker_reads_this_file_and_refuses_needless_ignores() -> None:
    """Its strict mode has `warn_unused_ignores`; nothing here or there takes that back."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    assert settings["strict"]
    assert "tests" in settings["files"]
    for part in (settings, *settings["overrides"]):
        assert part.get("warn_unused_ignores", True)
        assert "tests.house" not in str(part.get("exclude", "") or part.get("module", ""))
