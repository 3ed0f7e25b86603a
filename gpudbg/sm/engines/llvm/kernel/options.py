"""How a kernel's listing is compiled; without what compiles it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass
from gpudbg.sm.conditions import Condition
from gpudbg.sm.engines.llvm.ir.values import MaskHost
from gpudbg.sm.engines.llvm.kernel.special import COMPILED_SREGS
from gpudbg.sm.selection import NO_TESTS, Tests

if TYPE_CHECKING:
    from gpudbg.sm.engines.llvm.kernel.lane_facts import LaneClaims
    from gpudbg.sm.engines.llvm.kernel.patterns import Pattern

LARGE = 256
"""Instructions of a kernel beyond which its code is made with shorter traces."""


@dataclass(frozen=True, slots=True)
class EmitterOptions:
    """How a listing is compiled.

    Attributes:
        full: for warps whose lanes are all active.
        registers, uniform: registers of a warp's record.
        banks: bytes of the constant banks.
        sregs: special registers with a compiled version.
        short: traces are short, whatever the kernel's size.
        calls: loads and stores call the library, also in code for full warps.
        rows: lanes of a row of threads, 32 where rows are longer; 0: rows end elsewhere.
        run: lanes, 16 or 32, that usually follow one another in memory.
        wide_vectors: the host has AVX-512.
        halves: the host converts between f16 and f32 in one instruction.
        blends: the host chooses lanes by a mask in one operation, where masks are packed.
        masks: how the host keeps masks.
        start: how the host estimates 1/sqrt(x): a key of `reciprocals.STARTS`, or "".
        fixed: values of the special registers that do not change during the launch.
        conditions: of breakpoints, by pc.
        patterns: address of an access to the pattern that its lanes are guessed to lie in.
        first_site: cache entries before those of this code.
        traced: what is noted for observers, of `trace.BATCHED`.
        tests: what observers have selected.
        clustered: the launch has clusters of several blocks.
        plain: short compile time comes before speed.
        claims: what lanes have in common in loops (`lane_facts`).
    """

    full: bool
    registers: int
    banks: Mapping[int, int]
    sregs: frozenset[int] = COMPILED_SREGS
    run: int = 16
    wide_vectors: bool = False
    halves: bool = False
    blends: bool = False
    masks: MaskHost = MaskHost.REGISTERS
    start: str = "divide"
    fixed: Mapping[int, int] = field(default_factory=dict)
    conditions: Mapping[int, Condition] = field(default_factory=dict)
    patterns: Mapping[int, Pattern] = field(default_factory=dict)
    first_site: int = 0
    traced: tuple[str, ...] = ()
    marking: frozenset[str] = frozenset()
    uniform: int = 0
    tests: Tests = NO_TESTS
    clustered: bool = False
    plain: bool = False
    rows: int = 0
    short: bool = False
    calls: bool = False
    claims: LaneClaims | None = None
