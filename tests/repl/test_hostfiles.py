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
from gpudbg.toolchain import hostproject
from gpudbg.toolchain.hostfiles import Files, fewer_instances
from gpudbg.toolchain.hostproject import header_near
from gpudbg.toolchain.installed import find_nvrtc, runtime_headers
from tests.variants import full

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
        return find_nvrtc() is not None
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


@pytest.mark.in_turn(1)
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
@pytest.mark.skipif(len(runtime_headers()) < 2, reason="CCCL's headers are not installed")
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


def test_declarations_without_a_link_between_them_go_at_once() -> None:
    """What needs one that is taken out waits, and so does what says nothing of names."""
    files = Files("k.cu", ["."])
    files.read(
        "Host a;\nstruct S { Host x; };\nint m(S s);\nTensor t(Host);\nint e;\nHost b;\n"
        "__global__ void k() {}\n"
    )
    said = {
        1: 'identifier "Host" is undefined',
        2: 'identifier "Host" is undefined',
        3: 'incomplete type "S" is not allowed',
        4: 'identifier "Tensor" is undefined',
        5: 'expected a ";"',
        6: 'identifier "Host" is undefined',
    }
    log = "\n".join(f"k.cu({line}): error: {words}" for line, words in said.items())
    assert files._mend(log)
    assert files.dropped == [("k.cu", line) for line in (1, 2, 4, 6)]


def test_an_instance_that_is_refused_goes_alone() -> None:
    log = """__nv_name_map(2): error: cannot determine which instance of function template "f" is
 intended; in parsing name expression for lowered name lookup. Input name expression was: " f < 0 >"
__nv_name_map(3): error: identifier "I" is undefined; Input name expression was: "g< I >"
"""
    assert fewer_instances(("f < 0 >", "f < 1 >", "g< I >"), log) == ("f < 1 >",)
    assert fewer_instances(("f < 0 >",), "k.cu(1): error: something else") == ()


@needs_nvrtc
def test_words_of_the_host_compiler(tmp_path: Path) -> None:
    """GNU's words and what stdint.h defines, in headers that kernels use."""
    (tmp_path / "blocks.h").write_text(
        "#include <cstdio>\n#include <dirent.h>\nvoid save(FILE *file);\n"
        "typedef struct { __extension__ union { struct { short d, m; }; int dm; }; } block;\n"
        "template <int N> __global__ void named(int *p) { *p = N; }\n"
        "enum { TOP = UINT32_C(7) };\n"
    )
    source = tmp_path / "k.cu"
    source.write_text(
        '#include "blocks.h"\n#include <stdint.h>\n'
        "__global__ void k(block *b, uint64_t *x) { *x = b->dm + UINT64_MAX + TOP + INT8_MIN; }\n"
        "int main() { const int a = 3; int b = 4; named<b><<<1, 1>>>(0); named<a><<<1, 1>>>(0); }\n"
    )
    assert [name for name in gpudbg.load(source).kernels if "named" in name] == [
        "_Z5namedILi3EEvPi"
    ]


@pytest.mark.in_turn(2)
@needs_nvrtc
@pytest.mark.parametrize("folder", ["include", "common/inc", "Common", ""])
@pytest.mark.parametrize("directive", ['"sizes.h"', "<sizes.h>"])
def test_headers_of_the_project_are_found(
    tmp_path: Path, folder: str, directive: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "src" / "kernels").mkdir(parents=True)
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    (tmp_path / folder / "sizes.h").write_text("\ufeff#pragma once\n#define SIZE 7\n")
    main = tmp_path / "src" / "kernels" / "k.cu"
    main.write_text(f"#include {directive}\n__global__ void k(int *p) {{ *p = SIZE; }}\n")
    with caplog.at_level(logging.WARNING, "gpudbg.compile"):
        loaded = gpudbg.load(main)
    session = loaded.launch(args=[np.zeros(1, np.int32)])
    session.run()
    assert session.buffer(0).tolist() == [7]
    assert f"headers found in {tmp_path / folder}, which no -I names" in caplog.text


@needs_nvrtc
def test_a_found_header_that_does_not_compile_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "window.h").write_text("#error no window system\n")
    main = tmp_path / "k.cu"
    main.write_text("#include <window.h>\n__global__ void k() {}\n")
    assert gpudbg.load(main).kernels


def test_headers_are_not_looked_for_above_the_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "x.h").write_text("")
    assert header_near(str(tmp_path / "a" / "b"), "x.h") == str(tmp_path / "x.h")
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    hostproject._parents.cache_clear()
    assert header_near(str(tmp_path / "a" / "b"), "x.h") is None
    hostproject._parents.cache_clear()


@needs_nvrtc
def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    main = tmp_path / "k.cu"
    main.write_bytes(b"\xef\xbb\xbf// k\n__global__ void k() {}\n")
    assert gpudbg.load(main).kernels


@pytest.mark.in_turn(1)
@needs_nvrtc
@pytest.mark.parametrize(
    "text",
    [
        "#include <cstdint>\n__global__ void k(std::uint32_t *p, std::int8_t a) { *p = a; }",
        "#include <curand.h>\n#include <cufft.h>\n__global__ void k() {}",
        "#include <unistd.h>\n#include <nope.h>\n#if _POSIX_VERSION < 200112L || !__linux__\n"
        "#error system\n#endif\n__global__ void k() {}",
    ],
)
def test_what_host_headers_bring(text: str) -> None:
    assert gpudbg.compile(text, name="k.cu").kernels


@pytest.mark.full(instead="test_cooperative_groups_and_the_device_library")
@pytest.mark.in_turn(1)
@needs_nvrtc
@pytest.mark.skipif(len(runtime_headers()) < 2, reason="CCCL's headers are not installed")
@pytest.mark.parametrize(
    "text",
    # The largest of them is left to the campaign: `make fuzz`.
    [
        "#include <cub/cub.cuh>\n__global__ void k(int *p) { typedef cub::BlockReduce<int, 32> R;\n"
        "__shared__ R::TempStorage t; int s = R(t).Sum((int)threadIdx.x); "
        "if (!threadIdx.x) *p = s; }",
        "#include <array>\n__global__ void k(int *p) { std::array<int, 2> a{400, 96}; "
        "*p = a[threadIdx.x & 1] + 400; }",
    ][0 if full() else 1 :],
)
def test_device_parts_of_libraries(text: str) -> None:
    host = "\n#include <iostream>\nint main() { cub::DeviceReduce(); std::cout << 1; }\n"
    session = gpudbg.compile(text + host, name="k.cu").launch(args=[np.zeros(1, np.int32)])
    session.run()
    assert session.buffer(0).tolist() in ([496], [800])


@pytest.mark.in_turn(2)
@needs_nvrtc
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("__global__ void k() { k<<<1, 1>>>(); cudaDeviceSynchronize(); }", "launch kernels"),
        ("__global__ void k(curandState *s) {}", "pip install nvidia-curand-cu12"),
        ('#include "mine.h"\n__global__ void k() {}', "-I FOLDER says where mine.h lies"),
        ("__global__ void k(double *p) { atomicAdd(p, 1.0); }", "--arch sm_61 compiles it"),
    ],
)
def test_what_does_not_compile_says_what_to_do(text: str, words: str) -> None:
    with pytest.raises(CompileError, match=words):
        gpudbg.compile(text, name="k.cu")


@needs_nvrtc
def test_a_part_of_another_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("__global__ void k(Node *n) {}\n")
    (tmp_path / "all.cu").write_text('struct Node { int a; };\n#include "./k.cu"\n')
    with pytest.raises(CompileError, match=r"all\.cu includes this file: open that one"):
        gpudbg.load(tmp_path / "k.cu")
    (tmp_path / "host.cu").write_text("int main() { return 0; }\n")
    with pytest.raises(LoadError, match=r"no __global__ function in it; there are in .*k\.cu"):
        gpudbg.load(tmp_path / "host.cu")


@needs_nvrtc
def test_an_instance_is_asked_for() -> None:
    text = "template <class T, int N> __global__ void k(T *x) { x[threadIdx.x] = N; }"
    loaded = gpudbg.compile(text, options=["--instance", "k<float, 7>"])
    session = loaded.launch(grid=1, block=2, args=[np.zeros(2, np.float32)])
    session.run().check()
    assert session.buffer(0).tolist() == [7, 7]


@needs_nvrtc
def test_a_launch_names_the_instance_that_it_wants(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text("template <class T, int N> __global__ void k(T *x) { x[threadIdx.x] = N; }\n")
    with gpudbg.open(path, kernel="k<float,7>", block=2, args=["x=f32[2]"]) as session:
        session.run().check()
        assert session.buffer("x").tolist() == [7, 7]


@pytest.mark.full(instead="test_why_no_instance_compiles_where_a_newer_architecture_has_one")
@needs_nvrtc
def test_what_other_headers_bring_along_and_what_no_instance_compiles_for(tmp_path: Path) -> None:
    """Type traits without their header; where no instance compiles, the compiler says why."""
    text = """#include "run.h"
template <int A, typename T>
__global__ void add(T *p) {
    if constexpr (std::is_same_v<T, float>)
        p[threadIdx.x] += A WRONG;
}
void go(float *p) {
    const int A = 4;
    auto kernel = add<A, float>;
    run(kernel, A, p);
}
"""
    (tmp_path / "run.h").write_text(
        "template <typename F, typename... R> void run(F k, int n, R... rest)"
        " { k<<<1, n>>>(rest...); }\n"
    )
    right, wrong = tmp_path / "right.cu", tmp_path / "wrong.cu"
    right.write_text(text.replace("WRONG", ""))
    wrong.write_text(text.replace("WRONG", "+"))
    (kernel,) = gpudbg.load(right, arch="sm_80").kernels
    assert kernel.startswith("_Z3addILi4EfE")
    with pytest.raises(CompileError, match=r"no instance .* compiles\n.*expected an expression"):
        gpudbg.load(wrong, arch="sm_80")
