"""What a table of tools is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field

from gpudbg.frontends.mcp.workshop import ToolAnswer

Tool = Callable[..., ToolAnswer]
"""A function whose first argument is the workshop; the others are a call's."""

TOOLS: dict[str, tuple[Tool, bool]] = {}
"""Name -> the function, and whether it changes nothing."""


def tool(name: str, reads: bool = False) -> Callable[[Tool], Tool]:
    """Enter a function as a tool; `reads`: it changes nothing."""

    def enter(function: Tool) -> Tool:
        if name in TOOLS:
            raise ValueError(f"tool {name!r} is there twice")
        TOOLS[name] = (function, reads)
        return function

    return enter


def about(text: str, **limits: Any) -> Any:
    """What a schema says of an argument."""
    return Field(description=text, **limits)


SessionNumber = Annotated[int, about("number of a session, from `launch`", ge=1)]
ProgramNumber = Annotated[int, about("number of a program, from `compile` or `load`", ge=1)]
_Count = Annotated[int, Field(ge=1, le=2**31 - 1)]
Size = Annotated[
    _Count | Annotated[list[_Count], Field(min_length=1, max_length=3)],
    about("a number, or up to three: x, y, z"),
]


def size_text(size: Size) -> str:
    """A size as the command line has it."""
    return str(size) if isinstance(size, int) else ",".join(map(str, size))


Text = Annotated[str, Field(max_length=100_000)]
Expression = Annotated[
    str,
    about(
        "C expression over variables, registers ($R4), special registers (%tid.x), buffers by "
        "name (out[3]), shared memory (shared[0])",
        min_length=1,
        max_length=2000,
    ),
]
Location = Annotated[
    str,
    about(
        "a source line (k.cu:12), a kernel, or an address in it (*0x48)",
        min_length=1,
        max_length=500,
    ),
]
