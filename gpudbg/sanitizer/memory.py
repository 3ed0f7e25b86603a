"""Accesses outside of what is allocated, and memory that is never freed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from gpudbg.bits import lanes_of
from gpudbg.mem.faults import NULL_BYTES
from gpudbg.mem.lanes import pack
from gpudbg.sanitizer.findings import CheckFinding
from gpudbg.sanitizer.monitor import ExecutedInstruction, RunCheck, Touch
from gpudbg.sm.syscalls import FIRST_ARGUMENT

if TYPE_CHECKING:
    from gpudbg.mem.device import Allocation, DeviceMemory
    from gpudbg.mem.faults import MemoryFault
    from gpudbg.sanitizer.collector import FindingCollector
    from gpudbg.sanitizer.findings import FindingAccess, Severity
    from gpudbg.sanitizer.places import AccessPlaces
    from gpudbg.sm.state import WarpState

_FREES: Final = {True: "double_free", False: "invalid_free"}
_FAR: Final = 1 << 19
"""Distance from every allocation beyond which an address is attributed to none."""
_FIXES: Final = {
    "past_end": "compare the index with the number of elements before the access",
    "before_start": "an index below 0: compare it with 0 before the access",
    "null": "the pointer was never set, or the argument is 0",
    "frame": "an index outside the local array",
    "no_allocation": "",
}


class MemoryCheck(RunCheck):
    """Out of bounds, misaligned and freed memory: accesses that the machine refused."""

    def __init__(
        self,
        findings: FindingCollector,
        places: AccessPlaces,
        memory: DeviceMemory,
        heap: HeapSites,
        system_shared: int = 0,
    ) -> None:
        """
        Args:
            heap: where blocks of the heap were made and freed.
            system_shared: bytes at the begin of shared memory that are not the kernel's.
        """
        self._findings, self._places, self._memory = findings, places, memory
        self._heap, self._system_shared = heap, system_shared

    def executed(self, step: ExecutedInstruction) -> None:
        if not self._system_shared:
            return
        for touch in step.touches:
            if touch.space == "shared" and touch.lanes:
                below = pack(touch.addresses < self._system_shared) & touch.lanes
                if below:
                    self._below(step, touch, below)

    def _below(self, step: ExecutedInstruction, touch: Touch, lanes: int) -> None:
        """Report lanes that access bytes before the kernel's own shared memory."""
        lane = next(iter(lanes_of(lanes)))
        address = int(touch.addresses[lane])

        def make() -> CheckFinding:
            one = self._places.access(
                touch.kind, step.pc, step.warp, lane, address=address, size=touch.size
            )
            where = (
                f"{one.place}: {touch.size}-byte {touch.kind} at shared[0x{address:x}], "
                f"{self._system_shared - address} bytes before the kernel's shared memory, which "
                f"begins at 0x{self._system_shared:x}"
            )
            return CheckFinding(
                "out_of_bounds", "error", "before_start", "shared", None, (one,), where=where,
                fix=_FIXES["before_start"],
            )  # fmt: skip

        key = ("out_of_bounds", "before_start", step.pc)
        self._findings.add(key, make, lanes.bit_count())

    def refused(
        self, step: ExecutedInstruction, fault: MemoryFault, access: str, size: int
    ) -> None:
        if "which has ended" in fault.detail:
            # A race with the block's end is another check's finding.
            return
        if access == "free":
            self._freed(step, fault)
            return
        kind, cause = self._cause(fault, size)
        count = fault.lanes.bit_count()

        def make() -> CheckFinding:
            lane = next(iter(lanes_of(fault.lanes)))
            there = self._memory.describe(fault.address, size) + self._maker(fault.address)
            outside = fault.space in ("global", "generic") and kind != "misaligned"
            one = self._places.access(
                access, step.pc, step.warp, lane, address=fault.address, size=size
            )
            freed = self._memory.find_freed(fault.address) if kind == "use_after_free" else None
            free = self._heap.freed.get(freed) if freed is not None else None
            sides = (free, one) if free is not None else (one,)
            where = f"{one.place}: {fault.message(access, size)}"
            if outside:
                where += f", {there}"
            return CheckFinding(
                kind, "error", cause, _space(fault.space), None, sides,
                allocation=there if outside else "", where=where, fix=_FIXES.get(cause, ""),
            )  # fmt: skip

        self._findings.add((kind, cause, step.pc), make, count)

    def _maker(self, address: int) -> str:
        """Where the heap block at or beside an address was allocated; "" where there is none."""
        block = self._memory.find_freed(address) or self._memory.nearest(address)
        if block is None or not block.base - _FAR <= address <= block.end + _FAR:
            return ""
        site = self._heap.made.get(block)
        return f", allocated at {site.place} by {site.who}" if site is not None else ""

    def _freed(self, step: ExecutedInstruction, fault: MemoryFault) -> None:
        """Report a call of `free` with a pointer that cannot be freed."""
        again = self._memory.find_freed(fault.address) is not None
        kind, site = _FREES[again], self._heap.call(step.warp, step.pc)

        def make() -> CheckFinding:
            lane = next(iter(lanes_of(fault.lanes)))
            one = self._places.access("free", site, step.warp, lane, address=fault.address)
            there = self._memory.describe(fault.address) + self._maker(fault.address)
            where = f"{one.place}: {fault.detail}"
            freed = self._memory.find_freed(fault.address)
            first = self._heap.freed.get(freed) if freed is not None else None
            if first is not None:
                where += f" at {first.place} by {first.who}"
            return CheckFinding(
                kind, "error", "", "global", None, (one,), allocation=there, where=where
            )

        self._findings.add((kind, site), make)

    def _cause(self, fault: MemoryFault, size: int) -> tuple[str, str]:
        if fault.code == "MISALIGNED_ADDR":
            return "misaligned", ""
        if fault.space == "local":
            return "out_of_bounds", "frame"
        if fault.space == "shared" and "in rank" in fault.detail:
            return "out_of_bounds", "no_allocation"
        if fault.space in ("shared", "const"):
            return "out_of_bounds", "past_end"
        address = fault.address
        if address < NULL_BYTES:
            return "out_of_bounds", "null"
        if self._memory.find_freed(address) is not None:
            return "use_after_free", ""
        near = self._memory.nearest(address)
        if near is None or min(abs(address - near.end), abs(near.base - address)) > _FAR:
            return "out_of_bounds", "no_allocation"
        return "out_of_bounds", "past_end" if address >= near.base else "before_start"


def _space(name: str) -> str:
    return "global" if name == "generic" else name


class HeapSites(RunCheck):
    """Where kernels call malloc and free.

    Attributes:
        made, freed: by block; a free of an address inside a block counts as one of that.
    """

    def __init__(self, places: AccessPlaces, memory: DeviceMemory) -> None:
        self._places, self._memory = places, memory
        self._last: dict[int, int] = {}
        self.made: dict[Allocation, FindingAccess] = {}
        self.freed: dict[Allocation, FindingAccess] = {}

    def before(self, warp: WarpState, pc: int, insn: Any, lanes: int) -> None:
        if insn.op != "SYSCALL":
            self._last[id(warp)] = pc
        elif insn.name == "free" and lanes:
            site = self.call(warp, pc)
            for lane, found in self._blocks(warp, lanes):
                self.freed[found] = self._places.access(
                    "free", site, warp, lane, address=found.base, size=found.size
                )

    def executed(self, step: ExecutedInstruction) -> None:
        if step.insn.op == "SYSCALL" and step.insn.name == "malloc":
            for lane, found in self._blocks(step.warp, step.lanes):
                site = self.call(step.warp, step.pc)
                self.made[found] = self._places.access(
                    "malloc", site, step.warp, lane, address=found.base, size=found.size
                )

    def call(self, warp: WarpState, pc: int) -> int:
        """The pc that a function of the driver was called from."""
        return self._last.get(id(warp), pc)

    def _blocks(self, warp: WarpState, lanes: int) -> list[tuple[int, Allocation]]:
        """(lane, block) for each pointer in R4 and R5."""
        low, high = warp.R[FIRST_ARGUMENT], warp.R[FIRST_ARGUMENT + 1]
        found = []
        for lane in lanes_of(lanes):
            block = self._memory.find(int(low[lane]) | int(high[lane]) << 32)
            if block is not None and block.tag == "heap":
                found.append((lane, block))
        return found


def report_leaks(
    findings: FindingCollector,
    blocks: Iterable[Allocation],
    made: Mapping[Allocation, FindingAccess],
) -> None:
    """Report allocations of kernels that were not freed.

    A kernel that has read freed memory may have lost its pointers there: a note.
    """
    kept = {f.kind: f for f in findings.sorted()}.get("use_after_free")
    lost = kept is not None and any(a.kind == "load" for a in kept.accesses)
    for block in blocks:
        site = made.get(block)
        key = ("leak", site.pc if site is not None else 0)
        if not findings.seen(key, 1, block.size):
            findings.add(key, partial(_leak, block, site, "note" if lost else "error"))


def _leak(block: Allocation, site: FindingAccess | None, severity: Severity) -> CheckFinding:
    where = f"{site.place} allocates what nobody frees" if site is not None else block.name
    return CheckFinding(
        "leak", severity, "", "global", None, (site,) if site is not None else (),
        bytes=block.size, allocation=block.name, where=where, fix="free() on every path",
    )  # fmt: skip
