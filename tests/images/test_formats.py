""".P accesses: format conversion, component masks, texels that lie in two GOBs."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudbg.errors import ModelGap
from gpudbg.regs.texformats import BY_NAME, FORMATS
from gpudbg.regs.texheader import TextureHeader
from gpudbg.sm.images import texels
from tests.images.bench import ImageBench
from tests.variants import rows


def f32(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def header(name: str, type_: str) -> TextureHeader:
    types = (type_, type_, type_, type_)
    return TextureHeader(
        "BLOCKLINEAR", BY_NAME[name].code, types, ("R", "G", "B", "A"), "TWO_D", 0, 1
    )


# format, type, texel, what SULD.P gives for R G B A
LOADS = [
    ("R8", "UINT", 0xFE, [0xFE]),
    ("R8", "SINT", 0xFE, [0xFFFFFFFE]),
    ("R8", "UNORM", 0xFF, [f32(1.0)]),
    ("R8", "UNORM", 0x33, [f32(0.2)]),
    ("R8", "SNORM", 0x7F, [f32(1.0)]),
    ("R8", "SNORM", 0x80, [f32(-1.0)]),
    ("R8", "SNORM", 0x81, [f32(-1.0)]),
    ("A8B8G8R8", "UINT", 0x44332211, [0x11, 0x22, 0x33, 0x44]),
    ("G8R8", "UINT", 0x2211, [0x11, 0x22]),
    ("G4R4", "UINT", 0x21, [1, 2]),
    ("B5G6R5", "UINT", 0b10001_000010_00011, [3, 2, 17]),
    ("B6G5R5", "UINT", 0b100001_00010_00011, [3, 2, 33]),
    ("A1B5G5R5", "UINT", 0b1_00001_00010_00011, [3, 2, 1, 1]),
    ("A5B5G5R1", "UINT", 0b00111_00001_00010_1, [1, 2, 1, 7]),
    ("A4B4G4R4", "UINT", 0x4321, [1, 2, 3, 4]),
    ("A2B10G10R10", "UINT", 3 << 30 | 5 << 20 | 6 << 10 | 7, [7, 6, 5, 3]),
    ("A2B10G10R10", "UNORM", 0xFFFFFFFF, [f32(1.0)] * 4),
    ("R16", "FLOAT", 0x3C00, [f32(1.0)]),
    ("R16", "FLOAT", 0x0001, [f32(2.0**-24)]),
    ("R16_G16", "SINT", 0x8000FFFF, [0xFFFFFFFF, 0xFFFF8000]),
    ("R32", "FLOAT", 0x12345678, [0x12345678]),
    ("R32_G32", "UINT", 0x2222222211111111, [0x11111111, 0x22222222]),
    ("R32_B24G8", "UINT", 0xABCDEF_12_00000007, [7, 0x12, 0xABCDEF]),
    ("G8R24", "UINT", 0xAB123456, [0x123456, 0xAB]),
    ("G24R8", "UINT", 0x123456AB, [0xAB, 0x123456]),
    ("X8B8G8R8", "UINT", 0x99332211, [0x11, 0x22, 0x33]),
    ("BF10GF11RF11", "FLOAT", 15 << 5 << 22 | 16 << 6 << 11 | 14 << 6, [f32(0.5), f32(2), f32(1)]),
    ("E5B9G9R9_SHAREDEXP", "FLOAT", 16 << 27 | 256 << 18 | 128 << 9 | 64,
     [f32(0.25), f32(0.5), f32(1.0)]),
    ("ZF32", "FLOAT", f32(0.75), [f32(0.75)]),
    ("Z16", "UNORM", 0xFFFF, [f32(1.0)]),
]  # fmt: skip


@rows(("name", "type_", "texel", "want"), LOADS)
def test_load(name: str, type_: str, texel: int, want: list[int]) -> None:
    words = [np.array([texel >> 32 * n & 0xFFFFFFFF], np.uint32) for n in range(4)]
    found = texels.unpack(header(name, type_), words)
    assert [int(found[c][0]) for c in "RGBA"[: len(want)]] == want


SHARED = "E5B9G9R9_SHAREDEXP"


@settings(max_examples=200)
@given(st.data())
def test_pack_undoes_unpack(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([f.name for f in FORMATS.values() if f.modelled]))
    form = BY_NAME[name]
    small = name.startswith("BF10")
    kinds = ("FLOAT",) if small or name in (SHARED, "ZF32") else ("UINT", "SINT", "UNORM")
    type_ = data.draw(st.sampled_from(kinds))
    if type_ == "UNORM" and any(p.width > 23 for p in form.parts):
        type_ = "UINT"  # f32 does not hold more bits
    raw = data.draw(st.integers(0, (1 << 8 * form.bytes) - 1))
    if small:
        raw &= 0xEFBFDFBF & ~(1 << 31 | 1 << 21 | 1 << 10)  # no infinity or NaN
    if name == SHARED:
        raw = raw & 0x07FFFFFF | 1 << 8 | 15 << 27  # the form with the least exponent
    words = [np.array([raw >> 32 * n & 0xFFFFFFFF], np.uint32) for n in range(4)]
    top = header(name, type_)
    again = texels.pack(top, texels.unpack(top, words), words)
    got = sum(int(w[0]) << 32 * n for n, w in enumerate(again))
    assert got == raw


# format, type, register values, texel
STORES = [
    ("R8", "UNORM", [f32(2.0)], 0xFF),
    ("R8", "UNORM", [f32(-1.0)], 0),
    ("R8", "UNORM", [f32(float("nan"))], 0),
    ("R8", "UNORM", [f32(0.5)], 0x80),
    ("R8", "SNORM", [f32(-5.0)], 0x81),
    ("R8", "UINT", [0x1FF], 0xFF),
    ("R8", "SINT", [0xFFFFFF00], 0x80),
    ("R8", "SINT", [200], 0x7F),
    ("R16", "FLOAT", [f32(1e9)], 0x7C00),
    ("BF10GF11RF11", "FLOAT", [f32(-1), f32(2), f32(1)], 15 << 5 << 22 | 16 << 6 << 11),
    ("E5B9G9R9_SHAREDEXP", "FLOAT", [f32(1.0), f32(0.5), f32(-2)], 16 << 27 | 128 << 9 | 256),
    ("A2B10G10R10", "UNORM", [f32(1.0), f32(0), f32(1.0), f32(1)], 0xFFF003FF),
]


@pytest.mark.parametrize(("name", "type_", "values", "texel"), STORES)
def test_store(name: str, type_: str, values: list[int], texel: int) -> None:
    top = header(name, type_)
    given_ = {c: np.array([v], np.uint32) for c, v in zip("RGBA", values, strict=False)}
    zero = [np.zeros(1, np.uint32) for _ in range(4)]
    packed = texels.pack(top, given_, zero)
    assert int(packed[0][0]) == texel


def test_store_and_load_through_instructions() -> None:
    bench = ImageBench()
    image = bench.device.surface(
        np.zeros((4, 8), np.uint32), dim="2d", format="A8B8G8R8", type="UNORM", block_height=1
    )
    lanes = range(32)
    registers = {4: [n % 8 for n in lanes], 5: [n // 8 for n in lanes], 20: [image.handle] * 32}
    colours = {8: [f32(n / 31) for n in lanes], 9: [f32(1.0)] * 32, 10: [0] * 32, 11: [f32(2)] * 32}
    bench.run("SUST.P.2D.TRAP [R4], R8, R20", registers | colours)
    want = [round(n / 31 * 255) | 0xFF00FF00 for n in lanes]
    assert image.array().reshape(-1).tolist() == want
    after = bench.run("SULD.P.2D.TRAP R30, [R4], R20", registers)
    assert after[30] == [f32(round(n / 31 * 255) / 255) for n in lanes]
    assert after[33] == [f32(1.0)] * 32
    after = bench.run("SULD.P.2D.GA.TRAP R30, [R4], R20", registers)
    assert (after[30][3], after[31][3]) == (f32(1.0), f32(1.0))


def test_a_mask_keeps_the_other_components() -> None:
    bench = ImageBench()
    image = bench.device.surface(np.full(4, 0x44332211, np.uint32), dim="1d", format="A8B8G8R8")
    bench.run("SUST.P.1D.G [R4], R8, R20", {8: [0x99] * 32, 20: [image.handle] * 32}, active=1)
    assert image.array().tolist() == [0x44339911] + [0x44332211] * 3


def test_texels_of_twelve_bytes_in_two_gobs() -> None:
    bench = ImageBench()
    array = np.arange(40 * 3, dtype=np.uint32).reshape(40, 3)
    image = bench.device.surface(array, dim="1d")
    assert image.header.format.name == "R32_G32_B32"
    for x in (4, 5, 21, 39):
        registers = {4: [x] * 32, 20: [image.handle] * 32}
        after = bench.run("SULD.P.1D.RGB R30, [R4], R20", registers)
        assert [after[30 + n][0] for n in range(3)] == array[x].tolist()
        bench.run("SUST.P.1D.RGB [R4], R8, R20", registers | {8: [7] * 32, 10: [9] * 32}, active=1)
        assert image.array()[x].tolist() == [7, 0, 9]
    assert image.array()[3].tolist() == array[3].tolist()


def test_formats_without_texels_are_a_gap() -> None:
    bench = ImageBench()
    image = bench.device.surface(np.zeros(64, np.uint32), dim="1d")
    raw = image.header.raw & ~0x7F | 0x24  # DXT1
    bench.device.gpu.images.write_header(image.index, raw)
    with pytest.raises(ModelGap, match="DXT1"):
        bench.run("SULD.D.1D R30, [R4], R20", {20: [image.handle] * 32})


@pytest.mark.parametrize("size", ["U8", "S8", "U16", "S16", "32", "64", "128"])
def test_raw_sizes_of_any_format(size: str) -> None:
    bench = ImageBench()
    array = np.arange(256, dtype=np.uint8)
    image: Any = bench.device.surface(array, dim="1d")
    nbytes = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "32": 4, "64": 8, "128": 16}[size]
    word = "" if size == "32" else f".{size}"
    x = [n % (256 // nbytes) * nbytes for n in range(32)]
    after = bench.run(f"SULD.D.BA.1D{word} R32, [R4], R20", {4: x, 20: [image.handle] * 32})
    for lane, at in enumerate(x):
        raw = array[at : at + nbytes].tobytes()
        value = int.from_bytes(raw, "little", signed=size[0] == "S")
        for n in range(max(nbytes // 4, 1)):
            assert after[32 + n][lane] == value >> 32 * n & 0xFFFFFFFF
