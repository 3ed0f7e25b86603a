"""Sessions of a debug adapter's client, and clients that say what makes no sense."""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudbg.frontends.dap.protocol import ClientRequest, FramingError, framed, parsed, read_messages
from tests.dap.client import Client

DATA = Path(__file__).resolve().parents[1] / "data" / "source"
STORIES = Path(__file__).resolve().parents[2] / "sessions"
SOURCE = str(DATA / "closures.cu")
CLOSURES: dict[str, Any] = {
    "program": str(DATA / "cubin" / "closures.sm_52-G.cubin"),
    "kernel": "closures",
    "grid": 1,
    "block": [32],
    "args": ["i32[64]:arange", "i32[64]:zeros"],
}


def test_frames_scopes_and_variables() -> None:
    with Client() as client:
        stop = client.launch({SOURCE: [34]}, **CLOSURES)
        assert (stop["reason"], stop["hitBreakpointIds"]) == ("breakpoint", [1])
        frames = client.frames(stop["threadId"])
        assert [(f["name"].partition("(this")[0], f["line"]) for f in frames[:1]] == [
            ("closures::{lambda(int)#2}::operator()", 34)
        ]
        assert [f["line"] for f in frames] == [34, 6, 33]
        assert frames[1]["name"].endswith("[inlined]")
        assert frames[0]["source"]["path"] == SOURCE
        local = client.scope("Locals", frames[2]["id"])
        assert (local["count"]["value"], local["acc"]["value"]) == ("0", local["acc"]["value"])
        lanes = client.children(
            client.children(local["i"]["variablesReference"])["32 lanes"]["variablesReference"]
        )
        assert [row["value"] for row in lanes.values()] == [str(n) for n in range(32)]
        assert list(client.scope("Arguments", frames[0]["id"])) == ["this", "k"]
        assert client.scope("Registers", frames[0]["id"])["R1"]["value"].startswith("0x")
        assert "SR_LANEID" in client.scope("Special registers", frames[0]["id"])
        lane = client.scope("Lanes", frames[2]["id"])["lane 7"]
        assert lane["value"] == "thread (7, 0, 0), active"
        assert client.children(lane["variablesReference"])["i"]["value"] == "7"


def test_groups_of_lanes_say_where_they_stand_and_what_they_wait_for() -> None:
    """From sm_70 on; a kernel in which one lane holds a lock while others poll."""
    program = str(STORIES / "spin_lock_ends/spin_lock_ends.cubin")
    with Client() as client:
        stop = client.launch({}, program=program, stopOnEntry=True)
        client.ask("evaluate", expression="until *0xe0", context="repl")
        frame = client.frames(stop["threadId"])[0]["id"]
        groups = client.scope("Paths", frame)
        assert {name: row["value"] for name, row in groups.items()} == {
            "lane 0": "count_up+0xe0 spin_lock_ends.cu:8: next to run",
            "lanes 1-31": "count_up+0x80 spin_lock_ends.cu:5: yielded",
        }
        parts = client.children(groups["lanes 1-31"]["variablesReference"])
        assert parts["state"]["value"] == "yielded"
        assert parts["pc"]["value"] == "0x1080"
        lane = client.scope("Lanes", frame)["lane 31"]["value"]
        assert lane == "thread (31, 0, 0), inactive at count_up+0x80, yielded"


def test_values_are_set_and_evaluated() -> None:
    with Client() as client:
        stop = client.launch({SOURCE: [34]}, **CLOSURES)
        outer = client.frames(stop["threadId"])[2]["id"]
        scope = client.ask("scopes", frameId=outer)["scopes"][0]["variablesReference"]
        client.children(scope)
        set_ = client.ask("setVariable", variablesReference=scope, name="i", value="5")
        assert set_["value"] == "5"
        # A scope whose rows were not asked for.
        scope = client.ask("scopes", frameId=outer)["scopes"][0]["variablesReference"]
        set_ = client.ask("setVariable", variablesReference=scope, name="i", value="5")
        assert set_["value"] == "5"
        asked = {"variablesReference": scope, "name": "nothing", "value": "5"}
        assert "nothing cannot be set (here can be: " in client.refused("setVariable", **asked)
        client.ask("setExpression", expression="base", value="i + 1", frameId=outer)
        asked = {"frameId": outer, "context": "watch"}
        assert client.ask("evaluate", expression="base * 2", **asked)["result"] == "12"
        assert "No symbol" in client.refused("evaluate", expression="nothing", **asked)
        text = client.ask("evaluate", expression="info warps", context="repl")["result"]
        assert "ready" in text
        assert client.ask("evaluate", expression="stepi", context="repl")["result"]
        assert client.event("stopped")["reason"] == "step"


def test_steps_forward_and_back() -> None:
    with Client() as client:
        stop = client.launch({SOURCE: [28]}, **CLOSURES)
        thread = stop["threadId"]

        def lines(command: str, **more: Any) -> list[int]:
            client.ask(command, threadId=thread, **more)
            client.event("stopped")
            return [f["line"] for f in client.frames(thread)]

        assert lines("next") == [29]
        assert lines("stepIn") == [4, 29]
        pc = client.frames(thread)[0]["instructionPointerReference"]
        lines("stepIn", granularity="instruction")
        lines("stepBack", granularity="instruction")
        assert client.frames(thread)[0]["instructionPointerReference"] == pc
        assert lines("stepOut") == [29]
        assert lines("reverseContinue") == [28]


def test_conditions_hit_counts_log_points_and_data() -> None:
    rows = [
        {"line": 30, "logMessage": "m is {m}", "condition": "k == 1"},
        {"line": 34, "hitCondition": "2"},
        {"line": 35, "hitCondition": "sometimes"},
    ]
    with Client() as client:
        client.ask("launch", **CLOSURES)
        client.event("initialized")
        found = client.ask("setBreakpoints", source={"path": SOURCE}, breakpoints=rows)
        assert [row["verified"] for row in found["breakpoints"]] == [True, True, False]
        client.ask("configurationDone")
        assert client.event("output") == {"category": "console", "output": "m is 1\n"}
        thread = client.event("stopped")["threadId"]
        outer = client.frames(thread)[2]["id"]
        assert client.scope("Locals", outer)["count"]["value"] == "1"
        info = client.ask("dataBreakpointInfo", name="count", frameId=outer)
        client.ask("setBreakpoints", source={"path": SOURCE}, breakpoints=[])
        points = [{"dataId": info["dataId"], "accessType": "write"}]
        client.ask("setDataBreakpoints", breakpoints=points)
        client.ask("continue", threadId=thread)
        assert client.event("stopped")["reason"] == "data breakpoint"
        # Each write, of the same value too, as the console's `watch -store`.
        outer = client.frames(thread)[-1]["id"]
        info = client.ask("dataBreakpointInfo", name="-store $R1", frameId=outer)
        assert (info["description"], info["accessTypes"]) == ("$R1, each store", ["write"])
        points = [{"dataId": info["dataId"], "accessType": "write"}]
        rows = client.ask("setDataBreakpoints", breakpoints=points)["breakpoints"]
        assert [row["verified"] for row in rows] == [True], rows
        info = client.ask("evaluate", expression="info watchpoints", context="repl")
        assert "store" in info["result"]


def test_functions_instructions_memory_and_code() -> None:
    with Client() as client:
        client.ask("launch", stopOnEntry=True, **CLOSURES)
        client.ask("setFunctionBreakpoints", breakpoints=[{"name": "closures"}, {"name": "no"}])
        client.ask("configurationDone")
        thread = client.event("stopped")["threadId"]
        pc = client.frames(thread)[0]["instructionPointerReference"]
        code = client.ask(
            "disassemble", memoryReference=pc, instructionOffset=-1, instructionCount=3
        )["instructions"]
        assert next(row["instruction"] for row in code) == "??"
        point = {"instructionReference": code[2]["address"]}
        client.ask("setInstructionBreakpoints", breakpoints=[point])
        client.ask("continue", threadId=thread)
        reasons = [client.event("stopped")["reason"]]
        client.ask("continue", threadId=thread)
        reasons.append(client.event("stopped")["reason"])
        assert sorted(reasons) == ["function breakpoint", "instruction breakpoint"]
        out = "generic:0x705101000"
        data = base64.b64encode(b"abcd").decode()
        client.ask("writeMemory", memoryReference=out, data=data)
        read = client.ask("readMemory", memoryReference=out, count=4)
        assert (read["data"], read["unreadableBytes"]) == (data, 0)
        assert client.ask("readMemory", memoryReference="0x10", count=8)["unreadableBytes"] == 8
        room = 4096 - client.ask("readMemory", memoryReference=out, count=4096)["unreadableBytes"]
        last = {"memoryReference": out, "offset": room - 2, "data": data}
        assert client.ask("writeMemory", **last, allowPartial=True)["bytesWritten"] == 2
        assert "at the end of argument 1" in client.refused("writeMemory", **last)
        null = {"memoryReference": "0x10", "data": data, "allowPartial": True}
        assert "null pointer" in client.refused("writeMemory", **null)
        targets = client.ask("gotoTargets", source={"path": SOURCE}, line=36)["targets"]
        assert targets[0]["line"] == 37  # line 36 has no code of its own
        client.ask("goto", threadId=thread, targetId=targets[0]["id"])
        assert client.event("stopped")["reason"] == "goto"
        assert client.frames(thread)[0]["line"] == 37
        moved = client.ask("changeCudaFocus", focus={"threadIdx": {"x": 9, "y": 0, "z": 0}})
        assert moved["focus"]["threadIdx"] == "(9,0,0)"
        assert client.ask("restart") == {}
        assert client.event("stopped")["reason"] == "entry"
        labels = [
            t["label"] for t in client.ask("completions", text="info war", column=9)["targets"]
        ]
        assert "warps" in labels


def test_a_fault_has_its_card_and_goes_back() -> None:
    with Client() as client:
        program = str(STORIES / "out_of_bounds" / "out_of_bounds.cubin")
        stop = client.launch(program=program)
        assert stop["reason"] == "exception"
        info = client.ask("exceptionInfo", threadId=stop["threadId"])
        assert info["breakMode"] == "always"
        assert "R" in info["description"]
        assert len(info["description"].splitlines()) > 3
        assert "error" in client.refused("continue", threadId=stop["threadId"])
        client.ask("stepBack", threadId=stop["threadId"], granularity="instruction")
        assert client.event("stopped")["reason"] == "step"


def test_the_end() -> None:
    with Client() as client:
        client.ask("launch", **CLOSURES)
        client.ask("configurationDone")
        assert client.event("exited") == {"exitCode": 0}
        client.event("terminated")
        assert client.ask("stackTrace", threadId=1)["stackFrames"] == []
        assert "ended" in client.refused("next", threadId=1)


def test_an_endless_kernel_is_paused_and_takes_breakpoints_meanwhile() -> None:
    with Client() as client:
        program = str(STORIES / "spin_lock_ends" / "spin_lock_ends.cubin")
        client.ask("launch", program=program)
        client.ask("configurationDone")
        client.ask("setFunctionBreakpoints", breakpoints=[{"name": "nothing_of_this_name"}])
        client.ask("disconnect")
        client.thread.join(30)
        assert not client.thread.is_alive()


def test_the_process_ends_at_disconnect_though_its_input_stays_open() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "gpudbg", "dap"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as child:  # fmt: skip
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        for seq, command in enumerate(("initialize", "disconnect"), 1):
            child.stdin.write(framed({"seq": seq, "type": "request", "command": command}))
        child.stdin.flush()
        answers = [json.loads(body)["command"] for body in read_messages(child.stdout)]
        assert child.wait(60) == 0, child.stderr.read()
        assert answers == ["initialize", "disconnect"]


WRONG: list[tuple[str, Any]] = [
    ("launch", {}),
    ("launch", {"program": 5}),
    ("launch", {"program": "/no/such/file"}),
    ("launch", {**CLOSURES, "grid": "x"}),
    ("launch", {**CLOSURES, "args": 5}),
    ("continue", {}),
    ("stackTrace", {"threadId": "one"}),
    ("scopes", {"frameId": 99}),
    ("variables", {}),
    ("setBreakpoints", {"source": 3}),
    ("evaluate", {"expression": None}),
    ("readMemory", {"memoryReference": "nowhere", "count": 4}),
    ("no such request", {}),
]


def test_requests_that_make_no_sense_are_refused_in_one_line() -> None:
    with Client() as client:
        for command, arguments in WRONG:
            words = client.refused(command, **arguments)
            assert words.split("\n") == [words], command
            assert "internal" not in words, command


@pytest.mark.parametrize(
    "body",
    [b"abc", b"[]", b'{"type":"request"}', b'{"type":"request","command":"threads"}', b"[" * 9999],
)
def test_a_message_that_is_none_leaves_the_connection(body: bytes) -> None:
    with Client() as client:
        client.raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        assert client.ask("threads")["threads"]


@pytest.mark.parametrize(
    "data",
    [b"hello\r\n\r\n", b"Content-Length: x\r\n\r\n", b"Content-Length: 50\r\n\r\n{}", b"\xff"],
)
def test_broken_frames_end_the_connection(data: bytes) -> None:
    import os

    client = Client()
    client.raw(data)
    os.close(client._to)
    client.thread.join(30)
    assert not client.thread.is_alive()


@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda c: (
            st.lists(c)
            | st.dictionaries(st.sampled_from(["seq", "type", "command", "arguments"]), c)
        ),
    )
)
def test_any_json_is_read(value: Any) -> None:
    parsed(json.dumps(value).encode())
    assert framed({"a": value}).startswith(b"Content-Length: ")


def test_breakpoints_of_console_lines_are_told() -> None:
    with Client() as client:
        client.launch({SOURCE: [34]}, **CLOSURES)
        client.ask("evaluate", expression="break closures.cu:35", context="repl")
        made = client.event("breakpoint")
        assert (made["reason"], made["breakpoint"]["line"]) == ("new", 35)
        number = made["breakpoint"]["id"]
        client.ask("evaluate", expression=f"disable {number}", context="repl")
        off = client.event("breakpoint")
        assert (off["reason"], off["breakpoint"]["verified"]) == ("changed", False)
        client.ask("evaluate", expression=f"delete {number}", context="repl")
        gone = client.event("breakpoint")
        assert (gone["reason"], gone["breakpoint"]["id"]) == ("removed", number)


def test_what_is_written_is_told() -> None:
    with Client(supportsMemoryEvent=True, supportsInvalidatedEvent=True) as client:
        stop = client.launch({SOURCE: [34]}, **CLOSURES)
        outer = client.frames(stop["threadId"])[2]["id"]
        client.ask("setExpression", expression="count", value="41", frameId=outer)
        assert client.event("invalidated")["areas"] == ["variables"]
        told = client.event("memory")
        assert (told["memoryReference"].partition(":")[0], told["count"]) == ("local", 4)
        data = base64.b64encode(bytes([7, 0, 0, 0])).decode()
        client.ask("writeMemory", memoryReference=told["memoryReference"], data=data)
        assert client.event("memory")["count"] == 4
        assert client.ask("evaluate", expression="count", frameId=outer)["result"] == "7"


def test_a_launch_table_and_a_client_that_leaves_twice(tmp_path: Path) -> None:
    table = tmp_path / "launch.toml"
    table.write_text(
        'kernel = "closures"\ngrid = 1\nblock = 32\nargs = ["in", "out"]\n'
        '[buffers.in]\ntype = "i32"\ncount = 64\ninit = "zeros"\n'
        '[buffers.out]\ntype = "i32"\ncount = 64\ninit = "zeros"\n'
    )
    with Client() as client:
        client.ask("launch", program=CLOSURES["program"], launchTable=str(table), stopOnEntry=True)
        client.event("initialized")
        client.ask("configurationDone")
        assert client.event("stopped")["reason"] == "entry"
        client.adapter.events.put(("message", ClientRequest(900, "disconnect", {})))
        client.adapter.events.put(("message", ClientRequest(901, "disconnect", {})))
        client.adapter.events.put(("message", ClientRequest(902, "threads", {})))
        client.thread.join(20)
    answers = {m["request_seq"]: m["success"] for m in client.rest() if m["type"] == "response"}
    assert [answers.get(n) for n in (900, 901, 902)] == [True, True, False]


def test_attach_terminate_sources_and_cancel() -> None:
    with Client() as client:
        client.ask("attach", **CLOSURES)
        client.event("initialized")
        client.ask("configurationDone")
        assert client.event("stopped")["reason"] == "entry"
        assert [row["name"] for row in client.ask("loadedSources")["sources"]] == ["closures.cu"]
        # The program was built elsewhere: the client says where it has that file open.
        text = client.ask("source", source={"path": SOURCE}, sourceReference=0)["content"]
        assert text == Path(SOURCE).read_text()
        assert [row["path"] for row in client.ask("loadedSources")["sources"]] == [SOURCE]
        client.ask("cancel", requestId=1)
        client.ask("terminate")
        client.event("terminated")


@pytest.mark.parametrize("key", ["noDebug", "stopAtExit"])
def test_how_a_launch_ends(key: str) -> None:
    """Without debugging nothing stops it; `stopAtExit` leaves memory to be looked at."""
    with Client() as client:
        client.ask("launch", **CLOSURES, **{key: True})
        client.event("initialized")
        if key == "noDebug":
            rows = [{"line": 34}]
            client.ask("setBreakpoints", source={"path": SOURCE}, breakpoints=rows)
        client.ask("configurationDone")
        event = client.event("stopped" if key == "stopAtExit" else "terminated")
        assert key == "noDebug" or event["reason"] == "exit"


def test_a_request_of_a_browser_is_no_message() -> None:
    """A web page can have a browser send a message behind a request line with a colon in it."""
    asked = json.dumps({"seq": 1, "type": "request", "command": "initialize"}).encode()
    head = b"POST /a:b HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(asked)
    with pytest.raises(FramingError, match="no header field"):
        list(read_messages(io.BytesIO(head + asked)))


def test_a_client_may_count_from_zero() -> None:
    """nvim-dap's first request has seq 0."""
    assert parsed(b'{"seq":0,"type":"request","command":"threads"}') == ClientRequest(
        0, "threads", {}
    )


def test_variables_of_other_frames_and_lanes_are_set_and_watched() -> None:
    with Client() as client:
        stop = client.launch({SOURCE: [34]}, **CLOSURES)
        outer = client.frames(stop["threadId"])[2]["id"]
        asked = {"frameId": outer, "context": "repl"}
        # A command's short form is none where a variable has its name.
        assert client.ask("evaluate", expression="i", **asked)["result"] == "0"
        assert client.ask("evaluate", expression="threadIdx", **asked)["type"] == "dim3"
        lane = client.scope("Lanes", outer)["lane 7"]["variablesReference"]
        client.children(lane)
        client.ask("setVariable", variablesReference=lane, name="i", value="70")
        spread = client.scope("Locals", outer)["i"]["variablesReference"]
        lanes = client.children(spread)["32 lanes"]["variablesReference"]
        client.children(lanes)
        client.ask("setVariable", variablesReference=lanes, name="lane 9", value="90")
        found = [client.children(lanes)[f"lane {n}"]["value"] for n in (0, 7, 9)]
        assert found == ["0", "70", "90"]
        # `base` and `acc` are the kernel's: the innermost frame knows neither.
        info = [client.ask("dataBreakpointInfo", name=n, frameId=outer) for n in ("base", "acc.n")]
        points = [{"dataId": row["dataId"], "accessType": "write"} for row in info]
        rows = client.ask("setDataBreakpoints", breakpoints=points)["breakpoints"]
        assert [row["verified"] for row in rows] == [True, True], rows


def test_a_data_breakpoint_ends_with_its_frame() -> None:
    source, program = DATA / "call_chain.cu", DATA / "cubin" / "call_chain.sm_52-G.cubin"
    args = {"grid": 1, "block": [32], "args": ["i32[32]:zeros"]}
    with Client() as client:
        stop = client.launch({str(source): [6]}, program=str(program), kernel="call_chain", **args)
        frame = client.frames(stop["threadId"])[0]["id"]
        info = client.ask("dataBreakpointInfo", name="w", frameId=frame)
        rows = client.ask("setDataBreakpoints", breakpoints=[{"dataId": info["dataId"]}])
        client.ask("continue", threadId=stop["threadId"])
        told = client.event("breakpoint")
        assert (told["reason"], told["breakpoint"]["id"]) == (
            "removed",
            rows["breakpoints"][0]["id"],
        )
        stop = client.event("stopped")
        assert (stop["reason"], "its frame has been left" in stop["text"]) == (
            "data breakpoint",
            True,
        )
        assert [f["line"] for f in client.frames(stop["threadId"])] == [11, 18, 26]


def test_completions_hexadecimal_and_frames_that_begin_again() -> None:
    source, program = DATA / "call_chain.cu", DATA / "cubin" / "call_chain.sm_80-G.cubin"
    args = {"grid": 1, "block": [32], "args": ["i32[32]:zeros"]}
    with Client() as client:
        stop = client.launch({str(source): [6]}, program=str(program), kernel="call_chain", **args)
        thread = stop["threadId"]
        inner, middle = (row["id"] for row in client.frames(thread)[:2])

        def ends(text: str, frame: int) -> list[str]:
            asked = {"text": text, "column": len(text) + 1, "frameId": frame}
            return [row["text"] for row in client.ask("completions", **asked)["targets"]]

        assert (ends("w", inner)[0], ends("print he", middle)) == ("w", ["here"])
        scopes = {r["name"]: r for r in client.ask("scopes", frameId=middle)["scopes"]}
        rows = client.ask(
            "variables",
            variablesReference=scopes["Locals"]["variablesReference"],
            format={"hex": True},
        )
        assert {r["name"]: r["value"] for r in rows["variables"]}["here"] == "0x3e8"
        client.ask("restartFrame", frameId=middle)
        stop = client.event("stopped")
        frames = client.frames(thread)
        assert (stop["reason"], [f["name"].partition("(")[0] for f in frames]) == (
            "restart",
            ["deep::middle", "outer", "call_chain"],
        )
        client.ask("restartFrame", frameId=frames[2]["id"])
        client.event("stopped")
        assert [f["line"] for f in client.frames(thread)] == [22]


@pytest.mark.parametrize("arch", ["sm_52", "sm_80"])
def test_a_step_enters_the_call_that_is_meant(arch: str) -> None:
    """A function is entered behind its prologue, where it has its arguments."""
    source, program = DATA / "call_chain.cu", DATA / "cubin" / f"call_chain.{arch}-G.cubin"
    args = {"grid": 1, "block": [32], "args": ["i32[32]:zeros"]}
    with Client() as client:
        stop = client.launch({str(source): [26]}, program=str(program), kernel="call_chain", **args)
        thread = stop["threadId"]
        frame = client.frames(thread)[0]["id"]
        targets = client.ask("stepInTargets", frameId=frame)["targets"]
        assert [(row["label"], row["line"]) for row in targets] == [("outer", 26)]
        refusal = client.refused("stepIn", threadId=thread, targetId=1)
        assert refusal == "targetId 1: the line calls nothing there (stepInTargets)"
        client.ask("stepIn", threadId=thread, targetId=targets[0]["id"])
        client.event("stopped")
        inner, caller = client.frames(thread)
        assert (inner["name"], inner["line"]) == ("outer(c=0)", 17)
        assert client.ask("stepInTargets", frameId=caller["id"])["targets"] == []


def test_a_client_may_count_lines_from_0_and_must_write_paths_as_the_host() -> None:
    with Client(linesStartAt1=False) as client:
        client.ask("launch", **CLOSURES)
        client.event("initialized")
        rows = [{"line": 29}]
        found = client.ask("setBreakpoints", source={"path": SOURCE}, breakpoints=rows)
        assert found["breakpoints"][0]["line"] == 29
        client.ask("configurationDone")
        frames = client.frames(client.event("stopped")["threadId"])
        assert frames[0]["line"] == 29
        assert "pathFormat 'uri'" in client.refused("initialize", pathFormat="uri")
