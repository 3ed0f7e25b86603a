"""Products of warp groups: their registers, and whether all warps of a group issue them.

A product reads its registers of A and writes its accumulators from its issue until the warp's own
WARPGROUP.DEPBAR that covers its group; WARPGROUP.ARRIVE comes between what other instructions write
to such registers and the product (PTX ISA, wgmma.fence).  Compilers see to both in what they make;
other makers of machine code may not.
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final

from gpudbg.bits import lanes_of
from gpudbg.dataclass import dataclass
from gpudbg.sanitizer.findings import CheckFinding
from gpudbg.sanitizer.monitor import ExecutedInstruction, RunCheck

if TYPE_CHECKING:
    from gpudbg.sanitizer.collector import FindingCollector
    from gpudbg.sanitizer.findings import FindingAccess
    from gpudbg.sanitizer.places import AccessPlaces
    from gpudbg.sm.state import Cta, WarpState

PRODUCTS: Final = frozenset(("HGMMA", "IGMMA", "QGMMA", "BGMMA"))
"""Products of warp groups."""
_COUNT: Final = re.compile(r"gsb0, 0x([0-9a-f]+)")
_WARPS: Final = 4
"""Warps of a group."""
_FULL: Final = 0xFFFF_FFFF
_WAIT: Final = "wgmma.wait_group before the registers are used"
_FENCE: Final = "wgmma.fence between the write of the registers and the product"
_TOGETHER: Final = "all four warps of the group, with all lanes, issue the same products in order"


@dataclass(slots=True)
class PendingProduct:
    """A product whose end its warp has not waited for.

    Attributes:
        group: how many groups were closed before it.
        reads, writes: masks of registers.
        shape: name of the instruction, which accumulators of products in order share.
        side: who issued it.
    """

    group: int
    reads: int
    writes: int
    shape: str
    side: FindingAccess


@dataclass(slots=True)
class ProductWarp:
    """What a warp does with products.

    Attributes:
        closed: groups of products that are closed.
        pending: products not waited for.
        written: register -> the instruction that wrote it since the last WARPGROUP.ARRIVE.
        issued: how many products it has issued.
    """

    closed: int = 0
    pending: list[PendingProduct] = field(default_factory=list)
    written: dict[int, int] = field(default_factory=dict)
    issued: int = 0


@dataclass(slots=True)
class ProductSequence:
    """Products of a warp group in order, by (pc, who was first); whether warps have gone apart."""

    order: list[tuple[int, FindingAccess]] = field(default_factory=list)
    apart: bool = False


class WarpgroupCheck(RunCheck):
    """Registers of products that are in flight; groups whose warps issue different products.

    Args:
        races: whether register races are reported; `sync`: whether missing warps and lanes are.

    Attributes:
        explains: code addresses of instructions that the model cannot carry out.
    """

    def __init__(
        self, findings: FindingCollector, places: AccessPlaces, *, races: bool, sync: bool
    ) -> None:
        self._findings, self._places = findings, places
        self._races, self._sync = races, sync
        self._warps: dict[tuple[int, int], ProductWarp] = {}
        self._groups: dict[tuple[int, int], ProductSequence] = {}
        self._masks: dict[int, tuple[int, int]] = {}
        self.explains: set[int] = set()

    def _warp(self, warp: WarpState) -> ProductWarp:
        return self._warps.setdefault((warp.cta.number, warp.index), ProductWarp())

    def _registers(self, pc: int, insn: Any) -> tuple[int, int]:
        """Masks of the registers that an instruction reads and writes."""
        found = self._masks.get(pc)
        if found is None:
            reads, writes = insn.reads().registers, insn.writes().registers
            found = self._masks[pc] = (_mask(reads), _mask(writes))
        return found

    # ---- instructions ------------------------------------------------------------------
    def before(self, warp: WarpState, pc: int, insn: Any, lanes: int) -> None:
        if insn.op not in PRODUCTS and insn.op != "WARPGROUP":
            return
        if lanes != _FULL and lanes:
            self.explains.add(pc)
            if self._sync:
                missing = _FULL & ~lanes
                text = f"{missing.bit_count()} lanes of the warp do not take part"
                self._divergent(self._side("arrive", pc, warp, lanes), None, text)

    def executed(self, step: ExecutedInstruction) -> None:
        if not step.lanes:
            return
        op = step.insn.op
        if op == "WARPGROUP":
            self._waits(step)
        elif op in PRODUCTS:
            self._product(step)
        else:
            self._ordinary(step)

    def _waits(self, step: ExecutedInstruction) -> None:
        held, text = self._warp(step.warp), step.insn.text()
        if "ARRIVE" in text:
            held.written.clear()
            return
        found = _COUNT.search(text)
        if found is not None:
            over = held.closed - int(found[1], 16)
            held.pending = [p for p in held.pending if p.group >= over]

    def _product(self, step: ExecutedInstruction) -> None:
        held, insn = self._warp(step.warp), step.insn
        text = insn.text()
        nothing = insn.o["d"].index == 255
        if not nothing:
            reads, writes = self._registers(step.pc, insn)
            shape = ".".join((insn.op, *insn.m))
            side = self._side("gmma_read", step.pc, step.warp, step.lanes)
            self._unfenced(held, reads, side)
            for one in held.pending:
                of_a = reads & ~writes
                clash = one.writes & of_a | one.reads & writes & ~one.writes
                if one.shape != shape:
                    clash |= one.writes & writes
                if clash:
                    self._race(one, side, clash)
            made = PendingProduct(held.closed, reads & ~writes, writes, shape, side)
            held.pending = [p for p in held.pending if p.side.pc != step.pc]
            held.pending.append(made)
            if self._sync:
                self._in_order(step.warp, held, side)
        if "gsb0" in text:
            held.closed += 1

    def _unfenced(self, held: ProductWarp, reads: int, side: FindingAccess) -> None:
        """Registers of a product that were written since the last WARPGROUP.ARRIVE."""
        for register, pc in held.written.items():
            if reads >> register & 1 and self._races:
                text = (
                    f"{side.place} multiplies with R{register}, which was written after the last "
                    "wgmma.fence"
                )
                self._add_race(self._same_warp(side, pc), side, text, _FENCE)
                return

    def _ordinary(self, step: ExecutedInstruction) -> None:
        held = self._warps.get((step.warp.cta.number, step.warp.index))
        if held is None:
            held = self._warp(step.warp)
        reads, writes = self._registers(step.pc, step.insn)
        while writes:
            low = writes & -writes
            held.written[low.bit_length() - 1] = step.pc
            writes ^= low
        if not held.pending:
            return
        writes = self._masks[step.pc][1]
        met = [(p, p.writes & (reads | writes) | p.reads & writes) for p in held.pending]
        met = [(one, clash) for one, clash in met if clash]
        if met:
            one, clash = met[-1]
            kind = "load" if one.writes & reads else "store"
            self._race(one, self._side(kind, step.pc, step.warp, step.lanes), clash)
            # Report a defect once: count these as complete.
            held.pending = [p for p in held.pending if all(p is not m for m, _ in met)]

    # ---- findings ------------------------------------------------------------------------
    def _side(self, kind: str, pc: int, warp: WarpState, lanes: int) -> FindingAccess:
        lane = next(iter(lanes_of(lanes)))
        agent = "gmma" if kind == "gmma_read" else "thread"
        return self._places.access(kind, pc, warp, lane, agent=agent)

    def _same_warp(self, side: FindingAccess, pc: int) -> FindingAccess:
        """Side of an earlier instruction of the same warp."""
        return self._places.access_of("store", pc, side.block, side.thread, side.lane, side.warp)

    def _race(self, one: PendingProduct, side: FindingAccess, clash: int) -> None:
        register = (clash & -clash).bit_length() - 1
        verb = {"load": "reads", "store": "writes"}.get(side.kind, "multiplies with")
        text = (
            f"{side.place} {verb} R{register}, which the product at {one.side.place} still uses: "
            "nothing says that it is complete"
        )
        self._add_race(one.side, side, text, _WAIT)

    def _add_race(self, old: FindingAccess, new: FindingAccess, text: str, fix: str) -> None:
        if not self._races:
            return
        self._findings.add(
            ("race", "register", old.pc if fix is _WAIT else new.pc, fix),
            lambda: CheckFinding(
                "race", "error", "register", "register", "own", (old, new), where=text, fix=fix
            ),
        )

    def _in_order(self, warp: WarpState, held: ProductWarp, side: FindingAccess) -> None:
        """Compare a product with those the other warps of the group issued at the same position."""
        group = self._groups.setdefault((warp.cta.number, warp.index // _WARPS), ProductSequence())
        number = held.issued
        held.issued += 1
        if number == len(group.order):
            group.order.append((side.pc, side))
        elif group.order[number][0] != side.pc and not group.apart:
            group.apart = True
            text = (
                f"warp {side.warp} issues another product than warp {group.order[number][1].warp} "
                "of its group"
            )
            self._divergent(side, group.order[number][1], text)

    def _divergent(self, side: FindingAccess, other: FindingAccess | None, text: str) -> None:
        sides = (other, side) if other is not None else (side,)
        self._findings.add(
            ("sync", "wgmma_divergent", side.pc),
            lambda: CheckFinding(
                "sync", "error", "wgmma_divergent", None, None, sides,
                where=f"{side.place}: {text}", fix=_TOGETHER,
            ),
        )  # fmt: skip

    def cta_end(self, cta: Cta) -> None:
        for (number, index), group in list(self._groups.items()):
            if number != cta.number:
                continue
            del self._groups[number, index]
            for warp in range(_WARPS * index, _WARPS * index + _WARPS):
                held = self._warps.get((number, warp), ProductWarp())
                if held.issued < len(group.order) and not group.apart:
                    side = group.order[held.issued][1]
                    text = f"warp {warp} of its group does not issue this product"
                    self._divergent(side, None, text)
                    group.apart = True
        for key in [k for k in self._warps if k[0] == cta.number]:
            del self._warps[key]


def _mask(registers: Any) -> int:
    return sum(1 << n for n in set(registers) if n != 255)


def multiplies(instructions: Any) -> bool:
    """Whether code has products of warp groups."""
    return any(insn.op in PRODUCTS for _, insn in instructions)
