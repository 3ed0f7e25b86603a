"""CUDA C++ and PTX as input: finding the tools, their options, their words, and without them."""

from __future__ import annotations

import _ctypes
import ctypes
import logging
import signal
import stat
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg import cli
from gpudbg.errors import CompileError, LoadError, UsageError
from gpudbg.toolchain import installed, nvrtc_process
from gpudbg.toolchain.compile import compile_cuda
from gpudbg.toolchain.nvrtc import Nvrtc, said
from gpudbg.toolchain.options import CompileOptions, word_options
from gpudbg.toolchain.ptx import target_of
from tests.variants import rows

ROOT = Path(__file__).resolve().parents[2]
CUBIN = ROOT / "sessions/spin_lock/spin_lock.cubin"
SOURCE = ROOT / "sessions/spin_lock/spin_lock.cu"

PTXAS = """\
#!{python}
import sys
words = sys.argv[1:]
text = open(words[-3]).read()
if "broken" in text:
    sys.stderr.write("ptxas " + words[-3] + ", line 3; error   : Unknown symbol 'broken'\\n")
    sys.exit(255)
open(words[-1], "wb").write(open({cubin!r}, "rb").read())
print("ptxas info    : " + " ".join(w for w in words[:-3]))
"""


@pytest.fixture
def no_tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without the extra."""
    for name in ("GPUDBG_NVRTC", "GPUDBG_PTXAS", "CUDA_PATH", "CUDA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(installed, "folders", lambda package: iter([tmp_path]))
    monkeypatch.setattr(installed, "roots", lambda: iter([tmp_path]))


@pytest.fixture
def ptxas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An assembler that answers every file with one cubin."""
    tool = tmp_path / "ptxas"
    tool.write_text(PTXAS.format(python=sys.executable, cubin=str(CUBIN)))
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("GPUDBG_PTXAS", str(tool))
    return tool


class FakeNvrtc:
    """NVRTC's functions: refuses host functions, answers the rest with one cubin."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = []
        self.names: list[str] = []
        self.log = b""
        self.text = ""

    def nvrtcCreateProgram(  # noqa: N802
        self, handle: Any, text: bytes, name: bytes, count: int, texts: Any, names: Any
    ) -> int:
        self.text = text.decode()
        self.headers = tuple(names[i].decode() for i in range(count))
        self.names = []
        return 0

    def nvrtcAddNameExpression(self, handle: Any, name: bytes) -> int:  # noqa: N802
        self.names.append(name.decode())
        return 0

    def nvrtcCompileProgram(self, handle: Any, count: int, words: Any) -> int:  # noqa: N802
        shown = tuple(words[i].decode() for i in range(count))
        self.calls.append((self.text, shown, tuple(self.names)))
        bad = "main" in self.text or "broken" in self.text
        self.log = (
            b"nvrtc: warning : Architectures prior to '<compute/sm>_75' are deprecated\n"
            + (
                b'k.cu(1): error: identifier "broken" is undefined\n'
                if bad
                else b"k.cu(2): warning\n"
            )
            + b"\0"
        )
        return 6 if bad else 0

    def _give(self, data: bytes) -> tuple[Callable[..., int], Callable[..., int]]:
        def size(handle: Any, out: Any) -> int:
            out._obj.value = len(data)
            return 0

        def get(handle: Any, buffer: Any) -> int:
            ctypes.memmove(buffer, data, len(data))
            return 0

        return size, get

    def __getattr__(self, name: str) -> Any:
        data = self.log if "ProgramLog" in name else CUBIN.read_bytes()
        size, get = self._give(data)
        return size if name.endswith("Size") else get

    def nvrtcDestroyProgram(self, handle: Any) -> int:  # noqa: N802
        return 0


@pytest.fixture
def nvrtc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeNvrtc:
    library = tmp_path / "libnvrtc.so.12"
    library.touch()
    monkeypatch.setenv("GPUDBG_NVRTC", str(library))
    fake = FakeNvrtc()

    def compile_here(self: Nvrtc, *asked: Any) -> tuple[bytes | None, str]:
        keys = ("text", "name", "words", "headers", "instances")
        request = dict(zip(keys, (*asked, ())[:5], strict=True))
        cubin, log = nvrtc_process.compiled(fake, request)
        return cubin, said(log)

    monkeypatch.setattr(Nvrtc, "compile", compile_here)
    return fake


# ---- without the extra -----------------------------------------------------------------
@pytest.mark.usefixtures("no_tools")
@pytest.mark.parametrize(("suffix", "tool"), [("cu", "NVRTC"), ("ptx", "ptxas")])
def test_without_the_extra_one_line_says_what_to_install(
    suffix: str, tool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / f"k.{suffix}"
    source.write_text("__global__ void k() {}")
    assert cli.main(["run", str(source)]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert tool in err
    assert "pip install 'gpudbg[cuda]'" in err


def test_a_named_tool_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GPUDBG_NVRTC", str(tmp_path / "nothing.so"))
    with pytest.raises(UsageError, match=r"GPUDBG_NVRTC=.*nothing\.so: no such file"):
        compile_cuda("", "k.cu", CompileOptions())


def test_a_named_tool_that_is_no_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wrong = tmp_path / "libnvrtc.so"
    wrong.write_text("no library")
    monkeypatch.setenv("GPUDBG_NVRTC", str(wrong))
    with pytest.raises(UsageError, match="cannot be loaded as NVRTC"):
        compile_cuda("", "k.cu", CompileOptions())


def test_tools_are_found_in_site_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("GPUDBG_NVRTC", raising=False)
    library = tmp_path / "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"
    library.parent.mkdir(parents=True)
    library.touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert installed.find_nvrtc() == library


def test_a_compiler_that_dies_takes_nothing_with_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A library without NVRTC's functions ends its process at once."""
    source = tmp_path / "k.cu"
    source.write_text("__global__ void k() {}")
    monkeypatch.setenv("GPUDBG_NVRTC", _ctypes.__file__)
    assert cli.main(["info", str(source)]) == 2
    told = capsys.readouterr().err
    assert f"the compiler {_ctypes.__file__} crashed (with exit code 1)" in told


def test_the_process_of_the_compiler_ends_with_the_compilation() -> None:
    with Nvrtc(_ctypes.__file__) as nvrtc:
        for _ in range(2):
            cubin, log = nvrtc.compile("", "k.cu", [], {})
            assert cubin is None
            assert log.startswith("k.cu: the compiler")
        nvrtc._pipes()
        process = nvrtc._process
    assert process is not None
    assert process.returncode == -signal.SIGKILL


# ---- options ---------------------------------------------------------------------------
def test_option_words() -> None:
    words = ["-DN=4", "-D", "M", "-I", "inc", "-Iother", "-G", "--std=c++17", "--maxrregcount=16"]
    found = word_options(words, "sm_52")
    assert found == CompileOptions(
        arch="sm_52",
        include_dirs=("inc", "other"),
        defines=("N=4", "M"),
        debug=True,
        std="c++17",
        extra=("--maxrregcount=16",),
    )
    assert word_options(["-arch=sm_61"]).arch == "sm_61"
    with pytest.raises(UsageError, match="options ask for sm_61, but arch is sm_52"):
        word_options(["-arch=sm_61"], "sm_52")
    with pytest.raises(UsageError, match="compiler options"):
        word_options(["-I"])


def test_options_reach_nvrtc(nvrtc: FakeNvrtc, tmp_path: Path) -> None:
    (tmp_path / "stdio.h").write_text("")
    options = CompileOptions("sm_61", (str(tmp_path),), ("N=4",), debug=True, std="c++14")
    compile_cuda("__global__ void k() {}", "k.cu", options)
    _, words, _ = nvrtc.calls[0]
    for word in ("--gpu-architecture=sm_61", f"-I{tmp_path}", "-DN=4", "-G", "--std=c++14"):
        assert word in words
    assert "-lineinfo" not in words
    assert ("--device-int128" in words) == (sys.platform == "linux"), "as nvcc has it"
    assert "stdio.h" not in nvrtc.headers, "an include folder's own header wins"
    assert "stdint.h" in nvrtc.headers


def test_command_line_flags_reach_nvrtc(nvrtc: FakeNvrtc, tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text("__global__ void k() {}")
    words = ["info", str(source), "-DN=4", "-Iinc", "--std", "c++17", "--arch", "sm_50"]
    assert cli.main([*words, "--nvcc-option=--use_fast_math"]) == 0
    _, passed, _ = nvrtc.calls[0]
    assert {"-DN=4", "-Iinc", "--std=c++17", "-lineinfo", "--use_fast_math"} <= set(passed)


# ---- what the compiler says ------------------------------------------------------------
def test_messages_are_shown_as_they_are(nvrtc: FakeNvrtc) -> None:
    with pytest.raises(CompileError) as caught:
        gpudbg.compile("__global__ void k() { broken; }", name="k.cu")
    lines = str(caught.value).splitlines()
    assert lines == ["k.cu does not compile", 'k.cu(1): error: identifier "broken" is undefined']


def test_errors_end_with_exit_code_2(
    nvrtc: FakeNvrtc, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "k.cu"
    source.write_text("broken")
    assert cli.main(["run", str(source)]) == 2
    assert 'error: identifier "broken"' in capsys.readouterr().err


def test_warnings_go_to_the_log(nvrtc: FakeNvrtc, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "gpudbg.compile"):
        gpudbg.compile("__global__ void k() {}", name="k.cu")
    assert caplog.messages == ["k.cu(2): warning"]


def test_host_code_is_left_out_and_reported(
    nvrtc: FakeNvrtc, caplog: pytest.LogCaptureFixture
) -> None:
    text = (
        "template <int N> __global__ void t() {}\n__global__ void k() {}\n"
        "int main() { k<<<1, 1>>>(); t<3><<<1, 1>>>(); }\n"
    )
    with caplog.at_level(logging.WARNING, "gpudbg.compile"):
        program = gpudbg.compile(text, name="k.cu")
    assert list(program.kernels) == ["count_up"]
    assert "main" not in nvrtc.calls[-1][0]
    assert nvrtc.calls[-1][2] == ("t < 3 >",)
    assert "host code is not run: main (line 3); <<<>>> on line 3" in caplog.messages[-1]
    assert caplog.messages[-1].endswith("kernels: count_up")


def test_a_program_from_source_is_named_after_it(nvrtc: FakeNvrtc, tmp_path: Path) -> None:
    source = tmp_path / "spin_lock.cu"
    source.write_text(SOURCE.read_text())
    program = gpudbg.load(source)
    assert program.program.path == str(source)
    again = gpudbg.load(program, num_sms=1)
    assert again.device is not program.device
    assert again.program is program.program


# ---- PTX -------------------------------------------------------------------------------
@pytest.mark.usefixtures("ptxas")
def test_ptx_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    source = tmp_path / "k.ptx"
    source.write_text(".version 7.0\n.target sm_52\n")
    with caplog.at_level(logging.WARNING, "gpudbg.compile"):
        program = gpudbg.load(source, arch="sm_50")
    assert list(program.kernels) == ["count_up"]
    assert caplog.messages == ["ptxas info    : -arch=sm_50 -lineinfo"]


@pytest.mark.usefixtures("ptxas")
def test_ptx_of_a_fat_binary_without_a_cubin(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a driver compiles it: for the architecture asked for, not for older ones."""
    file = tmp_path / "k.fatbin"
    text = b".version 7.0\n.target sm_50\n\0\0\0"
    words = (1, 0x101, 64, len(text), 0, 0, 0, 8, 50, 0, 0, 0x11, 0, 0)
    body = struct.pack("<HHIQIIHHIIIQQQ", *words) + text
    file.write_bytes(b"\x50\xed\x55\xba" + struct.pack("<HHQ", 1, 16, len(body)) + body)
    with caplog.at_level(logging.WARNING, "gpudbg.loading"):
        assert list(gpudbg.load(file, arch="sm_52").kernels) == ["count_up"]
    said = "no cubin for sm_52 in it, so its PTX for sm_50 is compiled"
    assert caplog.messages[-1] == f"{file}: {said}"
    assert cli.main(["info", str(file)]) == 0
    assert "count_up" in capsys.readouterr().out
    assert cli.main(["dis", str(file)]) == 0
    assert capsys.readouterr().out.startswith(
        "\nFatbin ptx code:\n================\narch = sm_50\n"
    )
    assert cli.main(["dis", str(file), "--arch", "sm_50"]) == 0
    assert "Function : count_up" in capsys.readouterr().out
    file.write_bytes(file.read_bytes().replace(struct.pack("<I", 50), struct.pack("<I", 90), 1))
    with pytest.raises(LoadError, match="no cubin for sm_50; it holds ptx for sm_90"):
        gpudbg.load(file, arch="sm_50")


@pytest.mark.usefixtures("ptxas")
def test_ptx_messages_name_the_users_file(tmp_path: Path) -> None:
    source = tmp_path / "k.ptx"
    source.write_text(".version 7.0\nbroken")
    with pytest.raises(CompileError, match=r"k\.ptx, line 3; error   : Unknown symbol 'broken'"):
        gpudbg.load(source)


@pytest.mark.usefixtures("ptxas")
def test_ptx_text_is_recognised() -> None:
    text = "// comment\n/* more */ .version 7.0\n.target sm_50\n"
    assert gpudbg.compile(text).program.path == "source.ptx"
    with pytest.raises(UsageError, match="PTX has no preprocessor"):
        gpudbg.compile(text, options=["-DN=1"])


@pytest.mark.parametrize(
    ("line", "arch"),
    [
        (".target sm_61", "sm_61"),
        (".target sm_30, debug", "sm_50"),
        ("", "sm_50"),
        (".target sm_90a", "sm_90a"),
        (".target sm_100f, texmode_independent", "sm_100f"),
        (".target sm_999", "sm_999"),
    ],
)
def test_ptx_target(line: str, arch: str) -> None:
    assert target_of(f".version 7.0\n{line}\n".encode()) == arch


PTXAS_OF = """\
#!{python}
import re, sys
words = sys.argv[1:]
text = open(words[-3]).read()
version = re.search(r"\\.version (\\d+)\\.(\\d+)", text)
if (int(version[1]), int(version[2])) > ({major}, {minor}):
    sys.stderr.write("ptxas " + words[-3] + ", line 1; fatal   : Unsupported .version "
                     + version[0][9:] + "; current version is '{major}.{minor}'\\n")
    sys.exit(255)
if words[0] not in ("-arch=sm_50", "-arch=sm_{newest}"):
    sys.stderr.write("ptxas fatal   : Value '" + words[0][6:]
                     + "' is not defined for option 'gpu-name'\\n")
    sys.exit(255)
if "recent" in text and version[1] == "8":
    sys.stderr.write("ptxas error: recent is not in PTX 8\\n")
    sys.exit(255)
open(words[-1], "wb").write(open({cubin!r}, "rb").read())
print("of {newest}, version " + version[0][9:])
"""
"""Knows PTX to a version, and one architecture beside the oldest."""


@pytest.fixture
def two_ptxas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wheel's ptxas knows PTX 8.5 and sm_90; Triton's, beside it, 8.8 and sm_120."""
    for place, version, newest in (
        ("nvidia/cuda_nvcc/bin/ptxas", (8, 5), 90),
        ("triton/backends/nvidia/bin/ptxas", (8, 8), 120),
    ):
        tool = tmp_path / place
        tool.parent.mkdir(parents=True)
        major, minor = version
        tool.write_text(
            PTXAS_OF.format(
                python=sys.executable, cubin=str(CUBIN), major=major, minor=minor, newest=newest
            )
        )
        tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    for name in ("GPUDBG_PTXAS", "CUDA_PATH", "CUDA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])


@pytest.mark.in_turn(2)
@pytest.mark.usefixtures("two_ptxas")
@pytest.mark.parametrize(
    ("version", "target", "said"),
    [
        ("7.0", "sm_50", ["of 90, version 7.0"]),
        ("8.8", "sm_50", ["of 120, version 8.8"]),
        ("7.0", "sm_120", ["of 120, version 7.0"]),
        ("9.4", "sm_50", [".version 9.4 is assembled as 8.8, the newest that ", "version 8.8"]),
    ],
)
def test_the_ptxas_that_knows_a_files_version_and_target_assembles_it(
    version: str, target: str, said: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "gpudbg.compile"):
        gpudbg.compile(f".version {version}\n.target {target}\n")
    for words in said:
        assert words in caplog.messages[0]


@pytest.mark.usefixtures("two_ptxas")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (".version 9.4\n.target sm_50\n// recent\n", "Unsupported .version 9.4; current version"),
        (".version 7.0\n.target sm_300\n", "Value 'sm_300' is not defined"),
    ],
)
def test_ptx_that_no_ptxas_knows_says_how_another_is_named(text: str, words: str) -> None:
    with pytest.raises(CompileError) as caught:
        gpudbg.compile(text)
    assert words in str(caught.value)
    assert "is too old for this file; another can be named by GPUDBG_PTXAS" in str(caught.value)


# ---- the real tools, where they are ----------------------------------------------------
def _real(find: Callable[[], Path | None]) -> bool:
    try:
        return find() is not None
    except UsageError:
        return False


@pytest.mark.skipif(not _real(installed.find_nvrtc), reason="NVRTC is not installed")
def test_real_nvrtc_compiles_and_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "k.cu"
    source.write_text(
        "#include <cstdio>\n#include <cstdint>\n#include <vector>\n#include <cuda_runtime.h>\n"
        "__global__ void fill(uint32_t *p) { p[threadIdx.x] = N; }\n"
        'int main() { std::vector<int> v; fill<<<1, 1>>>(nullptr); std::printf("x"); }\n'
    )
    words = [str(source), "-DN=7", "--kernel", "fill", "--block", "4", "--arg", "p=u32[4]"]
    assert cli.main(["run", *words]) == 0
    out = capsys.readouterr().out
    assert "7 7 7 7" in out


@pytest.mark.skipif(not _real(installed.find_ptxas), reason="ptxas is not installed")
def test_real_ptxas_complains_in_its_own_words(tmp_path: Path) -> None:
    source = tmp_path / "k.ptx"
    source.write_text(".version 7.0\n.target sm_50\n.address_size 64\nnonsense\n")
    with pytest.raises(CompileError, match=r"k\.ptx, line 4"):
        gpudbg.load(source)


# ---- fat binaries and host programs ----------------------------------------------------
@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("plain.fatbin", "cubin for sm_50, cubin for sm_52, ptx for sm_50"),
        ("host.o", "cubin for sm_50, ptx for sm_50, cubin for sm_52"),
    ],
)
def test_what_a_container_holds_is_listed_and_loads(
    name: str, held: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = ROOT / "tests/formats/data" / name
    assert cli.main(["info", str(file)]) == 0
    assert capsys.readouterr().out.splitlines()[1] == f"holds {held}; --arch picks"
    assert gpudbg.load(file, arch="sm_52").program.arch == "sm_52"


def test_a_kernel_is_named_as_in_the_source(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Every verb takes `scale` for `_Z5scalePfS_`."""
    text = (ROOT / "sessions/bpt_pause/bpt_pause.sass").read_text()
    source, file = tmp_path / "scale.sass", str(tmp_path / "scale.cubin")
    source.write_text(text.replace(".kernel stages", ".kernel _Z5scalePfS_"))
    assert cli.main(["asm", str(source), "--cubin", file]) == 0
    for words in (["info", file, "-k", "scale"], ["dis", file, "-k", "scale"]):
        assert cli.main(words) == 0
        assert "_Z5scalePfS_" in capsys.readouterr().out
    out = np.zeros(64, np.float32)
    assert gpudbg.load(file).launch("scale", block=64, args=[out, out]).run().kind == "trap"


LLVM_TABLES = """.version 7.0
.target sm_80, debug
.address_size 64
.visible .entry k(.param .u64 p) { .reg .b64 a;
 .loc 1 3 0
 ld.param.u64 a, [p]; st.global.u32 [a], 7;
 .loc 1 4 0
 ret; }
 .file 1 "/w/k.rs"
 .section .debug_abbrev
 {
.b8 1
.b8 0
 }
 .section .debug_info { .b8 TABLE }
$L__sec_end0:
 .section .debug_aranges
 {
.b84,255
.b64 $L__sec_end0-$L__func_begin0
 }
 .section .debug_macinfo { }
"""


@pytest.mark.parametrize("table", ["1", "1\n.b84,255"])
def test_debug_tables_as_rustc_writes_them(table: str) -> None:
    """Without what ptxas does not read: address ranges alone, else all but lines."""
    program = gpudbg.compile(LLVM_TABLES.replace("TABLE", table), name="k.ptx")
    out = np.zeros(1, np.uint32)
    with program.launch("k", block=1, args=[out]) as session:
        session.break_at("k.rs:3")
        assert session.cont().line == 3
        assert session.run().kind == "exited"
        assert session.buffer(0)[0] == 7


def test_what_is_wrong_beside_the_tables_is_still_said() -> None:
    text = LLVM_TABLES.replace("TABLE", "1").replace("ret;", "rett;")
    with pytest.raises(CompileError, match="rett"):
        gpudbg.compile(text)


def test_template_kernels_without_an_instance_are_named(
    nvrtc: FakeNvrtc, caplog: pytest.LogCaptureFixture
) -> None:
    """Beside kernels that are there nobody would see what the file has more."""
    text = (
        "namespace n { template <class Op> __global__ void absent(Op op) {} }\n"
        "template <int N> __global__ void count_up(int *a) {}\n"
    )
    with caplog.at_level(logging.WARNING, "gpudbg.compile"):
        gpudbg.compile(text, name="k.cu")
    (said,) = [m for m in caplog.messages if "no line names an instance" in m]
    assert said.startswith("k.cu: no line names an instance of the template kernels absent; ")
    assert "count_up" not in said


@rows("arch", ["sm_52", "sm_75", "sm_90", "sm_120"])
def test_a_kernel_without_parameters_has_its_launch_words(arch: str) -> None:
    """They stand below where parameters would begin, which no record of such a kernel says."""
    text = '__device__ int got; extern "C" __global__ void k() {\n'
    text += '    printf("%d\\n", threadIdx.x); got = blockDim.x; }'
    program = gpudbg.compile(text, arch=arch)
    with program.launch("k", grid=1, block=3) as session:
        assert session.run().kind == "exited"
    assert program.read_symbol("got")[0] == 3


@rows("arch", ["sm_75", "sm_80", "sm_90", "sm_120"])
def test_parameters_of_more_than_4_kb(arch: str) -> None:
    """Offsets from 0x8000 on are written with a sign."""
    text = "struct P { int v[8100]; };\n"
    text += 'extern "C" __global__ void k(P p, int *o) {\n'
    text += "    o[threadIdx.x] = p.v[8095] + p.v[8000] * 3 + p.v[threadIdx.x + 7900]; }"
    v = np.arange(8100, dtype=np.int32) * 7 + 1
    for engine in ("step", "run"):
        program = gpudbg.compile(text, arch=arch, engine=engine)
        out = program.device.buffer(np.zeros(32, np.int32))
        with program.launch("k", grid=1, block=32, args=[v.tobytes(), out]) as session:
            session.run().check()
        assert np.array_equal(out.array(), v[8095] + v[8000] * 3 + v[7900:7932])
