"""A program opens also where its launch cannot begin; only `run` asks for what is missing."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pytest

import gpudbg
from gpudbg.cli import main
from gpudbg.debug.session import DebugSession
from gpudbg.errors import CommandError, UsageError
from tests.launching import open_with

KERNELS = Path(__file__).resolve().parents[1] / "data" / "kernels"
CUBINS = KERNELS / "cubin" / "sm_50"
FULL = "--kernel saxpy --grid 1 --block 32 --arg n=i32:32 --arg a=f32:2 --arg x=f32[32]:fill(3)"
LAST = " --arg y=f32[32]:fill(1)"


@pytest.fixture
def saxpy(tmp_path: Path) -> Path:
    """A cubin of two kernels beside its source, without a launch table."""
    shutil.copy(CUBINS / "saxpy.cubin", tmp_path)
    shutil.copy(KERNELS / "saxpy.cu", tmp_path)
    return tmp_path / "saxpy.cubin"


def opened(path: Path, flags: str = "") -> DebugSession:
    return open_with(path, flags.split(), may_wait=True)


def test_several_kernels_open_to_look_at(saxpy: Path) -> None:
    session = opened(saxpy)
    assert not session.launched
    assert session.stop is not None
    assert session.stop.kind == "opened"
    assert "name one of: daxpy, saxpy" in session.stop.message
    assert session.stops == []
    assert session.grid.gpu.launches == 0
    assert [row["name"] for row in session.execute("info kernels")] == ["daxpy", "saxpy"]
    point = session.break_at("saxpy.cu:5", condition="threadIdx.x == 3")
    assert len(point.addresses) == 1
    assert "MOV R1" in session.command("x/3i saxpy").text
    assert "XMAD" in session.command("disassemble daxpy").text
    assert session.command("list saxpy.cu:5").lines
    assert session.command("print 6 * 7").text == "$1 = 42"
    for line in ("stepi", "continue", "info registers", "print $R4", "finish"):
        with pytest.raises(CommandError, match="nothing has been launched"):
            session.command(line)
    for line in ("run", "start"):
        with pytest.raises(UsageError, match=r"has 2 kernels; name one of: daxpy, saxpy.*--kernel"):
            session.command(line)
    assert session.command("info warps").data == []
    stop = session.command("run " + FULL + LAST).data
    assert (stop["kind"], stop["thread"]) == ("breakpoint", (3, 0, 0))
    assert session.launched
    assert session.grid.gpu.launches == 1
    session.command("delete")
    session.command("continue")
    assert (session.buffer("y") == 7).all()


def test_run_says_which_arguments_are_missing(saxpy: Path) -> None:
    session = opened(saxpy, FULL)
    for _ in range(2):
        with pytest.raises(UsageError, match="1 argument is not given: y"):
            session.command("run")
    session.command("set launch arg y=f32[32]:fill(10)")
    session.command("run")
    assert (session.buffer("y") == 16).all()
    # What is given later lies over what was given before, and stays.
    session.command("run --arg a=f32:4")
    assert (session.buffer("y") == 22).all()
    session.command("run")
    assert (session.buffer("y") == 22).all()
    names = [a.name for a in session.launch.arguments]
    assert names == ["n", "a", "x", "y"]
    assert len([a for a in session.allocations() if "buffer" in a.name]) == 2


def test_launch_takes_what_it_proposes(saxpy: Path) -> None:
    session = opened(saxpy)
    shown = session.execute("info launch")
    assert (shown["kernel"], shown["grid"], shown["block"]) == ("daxpy", "2", "64")
    assert [a["given"] for a in shown["arguments"]] == [False] * 4
    assert [a["type"] for a in shown["arguments"]] == ["int", "double", "double*", "double*"]
    session.command("set launch arg n=i32:100")
    shown = session.execute("info launch")
    assert [a["given"] for a in shown["arguments"]] == [True, False, False, False]
    out = session.command("launch saxpy --grid 1")
    assert out.data["kernel"] == "saxpy"
    assert out.lines[0].startswith("run --kernel saxpy --grid 1 --block 64 --arg n=i32:100")
    assert session.grid.grid == (1, 1, 1)
    session.command("continue")
    assert session.buffer("y").tolist() == [float(n) for n in range(100)] + [0.0] * 28
    # The line that was shown does the same.
    again = opened(saxpy)
    again.command(out.lines[0])
    assert (again.buffer("y") == session.buffer("y")).all()


def test_a_bool_pointer_is_proposed_as_bytes(tmp_path: Path) -> None:
    path = tmp_path / "flags.sass"
    path.write_text(".arch sm_50\n.kernel _Z5flagsPbb\n.registers 8\n.param 8, 1\nEXIT\n")
    session = opened(path)
    session.command("launch")
    session.command("continue")
    (buffer, _) = session.launch.arguments
    assert buffer.buffer.dtype == np.uint8
    with pytest.raises(UsageError, match="element type u8"):
        opened(path, "--arg f32[4] --arg 1")


def test_set_args_replaces_all_launch_flags(saxpy: Path) -> None:
    session = opened(saxpy, "--grid 3")
    assert session.command("show args").text.split()[1:3] == ["--grid", "3"]
    session.command("set args " + FULL + LAST)
    assert session.kernel.name == "saxpy"
    session.command("start")
    assert session.grid.grid == (1, 1, 1)
    session.command("set launch grid 2,2")
    assert session.grid.grid == (1, 1, 1), "the next start takes it"
    assert session.command("show launch grid").data == {"launch grid": "2,2"}
    session.command("start")
    assert session.grid.grid == (2, 2, 1)
    with pytest.raises(UsageError, match="launch flags"):
        session.command("set args --nonsense 3")
    with pytest.raises(UsageError, match="grid 'x'"):
        session.command("run --grid x")
    with pytest.raises(UsageError, match="no kernel 'saxpi'"):
        session.command("set launch kernel saxpi")
    with pytest.raises(UsageError, match="--heap is the device's"):
        session.command("run --heap 4096")
    assert session.grid.grid == (2, 2, 1)


def test_a_launched_session_can_launch_another_kernel(saxpy: Path) -> None:
    session = opened(saxpy, FULL + LAST)
    session.break_at("daxpy+0x10")
    assert session.cont().kind == "exited"
    out = session.command("launch daxpy").data
    assert out["kernel"] == "daxpy"
    assert session.symbols.kernel_name == "daxpy"
    assert session.cont().kind == "breakpoint"


def test_a_launch_is_saved_beside_the_program_when_asked(saxpy: Path) -> None:
    session = opened(saxpy)
    table = saxpy.with_suffix(".toml")
    session.command("launch saxpy --grid 1 --block 64 --arg a=f32:3 --arg n=64")
    assert not table.exists()
    assert str(table) in session.command("save launch").text
    assert tomllib.loads(table.read_text())["kernel"] == "saxpy"
    again = gpudbg.open(saxpy)
    again.run()
    assert again.buffer("y").tolist() == [3.0 * n for n in range(64)] + [0.0] * 64
    with pytest.raises(CommandError, match=r"is there already.*save launch"):
        session.command("save launch")
    session.command(f"save launch {table.parent / 'other.toml'}")
    again = gpudbg.open(saxpy, launch=table.parent / "other.toml")
    assert again.kernel.name == "saxpy"
    with pytest.raises(CommandError, match="cannot write"):
        session.command("save launch /nowhere/at/all.toml")


def test_a_table_that_does_not_fit_opens_too(saxpy: Path) -> None:
    saxpy.with_suffix(".toml").write_text('kernel = "saxpy"\ngrid = 5\nargs = ["i32:1"]\n')
    session = opened(saxpy)
    assert session.kernel.name == "saxpy"
    with pytest.raises(UsageError, match="takes 4 parameters"):
        session.command("run")
    assert session.execute("info launch")["grid"] == "5"
    # Another kernel does not take the arguments of the table's.
    with pytest.raises(UsageError, match="no argument is given"):
        session.command("run --kernel daxpy")


def test_bad_flags_are_told_at_once(saxpy: Path) -> None:
    with pytest.raises(UsageError, match="no kernel 'sax'"):
        opened(saxpy, "--kernel sax")
    with pytest.raises(UsageError, match="cannot read argument"):
        opened(saxpy, "--arg n=:::")
    with pytest.raises(UsageError, match="--num-sms: 0 is not between"):
        opened(saxpy, "--num-sms 0")


def test_python_sessions_take_flags_over_their_launch() -> None:
    program = gpudbg.load(CUBINS / "saxpy.cubin")
    x, y = np.full(32, 3, np.float32), np.ones(32, np.float32)
    session = program.launch("saxpy", args=[np.int32(32), np.float32(2), x, y])
    session.run()
    session.command("run --arg arg1=f32:5")
    assert (session.buffer(3) == 16).all()


# ---- the command line --------------------------------------------------------------------------
def run(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(list(words))
    out, err = capsys.readouterr()
    return code, out, err


def test_batch_that_never_runs_ends_clean(saxpy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["-ex", "info kernels", "-ex", "break saxpy", "-ex", "x/2i saxpy"]
    code, out, err = run("--batch", *lines, str(saxpy), capsys=capsys)
    assert (code, err) == (0, "")
    assert "daxpy" in out
    code, out, err = run("--batch", *lines, "-ex", "run", str(saxpy), capsys=capsys)
    assert code == 2
    assert "name one of: daxpy, saxpy" in err
    code, out, err = run("--batch", str(saxpy), capsys=capsys)
    assert (code, out, err) == (0, "", "")


def test_json_of_an_open_program(saxpy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run("--batch", "--json", "-ex", "info launch", str(saxpy), capsys=capsys)
    record = json.loads(out)
    assert record["name"] == "info launch"
    assert record["data"]["launched"] is False
    assert "2 kernels" in record["data"]["missing"]


def test_run_verb_still_wants_everything(saxpy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run("run", str(saxpy), capsys=capsys)
    assert code == 2
    assert "name one of: daxpy, saxpy" in err
