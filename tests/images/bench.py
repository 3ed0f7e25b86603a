"""One image instruction on the step engine, with textures and surfaces of a device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import gpudbg
from gpudbg.isa.spa5 import assemble
from gpudbg.sm.images.unit import ImageUnit
from tests.semantics.harness import Bench, State

FULL = 0xFFFFFFFF


class ImageBench:
    """A warp whose instructions reach a device's images.

    Attributes:
        device: where textures and surfaces are made.
        unit: the texture and surface unit.
    """

    def __init__(self, arch: str = "sm_50", coverage: Sequence[int] | None = None) -> None:
        self.arch = arch
        self.device = gpudbg.Device(arch)
        self.bench = Bench(arch, registers=64)
        self.bench.engine.memory = self.device.gpu.memory
        self.unit = ImageUnit(self.device.gpu.images, (1, 1, 1), 1, coverage)
        self.bench.engine.images = self.unit

    def run(
        self, text: str, registers: Mapping[int, Sequence[int]], active: int = FULL
    ) -> dict[int, list[int]]:
        """Execute an instruction; all registers afterwards.

        Raises:
            WarpErrorRaised, ModelGap: as the instruction does.
        """
        state = State({n: [0] * 32 for n in range(64)}, active=active)
        for number, values in registers.items():
            state.registers[number] = [v & FULL for v in values]
        return self.bench.execute(assemble(text, arch=self.arch), state).registers

    def bind(self, slot: int, handle: int) -> None:
        """Put a handle in the constant word of an immediate index."""
        self.bench.bank(0)[slot] = handle


def natural(image: Any) -> Any:
    """An image's bytes as the model has them: (layers, depth, height, row bytes)."""
    layout = image.layout()
    raw = np.ascontiguousarray(image.array()).view(np.uint8).reshape(-1)
    return raw.reshape(layout.layers, layout.depth, layout.height, layout.row_bytes).copy()


def vector(base: int, coords: Sequence[Sequence[int]]) -> dict[int, list[int]]:
    """Coordinates of 32 lanes as registers from `base` on."""
    return {base + n: [lane[n] for lane in coords] for n in range(len(coords[0]))}
