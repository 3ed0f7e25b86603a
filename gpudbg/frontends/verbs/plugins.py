"""gpudbg plugins: what is installed, what each adds, and what is broken."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import lru_cache

from gpudbg.answers import Listing
from gpudbg.arguments import Parser
from gpudbg.errors import EXIT_CLEAN, EXIT_GAP
from gpudbg.frontends.verbs.common import emit, exit_code
from gpudbg.options import add_verb_options
from gpudbg.plugin import PATH_VARIABLE, PluginInfo, Registry, discover


def registry(paths: tuple[str, ...] = ()) -> Registry:
    """The plugins found, with warnings on standard error, once."""
    return _registry(paths, os.environ.get(PATH_VARIABLE, ""), os.getcwd())


@lru_cache(maxsize=4)
def _registry(paths: tuple[str, ...], variable: str, folder: str) -> Registry:
    """What `paths` and the variable say means something else in another folder."""
    found = discover(extra_paths=paths)
    _warn(found.warnings)
    return found


def _warn(warnings: list[str]) -> None:
    for warning in warnings:
        print(f"gpudbg: warning: {warning}", file=sys.stderr)


def load_pending(found: Registry) -> None:
    """Import the installed plugins whose descriptor is code; what is broken is a warning."""
    before = len(found.warnings)
    found.load_pending()
    _warn(found.warnings[before:])


def find_verb(word: str) -> Callable[[list[str]], int] | None:
    """A plugin's verb, or None."""
    found = registry()
    if word not in found.entries["cli"]:
        load_pending(found)
    entry = found.lookup("cli", word)
    if entry is None:
        return None
    verb: Callable[[list[str]], int] = entry.load()

    def run(argv: list[str]) -> int:
        from gpudbg.loading import call_plugin

        return exit_code(call_plugin(entry, lambda: _result_of(verb, argv)))

    return run


def _result_of(verb: Callable[[list[str]], object], argv: list[str]) -> object:
    """What a verb returned, or gave to `sys.exit`, as argparse does."""
    try:
        return verb(argv)
    except SystemExit as end:
        return end.code


def main(argv: list[str]) -> int:
    """Run the verb."""
    p = Parser(prog="gpudbg plugins", description="List plugins.")
    add_verb_options(p, "plugins")
    args = p.parse_args(argv)
    found = registry(tuple(args.plugin))
    if args.check:
        _warn(found.load_all())
    empty = "no plugins are installed"
    emit(Listing(tuple(found.plugins), PluginInfo.line, empty=empty), args.json)
    broken = any(info.state == "broken" for info in found.plugins)
    return EXIT_GAP if args.check and broken else EXIT_CLEAN
