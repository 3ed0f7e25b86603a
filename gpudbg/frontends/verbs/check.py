"""gpudbg check: launches run with checks; what is wrong with them, for people and for CI."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as Xml

from gpudbg.api import add_launch_flags, device_for, open_program
from gpudbg.arguments import Parser
from gpudbg.debug import progress_logged
from gpudbg.errors import LoadError, UsageError
from gpudbg.frontends.verbs.check_units import STOPPED, Unit, named, stopped_report, units_of
from gpudbg.launch import Opening
from gpudbg.options import add_verb_options
from gpudbg.sanitizer import (
    CheckReport,
    CheckSettings,
    CheckStopper,
    LaunchPlan,
    Suppressions,
    check_in_jobs,
    check_plan,
)
from gpudbg.toolchain import flag_options

_WORST: Final = (1, 4, 3, 0)
"""Exit codes of programs, the one that counts for all first: what was found stands, whatever else
could not be judged."""


_NOT_CLEAN: Final = {
    "findings": "with findings", "fault": "that did not end", "gap": "not judged"
}  # fmt: skip
_NAMED: Final = 4
"""Programs of a kind that the last line of many names, at most."""


def main(argv: list[str]) -> int:
    """Run the verb."""
    args = _parser().parse_args(argv)
    # Of many programs, each would say the same of these.
    settings = _settings(args).validated()
    Suppressions.read(settings.suppressions, settings.baseline)
    units = units_of(args.programs, args)
    if args.dask:
        reports = _fanned_out(units)
    else:
        reports = _all(units) if len(units) > 1 else [_checked(*units[0])]
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


def _all(units: Sequence[Unit]) -> list[CheckReport]:
    """Reports of many launches; one that cannot be launched is a report that says so."""
    from rich.console import Console
    from rich.progress import Progress

    reports: list[CheckReport] = []
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("checking", total=len(units))
        for path, args in units:
            progress.update(task, description=Path(path).name)
            by_hand = any(f.startswith(STOPPED) for report in reports for f in report.faults)
            report = stopped_report(path) if by_hand else _judged(path, args)
            reports.append(replace(report, program={**report.program, "launch": args.launch or ""}))
            progress.advance(task)
    return reports


def _fanned_out(units: Sequence[Unit]) -> list[CheckReport]:
    """Reports by tasks on a cluster."""
    from rich.console import Console
    from rich.progress import Progress

    from gpudbg.frontends.verbs.check_fanout import fanned_out

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("checking")
        return fanned_out(
            units, _wanted(units[0][1]), checked_part if len(units) == 1 else judged_part,
            lambda done, total: progress.update(task, completed=done, total=total),
        )  # fmt: skip


def checked_part(path: str, args: argparse.Namespace) -> CheckReport:
    """What a worker does: a part of a program's check, as plain data."""
    return replace(_checked(path, args), stop=None)


def judged_part(path: str, args: argparse.Namespace) -> CheckReport:
    """The same of one of many launches: what cannot be launched is a report that says so."""
    return replace(_judged(path, args), stop=None)


def _judged(path: str, args: argparse.Namespace) -> CheckReport:
    """The report of one of many launches, whose file says which."""
    try:
        report = _checked(path, args)
    except (LoadError, UsageError) as error:
        report = CheckReport(gap=f"no launch: {error}", program={"file": path, "arch": ""})
    return replace(report, program={**report.program, "launch": args.launch or ""})


def _parser() -> Parser:
    p = Parser(
        prog="gpudbg check",
        description="Run kernels and look for races, bad accesses, values that nobody has "
        "written, barriers that not all come to, and leaks.",
        epilog="exit code: 0 clean, 1 findings, 2 usage, 3 the kernel faulted or did not end and "
        "no finding explains it, 4 the tool cannot judge",
        # `-o` names the report here, for what a launch puts out is not shown; `--launch` may be
        # given again.
        conflict_handler="resolve",
    )
    add_launch_flags(p)
    add_verb_options(p, "check")
    p.set_defaults(launch=None)
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
    said = partial(stopper.checking, path)
    # Processes side by side would tell of themselves in turn.
    alone = progress_logged(loaded.device.gpu, said) if args.jobs < 2 else nullcontext()
    with stopper.limited(args.timeout), _stopped_by_hand(stopper), alone:
        first = getattr(args, "first_schedule", None)
        if first is None:
            return check_in_jobs(launches, _settings(args), args.jobs)
        return check_plan(launches, _settings(args), first)


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
        stopper.stop(STOPPED)

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
    files = [r.program["file"] for r in reports]
    count, total = len(set(files)), sum(map(_launches, reports))
    several = count < total
    names = [named(r.program["file"], r.program.get("launch"), several) for r in reports]
    blocks = [
        "\n".join((f"{name}:", *r.lines(), "")) for name, r in zip(names, reports, strict=True)
    ]
    what = f"{total} launches of " if several else ""
    blocks.append(f"{what}{count} program{'s' * (count > 1)}, {_how_many(reports, names)}")
    return "\n".join(blocks) + "\n"


def _how_many(reports: Sequence[CheckReport], names: Sequence[str]) -> str:
    """`3 clean, 2 with findings, 1 not judged (c.cu)`: who is to be looked at, named if few."""
    parts = [f"{sum(_launches(r) for r in reports if r.status == 'clean')} clean"]
    for status, words in _NOT_CLEAN.items():
        count = sum(_launches(r) for r in reports if r.status == status)
        which = [name for name, r in zip(names, reports, strict=True) if r.status == status]
        if which:
            which = list(dict.fromkeys(which))
            named_ = f" ({', '.join(which)})" if len(which) <= _NAMED else ""
            parts.append(f"{count} {words}{named_}")
    return ", ".join(parts)


def _launches(report: CheckReport) -> int:
    """How many launches a report is of: one that did not end is one, too."""
    return max(report.launches_run, 1)


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
