"""SURED and SUATOM: every row of the reduction table, on every dimension and layout."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudbg.sm.faults import WarpErrorRaised
from gpudbg.sm.images.access import SurfaceAccess
from tests.images.bench import FULL, ImageBench, natural, vector
from tests.images.model import AXES, BYTES, ROWS, Misaligned, Model, Outside

PAIRS = [(op, size) for op, sizes in ROWS.items() for size in sizes.split()]
CLAMPS = {"IGN": ".IGN", "NEAR": "", "TRAP": ".TRAP"}
SHAPES = {
    "1D": (23,), "1D_BUFFER": (23,), "1D_ARRAY": (3, 23), "2D": (11, 23), "2D_ARRAY": (2, 11, 23),
    "3D": (5, 11, 23),
}  # fmt: skip
GOBS = (1, 2, 4, 8, 16, 32)
WORDS = {"U32": "", "F32": ".F32.FTZ.RN", "F16x2": ".F16x2.RN"}
EDGE_VALUES = (
    0, 1, 2, 7, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFE, 0x3F800000, 0xBF800000, 0x00000001,
    0x7F800000, 0xFF800000, 0x7FC00000, 0x3C003C00, 0xBC007C00, 0x80000000, 0x0001FC00, 0x00800000,
)  # fmt: skip


def layouts(dim: str) -> list[dict[str, Any]]:
    """Every layout a dimension has."""
    if dim == "1D_BUFFER":
        return [{}]
    made: list[dict[str, Any]] = [{"block_height": n} for n in GOBS]
    if dim == "3D":
        made = [{"block_height": h, "block_depth": d} for h in GOBS for d in GOBS]
    if dim in ("1D", "2D"):
        made.append({"layout": "pitch"})
    return made


def make(
    bench: ImageBench, dim: str, layout: dict[str, Any], size: str, rng: random.Random
) -> tuple[Any, bool]:
    """A surface of 32- or 64-bit elements with edge values in it; whether it is signed."""
    dtype: Any = np.int32 if rng.randrange(2) else np.uint32
    shape = SHAPES[dim]
    if BYTES[size] == 8:
        shape = (*shape, 2)
    count = int(np.prod(shape))
    values = [
        rng.choice(EDGE_VALUES) if rng.randrange(3) else rng.getrandbits(32) for _ in range(count)
    ]
    array = np.array(values, np.uint32).view(dtype).reshape(shape)
    image = bench.device.surface(array, dim=dim.lower(), **layout)
    return image, dtype is np.int32


def coords(dim: str, size: int, ba: bool, clamp: str, rng: random.Random) -> list[list[int]]:
    """Coordinates of 32 lanes: mostly inside, some outside, layers with high bits set."""
    sizes = {"x": SHAPES[dim][-1], "l": SHAPES[dim][0]}
    if "y" in AXES[dim]:
        sizes["y"] = SHAPES[dim][-2]
    if "z" in AXES[dim]:
        sizes["z"] = SHAPES[dim][0]
    out = []
    for _ in range(32):
        lane = []
        for axis in AXES[dim]:
            value = rng.randrange(sizes[axis])
            if clamp != "TRAP" and not rng.randrange(5):
                value = rng.choice((-1, -7, sizes[axis], sizes[axis] + 3, 0x7FFF, -0x8000))
            if axis == "x" and ba:
                value *= size
            if axis == "l":
                value = (value & 0xFFFF) | rng.randrange(4) << 16
            lane.append(value & FULL)
        out.append(lane)
    return out


def operands(size: str, rng: random.Random) -> list[int]:
    """Operands of 32 lanes."""
    low = [rng.choice(EDGE_VALUES) if rng.randrange(3) else rng.getrandbits(32) for _ in range(32)]
    if BYTES[size] == 4:
        return low
    return [v | rng.choice(EDGE_VALUES) << 32 for v in low]


def check(
    op: str, size: str, dim: str, layout: dict[str, Any], clamp: str, ba: bool,
    rng: random.Random, mnemonic: str = "SURED",
) -> None:  # fmt: skip
    """One instruction against the model."""
    arch = "sm_60" if size == "F16x2" else rng.choice(("sm_50", "sm_60"))
    bench = ImageBench(arch)
    image, is_signed = make(bench, dim, layout, size, rng)
    model = Model(natural(image), is_signed)
    bytes_ = BYTES[size]
    at, b = coords(dim, bytes_, ba, clamp, rng), operands(size, rng)
    immediate = rng.randrange(2)
    bench.bind(0x50, image.handle | rng.getrandbits(12) << 20)
    handle = "0x50" if immediate else "R20"
    suffix = f"{WORDS.get(size, '.' + size)}{CLAMPS[clamp]}"
    target = "R30, " if mnemonic == "SUATOM" else ""
    text = f"{mnemonic}.D{'.BA' * ba}.{dim}.{op}{suffix} {target}[R4], R8, {handle}"
    registers = vector(4, at) | {8: b, 9: [v >> 32 for v in b], 20: [image.handle] * 32}
    places = model.places(dim, clamp, at, bytes_, ba)
    old = model.reduce(op, size, places, b)
    after = bench.run(text, registers)
    assert np.array_equal(natural(image), model.data), text
    if mnemonic == "SUATOM":
        got = [lo | hi << 32 for lo, hi in zip(after[30], after[31], strict=True)]
        assert [g & (1 << 8 * bytes_) - 1 for g in got] == old, text


@pytest.mark.in_turn(6)
@pytest.mark.parametrize(("op", "size"), PAIRS)
def test_every_row_on_every_dimension_and_layout(op: str, size: str) -> None:
    rng = random.Random(f"{op}{size}")
    for dim in AXES:
        for layout in rng.sample(layouts(dim), min(4, len(layouts(dim)))):
            clamp = rng.choice(list(CLAMPS))
            check(op, size, dim, layout, clamp, bool(rng.randrange(2)), rng)


def test_every_layout() -> None:
    rng = random.Random(5)
    for dim in AXES:
        for layout in layouts(dim):
            check("ADD", "U32", dim, layout, "NEAR", True, rng)


@settings(max_examples=60)
@given(st.data())
def test_any_combination(data: st.DataObject) -> None:
    op, size = data.draw(st.sampled_from(PAIRS))
    dim = data.draw(st.sampled_from(sorted(AXES)))
    layout = data.draw(st.sampled_from(layouts(dim)))
    clamp = data.draw(st.sampled_from(sorted(CLAMPS)))
    seed = data.draw(st.integers(0, 1 << 30))
    mnemonic = data.draw(st.sampled_from(("SURED", "SUATOM")))
    check(op, size, dim, layout, clamp, bool(seed & 1), random.Random(seed), mnemonic)


def test_pairs_outside_the_table_are_an_illegal_parameter() -> None:
    sizes = ["U32", "S32", "U64", "S64", "F32", "F16x2", "SD32", "SD64"]
    bad = [pair for pair in itertools.product(ROWS, sizes) if pair not in PAIRS]
    assert len(bad) == 64 - len(PAIRS)
    bench = ImageBench("sm_60")
    image = bench.device.surface(np.zeros(64, np.uint32), dim="1d")
    for op, size in bad:
        text = f"SURED.D.BA.1D.{op}{WORDS.get(size, '.' + size)} [R4], R8, R20"
        with pytest.raises(WarpErrorRaised) as caught:
            bench.run(text, {20: [image.handle] * 32})
        assert caught.value.code == "ILLEGAL_INSTR_PARAM"
        assert op in caught.value.detail


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SURED.D.BA.2D.ADD [R5], R8, R20", "MISALIGNED_REG"),
        ("SURED.D.BA.1D_ARRAY.ADD [R5], R8, R20", "MISALIGNED_REG"),
        ("SURED.D.BA.3D.ADD [R6], R8, R20", "MISALIGNED_REG"),
        ("SURED.D.BA.2D_ARRAY.ADD [R6], R8, R20", "MISALIGNED_REG"),
        ("SURED.D.BA.1D.ADD.U64 [R4], R9, R20", "MISALIGNED_REG"),
        ("SULD.D.BA.1D.128 R2, [R4], R20", "MISALIGNED_REG"),
        ("SURED.D.BA.1D.ADD [RZ], R8, R20", "ILLEGAL_INSTR_PARAM"),
        ("SURED.D.BA.1D.ADD [R4], R8, RZ", "ILLEGAL_INSTR_PARAM"),
    ],
)
def test_register_rules(text: str, code: str) -> None:
    bench = ImageBench()
    image = bench.device.surface(np.zeros(64, np.uint32), dim="1d")
    with pytest.raises(WarpErrorRaised) as caught:
        bench.run(text, {20: [image.handle] * 32})
    assert caught.value.code == code
    assert not image.array().any()


def test_operand_may_be_rz() -> None:
    bench = ImageBench()
    image = bench.device.surface(np.full(8, 7, np.uint32), dim="1d")
    bench.run(
        "SURED.D.1D.AND [R4], RZ, R20", {4: [n % 8 for n in range(32)], 20: [image.handle] * 32}
    )
    assert not image.array().any()


@pytest.mark.in_turn(12)
@pytest.mark.parametrize("op", ["ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR"])
@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
@pytest.mark.parametrize("layout", [{"layout": "pitch"}, {"block_height": 4}])
def test_formatted_reductions_update_texels(op: str, dtype: Any, layout: dict[str, Any]) -> None:
    """.P counts in texels and takes its sign from the header: as .D with the size spelled out."""
    values = np.array([EDGE_VALUES[n % len(EDGE_VALUES)] for n in range(64)], np.uint32)
    size = "" if op in ("INC", "DEC") else ".SD32"
    found = []
    for form in (f"SURED.P.2D.{op}.IGN", f"SURED.D.2D.{op}{size}.IGN"):
        bench = ImageBench()
        image = bench.device.surface(values.view(dtype).reshape(4, 16), dim="2d", **layout)
        rows = {
            4: [n % 18 for n in range(32)],
            5: [n % 5 for n in range(32)],
            8: [EDGE_VALUES[(3 * n) % len(EDGE_VALUES)] for n in range(32)],
            20: [image.handle] * 32,
        }
        bench.run(f"{form} [R4], R8, R20", rows)
        found.append(image.array().view(np.uint32).tolist())
    assert found[0] == found[1]
    assert found[0] != values.reshape(4, 16).tolist()


def test_formatted_atomics_return_the_old_texel_and_add_floats() -> None:
    bench = ImageBench()
    image = bench.device.surface(np.full(32, 1.5, np.float32), dim="1d")
    add = int(np.array(0.25, np.float32).view(np.uint32))
    old = bench.run(
        "SUATOM.P.1D.ADD R2, [R4], R8, R20",
        {4: list(range(32)), 8: [add] * 32, 20: [image.handle] * 32},
    )
    assert image.array().tolist() == [1.75] * 32
    assert old[2] == [0x3FC00000] * 32


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_formatted_reductions_need_32_bits(dtype: Any) -> None:
    bench = ImageBench()
    image = bench.device.surface(np.zeros(8, dtype), dim="1d")
    with pytest.raises(WarpErrorRaised, match="texels of 4 bytes") as caught:
        bench.run("SURED.P.1D.ADD [R4], R8, R20", {20: [image.handle] * 32})
    assert caught.value.code == "ILLEGAL_INSTR_PARAM"


def test_trap_has_no_effect_and_names_the_lanes() -> None:
    bench = ImageBench()
    image = bench.device.surface(np.zeros((4, 8), np.uint32), name="sheet")
    x = [4 * n if n < 7 else 0 for n in range(32)]
    x[3], x[9] = 32, -4
    with pytest.raises(WarpErrorRaised) as caught:
        bench.run(
            "SURED.D.BA.2D.ADD.TRAP [R4], R8, R20",
            {4: x, 5: [1] * 32, 8: [1] * 32, 20: [image.handle] * 32},
        )
    assert (caught.value.code, caught.value.lanes) == ("OOR_ADDR", 1 << 3 | 1 << 9)
    assert caught.value.space == "surface"
    assert "sheet" in caught.value.detail
    assert not image.array().any()
    access = bench.unit.log[-1]
    assert isinstance(access, SurfaceAccess)
    assert [(lane.lane, lane.outside, lane.did) for lane in access.lanes_outside()] == [
        (3, ("x too high",), "trap"),
        (9, ("x too low",), "trap"),
    ]


def test_misaligned_byte_address() -> None:
    bench = ImageBench()
    image = bench.device.surface(np.zeros(8, np.uint32), dim="1d")
    model = Model(natural(image))
    with pytest.raises(Misaligned):
        model.places("1D", "TRAP", [[2]], 4, True)
    with pytest.raises(Outside):
        model.places("1D", "TRAP", [[32]], 4, True)
    with pytest.raises(WarpErrorRaised) as caught:
        bench.run("SURED.D.BA.1D.ADD [R4], R8, R20", {4: [2] * 32, 20: [image.handle] * 32})
    assert caught.value.code == "MISALIGNED_ADDR"


def test_a_disabled_surface_drops_updates() -> None:
    bench = ImageBench()
    image = bench.device.surface(np.arange(8, dtype=np.uint32), dim="1d")
    registers = {8: [5] * 32, 20: [image.handle] * 32}
    image.disable()
    bench.run("SURED.D.BA.1D.ADD.TRAP [R4], R8, R20", registers)
    assert bench.run("SULD.D.BA.1D.TRAP R30, [R4], R20", registers)[30] == [0] * 32
    assert image.array().tolist() == list(range(8))
    image.enable()
    bench.run("SURED.D.BA.1D.ADD.TRAP [R4], R8, R20", registers)
    assert image.array()[0] == 160


@pytest.mark.parametrize("handle", [2, 0, 0xFFFFF, 0x7FFFF])
def test_an_invalid_header_acts_as_disabled(handle: int) -> None:
    bench = ImageBench()
    image = bench.device.surface(np.arange(8, dtype=np.uint32), dim="1d")
    assert image.handle == 1
    registers = {8: [5] * 32, 20: [handle] * 32}
    bench.run("SURED.D.BA.1D.ADD.TRAP [R4], R8, R20", registers)
    bench.run("SUST.D.BA.1D.TRAP [R4], R8, R20", registers)
    assert bench.run("SULD.D.BA.1D.TRAP R30, [R4], R20", registers)[30] == [0] * 32
    assert image.array().tolist() == list(range(8))
    assert len(bench.unit.log) == 3


def test_header_versions_that_do_not_exist() -> None:
    bench = ImageBench()
    image = bench.device.surface(np.arange(8, dtype=np.uint32), dim="1d")
    for version in (5, 6, 7):
        raw = image.header.raw & ~(7 << 85) | version << 85
        bench.device.gpu.images.write_header(image.index, raw)
        bench.run("SURED.D.BA.1D.ADD [R4], R8, R20", {8: [5] * 32, 20: [1] * 32})
        assert image.array().tolist() == list(range(8))


def test_maximum_index_makes_headers_invalid() -> None:
    bench = ImageBench()
    images = [bench.device.surface(np.zeros(4, np.uint32), dim="1d") for _ in range(3)]
    bench.device.gpu.images.maximum_index = 2
    for image in images:
        bench.run("SURED.D.BA.1D.ADD [R4], R8, R20", {8: [1] * 32, 20: [image.handle] * 32})
    assert [int(i.array()[0]) for i in images] == [32, 32, 0]


def test_helper_pixels_do_nothing() -> None:
    covered = 0x00FF0F01
    bench = ImageBench(coverage=[covered])
    image = bench.device.surface(np.zeros(32, np.uint32), dim="1d")
    registers = {4: list(range(32)), 8: [3] * 32, 20: [image.handle] * 32}
    bench.run("SURED.D.1D.ADD [R4], R8, R20", registers, active=0x0FFF0FFF)
    live = covered & 0x0FFF0FFF
    assert image.array().tolist() == [3 * (live >> n & 1) for n in range(32)]
    bench.run("SUST.D.1D [R4], R8, R20", registers)
    assert image.array().tolist() == [3 * (covered >> n & 1) for n in range(32)]


def test_half_pairs_flush_on_sm_52() -> None:
    bench = ImageBench("sm_52")
    image = bench.device.surface(np.array([0x00010400], np.uint32), dim="1d")
    bench.run("SURED.D.1D.ADD.F16x2.FTZ.RN [R4], R8, R20", {20: [image.handle] * 32}, active=1)
    assert image.array()[0] == 0x00000400


def test_lanes_with_different_handles() -> None:
    bench = ImageBench()
    first = bench.device.surface(np.zeros(4, np.uint32), dim="1d")
    other = bench.device.surface(np.zeros(4, np.uint32), dim="1d_buffer")
    handles = [(first if n % 3 else other).handle for n in range(32)]
    bench.run("SURED.D.1D.INC [R4], R8, R20", {8: [1000] * 32, 20: handles})
    assert (first.array()[0], other.array()[0]) == (21, 11)


def test_a_fault_in_one_of_two_surfaces_leaves_both() -> None:
    bench = ImageBench()
    first = bench.device.surface(np.zeros(4, np.uint32), dim="1d")
    gone = bench.device.surface(np.zeros(4, np.uint32), dim="1d")
    bench.device.gpu.memory.free(gone.allocation)
    handles = [(first if n < 16 else gone).handle for n in range(32)]
    with pytest.raises(WarpErrorRaised) as caught:
        bench.run("SUST.D.1D [R4], R8, R20", {8: [1] * 32, 20: handles})
    assert caught.value.code == "MMU_FAULT"
    assert not first.array().any()


def test_compare_and_swap() -> None:
    bench = ImageBench()
    image = bench.device.surface(np.array([3, 4], np.uint32), dim="1d")
    registers = {4: [0, 1] * 16, 8: [3] * 32, 9: [9] * 32, 20: [image.handle] * 32}
    after = bench.run("SUATOM.D.1D.CAS R30, [R4], R8, R20", registers)
    assert image.array().tolist() == [9, 4]
    assert after[30][:4] == [3, 4, 9, 4]
