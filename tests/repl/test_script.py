"""gpudbg script: arguments, exit codes, and what a failing script shows."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest

from gpudbg import cli

ROOT = Path(__file__).resolve().parents[2]

RUN = f"""\
import sys, numpy as np, gpudbg
program = gpudbg.load({str(ROOT / "sessions/out_of_bounds/out_of_bounds.cubin")!r})
size = int(sys.argv[1])
data = np.zeros(size, np.float32)
session = program.launch("smooth", 4, 64, [data, np.zeros(250, np.float32), np.int32(250)])
print(session.run().kind, sys.argv[2:])
"""


def script(tmp_path: Path, text: str, *words: str) -> int:
    file = tmp_path / "tool.py"
    file.write_text(text)
    return cli.main(["script", str(file), *words])


def test_arguments_and_clean_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = list(sys.argv), list(sys.path)
    assert script(tmp_path, RUN, "251", "--flag", "-x") == 0
    assert capsys.readouterr().out == "exited ['--flag', '-x']\n"
    assert (list(sys.argv), list(sys.path)) == before


def test_a_fault_is_exit_code_3(tmp_path: Path) -> None:
    assert script(tmp_path, RUN, "250") == 3
    assert script(tmp_path, RUN + "sys.exit(0)\n", "250") == 0


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("import sys; sys.exit(1)", 1),
        ("raise SystemExit", 0),
        ("raise SystemExit('words')", 1),
        ("import gpudbg; gpudbg.load('nowhere.cubin')", 2),
        ("import gpudbg; raise gpudbg.ModelGap('TXA')", 4),
        ("1/0", 1),
        ("assert 2 == 3", 1),
        ("if", 1),
        ("gpudbg.load('nowhere.cubin')", 2),
        ("assert np.arange(3).sum() == 3", 0),
        ("import __main__, pathlib; assert pathlib.Path(__main__.__file__).name == 'tool.py'", 0),
        ("assert __name__ == '__main__' and __file__.endswith('tool.py')", 0),
        ("import sys; assert sys.argv == [__file__], sys.argv", 0),
        ("import neighbour", 0),
    ],
)
def test_exit_codes(tmp_path: Path, text: str, code: int) -> None:
    (tmp_path / "neighbour.py").write_text("")
    assert script(tmp_path, text) == code


def test_a_failing_script_shows_its_own_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script(tmp_path, "def f():\n    return 1 / 0\nf()\n")
    err = capsys.readouterr().err
    assert "ZeroDivisionError" in err
    assert "runpy" not in err


def test_an_error_of_gpudbg_points_at_the_script_s_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = RUN.replace("print(session.run().kind, sys.argv[2:])", "session.run().check()")
    assert script(tmp_path, text, "250") == 3
    err = capsys.readouterr().err
    assert "MMU_FAULT" in err
    assert f"  at {tmp_path / 'tool.py'}:6  session.run().check()" in err
    assert "Traceback" not in err
    assert script(tmp_path, "def f():\n    gpudbg.load('nowhere.cubin')\nf()\n") == 2
    err = capsys.readouterr().err
    assert err.count("nowhere.cubin") == 2
    assert "tool.py:3  f()" in err
    assert "tool.py:2  gpudbg.load" in err


def test_a_script_that_does_not_parse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert script(tmp_path, "x = (\n") == 1
    err = capsys.readouterr().err
    assert "SyntaxError" in err
    assert "tool.py" in err
    assert "runpy" not in err


@pytest.mark.parametrize(
    ("content", "where"),
    [
        (b"\x7fELF\x02\x01\x01\0\0", "byte 0x00 at 0x7"),
        (b'x = 1\ny = "\xff"\n', "byte 0xff at 0xb"),
        (b"a\nb\nc\n\xc3(", "byte 0xc3 at 0x6"),
    ],
)
def test_what_is_no_text(
    content: bytes, where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line and exit code 2: no program that Python could find a mistake in."""
    path = tmp_path / "program"
    path.write_bytes(content)
    assert cli.main(["script", str(path)]) == 2
    err = capsys.readouterr().err
    hint = "programs for a GPU are opened by `gpudbg FILE`"
    assert err == f"gpudbg: {path}: no Python program: {where} ({hint})\n"


def test_what_is_text_runs(tmp_path: Path) -> None:
    """Empty, in an encoding of its own, and an archive with a program in it."""
    path = tmp_path / "tool.py"
    for content in (b"", b"# coding: latin-1\nassert len('\xff') == 1\n"):
        path.write_bytes(content)
        assert cli.main(["script", str(path)]) == 0
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("__main__.py", "import sys\nsys.exit(7)\n")
    assert cli.main(["script", str(path)]) == 7


def test_a_device_is_no_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["script", "/dev/zero"]) == 2
    assert capsys.readouterr().err == "gpudbg: cannot read /dev/zero: no ordinary file\n"


def test_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["script", "nowhere.py"]) == 2
    assert cli.main(["script"]) == 2
    assert "nowhere.py: no such file" in capsys.readouterr().err
