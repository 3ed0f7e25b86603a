"""Finds strong accesses that machine code of sm_70 and later does not mark, by the code around
them.

Stores and loads of shared memory carry no scope.  Measured (NVRTC 12.9): a release store or atomic
follows a MEMBAR, as a volatile store behind a fence does, with nothing but arithmetic between; an
acquire load or atomic of the block's scope is followed by a NOP before anything else is accessed,
and the result is there at that NOP: from sm_90 on the NOP itself waits for it, before that it or an
instruction between does.  A `__syncwarp` is a NOP, too, which nothing else tells apart where a
load's result is used before it on sm_70 to sm_89.  A load that its own loop repeats until it
changes must be volatile or atomic in the source, since a compiler would else load once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from gpudbg.architectures import age
from gpudbg.dataclass import dataclass
from gpudbg.isa.operands import Reg
from gpudbg.isa.volta import WideControl
from gpudbg.sm.schedule.turns import FLOW_WIDE

_STORES: Final = frozenset(("STS", "ATOMS"))
_LOADS: Final = frozenset(("LDS", "ATOMS", "LDG", "ATOMG", "LD", "ATOM"))
_ACCESSES: Final = _LOADS | frozenset(("STS", "STG", "ST", "RED", "REDG", "BAR", "LDGSTS", "SYNCS"))
_FLOW: Final = FLOW_WIDE | frozenset(("BSSY", "NOP"))
_NEAR: Final = 6
"""Instructions after a load that are searched for its companions."""


@dataclass(frozen=True, slots=True)
class HandOvers:
    """Code addresses by what their accesses are.

    Attributes:
        strong: of the block's scope although nothing says so.
        takes: their reads acquire.
    """

    strong: frozenset[int] = frozenset()
    takes: frozenset[int] = frozenset()


NO_HAND_OVERS: Final = HandOvers()


def hand_overs(instructions: Sequence[tuple[int, Any]], arch: str) -> HandOvers:
    """What is strong, and what acquires, in code.

    Args:
        instructions: (pc, instruction) in order.
    """
    itself = age(arch) >= age("sm_90")
    strong, takes = set(), set()
    for n, (pc, insn) in enumerate(instructions):
        if insn.op in _STORES and _after_fence(instructions, n):
            strong.add(pc)
        if insn.op in _LOADS and "CONSTANT" not in insn.text():
            ends = _followed_by(instructions, n, itself)
            if ends == "NOP" and (insn.op in ("LDS", "ATOMS") or ".STRONG" in insn.text()):
                strong.add(pc)
                takes.add(pc)
            elif ends == "loop" and insn.op == "LDS":
                strong.add(pc)
    return HandOvers(frozenset(strong), frozenset(takes))


def _after_fence(instructions: Sequence[tuple[int, Any]], n: int) -> bool:
    """Whether a MEMBAR precedes an instruction, with nothing but arithmetic between."""
    for _, insn in reversed(instructions[max(n - _NEAR, 0) : n]):
        if insn.op == "MEMBAR":
            return True
        if insn.op in _ACCESSES or insn.op in _FLOW:
            return False
    return False


def _followed_by(instructions: Sequence[tuple[int, Any]], n: int, itself: bool) -> str:
    """`NOP`, `loop` (a branch back to the load or before it) or "" of what is behind a load.

    Args:
        itself: the NOP waits for an acquire load, not what stands before it.
    """
    start = instructions[n][0]
    signal = WideControl.of(instructions[n][1].word).write_barrier
    there = signal is None
    earliest = instructions[max(n - _NEAR, 0)][0]
    for _, insn in instructions[n + 1 : n + 1 + _NEAR]:
        waits = signal is not None and WideControl.of(insn.word).wait >> signal & 1
        if insn.op == "NOP":
            if there or waits:
                return "NOP"
            break
        there |= bool(waits) and not itself
        if insn.op == "BRA" or insn.op in _ACCESSES:
            break
    for pc, insn in instructions[n + 1 : n + 1 + 3 * _NEAR]:
        if insn.op in _ACCESSES:
            return ""
        if insn.op == "BRA":
            goal = insn.target(pc)
            if goal is not None and earliest <= goal <= start:
                return "loop"
    return ""


def masks_of_converged(instructions: Sequence[tuple[int, Any]]) -> dict[int, int]:
    """Where lanes with masks of their own (tiles) come to a `__syncwarp`: the register that holds
    the masks, by code address of what stands before its NOP.

    That is a WARPSYNC of the register, or a `BRA.CONV`, which goes to the NOP where all lanes of
    the masks are together; a call of a WARPSYNC stands behind it.

    Args:
        instructions: (pc, instruction) in order.
    """
    at = {pc: n for n, (pc, _) in enumerate(instructions)}
    found = {}
    for n, (pc, insn) in enumerate(instructions):
        if insn.op == "WARPSYNC" and isinstance(insn.o.get("a"), Reg):
            found[pc] = insn.o["a"].index
        if insn.op != "BRA" or ".CONV" not in insn.text():
            continue
        calls = [(p, i) for p, i in instructions[n + 1 : n + 4] if i.op == "CALL"]
        goal = calls[0][1].target(calls[0][0]) if calls else None
        if goal is None or goal not in at:
            continue
        written = {r for _, i in instructions[n + 1 : n + 4] for r in i.writes().registers}
        for _, called in instructions[at[goal] : at[goal] + _NEAR]:
            mask = called.o.get("a")
            if called.op == "WARPSYNC" and isinstance(mask, Reg):
                if mask.index not in written:
                    found[pc] = mask.index
                break
            written |= called.writes().registers
    return found


def outlined(instructions: Sequence[tuple[int, Any]]) -> dict[int, int]:
    """Code address -> that of the CALL which leads there, of what compilers put behind a kernel's
    end for lanes that have to meet first: a WARPSYNC, a shuffle or vote, and a RET.

    Line tables give it the line of the kernel's last instruction.

    Args:
        instructions: (pc, instruction) in order.
    """
    at = {pc: n for n, (pc, _) in enumerate(instructions)}
    found: dict[int, int] = {}
    shared: set[int] = set()
    for pc, insn in instructions:
        goal = insn.target(pc) if insn.op == "CALL" and ".REL" in insn.text() else None
        if goal is None or goal not in at:
            continue
        behind = instructions[at[goal] : at[goal] + 2 * _NEAR]
        ends = next((n for n, (_, other) in enumerate(behind) if other.op == "RET"), None)
        body = behind[: ends or 0]
        if any(other.op == "WARPSYNC" for _, other in body):
            shared |= {place for place, _ in body if found.get(place, pc) != pc}
            found |= {place: pc for place, _ in body}
    return {place: pc for place, pc in found.items() if place not in shared}
