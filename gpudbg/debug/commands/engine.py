"""info engine: what runs the launch, and which instructions left compiled code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.answers import Card, Table, column, lines_of, typed_row
from gpudbg.answers.formats import ABSENT, COUNT, ROWS
from gpudbg.debug.commands.table import command
from gpudbg.sm.convergence import kept

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.isa.spa5.insn import Instruction
    from gpudbg.sm.engines.contract import EngineReport
    from gpudbg.sm.grid import Grid

SHOWN = 20
SEED = "a schedule seed is set: a drawn order of warps is stepped"
OBSERVED = "an observer wants every instruction"
TRAPS = "imprecise errors, a limit of calls or single-step mode need the step engine"
ACCESSES = "LD", "ST", "ATOM", "RED"
"""How the names of instructions begin that access memory."""
WAITS = frozenset("BSSY BSYNC BREAK BMOV WARPSYNC YIELD NANOSLEEP".split())
"""Mnemonics by which lanes wait for one another."""
APART = (
    "parts of a warp at a barrier, lanes that go on alone beside others, or convergence barriers "
    "that some lanes have saved and others hold"
)


@command(
    "info engine",
    usage="info engine",
    help="how the launch executes, and instructions without a compiled version",
    group="status",
    details="Exits count how often the step engine executed an instruction for compiled code.",
)
def info_engine(session: DebugSession, argument: str) -> Card:
    """Show the engine and its exits by pc."""
    grid = session.grid
    name = grid.gpu.engine
    if grid.fast is None:
        return Card(EngineState(name, False, (), ABSENT), _lines)
    report = grid.fast.report()
    if report is not None:
        return Card(_compiled(session, report), _lines)
    why = grid.fast.trouble or stepped_now(grid) or grid.fast.waits()
    return Card(EngineState(name, False, (), why), _lines)


@typed_row
class ExitRow:
    """An instruction that the step engine carried out for compiled code."""

    pc: int = column()
    count: int = column("Exits", COUNT)
    where: str = column("Where", key="")
    instruction: str = column("Instruction")
    why: str = column("Why")


@typed_row
class EngineState:
    """How a launch executes; the fields after the first three are set only where code is compiled,
    or say why it is not.  `stepped`: why nothing runs in it for now; `apart`: warps whose control
    flow is stepped.
    """

    engine: str = column()
    compiled: bool = column()
    exits: tuple[ExitRow, ...] = column(None, ROWS)
    why: str = column(default=ABSENT)
    instructions: int = column(default=ABSENT)
    compile_seconds: float = column(default=ABSENT)
    total_exits: int = column(default=ABSENT)
    total: int = column(default=ABSENT)
    slow: int = column(key="", default=0)
    stepped: str = column(default="")
    apart: int = column(default=0)


def stepped_now(grid: Grid) -> str:
    """Why the launch cannot run in compiled code at present; "" where it can."""
    if grid.launched.schedule.seed:
        return SEED
    if grid.launched.observers.steps:
        return OBSERVED
    options = grid.traps.options
    stepping = any(sm.trap.stepping for sm in grid.sms)
    return TRAPS if stepping or options.precision != "precise" or options.call_limit else ""


def _usual(insn: Instruction | None) -> str:
    """Why compiled code leaves at an instruction that it supports."""
    if insn is not None and insn.op.startswith(ACCESSES):
        return "an address outside of memory or misaligned, or the first store to a buffer"
    if insn is not None and insn.op in WAITS:
        return "lanes that wait for one another where none is ready, a fault or a breakpoint"
    return "data, a fault or a breakpoint"


def _compiled(session: DebugSession, report: EngineReport) -> EngineState:
    """The state of a launch with compiled code."""
    grid, code = session.grid, report.code
    exits = (
        ExitRow(
            pc,
            count,
            grid.code.describe(pc),
            code[pc].text(pc) if pc in code else "",
            report.slow.get(pc) or _usual(code.get(pc)),
        )
        for pc, count in report.exits.most_common(SHOWN)
    )
    return EngineState(
        engine=grid.gpu.engine,
        compiled=True,
        exits=tuple(exits),
        instructions=len(code),
        compile_seconds=report.seconds,
        total_exits=sum(report.exits.values()),
        total=grid.total,
        slow=len(report.slow),
        stepped=stepped_now(grid),
        apart=sum(not kept.fits(warp) for warp in grid.warps() if warp.has_groups),
    )


def _lines(state: EngineState) -> list[str]:
    if not state.compiled:
        return ["engine: step" if state.why is ABSENT else f"engine: {state.engine}; {state.why}"]
    return [
        f"engine: {state.engine}; {state.instructions} instructions compiled "
        f"in {state.compile_seconds * 1e3:.0f} ms, {state.slow} without a compiled version",
        f"{state.total_exits} of {state.total} warp instructions left compiled code",
        *([f"stepped for now: {state.stepped}"] if state.stepped else []),
        *([f"control flow of {state.apart} warps is stepped: {APART}"] if state.apart else []),
        *lines_of(Table(ExitRow, state.exits, empty="")),
    ]
