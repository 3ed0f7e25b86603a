"""Programs whose own headers hold host code compile without it; lines and files stay theirs."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

import gpudbg
from gpudbg.errors import CompileError, LoadError, UsageError
from gpudbg.formats.lines import read_lines
from gpudbg.toolchain import compile as compiler
from gpudbg.toolchain.hostfiles import Files

HEADER = """\
#pragma once
#include <mpi.h>
#include <string>
extern double seconds;
void start_timer();
int *allocate(unsigned n);
typedef struct { int rows; } Shape;
struct Report { std::string text; void print() const; };
static inline void report(const std::string &text) { fprintf(stderr, "%s", text.c_str()); }
float host_only(float a) { return Report().text.size() + a; }
"""

DEVICE = """\
#define HD __host__ __device__
HD inline int twice(int a) { return 2 * a; }
"""

MAIN = """\
#include "common/timer.h"
#include "common/device.h"
#include <cuda_runtime.h>
#include <iostream>

std::string title;
uint32_t seed = 3;
__global__ void scale(int *p, Shape shape) {
    int i = threadIdx.x;
    if (i < shape.rows)
        p[i] = twice(p[i]) + (int)M_PI;
}
int main() { start_timer(); scale<<<1, 32>>>(allocate(32), Shape{4}); report(title); }
"""


def _there() -> bool:
    try:
        return compiler.find_nvrtc() is not None
    except UsageError:
        return False


needs_nvrtc = pytest.mark.skipif(not _there(), reason="NVRTC is not installed")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program of three files, as public ones are laid out."""
    (tmp_path / "common").mkdir()
    (tmp_path / "common" / "timer.h").write_text(HEADER)
    (tmp_path / "common" / "device.h").write_text(DEVICE)
    (tmp_path / "main.cu").write_text(MAIN)
    return tmp_path / "main.cu"


@needs_nvrtc
def test_host_code_of_headers_is_left_out(program: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "gpudbg.compile"):
        loaded = gpudbg.load(program)
    (name,) = loaded.kernels
    x = np.arange(32, dtype=np.int32)
    session = loaded.launch(name, args=[x, np.array([4], np.int32).tobytes()])
    session.break_at("main.cu:10")
    assert session.run_to_stop().line == 10
    assert session.run().kind == "exited"
    assert session.buffer(0)[:6].tolist() == [3, 5, 7, 9, 4, 5]
    said = "\n".join(caplog.messages)
    assert "headers not found, taken as empty: mpi.h" in said
    assert f"{program.parent / 'common' / 'timer.h'}:" in said
    assert "host code is not run: main (line 13)" in said


@needs_nvrtc
def test_inlined_lines_name_the_header(program: Path) -> None:
    loaded = gpudbg.load(program)
    assert str(program.parent / "common" / "device.h") in read_lines(loaded.program).files


@needs_nvrtc
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('#include "mine.h"\n__global__ void k() {}', 'cannot open source file "mine.h"'),
        ("void h(FILE *);\n__global__ void k(int *p) { *p = nothing; }", '"nothing" is undefined'),
        ("struct S { std::string s; };\n__global__ void k(S s) {}", "left out as host code"),
    ],
)
def test_what_the_device_needs_is_never_left_out(text: str, words: str) -> None:
    with pytest.raises(CompileError, match=words):
        gpudbg.compile(text, name="k.cu")


@needs_nvrtc
def test_template_kernels_without_instances_are_named() -> None:
    text = "template <class T> __global__ void fill(T *p) { *p = 1; }\n"
    with pytest.raises(LoadError, match="no kernels") as caught:
        gpudbg.compile(text + "int main() { fill<<<1, 1>>>(p); }", name="k.cu")
    assert "no line names an instance of the template kernels fill;" in (caught.value.hint or "")
    assert gpudbg.compile(text + "template __global__ void fill<int>(int *);", name="k.cu").kernels


@needs_nvrtc
@pytest.mark.skipif(len(compiler._runtime_headers()) < 2, reason="CCCL's headers are not installed")
def test_cooperative_groups_and_the_device_library() -> None:
    text = """
        #include <cooperative_groups.h>
        #include <limits>
        namespace cg = cooperative_groups;
        extern "C" __global__ void ranks(int *p) {
            auto tile = cg::tiled_partition<8>(cg::this_thread_block());
            tile.sync();
            p[threadIdx.x] = tile.thread_rank() + (std::numeric_limits<short>::max() == 32767);
        }"""
    session = gpudbg.compile(text).launch("ranks", args=[np.zeros(32, np.int32)])
    session.run().check()
    assert session.buffer(0)[:10].tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 1, 2]


def test_complaints_end() -> None:
    """A compiler that always complains is asked a bounded number of times."""
    files = Files("k.cu", ["."])
    files.read("int a;\nint b;\n__global__ void k() {}\n")
    asked = 0

    def refuse(main: str, headers: Mapping[str, str], instances: Sequence[str]) -> tuple[None, str]:
        nonlocal asked
        asked += 1
        return None, "\n".join(f"k.cu({line}): error: no" for line in (1, 2, 3))

    assert files.compile(refuse)[0] is None
    assert asked == 3
    assert files.dropped == [("k.cu", 1), ("k.cu", 2)]
