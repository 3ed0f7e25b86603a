"""`gpudbg mcp` asked by the client of the `mcp` package over a real pipe; hostile calls, too."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gpudbg.errors import UsageError
from gpudbg.frontends.mcp import landlock
from gpudbg.frontends.mcp.limits import CallLimits
from gpudbg.frontends.mcp.process import CallError, ToolProcess
from gpudbg.frontends.mcp.sandbox import Sandbox
from gpudbg.frontends.mcp.shortening import Answers

if TYPE_CHECKING:
    from mcp import ClientSession

ROOT = Path(__file__).resolve().parents[2]
SESSIONS = ROOT / "sessions"
SCALE = """
.kernel scale
.param x 8
.param n 4
S2R R0, SR_TID.X
MOV32I R4, 0x4
IMAD.U32.U32 R2, R0, R4, c[0x0][x]
MOV R3, c[0x0][x+4]
LDG.E R5, [R2]
IADD R5, R5, R5
STG.E [R2], R5
EXIT
"""

Call = Callable[..., Awaitable[Any]]


def talk(folder: Path, what: Callable[[Call, ClientSession], Awaitable[None]], *flags: str) -> None:
    """Start a server for a folder and have a client talk to it."""
    # Imported here: every process that runs tests would pay for it, and one needs it.
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    async def session() -> None:
        words = ["-P", "-m", "gpudbg", "mcp", str(folder), *flags]
        server = StdioServerParameters(
            command=sys.executable, args=words, env={**os.environ}, cwd=folder
        )
        async with stdio_client(server) as pipes, ClientSession(*pipes) as client:
            await client.initialize()

            async def call(tool: str, **arguments: Any) -> Any:
                return await client.call_tool(tool, arguments)

            await what(call, client)

    asyncio.run(asyncio.wait_for(session(), 120))


def text(result: Any) -> str:
    assert not result.is_error, result.content[0].text
    assert result.structured_content["text"] == result.content[0].text
    return str(result.content[0].text)


def told(result: Any, key: str) -> Any:
    """A field of an answer."""
    assert not result.is_error, result.content[0].text
    return result.structured_content[key]


def refusal(result: Any) -> str:
    assert result.is_error, result.content[0].text
    said = str(result.content[0].text)
    assert "Traceback" not in said
    assert "internal error" not in said
    return said


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "folder"
    place.mkdir()
    for name in ("out_of_bounds", "first_steps"):
        for suffix in (".cubin", ".toml", ".cu"):
            shutil.copy(SESSIONS / name / f"{name}{suffix}", place)
    np.save(place / "x.npy", np.arange(32, dtype=np.int32))
    (place / "scale.sass").write_text(SCALE)
    (tmp_path / "secret.txt").write_text("not for them")
    (place / "link").symlink_to(tmp_path / "secret.txt")
    (place / "linked").symlink_to(tmp_path)
    return place


async def use(call: Call, client: ClientSession, folder: Path) -> None:
    """What a person has as tools."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    wanted = "compile load launch run stop_card step print disassemble check back more"
    assert set(wanted.split()) <= set(tools)
    for tool in tools.values():
        assert tool.description
        assert tool.input_schema["type"] == "object"
        assert tool.output_schema is not None
    assert tools["launch"].input_schema["properties"]["program"]["type"] == "integer"

    # A program with a launch table: it faults, and the launch goes back from there.
    assert "smooth(" in text(await call("load", file="out_of_bounds.cubin"))
    launched = await call("launch", program=1)
    assert told(launched, "stop") == "entry"
    fault = await call("run", session=1)
    assert told(fault, "stop") == "fault"
    assert "nearest" in text(fault)
    assert text(await call("stop_card", session=1)) == text(fault)
    assert "tick" in text(await call("back", session=1, to="instruction"))
    assert told(await call("back", session=1, to="begin"), "stop") != "fault"
    assert "out_of_bounds.cu:" in text(await call("check", program=1))
    listing = await call("disassemble", program=1)
    assert "code for sm_50" in text(listing)
    assert "// out_of_bounds.cu:5" in text(listing)

    # Arrays from a file and by rule, in code that a call passes.
    made = await call("compile", source=SCALE, language="sass")
    number = told(made, "program")
    launched = await call("launch", program=number, args=["x=@x.npy", "i32:32"], outputs=["x[0:4]"])
    session = told(launched, "session")
    assert "5" in text(await call("print", session=session, expression="x[5]"))
    assert "scale+" in text(await call("step", session=session, unit="instruction"))
    at = await call("breakpoint", session=session, watch="x[5]")
    assert "atchpoint" in text(at)
    hit = await call("run", session=session)
    assert told(hit, "stop") == "watchpoint"
    wrote = await call("who_wrote", session=session, expression="x[5]")
    assert "store" in text(wrote)
    ended = await call("run", session=session)
    assert told(ended, "stop") == "exit"
    assert "0 2 4 6" in text(ended)
    by_rule = await call(
        "launch", program=number, args=["x=i32[32]:arange(start=7,step=0)", "i32:32"]
    )
    ended = await call("run", session=told(by_rule, "session"))
    assert "14 14" in text(ended)

    # Long answers are cut, and the rest is there.
    long = await call("disassemble", program=1, control="fields")
    assert len(text(long)) < 1000
    assert "more lines" in text(long)
    again = await call("more", answer=told(long, "more"), line=1)
    assert text(again) == text(long)
    state = text(await call("state"))
    assert str(folder) in state
    assert "session 1" in state
    assert "closed" in text(await call("close", program=1))
    assert "session 1" not in text(await call("state"))


async def attack(call: Call, tmp_path: Path) -> None:
    """Names outside of the folder, wrong arguments, commands that reach out of the sandbox."""
    for name in ("/etc/passwd", "../secret.txt", "link", "linked/secret.txt", "", "a\0b", "~"):
        refusal(await call("load", file=name))
    source = f'#include "{tmp_path}/secret.txt"\n__global__ void k() {{}}'
    assert "not for them" not in refusal(await call("compile", source=source))
    refusal(await call("compile", source="int x;", include_dirs=["/etc"]))
    refusal(await call("compile"))
    number = told(await call("load", file="scale.sass"), "program")
    for argument in ("x=@../secret.txt", "x=@link", "x=u8[4]:@linked/secret.txt"):
        refusal(await call("launch", program=number, args=[argument, "i32:1"]))
    huge = await call("launch", program=number, args=["x=f32[300000000]:zeros", "i32:1"])
    assert "bytes" in refusal(huge)
    for size in (0, [0], [1, 1, 1, 1]):
        refusal(await call("launch", program=number, grid=size, args=["x=i32[32]", "i32:1"]))
    refusal(await call("launch", program=99))
    refusal(await call("launch", program="one"))
    refusal(await call("launch", program=number, args=["--allow-shell"]))
    refusal(await call("no_such_tool"))

    launched = await call("launch", program=number, args=["x=i32[32]:zeros", "i32:1"])
    session = told(launched, "session")
    for line in (
        "shell id", "!id", "pipe info warps | id", "python print(1)", "make", "source x.gdb",
        f"source {tmp_path}/secret.txt", f"list {tmp_path}/secret.txt:1",
        f"dump value {tmp_path}/out.bin x[0]", f"restore {tmp_path}/secret.txt binary x",
        f"record save {tmp_path}/out.gpurec", f"save launch {tmp_path}/out.toml", "quit",
        f"trap handler {tmp_path}/secret.txt", "cd /",
        f"run --arg x=@{tmp_path}/secret.txt",
    ):  # fmt: skip
        result = await call("command", session=session, line=line)
        assert "not for them" not in result.content[0].text
        refusal(result)
    refusal(await call("command", session=session, line="info warps\nshell id"))
    refusal(await call("print", session=session, expression="x[0]\nshell id"))
    refusal(await call("set", session=session, target="$x = 1", value="2"))
    refusal(await call("step", session=session, count=10**9))
    refusal(await call("step", session=session, count=-1))
    refusal(await call("step", session=[], count="many"))
    refusal(await call("more", answer=77))
    assert not list(tmp_path.glob("out.*"))
    assert "session" in text(await call("state"))


def test_tools_and_hostile_calls(folder: Path, tmp_path: Path) -> None:
    """Of one server: to start one takes longer than all that it is asked."""

    async def both(call: Call, client: ClientSession) -> None:
        await use(call, client, folder)
        await attack(call, tmp_path)

    talk(folder, both, "--answer-chars", "800", "--memory-mb", "2048")


def test_endless_kernels_and_endless_calls_end(folder: Path) -> None:
    (folder / "endless.sass").write_text(
        ".kernel endless\n.param x 8\nL:\nMOV R2, c[0x0][x]\nMOV R3, c[0x0][x+4]\n"
        "LDG.E.CV R0, [R2]\nISETP.EQ.AND P0, PT, R0, RZ, PT\n@P0 BRA `(L)\nEXIT\n"
    )

    worker = ToolProcess(str(folder), CallLimits(seconds=1))
    try:
        worker.ask("load", {"file": "endless.sass"})
        launch = {"program": 1, "grid": 4, "args": ["x=i32[1]:zeros"]}
        assert worker.ask("launch", launch)["session"] == 1
        limited = worker.ask("run", {"session": 1, "max_instructions": 200})
        assert limited["stop"] in ("limit", "deadlock")
        stopped = worker.ask("run", {"session": 1})
        assert stopped["stop"] in ("interrupt", "limit", "deadlock")
    finally:
        worker.close()


def test_a_worker_that_dies_is_replaced(folder: Path) -> None:
    worker = ToolProcess(str(folder), CallLimits())
    try:
        assert worker.ask("load", {"file": "scale.sass"})["program"] == 1
        worker._kill()
        with pytest.raises(CallError, match="open them again"):
            worker.ask("state", {})
        assert worker.ask("load", {"file": "scale.sass"})["program"] == 1
    finally:
        worker.close()


def test_names_stay_in_the_folder(folder: Path, tmp_path: Path) -> None:
    box = Sandbox(str(folder), str(tmp_path / "scratch"))
    assert box.path("sub/../scale.sass") == os.path.realpath(folder / "scale.sass")
    for name in ("..", "../folder2", "link", "linked/x", "/", str(tmp_path)):
        with pytest.raises(UsageError, match="outside"):
            box.path(name)


def test_the_rest_of_an_answer() -> None:
    answers = Answers(20)
    assert answers.shown("short") == ("short", None)
    shown, number = answers.shown("\n".join(f"line {n}" for n in range(10)) + "\n" + "x" * 50)
    assert number == 1
    rest, lines = shown, list[str]()
    while True:
        *part, last = rest.split("\n")
        if not last.startswith("…"):
            lines += [*part, last]
            break
        lines += part
        rest = answers.more(1, int(last.rsplit("=", 1)[1].rstrip(")")))
    assert lines[:10] == [f"line {n}" for n in range(10)]
    assert "".join(lines[10:]) == "x" * 50
    with pytest.raises(UsageError, match="not kept"):
        answers.more(2, 1)


def test_the_kernel_confines() -> None:
    if not landlock.version():
        pytest.skip("this system's kernel has no Landlock")
    child = os.fork()
    if not child:
        done = landlock.confine(["/usr"], ["/dev/null"])
        try:
            open("/etc/passwd").close()
            os._exit(1)
        except OSError:
            os._exit(0 if done else 2)
    assert os.waitpid(child, 0)[1] == 0
