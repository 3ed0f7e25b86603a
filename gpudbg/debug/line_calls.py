"""Which functions a source line calls, and a step into one of them alone.

A call is a CALL instruction of the line's code, or a copy of a function inlined there.  What has
no lines (the library's printf, a division) is none: a step goes over it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass
from gpudbg.debug.inlined import chain_of, line_in
from gpudbg.debug.stops.stop import StepStop
from gpudbg.debug.values.backtrace import Frame, frames
from gpudbg.isa.family import decode
from gpudbg.isa.operands import Imm
from gpudbg.sm.cfg import CALLS

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.debug.stops.stop import Stop
    from gpudbg.debug.symbols import Symbols
    from gpudbg.symbols.listing import CodeLine

MOST_STEPS = 1000
"""Most steps within a line, for a line that calls in a loop."""
INDIRECT = "(through a pointer)"


@dataclass(frozen=True, slots=True)
class StepTarget:
    """A call of a line.

    Attributes:
        pc: the call, or where the first inlined copy begins.
        function: its name; `INDIRECT` of a call through a pointer.
        line: the line that calls.
        inlined: there is no call instruction.
    """

    pc: int
    function: str
    line: int
    inlined: bool = False


def step_targets(session: DebugSession) -> tuple[StepTarget, ...]:
    """The calls of the line that the focused warp stands at, in the order of the code."""
    frame = frames(session)[0]
    if frame.line is None:
        return ()
    symbols = session.symbols
    calls = chain_of(symbols, frame.pc)
    chain = calls[: len(calls) - session.skipped_inline]
    found: list[StepTarget] = []
    for row in symbols.function_rows(frame.pc):
        here = chain_of(symbols, row.pc)
        if here[: len(chain)] != chain or line_in(symbols, row.pc, chain) != frame.line:
            continue
        if len(here) > len(chain):
            name = here[len(chain)].function
            # Several inlined copies of one function in a line are one target: the first that is
            # entered.
            if not any(target.inlined and target.function == name for target in found):
                found.append(StepTarget(row.pc, name, frame.line.number, inlined=True))
        else:
            found += _called(symbols, row, frame.line.number)
    return tuple(found)


def _called(symbols: Symbols, row: CodeLine, line: int) -> Iterator[StepTarget]:
    """What a CALL instruction calls, if it has lines."""
    if not row.legal:
        return
    insn = decode(row.word, symbols.program.arch)
    if insn.op not in CALLS:
        return
    constants = [operand.value for operand in insn.operands if isinstance(operand, Imm)]
    # CALL.ABS holds its target as an absolute constant.
    target = next(iter(constants), None) if "ABS" in insn.m else insn.target(row.pc)
    if target is None:
        yield StepTarget(row.pc, INDIRECT, line)
    elif symbols.line(first := symbols.layout.first(target)) is not None:
        yield StepTarget(row.pc, symbols.function(first), line)


def step_into(session: DebugSession, target: StepTarget) -> Stop:
    """Step into one call of the present line; stops at the next line where the call is not
    reached.
    """
    outside = len(frames(session))
    for _ in range(MOST_STEPS):
        stop = session.step_line()
        if not isinstance(stop, StepStop) or session.focus is None:
            return stop
        rows = frames(session)
        if len(rows) <= outside:
            return stop
        entered = len(rows) - 1 - outside
        if _is(session, target, rows, entered):
            return stop
        stop = session.finish(entered)
        if not isinstance(stop, StepStop):
            return stop
    return stop


def _is(session: DebugSession, target: StepTarget, rows: tuple[Frame, ...], entered: int) -> bool:
    """Whether an entered frame is the call that was asked for."""
    if target.inlined or rows[entered].inlined:
        return target.inlined and rows[entered].function == target.function
    return session.symbols.layout.before(rows[entered + 1].pc) == target.pc
