"""pygdbmi's GdbController through a whole session: what Python tools see of gpudbg."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from pygdbmi.gdbcontroller import GdbController

from tests.mi.client import KERNELS, command

Response = dict[str, Any]


class Controller:
    """A GdbController whose answers are waited for, not only collected."""

    def __init__(self, program: str) -> None:
        self.gdb = GdbController(command("--nx", "--quiet", "--interpreter=mi3", program))
        self.seen: list[Response] = []
        self.wait(lambda r: r["message"] == "thread-group-added")

    def wait(self, fits: Any, seconds: float = 30.0) -> Response:
        """The first response that fits, of those that come from now on."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for response in self.gdb.get_gdb_response(0.2, raise_error_on_timeout=False):
                self.seen.append(response)
            while self.seen:
                response = self.seen.pop(0)
                if fits(response):
                    return response
        raise AssertionError("no such response")

    def ask(self, line: str) -> Any:
        """A command's payload."""
        self.gdb.write(line, read_response=False)
        found = self.wait(lambda r: r["type"] == "result")
        assert found["message"] in ("done", "running"), (line, found)
        return found["payload"]

    def go(self, line: str) -> Any:
        """A command that runs; the payload of the stop."""
        self.ask(line)
        return self.wait(lambda r: r["message"] == "stopped")["payload"]


@pytest.fixture
def walk() -> Iterator[Controller]:
    """walk.cubin under a controller."""
    made = Controller(str(KERNELS / "walk.cubin"))
    yield made
    made.gdb.exit()


def test_whole_session(walk: Controller) -> None:
    assert "thread-info" in walk.ask("-list-features")["features"]
    assert walk.ask("-break-insert walk.cu:25")["bkpt"]["line"] == "25"
    stop = walk.go("-exec-run")
    assert (stop["reason"], stop["frame"]["line"]) == ("breakpoint-hit", "25")
    assert [t["id"] for t in walk.ask("-thread-info")["threads"]] == ["1", "2", "3", "4"]
    assert walk.ask("-stack-list-frames")["stack"][0]["func"] == "walk"
    assert walk.ask("-var-create - * $R1")["type"] == "unsigned int"
    stop = walk.go("-exec-next")
    assert stop["reason"] == "end-stepping-range"
    assert walk.ask("-var-update --all-values *") == {"changelist": []}
    names = walk.ask("-data-list-register-names")["register-names"]
    values = walk.ask("-data-list-register-values x")["register-values"]
    assert len(values) == len(names)
    memory = walk.ask("-data-read-memory-bytes &counter 4")["memory"][0]
    assert memory["contents"] == "05000000"
    asm = walk.ask('-data-disassemble -s $pc -e "$pc + 64" -- 5')["asm_insns"]
    assert asm[0]["line_asm_insn"]
    assert not any("lanes" in row for place in asm for row in place["line_asm_insn"])
    # Its printf is called by an indirect jump, and leaves registers alone.
    asm = walk.ask("-data-disassemble --lanes -a walk -- 0")["asm_insns"]
    assert any("uniform" in row.get("lanes", "") for row in asm)
    assert walk.ask("-break-list")["BreakpointTable"]["body"][0]["times"] == "4"
    walk.ask("-break-delete")
    walk.ask("-break-insert -t digits")
    assert walk.go("-exec-continue")["frame"]["func"] == "digits"
    assert walk.go("-exec-finish")["reason"] == "function-finished"
    walk.gdb.write("-exec-continue", read_response=False)
    printed = walk.wait(lambda r: r["type"] == "target")
    assert "thread 1 has" in printed["payload"]
    assert walk.wait(lambda r: r["message"] == "stopped")["payload"]["reason"] == "exited-normally"


@pytest.mark.full(instead="test_whole_session")
def test_lanes_of_disassembly() -> None:
    made = Controller(str(KERNELS / "stores.cubin"))
    try:
        made.ask("-break-insert -t stores")
        made.go("-exec-run")
        for mode in "05":
            asm = made.ask(f"-data-disassemble --lanes -a $pc -- {mode}")["asm_insns"]
            rows = asm if mode == "0" else [row for at in asm for row in at["line_asm_insn"]]
            said = {row["inst"]: row["lanes"] for row in rows if "lanes" in row}
            assert said["S2R R0, SR_TID.X"] == "R0 base + lane"
            assert len(said) < len(rows)
    finally:
        made.gdb.exit()


def test_backwards(walk: Controller) -> None:
    """Reverse commands end where the recorded states were."""
    walk.ask("-break-insert walk.cu:25")
    first = walk.go("-exec-run")
    assert "reverse" in walk.ask("-list-target-features")["features"]
    pcs = [walk.go("-exec-step-instruction")["frame"]["addr"] for _ in range(3)]
    back = [walk.go("-exec-step-instruction --reverse")["frame"]["addr"] for _ in range(3)]
    assert back == [*pcs[1::-1], first["frame"]["addr"]]
    walk.go("-exec-next")
    assert walk.go("-exec-next --reverse")["frame"]["addr"] == first["frame"]["addr"]
    stop = walk.go("-exec-continue --reverse")
    assert stop["reason"] in ("no-history", "breakpoint-hit")
    assert walk.go("-exec-continue")["frame"]["line"] == "25"


def test_what_has_ended_goes_back(walk: Controller) -> None:
    """As what is stopped does; gdb's words where there is no call to go back to."""
    walk.gdb.write("-exec-step --reverse", read_response=False)
    refused = walk.wait(lambda r: r["type"] == "result")
    assert refused["payload"]["msg"] == "The program is not being run."
    assert walk.go("-exec-run")["reason"] == "exited-normally"
    stop = walk.go("-exec-step-instruction --reverse")
    assert (stop["reason"], stop["frame"]["func"]) == ("end-stepping-range", "walk")
    assert len(walk.ask("-thread-info")["threads"]) == 1
    walk.gdb.write("-exec-finish --reverse", read_response=False)
    refused = walk.wait(lambda r: r["type"] == "result")
    assert refused["payload"]["msg"] == '"finish" not meaningful in the outermost frame.'
    assert walk.go("-exec-step-instruction")["reason"] == "exited-normally"
    assert walk.go('-interpreter-exec console "goto 20"')["frame"]["func"] == "twice"
