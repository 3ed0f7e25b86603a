"""Random instruction words on random state: every one ends as an event of the model.

Words are mutations of those in the samples.  A defect shows as an exception other than ModelGap,
or as an error that left something behind.
"""

from __future__ import annotations

import dataclasses
import random

import numpy as np
import pytest

from gpudbg.errors import DecodeError, ModelGap
from gpudbg.isa.spa5.decode import decode
from gpudbg.sm import record as rec
from gpudbg.sm.gpu import Gpu
from tests.sm.machine import EXIT, buffer_of, raw_program, sample
from tests.variants import number

SAMPLES = ("bitops", "float_ops", "memory_widths", "predicates", "ptx_control", "generic_ptr")
ROUNDS = number(500, 1200)


def words() -> list[int]:
    found = set()
    for name in SAMPLES:
        program = sample(name)
        for section in program.code_sections:
            data = program.sections[section].data
            for place in range(0, len(data) - 7, 8):
                if place % 32:
                    found.add(int.from_bytes(data[place : place + 8], "little"))
    return sorted(found)


def mutated(source: random.Random, known: list[int], arch: str) -> int:
    while True:
        word = source.choice(known)
        for _ in range(source.randrange(6)):
            word ^= 1 << source.randrange(64)
        try:
            decode(word, arch)
        except DecodeError:
            continue
        return word


@pytest.mark.in_turn(1)
@pytest.mark.parametrize(("arch", "seed"), [("sm_50", 1), ("sm_61", 2)])
def test_any_word_on_any_state(arch: str, seed: int) -> None:
    source, known = random.Random(seed), words()
    kinds = set()
    for n in range(ROUNDS):
        word = mutated(source, known, arch)
        program = raw_program([word, EXIT], regs=source.choice((8, 64, 255)), shared=256, local=64)
        gpu = Gpu(arch, 1)
        data = buffer_of(gpu, np.zeros(1024, np.uint32))
        grid = gpu.load(dataclasses.replace(program, arch=arch)).launch(
            "test", (1, 1, 1), (32, 1, 1), b""
        )
        warp = next(grid.warps())
        warp.R[:] = np.random.default_rng(n).integers(0, 2**32, warp.R.shape, np.uint32)
        if source.random() < 0.5:
            warp.R[::2] = (data.base & 0xFFFFFFFF) + 8 * source.randrange(500)
            warp.R[1::2] = data.base >> 32
        for k in range(7):
            warp.predicates[k] = source.getrandbits(32)
        for k in range(5):
            warp.cc[k] = source.getrandbits(32)
        state = warp.record.copy()
        try:
            event = grid.run(max_instructions=20)
        except ModelGap as gap:
            assert decode(word, arch).op in gap.message  # noqa: PT017 - the gap is one outcome
            kinds.add("gap")
            continue
        kinds.add(event.kind)
        if event.kind == "warp_error" and event.total == 0:
            # Only the status words may differ.
            changed = np.flatnonzero(state.view(np.uint32) != warp.record.view(np.uint32))
            assert set(changed.tolist()) <= {0x54 // 4, rec.TRAP_STATUS}, hex(word)
            assert not data.data.any(), hex(word)
    assert {"exited", "warp_error", "gap"} <= kinds
