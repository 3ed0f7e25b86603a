"""gpudbg mcp: the debugger as tools for assistants (Model Context Protocol, stdio)."""

from __future__ import annotations

import os

from gpudbg.arguments import Parser
from gpudbg.errors import EXIT_CLEAN, UsageError
from gpudbg.options import add_verb_options

INSTALL = "pip install 'gpudbg[mcp]' brings it"


def main(argv: list[str]) -> int:
    """Run the verb."""
    p = Parser(
        prog="gpudbg mcp",
        description="Serve the debugger to an assistant on standard input and output, by the "
        "Model Context Protocol. Calls read and write FOLDER and nothing else of yours.",
    )
    add_verb_options(p, "mcp")
    args = p.parse_args(argv)
    if not os.path.isdir(args.folder):
        raise UsageError(f"{args.folder}: no such folder")
    from gpudbg.frontends.mcp.limits import CallLimits

    limits = CallLimits(
        instructions=args.max_instructions,
        seconds=args.timeout,
        memory_mb=args.memory_mb,
        answer_chars=args.answer_chars,
    )
    try:
        from gpudbg.frontends.mcp.server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "pydantic", "anyio"):
            raise
        raise UsageError(f"the package {error.name} is not installed", INSTALL) from None
    serve(args.folder, limits)
    return EXIT_CLEAN
