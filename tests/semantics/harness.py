"""One instruction on the step engine: 32 lanes of state in, 32 lanes of state out."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gpudbg.formats.layout import relocate
from gpudbg.formats.program import CodeImage
from gpudbg.formats.raw import read_raw
from gpudbg.isa.spa5.decode import decode
from gpudbg.mem.constant import ConstantBanks
from gpudbg.mem.device import DeviceMemory
from gpudbg.mem.local import LocalMemory
from gpudbg.mem.store import ByteStore
from gpudbg.mem.windows import layout_for
from gpudbg.sm import record as rec
from gpudbg.sm.barriers.phase import Barriers
from gpudbg.sm.engines.step import Bound, StepEngine
from gpudbg.sm.faults import TrapRaised, WarpErrorRaised
from gpudbg.sm.semantics import registry
from gpudbg.sm.sregs import SregFile
from gpudbg.sm.state import Cta, Sm, WarpState
from gpudbg.sm.trap.instructions import TrapPolicy

FULL = 0xFFFFFFFF
EDGES = (
    0, 1, 2, 3, 15, 16, 31, 32, 33, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFE,
    0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFF0000, 0xFFFF8000, 0xFFFFFFFE, 0xFFFFFFFF,
)  # fmt: skip


@dataclass
class State:
    """Registers (number -> 32 values), predicates and flags as lane masks."""

    registers: dict[int, list[int]] = field(default_factory=dict)
    predicates: list[int] = field(default_factory=lambda: [0] * 7)
    flags: dict[str, int] = field(default_factory=lambda: dict.fromkeys("ZSCOK", 0))
    active: int = FULL

    def lane(self, number: int, lane: int) -> int:
        """A register's value in one lane; RZ reads 0."""
        return 0 if number == 255 else self.registers[number][lane]

    def flag(self, name: str, lane: int) -> int:
        """One flag of one lane."""
        return self.flags[name] >> lane & 1

    def pred(self, number: int, lane: int) -> int:
        """One predicate of one lane; PT is true."""
        return 1 if number == 7 else self.predicates[number] >> lane & 1


class Bench:
    """A warp, memory and constants on which single instructions execute.

    Attributes:
        engine, warp, cta, sm: the machine.
        memory: global memory; `bank(n)` gives a constant bank's bytes.
    """

    def __init__(self, arch: str = "sm_50", registers: int = 64, shared: int = 4096) -> None:
        self.arch = arch
        self.memory = DeviceMemory(layout_for(arch))
        self.banks = {n: ByteStore(0x400) for n in (0, 1, 2, 3)}
        self.cta = Cta(0, (0, 0, 0), 0, 0, shared)
        self.cta.barriers = Barriers(16)
        self.sm = Sm(0, 64, 32)
        self.engine = StepEngine(
            _no_code(arch), self.memory, ConstantBanks(self.banks), _SameSreg(), TrapPolicy()
        )
        self.warp = WarpState(self.cta, 0, 0, registers, 32, LocalMemory(1024))
        self.cta.warps = [self.warp]

    def bank(self, number: int) -> npt.NDArray[np.uint32]:
        """The 32-bit words of a constant bank, writable."""
        return self.banks[number].words

    def execute(self, word: int, state: State, pc: int = 8) -> State:
        """The state after one instruction.

        Raises:
            WarpErrorRaised, TrapRaised, ModelGap: as the instruction does.
        """
        insn = decode(word, self.arch)
        guard, negated = insn.guard
        following = pc + 8 if (pc + 8) & 31 else pc + 16
        function = registry.table()[insn.op]
        self.engine._bound.clear()
        self.engine._bound[pc] = Bound(pc, following, rec.PRED + guard, negated, insn, function)
        self._load(state, pc)
        ended = self.engine.run(self.warp, self.sm, 1)
        if ended in ("fault", "trap"):
            error = self.engine.fault
            assert isinstance(error, WarpErrorRaised | TrapRaised)
            raise error
        return self.state()

    def _load(self, state: State, pc: int) -> None:
        warp = self.warp
        for number, values in state.registers.items():
            warp.R[number] = values
        for number, mask in enumerate(state.predicates):
            warp.predicates[number] = mask
        for number, name in enumerate("ZSCOK"):
            warp.cc[number] = state.flags[name]
        words = warp.words
        words[rec.VALID], words[rec.EXITED], words[rec.STATUS] = FULL, 0, rec.READY
        warp.active, warp.pc = state.active, pc

    def state(self) -> State:
        """The warp's present state."""
        warp = self.warp
        flags = {name: warp.cc[n] for n, name in enumerate("ZSCOK")}
        registers = {n: row.tolist() for n, row in enumerate(warp.R)}
        return State(registers, list(warp.predicates), flags, warp.active)


def _no_code(arch: str) -> CodeImage:
    """A program of empty words: instructions are bound directly."""
    return relocate(read_raw(bytes(32), "bare.bin", arch=arch), 0)


class _SameSreg(SregFile):
    """Special register n reads n."""

    def __init__(self) -> None:
        pass

    def read(self, warp: WarpState, sm: Sm, number: int) -> npt.NDArray[np.uint32]:
        return np.full(32, number, np.uint32)

    def read_coupled(self, warp: WarpState, sm: Sm, number: int) -> npt.NDArray[np.uint32]:
        return np.full(32, number + 1000, np.uint32)


def values(rng: random.Random, edges: Sequence[int] = EDGES) -> list[int]:
    """32 values: mostly edges, else random of random magnitude."""
    out = []
    for _ in range(32):
        if rng.randrange(3):
            out.append(rng.choice(edges))
        else:
            out.append(rng.getrandbits(32) >> rng.randrange(32))
    return out


def random_state(rng: random.Random, registers: Sequence[int] = range(16)) -> State:
    """Edge-heavy registers, random predicates and flags; some lanes inactive at times."""
    flags = {name: rng.getrandbits(32) for name in "ZSCOK"}
    active = rng.choice((FULL, FULL, rng.getrandbits(32) | 1))
    return State(
        {r: values(rng) for r in registers}, [rng.getrandbits(32) for _ in range(7)], flags, active
    )
