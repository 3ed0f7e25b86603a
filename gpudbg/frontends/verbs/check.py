"""gpudbg check: launches run with checks; what is wrong with them, for people and for CI."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as Xml

from gpudbg.api import add_launch_flags, device_for, open_program
from gpudbg.arguments import Parser
from gpudbg.errors import LoadError, UsageError
from gpudbg.launch import Opening
from gpudbg.options import add_verb_options
from gpudbg.sanitizer import (
    CheckReport,
    CheckSettings,
    CheckStopper,
    LaunchPlan,
    check_plan,
)
from gpudbg.toolchain import flag_options

_WORST: Final = (4, 1, 3, 0)
"""Exit codes of programs, the one that counts for all first."""


def main(argv: list[str]) -> int:
    """Run the verb."""
    args = _parser().parse_args(argv)
    paths = _programs(args.programs)
    if args.dask:
        reports = _fanned_out(paths, args)
    else:
        reports = _all(paths, args) if len(paths) > 1 else [_checked(paths[0], args)]
    text = FORMATS[args.format](reports)
    if args.report:
        write_report(args.report, text)
        if args.format != "text":
            print("\n".join(r.lines()[-1] for r in reports))
    else:
        sys.stdout.write(text)
    if args.write_schedule:
        _write_schedule(args.write_schedule, reports)
    if args.write_baseline:
        known = sorted({f.fingerprint for r in reports for f in r.findings})
        write_report(args.write_baseline, json.dumps(known, indent=1) + "\n")
    codes = {r.exit_code for r in reports}
    return next(code for code in _WORST if code in codes)


def _write_schedule(path: str, reports: Sequence[CheckReport]) -> None:
    """Write the first schedule that shows something, for `--schedule`."""
    shown = next((r.schedule for r in reports if r.schedule is not None), None)
    if shown is None:
        print("gpudbg: no schedule to write: all leave the same results", file=sys.stderr)
    else:
        write_report(path, json.dumps(shown.to_json(), indent=1) + "\n")


PROGRAMS: Final = (".cubin", ".cu", ".ptx", ".fatbin", ".sass")
"""What is checked of a folder."""


def _programs(given: Sequence[str]) -> list[str]:
    """Files, and the programs in folders.

    Raises:
        UsageError: a folder without any.
    """
    found: list[str] = []
    for name in given:
        if not Path(name).is_dir():
            found.append(name)
            continue
        inside = sorted(str(p) for p in Path(name).rglob("*") if p.suffix in PROGRAMS)
        if not inside:
            raise UsageError(f"{name}: no programs in it", f"files {', '.join(PROGRAMS)} are")
        found += inside
    return found


def _all(paths: Sequence[str], args: argparse.Namespace) -> list[CheckReport]:
    """Reports of many programs; one that cannot be launched is a report that says so."""
    from rich.console import Console
    from rich.progress import Progress

    reports = []
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("checking", total=len(paths))
        for path in paths:
            progress.update(task, description=Path(path).name)
            try:
                reports.append(_checked(path, args))
            except (LoadError, UsageError) as error:
                text = f"no launch: {error}"
                reports.append(CheckReport(gap=text, program={"file": path, "arch": ""}))
            progress.advance(task)
    return reports


def _fanned_out(paths: Sequence[str], args: argparse.Namespace) -> list[CheckReport]:
    """Reports by tasks on a cluster."""
    from rich.console import Console
    from rich.progress import Progress

    from gpudbg.frontends.verbs.check_fanout import fanned_out

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("checking")
        return fanned_out(
            paths, args, _wanted(args), checked_part if len(paths) == 1 else judged_part,
            lambda done, total: progress.update(task, completed=done, total=total),
        )  # fmt: skip


def checked_part(path: str, args: argparse.Namespace) -> CheckReport:
    """What a worker does: a part of a program's check, as plain data."""
    return replace(_checked(path, args), stop=None)


def judged_part(path: str, args: argparse.Namespace) -> CheckReport:
    """The same of one of many programs: what cannot be launched is a report that says so."""
    try:
        return checked_part(path, args)
    except (LoadError, UsageError) as error:
        return CheckReport(gap=f"no launch: {error}", program={"file": path, "arch": ""})


def _parser() -> Parser:
    p = Parser(
        prog="gpudbg check",
        description="Run kernels and look for races, bad accesses, values that nobody has "
        "written, barriers that not all come to, and leaks.",
        epilog="exit code: 0 clean, 1 findings, 2 usage, 3 the kernel faulted or did not end and "
        "no finding explains it, 4 the tool cannot judge",
        # `-o` names the report here; what a launch puts out is not shown.
        conflict_handler="resolve",
    )
    add_launch_flags(p)
    add_verb_options(p, "check")
    return p


def _checked(path: str, args: argparse.Namespace) -> CheckReport:
    """One program, launched as its table and the flags say."""
    opening = Opening(path, args)
    table = opening.table()
    program = open_program(path, table, args.arch, flag_options(args))
    if args.arg:
        table = opening.table(program)
    loaded = device_for(program, table).adopt(program)
    stopper = CheckStopper()
    launches = LaunchPlan(loaded, [lambda given: given.launch_table(table)], stopper=stopper)
    with stopper.limited(args.timeout), _stopped_by_hand(stopper):
        return check_plan(launches, _settings(args), getattr(args, "first_schedule", 1))


@contextmanager
def _stopped_by_hand(stopper: CheckStopper) -> Iterator[None]:
    """Ctrl-C inside ends the check and keeps what it has found; a second one ends the program."""
    if threading.current_thread() is not threading.main_thread():
        # A worker of a cluster: its client takes care of that.
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def stop(*_: object) -> None:
        signal.signal(signal.SIGINT, before)
        stopper.stop("stopped by Ctrl-C")

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _settings(args: argparse.Namespace) -> CheckSettings:
    """What the flags say: each has its setting's name."""
    names = (field.name for field in fields(CheckSettings))
    given = {name: getattr(args, name) for name in names}
    given["checks"] = _wanted(args)
    return CheckSettings(**{name: value for name, value in given.items() if value is not None})


def _wanted(args: argparse.Namespace) -> list[str]:
    """Names of the checks."""
    return ["memory"] if args.quick else [c for c in args.checks.split(",") if c]


def _text(reports: Sequence[CheckReport]) -> str:
    if len(reports) == 1:
        return "\n".join(reports[0].lines()) + "\n"
    # Each under its program's name, so that a reader knows whose findings they are.
    blocks = ["\n".join((f"{r.program['file']}:", *r.lines(), "")) for r in reports]
    worst = [r for r in reports if r.exit_code]
    blocks.append(f"{len(reports)} programs, {len(reports) - len(worst)} clean")
    return "\n".join(blocks) + "\n"


def _json(reports: Sequence[CheckReport]) -> str:
    rows = [report.to_json() for report in reports]
    return json.dumps(rows[0] if len(rows) == 1 else rows, indent=1) + "\n"


def _sarif(reports: Sequence[CheckReport]) -> str:
    made: dict[str, Any] = reports[0].to_sarif()
    for report in reports[1:]:
        made["runs"] += report.to_sarif()["runs"]
    return json.dumps(made, indent=1) + "\n"


def _junit(reports: Sequence[CheckReport]) -> str:
    if len(reports) == 1:
        return reports[0].to_junit()
    root = Xml.Element("testsuites")
    for report in reports:
        root.append(Xml.fromstring(report.to_junit()))
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, "unicode") + "\n"


def _github(reports: Sequence[CheckReport]) -> str:
    return "".join(report.to_github() for report in reports)


FORMATS: Final[dict[str, Callable[[Sequence[CheckReport]], str]]] = {
    "text": _text, "json": _json, "sarif": _sarif, "junit": _junit, "github": _github,
}  # fmt: skip
"""How reports are written, by name."""


def write_report(path: str, text: str) -> None:
    """Write a file.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from None
