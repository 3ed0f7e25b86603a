"""Programs made from text keep it: names of arguments, source lines, `list`, without a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gpudbg
from gpudbg.debug.sources import SourcePath
from gpudbg.errors import LoadError, UsageError
from gpudbg.formats.files import read_program
from gpudbg.toolchain.compile import Compiled, program_of
from gpudbg.toolchain.installed import find_nvrtc, find_ptxas
from gpudbg.toolchain.signatures import from_ptx, parameters

ROOT = Path(__file__).resolve().parents[2]
STORY = ROOT / "sessions/spin_lock"

CUDA = """\
extern "C" __global__ void scale(float *x, float a, int n)
{
    int i = threadIdx.x;
    if (i < n)
        x[i] = a * x[i];
}
"""
PTX = """\
// doubles n words
.version 6.4
.target sm_50
.address_size 64
.visible .entry twice(.param .u64 buf, .param .u32 n)
{
  .reg .u64 %rd<4>; .reg .u32 %r<4>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [buf];
  ld.param.u32 %r3, [n];
  mov.u32 %r1, %tid.x;
  setp.ge.u32 %p1, %r1, %r3;
  @%p1 bra END;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd1, %rd1, %rd2;
  ld.global.u32 %r2, [%rd1];
  add.u32 %r2, %r2, %r2;
  st.global.u32 [%rd1], %r2;
END:
  ret;
}
"""


def missing(find: object) -> bool:
    try:
        return not callable(find) or find() is None
    except UsageError:
        return True


def compiled(name: str) -> gpudbg.LoadedProgram:
    """A program as the compiler made it from a text that is in no file."""
    cubin = (STORY / "spin_lock.cubin").read_bytes()
    made = Compiled(cubin, source=(STORY / "spin_lock.cu").read_text())
    return gpudbg.load(program_of(name, made))


def test_names_and_lines_come_from_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spin_lock.cu").write_text("not this one\n" * 100)
    program = compiled("spin_lock.cu")
    (kernel,) = program.kernels.values()
    args = [np.zeros(64, np.int32) if p.size == 8 else 1 for p in kernel.params]
    session = program.launch(args=args)
    names = [a.name for a in session.launch.arguments]
    assert names
    assert session.step().file == "spin_lock.cu"
    assert not any(name.startswith("arg") for name in names)
    shown = "\n".join(session.command("list").lines)
    assert kernel.name in shown
    assert "not this one" not in shown


def test_without_a_text_the_names_are_numbers(tmp_path: Path) -> None:
    program = read_program((STORY / "spin_lock.cubin").read_bytes())
    (kernel,) = program.kernels.values()
    rows = parameters(replace(program, path=str(tmp_path / "x")), kernel)
    assert rows[0].name == "arg0"


def test_a_kept_text_is_found_by_the_names_a_line_table_has() -> None:
    sources = SourcePath(texts={"k.cu": "one\ntwo\n"})
    for recorded in ("k.cu", "/k.cu", "/tmp/build/k.cu"):
        assert sources.text(recorded, 2) == "two"
    assert sources.lines("/tmp/other_k.cu") is None


def test_parameters_of_ptx() -> None:
    text = ".kernel twice\n.param 8, 4, 8, 4, 16\nEXIT\n"
    (kernel,) = gpudbg.assemble_program(text).kernels.values()
    ptx = """.version 6.4
    .visible .entry other(.param .u64 a) { ret; }
    .visible .entry twice(
        .param .u64 .ptr .global .align 4 buf,   // words
        .param .f32 scale, .param .u64 twice_param_2, .param .s32 n,
        .param .align 8 .b8 box[16]
    ) { ret; }"""
    rows = from_ptx(ptx, kernel)
    assert rows is not None
    assert [(p.name, p.size, p.pointer, p.type) for p in rows] == [
        ("buf", 8, True, ""),
        ("scale", 4, False, "float"),
        ("arg2", 8, True, ""),
        ("n", 4, False, "int"),
        ("box", 16, False, ""),
    ]
    assert from_ptx(ptx.replace("twice(", "thrice("), kernel) is None


@pytest.mark.skipif(missing(find_nvrtc), reason="NVRTC is not installed")
def test_cuda_text() -> None:
    session = gpudbg.compile(CUDA).launch("scale", args=[np.ones(32, np.float32), 2.5, 8])
    assert [a.name for a in session.launch.arguments] == ["x", "a", "n"]
    session.break_at("source.cu:5")
    stop = session.cont()
    assert (stop.file, stop.line, stop.function) == ("source.cu", 5, "scale")
    assert "=>    5          x[i] = a * x[i];" in session.command("list").lines


@pytest.mark.skipif(missing(find_ptxas), reason="ptxas is not installed")
def test_ptx_text() -> None:
    session = gpudbg.compile(PTX).launch(
        "twice", args=[np.arange(32, dtype=np.uint32), np.uint32(4)]
    )
    assert [a.name for a in session.launch.arguments] == ["buf", "n"]
    session.break_at("source.ptx:15")
    stop = session.cont()
    assert (stop.file, stop.line, stop.function) == ("source.ptx", 15, "twice")
    assert "=>   15    ld.global.u32 %r2, [%rd1];" in session.command("list").lines
    assert session.run().check().kind == "exited"
    assert session.buffer("buf")[:6].tolist() == [0, 2, 4, 6, 4, 5]


@pytest.mark.skipif(missing(find_ptxas), reason="ptxas is not installed")
def test_ptx_without_a_kernel_says_so() -> None:
    text = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .func f() { ret; }\n"
    with pytest.raises(LoadError, match=r"contains no kernels \(no \.entry in it"):
        gpudbg.compile(text)
