"""Accesses through the address of a variable that hit what is beside it.

The variables of a program stand side by side in one allocation, so that an index past the end of
one is in the next.  Each register that holds an address derived from a variable is labelled with
it; where two labels meet, or an address is computed otherwise, nothing is reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from gpudbg.dataclass import dataclass
from gpudbg.isa.operands import Reg
from gpudbg.mem.lanes import bools, pack
from gpudbg.sanitizer.findings import CheckFinding
from gpudbg.sanitizer.monitor import ExecutedInstruction, RunCheck, Touch
from gpudbg.sanitizer.symbol_addresses import (
    CHOICES,
    PASSING,
    Key,
    SymbolAddresses,
    SymbolBytes,
    address_keys,
    addresses,
    keys_of,
    sources,
    written,
)

if TYPE_CHECKING:
    from gpudbg.isa.operands import Address
    from gpudbg.mem.device import DeviceMemory
    from gpudbg.sanitizer.collector import FindingCollector
    from gpudbg.sanitizer.places import AccessPlaces
    from gpudbg.sm.state import Cta, WarpState

Marks = npt.NDArray[np.int16]
"""By lane: number of a variable; 0 for none, `_UNCLEAR` where it is lost."""
_UNCLEAR: Final = -1
_FIXES: Final = {
    "past_end": "compare the index with the number of elements before the access",
    "before_start": "an index below 0: compare it with 0 before the access",
}
_VERBS: Final = {"load": "reads", "store": "writes", "atomic": "updates"}


@dataclass(frozen=True, slots=True)
class _Operands:
    """The operands of an instruction that matter for addresses.

    Attributes:
        results: registers that it writes.
        sources: registers that these are made of, and whether one is only added or moved.
        begins: number of the variable whose address it holds itself, or 0.
        addresses: in memory.
        chooses: the result is one of two operands.
    """

    results: tuple[Key, ...]
    sources: tuple[tuple[tuple[Key, ...], bool], ...]
    begins: int
    addresses: tuple[Address, ...]
    chooses: bool

    @classmethod
    def of(cls, insn: Any, pc: int, known: SymbolAddresses) -> _Operands:
        begins, found = known.places.get(pc, 0), []
        if insn.op in PASSING:
            for operand, plain in sources(insn):
                begins = begins or (known.source(operand) if plain else 0)
                if isinstance(operand, Reg):
                    found.append((tuple(keys_of(operand)), plain))
        else:
            # A result computed otherwise is no longer an address.
            reads = insn.reads()
            found = [((("R", i),), False) for i in reads.registers]
            found += [((("UR", i),), False) for i in reads.uniform]
        return cls(
            tuple(written(insn)), tuple(found), begins, tuple(addresses(insn)), insn.op in CHOICES
        )


class SymbolBoundsCheck(RunCheck):
    """Follows addresses of variables through the registers of one launch."""

    def __init__(
        self,
        findings: FindingCollector,
        places: AccessPlaces,
        memory: DeviceMemory,
        known: SymbolAddresses,
    ) -> None:
        self._findings, self._places, self._memory, self._known = findings, places, memory, known
        self._warps: dict[int, dict[Key, Marks]] = {}
        self._seen: dict[int, _Operands] = {}
        self._address: Marks | None = None

    def cta_end(self, cta: Cta) -> None:
        for index in range(64):
            self._warps.pop(cta.number << 8 | index, None)

    def before(self, warp: WarpState, pc: int, insn: Any, lanes: int) -> None:
        self._address = None
        if not lanes:
            return
        state = self._warps.setdefault(warp.cta.number << 8 | warp.index, {})
        if insn.op == "SYSCALL":
            # Driver functions return a value in R4 and R5.
            state.pop(("R", 4), None)
            state.pop(("R", 5), None)
            return
        seen = self._seen.get(pc)
        if seen is None:
            seen = self._seen[pc] = _Operands.of(insn, pc, self._known)
        if not state and not seen.begins:
            return
        for operand in seen.addresses:
            found = self._sum(state, operand)
            if found is not None:
                self._address = found
        made = self._made(state, seen) if seen.results else None
        chosen = bools(lanes)
        for key in seen.results:
            held = state.get(key)
            if held is None and made is None:
                continue
            if held is None:
                held = state[key] = np.zeros(32, np.int16)
            np.copyto(held, 0 if made is None else made, where=chosen if key[0] == "R" else True)
            if not held.any():
                del state[key]

    def _sum(self, state: dict[Key, Marks], operand: Address) -> Marks | None:
        """Label of the variable that an address operand belongs to."""
        found = [state[key] for key in address_keys(operand) if key in state]
        high = keys_of(operand.base)[1:2] if operand.wide else []
        if operand.wide and operand.base.count == 1 and not operand.base.is_zero:
            high = [(operand.base.file, operand.base.index + 1)]
        made = _one(found)
        if made is not None and high and high[0] in state and len(found) == 1:
            made = np.where(state[high[0]] == made, made, _UNCLEAR).astype(np.int16)
        return made

    def _made(self, state: dict[Key, Marks], seen: _Operands) -> Marks | None:
        """Label of the variable whose address a result is."""
        given = [np.full(32, seen.begins, np.int16)] if seen.begins else []
        for keys, plain in seen.sources:
            held = next((state[key] for key in keys if key in state), None)
            if held is not None:
                given.append(held if plain else np.where(held != 0, _UNCLEAR, 0).astype(np.int16))
        made = _one(given)
        if made is not None and seen.chooses:
            same = len(given) == 2 and np.array_equal(given[0], given[1])
            return given[0] if same else np.full(32, _UNCLEAR, np.int16)
        return made

    # ---- accesses ----------------------------------------------------------------------
    def executed(self, step: ExecutedInstruction) -> None:
        marks = self._address
        if marks is None:
            return
        for touch in step.touches:
            if touch.space == "global":
                for number in set(marks[bools(touch.lanes)].tolist()):
                    if number > 0:
                        lanes = pack(marks == number) & touch.lanes
                        self._touch(step, touch, lanes, self._known.symbols[number - 1])

    def _touch(
        self, step: ExecutedInstruction, touch: Touch, lanes: int, symbol: SymbolBytes
    ) -> None:
        low, high = np.uint64(symbol.low), np.uint64(symbol.high)
        inside = (touch.addresses >= low) & (touch.addresses + np.uint64(touch.size) <= high)
        bad = pack(~inside) & lanes
        if not bad:
            return
        lane = (bad & -bad).bit_length() - 1
        address = int(touch.addresses[lane])
        cause = "before_start" if address < symbol.low else "past_end"

        def make() -> CheckFinding:
            one = self._places.access(
                touch.kind, step.pc, step.warp, lane, address=address, size=touch.size
            )
            size = symbol.high - symbol.low
            off = symbol.low - address if cause == "before_start" else address - symbol.high
            side = "before its start" if cause == "before_start" else "past its end"
            if off < 0:
                side, off = "past its end", address + touch.size - symbol.high
                text = f"{symbol.name} ({size} B), its last {off} B {side}"
            else:
                text = f"{symbol.name} ({size} B), {off} B {side}"
            beside = self._beside(address)
            return CheckFinding(
                "out_of_bounds", "error", cause, "global", None, (one,),
                allocation=text + beside, fix=_FIXES[cause],
                where=f"{one.place}: {_VERBS[touch.kind]} {touch.size} bytes at 0x{address:x}, "
                f"{text}{beside}",
            )  # fmt: skip

        self._findings.add(("out_of_bounds", cause, step.pc), make, bad.bit_count())

    def _beside(self, address: int) -> str:
        """Description of the memory that was hit instead."""
        for symbol in self._known.symbols:
            if symbol.low <= address < symbol.high:
                return f", in {symbol.name}"
        found = self._memory.find(address)
        return f", in {found.name}" if found is not None and found.tag != "global" else ""


def _one(given: list[Marks]) -> Marks | None:
    """The label of the only address among summands; None with two."""
    if len(given) < 2:
        return given[0] if given else None
    made = given[0]
    for other in given[1:]:
        both = (made != 0) & (other != 0)
        made = np.where(both, _UNCLEAR, np.where(made != 0, made, other)).astype(np.int16)
    return made
