"""Reports of parts of a check as one: of other checks, other schedules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from gpudbg.sanitizer.findings import CHECKS, SEVERITIES, CheckFinding

if TYPE_CHECKING:
    from collections.abc import Hashable

    from gpudbg.sanitizer.report import CheckReport

_UNORDERED: Final = ("pending", "read_write", "write_write", "atomic_plain", "same_value")
"""Causes of races whose accesses are unordered in either direction."""
_REFUSED: Final = ("out_of_bounds", "misaligned", "use_after_free")
"""Kinds of findings about accesses that are left out."""
ENDLESS: Final = ("deadlock", "livelock")
"""Causes of findings about threads that come to no end."""
_LOOP: Final = 0x80
"""Most bytes of code of a loop around a test of an mbarrier."""


def merged(reports: Sequence[CheckReport]) -> CheckReport:
    """One report of the same launches; equal findings are one, with their counts added."""
    first = reports[0]
    shown = [r.schedule for r in reports if r.schedule is not None]
    return replace(
        first,
        findings=one_per_defect(_findings(reports)),
        performance=next((r.performance for r in reports if r.performance), ()),
        counted_costs=any(r.counted_costs for r in reports),
        launches_run=max(r.launches_run for r in reports),
        launches_asked=max(r.launches_asked for r in reports),
        instructions=max(r.instructions for r in reports),
        seconds=sum(r.seconds for r in reports),
        schedules_run=len({number for r in reports for number in r.schedule_numbers}),
        schedule_numbers=tuple(sorted({n for r in reports for n in r.schedule_numbers})),
        checks=tuple(name for name in CHECKS if any(name in r.checks for r in reports)),
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
            # Which side of a race comes first depends on the schedule.
            places = tuple(sorted(a.pc for a in finding.accesses))
            key = finding.kind, finding.cause, finding.space, finding.relation, places
            held = found.get(key)
            if held is not None:
                count, size = held.count + finding.count, max(held.bytes, finding.bytes)
                finding = replace(held, count=count, bytes=size)
            found[key] = finding
    return tuple(sorted(found.values(), key=lambda f: SEVERITIES.index(f.severity)))


def one_per_defect(found: Sequence[CheckFinding]) -> tuple[CheckFinding, ...]:
    """Drop findings that follow from another one, and merge repetitions of a source place."""
    racing = {
        access.pc
        for finding in found
        if finding.kind == "race" and finding.space == "shared"
        if finding.relation == "blocks" or any(a.agent != "thread" for a in finding.accesses)
        for access in finding.accesses
    }
    hangs = [f for f in found if f.kind == "sync" and f.cause in ENDLESS]
    endless = [hang for hang in hangs if _follows_from_access(hang, found)]
    left = [
        _without_end(_with_cause(f, found), endless)
        for f in found
        if not (f.kind == "uninitialised" and f.accesses[0].pc in racing)
        and not _follows_from_race(f, found)
        and not any(_explains(f, hang) for hang in hangs)
        and f not in endless
    ]
    return _by_place(left)


def _follows_from_race(finding: CheckFinding, found: Sequence[CheckFinding]) -> bool:
    """Whether an access that may come before another block's begin, or an asynchronous one that
    may come after its end, is already known to be unordered there: the same edge is missing."""
    if finding.cause not in ("entry", "exit") or len(finding.accesses) < 2:
        return False
    early = finding.cause == "entry"
    access = finding.accesses[1 if early else 0]
    if not early and access.agent == "thread":
        return False
    return any(
        other.kind == "race" and other.space == "shared" and other.relation == "blocks"
        and other.cause in _UNORDERED and any(a.pc == access.pc for a in other.accesses)
        for other in found
    )  # fmt: skip


def _follows_from_access(finding: CheckFinding, found: Sequence[CheckFinding]) -> bool:
    """Whether a deadlock consists of loops around refused accesses that are already reported."""
    if finding.cause not in ENDLESS:
        return False
    refused = {f.accesses[0].pc for f in found if f.kind in _REFUSED}
    going = [side for side in finding.accesses if side.kind != "barrier"]
    return bool(going) and all(side.pc in refused for side in going)


def _without_end(finding: CheckFinding, endless: Sequence[CheckFinding]) -> CheckFinding:
    """A refused access, with a note where the loop around it never ends."""
    if finding.kind not in _REFUSED:
        return finding
    for hang in endless:
        if any(side.pc == finding.accesses[0].pc for side in hang.accesses):
            return replace(finding, where=f"{finding.where}; the loop round it never ends")
    return finding


def _with_cause(finding: CheckFinding, found: Sequence[CheckFinding]) -> CheckFinding:
    """A deadlock, with the earlier mistake at its mbarrier added where one is known."""
    if finding.cause not in ENDLESS:
        return finding
    tests = [f for f in found if _explains(f, finding)]
    if not tests:
        return finding
    where = f"{finding.where}; {tests[0].where}"
    return replace(finding, where=where, fix=finding.fix or tests[0].fix)


def _explains(finding: CheckFinding, hang: CheckFinding) -> bool:
    """Whether a finding explains a deadlock: an unreliable test of its mbarrier, or a phase that no
    thread waited for.
    """
    if finding.cause == "phase_skipped" and finding.accesses:
        address = finding.accesses[0].address
        return address is not None and f"shared 0x{address:x}:" in hang.where
    return finding.cause == "ambiguous_phase" and _same_wait(finding, hang)


def _same_wait(test: CheckFinding, hang: CheckFinding) -> bool:
    """Whether a test belongs to the loop in which the deadlock was found."""
    one, other = test.accesses[0], hang.accesses[0]
    if one.function != other.function:
        return False
    if one.line is not None and other.line is not None:
        return (one.file, one.line) == (other.file, other.line)
    return abs(one.offset - other.offset) < _LOOP


def _by_place(found: Sequence[CheckFinding]) -> tuple[CheckFinding, ...]:
    """Merge findings of instructions that a compiler made from the same lines (unrolled loops)."""
    kept: dict[Hashable, CheckFinding] = {}
    for number, finding in enumerate(found):
        key: Hashable = number
        if finding.kind != "hazard" and all(a.line is not None for a in finding.accesses):
            sides = sorted((a.kind, a.file, a.line, a.inlined) for a in finding.accesses)
            key = finding.fingerprint, finding.cause, finding.severity, tuple(sides)
        held = kept.get(key)
        if held is not None:
            count, size = held.count + finding.count, held.bytes + finding.bytes
            finding = replace(held, count=count, bytes=size)
        kept[key] = finding
    return tuple(kept.values())
