"""gpudbg cache: what is kept of compiled kernels, and taking it away."""

from __future__ import annotations

from gpudbg.api import cache_answer, cache_words
from gpudbg.arguments import Parser
from gpudbg.errors import EXIT_CLEAN
from gpudbg.frontends.verbs.common import emit
from gpudbg.options import add_verb_options


def main(argv: list[str]) -> int:
    """Run the verb."""
    p = Parser(
        prog="gpudbg cache",
        description="The cache of compiled kernels: where it is, how large, and clearing it. "
        + cache_words(),
    )
    add_verb_options(p, "cache")
    args = p.parse_args(argv)
    emit(cache_answer(args.action == "clear"), args.json)
    return EXIT_CLEAN
