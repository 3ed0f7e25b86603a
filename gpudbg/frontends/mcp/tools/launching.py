"""Tools for launches: begin one, list what is open, let go of it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gpudbg.api import launch_parser, open_session, start
from gpudbg.errors import UsageError
from gpudbg.frontends.mcp.tools.table import ProgramNumber, Size, about, size_text, tool
from gpudbg.frontends.mcp.workshop import OpenProgram, ToolAnswer, Workshop
from gpudbg.launch import Opening

Arguments = Annotated[
    list[Annotated[str, Field(max_length=100_000)]],
    about(
        "one text an argument, all in order, or NAME=VALUE for those that differ from the launch "
        "table. Numbers: i32:1000, f32:2.5, u64:7. Arrays by rule: x=f32[1000]:lcg_real(seed=1,"
        "lo=0,hi=1), i=i32[64]:arange(start=0,step=1), z=f32[64]:zeros, v=f32[4]:1,2,3,4. Arrays "
        "from files of the folder: y=@y.npy, b=u8[64]:@raw.bin",
        max_length=1024,
    ),
]


@tool("launch")
def launch(
    workshop: Workshop,
    program: ProgramNumber,
    kernel: Annotated[str | None, about("its name; needed where there are several")] = None,
    grid: Annotated[Size | None, about("blocks; default: the launch table's, else 1")] = None,
    block: Annotated[Size | None, about("threads of a block; default 32")] = None,
    args: Annotated[Arguments | None, about("the kernel's arguments")] = None,
    shared_bytes: Annotated[int, about("dynamic shared memory", ge=0, le=1 << 20)] = 0,
    cluster: Annotated[Size | None, about("blocks of a cluster (sm_90 and later)")] = None,
    symbols: Annotated[
        list[str] | None, about("values of __device__ and __constant__ variables, NAME=f32[4]:…")
    ] = None,
    outputs: Annotated[
        list[str] | None, about("buffers shown at the end, such as out[0:8]")
    ] = None,
    seed: Annotated[int, about("schedule: 0 is round robin", ge=0, le=2**62)] = 0,
    engine: Annotated[
        Literal["auto", "step", "run"], about("instruction by instruction, or compiled")
    ] = "auto",
) -> ToolAnswer:
    """Launch a kernel; answers with a session number. It stands before the first instruction:
    set breakpoints, then `run`."""
    opened = workshop.program(program)
    workshop.require_room()
    words = [*opened.flags, "--engine", engine, *(["--seed", str(seed)] if seed else [])]
    for flag, size in (("--grid", grid), ("--block", block), ("--cluster", cluster)):
        words += [flag, size_text(size)] if size else []
    words += ["--kernel", kernel] if kernel else []
    words += ["--shared", str(shared_bytes)] if shared_bytes else []
    for flag, texts in (("--arg", args), ("--symbol", symbols), ("--output", outputs)):
        words += [f"{flag}={text}" for text in texts or ()]
    parsed = launch_parser().parse_args(words)
    if opened.program is None:
        session = open_session(opened.path, parsed)
    else:
        opening = Opening(opened.path, parsed)
        require_small(workshop, opening, opened)
        session = start(opened.program, opening.table(opened.program), engine)
        session.opening = opening
    number = workshop.add_session(session, program)
    assert session.stop is not None
    note = workshop.command(number, "info launch")
    return workshop.stop_answer(number, session.stop, note=f"session {number}\n{note}")


def require_small(workshop: Workshop, opening: Opening, opened: OpenProgram) -> None:
    """Refuse buffers that the memory limit has no room for, before any is made."""
    table = opening.table(opened.program)
    wanted = table.buffer_bytes
    if wanted > workshop.limits.memory_mb << 19:
        raise UsageError(
            f"the launch's buffers take {wanted:,} bytes",
            f"at most {workshop.limits.memory_mb << 19:,}, half of --memory-mb",
        )


@tool("state", reads=True)
def state(workshop: Workshop) -> ToolAnswer:
    """Which programs and sessions are open, the folder, and the limits of this server."""
    limits = workshop.limits
    lines = [f"folder {workshop.sandbox.folder}"]
    lines += [f"program {n}: {p.name}" for n, p in workshop.programs.items()]
    lines += [
        f"session {n}: program {program}, {session.stop.message if session.stop else 'running'}"
        for n, (session, program) in workshop.sessions.items()
    ]
    lines.append(
        f"a call takes at most {limits.instructions:,} warp instructions, {limits.seconds} s; the "
        f"server {limits.memory_mb:,} MB; an answer {limits.answer_chars:,} characters"
    )
    lines.append(
        "files outside of the folder are closed by the system's kernel"
        if workshop.held
        else "this system's kernel cannot close files to a program: names are checked, and what "
        "Python opens; compilers are not held back"
    )
    return workshop.answer("\n".join(lines))


@tool("close")
def close(
    workshop: Workshop,
    session: Annotated[int | None, about("a session to let go of", ge=1)] = None,
    program: Annotated[int | None, about("a program, with its sessions", ge=1)] = None,
) -> ToolAnswer:
    """Let go of a session, or of a program with its sessions, and of their memory."""
    if (session is None) == (program is None):
        raise UsageError("one of `session` and `program` is needed")
    if session is not None:
        workshop.close_session(session)
        return workshop.answer(f"session {session} is closed")
    assert program is not None
    workshop.program(program)
    own = [n for n, (_, of) in workshop.sessions.items() if of == program]
    for number in own:
        workshop.close_session(number)
    del workshop.programs[program]
    return workshop.answer(f"program {program} is closed" + (f", sessions {own}" if own else ""))


@tool("more", reads=True)
def more(
    workshop: Workshop,
    answer: Annotated[int, about("the number in `more` of an earlier answer", ge=1)],
    line: Annotated[int, about("the first line to show", ge=1)] = 1,
) -> ToolAnswer:
    """The rest of an answer that was cut short."""
    return ToolAnswer(
        text=workshop.answers.more(answer, line),
        more=answer, session=None, program=None, stop=None,
    )  # fmt: skip
