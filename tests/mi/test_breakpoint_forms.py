"""Breakpoints of one thread, that print, by an editor's path; memory and functions changed by hand.

Forms as gdb 13.1 answers them.
"""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

import gpudbg
from gpudbg.debug.focus.warp_ids import WarpIds
from gpudbg.frontends.mi.records import result
from gpudbg.frontends.mi.shown import thread_fields
from tests.mi.client import KERNELS, Client, command, console_text

WALK = str(KERNELS / "walk.cubin")
STORY = KERNELS.parents[2] / "sessions" / "first_nan"


@pytest.fixture
def walk() -> Iterator[Client]:
    """walk.cubin, stopped at line 24 in every warp."""
    with Client("-q", "-i=mi3", WALK) as client:
        client.ok("-break-insert -t walk")
        client.go("-exec-run")
        yield client


def test_an_unknown_number_is_said_and_the_others_go(walk: Client) -> None:
    walk.ok("-break-insert walk.cu:28")
    begin = len(walk.records)
    assert walk.ok("-break-delete 99 2") == {}
    assert console_text(walk.records[begin:]) == "No breakpoint number 99.\n"
    assert walk.ok("-break-list")["BreakpointTable"]["nr_rows"] == "0"
    assert walk.fails("-break-delete x")
    for _ in range(5):
        walk.ok("-break-insert walk.cu:28")
    begin = len(walk.records)
    assert walk.ok("-break-disable 3-4 99") == {}
    assert console_text(walk.records[begin:]) == "No breakpoint number 99.\n"
    rows = walk.ok("-break-info 4 5 99")["BreakpointTable"]["body"]
    assert [(row["number"], row["enabled"]) for row in rows] == [("4", "n"), ("5", "y")]
    assert walk.fails("-break-enable 4-3") == "inverted range"
    # All of them, not every second one.
    walk.ok("-break-delete")
    assert walk.ok("-break-list")["BreakpointTable"]["nr_rows"] == "0"


def test_a_breakpoint_of_one_thread(walk: Client) -> None:
    row = walk.ok("-break-insert -p 3 walk.cu:28")["bkpt"]
    assert (row["thread"], "cond" in row) == ("3", False)
    assert walk.fails("-break-insert -p 9 walk.cu:28") == "Unknown thread 9."
    assert walk.fails("-break-insert -p x walk.cu:28")
    stop = walk.go("-exec-continue")
    assert (stop["bkptno"], stop["thread-id"]) == (row["number"], "3")
    assert "arrived-warps" not in stop
    assert walk.go("-exec-continue") == {"reason": "exited-normally"}


def test_dprintf(walk: Client) -> None:
    row = walk.ok(r'-dprintf-insert walk.cu:28 "i=%d of %d\n" "threadIdx.x + 1" counter')["bkpt"]
    assert (row["type"], row["disp"], row["times"]) == ("dprintf", "keep", "0")
    assert row["script"] == [r'printf "i=%d of %d\n", threadIdx.x + 1, counter']
    some = walk.ok('-dprintf-insert -c "threadIdx.x == 40" --source walk.cu --line 28 "x"')["bkpt"]
    assert some["cond"] == "threadIdx.x == 40"
    assert walk.fails("-dprintf-insert") == "-dprintf-insert: Missing <location>"
    assert walk.fails("-dprintf-insert walk") == "-dprintf-insert: Missing <format>"
    begin = len(walk.records)
    assert walk.go("-exec-continue") == {"reason": "exited-normally"}
    said = console_text(walk.records[begin:])
    assert sorted(said.replace("x", "").split("\n")[:4]) == [
        "i=1 of 5", "i=1 of 5", "i=33 of 5", "i=33 of 5",
    ]  # fmt: skip
    assert walk.ok("-break-info 2")["BreakpointTable"]["body"][0]["times"] == "4"


def test_a_dprintf_without_a_value_stops_and_says_so(walk: Client) -> None:
    walk.ok(r'-dprintf-insert walk.cu:28 "%d\n" "1/0"')
    begin = len(walk.records)
    assert walk.go("-exec-continue")["reason"] == "breakpoint-hit"
    assert "division by zero" in console_text(walk.records[begin:])


def test_memory_that_an_assignment_has_changed_is_told(walk: Client) -> None:
    def told(line: str) -> list[tuple[str, str]]:
        begin = len(walk.records)
        walk.ok(line)
        rows = [r.fields for r in walk.records[begin:] if r.name == "memory-changed"]
        return [(r["addr"], r["len"]) for r in rows]

    place = "0x0000000705101000", "0x4"
    assert told("set var counter = 8") == [place]
    assert told('-interpreter-exec console "print counter = 9"') == [place]
    assert told("-gdb-set var counter=10") == [place]
    assert told('-data-evaluate-expression "counter = 5"') == [place]
    # What a command that writes memory did its client knows.
    assert told("-data-write-memory-bytes &counter 0700") == []
    walk.ok("-var-create c * counter")
    assert told("-var-assign c 4") == []
    assert told("print counter") == []
    assert told("set var $R4 = 3") == []


def test_return_from_a_function_just_entered(walk: Client) -> None:
    assert "kernel itself" in walk.fails("-exec-return")
    walk.ok("-break-insert -t digits")
    walk.go("-exec-continue")
    frame = walk.ok("-exec-return")["frame"]
    assert (frame["level"], frame["func"], frame["line"]) == ("0", "walk", "29")
    assert walk.ok("-stack-info-depth") == {"depth": "1"}
    walk.ok("-break-insert -t digits")
    walk.ok("-thread-select 2")
    walk.go("-exec-step")
    assert walk.go("-exec-continue")["reason"] in ("exited-normally", "breakpoint-hit")


def test_an_editors_path_finds_a_shorter_one(tmp_path: Path) -> None:
    """NVRTC records `/first_nan.cu` for a source that was named without a directory."""
    for suffix in ("cubin", "toml"):
        shutil.copy(STORY / f"first_nan.{suffix}", tmp_path)
    with Client("-q", "-i=mi3", str(tmp_path / "first_nan.cubin")) as client:
        rows = client.ok("-file-list-exec-source-files")["files"]
        assert [r["file"] for r in rows] == ["first_nan.cu"]
        for path in ("/home/u/first_nan.cu", "first_nan.cu", "./first_nan.cu", "src/first_nan.cu"):
            row = client.ok(f"-break-insert -t {path}:9")["bkpt"]
            assert row["file"] == "first_nan.cu"
            assert client.ok(f"-break-insert -t --source {path} --line 9")["bkpt"]["line"] == "9"
        assert "No source file" in client.fails("-break-insert /home/u/other_first_nan.cu:9")
        stop = client.go("-exec-run")
        assert stop["frame"]["file"] == "first_nan.cu"


def test_a_second_terminal_has_no_echo_and_is_given_back() -> None:
    master, slave = pty.openpty()

    def echoes() -> bool:
        return bool(termios.tcgetattr(slave)[3] & termios.ECHO)

    process = subprocess.Popen(
        command("-q", WALK), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"server new-ui mi {os.ttyname(slave)}\necho here\\n\n")
    process.stdin.flush()
    while "here" not in process.stdout.readline():
        pass
    assert not echoes()
    os.write(master, b"7-break-insert walk\ndisassemble $pc\n")
    said = b""
    while b"End of assembler" not in said:
        said += os.read(master, 65536)
    assert b"-break-insert" not in said
    # Vim's assembly window waits for the line itself.
    assert b'\r\ndisassemble $pc\r\n&"disassemble $pc\\n"\r\n' in said
    process.stdin.close()
    assert process.wait(15) == 0
    assert echoes()


def test_threads_are_told_with_a_bounded_number_of_calls() -> None:
    """128 threads cost a look at each, not at every pair."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    with gpudbg.open(KERNELS / "many.cubin") as session:
        ids = WarpIds()
        ids.sync(session)
        assert len(ids.known()) == 128
        sys.setprofile(count)
        try:
            threads = ids.threads(session, ids.known())
            rows = [thread_fields(session, thread) for thread in threads]
            text = result("1", "done", {"threads": rows})
        finally:
            sys.setprofile(None)
    assert text.count("target-id") == 128
    assert calls < 128 * 500


def test_the_pc_is_the_selected_frames(walk: Client) -> None:
    walk.ok("-break-insert -t digits")
    walk.go("-exec-continue")
    inner, outer = (f["addr"] for f in walk.ok("-stack-list-frames")["stack"])
    number = len(walk.ok("-data-list-register-names")["register-names"]) - 1
    for frame, address in ((0, inner), (1, outer)):
        select = f"--thread 1 --frame {frame}"
        shown = walk.ok(f"-data-evaluate-expression {select} $pc")["value"]
        assert int(shown.split()[2], 16) == int(address, 16)
        row = walk.ok(f"-data-list-register-values {select} r {number}")["register-values"][0]
        assert row["value"] == address
