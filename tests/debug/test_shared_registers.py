"""Uniform registers and predicates and convergence barriers in expressions, lists and views."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpudbg
from gpudbg.debug.pictures import register_rows
from gpudbg.debug.views.registers import register_names
from tests.debug.modern import launched

CUBINS = Path(__file__).parents[1] / "isa" / "volta" / "cubins"


def test_a_uniform_register_is_set_for_its_group() -> None:
    """The instruction that reads it next finds the value in all lanes."""
    session = launched("divergence", "sm_80")
    session.step(8)
    session.command("set var $UR4 = 0x1234")
    assert set(session.warp().state.UR[4].tolist()) == {0x1234}
    session.command("set var $UP0 = 1")
    assert session.command("print $UP0").text.endswith("true")
    assert int(session.warp().state.uniform_predicates[0]) == 0xFFFFFFFF
    for text, why in (("$URZ = 1", "always 0"), ("$UPT = 0", "always true"), ("$B0 = 1", "BSSY")):
        with pytest.raises(gpudbg.CommandError, match=why):
            session.command(f"set var {text}")


def test_a_barrier_is_watched() -> None:
    """`watch $B0` stops after the BSSY that opens it."""
    session = launched("divergence", "sm_80")
    session.command("watch $B0")
    stop = session.cont()
    assert stop.kind == "breakpoint"
    assert stop.watch[0].old == "0"
    assert int(stop.watch[0].new) == session.warp().state.active


def test_lists_name_those_that_the_program_uses() -> None:
    session = launched("divergence", "sm_80")
    session.step(60)
    rows = session.command("info registers").data
    assert {"UR4", "UR5", "B0", "B1", "pc"} <= set(rows)
    assert "CC" not in rows, "there is no condition code"
    assert "UR40" not in rows
    names = register_names(session)
    assert {"UR62", "UP6", "B15"} <= set(names)
    assert "UR63" not in names
    session.command("set addresses code")
    assert session.command("info registers UR4 B0").data["B0"] == rows["B0"]
    detail = session.snapshot().detail
    assert detail is not None
    made = {row.name: row for row in register_rows(detail, 0, "x")}
    assert made["B0"].mask == rows["B0"]
    assert made["UR4"].focus_text == f"{rows['UR4']:08x}"
    assert not any(name.startswith("CC") for name in made)


def test_sm_70_has_no_uniform_registers() -> None:
    """Nor has sm_50: there `$B0` is a name that a user may give."""
    session = launched("divergence", "sm_50")
    session.command("set $B0 = 7")
    assert session.command("print $B0").text.endswith("7")
    assert {"CC", "pc"} <= set(register_names(session))


def test_python_reads_and_writes_them() -> None:
    """`warp.UR`, `.UP`, `.B` and `.groups`; of one lane, too."""
    session = launched("divergence", "sm_80")
    session.step(30)
    warp = session.warp()
    warp.UR[9] = 5
    assert (warp.UR["UR9"].tolist(), warp.lane(3).UR[9]) == ([5] * 32, 5)
    warp.UP[2] = True
    assert warp.lane(1).UP["UP2"] is True
    assert warp.UP["UPT"].all()
    assert warp.B.shape == (16, 32)
    group = next(g for g in warp.groups if g.state == "converging")
    assert group.members == 0xFFFFFFFF
    assert warp.lane(group.mask.bit_length() - 1).pc == group.pc
    with pytest.raises(gpudbg.UsageError, match="no uniform register UR63"):
        warp.UR[63]
    old = launched("divergence", "sm_50").warp()
    assert (len(old.UR), old.groups) == (0, ())
    with pytest.raises(gpudbg.UsageError, match="it has none"):
        old.UR[0]


def test_an_architecture_without_uniform_registers_has_no_urz() -> None:
    """sm_70 has convergence barriers alone."""
    program = gpudbg.load(CUBINS / "ballot_compact.sm_70.cubin")
    session = program.launch("count_kept", grid=1, block=32, args=[0, 0, 0])
    for name in ("URZ", "UR4", "UPT", "UP0"):
        with pytest.raises(gpudbg.CommandError, match="has none"):
            session.command(f"print ${name}")
    assert session.command("print $B0").text.endswith("0")
