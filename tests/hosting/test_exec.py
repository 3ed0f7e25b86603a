"""`gpudbg exec`: host programs as they are, on the emulated device."""

from __future__ import annotations

import os
import pty
import re
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gpudbg
from gpudbg.api.recordings import resume
from gpudbg.cli import main
from gpudbg.debug.recording.taking import take
from gpudbg.errors import UsageError
from gpudbg.formats.recording import decode, encode
from gpudbg.hosting.arguments import arguments_of
from gpudbg.hosting.build import built_library
from gpudbg.hosting.checking import CheckedRuns
from gpudbg.hosting.execution import Execution
from gpudbg.hosting.launching import Runs, code_of, is_assert, opened
from gpudbg.hosting.process import HostProcess, LaunchRequest
from gpudbg.hosting.program import found_program
from gpudbg.sanitizer import CheckSettings
from gpudbg.toolchain.installed import runtime_headers
from tests.hosting.cuda import PROGRAMS, compile_program, host_program, require_compiler, run_exec
from tests.variants import full


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What programs do with the runtime API."""
    return host_program("runtime.cu", tmp_path_factory.mktemp("exec") / "runtime")


def test_a_runtime_program_runs_as_it_is(runtime: Path) -> None:
    done = run_exec(runtime)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WRONG" not in done.stdout
    lines = done.stdout.splitlines()
    at = lines.index("before")
    assert lines[at : at + 4] == ["before", "block 0 says 5", "block 1 says 5", "after"]
    assert done.stderr == ""


def test_a_fault_is_the_program_s_sticky_error_and_one_line(runtime: Path) -> None:
    done = run_exec(runtime, "fault")
    assert done.returncode == 5
    assert done.stdout.splitlines()[-2:] == ["launched     ok", "sticky       ok"]
    (line,) = done.stderr.splitlines()
    assert "wild" in line
    assert "cudaMalloc #" in line


def test_what_is_no_cuda_program_says_so(tmp_path: Path) -> None:
    require_compiler()
    done = run_exec("sh", "-c", "cat; exit 3", given="as it is")
    assert (done.returncode, done.stdout) == (3, "as it is")
    (line,) = done.stderr.splitlines()
    assert "no CUDA function" in line
    assert run_exec("sh", "-c", "kill -SEGV $$").returncode == 139


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("gone", None, "no program"),
        ("text", b"plain", "cannot be executed"),
        ("narrow", b"\x7fELF\x01\x01\x01" + bytes(9) + b"\x02\x00\x03\x00", "32-bit"),
    ],
)
def test_bad_programs_are_one_line(
    tmp_path: Path, name: str, content: bytes | None, words: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
        path.chmod(0o755 if name == "narrow" else 0o644)
    done = run_exec(path)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2
    assert words in line


def test_mistakes_are_told_before_the_program_starts(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("plain")
    text.chmod(0o755)
    with pytest.raises(UsageError, match="is no program"):
        found_program(str(text))
    with pytest.raises(UsageError, match="is a folder"):
        found_program(str(tmp_path))
    rules = tmp_path / "rules"
    rules.write_text("what: is: this\n")
    with pytest.raises(UsageError, match=re.escape(f"{rules}:1")):
        CheckedRuns(CheckSettings(suppressions=str(rules)))


@pytest.mark.full(instead="test_what_is_no_cuda_program_says_so")
def test_libraries_find_those_beside_them(tmp_path: Path) -> None:
    """`dlopen` of a name without a folder is searched for by the paths of the library that asks."""
    compiler, opens = require_compiler(), "#include <dlfcn.h>\n"
    parts = {
        "libbeside.so": ("int beside(void) { return 7; }", "-shared"),
        "libasks.so": (
            opens + 'int asks(void) { return dlopen("libbeside.so", RTLD_NOW) ? 7 : 1; }',
            "-shared -Wl,--enable-new-dtags,-rpath,$ORIGIN",
        ),
        "main": (
            opens + "int main(int n, char **words) { void *at = dlopen(words[1], RTLD_NOW);"
            'return ((int (*)(void))dlsym(at, "asks"))(); }',
            "-ldl",
        ),
    }
    for name, (text, flags) in parts.items():
        words = [compiler, "-fPIC", "-O2", "-xc", "-", "-o", str(tmp_path / name), *flags.split()]
        subprocess.run(words, input=text, text=True, check=True)
    assert run_exec(tmp_path / "main", tmp_path / "libasks.so").returncode == 7


@pytest.mark.full(instead="test_a_runtime_program_runs_as_it_is")
def test_a_runtime_that_is_linked_in_is_led_here(tmp_path: Path) -> None:
    """As nvcc links it; the static library is in the runtime's wheel."""
    from gpudbg.toolchain.installed import folders

    library = next(
        (f / "lib" for f in folders("cuda_runtime") if (f / "lib/libcudart_static.a").exists()),
        None,
    )
    if library is None:
        pytest.skip("libcudart_static.a is not installed")
    flags = (f"-L{library}", "-lcudart_static", "-ldl", "-lrt", "-lpthread")
    done = run_exec(host_program("runtime.cu", tmp_path / "linked", *flags), GPUDBG_NO_CACHE="1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WRONG" not in done.stdout


def test_launches_are_places_to_stop_and_recorded(runtime: Path, tmp_path: Path) -> None:
    """Of any launch, and of the one that faults; without the program and its memory."""
    kept, fault = tmp_path / "kept.gpurec", tmp_path / "fault.gpurec"
    commands = ["break speak", "continue", f"record save {kept}", "info breakpoints", "delete"]
    commands += ["info launch"]
    words = [word for command in [*commands, "continue"] for word in ("-ex", command)]
    done = run_exec("--batch", "--record-on-fault", fault, *words, runtime, "fault")
    assert done.returncode == 5
    assert "sticky       ok" in done.stdout
    assert "Breakpoint 1 at speak" in done.stderr
    assert "breakpoint 1 at speak" in done.stderr
    # What was launched, not what a launch of it could be.
    assert re.search(r"^speak\(int \w+\)\n  grid +2 ", done.stderr, re.M)
    assert "no argument is given" not in done.stderr
    assert "at the entry of wild" in done.stderr
    assert "was freed" not in done.stderr
    with gpudbg.open(kept) as session:
        assert (session.kernel.name, session.tick) == ("_Z5speaki", 0)
        assert session.run().kind == "exited"
        assert "block 1 says 5" in session.output.text
    (line,) = done.stderr.splitlines()[-1:]
    assert f"(recorded in {fault}: " in line
    assert fault.exists()


def test_buffers_have_the_elements_of_their_parameters() -> None:
    """The program only said how many bytes it wants; `float` where nothing tells."""
    loaded = gpudbg.load("sessions/first_steps/first_steps.cubin", num_sms=1)
    whole, odd = (loaded.device.buffer(np.zeros(size, np.uint8)) for size in (1024, 6))
    kernel = loaded.kernels["block_max"]
    for one, kind in (whole, "int32"), (odd, "uint8"):
        params = struct.pack("<QQi", one.address, whole.address, 250).ljust(64, b"\0")
        first = arguments_of(loaded, kernel, params)[0].buffer
        assert first is not None
        assert (first.dtype.name, first.nbytes) == (kind, one.nbytes)


def test_a_program_s_fault_is_recorded(runtime: Path, tmp_path: Path) -> None:
    path = tmp_path / "fault.gpurec"
    done = run_exec("--record-on-fault", path, runtime, "fault")
    assert done.returncode == 5
    assert "sticky       ok" in done.stdout
    (line,) = done.stderr.splitlines()
    assert f"(recorded in {path}: " in line
    with gpudbg.open(path) as session:
        assert session.kernel.name == "_Z4wildPi"
        assert session.faulted
        end = session.state_hash()
        assert session.reverse_step().kind == "step"
        assert session.step().kind == "warp_error"
        assert session.state_hash() == end
    assert main(["exec", "--check", "--record-on-fault", str(path), str(runtime)]) == 2


def test_a_checked_program_goes_on_behind_a_bad_access_where_asked(runtime: Path) -> None:
    stopped = run_exec("--check", runtime, "fault")
    gone_on = run_exec("--check", "--on-fault", "continue", runtime, "fault")
    assert "sticky       ok" in stopped.stdout
    assert "sticky       ok" not in gone_on.stdout
    for done in (stopped, gone_on):
        assert "1 finding in" in done.stderr


@pytest.mark.full(instead="test_a_program_s_fault_is_recorded")
@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("runtime.cu", ()), ("runtime.cu", ("fault",)), ("images.cu", ()), ("graphs.cu", ()),
        ("handles.cu", ()), ("ends.cu", ()),
    ],
)  # fmt: skip
def test_every_launch_of_a_program_opens_as_a_recording(
    source: str, words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Managed, pinned and registered memory, textures, surfaces, modules loaded on the way."""
    program, seen = host_program(source, tmp_path / "program", "-lcuda"), []

    def run(_: Runs, process: HostProcess, request: LaunchRequest) -> None:
        with opened(process, request) as session:
            stop = session.run()
            process.sticky = code_of(stop, is_assert(stop))
            with resume(decode(encode(take(session)), "recording")) as again:
                seen.append((session.tick, session.state_hash()))
                assert (again.tick, again.state_hash()) == seen[-1]
                assert again.stop is not None
                assert again.stop.kind == stop.kind

    monkeypatch.setattr(Runs, "__call__", run)
    Execution([str(program), *words], arch="sm_80").run()
    assert seen


@pytest.mark.full(instead="test_launches_are_places_to_stop")
def test_accesses_that_a_debugged_program_went_on_without_are_told(runtime: Path) -> None:
    flags = ("--batch", "--on-fault", "continue", "-ex", "break wild", "-ex", "continue")
    done = run_exec(*flags, "-ex", "continue", runtime, "fault")
    assert re.search(r"  launch \d+: dropped .*, first at wild\+0x", done.stderr)
    assert "gpudbg: " in done.stderr.splitlines()[-1]


def test_the_doctor_says_what_is_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("gpudbg exec")
    assert all(" yes " in line or " no " in line for line in lines)


def test_checks_of_launches_are_one_line_a_report_and_the_exit_code(tmp_path: Path) -> None:
    program = host_program("checked.cu", tmp_path / "checked")
    clean = run_exec("--check", program)
    said = (
        r"gpudbg: 1 launch checked, [\d,]+ instructions \(memory, race, .*, leak\): nothing found\n"
    )
    assert clean.returncode == 0
    assert re.fullmatch(said, clean.stderr)
    assert clean.stdout == "block 0 says 3\nblock 1 says 3\n"
    report = tmp_path / "report.txt"
    found = run_exec("--check", "--report", report, program, "race")
    assert found.returncode == 1
    assert found.stdout == clean.stdout
    (line,) = found.stderr.splitlines()
    assert "3 findings in 2 launches" in line
    text = report.read_text()
    assert "data race" in text
    # The launch that has nothing in it is counted, too.
    assert re.search(r"clean \(memory, race, .*\); 1 launch, [1-9][\d,]* instructions", text)
    assert "2 launches of 1 program, 1 clean, 1 with findings" in text
    if full():
        assert run_exec("--check", "--checks", "memory", program, "race").returncode == 0
        assert run_exec("--check", program, "race", "7").returncode == 7


@pytest.mark.full(instead="test_checks_of_launches_are_one_line_a_report_and_the_exit_code")
def test_a_check_that_lasts_is_ended_and_the_program_goes_on(tmp_path: Path) -> None:
    """What was found stays, and the launch's results are there."""
    program = host_program("compacts.cu", tmp_path / "compacts")
    short = run_exec("--check", program)
    assert (short.returncode, short.stdout) == (1, "256 of 512 kept, 256 right\n")
    assert "(mask)" in short.stderr
    report = tmp_path / "report.txt"
    ended = run_exec("--check", "--timeout", "2", "--report", report, program, "4000")
    assert (ended.returncode, ended.stdout) == (1, "512000 of 1024000 kept, 512000 right\n")
    text = report.read_text()
    assert "in the mask 0xffffffff of this __syncwarp, shuffle or vote" in text
    assert "could not judge: compact was checked in part: stopped after 2 seconds" in text
    assert "nobody has written" not in text
    assert "fault:" not in text


def test_a_program_has_a_terminal_of_its_own(tmp_path: Path) -> None:
    program = host_program("checked.cu", tmp_path / "checked")
    master, slave = pty.openpty()
    try:
        done = run_exec("--tty", os.ttyname(slave), program)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert b"block 1 says 3" in os.read(master, 4096)
    finally:
        os.close(master)
        os.close(slave)
    missing = run_exec("--tty", tmp_path / "none", program)
    assert missing.returncode == 2
    assert "No such file" in missing.stderr


@pytest.mark.full(instead="test_a_program_has_a_terminal_of_its_own")
def test_a_static_program_with_device_code_is_named(tmp_path: Path) -> None:
    source, out = tmp_path / "closed.c", tmp_path / "closed"
    source.write_text(
        'char code[16] __attribute__((section(".nv_fatbin"))) = {1};\n'
        'void _start(void) { __asm__("mov $60, %eax; mov $3, %edi; syscall"); }\n'
    )
    words = [require_compiler(), "-nostdlib", "-static", str(source), "-o", str(out)]
    subprocess.run(words, check=True)
    done = run_exec(out)
    assert done.returncode == 3
    assert "is linked statically" in done.stderr


def test_a_driver_program_in_c(tmp_path: Path) -> None:
    out = tmp_path / "driver"
    folders = [word for folder in runtime_headers() for word in ("-I", folder)]
    words = [require_compiler(), str(PROGRAMS / "driver.c"), *folders, "-o", str(out)]
    subprocess.run([*words, f"-L{built_library()}", "-lcuda"], check=True)
    done = run_exec(out)
    assert done.stdout.splitlines()[1:] == [
        "0 deadbeef de070707 12341234 5 deadbeef 5 5",
        "1",
        "0 1",
        "200 801",
    ]
    (line,) = done.stderr.splitlines()
    assert "cuMemGetHandleForAddressRange" in line


@pytest.mark.full(instead="test_a_driver_program_in_c")
def test_memory_that_processes_share_by_file_descriptors(tmp_path: Path) -> None:
    """One writes what the other reads; memory that was not made for it and other files are
    refused."""
    out = tmp_path / "share"
    folders = [word for folder in runtime_headers() for word in ("-I", folder)]
    words = [require_compiler(), str(PROGRAMS / "share.c"), *folders, "-o", str(out)]
    subprocess.run([*words, f"-L{built_library()}", "-lcuda"], check=True)
    done = run_exec(out)
    assert (done.returncode, done.stdout, done.stderr) == (0, "5 42 1 1\n", "")


@pytest.mark.full(instead="test_a_runtime_program_runs_as_it_is")
def test_code_for_other_architectures(tmp_path: Path) -> None:
    """Without PTX it is named and runs with `--arch`; PTX is compiled for the device."""
    flags = ("--no-cuda-include-ptx=all",)
    narrow = host_program("runtime.cu", tmp_path / "narrow", *flags, arch="sm_75")
    done = run_exec(narrow)
    assert done.returncode == 9
    assert "no kernel image" in done.stdout
    (line,) = done.stderr.splitlines()
    assert "a cubin for sm_75, nothing for sm_80" in line
    assert "7.5" in run_exec("--arch", "sm_75", narrow).stdout.splitlines()
    older = run_exec(host_program("runtime.cu", tmp_path / "older", arch="sm_70"))
    assert older.returncode == 0, older.stdout + older.stderr


@pytest.mark.full(instead="test_code_for_other_architectures")
def test_a_program_that_looks_at_no_error_code(tmp_path: Path) -> None:
    """Code that the device cannot have is named although the program ends with 0, also where the
    launch goes through a handle, as CUDA 13's compiled host code has it."""
    source = tmp_path / "blind.cu"
    source.write_text(
        """#include <cstdio>
extern "C" cudaError_t __cudaGetKernel(cudaKernel_t *, const void *);
extern "C" cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void **, size_t, cudaStream_t);
__global__ void k(int *p) { *p = 7; }
int main() {
    int *p, got = 0;
    cudaMalloc(&p, 4);
    cudaMemset(p, 0, 4);
    cudaKernel_t handle = nullptr;
    void *args[] = {&p};
    __cudaGetKernel(&handle, (const void *)k);
    __cudaLaunchKernel(handle, 1, 1, args, 0, 0);
    cudaError_t status = cudaGetLastError();
    cudaMemcpy(&got, p, 4, cudaMemcpyDeviceToHost);
    printf("%d %d\\n", (int)status, got);
}
"""
    )
    out = tmp_path / "blind"
    compile_program(source, out, "--no-cuda-include-ptx=all", arch="sm_75")
    done = run_exec(out)
    assert (done.returncode, done.stdout) == (0, "209 0\n")
    (line,) = done.stderr.splitlines()
    assert "a cubin for sm_75, nothing for sm_80" in line
    assert run_exec("--arch", "sm_75", out).stdout == "0 7\n"


@pytest.mark.full(instead="test_launches_are_places_to_stop_and_recorded")
def test_an_mi_client_starts_the_program_again(tmp_path: Path) -> None:
    program = host_program("checked.cu", tmp_path / "mi")
    with subprocess.Popen(
        [sys.executable, "-m", "gpudbg", "exec", "--interpreter=mi3", str(program), "race", "3"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as client:
        assert client.stdin is not None
        assert client.stdout is not None

        def until(words: str) -> str:
            """What comes up to a line."""
            seen = ""
            for line in client.stdout or ():
                seen += line
                if words in line:
                    return seen
            raise AssertionError(seen)

        for number in range(2):
            if not number:
                print("-break-insert race", file=client.stdin, flush=True)
                assert 'func="race(int*)"' in until("^done")
            print("-exec-run", file=client.stdin, flush=True)
            stop = until("*stopped")
            assert '@"block 1 says 3\\n"' in stop
            assert 'reason="breakpoint-hit"' in stop
            print("-exec-continue", file=client.stdin, flush=True)
            assert 'reason="exited",exit-code="03"' in until("*stopped")
        print("-gdb-exit", file=client.stdin, flush=True)
        assert "^exit" in client.stdout.read()


@pytest.mark.full(instead="test_launches_are_places_to_stop_and_recorded")
def test_the_terminal_ui_shows_a_launch_and_what_the_program_prints(tmp_path: Path) -> None:
    import pexpect  # type: ignore[import-untyped]

    program = host_program("checked.cu", tmp_path / "drawn")
    words = ["-m", "gpudbg", "exec", "--debug", str(program)]
    environment = os.environ | {"TERM": "xterm-256color", "HOME": str(tmp_path)}
    screen = pexpect.spawn(
        sys.executable, words, dimensions=(45, 150), env=environment, encoding="utf-8", timeout=60
    )
    screen.expect("say")
    screen.send("c")
    screen.expect("ended")
    screen.send("q")
    screen.expect(pexpect.EOF)
    screen.close()
    assert screen.exitstatus == 0


def test_processes_and_contexts_end_as_with_cuda(tmp_path: Path) -> None:
    done = run_exec(host_program("ends.cu", tmp_path / "ends"))
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[:2] == ["64 5", "0 64"]
    assert lines[-1] == "cudaErrorAssert"
    assert "Assertion `threadIdx.x < n` failed" in lines[2]
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.in_turn(1)
@pytest.mark.parametrize(
    "name", ["graphs", "images", "handles", "calls", "conditions", "launches", "textures"]
)
def test_graphs_images_and_mapped_memory(tmp_path: Path, name: str) -> None:
    """By capture and by nodes, with conditions; arrays, textures, surfaces, managed variables,
    virtual memory; pools, advice, attributes, linked and legacy launches; libraries loaded at run
    time, batches, memory of another process."""
    done = run_exec(host_program(f"{name}.cu", tmp_path / name, "-lcuda"))
    assert done.stdout.splitlines()[-1:] == ["0 wrong"], done.stdout + done.stderr
    assert (done.returncode, done.stderr) == (0, "")
