"""The code that a kernel can reach, and where its basic blocks begin."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from gpudbg.errors import DecodeError
from gpudbg.formats.program import CodeImage
from gpudbg.isa.operands import PT, Access
from gpudbg.isa.spa5.decode import decode
from gpudbg.sm.schedule.turns import FLOW, starts_piece

STOPS_FLOW = frozenset(("BRA", "BRX", "JMP", "JMX", "EXIT", "KIL", "RET", "SYNC", "BRK", "CONT"))


def landing(target: int) -> int:
    """The instruction a flow target means: the first word of a bundle is not one."""
    return target if target & 31 else target + 8


def following(pc: int) -> int:
    """The next instruction's address in straight code."""
    return landing(pc + 8)


@dataclass(slots=True)
class Listing:
    """The code reachable from some entries.

    Attributes:
        arch: architecture.
        base: address of the program's first word.
        entry: where the kernel begins.
        code: instructions by address.
        heads: where blocks begin.
        merge_points: heads that are reached otherwise than from the instruction before.
    """

    arch: str
    base: int
    entry: int
    code: dict[int, Any] = field(default_factory=dict)
    heads: set[int] = field(default_factory=set)
    merge_points: set[int] = field(default_factory=set)
    _written: Access | None = None

    @classmethod
    def of(cls, image: CodeImage, entry: int, entries: Iterable[int]) -> Listing:
        """Decode from the entries along every direct path."""
        found = cls(image.program.arch, image.base, landing(entry))
        work = [landing(pc) for pc in entries]
        while work:
            pc = work.pop()
            found.heads.add(pc)
            found.merge_points.add(pc)
            while pc not in found.code:
                insn = _decoded(image, pc, found.arch)
                if insn is None:
                    break
                found.code[pc] = insn
                target = direct_target(insn, pc)
                if target is not None:
                    work.append(target)
                pc = following(pc)
                if insn.op in FLOW:
                    found.merge_points.add(pc)
                if insn.op in FLOW or starts_piece(pc):
                    found.heads.add(pc)
                if insn.op in STOPS_FLOW and insn.guard == (PT, False) and _always(insn):
                    break
        return found

    def written(self) -> Access:
        """What any of the code writes: in a warp that begins all else is zero and stays so."""
        if self._written is None:
            self._written = self._writes()
        return self._written

    def _writes(self) -> Access:
        each = [insn.writes() for insn in self.code.values()]
        return Access(
            frozenset().union(*(found.registers for found in each)),
            frozenset().union(*(found.predicates for found in each)),
            any(found.cc for found in each),
        )

    def stretch(self, pc: int) -> int:
        """Instructions from a pc to the next block head in straight code."""
        count = 1
        pc = following(pc)
        while pc in self.code and pc not in self.heads:
            count += 1
            pc = following(pc)
        return count


def _always(insn: Any) -> bool:
    return insn.m.get("cctest") in ("T", "", False, None)


def _decoded(image: CodeImage, pc: int, arch: str) -> Any:
    """The instruction at an address, or None where there is none."""
    if pc & 7 or image.placement_at(pc) is None:
        return None
    offset = pc - image.base
    word = int.from_bytes(image.code[offset : offset + 8], "little")
    try:
        return decode(word, arch)
    except DecodeError:
        return None


def direct_target(insn: Any, pc: int) -> int | None:
    """Where a flow instruction or token leads, if the word says it."""
    target = insn.o.get("target")
    if target is None or not hasattr(target, "address"):
        return None
    if target.base is not None and not target.base.is_zero:
        return None
    return landing(int(target.address(pc)))


def indirect_entries(image: CodeImage, pc: int) -> set[int]:
    """Where computed branches of the function around a pc may lead: itself, and what no
    instruction falls into."""
    found = {pc}
    place = image.placement_at(pc)
    if place is None:
        return found
    found.add(landing(place.address))
    at = landing(place.address)
    while at < place.address + place.size:
        insn = _decoded(image, at, image.program.arch)
        after = following(at)
        if insn is not None and insn.op in STOPS_FLOW and after < place.address + place.size:
            found.add(after)
        at = after
    return found
