"""gpudbg cache: what is kept of compiled kernels, and taking it away."""

from __future__ import annotations

from gpudbg.errors import EXIT_CLEAN
from gpudbg.frontends.verbs.common import Parser, emit_json
from gpudbg.sm.engines.llvm import cache


def main(argv: list[str]) -> int:
    """Run the verb."""
    p = Parser(
        prog="gpudbg cache",
        description="The cache of compiled kernels: where it is, how large, and clearing it. "
        f"{cache.FOLDER}=FOLDER moves it, {cache.FOLDER}=off does without it, "
        f"{cache.SIZE}=N bounds it (megabytes, {cache.DEFAULT_MB} unless set).",
    )
    p.add_argument("action", nargs="?", choices=("show", "clear"), default="show")
    p.add_argument("--json", action="store_true")
    args = p.parse_args(argv)
    found = cache.clear() if args.action == "clear" else cache.contents()
    if args.json:
        emit_json(
            {
                "folder": None if found.folder is None else str(found.folder),
                "files": found.files,
                "bytes": found.nbytes,
                "limit": found.limit,
                "cleared": args.action == "clear",
            }
        )
        return EXIT_CLEAN
    if found.folder is None:
        print(f"nothing is kept: {cache.FOLDER} or {cache.NO_CACHE} is set")
        return EXIT_CLEAN
    kept = f"{found.files:,} file{'s' * (found.files != 1)}, {found.nbytes / (1 << 20):.1f} MB"
    if args.action == "clear":
        print(f"{found.folder}: {kept} removed")
    else:
        print(f"{found.folder}: {kept} of {found.limit >> 20:,} MB at most")
    return EXIT_CLEAN
