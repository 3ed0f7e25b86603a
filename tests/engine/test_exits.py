"""Exits of places between which no register changes store in one place; a loop that code falls into
has no copy of its first round before it."""

from __future__ import annotations

import pytest

from gpudbg.sm.engines.llvm import build
from gpudbg.sm.engines.llvm.ir.values import Msk, Val
from gpudbg.sm.engines.llvm.kernel.registers import NamedState
from tests.engine.test_resumed import emitted


def _state(value: Val, mask: Msk) -> NamedState:
    return NamedState({3: value}, {1: mask}, dirty_regs={3}, dirty_preds={1})


def test_states_that_store_the_same_values() -> None:
    value, mask = Val(32, "%v1"), Msk("%v2")
    state = _state(value, mask)
    assert state.stores_as(_state(value, Msk("%v2")))
    # Bits that were made between the two.
    assert state.stores_as(_state(value, Msk("%v2", "%v3")))
    assert not _state(value, Msk("%v2", "%v3")).stores_as(state)
    assert not state.stores_as(_state(value, Msk("", "%v3")))
    assert not state.stores_as(_state(Val(32, "%v1"), mask))
    assert not state.stores_as(NamedState({3: value}, dirty_regs={3}))


@pytest.mark.skipif(build.host().wide_vectors, reason="of hosts without AVX-512")
def test_a_loop_is_emitted_once_and_its_exits_store_in_one_place() -> None:
    text = emitted("histogram", (256, 1, 1)).text
    # Sums to shared memory in place, two words at a time.
    assert text.count("extractelement <16 x i64>") == 16
    lines = text.splitlines()
    places = [n for n, line in enumerate(lines) if line.endswith("ptr %why")]
    assert any(line.endswith("ptr %budget") for n in places for line in lines[n + 1 : n + 3])
