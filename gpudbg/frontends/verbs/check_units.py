"""What `gpudbg check` is given: programs, folders of them, and the launch tables of each."""

from __future__ import annotations

import argparse
import copy
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from gpudbg.errors import UsageError
from gpudbg.sanitizer import CheckReport

PROGRAMS: Final = (".cubin", ".cu", ".ptx", ".fatbin", ".sass")
"""What is checked of a folder."""
TABLE: Final = ".toml"
"""Suffix of launch tables."""

STOPPED: Final = "stopped by Ctrl-C"
"""Why a launch did not end, or was not run."""

Unit = tuple[str, argparse.Namespace]
"""A program, and the flags of one launch of it."""


def units_of(programs: Sequence[str], args: argparse.Namespace) -> list[Unit]:
    """A unit for each launch of each program.

    The launches of a program are the tables that are given, else PROG.toml and PROG.*.toml beside
    it, else what the flags say.

    Raises:
        UsageError: a folder without programs, or without tables.
    """
    given = [table for name in args.launches or () for table in _tables(name)]
    found: list[Unit] = []
    for path in _paths(programs):
        for table in given or _beside(path) or [None]:
            unit = copy.copy(args)
            unit.launch = table
            found.append((path, unit))
    return found


def named(path: str, table: str | None, several: bool) -> str:
    """`saxpy.cu`, or with the table where that tells launches apart: `saxpy.cu (saxpy.large)`."""
    return f"{path} ({Path(table).stem})" if several and table else path


def _paths(given: Sequence[str]) -> Iterator[str]:
    """Files, and the programs in folders."""
    for name in given:
        if Path(name).is_dir():
            inside = sorted(str(p) for p in Path(name).rglob("*") if p.suffix in PROGRAMS)
            if not inside:
                raise UsageError(f"{name}: no programs in it", f"files {', '.join(PROGRAMS)} are")
            yield from inside
        else:
            yield name


def _tables(name: str) -> list[str]:
    """A launch table, or those of a folder."""
    if not Path(name).is_dir():
        return [name]
    inside = sorted(str(p) for p in Path(name).glob(f"*{TABLE}"))
    if not inside:
        raise UsageError(f"{name}: no launch tables in it", f"files *{TABLE} are")
    return inside


def _beside(path: str) -> list[str | None]:
    """Tables of a program's name; [] where the only one is that which every verb takes."""
    own = Path(path)
    if own.suffix not in PROGRAMS:
        return []
    begins = f"{own.stem}."
    others = sorted(
        str(p)
        for p in own.parent.glob(f"*{TABLE}")
        if p.name.startswith(begins) and p.name != f"{own.stem}{TABLE}"
    )
    first = own.with_suffix(TABLE)
    return [*([str(first)] if first.is_file() else []), *others] if others else []


def stopped_report(path: str) -> CheckReport:
    """The report of a launch, or a part of its check, that Ctrl-C left no time for."""
    return CheckReport(faults=(STOPPED,), launches_asked=1, program={"file": path, "arch": ""})
