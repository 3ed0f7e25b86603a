"""gpudbg info: what a program contains; gpudbg info isa: what the model covers."""

from __future__ import annotations

from gpudbg.arguments import Parser
from gpudbg.errors import EXIT_CLEAN, UsageError
from gpudbg.frontends.verbs.common import emit, emit_json
from gpudbg.toolchain import add_compile_flags, flag_options


def main(argv: list[str]) -> int:
    """Run the verb."""
    p = Parser(
        prog="gpudbg info",
        description="What a program contains: kernels, registers, parameters, memory, lines.",
    )
    p.add_argument(
        "program",
        help="a program; or `isa` (what the model covers), `schema` (of --json), `policy` (what it "
        "assumes), `engine`, `special` (registers), `nsight` (the path of a cuda-gdb)",
    )
    p.add_argument("words", nargs="*", help="of policy and special: what to look for")
    p.add_argument("--kernel", "-k", metavar="NAME", help="only this kernel")
    p.add_argument(
        "--launch",
        action="store_true",
        help="print a launch table to start from (gpudbg info PROG --launch > PROG.toml)",
    )
    p.add_argument("--json", action="store_true")
    p.add_argument("--arch", default=None, help="of a source file; with `isa`: one architecture")
    add_compile_flags(p)
    args = p.parse_args(argv)
    if args.program == "isa":
        from gpudbg.reference import isa_answer

        emit(isa_answer(args.arch), args.json)
        return EXIT_CLEAN
    if args.program == "schema":
        from gpudbg.debug.views import schema

        emit_json(schema())
        return EXIT_CLEAN
    from gpudbg.frontends.verbs.info_topics import TOPICS, show_topic

    if args.program in TOPICS:
        return show_topic(args.program, args.words, args.json)
    if args.words:
        raise UsageError(f"info takes one program, not {args.words[0]!r} beside it")
    from gpudbg.listing import contents_answer, launch_template

    options = flag_options(args)
    if args.launch:
        lines = launch_template(args.program, args.arch, options, args.kernel)
        print("\n".join(lines))
    else:
        emit(contents_answer(args.program, args.arch, options, args.kernel), args.json)
    return EXIT_CLEAN
