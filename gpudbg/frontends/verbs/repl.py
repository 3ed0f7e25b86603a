"""gpudbg repl PROG: a Python prompt on a session, with the debugger's commands beside Python."""

from __future__ import annotations

from gpudbg.api import add_launch_flags, open_session
from gpudbg.arguments import Parser


def main(argv: list[str]) -> int:
    """Run the verb."""
    p = Parser(
        prog="gpudbg repl",
        description="A Python prompt with dbg (the session), program, device and np in scope. "
        "Uses IPython where it is installed.",
    )
    p.add_argument("program", help="a cubin, a .cu or .ptx file, or any other program")
    add_launch_flags(p)
    p.add_argument("--plain", action="store_true", help="the built-in prompt, not IPython")
    p.add_argument("--no-rc", action="store_true", help="no .gpudbgrc files")
    p.add_argument("--trust", action="store_true", help="trust ./.gpudbgrc as it is now")
    args = p.parse_args(argv)
    session = open_session(args.program, args, may_wait=True)
    from gpudbg.frontends.repl.app import run_repl

    return run_repl(session, plain=args.plain, rc=not args.no_rc, trust=args.trust)
