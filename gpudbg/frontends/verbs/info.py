"""gpudbg info: what a program contains; gpudbg info isa: what the model covers."""

from __future__ import annotations

from gpudbg.arguments import Parser
from gpudbg.errors import EXIT_CLEAN, UsageError
from gpudbg.frontends.verbs.common import emit, emit_json
from gpudbg.options import add_compiler_options, add_verb_options
from gpudbg.toolchain import flag_options


def main(argv: list[str]) -> int:
    """Run the verb."""
    p = Parser(
        prog="gpudbg info",
        description="What a program contains: kernels, registers, parameters, memory, lines.",
    )
    add_verb_options(p, "info")
    add_compiler_options(p)
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
