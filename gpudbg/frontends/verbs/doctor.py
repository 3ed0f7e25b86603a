"""gpudbg doctor: which ways into gpudbg work on this machine, and what the others need."""

from __future__ import annotations

from dataclasses import asdict

from gpudbg.arguments import Parser
from gpudbg.errors import EXIT_CLEAN
from gpudbg.frontends.verbs.common import emit_json
from gpudbg.hosting import diagnoses
from gpudbg.options import add_verb_options


def main(argv: list[str]) -> int:
    """Run the verb; whatever it finds is no failure."""
    p = Parser(
        prog="gpudbg doctor",
        description="What gpudbg needs for host programs and their compilers, and what is here.",
    )
    add_verb_options(p, "doctor")
    args = p.parse_args(argv)
    rows = diagnoses()
    if args.json:
        emit_json([asdict(row) for row in rows])
        return EXIT_CLEAN
    width = max(len(row.name) for row in rows)
    for row in rows:
        print(f"{row.name:{width}}  {'yes' if row.works else 'no ':3}  {row.detail}")
    return EXIT_CLEAN
