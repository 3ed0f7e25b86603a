"""gpudbg repl PROG: a Python prompt on a session, with the debugger's commands beside Python."""

from __future__ import annotations

from gpudbg.api import add_launch_flags, open_session
from gpudbg.arguments import Parser
from gpudbg.options import add_verb_options


def main(argv: list[str]) -> int:
    """Run the verb."""
    p = Parser(
        prog="gpudbg repl",
        description="A Python prompt with dbg (the session), program, device and np in scope. "
        "Uses IPython where it is installed.",
    )
    add_launch_flags(p)
    add_verb_options(p, "repl")
    args = p.parse_args(argv)
    session = open_session(args.program, args, may_wait=True)
    from gpudbg.frontends.repl.app import run_repl

    return run_repl(session, plain=args.plain, rc=not args.no_rc, trust=args.trust)
