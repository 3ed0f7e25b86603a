"""Calls whose way is known from the code: those that come back, and those that are jumps.

On sm_50 to sm_62 a CAL pushes a token, at which the lanes that RET wait for one another: they go on
together behind the CAL, if nothing else pushed such a token meanwhile (PRET).

From sm_70 on CALL and RET are jumps; a register pair that the caller writes holds the address
behind the call.  A call comes back if each RET that it leads to goes to that address: constants
that are written before the call, and on the way to the RET by its own block alone.  ptxas also
leaves loops by a CALL that no RET follows (`@P0 CALL.REL.NOINC`): a jump.

All calls of a section are understood, or none counts: where a RET goes that is not, behind some
call as the C ABI has it, anything may have been written.

Functions of the driver (printf, assert, malloc: `gpudbg.sm.syscalls`) are called by an address that
the constants of the program hold (c[0x4]): they keep to the C ABI, and lanes come back together
(*inferred*: code of other modules that is called so may let them come back apart).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from gpudbg.isa.calling_convention import CALLEE_SAVED, RETURN_PAIR
from gpudbg.isa.operands import PT, RZ, CBankAddress, Const, Imm, Reg
from gpudbg.sm.cfg import CALLS, BasicBlock, Flow
from gpudbg.sm.lanes.execution import Names, ShapeExecution, without, written
from gpudbg.sm.lanes.values import FULL, KnownState, shape

_ADDRESS = 0xFFFF_FFFF_FFFF_FFFF
_ADDRESSES = 4
"""Bank of the constants that hold addresses of variables and functions."""


def clobbered(narrow: bool) -> Names:
    """What a function of the C ABI may have written, but for uniform registers; `narrow`: on sm_50
    to sm_62."""
    saved = CALLEE_SAVED | ({RETURN_PAIR, RETURN_PAIR + 1} if narrow else set())
    found: set[Any] = set(range(RZ)) - saved
    return frozenset(found | {("P", n) for n in range(PT)} | {"cc"})


class _Function(NamedTuple):
    """What a call leads to.

    Attributes:
        code: offsets of its instructions, with those of the functions that it calls.
        returns: offsets of its own RETs.
    """

    code: frozenset[int]
    returns: tuple[int, ...]


class KnownCalls(NamedTuple):
    """The calls of a section.

    Attributes:
        jumps: calls from which nothing comes back.
        returning: call -> offsets of the instructions that its lanes execute before they are back.
        driver: calls of functions of the driver.
        sure: there are no others.
    """

    jumps: frozenset[int]
    returning: Mapping[int, frozenset[int]]
    driver: frozenset[int]
    sure: bool


def known_calls(flow: Flow, execution: ShapeExecution) -> KnownCalls:
    """The calls of a section; none but the driver's where one of the others, or a RET, is not
    understood."""
    insns = flow.instructions.items()
    calls = {offset for offset, insn in insns if insn is not None and insn.op in CALLS}
    calls |= flow.pointer_calls
    returns = {offset for offset, insn in insns if insn is not None and insn.op == "RET"}
    finder = _Finder(flow, execution)
    driver = frozenset(filter(finder.of_driver, calls))
    jumps: set[int] = set()
    returning: dict[int, frozenset[int]] = {}
    for offset in calls - driver:
        found = finder.called(offset)
        if found is None:
            return KnownCalls(frozenset(), {}, driver, False)
        if found.returns or finder.narrow:
            returning[offset] = found.code
        else:
            jumps.add(offset)
    if returns - frozenset[int]().union(*returning.values()):
        return KnownCalls(frozenset(), {}, driver, False)
    return KnownCalls(frozenset(jumps), returning, driver, True)


class _Finder:
    """Follows the calls of a section.

    Attributes:
        narrow: calls push tokens.
    """

    def __init__(self, flow: Flow, execution: ShapeExecution) -> None:
        self._flow, self._execution = flow, execution
        self.narrow = flow.layout.has_control_words
        self._blocks = {block.start: block for block in flow.blocks()}
        self._home = {offset: b for b in self._blocks.values() for offset in b.offsets}
        self._functions: dict[int, _Function | None] = {}

    def of_driver(self, call: int) -> bool:
        """Whether a call goes to an address that was read from the program's constants."""
        insn = self._flow.instructions[call]
        register = min(insn.reads().registers, default=None) if insn is not None else None
        if register is None:
            return False
        for offset in reversed(self._home[call].offsets):
            before = self._flow.instructions[offset]
            if offset >= call or before is None or register not in before.writes().registers:
                continue
            banks = [o.bank for o in before.operands if isinstance(o, Const | CBankAddress)]
            return banks == [_ADDRESSES]
        return False

    def called(self, call: int) -> _Function | None:
        """What a call leads to, if that is known and comes back behind the call or never."""
        insn = self._flow.instructions[call]
        target = None if insn is None else insn.target(call)
        if insn is None or target is None or insn.reads().registers:
            return None
        found = self._function(self._flow.layout.first(target))
        if found is None or self.narrow:
            return found
        comes_back = all(self._comes_back(call, at, found) for at in found.returns)
        return found if comes_back else None

    def _function(self, start: int) -> _Function | None:
        """The code from a place on; None: it is not understood, as one that calls itself."""
        if start not in self._functions:
            self._functions[start] = None
            self._functions[start] = self._followed(start)
        return self._functions[start]

    def _followed(self, start: int) -> _Function | None:
        code: set[int] = set()
        returns: list[int] = []
        work, seen = [start], {start}
        while work:
            block = self._blocks.get(work.pop())
            if block is None or block.ends in ("illegal", "unknown"):
                return None
            code.update(block.offsets)
            for offset in block.offsets:
                insn = self._flow.instructions[offset]
                assert insn is not None
                if insn.op == "RET":
                    returns.append(offset)
                elif insn.op == "PRET" and self._flow.pushes(offset):
                    return None
                elif insn.op in CALLS and not self.of_driver(offset):
                    found = self.called(offset)
                    if found is None:
                        return None
                    code |= found.code
            behind = {edge.target for edge in block.edges} - seen
            seen |= behind
            work += behind
        return _Function(frozenset(code), tuple(returns))

    def _comes_back(self, call: int, back: int, function: _Function) -> bool:
        """Whether a RET of a function goes behind a call of it."""
        insns = self._flow.instructions
        before = self._executed(self._home[call], call, KnownState.empty())
        kept = without(before, written(insns[offset] for offset in function.code))
        state = self._executed(self._home[back], back, kept)
        machine, insn = self._execution.machine, insns[back]
        machine.state = state
        target = insn.target(back) or 0  # type: ignore[union-attr]
        pair = next((o for o in insn.operands if isinstance(o, Reg)), None)  # type: ignore[union-attr]
        more = insn.o.get("offset")  # type: ignore[union-attr]
        if pair is None:
            return False
        words = [shape(machine.reg(pair.index + n)) for n in range(2)]
        if not all(w is not None and w.uniform and w.bases and not w.given for w in words):
            return False
        low, high = (word.bases[0] & FULL for word in words)  # type: ignore[union-attr, index]
        goal = (high << 32 | low) + target + (more.value if isinstance(more, Imm) else 0)
        return goal & _ADDRESS == self._flow.layout.next(call)

    def _executed(self, block: BasicBlock, end: int, state: KnownState) -> KnownState:
        """What is known in a block before an instruction, with what is known at its begin."""
        machine = self._execution.machine
        machine.state = state.copy()
        for offset in block.offsets:
            insn: Any = self._flow.instructions[offset]
            if offset == end:
                break
            if insn.op in CALLS or insn.op == "RET":
                machine.state = KnownState.empty()
                continue
            self._execution.execute(insn)
        return machine.state
