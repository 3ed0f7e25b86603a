"""Eclipse's cdt-gdb-adapter (what Theia and VS Code run) debugs a kernel through gpudbg.

Needs node and the npm package: `npm install --prefix tests/clients/node cdt-gdb-adapter`, or
GPUDBG_NODE_MODULES naming a node_modules folder that has it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.dap import Adapter
from tests.clients.kit import KERNELS, gdb_script

MODULES = Path(
    os.environ.get("GPUDBG_NODE_MODULES", Path(__file__).parent / "node" / "node_modules")
)
MAIN = MODULES / "cdt-gdb-adapter" / "dist" / "debugAdapter.js"
NODE = shutil.which("node")

pytestmark = [
    pytest.mark.skipif(NODE is None, reason="node is not installed"),
    pytest.mark.skipif(not MAIN.exists(), reason="cdt-gdb-adapter is not installed"),
]


@pytest.fixture
def adapter(tmp_path: Path) -> Iterator[Adapter]:
    """A fresh adapter, initialized."""
    assert NODE is not None
    made = Adapter([NODE, str(MAIN)])
    made.request(
        "initialize",
        adapterID="cdt",
        linesStartAt1=True,
        columnsStartAt1=True,
        pathFormat="path",
        supportsMemoryReferences=True,
    )
    yield made
    made.close()


def launch(adapter: Adapter, tmp_path: Path, kernel: str, lines: list[int]) -> None:
    """Launch a kernel with breakpoints on lines of its source."""
    body: dict[str, Any] = {
        "gdb": gdb_script(tmp_path),
        "program": str(KERNELS / f"{kernel}.cubin"),
        "openGdbConsole": False,
        "verbose": True,
        "logFile": str(tmp_path / "cdt.log"),
    }
    seq = adapter.post("launch", **body)
    adapter.wait("initialized")
    found = adapter.answer(seq)
    assert found["success"], found.get("message")
    source = {"path": str(KERNELS / f"{kernel}.cu")}
    answer = adapter.request(
        "setBreakpoints", source=source, breakpoints=[{"line": n} for n in lines]
    )
    assert [b["line"] for b in answer["breakpoints"]] == lines
    assert all(b["verified"] for b in answer["breakpoints"])
    adapter.request("configurationDone")


def top(adapter: Adapter, thread: int) -> dict[str, Any]:
    """The innermost frame of a thread."""
    found: dict[str, Any] = adapter.request("stackTrace", threadId=thread)["stackFrames"][0]
    return found


def step(adapter: Adapter, name: str, thread: int) -> dict[str, Any]:
    """A step; the frame it ends in."""
    begin = len(adapter.events)
    adapter.request(name, threadId=thread)
    event = adapter.wait("stopped", begin)
    assert event["body"]["reason"] == "step", event
    return top(adapter, event["body"]["threadId"])


def test_a_session_by_line(adapter: Adapter, tmp_path: Path) -> None:
    launch(adapter, tmp_path, "walk", [25, 28])
    event = adapter.wait("stopped")
    assert event["body"]["reason"] == "breakpoint"
    thread = event["body"]["threadId"]
    threads = adapter.request("threads")["threads"]
    assert len(threads) == 4
    frame = top(adapter, thread)
    assert (frame["line"], frame["name"]) == (25, "walk")
    assert frame["source"]["path"] == str(KERNELS / "walk.cu")
    assert step(adapter, "next", thread)["line"] != 25
    assert step(adapter, "next", thread)["line"] > 0
    begin = len(adapter.events)
    adapter.request("continue", threadId=thread)
    event = adapter.wait("stopped", begin)
    views(adapter, top(adapter, event["body"]["threadId"]))
    adapter.request("setBreakpoints", source={"path": str(KERNELS / "walk.cu")}, breakpoints=[])
    begin = len(adapter.events)
    adapter.request("setFunctionBreakpoints", breakpoints=[{"name": "digits"}])
    adapter.request("continue", threadId=thread)
    event = adapter.wait("stopped", begin)
    assert event["body"]["reason"] == "function breakpoint"
    inside = event["body"]["threadId"]
    assert [f["name"] for f in adapter.request("stackTrace", threadId=inside)["stackFrames"]] == [
        "digits",
        "walk",
    ]
    adapter.request("setFunctionBreakpoints", breakpoints=[])
    assert step(adapter, "stepOut", inside)["name"] == "walk"
    adapter.request("continue", threadId=inside)
    adapter.wait("terminated")
    said = "".join(e["body"].get("output", "") for e in adapter.events if e["event"] == "output")
    assert "thread 1 has" in said


def views(adapter: Adapter, frame: dict[str, Any]) -> None:
    """Arguments, registers, watches, memory and disassembly are filled."""
    scopes = adapter.request("scopes", frameId=frame["id"])["scopes"]
    names = {s["name"]: s["variablesReference"] for s in scopes}
    arguments = adapter.request("variables", variablesReference=names["Local"])["variables"]
    assert [v["name"] for v in arguments] == ["in@entry", "out@entry", "n@entry"]
    registers = adapter.request("variables", variablesReference=names["Registers"])["variables"]
    assert {"R0", "P0", "CC", "pc"} <= {v["name"] for v in registers}
    watch = adapter.request(
        "evaluate", expression="threadIdx", frameId=frame["id"], context="watch"
    )
    children = adapter.request("variables", variablesReference=watch["variablesReference"])
    assert [c["name"] for c in children["variables"]] == ["x", "y", "z"]
    value = adapter.request("evaluate", expression="$R1", frameId=frame["id"], context="watch")
    assert value["result"]
    said = adapter.request(
        "evaluate", expression=">info cuda warps", frameId=frame["id"], context="repl"
    )
    assert said is not None
    memory = adapter.request("readMemory", memoryReference="&counter", count=4)
    assert memory["data"] == "BQAAAA=="
    code = adapter.request(
        "disassemble",
        memoryReference=frame["instructionPointerReference"],
        instructionOffset=-4,
        instructionCount=20,
    )["instructions"]
    assert len(code) == 20
    assert any("CAL" in i["instruction"] for i in code)


def test_interrupt_of_an_endless_kernel(adapter: Adapter, tmp_path: Path) -> None:
    launch(adapter, tmp_path, "endless", [])
    threads = adapter.request("threads")["threads"]
    begin = len(adapter.events)
    adapter.request("pause", threadId=threads[0]["id"] if threads else 1)
    event = adapter.wait("stopped", begin)
    assert event["body"]["reason"] == "SIGINT"
    thread = event["body"]["threadId"]
    frame = top(adapter, thread)
    assert frame["name"] == "endless"
    assert frame["line"] in (3, 5, 6, 7)
    begin = len(adapter.events)
    adapter.request("continue", threadId=thread)
    # A breakpoint set while it runs: the adapter pauses, inserts, goes on.
    adapter.request(
        "setBreakpoints",
        source={"path": str(KERNELS / "endless.cu")},
        breakpoints=[{"line": 6}],
    )
    event = adapter.wait("stopped", begin, lambda e: e["body"]["reason"] == "breakpoint")
    assert top(adapter, event["body"]["threadId"])["line"] == 6
    adapter.request("disconnect")
