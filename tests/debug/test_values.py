"""Values as people write and read them: history, arrays, vectors, CC, pc, displays, views."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.errors import CommandError, UsageError

TEXT = """
.kernel values
.registers 8
.shared 64
.param 8
    S2R R0, SR_TID.X ;
    SHL R2, R0, 0x2 ;
    STS [R2], R0 ;
    ISETP.LT.U32.AND P0, PT, R0, 0x8, PT ;
    SSY `(join) ;
@!P0 SYNC ;
    MOV32I R3, 0x7 ;
    NOP ;
    SYNC ;
join:
    MOV32I R4, 0x9 ;
    EXIT ;
"""


@pytest.fixture
def session(tmp_path: Any) -> gpudbg.DebugSession:
    from gpudbg import cli

    source, made = tmp_path / "values.sass", tmp_path / "values.cubin"
    source.write_text(TEXT)
    assert cli.main(["asm", str(source), "--cubin", str(made)]) == 0
    program = gpudbg.load(made)
    data = np.arange(16, dtype=np.int32)
    session = program.launch("values", grid=1, block=16, args=[data])
    session.cont()
    session = program.launch("values", grid=1, block=16, args=[data])
    for _ in range(7):
        session.step()
    return session


def say(session: gpudbg.DebugSession, text: str) -> str:
    return session.command(text).text


def test_history(session: gpudbg.DebugSession) -> None:
    assert say(session, "print 5") == "$1 = 5"
    assert say(session, "print/x 17") == "$2 = 0x11"
    assert say(session, "output 4") == "4"
    assert say(session, "print $1 + $") == "$3 = 22"
    assert say(session, "print $$") == "$4 = 17"
    assert say(session, "print $$3 * 10") == "$5 = 50"
    with pytest.raises(CommandError, match="no \\$77"):
        session.command("print $77")


def test_arrays(session: gpudbg.DebugSession) -> None:
    assert say(session, "print arg0[2]@3") == "$1 = {2, 3, 4}"
    assert say(session, "print shared[1]@2+1") == "$2 = {1, 2, 3}"
    assert say(session, "print/x *(@shared int*)0x8@2") == "$3 = {0x2, 0x3}"
    assert say(session, "print sizeof(short) + sizeof $R0") == "$4 = 6"
    for bad in ("$R0@4", "arg0[0]@0", "arg0[0]@", "arg0[0]@1.5"):
        with pytest.raises(CommandError):
            session.command(f"print {bad}")


def test_vectors(session: gpudbg.DebugSession) -> None:
    session.command("thread 3")
    assert say(session, "print threadIdx") == "$1 = {x = 3, y = 0, z = 0}"
    shown = session.command("print/x blockDim")
    assert shown.text == "$2 = {x = 0x10, y = 0x1, z = 0x1}"
    assert shown.data["value"] == {"x": 16, "y": 1, "z": 1}


def test_condition_code_is_written(session: gpudbg.DebugSession) -> None:
    session.command("lane 2")
    session.command("set $CC = 0x5")
    assert say(session, "print $CC") == "$1 = 5"
    flags = session.warp().lane(2).CC
    assert flags == {"Z": True, "S": False, "C": True, "O": False}
    assert session.warp().CC["C"].tolist() == [lane == 2 for lane in range(32)]


def test_pc_is_written(session: gpudbg.DebugSession) -> None:
    here = session.warp().pc
    session.command("set $R3 = 1")
    session.command(f"set $pc = {here - 8}")
    assert session.warp().pc == here - 8
    session.step()
    assert session.warp().lane(0).R[3] == 7
    for bad in ("3", "0x99999"):
        with pytest.raises(CommandError):
            session.command(f"set $pc = {bad}")


def test_registers_by_name(session: gpudbg.DebugSession) -> None:
    data = session.command("info registers R3 P0 CC pc").data
    assert data == {"R3": 7, "P0": True, "CC": 0, "pc": session.warp().pc}
    with pytest.raises(CommandError, match="Invalid register"):
        session.command("info registers FOO")


def test_variable_never_set(session: gpudbg.DebugSession) -> None:
    assert say(session, "print $never") == "$1 = void"
    session.command("set $never = 3")
    assert say(session, "print $never + 1") == "$2 = 4"


@pytest.mark.parametrize("condition", ["foo == 1", "$R200 == 1", "$never == 1", "$R0 >", "1 +"])
def test_condition_on_what_is_not_there(session: gpudbg.DebugSession, condition: str) -> None:
    with pytest.raises(CommandError):
        session.break_at("values", condition=condition)
    assert not list(session.breakpoints)


def test_displays(session: gpudbg.DebugSession) -> None:
    assert say(session, "display/x $R0 + 16") == "1: /x $R0 + 16 = 0x10"
    assert say(session, "display/2dw &shared[1]").splitlines()[0] == "2: x/2dw &shared[1]"
    lines = session.displays.lines()
    assert lines[2].split() == ["0x4:", "1", "2"]
    assert session.displays.lines(1) == lines[:1]
    assert say(session, "print 1") == "$1 = 1", "displays leave the history alone"


def test_lanes_go_on_at(session: gpudbg.DebugSession) -> None:
    warp = session.warp()
    assert warp.lane(0).pc == warp.pc
    session.command("info stack")
    join = session.symbols.offset(next(target for kind, _, target in warp.stack if kind == "SSY"))
    assert warp.lane(12).pc in (join, join + 8)
    assert not warp.lane(12).active


def test_rz(session: gpudbg.DebugSession) -> None:
    warp = session.warp()
    with pytest.raises(UsageError, match="RZ is always 0"):
        warp.R[255] = 3
    assert not warp.R[255].any()
    assert warp.lane(1).R[255] == 0
    with pytest.raises(UsageError):
        warp.R[100]


@pytest.mark.parametrize(
    "data",
    [
        np.array([(1, 2.5), (3, 4.5)], dtype=[("a", "<i4"), ("b", "<f8")]),
        np.array([1 + 2j, 3], np.complex64),
        np.array([[True, False], [False, True]]),
        np.array([1.5, 2], np.float16),
        np.array([1, 2], ">i4"),
        np.arange(12, dtype=np.uint64).reshape(3, 4)[:, ::2],
        np.arange(6, dtype=np.float32).reshape(2, 3).T,
    ],
    ids=lambda data: str(data.dtype),
)
def test_buffers_have_the_arrays_type_and_shape(
    session: gpudbg.DebugSession, data: np.ndarray[Any, Any]
) -> None:
    loaded = session.launch.loaded
    again = loaded.launch("values", grid=1, block=16, args=[data])
    for back in (again.buffer(0), loaded.device.buffer(data).array()):
        assert back.shape == data.shape
        assert back.dtype == data.dtype.newbyteorder("<")
        assert np.array_equal(back, data)
    assert again.run().kind == "exited"
    assert np.array_equal(again.buffer(0), data)


def test_device_memory_is_little_endian(session: gpudbg.DebugSession) -> None:
    device = session.launch.loaded.device
    assert device.buffer(np.array([1], ">i4")).allocation.data.tolist() == [1, 0, 0, 0]


def test_condition_command_checks_names(session: gpudbg.DebugSession) -> None:
    session.break_at("values")
    with pytest.raises(CommandError, match='"foo"'):
        session.command("condition 1 foo > 1")
    session.command("condition 1 $lane > 1")


def test_buffer_of_another_device_is_refused(session: gpudbg.DebugSession) -> None:
    other = gpudbg.Device().buffer(np.zeros(4, np.int32))
    with pytest.raises(UsageError, match=r"argument 0, void \*arg0, is in another device"):
        session.launch.loaded.launch("values", args=[other])


def test_write_symbol_with_plain_numbers(tmp_path: Any) -> None:
    from gpudbg import cli

    source, made = tmp_path / "s.sass", tmp_path / "s.cubin"
    source.write_text(
        ".section .nv.global\nwide:\n.dword 0\nsmall:\n.word 0\n.kernel k\n.registers 4\n EXIT ;\n"
    )
    assert cli.main(["asm", str(source), "--cubin", str(made)]) == 0
    program = gpudbg.load(made)
    program.write_symbol("wide", -2)
    program.write_symbol("small", 1.5)
    assert program.read_symbol("wide", np.int64).tolist() == [-2]
    assert program.read_symbol("small", np.float32).tolist() == [1.5]
    program.write_symbol("small", np.array([7], ">i4"))
    assert program.read_symbol("small", np.int32).tolist() == [7]
    with pytest.raises(UsageError):
        program.write_symbol("small", np.float64(1))


def test_source(session: gpudbg.DebugSession, tmp_path: Any) -> None:
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    inner.write_text("# a note\n\nprint 3\n")
    outer.write_text(f"print 1+1\nsource {inner}\n")
    assert say(session, f"source {outer}") == "$1 = 2\n$2 = 3"
    assert session.execute(f"source {outer}")[0]["command"] == "print 1+1"
    inner.write_text("print 4\nbogus\nprint 5\n")
    with pytest.raises(CommandError, match=r"outer:2: .*inner:2: bogus"):
        session.command(f"source {outer}")
    outer.write_text(f"source {outer}\n")
    with pytest.raises(CommandError, match="nest more than"):
        session.command(f"source {outer}")
    with pytest.raises(CommandError, match="cannot read"):
        session.command("source /nonexistent/file")


def test_breakpoint_in_a_function_that_was_inlined() -> None:
    cubin = Path(__file__).resolve().parents[1] / "data/kernels/cubin/sm_50/fault_trap.cubin"
    data = np.arange(128, dtype=np.int32)
    session = gpudbg.load(cubin).launch("fault_trap", grid=2, block=64, args=[data, data])
    point = session.break_at("check")
    assert point.addresses
    assert session.cont().kind == "breakpoint"
    assert session.execute("backtrace")[0]["function"] == "check"
    with pytest.raises(CommandError, match='"chek"'):
        session.break_at("chek")


def test_floats_take_over_no_half_word_unit(session: gpudbg.DebugSession) -> None:
    session.execute("set *(@shared float*)0 = 2.5")
    session.command("x/2xh (@shared char*)0")
    assert session.command("x/f (@shared void*)0").lines[0].split()[1:] == ["2.5"]
    assert session.command("x/1hf (@shared void*)0").data["unit"] == 2


def test_every_ptx_name_prints(session: gpudbg.DebugSession) -> None:
    from gpudbg.regs.ptx import PTX_REGISTERS

    here = [row.name for row in PTX_REGISTERS if row.lowerings[0].since <= (5, 0)]
    vectors = sorted({name.rpartition(".")[0] for name in here if "." in name})
    assert vectors == ["%ctaid", "%nctaid", "%ntid", "%tid"]
    for name in {row.name for row in PTX_REGISTERS} - {*here}:
        with pytest.raises(gpudbg.CommandError, match="does not exist on sm_50"):
            session.command(f"print {name}")
    for name in (*vectors, *here):
        assert " = " in session.command(f"print {name}").text, name
    assert session.command("print/x %ntid").text.endswith("= {x = 0x10, y = 0x1, z = 0x1, w = 0x0}")


def test_disassembly_marks_the_instruction_of_an_error() -> None:
    """As cuda-gdb: `*=>` where the focused warp stands at its error; none in another warp."""
    folder = Path(__file__).resolve().parents[2] / "sessions" / "out_of_bounds"
    session = gpudbg.open(folder / "out_of_bounds.cubin")
    session.command("set addresses code")
    assert "*" not in session.command("disassemble").text
    stop = session.cont()
    lines = session.command("x/3i $pc").text.splitlines()
    assert lines[0].startswith("*=> 0x")
    assert [line[:3] for line in lines[1:]] == ["   ", "   "]
    other = next(w for w in session.warps() if (w.sm, w.index) != (stop.sm, stop.warp))
    session.focus_on(other.sm, other.index, 0)
    assert "*" not in session.command("x/2i $pc").text
