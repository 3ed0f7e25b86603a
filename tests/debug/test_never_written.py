"""Memory and registers that nobody has written: byte by byte, and in the same words everywhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.debug.values.unwritten import never_written
from gpudbg.debug.views.text import output_lines
from tests.launching import open_with
from tests.mi.client import Client
from tests.narrowing import there

STORES = """\
.kernel stores
.param out 8
.shared 128
.local 32
S2R R0, SR_TID.X
MOV R2, c[0x0][0x140]
MOV R3, c[0x0][0x144]
MOV32I R4, 0x0
MOV32I R5, 0x7
STS.U8 [0x3], R5
STS.U16 [0x6], R4
STS.64 [0x10], R4
STS.128 [0x20], R4
ATOMS.ADD R6, [0x40], R5
MOV32I R10, 0x9
ATOMS.CAS R6, [0x48], R10, R11
ISETP.EQ.AND P0, PT, R0, 0x1, PT
@P0 STL.U8 [0xfffff1], R5
@P0 STL.64 [0xfffff8], R4
@P0 STG.E.U8 [R2+0x5], R5
RED.E.ADD [R2+0x8], R5
EXIT
"""
SHARED = {3, 6, 7, *range(0x10, 0x18), *range(0x20, 0x30), *range(0x40, 0x44)}
LOCAL = {1, *range(8, 16)}
DEVICE = {5, 8, 9, 10, 11}


def opened(tmp_path: Path, text: str = STORES, *flags: str) -> gpudbg.DebugSession:
    """A session of SASS text."""
    path = tmp_path / "k.sass"
    path.write_text(text)
    given = flags or ("--grid", "1", "--block", "32", "--arg", "out=u8[64]")
    return open_with(path, given)


def written(session: gpudbg.DebugSession, space: str, address: int, size: int) -> set[int] | None:
    """Offsets of the bytes that were written."""
    found = never_written(session, space, address, size)
    return None if found is None else set(np.flatnonzero(~found).tolist())


def test_byte_by_byte(tmp_path: Path) -> None:
    session = opened(tmp_path)
    out = session.launch.arguments[0].buffer.address
    for space, start, size in (("shared", 0, 128), ("local", 0xFFFFF0, 16), ("global", out, 64)):
        assert written(session, space, start, size) == set()
    session.break_at("stores+0xb8")
    assert session.cont().kind == "breakpoint"
    assert written(session, "shared", 0, 128) == SHARED
    assert written(session, "local", 0xFFFFF0, 16) == set()
    session.focus_on(0, 0, 1)
    assert written(session, "local", 0xFFFFF0, 16) == LOCAL
    assert written(session, "global", out, 64) == DEVICE
    layout = session.grid.gpu.layout
    assert written(session, "generic", layout.shared_window, 128) == SHARED
    assert written(session, "generic", layout.local_window + 0xFFFFF0, 16) == LOCAL
    # What the debugger writes is written; a restart goes back.
    for line in ("set var *(@shared unsigned char*)0x50 = 1", "set var *(unsigned char*)out = 1"):
        session.command(line)
    assert written(session, "shared", 0, 128) == {*SHARED, 0x50}
    assert written(session, "global", out, 64) == {*DEVICE, 0}
    session.restart()
    assert written(session, "shared", 0, 128) == set()
    assert written(session, "global", out, 64) == set()


def test_a_store_that_faults_has_written_nothing(tmp_path: Path) -> None:
    text = ".kernel k\n.shared 16\nS2R R0, SR_TID.X\nSTS.U8 [R0+0x1], R0\nEXIT\n"
    session = opened(tmp_path, text, "--grid", "1", "--block", "32")
    assert session.cont().kind == "warp_error"
    assert written(session, "shared", 0, 16) == set()


@pytest.mark.parametrize("contents", ["out=u8[64]:zeros", "out=u8[64]:fill(3)"])
def test_contents_that_were_given_were_written(tmp_path: Path, contents: str) -> None:
    session = opened(tmp_path, STORES, "--grid", "1", "--block", "32", "--arg", contents)
    address = session.launch.arguments[0].buffer.address
    assert written(session, "global", address, 64) is None
    assert "never" not in session.command("x/4xw out").lines[0]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_compiled_code_marks_the_same_bytes(tmp_path: Path, jobs: str) -> None:
    """Of every block, also of those that began in the place of others."""
    text = STORES.replace("EXIT", "BAR.SYNC 0x0\nEXIT")
    for engine in ("step", "run"):
        given = ("--grid", "200", "--block", "32", "--arg", "out=u8[64]", "--engine", engine)
        more = ("--num-sms", "1", "--jobs", jobs)
        session = opened(tmp_path, text, *given, *more)
        assert written(session, "shared", 0, 128) == set()
        session.break_at("stores+0xc8", condition="blockIdx.x == 150")
        assert session.cont().kind == "breakpoint"
        assert session.warp().state.cta.number == 150
        assert written(session, "shared", 0, 128) == SHARED
        assert written(session, "local", 0xFFFFF0, 16) == set()
        focus = session.focus
        session.focus_on(there(focus).sm, there(focus).warp, 1)
        assert written(session, "local", 0xFFFFF0, 16) == LOCAL
        out = session.launch.arguments[0].buffer.address
        assert written(session, "global", out, 64) == DEVICE
        session.command("delete")
        assert session.cont().kind == "exited"
        assert written(session, "global", out, 64) == DEVICE
        session.restart()
        assert written(session, "global", out, 64) == set()


def test_code_marks_what_has_no_contents_from_then_on(tmp_path: Path) -> None:
    """As where `malloc` gives memory in the middle of a launch of compiled code."""
    text = """.kernel late
.param out 8
MOV R2, c[0x0][0x140]
MOV R3, c[0x0][0x144]
MOV32I R5, 0x7
STG.E [R2+0x4], R5
EXIT
"""
    given = ("--grid", "1", "--block", "32", "--arg", "out=u8[64]:zeros", "--engine", "run")
    session = opened(tmp_path, text, *given)
    session.break_at("late+0x28")
    assert session.cont().kind == "breakpoint"
    memory = session.grid.gpu.memory
    block = memory.allocate(64, "device malloc(64)", "heap")
    memory.leave_uninitialized(block)
    warp = session.warp().state
    warp.R[2], warp.R[3] = block.base & 0xFFFFFFFF, block.base >> 32
    assert session.cont().kind == "exited"
    assert written(session, "global", block.base, 64) == {4, 5, 6, 7}


def test_many_warps_from_python_are_not_marked_in_compiled_code() -> None:
    """Then it is not known, which is said; never that something was not written that was."""
    text = STORES.replace("EXIT", "BAR.SYNC 0x0\nEXIT")
    for blocks, known in ((2, True), (1100, False)):
        loaded = gpudbg.load(assemble_file(text, path="k.sass").cubin(), engine="run", num_sms=1)
        buffer = loaded.device.buffer(np.zeros(64, np.uint8))
        loaded.device.gpu.memory.leave_uninitialized(buffer.allocation)
        session = loaded.launch("stores", grid=blocks, block=32, args=[buffer])
        assert written(session, "global", buffer.address, 64) == set()
        session.break_at("stores+0xc8")
        assert session.cont().kind == "breakpoint"
        assert written(session, "shared", 0, 128) == (SHARED if known else None)
        assert written(session, "global", buffer.address, 64) == (DEVICE if known else None)
        session.restart()
        assert written(session, "global", buffer.address, 64) == set()
        assert written(session, "shared", 0, 128) == set()


def test_what_malloc_gives_is_uninitialized() -> None:
    memory = gpudbg.Device("sm_50").gpu.memory
    block = memory.allocate(64, "device malloc(64)", "heap")
    memory.leave_uninitialized(block)
    assert block.uninitialized
    assert memory.uninitialized == 1


def test_the_same_words_in_the_console(tmp_path: Path) -> None:
    session = opened(tmp_path)
    session.break_at("stores+0xb8")
    session.cont()
    lines = session.command("x/12xb (@shared char*)0").lines
    assert [line.rpartition("  ")[2] for line in lines] == [
        "bytes 0-2, 4-5 never written", "never written"
    ]  # fmt: skip
    output = session.command("x/12xb (@shared char*)0")
    assert output.data["never_written"] == [[0, 2], [4, 5], [8, 11]]
    assert session.command("print *(@shared int*)0x50").lines == ("$1 = 0  never written",)
    assert session.command("print *(@shared int*)0x40").lines == ("$2 = 224",)
    shown = session.command("print *(int*)out")
    assert shown.lines[0].endswith("  never written")
    assert shown.data["never_written"] == "never written"
    # Registers: R9 is named by no instruction, R5 was written.
    assert session.command("print $R9").lines[0].endswith("= 0  never written")
    assert session.command("print $R5").lines[0].endswith("= 7")
    rows = {line.split()[0]: line for line in session.command("info registers").lines[1:]}
    assert rows["R9"].endswith("never written")
    assert "never" not in rows["R5"]


def test_buffers_say_how_much_nobody_has_written(tmp_path: Path) -> None:
    session = opened(tmp_path)
    assert session.command("info buffers").lines[0].endswith("  never written")
    session.break_at("stores+0xb8")
    session.cont()
    shown = session.command("info buffers")
    assert shown.lines[0].endswith("  59 of 64 never written")
    assert shown.data[0]["never_written"] == "59 of 64 never written"
    assert session.cont().kind == "exited"
    assert any(line.endswith("59 of 64 never written") for line in output_lines(session))
    whole = opened(tmp_path, STORES, "--grid", "1", "--block", "32", "--arg", "out=u8[64]:zeros")
    assert "written" not in whole.command("info buffers").lines[0]
    assert whole.command("info buffers").data[0]["never_written"] == ""


def test_what_is_not_known_is_said_of_zeros() -> None:
    """What holds anything else was written."""
    loaded = gpudbg.load(assemble_file(STORES, path="k.sass").cubin(), engine="run", num_sms=1)
    buffer = loaded.device.buffer(np.zeros(64, np.uint8))
    loaded.device.gpu.memory.leave_uninitialized(buffer.allocation)
    session = loaded.launch("stores", grid=1100, block=32, args=[buffer])
    session.break_at("stores+0xb8")
    assert session.cont().kind == "breakpoint"
    unknown = "not known whether written"
    assert session.command("print *(@shared int*)0x60").lines == (f"$1 = 0  {unknown}",)
    assert session.command("print *(@shared int*)0x40").lines == ("$2 = 224",)
    shown = session.command("x/4xw (@shared int*)0x60")
    assert shown.lines[-1].strip() == unknown
    assert shown.data["never_written"] == unknown
    assert session.command("info buffers").lines[0].endswith(unknown)


def test_mi_says_where_nobody_has_written(tmp_path: Path) -> None:
    (tmp_path / "k.sass").write_text(STORES)
    flags = ("--grid", "1", "--block", "32", "--arg", "out=u8[64]")
    with Client("-q", "-i=mi3", "--args", str(tmp_path / "k.sass"), *flags) as client:
        client.ok("-break-insert stores+0xb8")
        client.go("-exec-run")
        (row,) = client.ok("-data-read-memory-bytes &out[0] 16")["memory"]
        assert len(row["contents"]) == 32
        parts = [(int(p["offset"], 16), int(p["end"], 16)) for p in row["never-written"]]
        assert parts == [(0, 5), (6, 8), (12, 16)]
        (row,) = client.ok("-data-read-memory-bytes &out[8] 4")["memory"]
        assert "never-written" not in row
