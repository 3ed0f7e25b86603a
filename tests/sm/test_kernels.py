"""Every sample kernel, every case, on the step engine: outputs, faults, branch targets."""

from __future__ import annotations

import functools
from typing import Any

import pytest

import gpudbg
from gpudbg.sm.divergence import step as divergence
from gpudbg.sm.observer import Observer
from gpudbg.sm.record import TOKEN_CODE
from gpudbg.sm.state import WarpState
from tests.kernel_cases import Case, cases, check, run

STEP = functools.partial(gpudbg.load, engine="step")
FAULT_LIMIT = 20_000
"""Enough for every fault but the endless loop, which it ends."""


def uses_images(case: Case) -> bool:
    return any("object" in spec for spec in case.buffers.values())


PLAIN = [case for case in cases(faults=False) if not uses_images(case)]
FAULTING = list(cases(faults=True))


@pytest.mark.in_turn(8)
@pytest.mark.parametrize("case", PLAIN, ids=lambda case: case.id)
def test_outputs(case: Case) -> None:
    assert check(case, run(case, STEP)) == []


@pytest.mark.parametrize("case", FAULTING, ids=lambda case: case.id)
def test_faults(case: Case) -> None:
    outcome = run(case, STEP, limit=FAULT_LIMIT)
    assert check(case, outcome) == []


CONSUMED = {"SYNC": "SSY", "BRK": "PBK", "CONT": "PCNT", "RET": "RET"}


class Targets(Observer):
    """Compares where consumed tokens and indirect branches lead with what ptxas recorded."""

    def __init__(self, session: Any) -> None:
        self.image = session.grid.code
        kernel = session.grid.kernel
        self.section = kernel.section
        self.allowed = {b.offset: b for b in kernel.indirect_branches}
        self.checked = 0
        self.wrong: list[str] = []

    def instruction(self, warp: WarpState, pc: int, instruction: Any, lanes: int) -> None:
        where = self.image.section_offset(pc)
        if not lanes or where is None or where[0] != self.section:
            return
        row = self.allowed.get(where[1])
        if row is None or row.is_call:
            return
        for goal in self._goals(warp, pc, instruction, lanes):
            _, offset = self.image.section_offset(goal) or ("", -1)
            same_bundle = {offset, offset & ~31 if offset % 32 == 8 else offset}
            self.checked += 1
            if not same_bundle & set(row.targets):
                self.wrong.append(f"{instruction.op} at 0x{where[1]:x} goes to 0x{offset:x}")

    @staticmethod
    def _goals(warp: WarpState, pc: int, instruction: Any, lanes: int) -> set[int]:
        if instruction.op == "BRX":
            target = instruction.o["target"]
            base = target.address(pc)
            row = warp.R[target.base.index]
            return {(base + int(row[n])) & 0xFFFFFFFF for n in range(32) if lanes >> n & 1}
        kind = CONSUMED[instruction.op]
        found = divergence._find(warp, TOKEN_CODE[kind], lanes)
        return {warp.entry(n).target for n, _ in found}


WITH_TOKENS = frozenset(
    "atomics_global atomics_shared barriers crc32 divergence double_ops float_ops func_ptr "
    "generic_ptr histogram int64_arith int_arith jump_table libm_math mandelbrot nbody ptx_control "
    "recursion reduce_sum scan_block switch_tree transpose warp_ops".split()
)
"""Samples whose launched kernels have SYNC, BRK, RET or BRX on sm_50."""

BRANCHING = [
    case
    for case in PLAIN
    if case.variant == "sm_50" and case.kernel in WITH_TOKENS and case.name != "warp"
]


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("case", BRANCHING, ids=lambda case: case.id)
def test_tokens_lead_where_the_compiler_says(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Targets] = []

    def load(path: str) -> Any:
        program = STEP(path)
        plain = program.launch

        def launch(*args: Any, **kwargs: Any) -> Any:
            session = plain(*args, **kwargs)
            seen.append(Targets(session))
            session.grid.gpu.subscribe(seen[-1])
            return session

        monkeypatch.setattr(program, "launch", launch)
        return program

    run(case, load)
    assert [text for targets in seen for text in targets.wrong] == []
    assert sum(targets.checked for targets in seen) > 0
