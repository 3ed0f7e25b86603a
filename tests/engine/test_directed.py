"""Directed rounding by the host's mode gives what the definitions with doubles give."""

from __future__ import annotations

import ctypes

import numpy as np
import numpy.typing as npt
import pytest

from gpudbg.sm.engines.llvm import build, layout
from gpudbg.sm.engines.llvm.ir.values import AccessHost, MaskHost
from gpudbg.sm.engines.llvm.outlined import OUTLINED
from gpudbg.sm.engines.llvm.runtime import directed
from gpudbg.sm.engines.llvm.runtime.library import module_with
from tests.levels import has
from tests.variants import number

SINGLES = [name for name in OUTLINED if directed.is_single(name)]
DOUBLES = [n for n in OUTLINED if n[:4] in ("dadd", "dmul", "dfma") and not n.endswith("RN")]
SPECIAL = (
    0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 1, 0x7F7FFFFF, 0xFF7FFFFF,
    0x00800000, 0x80800000, 0x007FFFFF, 0x807FFFFF, 0x3F800000, 0xBF800000,
)  # fmt: skip
Words = npt.NDArray[np.uint32]


def _numbers(rng: np.random.Generator) -> Words:
    """32 words: any, near 1, tiny, with few bits, special."""
    words = rng.integers(0, 1 << 32, 32, dtype=np.uint32)
    rest, few = words & np.uint32(0x807FFFFF), words & np.uint32(0x80600001)
    kinds = (
        words,
        rest | rng.integers(100, 155, 32, dtype=np.uint32) << 23,
        rest | rng.integers(0, 30, 32, dtype=np.uint32) << 23,
        few | rng.integers(0, 256, 32, dtype=np.uint32) << 23,
        rng.choice(np.array(SPECIAL, np.uint32), 32),
    )
    return np.choose(rng.integers(0, len(kinds), 32), kinds).astype(np.uint32)


def _aligned(bits: int) -> npt.NDArray[np.uint8]:
    """Memory for a row."""
    whole = np.zeros(4 * bits + 64, np.uint8)
    start = -whole.ctypes.data % 64
    return whole[start : start + 4 * bits]


def _function(name: str, masks: MaskHost) -> tuple[build.Code, int]:
    """(Code, the address of a function in it) for a host that keeps masks so."""
    made = module_with(layout.symbol(name), AccessHost(masks), True, True)
    code = build.Code(build.object_of(made.text, 1, made.passes), made.names)
    return code, code.address(layout.symbol(name))


def _results(address: int, operands: list[npt.NDArray[np.uint8]], bits: int) -> bytes:
    result = _aligned(bits)
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(operands) + 1))
    kind(address)(*(row.ctypes.data for row in operands), result.ctypes.data)
    return result.tobytes()


@pytest.mark.parametrize("names", [SINGLES, DOUBLES], ids=["f32", "f64"])
def test_modes_of_vectors_are_the_definition(names: list[str]) -> None:
    if not has("x86-64-v3"):
        pytest.skip("the host cannot run it")
    rng = np.random.default_rng(20261127)
    for name in names:
        row = OUTLINED[name]
        codes = [_function(name, masks) for masks in (MaskHost.VECTORS, MaskHost.PACKED)]
        for _ in range(number(40, 1000)):
            operands = [_aligned(bits) for bits in row.operands]
            for memory, bits in zip(operands, row.operands, strict=True):
                # The words of doubles: the high ones are as those of f32.
                words = memory.view(np.uint32)
                for part in range(bits // 32):
                    words[part :: bits // 32] = _numbers(rng)
            one, two = (_results(address, operands, row.result) for _, address in codes)
            assert one == two, name


def test_only_hosts_with_avx2_alone_set_modes_of_vectors_for_singles() -> None:
    assert len(SINGLES) == 15
    for masks in MaskHost:
        text = module_with(layout.symbol("ffma.RM"), AccessHost(masks), True, True).text
        assert ("ldmxcsr" in text) == (masks is MaskHost.PACKED)
        assert ("fptrunc" in text) != (masks is MaskHost.PACKED)
