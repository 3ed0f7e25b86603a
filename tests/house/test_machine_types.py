"""Semantics cannot mix masks, 32-bit and 64-bit values: the type checker says so."""

from __future__ import annotations

from pathlib import Path

from mypy import api

PROGRAM = """
from gpudbg.sm.semantics.machine import Machine, Mask, Value, Wide

def right(m: Machine, a: Value, w: Wide, c: Mask) -> Value:
    return m.select(m.mand(c, m.eq(a, 3)), m.lo(m.wadd(w, 1)), m.from_mask(c))

def wrong(m: Machine, a: Value, w: Wide, c: Mask) -> None:
    m.add(a, c)
    m.add(a, w)
    m.wadd(w, a)
    m.mand(c, a)
    m.mand(c, 1)
    a + 1
"""
WRONG = range(8, 14)
"""Lines of it that the checker must refuse."""


def test_the_checker_tells_masks_and_widths_apart(tmp_path: Path) -> None:
    """One error for each wrong line, none for the right ones."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    text, errors, status = api.run([str(program)])
    lines = [int(line.split(":")[1]) for line in text.splitlines() if ": error:" in line]
    assert (status, lines) == (1, list(WRONG)), text + errors
