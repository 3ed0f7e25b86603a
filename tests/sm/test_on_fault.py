"""`on-fault continue`: wild accesses are dropped, noted, and the launch goes on."""

from __future__ import annotations

import numpy as np
import pytest

import gpudbg
from gpudbg.cli import main

SOURCE = """
.kernel wild
.param x 8
.param far 8
S2R R0, SR_TID.X
SHL R1, R0, 0x2
IADD R2.CC, R1, c[0x0][x]
IADD.X R3, RZ, c[0x0][x+4]
MOV32I R5, 0x7
LDG.E R5, [R2]
IADD32I R5, R5, 0x1
STG.E [R2], R5
MOV R6, c[0x0][far]
MOV R7, c[0x0][far+4]
ISETP.EQ.AND P0, PT, R0, RZ, PT
@P0 ATOM.E.ADD R8, [R6], R5
@P0 STS [R6], R5
EXIT
"""


@pytest.mark.parametrize("engine", ["step", "run"])
def test_guilty_lanes_are_left_out_and_noted(engine: str) -> None:
    program = gpudbg.assemble_program(SOURCE, engine=engine, on_fault="continue")
    values = np.arange(24, dtype=np.int32)
    session = program.launch("wild", grid=1, block=32, args=[values, 0x10])
    stop = session.run()
    # Eight lanes load and store behind the buffer; one lane's atomic and shared store are wild.
    assert stop.kind == "exited"
    assert stop.message.endswith("; 18 wild accesses dropped")
    assert [(e.access, e.space, len(e.lanes)) for e in stop.dropped] == [
        ("load", "global", 8), ("store", "global", 8), ("atomic", "global", 1),
        ("store", "shared", 1),
    ]  # fmt: skip
    assert np.array_equal(session.buffer(0), values + 1)
    with pytest.raises(gpudbg.KernelError, match="wild accesses") as raised:
        stop.check()
    assert raised.value.exit_code == 1
    # Going back and forth notes nothing twice; the next launch has its own.
    session.reverse_step(3)
    assert session.run().message == stop.message
    clean = program.launch("wild", block=0x10, args=[values, program.device.buffer(values)])
    assert [e.access for e in clean.run().dropped] == ["store"]


def test_a_session_goes_on_where_it_is_asked_to() -> None:
    session = gpudbg.assemble_program(SOURCE).launch("wild", args=[np.zeros(24, np.int32), 0])
    assert session.run().faulted
    session.restart()
    session.command("set on-fault continue")
    assert session.run().finished
    assert "18x" not in session.command("show on-fault").text
    session.restart()
    session.command("set on-fault stop")
    assert session.run().faulted


def test_the_command_line_ends_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    program = "sessions/out_of_bounds/out_of_bounds.cubin"
    assert main(["run", program, "--on-fault", "continue"]) == 1
    assert "1 wild access dropped" in capsys.readouterr().out
    assert main(["--batch", "-ex", "set on-fault continue", "-ex", "run", program]) == 1
    assert "dropped 1x  4-byte load" in capsys.readouterr().out
    with pytest.raises(gpudbg.UsageError, match="on_fault 'maybe'"):
        gpudbg.Device(on_fault="maybe")
    with gpudbg.open(program, on_fault="continue") as session:
        assert len(session.run().dropped) == 1
    with pytest.raises(gpudbg.UsageError, match="on_fault 'maybe'"):
        gpudbg.open(program, on_fault="maybe")
