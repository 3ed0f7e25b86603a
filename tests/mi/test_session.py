"""Whole sessions through a real process, held to the grammar of MI."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.mi.client import KERNELS, Client, console_text

WALK = str(KERNELS / "walk.cubin")
ENDLESS = str(KERNELS / "endless.cubin")


@pytest.fixture
def walk() -> Iterator[Client]:
    """walk.cubin loaded, not started."""
    with Client("-q", "--interpreter=mi3", WALK) as client:
        yield client


def test_start_up_and_stop_order(walk: Client) -> None:
    assert walk.chunks[0].startswith(b'=thread-group-added,id="i1"\n')
    assert walk.ok("-thread-info") == {"threads": []}
    assert walk.fails("-stack-list-frames") == "No registers."
    assert walk.fails("-exec-continue") == "The program is not being run."
    row = walk.ok("-break-insert --source walk.cu --line 24")["bkpt"]
    assert row["original-location"] == "-source walk.cu -line 24"
    assert (row["line"], row["times"], row["func"]) == ("24", "0", "walk")
    begin = len(walk.records)
    stop = walk.go("-exec-run")
    assert next(iter(stop)) == "CudaFocus"
    assert (stop["reason"], stop["bkptno"], stop["thread-id"]) == ("breakpoint-hit", "1", "1")
    kinds = [(r.kind, r.name) for r in walk.records[begin:] if r.kind in "^*="]
    assert kinds.index(("=", "thread-created")) < kinds.index(("^", "running"))
    assert kinds.index(("^", "running")) < kinds.index(("*", "running"))
    assert kinds.index(("*", "running")) < kinds.index(("*", "stopped"))
    assert all(chunk.endswith(b"\n") for chunk in walk.chunks)


def test_lines_threads_frames_and_the_end(walk: Client) -> None:
    walk.ok("-break-insert digits")
    stop = walk.go("-exec-run")
    assert stop["frame"]["func"] == "digits"
    assert walk.ok("-stack-info-depth 5") == {"depth": "2"}
    frames = walk.ok("-stack-list-frames")["stack"]
    assert [f["func"] for f in frames] == ["digits", "walk"]
    assert frames[1]["line"] == "28"
    args = walk.ok("-stack-list-arguments --simple-values")["stack-args"]
    assert args[0]["args"] == []
    assert [a["name"] for a in args[1]["args"]] == ["in@entry", "out@entry", "n@entry"]
    assert walk.ok("-stack-list-locals --all-values") == {"locals": []}
    threads = walk.ok("-thread-info")
    assert [t["target-id"] for t in threads["threads"]][:2] == [
        "CUDA block (0,0,0) warp 0",
        "CUDA block (0,0,0) warp 1",
    ]
    walk.ok("-break-delete")
    stop = walk.go("-exec-finish")
    assert (stop["reason"], stop["frame"]["func"]) == ("function-finished", "walk")
    line = int(stop["frame"]["line"])
    stop = walk.go("-exec-next")
    assert stop["reason"] == "end-stepping-range"
    assert int(stop["frame"]["line"]) != line
    stop = walk.go("-exec-continue")
    assert stop == {"reason": "exited-normally"}
    assert ("@", "thread 1 has") in [(r.kind, r.text[:12]) for r in walk.records]
    names = [r.name for r in walk.records if r.kind == "="]
    assert names.count("thread-created") == names.count("thread-exited")
    assert walk.ok("-thread-info") == {"threads": []}
    stop = walk.go("-exec-run --start")
    assert (stop["disp"], stop["thread-id"]) == ("del", "1")


def test_breakpoints_of_every_kind(walk: Client) -> None:
    assert walk.fails("-break-insert nowhere").startswith('Function "nowhere" not defined.')
    pending = walk.ok("-break-insert -f other.cu:7")["bkpt"]
    assert (pending["addr"], pending["pending"]) == ("<PENDING>", "other.cu:7")
    several = walk.ok("-break-insert walk.cu:8")["bkpt"]
    assert several["addr"] == "<MULTIPLE>"
    assert [p["number"] for p in several["locations"]][:2] == ["2.1", "2.2"]
    once = walk.ok('-break-insert -t -c "threadIdx.x == 37" walk')["bkpt"]
    assert (once["disp"], once["cond"]) == ("del", "threadIdx.x == 37")
    walk.ok("-break-disable 2")
    stop = walk.go("-exec-run")
    assert (stop["bkptno"], stop["disp"]) == ("3", "del")
    assert stop["CudaFocus"]["threadIdx"] == "(37,0,0)"
    assert walk.ok("-break-list")["BreakpointTable"]["nr_rows"] == "2"
    walk.ok("-break-enable 2")
    walk.ok("-break-disable 2.1")
    stop = walk.go("-exec-continue")
    assert stop["bkptno"] == "2"
    assert stop["frame"]["addr"] == several["locations"][1]["addr"]
    walk.ok("-break-delete 2")
    address = several["locations"][1]["addr"]
    exact = walk.ok(f"-break-insert *{address}")["bkpt"]
    assert exact["addr"] == address
    walk.ok(f"-break-after {exact['number']} 1")
    walk.ok(f"-break-condition {exact['number']} $warp == 1")
    row = walk.ok("-break-info 4")["BreakpointTable"]["body"][0]
    assert (row["cond"], row["ignore"]) == ("$warp == 1", "1")
    begin = len(walk.records)
    walk.ok("-break-delete 99")
    assert console_text(walk.records[begin:]) == "No breakpoint number 99.\n"
    begin = len(walk.records)
    walk.ok('-interpreter-exec console "break walk.cu:31"')
    names = [r.name for r in walk.records[begin:]]
    assert "breakpoint-created" in names


def test_registers_memory_and_code(walk: Client) -> None:
    walk.ok("-break-insert walk.cu:28")
    stop = walk.go("-exec-run")
    names = walk.ok("-data-list-register-names")["register-names"]
    assert names[0] == "R0"
    assert names[-9:] == ["P0", "P1", "P2", "P3", "P4", "P5", "P6", "CC", "pc"]
    for letter in "xdNrto":
        rows = walk.ok(f"-data-list-register-values --skip-unavailable {letter}")
        assert len(rows["register-values"]) == len(names)
    pc = walk.ok(f"-data-list-register-values r {len(names) - 1}")["register-values"][0]
    assert pc["value"] == stop["frame"]["addr"]
    assert len(walk.ok("-data-list-changed-registers")["changed-registers"]) == len(names)
    assert walk.ok("-data-list-changed-registers")["changed-registers"] == []
    walk.ok('-data-evaluate-expression "$R4 = 0x55"')
    assert walk.ok("-data-list-changed-registers")["changed-registers"] == ["4"]
    walk.ok("-data-write-memory-bytes &counter 0700")
    row = walk.ok("-data-read-memory-bytes -o 1 &counter 3")["memory"][0]
    assert row["contents"] == "000000"
    assert walk.ok("-data-evaluate-expression counter[0]") == {"value": "7"}
    shared = walk.ok('-data-read-memory-bytes "(@shared int*)0" 8')["memory"][0]
    assert int(shared["begin"], 16) > 0xFFFFFF
    again = walk.ok(f"-data-read-memory-bytes {shared['begin']} 8")["memory"][0]
    assert again["contents"] == shared["contents"]
    table = walk.ok('-data-read-memory "(@shared int*)0" x 4 1 2')
    assert table["never-written"] == shared["never-written"]
    grid = walk.ok("-data-read-memory &counter x 1 2 2")
    assert next(r["data"] for r in grid["memory"]) == ["0x07", "0x00"]
    assert walk.fails("-data-read-memory-bytes 0 4") == "Unable to read memory."
    check_disassembly(walk, stop["frame"]["addr"])


def check_disassembly(walk: Client, here: str) -> None:
    """All modes and forms, and ranges that cut an instruction."""
    for mode in range(6):
        rows = walk.ok(f'-data-disassemble -s $pc -e "$pc + 150" -- {mode}')["asm_insns"]
        flat = rows if mode in (0, 2) else [i for r in rows for i in r["line_asm_insn"]]
        assert here in [i["address"] for i in flat]
        assert all(("opcodes" in i) == (mode in (2, 3, 5)) for i in flat)
    cut = walk.ok(f'-data-disassemble -s "({here})+4" -e "({here})+6" -- 0')["asm_insns"]
    assert [i["address"] for i in cut] == [here]
    whole = walk.ok("-data-disassemble -f walk.cu -l 14 -n -1 -- 0")["asm_insns"]
    assert {i["func-name"] for i in whole} == {"digits"}
    assert len(walk.ok("-data-disassemble -f walk.cu -l 14 -n 2 -- 0")["asm_insns"]) == 2
    assert walk.ok(f"-data-disassemble -a {here} 0")["asm_insns"]
    assert "0-5" in walk.fails(f"-data-disassemble -s {here} -e {here} -- 9")
    lines = walk.ok("-symbol-list-lines walk.cu")["lines"]
    assert {"24", "28", "14"} <= {r["line"] for r in lines}
    assert walk.ok("-file-list-exec-source-file")["fullname"].endswith("walk.cu")
    begin = len(walk.records)
    walk.ok("disassemble $pc")
    text = console_text(walk.records[begin:])
    assert re.search(rf"^=> {here} <\+\d+>:\t", text, re.M), text


def test_variable_objects(walk: Client) -> None:
    walk.ok("-break-insert walk.cu:28")
    walk.go("-exec-run")
    made = walk.ok('-var-create --thread 1 --frame 0 - * "threadIdx"')
    assert (made["numchild"], made["thread-id"]) == ("3", "1")
    children = walk.ok(f"-var-list-children --all-values {made['name']}")["children"]
    assert [c["exp"] for c in children] == ["x", "y", "z"]
    assert walk.ok("-var-create n @ counter")["value"] == "5"
    assert walk.ok("-var-assign n 6")["value"] == "6"
    assert walk.ok("-var-delete n") == {"ndeleted": "1"}
    counter = walk.ok("-var-create c @ counter@1")
    assert (counter["value"], counter["numchild"]) == ("[1]", "1")
    walk.ok("-var-list-children 1 c")
    register = walk.ok("-var-create r * $R4")
    assert register["type"] == "unsigned int"
    assert walk.ok("-var-update --all-values *") == {"changelist": []}
    assert walk.ok("-var-assign r 300")["value"] == "300"
    assert walk.ok("-var-set-format r hexadecimal") == {"format": "hexadecimal", "value": "0x12c"}
    assert walk.ok("-var-evaluate-expression -f binary r")["value"] == "100101100"
    assert walk.ok("-var-show-attributes r") == {"attr": "editable"}
    assert walk.ok("-var-info-path-expression c.0") == {"path_expr": "(counter@1)[0]"}
    walk.ok("-data-write-memory-bytes &counter 09000000")
    changes = walk.ok("-var-update 1 *")["changelist"]
    assert [(c["name"], c["value"], c["in_scope"]) for c in changes] == [("c.0", "9", "true")]
    walk.ok('-interpreter-exec console "cuda lane 3"')
    changes = walk.ok("-var-update 1 *")["changelist"]
    assert (f"{made['name']}.x", "3") in [(c["name"], c["value"]) for c in changes]
    assert "unable to create" in walk.fails("-var-create - * no_such_thing")
    assert walk.ok("-var-delete c") == {"ndeleted": "2"}
    walk.ok("-break-delete")
    walk.go("-exec-continue")
    gone = walk.ok("-var-update 1 *")["changelist"]
    assert {c["in_scope"] for c in gone} == {"false"}


def test_cuda_gdb_dialect(walk: Client) -> None:
    walk.ok("-break-insert walk.cu:28")
    walk.go("-exec-run")
    table = walk.ok("-cuda-info-threads")["CoalescedInfoCudaThreadsTable"]
    fields = [h["col_name"] for h in table["hdr"]]
    assert fields[:3] == ["current", "kernel", "from_blockIdx"]
    assert all(list(row) == fields for row in table["body"])
    assert sum(int(row["count"]) for row in table["body"]) == 128
    for option in "devices sms warps lanes kernels blocks contexts launch-trace".split():
        (found,) = walk.ok(f"-cuda-info-{option}").values()
        assert int(found["nr_rows"]) == len(found["body"]) > 0
        assert int(found["nr_cols"]) == len(found["hdr"])
    walk.ok("-gdb-set cuda coalescing off")
    assert "UncoalescedInfoCudaBlocksTable" in walk.ok("-cuda-info-blocks")
    focus = walk.ok("-cuda-focus-query block thread")["CudaFocus"]
    assert focus["threadIdx"] == "(0,0,0)"
    moved = walk.ok("-cuda-focus-switch block (0, 0, 0) thread (37, 0, 0)")
    assert (moved["CudaFocus"]["warp"], moved["CudaFocus"]["lane"]) == ("1", "5")
    assert moved["frame"]["func"] == "walk"
    assert walk.ok("-thread-info")["current-thread-id"] == "2"
    assert walk.ok("-data-evaluate-expression $cuda_focus_lane") == {"value": "5"}
    assert "Invalid coordinates" in walk.fails("-cuda-focus-switch block (9,0,0)")
    assert walk.fails("-cuda-info-warps zz").startswith("Incorrect filter")


def test_interrupt_and_edits_while_running() -> None:
    with Client("-q", "-i=mi2", ENDLESS) as client:
        client.ok("-gdb-set mi-async on")
        assert client.ok("-list-target-features") == {"features": []}
        client.ok("-target-select native")
        assert client.ok("-list-target-features") == {"features": ["async", "reverse"]}
        assert client.ask("-exec-run").name == "running"
        assert client.fails("-stack-list-frames") == "Selected thread is running."
        states = {t["state"] for t in client.ok("-thread-info")["threads"]}
        assert states == {"running"}
        client.ok("-exec-interrupt")
        stop = client.stop()
        assert (stop["reason"], stop["signal-name"]) == ("signal-received", "SIGINT")
        assert client.ask("-exec-continue").name == "running"
        client.interrupt()
        assert client.stop()["signal-name"] == "SIGINT"
        client.interrupt()
        assert client.ask("-exec-continue").name == "running"
        row = client.ok("-break-insert endless.cu:6")["bkpt"]
        stop = client.stop()
        assert (stop["reason"], stop["bkptno"]) == ("breakpoint-hit", row["number"])
        client.ok("-break-delete")
        assert client.ask("-exec-continue").name == "running"
        client.send("-gdb-exit")
        client.until(lambda r: r.name == "exit")
        assert client.process.wait(10) == 0


def test_commands_of_a_breakpoint_after_an_interrupt() -> None:
    """VS Code's log points are commands; a pause before takes none of them away."""
    with Client("-q", "-i=mi2", ENDLESS) as client:
        assert client.ask("-exec-run").name == "running"
        client.ok("-exec-interrupt")
        client.stop()
        client.ok("-break-insert endless.cu:6")
        client.ok('-break-commands 1 "print blockDim.x"')
        assert client.go("-exec-continue")["bkptno"] == "1"
        assert "$1 = 64\n" in console_text(client.records)
        # Breakpoints set while the program runs pause it: not an interrupt of the user's either.
        client.ok("-break-delete 1")
        assert client.ask("-exec-continue").name == "running"
        client.ok("-break-insert endless.cu:6")
        client.stop()
        client.ok('-break-commands 2 "print blockDim.y"')
        assert client.go("-exec-continue")["bkptno"] == "2"
        assert "$2 = 1\n" in console_text(client.records)


def test_a_client_that_vanishes_leaves_nothing() -> None:
    client = Client("-q", "-i=mi", ENDLESS)
    client.until(lambda r: r.kind == "prompt")
    assert client.ask("-exec-run").name == "running"
    assert client.close() == 0


def test_errors_are_signals() -> None:
    with Client("-q", "-i=mi", str(KERNELS / "asserts.cubin")) as client:
        stop = client.go("-exec-run")
        assert (stop["signal-name"], stop["signal-meaning"]) == ("CUDA_EXCEPTION_12", "Warp Assert")
        assert "Assertion `out[3] == 2' failed" in "".join(
            r.text for r in client.records if r.kind == "@"
        ).replace("`.", "'.").replace("2` ", "2' ")


def test_watchpoints() -> None:
    with Client("-q", "-i=mi2", WALK) as client:
        client.ok("-break-insert walk")
        assert client.ask("-exec-run").name == "running"
        client.stop()
        assert client.ok("-break-watch out[64]")["wpt"] == {"number": "2", "exp": "out[64]"}
        assert client.ok("-break-watch -r in[3]")["hw-rwpt"]["number"] == "3"
        assert client.ok("-break-watch -a counter")["hw-awpt"]["exp"] == "counter"
        assert client.fails("-break-watch 1 + 2").startswith("cannot watch 1 + 2")
        types = [row["type"] for row in client.ok("-break-list")["BreakpointTable"]["body"]]
        assert types == ["breakpoint", "hw watchpoint", "read watchpoint", "acc watchpoint"]
        client.ok("-break-delete 1 4")
        client.ask("-exec-continue")
        stop = client.stop()
        assert stop["reason"] == "read-watchpoint-trigger"
        assert stop["hw-rwpt"] == {"number": "3", "exp": "in[3]"}
        client.ok("-break-delete 3")
        client.ask("-exec-continue")
        stop = client.stop()
        assert stop["reason"] == "watchpoint-trigger"
        assert stop["wpt"] == {"number": "2", "exp": "out[64]"}
        assert stop["value"]["old"] == "0"
        assert stop["CudaFocus"]["blockIdx"] == "(1,0,0)"


def test_writers_readers_and_causes(walk: Client) -> None:
    """Our own commands: lists of tuples, a tree of them, and the way to a writer."""
    walk.ok("-break-insert digits")
    walk.go("-exec-run")
    touches = walk.ok("-gpudbg-who-wrote -n 9 $R1")["touches"]
    assert [row["kind"] for row in touches][-1] == "launch"
    assert touches[-2]["instruction"].startswith("MOV R1")
    assert touches[0]["pc"].startswith("0x")
    cause = walk.ok("-gpudbg-why --depth 2 --control $R1")["cause"]
    assert cause["children"][0]["what"].startswith(("R1", "c["))
    assert "Usage" in walk.fails("-gpudbg-why --depth 0 $R1")
    assert "Usage" in walk.fails("-gpudbg-who-read -n")
    assert walk.go("-gpudbg-who-wrote $R1")["reason"] == "watchpoint-trigger"


def test_reverse_execution(walk: Client) -> None:
    """`--reverse` of the -exec commands; the beginning is told as gdb does."""
    walk.ok("-break-insert digits")
    stop = walk.go("-exec-run")
    here = stop["frame"]["addr"]
    assert walk.go("-exec-step-instruction --reverse")["reason"] == "end-stepping-range"
    assert walk.go("-exec-step-instruction")["frame"]["addr"] == here
    assert walk.go("-exec-finish --reverse")["frame"]["func"] == "walk"
    assert walk.go("-exec-continue")["frame"]["addr"] == here
    assert walk.go("-exec-next --reverse")["reason"] == "end-stepping-range"
    walk.ok("-break-delete")
    assert walk.go("-exec-continue --reverse")["reason"] == "no-history"
    assert walk.go("reverse-stepi")["reason"] == "no-history"


def test_reverse_commands_by_name_until_branches_and_stores(walk: Client) -> None:
    """`-exec-reverse-*` are `--reverse`; a branch is gone to, `--store` counts each write."""
    walk.ok("-break-insert digits")
    here = walk.go("-exec-run")["frame"]["addr"]
    assert walk.go("-exec-reverse-finish")["frame"]["func"] == "walk"
    assert walk.go("-exec-reverse-step-instruction")["reason"] == "end-stepping-range"
    assert walk.go("-exec-continue")["frame"]["addr"] == here
    assert walk.go("-exec-until --reverse *walk+0x8")["reason"] == "end-stepping-range"
    assert "Already in reverse mode" in _reversed(walk, "-exec-reverse-next")
    walk.ok("-gdb-set exec-direction reverse")
    assert walk.go("-exec-until")["reason"] in ("no-history", "end-stepping-range")
    walk.ok("-gdb-set exec-direction forward")
    walk.ok("set var $R1 = 4096")
    walk.go("-exec-step-instruction")
    walk.ok("branch name changed")
    walk.ok('-interpreter-exec console "info branches"')
    assert walk.go("branch 1")["reason"] == "end-stepping-range"
    assert walk.go("branch changed")["reason"] == "end-stepping-range"
    assert "wpt" in walk.ok("-break-watch --store $R1")
    walk.ok("-break-delete")


def _reversed(walk: Client, line: str) -> str:
    walk.ok("-gdb-set exec-direction reverse")
    words = walk.fails(line)
    walk.ok("-gdb-set exec-direction forward")
    return words


def test_exec_direction_turns_commands_round(walk: Client) -> None:
    """As gdb's: those of the console and of MI; asked for twice is refused."""
    walk.ok("-break-insert digits")
    here = walk.go("-exec-run")["frame"]["addr"]
    walk.ok("-break-delete")
    walk.ok("-gdb-set exec-direction reverse")
    assert walk.ok("-gdb-show exec-direction") == {"value": "reverse"}
    assert walk.go("-exec-step-instruction")["frame"]["addr"] != here
    assert "Already in reverse mode" in walk.fails("-exec-next --reverse")
    assert "Already in reverse mode" in walk.fails("reverse-continue")
    assert walk.go("continue")["reason"] == "no-history"
    walk.ok("set exec-direction forward")
    walk.ok("-break-insert digits")
    assert walk.go("-exec-continue")["frame"]["addr"] == here
