"""info engine: what runs the launch, and which instructions left compiled code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpudbg.debug.commands.table import command
from gpudbg.debug.registry import Output
from gpudbg.debug.views import text as views

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.sm.engines.contract import EngineReport

SHOWN = 20


@command(
    "info engine",
    usage="info engine",
    help="how the launch executes, and instructions without a compiled version",
    group="status",
    details="Exits count how often the step engine executed an instruction for compiled code.",
)
def info_engine(session: DebugSession, argument: str) -> Output:
    """Show the engine and its exits by pc."""
    grid = session.grid
    data: dict[str, Any] = {"engine": grid.gpu.engine, "compiled": False, "exits": []}
    if grid.fast is None:
        return Output(("engine: step",), data)
    report = grid.fast.report()
    if report is None:
        why = grid.fast.trouble or "nothing is compiled yet"
        return Output((f"engine: {grid.gpu.engine}; {why}",), data | {"why": why})
    return _compiled(session, report, data | {"compiled": True})


def _compiled(session: DebugSession, report: EngineReport, data: dict[str, Any]) -> Output:
    """The table of a launch with compiled code."""
    grid = session.grid
    total = sum(report.exits.values())
    lines = [
        f"engine: {grid.gpu.engine}; {len(report.code)} instructions compiled "
        f"in {report.seconds * 1e3:.0f} ms, {len(report.slow)} without a compiled version",
        f"{total} of {grid.total} warp instructions left compiled code",
    ]
    rows = []
    for pc, count in report.exits.most_common(SHOWN):
        insn = report.code.get(pc)
        text = insn.text(pc) if insn is not None else ""
        why = report.slow.get(pc, "data, a fault or a breakpoint")
        rows.append((f"{count}", grid.code.describe(pc), text, why))
        data["exits"].append({"pc": pc, "count": count, "instruction": text, "why": why})
    if rows:
        lines += views.table(("Exits", "Where", "Instruction", "Why"), rows)
    data |= {
        "instructions": len(report.code),
        "compile_seconds": report.seconds,
        "total_exits": total,
        "total": grid.total,
    }
    return Output(tuple(lines), data)
