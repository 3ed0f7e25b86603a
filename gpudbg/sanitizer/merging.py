"""Reports of parts of a check as one: of other checks, other schedules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gpudbg.sanitizer.findings import SEVERITIES, CheckFinding

if TYPE_CHECKING:
    from collections.abc import Hashable

    from gpudbg.sanitizer.report import CheckReport


def merged(reports: Sequence[CheckReport]) -> CheckReport:
    """One report of the same launches; equal findings are one, with their counts added."""
    first = reports[0]
    shown = [r.schedule for r in reports if r.schedule is not None]
    return replace(
        first,
        findings=without_consequences(_findings(reports)),
        performance=next((r.performance for r in reports if r.performance), ()),
        launches_run=max(r.launches_run for r in reports),
        instructions=sum(r.instructions for r in reports),
        seconds=sum(r.seconds for r in reports),
        schedules_run=len({number for r in reports for number in r.schedule_numbers}),
        schedule_numbers=tuple(sorted({n for r in reports for n in r.schedule_numbers})),
        checks=tuple(dict.fromkeys(name for r in reports for name in r.checks)),
        gap=next((r.gap for r in reports if r.gap), ""),
        faults=_once(fault for r in reports for fault in r.faults),
        launches=max((r.launches for r in reports), key=len),
        program=next((r.program for r in reports if r.program.get("arch")), first.program),
        unused=tuple(u for u in first.unused if all(u in r.unused for r in reports)),
        schedule=min(shown, key=lambda s: len(s.plan.switches)) if shown else None,
    )


def _once(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))


def _findings(reports: Sequence[CheckReport]) -> tuple[CheckFinding, ...]:
    found: dict[Hashable, CheckFinding] = {}
    for report in reports:
        for finding in report.findings:
            # Which side of a race came first is the schedule's.
            places = tuple(sorted(a.pc for a in finding.accesses))
            key = finding.kind, finding.cause, finding.space, finding.relation, places
            held = found.get(key)
            if held is not None:
                count, size = held.count + finding.count, max(held.bytes, finding.bytes)
                finding = replace(held, count=count, bytes=size)
            found[key] = finding
    return tuple(sorted(found.values(), key=lambda f: SEVERITIES.index(f.severity)))


def without_consequences(found: Sequence[CheckFinding]) -> tuple[CheckFinding, ...]:
    """Findings less loads of what a copy or another block, which they race with, has yet to
    write."""
    racing = {
        access.pc
        for finding in found
        if finding.kind == "race" and finding.space == "shared"
        if finding.relation == "blocks" or any(a.agent != "thread" for a in finding.accesses)
        for access in finding.accesses
    }
    return tuple(f for f in found if f.kind != "uninitialised" or f.accesses[0].pc not in racing)
