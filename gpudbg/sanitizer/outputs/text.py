"""The report as text: a block a finding, and a summary that is read in ten seconds."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from gpudbg.sanitizer.findings import SEVERITIES

if TYPE_CHECKING:
    from gpudbg.sanitizer.findings import CheckResults, PerfSite


def lines(report: CheckResults) -> list[str]:
    """The report."""
    out: list[str] = []
    for finding in report.findings:
        if finding.suppressed is None:
            out += [*finding.explain(), ""]
    if report.counted_costs:
        out += [*_performance(report.performance), ""]
    out += [f"fault: {fault}" for fault in report.faults]
    if report.gap:
        out.append(f"could not judge: {report.gap}")
    shown = report.schedule
    if shown is not None:
        count = len(shown.plan.switches)
        out += [
            f"another schedule shows it: {shown.what}",
            f"  {_plural(count, 'switch', 'switches')}; replay with --schedule {shown.text}",
            "",
        ]
    out += [f"suppression matched nothing: {rule}" for rule in report.unused]
    return [*out, summary(report)]


def summary(report: CheckResults) -> str:
    """`gpudbg check: 3 findings (2 errors, 1 warning), 1 suppressed; 2 launches, ...`"""
    shown = [f for f in report.findings if f.suppressed is None]
    counts = Counter(f.severity for f in shown)
    suppressed = len(report.findings) - len(shown)
    if shown:
        parts = [_plural(counts[s], s) for s in SEVERITIES if counts[s]]
        text = f"{_plural(len(shown), 'finding')} ({', '.join(parts)})"
        text += ", and could not judge the rest" * bool(report.gap)
    elif report.gap:
        text = "could not judge"
    elif report.faults:
        text = "the launch did not end"
    elif not report.launches_run:
        text = "nothing was launched"
    else:
        text = f"clean ({', '.join(report.checks)})"
    if suppressed:
        text += f", {suppressed} suppressed"
    runs = f", {report.schedules_run} schedules" if report.schedules_run > 1 else ""
    ran = _plural(report.launches_run, "launch", "launches")
    if report.launches_left:
        ran = f"{report.launches_run} of {_plural(report.launches_asked, 'launch', 'launches')}"
    return f"gpudbg check: {text}; {ran}, {report.instructions:,} instructions{runs}"


def _plural(count: int, word: str, many: str = "") -> str:
    return f"{count} {word if count == 1 else many or word + 's'}"


def _performance(sites: tuple[PerfSite, ...]) -> list[str]:
    out = ["performance:"]
    for s in sites:
        if s.kind == "bank_conflict" and s.degree > 1:
            what = f"{s.degree}-way bank conflict, {s.transactions} passes where {s.ideal} would do"
        elif s.kind == "uncoalesced" and s.transactions > s.ideal:
            what = f"{s.sectors} sectors a request at worst, {s.transactions} for {s.ideal}"
        elif s.kind == "divergence" and s.divergent:
            what = f"lanes part, {s.efficiency:.0%} of the live ones active"
        else:
            continue
        out.append(f"  {s.place}  {s.access or 'branch'}: {what}")
        if s.reason:
            out.append(f"    {s.reason}")
    return out if len(out) > 1 else ["performance: nothing stands out"]
