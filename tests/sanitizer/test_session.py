"""Checks of a session's launch: by command, by name, and to the accesses of what they find."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.debug.checks import CHECKS
from gpudbg.errors import CommandError
from gpudbg.sanitizer.findings import CHECKS as CHECKED
from tests.sanitizer.test_twins import FOURS, HERE


def session() -> gpudbg.DebugSession:
    program = gpudbg.load(str(HERE / "twins.sm_52.cubin"))
    return program.launch("vec_bad", block=64, args=[FOURS, np.zeros_like(FOURS)])


def test_the_names_are_those_of_gpudbg_check() -> None:
    assert set(CHECKS) == set(CHECKED)


def test_a_check_runs_the_launch_and_begins_it_again() -> None:
    dbg = session()
    report = dbg.check("race")
    assert {f.kind for f in report.findings} == {"race"}
    assert dbg.tick == 0
    assert dbg.checks.get("race") is report
    assert dbg.command("info findings").data == dbg.command("check race").data
    dbg.command("check race off")
    with pytest.raises(CommandError, match="has not been checked"):
        dbg.command("info findings")


def test_to_an_access() -> None:
    dbg = session()
    dbg.break_at("vec_bad")
    data: Any = dbg.command("check all").data
    race = next(f for f in data if f["kind"] == "race")
    for side, access in enumerate(race["accesses"], 1):
        dbg.command(f"finding {race['number']} {side}")
        stop = dbg.stop
        assert stop is not None
        assert list(stop.thread or ()) == access["thread"]
        assert stop.pc == access["offset"]
    assert len(list(dbg.breakpoints)) == 1
    assert all(point.enabled for point in dbg.breakpoints)
    for wrong in ("finding", "finding 99", "finding 1 7", "finding x"):
        with pytest.raises(CommandError):
            dbg.command(wrong)


WAITS = 0b111111 << 116
"""Bits of a 128-bit instruction: the scoreboards that it waits for."""


def without_waits(program: gpudbg.LoadedProgram, kernel: str) -> bytes:
    """A cubin whose kernel waits for no scoreboard."""
    file = program.program
    code = file.sections[f".text.{kernel}"].data
    words = [int.from_bytes(code[n : n + 16], "little") & ~WAITS for n in range(0, len(code), 16)]
    early = b"".join(word.to_bytes(16, "little") for word in words)
    assert file.data.count(code) == 1
    return file.data.replace(code, early)


def test_hazards_are_found_by_either_way(tmp_path: Path) -> None:
    """The same control words: `session.check("hazards")` and `gpudbg.check(checks=...)`."""
    file = tmp_path / "early.cubin"
    file.write_bytes(without_waits(gpudbg.load(str(HERE / "twins.sm_80.cubin")), "vec"))
    program = gpudbg.load(str(file))
    args = [FOURS, np.zeros_like(FOURS)]
    dbg = program.launch("vec", block=64, args=args)
    live = dbg.check("hazards")
    dbg.run()
    report = gpudbg.check(str(file), "vec", block=64, args=args, checks=("hazards",))
    assert live.findings
    assert len(report.findings) == len(live.findings)
    assert {f.kind for f in report.findings} == {"hazard"}
    assert report.exit_code == 1
