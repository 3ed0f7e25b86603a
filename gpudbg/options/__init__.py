"""The option schema: one row for each thing a user may choose, and for each operand of a verb.

A row says how the option is given everywhere: as a flag of the command line and of which verbs, as
a key of the launch table, as a keyword of the Python API and as a setting of a session.  Flags,
keys, ranges, defaults, help texts, the reference (`gpudbg help command-line`) and `man gpudbg` are
made from here, so that they cannot disagree.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from gpudbg.options.checking import CHECK_OPTIONS
from gpudbg.options.compiling import COMPILER_OPTIONS, COMPILER_WORDS
from gpudbg.options.launching import DEFAULT_JOBS, ENGINES, LAUNCH_OPTIONS, MAX_SEED
from gpudbg.options.spec import MAX_INTEGER, OptionKind, OptionScope, OptionSpec
from gpudbg.options.verbs import VERB_OPTIONS

__all__ = [
    "CHECK_OPTIONS", "COMPILERS", "COMPILER_WORDS", "DEFAULT_JOBS", "ENGINES", "FLAGS", "JOBS",
    "LAUNCHING", "MAX_INTEGER", "MAX_SEED", "ON_FAULT", "OPTIONS", "RECORD_ON_FAULT",
    "OptionKind", "OptionScope", "OptionSpec",
    "add_compiler_options", "add_launch_options", "add_verb_options", "check_option", "keys",
    "option",
]  # fmt: skip

LAUNCHING = ("tui", "run", "record", "check", "repl", "export")
"""Verbs that launch."""
COMPILERS = (*LAUNCHING, "dis", "info", "exec")
"""Verbs that compile."""

FLAGS = tuple(
    replace(row, verbs=LAUNCHING, group="launch (flags win over PROG.toml)")
    for row in LAUNCH_OPTIONS
    if row.flag
)
"""Those that are flags of every verb that launches."""
SCHEDULE = OptionSpec(
    "schedule", OptionScope.MACHINE, OptionKind.TEXT,
    "a schedule that `gpudbg check --schedules` has found: a file, or as 3:17,40",
    "schedule", metavar="FILE", attribute="seed", verbs=LAUNCHING, group=FLAGS[0].group,
)  # fmt: skip
"""The seed, said another way."""
_COMPILER = tuple(
    replace(row, verbs=COMPILERS, group="compiling .cu and .ptx") for row in COMPILER_OPTIONS
)

OPTIONS = (
    *FLAGS,
    SCHEDULE,
    *(row for row in LAUNCH_OPTIONS if not row.flag),
    *_COMPILER,
    *COMPILER_WORDS,
    *CHECK_OPTIONS,
    *VERB_OPTIONS,
)
"""Every option and operand."""


def add_launch_options(parser: argparse.ArgumentParser, **more: Any) -> None:
    """Add the flags of launches; `more` as for `add_verb_options`."""
    from gpudbg.options.flags import add_options

    add_options(parser, (*FLAGS, SCHEDULE), more)


def add_compiler_options(parser: argparse.ArgumentParser, words: bool = False) -> None:
    """Add the flags of the compiler; with `words` those of `options=[…]`, too."""
    from gpudbg.options.flags import add_options

    add_options(parser, (*_COMPILER, *(COMPILER_WORDS if words else ())), {})


def add_verb_options(parser: argparse.ArgumentParser, verb: str, **more: Any) -> None:
    """Add a verb's own flags and operands.

    Args:
        parser: that reads them.
        verb: as the command line calls it; `decode insn` for a kind of `decode`.
        more: by the name of a row, keywords for argparse that only the verb knows: choices, a
            type; a help text goes behind the row's own.
    """
    from gpudbg.options.flags import add_options

    scopes = (OptionScope.VERB, OptionScope.CHECK)
    rows = [row for row in OPTIONS if verb in row.verbs and row.scope in scopes]
    add_options(parser, rows, more)


def option(name: str) -> OptionSpec:
    """The launch flag called `name`."""
    return _BY_NAME[name]


def check_option(name: str) -> OptionSpec:
    """The keyword of `gpudbg.check` called `name`."""
    return _CHECKS[name]


def keys(table: str) -> dict[str, OptionSpec]:
    """The keys of a section of the launch table ("" is its top level)."""
    return {row.name: row for row in OPTIONS if row.table == table}


_BY_NAME = {row.name: row for row in FLAGS}
_CHECKS = {row.name: row for row in CHECK_OPTIONS if row.scope is OptionScope.CHECK}
JOBS = _BY_NAME["jobs"]
ON_FAULT = _BY_NAME["on_fault"]
RECORD_ON_FAULT = next(row for row in VERB_OPTIONS if row.name == "record_on_fault")
