"""SASS text straight to a launchable program; every mistake of a file told at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gpudbg
from gpudbg.cli import main

FILL = """\
// out[lane] = lane, for n lanes
.kernel fill
.param out 8
.param n 4
S2R R0, SR_LANEID
SHL R1, R0, 0x2
ISETP.GE.AND P0, PT, R0, c[0x0][n], PT
@P0 EXIT
IADD R2.CC, R1, c[0x0][out]
IADD.X R3, RZ, c[0x0][out+4]
STG.E [R2], R0
EXIT
"""

WRONG = """\
.kernel fill
.param out 8 9
S2R R0, SR_LANEID
SHLL R1, R0, 0x2
.bogus
BRA nowhere
IADD R2.CC, R1, c[0x0][outt]
[B0-----:R-:W9:-:S02] STG.E [R2], R0
EXIT
/* open
"""
LINES = [2, 4, 5, 6, 7, 8, 10]
"""Those of WRONG that are wrong."""


def test_text_is_a_program_with_names_and_source_lines() -> None:
    program = gpudbg.assemble_program(FILL, name="fill.sass")
    session = program.launch("fill", args=[np.zeros(32, np.int32), 5])
    assert [a.name for a in session.launch.arguments] == ["out", "n"]
    session.break_at("fill.sass:8")
    stop = session.cont()
    assert (stop.file, stop.line, stop.function) == ("fill.sass", 8, "fill")
    assert any(line.startswith("=>    8  @P0 EXIT") for line in session.command("list").lines)
    assert session.run().check().kind == "exited"
    assert session.buffer("out")[:7].tolist() == [0, 1, 2, 3, 4, 0, 0]


def test_the_architecture_is_the_text_s_or_the_caller_s() -> None:
    assert gpudbg.assemble_program(".arch sm_61\nEXIT").device.arch == "sm_61"
    assert gpudbg.assemble_program("EXIT", "sm_60", num_sms=3).device.arch == "sm_60"
    with pytest.raises(gpudbg.UsageError, match="text must"):
        gpudbg.assemble_program(b"EXIT")  # type: ignore[arg-type]


def test_names_of_each_kernel_are_its_own() -> None:
    text = ".kernel a\n.param p 8\nEXIT\n.kernel b\n.param q 8\n.param m 4\nEXIT\n"
    program = gpudbg.assemble_program(text)
    args = [np.zeros(4, np.int32), 3]
    assert [a.name for a in program.launch("b", args=args).launch.arguments] == ["q", "m"]
    assert [a.name for a in program.launch("a", args=args[:1]).launch.arguments] == ["p"]


def test_a_listing_of_a_cubin_is_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    cubin = Path(__file__).parents[2] / "sessions/first_steps/first_steps.cubin"
    assert main(["dis", "--directives", str(cubin)]) == 0
    program = gpudbg.assemble_program(capsys.readouterr().out)
    session = program.launch(
        "block_max", 4, 64, [np.arange(256, dtype=np.int32), np.zeros(4, np.int32), 250]
    )
    assert session.run().check().kind == "exited"
    assert session.buffer(1).tolist() == [73, 137, 207, 264]


@pytest.mark.parametrize("verb", [("run",), ("--batch", "-ex", "run")])
def test_a_sass_file_runs(
    verb: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "fill.sass"
    file.write_text(FILL)
    file.with_suffix(".toml").write_text(
        'args = ["out", "i32:5"]\n[buffers.out]\ntype = "i32"\ncount = 32\n'
    )
    assert main([*verb, str(file)]) == 0
    assert "0 1 2 3 4 0 0 0" in capsys.readouterr().out


def test_compiler_options_do_not_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "fill.sass"
    file.write_text(FILL)
    assert main(["run", str(file), "-D", "N=3"]) == 2
    assert "takes no compiler options" in capsys.readouterr().err


def test_parameters_that_nobody_declared() -> None:
    program = gpudbg.assemble_program(".kernel k\nMOV R0, c[0x0][0x140]\nEXIT\n")
    with pytest.raises(gpudbg.UsageError, match=r"declares no parameters .*`\.param NAME SIZE`"):
        program.launch("k", args=[np.zeros(4, np.int32)])
    with pytest.raises(gpudbg.UsageError, match="unknown architecture 'sm_30'"):
        gpudbg.assemble_program("EXIT", "sm_30")


# ---- mistakes --------------------------------------------------------------------------
def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(gpudbg.AssembleError) as caught:
        gpudbg.assemble_program(WRONG, name="k.sass")
    error = caught.value
    assert [e.line for e in error.errors] == LINES
    assert (error.path, error.line) == ("k.sass", LINES[0])
    assert str(error).splitlines()[0] == f"{len(LINES)} errors"
    assert all(f"k.sass:{n}:" in str(error) for n in LINES)


@pytest.mark.parametrize("verb", [("run",), ("dis",), ("info",), ("--batch",)])
def test_the_command_line_tells_them_too(
    verb: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "k.sass"
    file.write_text(WRONG)
    assert main([*verb, str(file)]) == 2
    err = capsys.readouterr().err
    assert [f"k.sass:{n}:" in err for n in LINES] == [True] * len(LINES)
    assert "Traceback" not in err


def test_one_mistake_is_one_line() -> None:
    with pytest.raises(gpudbg.AssembleError) as caught:
        gpudbg.assemble_program("EXIT\nFOO\n", name="k.sass")
    assert str(caught.value) == "k.sass:2:1: no instruction FOO on sm_50; expected mnemonic"
    assert caught.value.errors == (caught.value,)


def test_a_file_of_nonsense_is_not_listed_for_ever() -> None:
    with pytest.raises(gpudbg.AssembleError) as caught:
        gpudbg.assemble_program("what ever\n" * 5000)
    assert str(caught.value).startswith("50 or more errors\n")


def test_what_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "k.sass"
    file.write_bytes(b"EXIT\n\xff\xfe")
    with pytest.raises(gpudbg.LoadError, match="offset 0x5: is no UTF-8 text"):
        gpudbg.load(file)


def test_a_parameter_s_name_is_its_kernel_s() -> None:
    text = ".kernel a\n.param n 4\nMOV R0, c[0x0][n]\nEXIT\n.kernel b\n.param p 8\n.param n 4\n"
    program = gpudbg.assemble_program(text + "MOV R0, c[0x0][n]\nEXIT")
    assert [[p.size for p in k.params] for k in program.kernels.values()] == [[4], [8, 4]]
    for name, args, value in (("a", [7], 7), ("b", [0, 9], 9)):
        session = program.launch(name, args=args)
        session.step(1)
        assert session.evaluate("$R0").values[0] == value
