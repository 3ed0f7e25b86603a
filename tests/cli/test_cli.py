"""The command line: verbs, exit codes, one clear line for every kind of bad input."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gpudbg import cli
from gpudbg.errors import EXIT_CLEAN, EXIT_FAULT, EXIT_USAGE
from gpudbg.formats import reading
from gpudbg.frontends.verbs.common import has_screen
from tests.launching import FIRST

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "tests" / "data" / "kernels"


def run(*args: str | Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = cli.main([str(a) for a in args])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def cubin(name: str, variant: str = "sm_50") -> Path:
    found = sorted(KERNELS.rglob(f"{variant}/{name}.cubin"))
    assert found, f"no cubin of {name}"
    return found[0]


def test_run_shows_outputs(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run("run", FIRST, capsys=capsys)
    assert (code, err) == (EXIT_CLEAN, "")
    assert "4974 4970 5026 4994" in out


def test_run_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run("run", FIRST, "--json", capsys=capsys)
    data = json.loads(out)
    assert code == EXIT_CLEAN
    assert data["stop"]["kind"] == "exited"
    assert data["outputs"]["out"] == [4974, 4970, 5026, 4994]


def test_run_with_flags_only(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        "run", cubin("saxpy"), "-k", "saxpy", "--grid", "4", "--block", "64",
        "--arg", "i32:100", "--arg", "f32:2", "--arg", "x=f32[100]:arange(start=0,step=1)",
        "--arg", "y=f32[100]:fill(value=1)", "-o", "y", capsys=capsys,
    )  # fmt: skip
    assert code == EXIT_CLEAN
    assert "1 3 5 7 9 11 13 15" in out


def test_fault_is_exit_3_with_the_culprit(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(
        "run", cubin("fault_oob_global"), "--block", "64", "--arg", "p=i32[64]",
        "--arg", "i32:64", "--arg", "i64:68719476736", capsys=capsys,
    )  # fmt: skip
    assert code == EXIT_FAULT
    assert out == ""
    for word in ("thread (37,0,0)", "lane 5", "fault_oob_global+0x", "STG", "buffer p"):
        assert word in err


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["missing.cubin"], "missing.cubin"),
        (["run"], "program"),
        (["run", str(FIRST), "-k", "nope"], "block_max"),
        (["run", str(FIRST), "--grid", "0"], "grid"),
        (["run", str(FIRST), "--block", "5000"], "block"),
        (["run", str(FIRST), "--arg", "i32:1"], "takes 3 parameters"),
        (["run", str(FIRST), "--arg", "in", "--arg", "out", "--arg", "zzz"], "zzz"),
        (["dis", str(FIRST), "-k", "nope"], "block_max"),
        (["dis", str(FIRST), "--range", "x"], "START:END"),
        (["dis", str(FIRST), "--range", "5"], "START:END"),
        (["dis", str(FIRST), "--range", "0x10:0x8"], "holds nothing"),
        (["dis", str(FIRST), "--range=-8:8"], "holds nothing"),
        (["dis", str(FIRST), "--range", "0x20000:"], "code ends at 0x580"),
        (["decode", "nonsense", "1"], "nothing decodes"),
        (["demo", "nope"], "first_steps"),
        (["nosuchverb"], "nosuchverb"),
        (["--batch", "-x", "/nonexistent", str(FIRST)], "/nonexistent"),
        (["--batch", "-ex", "frobnicate", str(FIRST)], "frobnicate"),
        (["info", "isa", "--arch", "sm_99"], "sm_99"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(
    args: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(*args, capsys=capsys)
    assert code == EXIT_USAGE
    assert words in err
    assert "Traceback" not in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["-D", "N=4"], "-D N=4"),
        (["-I", "include"], "-I include"),
        (["--std", "c++17"], "--std c++17"),
        (["-G"], "-G"),
    ],
)
@pytest.mark.parametrize("verb", ["dis", "info", "run"])
def test_flags_of_the_compiler_with_a_cubin(
    verb: str, flags: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program = cubin("matmul_tiled")
    code, out, err = run(verb, program, *flags, capsys=capsys)
    assert (code, out) == (EXIT_USAGE, "")
    assert err == (
        f"gpudbg: {program} is not compiled: {named} would change nothing "
        "(flags for the compiler go with .cu and .ptx files)\n"
    )


@pytest.mark.parametrize("verb", ["dis", "info"])
def test_a_cubin_of_another_architecture(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    program = cubin("matmul_tiled")
    code, out, err = run(verb, program, "--arch", "sm_61", capsys=capsys)
    assert (code, out) == (EXIT_USAGE, "")
    assert err == f"gpudbg: {program} is a cubin for sm_50, not sm_61 (leave --arch out)\n"
    assert run(verb, program, "--arch", "sm_50", capsys=capsys)[0] == 0


def test_a_file_that_never_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A device, as a program and as a launch table."""
    monkeypatch.setattr(reading, "MOST_STREAMED", 1 << 20)
    program = str(cubin("matmul_tiled"))
    for arguments in (("dis", "/dev/zero"), ("run", program, "--launch", "/dev/zero")):
        code, out, err = run(*arguments, capsys=capsys)
        assert (code, out) == (EXIT_USAGE, "")
        assert err == "gpudbg: /dev/zero: is no regular file and gives more than 1 MiB\n"


@pytest.mark.full(instead="test_console_reads_standard_input")
def test_no_room_for_what_is_written() -> None:
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "gpudbg", "info", "isa"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == EXIT_USAGE
    assert done.stderr == "gpudbg: the output cannot be written: No space left on device\n"


def test_a_wrong_argument_names_the_verb_once(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run("run", "--jobs", "two", "x", capsys=capsys)
    assert code == EXIT_USAGE
    assert err.startswith("gpudbg: run: argument --jobs: 'two' is not a whole number (see")
    code, _, err = run("--jobs", "two", "x", capsys=capsys)
    assert err.startswith("gpudbg: argument --jobs: 'two' is not a whole number (see")


@pytest.mark.parametrize("cut", [0, 3, 16, 63, 64, 200, 2000])
def test_truncated_cubins_name_file_and_offset(
    cut: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cut.cubin"
    path.write_bytes(FIRST.read_bytes()[:cut])
    code, _, err = run("info", path, capsys=capsys)
    assert code == EXIT_USAGE
    assert "cut.cubin" in err
    assert len(err.strip().splitlines()) == 1


def test_unsupported_architecture_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = bytearray(FIRST.read_bytes())
    data[0x30:0x34] = (0x250525).to_bytes(4, "little")
    path = tmp_path / "kepler.cubin"
    path.write_bytes(data)
    code, _, err = run("run", path, capsys=capsys)
    assert code == EXIT_USAGE
    assert "sm_37" in err


def test_batch_commands_in_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "s.gdb"
    script.write_text("# a comment\nstepi\nprint $pc\n")
    code, out, _ = run(
        "--batch", "-ex", "break block_max+0x178", "-x", str(script), "-ex", "continue", str(FIRST),
        capsys=capsys,
    )  # fmt: skip
    assert code == EXIT_CLEAN
    assert out.index("Breakpoint 1") < out.index("$1 = 16") < out.index("breakpoint 1 at")


def test_failing_script_line_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "s.gdb"
    script.write_text("stepi\nprint )\n")
    code, _, err = run("--batch", "-x", str(script), str(FIRST), capsys=capsys)
    assert code == EXIT_USAGE
    assert f"{script}:2" in err


def test_batch_exit_code_of_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, _ = run(
        "--batch", "-ex", "continue", str(cubin("fault_oob_global")), "--block", "64",
        "--arg", "p=i32[64]", "--arg", "i32:64", "--arg", "i64:68719476736", capsys=capsys,
    )  # fmt: skip
    assert code == EXIT_FAULT


def test_json_console_is_one_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        "--batch", "--json", "-ex", "info warps", "-ex", "stepi", str(FIRST), capsys=capsys
    )
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == EXIT_CLEAN
    assert [r["ok"] for r in rows] == [True, True]
    assert len(rows[0]["data"]) == 8


def test_console_reads_standard_input() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gpudbg", str(FIRST)],
        input="stepi\nprint $pc\nbad\nquit\n",
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        check=False,
    )
    assert "$1 = 16" in done.stdout
    assert 'Undefined command: "bad"' in done.stderr
    assert "Traceback" not in done.stderr


def test_quit_gives_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, _ = run("--batch", "-ex", "quit 7", str(FIRST), capsys=capsys)
    assert code == 7
    code, _, err = run("--batch", "-ex", "quit x", str(FIRST), capsys=capsys)
    assert code == EXIT_USAGE
    assert "'x' is not a number" in err


def test_demo_plays_headless(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run("demo", "--headless", capsys=capsys)
    assert (code, err) == (EXIT_CLEAN, "")
    assert "4974 4970 5026 4994" in out


def test_dis_flags(capsys: pytest.CaptureFixture[str]) -> None:
    _, plain, _ = run("dis", FIRST, "--control", "none", "--no-bytes", capsys=capsys)
    assert "/*0008*/" in plain
    assert "0x4c98" not in plain
    _, source, _ = run("dis", FIRST, "--source", capsys=capsys)
    assert "first_steps.cu:19" in source
    _, dot, _ = run("dis", FIRST, "--cfg", "dot", capsys=capsys)
    assert dot.startswith("digraph")
    _, blocks, _ = run("dis", FIRST, "--cfg", "text", capsys=capsys)
    assert "sync 0178" in blocks
    _, part, _ = run("dis", FIRST, "--range", "0x28:0x38", "--json", capsys=capsys)
    assert [x["offset"] for x in json.loads(part)[0]["instructions"]] == [0x28, 0x30]


def test_dis_says_how_lanes_lie(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ("dis", FIRST, "--range", "0x58:0x98", "--lanes")
    _, out, _ = run(*flags, "256", "--control", "none", "--no-bytes", capsys=capsys)
    compared = "ISETP.GE.AND P0, PT, R2, c[0x0][0x150], PT"
    assert f"{compared} ;  // P0 varying" in out
    assert f"SYNC ;  // lanes may part: P0 varies: {compared} at 0x58, R2 is base + lane" in out
    assert "LDG.E R2, [R2] ;  // R2 varying; address R2 is base + 4*lane" in out
    _, text, _ = run(*flags, "16,16", "--json", capsys=capsys)
    assert json.loads(text)[0]["instructions"][0]["remark"] == "P0 varying"
    code, out, err = run(*flags, "wide", capsys=capsys)
    assert (code, out) == (EXIT_USAGE, "")
    assert "lanes 'wide' is not up to three integers" in err


@pytest.mark.parametrize("shape", ["9999999999", "1,1,65", "64,32"])
def test_dis_refuses_blocks_that_are_none(shape: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run("dis", FIRST, "--lanes", shape, capsys=capsys)
    assert (code, out) == (EXIT_USAGE, "")
    assert "--lanes: " in err
    assert "must be 1 to" in err or "at most 1024" in err


def test_dis_raw_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [0x001F8000FC0007E0, 0x50B0000000070F00, 0xE30000000007000F, 0xFFFFFFFFFFFFFFFF]
    path = tmp_path / "raw.bin"
    path.write_bytes(b"".join(w.to_bytes(8, "little") for w in words))
    code, out, _ = run("dis", "--raw", "--arch", "sm_50", path, capsys=capsys)
    assert code == EXIT_CLEAN
    assert "EXIT" in out
    assert "illegal" in out
    path.write_bytes(b"12345")
    code, _, err = run("dis", "--raw", path, capsys=capsys)
    assert code == EXIT_USAGE
    assert "32-byte bundles" in err


def test_info_lists_what_a_launch_needs(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run("info", FIRST, capsys=capsys)
    for word in ("block_max", "sm_50", "c[0]:", "first_steps.cu"):
        assert word in out
    _, text, _ = run("info", FIRST, "--json", capsys=capsys)
    kernel = json.loads(text)["kernels"][0]
    assert [p["bytes"] for p in kernel["parameters"]] == [8, 8, 4]
    assert kernel["shared_static_bytes"] == 256


def test_bare_command_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys=capsys)
    assert code == EXIT_USAGE
    assert "Three things to try" in err
    assert "gpudbg --help" in err
    code, out, _ = run("--help", capsys=capsys)
    assert code == EXIT_CLEAN
    assert "exit codes" in out
    code, out, _ = run("--version", capsys=capsys)
    assert out.startswith("gpudbg 0.")
    assert re.search(r" gdb( \(.*?\))? (\D* )*\(?13\.1", out)  # as cdt-gdb-adapter looks for it
    code, out, _ = run("--interpreter=mi", "--version", capsys=capsys)
    assert out.startswith("GNU gdb")  # what IDEs look for


@pytest.mark.full(instead="test_console_reads_standard_input")
def test_headless_paths_load_no_terminal_ui() -> None:
    probe = (
        "import sys; from gpudbg import cli; cli.main(['run', sys.argv[1]]);"
        "heavy = {'textual', 'rich', 'construct'} & set(sys.modules); print('HEAVY', sorted(heavy))"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe, str(FIRST)],
        capture_output=True, text=True, cwd=ROOT, timeout=60, check=True,
    )  # fmt: skip
    assert "'textual'" not in done.stdout
    assert "'rich'" not in done.stdout


@pytest.mark.full(instead="test_console_reads_standard_input")
def test_commands_from_standard_input_and_pipes(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "gpudbg", "--batch", "-x"]
    done = subprocess.run(
        [*words, "-", str(FIRST)], input="print 1+1\n\n# no\np 3\n", capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (EXIT_CLEAN, "$1 = 2\n$2 = 3\n")
    done = subprocess.run(
        [*words, "/dev/stdin", str(FIRST)], input="p 5\n", capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (EXIT_CLEAN, "$1 = 5\n")


@pytest.mark.parametrize("verb", ["run", "dis", "info"])
def test_wrong_magic_is_named(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.cubin"
    broken.write_bytes(b"\0" + FIRST.read_bytes()[1:])
    code, out, err = run(verb, broken, capsys=capsys)
    assert (code, out, err.count("\n")) == (EXIT_USAGE, "", 1)
    for words in ("broken.cubin at offset 0x0", "00 45 4c 46", "ELF magic 7f 45 4c 46"):
        assert words in err


def test_a_dumb_terminal_gets_the_console(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.delenv("TEXTUAL_DRIVER", raising=False)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert not has_screen()
    assert "TERM=dumb cannot draw the terminal UI" in capsys.readouterr().err
    monkeypatch.setenv("TERM", "screen")
    assert has_screen()
    assert capsys.readouterr().err == ""
