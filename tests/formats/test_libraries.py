"""Files of many cubins, as libraries ship them: the kernel-less are skipped, all are listed.

`twice.cubin` is made by `ptxas -c -arch=sm_50 twice.ptx`: a device function and no kernel.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from gpudbg.api.opening import launch_parser, open_session
from gpudbg.cli import main
from gpudbg.errors import LoadError
from gpudbg.formats.files import kernel_names, read_program

HERE = Path(__file__).resolve().parent / "data"
CUBINS = Path(__file__).resolve().parents[1] / "data" / "kernels" / "cubin"
PARTS = ("saxpy", "fault_oob_global", "atomics_global")


def entry(cubin: bytes, arch: int) -> bytes:
    """An uncompressed cubin as an entry of a fat binary."""
    payload = cubin + bytes(-len(cubin) % 8)
    head = struct.pack(
        "<HHIQIIHHIIIQQQ", 2, 0x101, 64, len(payload), 0, 0, 0, 0, arch, 64, 0, 0, 0, 0
    )
    return head + payload


def fatbin(*entries: bytes) -> bytes:
    """A container of entries."""
    body = b"".join(entries)
    return b"\x50\xed\x55\xba" + struct.pack("<HHQ", 1, 16, len(body)) + body


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A kernel-less cubin first, then three with kernels, in several containers; two for sm_60."""
    empty = (HERE / "twice.cubin").read_bytes()
    parts = [(CUBINS / "sm_50" / f"{name}.cubin").read_bytes() for name in PARTS]
    newer = (CUBINS / "sm_60" / "atomics_global.cubin").read_bytes()
    made = fatbin(entry(empty, 50)) + bytes(24)
    made += fatbin(entry(parts[0], 50), entry(newer, 60), entry(parts[1], 50))
    made += fatbin(entry(parts[2], 50), entry(parts[0], 50))
    path = tmp_path / "library.fatbin"
    path.write_bytes(made)
    return path


def run(*words: object, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main([str(w) for w in words])
    out, err = capsys.readouterr()
    return code, out, err


def all_kernels() -> list[str]:
    return [k for name in PARTS for k in read_program(CUBINS / "sm_50" / f"{name}.cubin").kernels]


@pytest.mark.full(instead="test_dis_lists_all_or_one")
def test_names_by_sections_are_those_of_the_symbols() -> None:
    for path in sorted(CUBINS.glob("*/*.cubin")):
        assert set(kernel_names(path.read_bytes(), str(path))) == set(read_program(path).kernels)
    assert kernel_names((HERE / "twice.cubin").read_bytes(), "twice") == ()


def test_the_first_cubin_with_kernels_opens_and_knows_the_others(library: Path) -> None:
    program = read_program(library)
    assert list(program.kernels) == ["daxpy", "saxpy"]
    assert sorted((*program.kernels, *program.elsewhere)) == sorted(all_kernels())
    for name in all_kernels():
        assert name in read_program(library, kernel=name).kernels
    assert read_program(library, arch="sm_60", kernel="saxpy").arch == "sm_60"


def test_info_lists_every_kernel(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run("info", library, capsys=capsys)
    assert (code, err) == (0, "")
    assert all(name in out for name in (*all_kernels(), "twice"))
    _, out, _ = run("info", library, "--json", capsys=capsys)
    data = json.loads(out)
    assert [k["name"] for k in data["kernels"]] == all_kernels()
    assert "twice" in [f["name"] for f in data["functions"]]
    code, out, _ = run("info", library, "-k", "saxpy", "--launch", capsys=capsys)
    assert code == 0
    assert 'kernel = "saxpy"' in out
    code, out, err = run("info", library, "-k", "saxpi", capsys=capsys)
    assert code == 2
    assert "did you mean saxpy" in err


def test_dis_lists_all_or_one(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = [*read_program(CUBINS / "sm_50" / f"{PARTS[0]}.cubin").kernels]
    newer = [*read_program(CUBINS / "sm_60" / "atomics_global.cubin").kernels]
    for flags, more in ((("--arch", "sm_50"), []), ((), newer)):
        _, out, _ = run("dis", library, *flags, capsys=capsys)
        functions = [line.split()[-1] for line in out.splitlines() if "Function :" in line]
        assert sorted(functions) == sorted([*all_kernels(), "twice", *again, *more])
        assert out.count("Fatbin elf code:") == 5 + bool(more)
    _, alone, _ = run("dis", library, "-k", "twice", "-k", "daxpy", capsys=capsys)
    assert alone.count("Function :") == 3  # the cubin of daxpy stands twice in the file
    _, out, _ = run("dis", library, "--json", capsys=capsys)
    assert sorted(row["function"] for row in json.loads(out)) == sorted(functions)
    code, _, err = run("dis", library, "-k", "twise", capsys=capsys)
    assert code == 2
    assert "no function 'twise' (did you mean twice?)" in err


def test_run_finds_a_kernel_in_any_cubin(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run("run", library, capsys=capsys)
    assert code == 2
    assert f"has {len(all_kernels())} kernels; name one of: daxpy, saxpy" in err
    args = "--block 64 -a p=i32[64] -a i32:64 -a i64:68719476736".split()
    name = next(iter(read_program(CUBINS / "sm_50" / "fault_oob_global.cubin").kernels))
    code, _, err = run("run", library, "-k", name, *args, capsys=capsys)
    assert code == 3, err


def test_a_session_reads_the_cubin_of_the_kernel_that_is_chosen(library: Path) -> None:
    session = open_session(library, launch_parser().parse_args([]), may_wait=True)
    listed = [row["name"] for row in session.execute("info kernels")]
    assert sorted(listed) == sorted(all_kernels())
    name = next(iter(read_program(CUBINS / "sm_50" / "atomics_global.cubin").kernels))
    point = session.break_at("daxpy")
    session.command(f"set launch kernel {name}")
    assert session.kernel.name == name
    assert point.addresses == ()
    assert sorted(row["name"] for row in session.execute("info kernels")) == sorted(listed)
    session.command(f"launch {name}")
    assert session.launched
    session.command("launch daxpy")
    assert session.cont().kind == "breakpoint"


def test_a_cubin_without_kernels(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    bare = HERE / "twice.cubin"
    for verb in ("info", "dis"):
        code, out, _ = run(verb, bare, capsys=capsys)
        assert code == 0
        assert "twice" in out
    path = tmp_path / "bare.fatbin"
    path.write_bytes(fatbin(entry(bare.read_bytes(), 50)))
    for file in (bare, path):
        with pytest.raises(LoadError, match=r"contains no kernels .`gpudbg dis`"):
            read_program(file)
        code, _, err = run("run", file, capsys=capsys)
        assert code == 2
        assert "contains no kernels" in err
