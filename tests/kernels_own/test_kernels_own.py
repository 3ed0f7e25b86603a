"""Every kernel of this folder: final buffers against the NumPy references.

A run takes some kernels of each group, one variant of each, in turn (`tests.variants`), and
compiles as the product does, where a launch takes many more instructions than its code has.
`make test-all` compiles every variant, however short its launches.
"""

from __future__ import annotations

import functools
from typing import Any

import pytest

from gpudbg.sm.engines.llvm import compile_process, start
from gpudbg.sm.engines.llvm.program import CompiledProgram
from tests.kernels_own.kit import CUBINS, SOURCES, Case, Kernel, all_kernels, run
from tests.variants import full, in_turn

KERNELS = all_kernels()
VARIANTS = [
    pytest.param(kernel.group, kernel, variant, id=f"{kernel.name}-{variant}")
    for kernel, variant in in_turn(
        [(kernel, variant) for kernel in KERNELS for variant in kernel.variants],
        lambda pair: pair[0].name,
    )
]


@functools.cache
def case_of(kernel: Kernel) -> Case:
    """The case, made once for all variants."""
    return kernel.make()


@pytest.fixture(autouse=True)
def quick_code_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quick code is waited for, and no better code is made: `tests/engine/test_effort.py` has it.

    In `make test-all`, quick code for all but the shortest launches.
    """
    if full():
        monkeypatch.setattr(start, "COLD_EACH", 0)
    monkeypatch.setattr(start, "PATIENCE", 60)
    monkeypatch.setattr(compile_process, "usable", lambda: False)
    monkeypatch.setattr(CompiledProgram, "has_run", lambda self, seconds: None)


@pytest.mark.in_turn(1)
@pytest.mark.parametrize(("group", "kernel", "variant"), VARIANTS)
def test_kernel(group: str, kernel: Kernel, variant: str) -> None:
    assert run(case_of(kernel), kernel.cubin(variant)) == []


def test_every_file_belongs_to_a_kernel() -> None:
    sources = {path.stem for path in SOURCES.iterdir()}
    assert sources == {kernel.name for kernel in KERNELS}
    cubins = {kernel.cubin(variant) for kernel in KERNELS for variant in kernel.variants}
    assert set(CUBINS.glob("*.cubin")) == cubins


def test_a_wrong_expectation_is_seen() -> None:
    kernel = KERNELS[0]
    case: Any = case_of(kernel)
    name, want = next(iter(case.expect.items()))
    changed = want.copy()
    changed.reshape(-1)[-1] += 1
    other = Case(case.buffers, case.launches, {name: changed}, case.symbols)
    assert run(other, kernel.cubin(kernel.variants[0]))
