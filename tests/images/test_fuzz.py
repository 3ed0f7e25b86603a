"""Any legal image instruction on any handle and registers: an effect, an error or a named gap."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpudbg.errors import ModelGap
from gpudbg.isa.operands import Reg
from gpudbg.sm.faults import WarpErrorRaised
from tests.images.bench import ImageBench
from tests.semantics.harness import EDGES, State, values
from tests.semantics.words import forms_of, random_word

OPS = "SULD SUST SURED SUATOM TEX TEXS TLD TLDS TLD4 TLD4S TXD TXQ TMML".split()
FLOATS = (0, 0x3F800000, 0xBF800000, 0x3F000000, 0x41200000, 0x7F800000, 0x7FC00000, 0xFF7FFFFF)
REGISTERS = 40


def image(device: Any, rng: random.Random) -> Any:
    """A texture or surface of random kind."""
    makes: list[Callable[[], Any]] = [
        lambda: device.surface(np.arange(30, dtype=np.uint32), dim=rng.choice(("1d", "1d_buffer"))),
        lambda: device.surface(np.zeros((9, 20), np.uint16), layout=rng.choice(("", "pitch"))),
        lambda: device.surface(np.zeros((2, 9, 20, 4), np.uint8), dim="2d_array"),
        lambda: device.texture(np.ones((4, 5, 6), np.float32), filter="linear", address="border"),
        lambda: device.texture(np.ones((6, 4, 4), np.float16), dim="cube", normalized=True),
        lambda: device.texture(
            np.ones((8, 8), np.float32), levels=[np.ones((4, 4)), np.ones((2, 2))],
            mip_filter=rng.choice(("point", "linear")), normalized=True, address="mirror",
        ),
        lambda: device.texture(np.ones((8, 8), np.uint8), compare="less", read="normalized_float"),
    ]  # fmt: skip
    return rng.choice(makes)()


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("arch", ["sm_50", "sm_60"])
@pytest.mark.parametrize("op", OPS)
def test_random_words(op: str, arch: str) -> None:
    rng = random.Random(f"{op}{arch}")
    bench = ImageBench(arch)
    made = [image(bench.device, rng) for _ in range(8)]
    outcomes = {"done": 0, "error": 0, "gap": 0}
    for form in forms_of(op, arch):
        for _ in range(12):
            insn = random_word(form, rng, arch)
            handle = rng.choice(made).handle if rng.randrange(8) else rng.getrandbits(32)
            word = insn.word
            if "tex" in insn.o:
                place = rng.randrange(0x100 if rng.randrange(8) else 0x2000)
                word = word & ~(0x1FFF << 36) | place << 36
                if place < 0x100:
                    bench.bind(place, handle)
            edges = rng.choice((EDGES, FLOATS, tuple(range(12))))
            registers = {n: values(rng, edges) for n in range(REGISTERS)}
            for slot in ("c", "b", "a"):
                held = insn.o.get(slot)
                if isinstance(held, Reg) and held.index < REGISTERS and rng.randrange(2):
                    registers[held.index] = [handle] * 32
            state = State(registers, active=rng.choice((0xFFFFFFFF, rng.getrandbits(32) | 1)))
            outcomes[execute(bench, word, state)] += 1
    assert outcomes["done"]


def execute(bench: ImageBench, word: int, state: State) -> str:
    try:
        bench.bench.execute(word, state)
    except WarpErrorRaised as error:
        return "error" if error.detail else "silent"
    except ModelGap as gap:
        return "gap" if gap.message else "silent"
    return "done"
