"""gpudbg dap: a debug adapter for VS Code, Neovim and others."""

from __future__ import annotations

from gpudbg.arguments import Parser
from gpudbg.frontends.dap.main import on_port, on_streams
from gpudbg.frontends.loopback import port_number
from gpudbg.options import add_verb_options


def main(argv: list[str]) -> int:
    """Run the verb."""
    p = Parser(
        prog="gpudbg dap",
        description="The Debug Adapter Protocol on standard input and output, as editors start it. "
        "docs/editors/vscode has an extension for VS Code and a launch.json.",
    )
    add_verb_options(p, "dap")
    args = p.parse_args(argv)
    if args.port is None:
        return on_streams()
    return on_port(port_number(args.port, "--port"))
