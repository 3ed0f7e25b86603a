"""The protocol's side: tools with their schemas, each call passed on to the worker."""

from __future__ import annotations

import inspect
from typing import Annotated, Any, get_type_hints

import anyio
from mcp.server import MCPServer
from mcp_types import CallToolResult, TextContent, ToolAnnotations

from gpudbg import __version__
from gpudbg.errors import GpudbgError
from gpudbg.frontends.mcp.limits import CallLimits
from gpudbg.frontends.mcp.process import ToolProcess
from gpudbg.frontends.mcp.tools import families
from gpudbg.frontends.mcp.tools.table import Tool
from gpudbg.frontends.mcp.workshop import ToolAnswer

INSTRUCTIONS = """\
gpudbg runs NVIDIA GPU kernels on an emulated GPU and debugs them; no GPU is needed. `compile` or \
`load` a program of the folder, `launch` a kernel with arrays by rule (x=f32[64]:arange(start=0,\
step=1)) or file (y=@y.npy), set `breakpoint`s, `run`, `step`, `print`, `show`; go `back` after a \
fault; ask `who_wrote` a value. `check` finds races and bad accesses. Answers are short: `more` \
has the rest."""


def serve(folder: str, limits: CallLimits) -> None:
    """Serve a client on standard input and output until it goes."""
    worker = ToolProcess(folder, limits)
    server = MCPServer("gpudbg", instructions=INSTRUCTIONS, version=__version__, log_level="ERROR")
    for name, (function, reads) in families.TOOLS.items():
        server.add_tool(
            passed_on(name, function, worker),
            name=name,
            description=" ".join((function.__doc__ or "").split()),
            annotations=ToolAnnotations(
                read_only_hint=reads, destructive_hint=False, open_world_hint=False
            ),
        )
    try:
        server.run("stdio")
    finally:
        worker.close()


def passed_on(name: str, function: Tool, worker: ToolProcess) -> Any:
    """A tool with a function's signature whose calls the worker carries out."""

    async def call(**arguments: Any) -> CallToolResult:
        given = {key: value for key, value in arguments.items() if value is not None}
        try:
            answer = await anyio.to_thread.run_sync(worker.ask, name, given)
        except GpudbgError as error:
            return CallToolResult(
                content=[TextContent(type="text", text=str(error))], is_error=True
            )
        return CallToolResult(
            content=[TextContent(type="text", text=answer["text"])], structured_content=answer
        )

    types = get_type_hints(function, include_extras=True)
    rows = list(inspect.signature(function).parameters.values())[1:]
    answer = Annotated[CallToolResult, ToolAnswer]
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [row.replace(annotation=types[row.name], kind=row.KEYWORD_ONLY) for row in rows],
        return_annotation=answer,
    )
    call.__annotations__ = {row.name: types[row.name] for row in rows} | {"return": answer}
    call.__name__ = name
    return call
