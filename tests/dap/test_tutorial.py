"""The tutorial of VS Code, driven by the messages that VS Code sends for what it says to do."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.dap.client import Client
from tests.doc_blocks import ROOT

PAGE = (ROOT / "docs/tutorials/vscode.md").read_text(encoding="utf-8")
EXTENSION = json.loads((ROOT / "docs/editors/vscode/package.json").read_text(encoding="utf-8"))
VSCODE: dict[str, Any] = {
    "clientID": "vscode", "clientName": "Visual Studio Code", "adapterID": "gpudbg",
    "pathFormat": "path", "linesStartAt1": True, "columnsStartAt1": True,
    "supportsVariableType": True, "supportsVariablePaging": True,
    "supportsRunInTerminalRequest": True, "locale": "en", "supportsProgressReporting": True,
    "supportsInvalidatedEvent": True, "supportsMemoryReferences": True,
    "supportsArgsCanBeInterpretedByShell": True, "supportsMemoryEvent": True,
    "supportsStartDebuggingRequest": True,
}  # fmt: skip
"""What it says of itself."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder that the reader opens."""
    for file in (ROOT / "sessions/out_of_bounds").iterdir():
        shutil.copy(file, tmp_path)
    return tmp_path


def configuration(folder: Path) -> dict[str, Any]:
    """The page's launch.json, as VS Code hands it to the adapter: variables filled in."""
    block = re.search(r"<!-- file: launch.json -->\n```json\n(.*?)```", PAGE, re.DOTALL)
    assert block is not None
    text = block[1].replace("${workspaceFolder}", str(folder))
    found: dict[str, Any] = json.loads(text)["configurations"][0]
    return found | {"__sessionId": "3f1c", "__configurationTarget": 6}


def test_the_extension_knows_what_the_page_writes(folder: Path) -> None:
    (debugger,) = EXTENSION["contributes"]["debuggers"]
    known = set(debugger["configurationAttributes"]["launch"]["properties"])
    given = {key for key in configuration(folder) if not key.startswith("__")}
    assert given - {"type", "request", "name"} <= known
    assert debugger["type"] == configuration(folder)["type"]


def test_from_f5_to_the_culprit_and_back(folder: Path) -> None:
    source = {"name": "out_of_bounds.cu", "path": str(folder / "out_of_bounds.cu")}
    with Client(**{k: v for k, v in VSCODE.items() if k != "adapterID"}) as client:
        # F5, with a breakpoint in line 7.
        client.send("launch", **configuration(folder))
        client.event("initialized")
        asked = {"lines": [7], "breakpoints": [{"line": 7}], "sourceModified": False}
        found = client.ask("setBreakpoints", source=source, **asked)
        assert [(row["verified"], row["line"]) for row in found["breakpoints"]] == [(True, 7)]
        client.ask("setFunctionBreakpoints", breakpoints=[])
        client.ask("setExceptionBreakpoints", filters=[])
        client.ask("configurationDone")
        stop = client.event("stopped")
        thread = stop["threadId"]
        assert stop["reason"] == "breakpoint"
        assert client.ask("threads")["threads"]
        frames = client.ask("stackTrace", threadId=thread, startFrame=0, levels=20)["stackFrames"]
        assert (frames[0]["line"], frames[0]["source"]["path"]) == (7, source["path"])
        names = [s["name"] for s in client.ask("scopes", frameId=frames[0]["id"])["scopes"]]
        assert {"Registers", "Lanes", "Shared memory"} <= set(names), names
        register = client.scope("Registers", frames[0]["id"])["R2"]
        lanes = client.children(register["variablesReference"])["32 lanes"]
        assert len(client.children(lanes["variablesReference"])) == 32
        # F5 again: an exception in line 8, in the guilty thread.
        client.ask("continue", threadId=thread)
        stop = client.event("stopped")
        assert stop["reason"] == "exception"
        info = client.ask("exceptionInfo", threadId=stop["threadId"])
        assert "MMU_FAULT" in info["description"]
        frames = client.frames(stop["threadId"])
        assert frames[0]["line"] == 8
        said = client.ask(
            "evaluate", context="repl", frameId=frames[0]["id"],
            expression="print blockIdx.x * blockDim.x + threadIdx.x",
        )["result"]  # fmt: skip
        assert said.endswith("= 249")
        # The arrows back.
        client.ask("stepBack", threadId=stop["threadId"])
        assert client.event("stopped")["reason"] == "step"
        assert client.frames(stop["threadId"])[0]["line"] < 8
        client.ask("disconnect", terminateDebuggee=True)
