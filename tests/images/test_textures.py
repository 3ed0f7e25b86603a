"""TEX, TLD, TLD4, TXD, TXQ and the short forms: address modes, filters, operands."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudbg.errors import ModelGap
from gpudbg.sm.images.access import InvalidAccess
from tests.images.bench import ImageBench

LANES = range(32)


def f32(value: float) -> int:
    return int(np.float32(value).view(np.uint32))


def bits(values: Any) -> list[int]:
    return [f32(v) for v in values]


def floats(words: Any) -> list[float]:
    return [float(v) for v in np.array(words, np.uint32).view(np.float32)]


def fold(i: int, n: int, mode: str) -> int | None:
    """A texel index after the address mode; None is the border."""
    if mode == "wrap":
        return i % n
    if mode == "mirror":
        i %= 2 * n
        return i if i < n else 2 * n - 1 - i
    if mode == "border" and not 0 <= i < n:
        return None
    return min(max(i, 0), n - 1)


def linear_1d(row: Any, x: float, mode: str, border: float) -> float:
    shifted = x - 0.5
    low = math.floor(shifted)
    weight = round((shifted - low) * 256) / 256
    total = 0.0
    for i, w in ((low, 1 - weight), (low + 1, weight)):
        at = fold(i, len(row), mode)
        if w > 0:
            total += w * (border if at is None else float(row[at]))
    return total


@settings(max_examples=40)
@given(
    st.sampled_from(("wrap", "mirror", "clamp", "border")),
    st.sampled_from(("point", "linear")),
    st.booleans(),
    st.lists(st.floats(-3, 3, width=32), min_size=32, max_size=32),
)
def test_one_axis(mode: str, kind: str, normalized: bool, xs: list[float]) -> None:
    bench = ImageBench()
    row = np.array([3, -1, 4, 1, -5, 9, 2], np.float32)
    texture = bench.device.texture(
        row[np.newaxis], dim="2d", address=mode, filter=kind, normalized=normalized, border=8.0
    )
    bench.bind(0x50, texture.handle)
    scale = 1 if normalized else len(row)
    given_x = [float(np.float32(x * scale)) for x in xs]
    after = bench.run(
        "TEXS.LZ RZ, R30, R4, R5, 0x50, 2D, R", {4: bits(given_x), 5: bits([0.25] * 32)}
    )
    used = mode if normalized or mode in ("clamp", "border") else "clamp"
    for lane, x in enumerate(given_x):
        at = x * len(row) if normalized else x
        if kind == "point":
            index = fold(math.floor(at), len(row), used)
            want = 8.0 if index is None else float(row[index])
        else:
            y = [linear_1d(row, at, used, 8.0)]
            want = y[0]
            if used == "border":
                # y 0.25 of one row: a quarter of the way out, a share of the border.
                share = round((0.25 - 0.5 + 1) * 256) / 256
                want = share * want + (1 - share) * 8.0
        assert floats(after[30])[lane] == pytest.approx(want, rel=1e-6, abs=1e-6)


def test_bilinear_and_trilinear() -> None:
    bench = ImageBench()
    volume = np.arange(4 * 3 * 5, dtype=np.float32).reshape(4, 3, 5)
    texture = bench.device.texture(volume, dim="3d", filter="linear")
    bench.bind(0x50, texture.handle)
    x = [0.5 + 4 * n / 31 for n in LANES]
    registers = {4: bits(x), 5: bits([1.25] * 32), 6: bits([2.75] * 32)}
    after = bench.run("TEX.LZ R30, R4, RZ, 0x50, 3D, 0x1", registers)
    for lane, at in enumerate(x):
        step = round((np.float32(at) - 0.5) % 1 * 256) / 256 + math.floor(np.float32(at) - 0.5)
        want = step + 5 * 0.75 + 15 * 2.25
        assert floats(after[30])[lane] == pytest.approx(want, rel=1e-6)


def test_unorm_reads_and_channels() -> None:
    bench = ImageBench()
    array = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4) * 10
    texture = bench.device.texture(array, dim="2d", read="normalized_float", normalized=True)
    bench.bind(0x50, texture.handle)
    registers = {4: bits([5 / 6] * 32), 5: bits([0.75] * 32)}
    after = bench.run("TEX.LZ R30, R4, RZ, 0x50, 2D, 0xf", registers)
    got = [floats(after[30 + n])[0] for n in range(4)]
    assert got == pytest.approx([v / 255 for v in array[1, 2]], rel=1e-6)
    after = bench.run("TEX.LZ R30, R4, RZ, 0x50, 2D, 0xa", registers)
    assert [floats(after[30 + n])[0] for n in range(2)] == pytest.approx([got[1], got[3]])


SHORT = [
    ("TEXS.LZ RZ, R30, R4, RZ, 0x50, 1D, R", {4: 1.5}, [2.0]),
    ("TEXS RZ, R30, R4, R6, 0x50, 2D, R", {4: 1.5, 6: 2.5}, [22.0]),
    ("TEXS.LL RZ, R30, R4, R6, 0x50, 2D, R", {4: 1.5, 5: 2.5, 6: 0.0}, [22.0]),
    ("TEXS R32, R30, R4, R6, 0x50, 2D, RGBA", {4: 1.5, 6: 2.5}, [22.0, 0.0, 0.0, 1.0]),
    ("TEXS.LZ R32, R30, R4, R6, 0x50, 2D, RGA", {4: 1.5, 6: 2.5}, [22.0, 0.0, 1.0]),
    ("TEXS RZ, R30, R4, R6, 0x50, 2D, RA", {4: 1.5, 6: 2.5}, [22.0, 1.0]),
]


@pytest.mark.parametrize(("text", "registers", "want"), SHORT)
def test_short_forms(text: str, registers: dict[int, float], want: list[float]) -> None:
    bench = ImageBench()
    array = np.arange(40, dtype=np.float32).reshape(4, 10) + 1
    bench.bind(0x50, bench.device.texture(array, dim="2d").handle)
    after = bench.run(text, {r: bits([v] * 32) for r, v in registers.items()})
    got = [floats(after[30])[0], floats(after[31])[0], floats(after[32])[0], floats(after[33])[0]]
    assert got[: len(want)] == want


def test_short_loads_and_offsets() -> None:
    bench = ImageBench()
    array = np.arange(40, dtype=np.uint32).reshape(4, 10) + 1
    volume = np.arange(24, dtype=np.uint32).reshape(2, 3, 4)
    bench.bind(0x50, bench.device.texture(array, dim="2d").handle)
    bench.bind(0x51, bench.device.texture(volume, dim="3d").handle)
    bench.bind(0x52, bench.device.texture(volume, dim="2d_array").handle)
    at = {4: [2] * 32, 5: [1] * 32, 6: [1] * 32, 7: [2] * 32}
    assert bench.run("TLDS.LZ RZ, R30, R4, R6, 0x50, 2D, R", at)[30][0] == 13
    offset = at | {6: [0x21] * 32}
    assert bench.run("TLDS.LZ.AOFFI RZ, R30, R4, R6, 0x50, 2D, R", offset)[30][0] == 34
    assert bench.run("TLDS.LZ RZ, R30, R4, R6, 0x51, 3D, R", at)[30][0] == 18
    layer = {4: [0x30001] * 32, 6: [2] * 32, 7: [1] * 32}
    assert bench.run("TLDS.LZ RZ, R30, R4, R6, 0x52, ARRAY_2D, R", layer)[30][0] == 18


def test_loads_outside_read_zero() -> None:
    bench = ImageBench()
    bench.bind(0x50, bench.device.texture(np.full(9, 5, np.uint32), dim="1d_buffer").handle)
    x = [n - 2 for n in LANES]
    after = bench.run("TLDS.LZ RZ, R30, R4, RZ, 0x50, 1D, R", {4: [v & 0xFFFFFFFF for v in x]})
    assert after[30] == [5 if 0 <= v < 9 else 0 for v in x]


def test_gather_order_offsets_and_component() -> None:
    bench = ImageBench()
    array = np.stack([np.arange(20).reshape(4, 5), np.arange(20).reshape(4, 5) + 100], -1)
    bench.bind(0x50, bench.device.texture(array.astype(np.float32), dim="2d").handle)
    registers = {4: bits([2.0] * 32), 5: bits([1.0] * 32), 6: bits([1.0] * 32)}
    after = bench.run("TLD4.R R32, R4, RZ, 0x50, 2D, 0xf", registers)
    assert [floats(after[32 + n])[0] for n in range(4)] == [6, 7, 2, 1]
    after = bench.run("TLD4S.G R34, R32, R4, R6, 0x50", registers)
    assert [floats(after[32 + n])[0] for n in range(4)] == [106, 107, 102, 101]
    after = bench.run("TLD4.R.AOFFI R32, R4, R8, 0x50, 2D, 0xf", registers | {8: [0x101] * 32})
    assert [floats(after[32 + n])[0] for n in range(4)] == [12, 13, 8, 7]


def test_depth_compare() -> None:
    bench = ImageBench()
    array = np.array([[0.25, 0.75], [0.5, 1.0]], np.float32)
    bench.bind(0x50, bench.device.texture(array, dim="2d", compare="lequal").handle)
    bench.bind(0x51, bench.device.texture(array, dim="2d", compare="less", filter="linear").handle)
    at = {4: bits([0.5] * 32), 5: bits([0.5] * 32), 6: bits([n / 31 for n in LANES])}
    after = bench.run("TEXS.DC RZ, R30, R4, R6, 0x50, 2D, R", at)
    assert floats(after[30]) == [float(n / 31 <= 0.25) for n in LANES]
    at |= {4: bits([1.0] * 32), 5: bits([1.0] * 32), 6: bits([0.6] * 32)}
    after = bench.run("TEX.LZ.DC R32, R4, R6, 0x51, 2D, 0xf", at)
    assert [floats(after[32 + n])[0] for n in range(4)] == [0.5, 0.5, 0.5, 1.0]


FACES = [
    ((1, 0.1, 0.2), 0), ((-1, 0.1, 0.2), 1), ((0.1, 1, 0.2), 2), ((0.1, -1, 0.2), 3),
    ((0.1, 0.2, 1), 4), ((0.1, 0.2, -1), 5),
]  # fmt: skip


@pytest.mark.parametrize(("direction", "face"), FACES)
def test_cube_faces(direction: tuple[float, float, float], face: int) -> None:
    bench = ImageBench()
    array = np.repeat(np.arange(6, dtype=np.float32), 4).reshape(6, 2, 2)
    bench.bind(0x50, bench.device.texture(array, dim="cube").handle)
    registers = {4 + n: bits([v] * 32) for n, v in enumerate(direction)}
    after = bench.run("TEX.LZ R30, R4, RZ, 0x50, CUBE, 0x1", registers)
    assert floats(after[30])[0] == face


def test_cube_positions() -> None:
    bench = ImageBench()
    array = np.arange(24, dtype=np.float32).reshape(6, 2, 2)
    bench.bind(0x50, bench.device.texture(array, dim="cube").handle)
    # +x: s goes with -z, t with -y.
    registers = {4: bits([1] * 32), 5: bits([-0.5] * 32), 6: bits([-0.5] * 32)}
    after = bench.run("TEX.LZ R30, R4, RZ, 0x50, CUBE, 0x1", registers)
    assert floats(after[30])[0] == 3.0


def test_layers_clamp_and_use_16_bits() -> None:
    bench = ImageBench()
    array = np.repeat(np.arange(3, dtype=np.float32), 4).reshape(3, 2, 2)
    bench.bind(0x50, bench.device.texture(array, dim="2d_array").handle)
    layers = [0, 1, 2, 3, 0x10001, 0xFFFF, *[0] * 26]
    registers = {4: layers, 5: bits([0.5] * 32), 6: bits([0.5] * 32)}
    after = bench.run("TEX.LZ R30, R4, RZ, 0x50, ARRAY_2D, 0x1", registers)
    assert floats(after[30])[:6] == [0, 1, 2, 2, 1, 2]


def test_mip_levels() -> None:
    bench = ImageBench()
    base = np.full((8, 8), 1, np.float32)
    levels = [np.full((4, 4), 2, np.float32), np.full((2, 2), 3, np.float32), np.full((1, 1), 4)]
    texture = bench.device.texture(
        base, dim="2d", levels=levels, filter="linear", mip_filter="linear", normalized=True
    )
    assert texture.array(2).tolist() == [[3, 3], [3, 3]]
    bench.bind(0x50, texture.handle)
    lod = [n / 8 for n in LANES]
    registers = {4: bits([0.5] * 32), 5: bits([0.5] * 32), 6: bits(lod)}
    after = bench.run("TEX.LL R30, R4, R6, 0x50, 2D, 0x1", registers)
    assert floats(after[30]) == pytest.approx([1 + min(v, 3) for v in lod])
    assert floats(bench.run("TEX.LZ R30, R4, RZ, 0x50, 2D, 0x1", registers)[30])[0] == 1
    # Implicit: x steps by 2 texels from pixel to pixel, so level 1.
    step = registers | {4: bits([(n & 1) * 0.25 for n in LANES])}
    assert floats(bench.run("TEX R30, R4, RZ, 0x50, 2D, 0x1", step)[30])[0] == pytest.approx(2)
    gradient = registers | {8: bits([0.5] * 32), 9: bits([0] * 32), 10: [0] * 32, 11: [0] * 32}
    assert floats(bench.run("TXD R30, R4, R8, 0x50, 2D, 0x1", gradient)[30])[0] == pytest.approx(3)
    load = {4: [0] * 32, 5: [0] * 32, 6: [n % 6 for n in LANES]}
    after = bench.run("TLD.LL R30, R4, R6, 0x50, 2D, 0x1", load)
    assert floats(after[30])[:6] == [1, 2, 3, 4, 0, 0]


def test_mip_levels_of_volumes_and_layers() -> None:
    bench = ImageBench()
    rng = np.random.default_rng(3)
    for dim, shapes in (
        ("3d", ((8, 40, 50), (4, 20, 25), (2, 10, 12), (1, 5, 6))),
        ("2d_array", ((3, 40, 50), (3, 20, 25), (3, 10, 12))),
    ):
        arrays = [rng.integers(0, 1 << 32, shape, np.uint32) for shape in shapes]
        texture = bench.device.texture(arrays[0], dim=dim, levels=arrays[1:])
        for level, array in enumerate(arrays):
            assert np.array_equal(texture.array(level), array)


def test_queries() -> None:
    bench = ImageBench()
    bench.bind(0x50, bench.device.texture(np.zeros((4, 6, 10), np.uint8), dim="3d").handle)
    bench.bind(0x51, bench.device.texture(np.zeros((3, 6, 10), np.uint8), dim="2d_array").handle)
    found = bench.run("TXQ R32, RZ, TEX_HEADER_DIMENSION, 0x50, 0xf", {})
    assert [found[32 + n][0] for n in range(4)] == [10, 6, 4, 1]
    found = bench.run("TXQ R32, R4, TEX_HEADER_DIMENSION, 0x50, 0x5", {4: [1] * 32})
    assert [found[32 + n][0] for n in range(2)] == [5, 2]
    found = bench.run("TXQ R32, R4, TEX_HEADER_DIMENSION, 0x51, 0x4", {4: [1] * 32})
    assert found[32][0] == 3
    found = bench.run("TXQ R32, RZ, TEX_HEADER_TEXTURE_TYPE, 0x51, 0x1", {})
    assert found[32][0] == 5
    with pytest.raises(ModelGap, match="TEX_SAMPLER_WRAP"):
        bench.run("TXQ R32, RZ, TEX_SAMPLER_WRAP, 0x51, 0x1", {})


def test_bindless_handle_per_lane() -> None:
    bench = ImageBench()
    made = [bench.device.texture(np.full((2, 2), n, np.float32), dim="2d") for n in range(3)]
    handles = [made[n % 3].handle for n in LANES]
    registers = {4: bits([0.5] * 32), 5: bits([0.5] * 32), 8: handles}
    after = bench.run("TEX.B.LZ R30, R4, R8, 0x0, 2D, 0x1", registers)
    assert floats(after[30]) == [n % 3 for n in LANES]


def test_half_results_on_sm_60() -> None:
    bench = ImageBench("sm_60")
    array = np.array([[1.5, 2.0, 1 / 3, 65520.0]], np.float32).reshape(1, 1, 4)
    bench.bind(0x50, bench.device.texture(array, dim="2d").handle)
    registers = {4: bits([0.5] * 32), 6: bits([0.5] * 32)}
    after = bench.run("TEXS.F16.LZ R32, R30, R4, R6, 0x50, 2D, RGBA", registers)
    half = [int(struct.unpack("<H", struct.pack("<e", v))[0]) for v in (1.5, 2.0, 1 / 3)]
    assert after[30][0] == half[0] | half[1] << 16
    assert after[32][0] == half[2] | 0x7C00 << 16


def test_invalid_handle_reads_zero() -> None:
    bench = ImageBench()
    bench.bind(0x50, 77)
    after = bench.run("TEX.LZ R30, R4, RZ, 0x50, 2D, 0xf", {30: [9] * 32})
    assert [after[30 + n][0] for n in range(4)] == [0, 0, 0, 0]
    said = bench.unit.log[-1]
    assert isinstance(said, InvalidAccess)
    assert "above the maximum" in said.why


def test_srgb() -> None:
    bench = ImageBench()
    array = np.array([[[0, 188, 255, 188]]], np.uint8)
    texture = bench.device.texture(array, dim="2d", read="normalized_float", srgb=True)
    bench.bind(0x50, texture.handle)
    registers = {4: bits([0.5] * 32), 5: bits([0.5] * 32)}
    after = bench.run("TEX.LZ R30, R4, RZ, 0x50, 2D, 0xf", registers)
    got = [floats(after[30 + n])[0] for n in range(4)]
    linear = ((188 / 255 + 0.055) / 1.055) ** 2.4
    assert got == pytest.approx([0, linear, 1.0, 188 / 255], rel=1e-5)
