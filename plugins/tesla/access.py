"""What threads do to the machine's memory: l[] and g[] accesses, pushes and pops.

Refusals carry the names of the MP's trap bits as the kernel driver lists them (inferred).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpudbg.errors import UsageError

from .machine import TeslaMachine
from .mangle import size_of_log, stack_entries
from .memory import WordMemory
from .physid import PhysId
from .stack import TYPE_CODES, WarpStack

OBJECT = "turing"


class TrapError(UsageError):
    """A trap of the MP: its name and why."""

    def __init__(self, name: str, why: str) -> None:
        self.name = name
        self.why = why
        super().__init__(f"{name}: {why}")


@dataclass(frozen=True, slots=True)
class Window:
    """Memory seen from a segment base; the word store a `WarpStack` spills to."""

    memory: WordMemory
    base: int

    def get(self, address: int, default: int) -> int:
        """The word at a segment-relative address."""
        return self.memory.read(self.base + address)

    def __setitem__(self, address: int, value: int) -> None:
        self.memory.write(self.base + address, value)


def local_place(machine: TeslaMachine, who: PhysId, addr: int, access: str) -> int:
    """Memory address of a word of a thread's l[].

    Raises:
        TrapError: LOCAL_LIMIT_`access` beyond LOCAL_SIZE_LOG.
        UsageError: unaligned, or a thread that does not exist or does not run.
    """
    if addr % 4:
        raise UsageError(f"l[0x{addr:x}] is not aligned to a word")
    limit = size_of_log(machine.get(OBJECT, "LOCAL_SIZE_LOG"), 16)
    if addr >= limit:
        raise TrapError(f"LOCAL_LIMIT_{access}", f"l[0x{addr:x}] of {limit} bytes per thread")
    layout = machine.local_layout(OBJECT)
    _check_runs(layout.group.runs(who.warp), who.warp, "LOCAL")
    place = layout.address(addr, who.lane, who.warp, who.mp, who.tp)
    return machine.address(OBJECT, "LOCAL_ADDRESS") + place


def global_place(machine: TeslaMachine, space: int, reg: int, access: str) -> int:
    """Memory address of a word of g`space`[].

    Raises:
        TrapError: GLOBAL_LIMIT_`access` beyond GLOBAL_LIMIT.
        UsageError: unaligned.
    """
    if reg % 4:
        raise UsageError(f"g{space}[0x{reg:x}] is not aligned to a word")
    found = machine.global_space(space).access(reg)
    if found.out_of_bounds:
        raise TrapError(f"GLOBAL_LIMIT_{access}", f"g{space}[0x{reg:x}] is beyond GLOBAL_LIMIT")
    return found.address


def _check_runs(runs: bool, warp: int, name: str) -> None:
    if not runs:
        raise UsageError(
            f"warp {warp} does not run: {name}_WARPS_LOG_ALLOC does not reach it and NO_CLAMP is 0"
        )


def warp_stack(machine: TeslaMachine, who: PhysId) -> WarpStack:
    """The stack of a warp, made at its first use."""
    key = (who.tp, who.mp, who.warp)
    layout = machine.stack_layout(OBJECT)
    limit = stack_entries(machine.get(OBJECT, "STACK_SIZE_LOG"))
    if not limit:
        raise UsageError("the stack is off: STACK_SIZE_LOG is 0")
    _check_runs(layout.group.runs(who.warp), who.warp, "STACK")
    layout.address(0, who.warp, who.mp, who.tp)
    held = machine.stacks.get(key)
    if held is None:
        held = WarpStack(layout, who.warp, who.mp, who.tp, limit)
        machine.stacks[key] = held
    held.layout, held.limit = layout, limit
    held.memory = Window(machine.memory, machine.address(OBJECT, "STACK_ADDRESS"))
    return held


def push(machine: TeslaMachine, who: PhysId, kind: str, target: int, mask: int) -> dict[str, Any]:
    """Push an entry on the stack of a warp; the entry and what moved."""
    held = warp_stack(machine, who)
    if kind not in TYPE_CODES:
        raise UsageError(f"no stack entry type '{kind}'", ", ".join(TYPE_CODES))
    if held.depth >= held.limit:
        raise TrapError("STACK_LIMIT", f"warp {who.warp} already has {held.depth} entries")
    before = len(held.events)
    entry = held.push(kind, target, mask)
    return _result(held, before) | {"entry": entry.to_json()}


def pop(machine: TeslaMachine, who: PhysId) -> dict[str, Any]:
    """Pop the stack of a warp; the entry and what moved."""
    held = warp_stack(machine, who)
    if not held.depth:
        raise TrapError("STACK_UNDERFLOW", f"the stack of warp {who.warp} is empty")
    before = len(held.events)
    entry = held.pop()
    return _result(held, before) | {"entry": entry.to_json()}


def _result(held: WarpStack, before: int) -> dict[str, Any]:
    return {
        "depth": held.depth,
        "resident_blocks": sorted(held.resident),
        "events": held.events[before:],
    }
