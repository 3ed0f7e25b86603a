"""`gpudbg exec FILE.cu`: a whole program is built with clang, run, and removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hosting.cuda import PROGRAMS, require_clang, run_exec

FLAGS = ("-I", PROGRAMS / "include", "-D", "SCALE=3")


def test_a_source_with_main_is_built_and_stops_at_its_lines(tmp_path: Path) -> None:
    require_clang()
    source = PROGRAMS / "whole.cu"
    line = next(
        n for n, text in enumerate(source.read_text().splitlines(), 1) if "combine(a" in text
    )
    done = run_exec(
        "--batch", "-ex", f"break whole.cu:{line}", "-ex", "continue", "-ex", "info line",
        *FLAGS, source, "130", TMPDIR=str(tmp_path),
    )  # fmt: skip
    assert done.stdout == "no error: 7\n"
    assert done.returncode == 7
    assert f"whole.cu:{line}" in done.stderr
    assert not list(tmp_path.iterdir())


def test_what_does_not_build_says_so_with_the_compilers_words(tmp_path: Path) -> None:
    require_clang()
    wrong = tmp_path / "wrong.cu"
    wrong.write_text("__global__ void k(int *p) { *p = nothing; }\nint main() { return 0; }\n")
    done = run_exec(wrong)
    assert done.returncode == 2
    assert not done.stdout
    assert "wrong.cu is not built" in done.stderr
    assert "wrong.cu:1:34: error" in done.stderr
    without = run_exec(wrong, PATH="/nowhere")
    assert without.returncode == 2
    assert "apt install clang" in without.stderr


@pytest.mark.full(instead="test_a_source_with_main_is_built_and_stops_at_its_lines")
def test_a_source_as_nvcc_takes_it_with_the_headers_of_its_project(tmp_path: Path) -> None:
    """`__shared__` before `alignas`; a header in a folder that the project's build would name;
    NVTX, which is in no wheel."""
    require_clang()
    source = tmp_path / "project" / "src" / "main.cu"
    header = tmp_path / "project" / "include" / "own" / "size.cuh"
    for path in (source, header):
        path.parent.mkdir(parents=True)
    header.write_text("#pragma once\nconstexpr int SIZE = 64;\n")
    source.write_text(
        """#include <cstdio>
#include <nvtx3/nvToolsExt.h>
#include "own/size.cuh"
__global__ void k(int *p) {
    __shared__ alignas(16) int tile[SIZE];
    extern __shared__ alignas(alignof(double)) unsigned char bytes[];
    tile[threadIdx.x] = threadIdx.x;
    bytes[threadIdx.x] = 1;
    __syncthreads();
    p[threadIdx.x] = tile[SIZE - 1 - threadIdx.x] + bytes[threadIdx.x];
}
int main() {
    int *p, got[SIZE];
    nvtxRangePush("all of it");
    cudaMalloc(&p, sizeof got);
    k<<<1, SIZE, SIZE>>>(p);
    nvtxRangePop();
    cudaMemcpy(got, p, sizeof got, cudaMemcpyDeviceToHost);
    printf("%d\\n", got[0]);
}
"""
    )
    done = run_exec(source)
    assert done.stdout == "64\n", done.stderr
