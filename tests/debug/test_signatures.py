"""A kernel's parameters by its source: names, types, a launch table to start from."""

from __future__ import annotations

import shutil
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

import gpudbg
from gpudbg.cli import main
from gpudbg.debug.session import DebugSession
from gpudbg.debug.views.arguments import argument_doubts
from gpudbg.formats.program import Kernel, Param
from gpudbg.launch.form import propose
from gpudbg.launch.templates import template
from gpudbg.toolchain.signatures import from_text, parameters
from tests.launching import FIRST
from tests.repl.test_hostfiles import needs_nvrtc
from tests.tui.helpers import open_kernel

SOURCE = """
// __global__ void block_max(float nonsense, int x, int n);
template <class T> void block_max(T);
extern "C" __global__ __launch_bounds__(64, 2) void block_max(
    const int *__restrict__ in,   /* numbers, */
    std::array<int, 4> *out, unsigned n = 3)
{ block_max<int>(1); }
"""


def kernel() -> Kernel:
    return gpudbg.load(FIRST).program.kernels["block_max"]


def test_names_and_types() -> None:
    found = from_text(SOURCE, kernel())
    assert found is not None
    assert [(p.name, p.size, p.pointer, p.short) for p in found] == [
        ("in", 8, True, "i32"),
        ("out", 8, True, ""),
        ("n", 4, False, "u32"),
    ]


def test_a_template_has_the_types_of_its_instance() -> None:
    sizes = [Param(n, 8 * n, size) for n, size in enumerate((8, 4))]
    made = replace(kernel(), name="_Z5scaleIfLi64EEvPT_S0_", params=tuple(sizes))
    text = "template <typename T, int N = 4> __global__ void scale(T *x, const T k) {}"
    found = from_text(text, made)
    assert found is not None
    assert [(p.name, p.pointer, p.short) for p in found] == [
        ("x", True, "f32"),
        ("k", False, "f32"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "void block_max(int *a, int *b, int c) {}",
        "__global__ void block_max(int *a, int *b) {}",
        "__global__ void block_max(int *a, int b, int c) {}",
        "__global__ void block_max(int *a, int *b, double c",
        "__global__ void block_max(" * 50,
    ],
)
def test_what_does_not_fit_is_not_believed(text: str) -> None:
    assert from_text(text, kernel()) is None


def test_without_a_source_they_are_numbered(tmp_path: Path) -> None:
    alone = shutil.copy(FIRST, tmp_path / "alone.cubin")
    loaded = gpudbg.load(alone)
    found = parameters(loaded.program, kernel(), [tmp_path / "nothing.cu"])
    assert [p.name for p in found] == ["arg0", "arg1", "arg2"]


def test_expressions_know_them(session: DebugSession) -> None:
    assert session.evaluate("n@entry").values[0] == 250
    assert session.evaluate("in[3]").values[0] == 3 * 37
    frame = session.command("backtrace").text
    assert "n@entry=250" in frame


def test_a_launch_table_to_start_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in (FIRST, FIRST.with_suffix(".cu")):
        shutil.copy(name, tmp_path)
    program = str(tmp_path / FIRST.name)
    assert main(["run", program]) == 2
    assert "--launch" in capsys.readouterr().err
    assert main(["info", program, "--launch"]) == 0
    text = capsys.readouterr().out
    (tmp_path / FIRST.with_suffix(".toml").name).write_text(text)
    assert set(tomllib.loads(text)["buffers"]) == {"in", "out"}
    assert main(["run", program]) == 0


def test_the_table_asks_for_the_block_the_kernel_requires() -> None:
    loaded = gpudbg.load(FIRST).program
    asked = replace(kernel(), required_threads=(8, 4, 1))
    assert "block = [8, 4, 1]" in template(loaded, asked)
    assert "count = 64" in template(loaded, asked)
    assert "block = 48" in template(loaded, replace(kernel(), max_threads=(16, 3, 1)))


@needs_nvrtc
@pytest.mark.parametrize("arch", ["sm_52", "sm_90"])
def test_dynamic_shared_memory_is_proposed(arch: str) -> None:
    """Without it the kernel would fault at once."""
    own = "__global__ void rev(float *x) { extern __shared__ float s[]; s[threadIdx.x] = *x;"
    loaded = gpudbg.compile(
        own + " __syncthreads(); x[threadIdx.x] = s[63 - threadIdx.x]; }", arch=arch
    )
    kernel = loaded.program.kernels[next(iter(loaded.program.kernels))]
    assert propose(loaded.program, kernel).shared_bytes == 1024
    assert any(line.startswith("shared_bytes = 1024 ") for line in template(loaded.program, kernel))
    assert (
        propose(
            gpudbg.load(FIRST).program, gpudbg.load(FIRST).program.kernels["block_max"]
        ).shared_bytes
        == 0
    )


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("i32:250", ""),
        ("u32:250", ""),
        ("u32:4294967295", "n = 4294967295 was given as an integer; the source has int: the kernel "
                           "reads -1"),
    ],
)  # fmt: skip
def test_a_scalar_given_as_another_type_is_doubted(value: str, words: str) -> None:
    flags = [
        "--grid",
        "1",
        "--arg",
        "in=i32[64]:zeros",
        "--arg",
        "out=i32[1]:zeros",
        "--arg",
        value,
    ]
    session = open_kernel(FIRST, flags)
    doubts = argument_doubts(session)
    assert len(doubts) == bool(words)
    if words:
        assert doubts[0].startswith(words)
        assert session.command("info args").lines[-1] == doubts[0]
