"""Boxes of tensors of every rank, im2col, reductions; generic addresses in clusters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from numpy.lib.stride_tricks import as_strided

import gpudbg
from gpudbg.formats.tensor_map import TensorMap
from gpudbg.sm.asynchronous import box

CUBIN = Path(__file__).resolve().parent / "cubin"
Array = npt.NDArray[Any]


COMPILED = pytest.param("run", marks=pytest.mark.full(instead="the same on the step engine"))


@pytest.fixture(scope="module", params=["step", COMPILED])
def program(request: pytest.FixtureRequest) -> Any:
    return gpudbg.load(str(CUBIN / "more.cubin"), engine=request.param)


def run(program: Any, kernel: str, grid: Any, args: list[Any]) -> Any:
    session = program.launch(kernel, grid=grid, block=32, args=args)
    stop = session.run(max_instructions=50_000)
    assert stop.kind == "exited", stop.message
    assert session.grid.fast is None or not session.grid.fast.trouble
    return session


def boxed(
    tensor: Array, corner: tuple[int, ...], counts: tuple[int, ...], steps: Any, fill: Any
) -> Array:
    """What a copy delivers; axes as NumPy has them."""
    out = np.full(counts, fill, tensor.dtype)
    for place in np.ndindex(*counts):
        at = tuple(c + p * s for c, p, s in zip(corner, place, steps, strict=True))
        if all(0 <= a < size for a, size in zip(at, tensor.shape, strict=True)):
            out[place] = tensor[at]
    return out


@pytest.mark.parametrize(
    ("shape", "dtype", "box", "steps", "corner", "fill"),
    [
        ((300,), "float32", (64,), (1,), (250,), "nan"),
        ((5, 9, 16), "int16", (2, 8, 16), (1, 1, 1), (3, 4, -8), "zeros"),
        ((5, 9, 16), "uint8", (4, 8, 16), (2, 3, 1), (0, -1, 0), "zeros"),
        ((2, 3, 4, 5, 4), "float64", (1, 2, 2, 3, 4), (1, 1, 1, 2, 1), (1, 2, 1, 0, 0), "nan"),
    ],
)  # fmt: skip
def test_boxes(
    program: Any, shape: Any, dtype: str, box: Any, steps: Any, corner: Any, fill: str
) -> None:
    tensor = np.arange(1, np.prod(shape) + 1).reshape(shape).astype(dtype)
    device = program.device
    buffer = device.buffer(tensor)
    given = device.tensor_map(buffer, box, element_strides=steps, fill=fill)
    counts = tuple(-(-b // s) for b, s in zip(box, steps, strict=True))
    size = int(np.prod(counts)) * tensor.itemsize
    out = np.zeros(-(-size // 4), np.uint32)
    args = [given, out, np.int32(size), *(np.int32(c) for c in reversed(corner))]
    session = run(program, f"boxes{len(shape)}", 1, args)
    got = session.buffer(1).view(np.uint8)[:size].view(dtype).reshape(counts)
    outside = np.nan if fill == "nan" else 0
    np.testing.assert_array_equal(got, boxed(tensor, corner, counts, steps, outside))


def test_a_view_with_strides_of_its_own(program: Any) -> None:
    """Every second row of every second plane."""
    tensor = np.arange(4 * 6 * 8, dtype=np.float32).reshape(4, 6, 8)
    device = program.device
    buffer = device.buffer(tensor)
    view = tensor[1::2, ::2]
    given = device.tensor_map(
        buffer.address + 6 * 8 * 4, (2, 2, 8), shape=view.shape, strides=view.strides, dtype="f32"
    )
    args = [given, np.zeros(32, np.uint32), np.int32(128), *map(np.int32, (0, 1, 0))]
    session = run(program, "boxes3", 1, args)
    got = session.buffer(1).view(np.float32).reshape(2, 2, 8)
    np.testing.assert_array_equal(got, boxed(view, (0, 1, 0), (2, 2, 8), (1, 1, 1), 0))


def test_pixels_of_a_convolution(program: Any) -> None:
    """im2col: eight channels of six pixels of a 3 x 3 filter with padding 1, filter tap (2, 0)."""
    images = np.arange(1, 2 * 4 * 5 * 16 + 1, dtype=np.float16).reshape(2, 4, 5, 16)
    device = program.device
    given = device.tensor_map(
        device.buffer(images),
        im2col={"channels": 8, "pixels": 6, "lower": (-1, -1), "upper": (-1, -1)},
    )
    start = (0, 2, 1, 8)  # image, row, column, channel
    tap = (2, 0)
    out = np.zeros(24, np.uint32)
    coordinates = (start[3], start[2], start[1], start[0], tap[1], tap[0])
    session = run(program, "pixels", 1, [given, out, np.int32(96), *map(np.int32, coordinates)])
    got = session.buffer(1).view(np.float16).reshape(6, 8)
    # Filter bases run over rows and columns -1 to size - 2, then the next image.
    bases = [(n, h, w) for n in range(2) for h in range(-1, 3) for w in range(-1, 4)]
    first = bases.index(start[:3])
    padded = np.zeros((2, 8, 9, 16), np.float16)
    padded[:, 2:6, 2:7] = images
    expected = [
        padded[n, h + tap[0] + 2, w + tap[1] + 2, 8:16] for n, h, w in bases[first : first + 6]
    ]
    np.testing.assert_array_equal(got, expected)


def test_sums_into_a_tensor(program: Any) -> None:
    tensor = np.arange(20 * 24, dtype=np.float32).reshape(20, 24)
    device = program.device
    buffer = device.buffer(tensor)
    added = np.arange(256, dtype=np.float32).reshape(16, 16)
    given = device.tensor_map(buffer, (16, 16))
    args = [given, added.view(np.uint32).reshape(-1), np.int32(12), np.int32(-2)]
    run(program, "sums", 1, args)
    tensor[:14, 12:] += added[2:, :12]
    np.testing.assert_array_equal(buffer.array(), tensor)


def test_generic_addresses_of_a_cluster(program: Any) -> None:
    session = run(program, "generic", (2, 2), [np.zeros(4 * 32 * 6, np.uint32)])
    out = session.buffer(0).reshape(4, 32, 6)
    lanes = np.arange(32)
    for block in range(4):
        other = 3 - block
        np.testing.assert_array_equal(
            out[block, :, 0], other * 100 + lanes + block * 100 + lanes + 1000
        )
        assert out[block, :, 1:5].tolist() == [[1, 0, other, 1]] * 32
        odd = np.where(lanes & 1, (lanes ^ 2) + 12, 0)
        np.testing.assert_array_equal(out[block, :, 5], odd)


def test_shuffles_that_lanes_come_to_apart(program: Any) -> None:
    masks = np.array([sum(1 << n for n in range(r, 32, 3)) for r in (0, 1)], np.uint32)
    session = run(program, "apart", 1, [masks, np.zeros(32, np.uint32)])
    lanes = np.arange(32)
    down = np.where(lanes + 3 < 32, lanes + 3, lanes) * 3 + 1
    up = np.where(lanes >= 3, lanes - 3, lanes) * 3 + 11
    expected = np.where(lanes % 3 == 0, down, np.where(lanes % 3 == 1, up, lanes * 3))
    np.testing.assert_array_equal(session.buffer(1), expected)


def test_bad_tensor_maps_and_addresses_are_errors(program: Any) -> None:
    device = program.device
    buffer = device.buffer(np.zeros((16, 32), np.float32))
    good = device.tensor_map(buffer, (16, 16))
    out = np.zeros(256, np.uint32)
    three = device.tensor_map(device.buffer(np.zeros((4, 4, 8), np.float32)), (2, 2, 8))
    cases: list[Any] = [
        ("boxes1", [good, out, np.int32(64), np.int32(0)], "ILLEGAL_INSTR_PARAM", "2 dimensions"),
        ("boxes3", [bytes(128), out, np.int32(64), *[np.int32(0)] * 3], "ILLEGAL_INSTR_PARAM", ""),
        ("pixels", [three, out, np.int32(64), *[np.int32(0)] * 6], "ILLEGAL_INSTR_PARAM", ""),
    ]
    gone = device.buffer(np.zeros((64, 4, 8), np.float32))
    stale = device.tensor_map(gone, (2, 2, 8))
    gone.free()
    zeros = [np.int32(0)] * 3
    cases.append(("boxes3", [stale, out, np.int32(128), *zeros], "MMU_FAULT", "unmapped"))
    for kernel, args, name, words in cases:
        session = program.launch(kernel, grid=1, block=32, args=args)
        stop = session.run(max_instructions=50_000)
        assert stop.kind == "warp_error", (kernel, stop.message)
        assert stop.errors[0].name == name
        assert words in stop.message


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "box is missing"),
        ({"box": (16,)}, "box has 1 numbers; the tensor has 2 axes"),
        ({"box": (16, 300)}, "box 300 of dimension 0: 1 to 256"),
        ({"box": (16, 3)}, "rows of the box have 12 bytes, no multiple of 16"),
        ({"box": (16, 32), "swizzle": 64}, "more than the 64 of the swizzle"),
        ({"box": (16, 16), "swizzle": 48}, "swizzle must be one of none, 32B, 64B, 128B"),
        ({"box": (16, 16), "strides": (100, 4)}, "stride 100 of dimension 1"),
        ({"box": (16, 16), "dtype": "complex64"}, "dtype must be one of"),
    ],
)
def test_what_a_tensor_map_cannot_say(program: Any, options: Any, words: str) -> None:
    buffer = program.device.buffer(np.zeros((16, 32), np.float32))
    with pytest.raises(gpudbg.UsageError, match=words):
        program.device.tensor_map(buffer, **options)


@pytest.mark.parametrize("engine", ["step", "auto"])
def test_rows_that_are_gathered_and_scattered(engine: str) -> None:
    """Parts of four rows of a matrix, one of them outside; a copy of some bytes of each sixteen;
    16x8 matrices of bytes whose columns become rows."""
    program = gpudbg.load(str(CUBIN / "rows.sm_100a.cubin"), engine=engine)
    device = program.device
    source = np.arange(1, 21 * 64 + 1, dtype=np.float32).reshape(21, 64)
    target = device.buffer(source * 0)
    maps = [device.tensor_map(b, (1, 16)) for b in (device.buffer(source), target)]
    column, rows = 8, [3, 20, 21, 5]
    fragments = np.arange(512, dtype=np.uint16).astype(np.uint8).reshape(32, 4, 4)
    args = [*maps, np.full(256, 0xEE, np.uint8), np.zeros(512, np.uint8), fragments.reshape(-1)]
    session = program.launch(grid=1, block=32, args=[*args, column, *rows])
    assert session.run(max_instructions=2000).kind == "exited"
    box = np.zeros((4, 16), np.float32)
    for n, row in enumerate(rows):
        box[n] = source[row, 8:24] if row < 21 else 0
    stored = np.zeros_like(source)
    for n, row in enumerate(reversed(rows)):
        if row < 21:
            stored[row, 8:24] = box[n]
    np.testing.assert_array_equal(target.array(), stored)
    mask = np.resize([0xA005 >> n & 1 for n in range(16)], 256).astype(bool)
    whole = np.where(mask, box.reshape(-1).view(np.uint8), 0xEE)
    np.testing.assert_array_equal(session.buffer(2), whole)
    # A lane's bytes: columns 2t and 2t + 1 of row g, then of row g + 8.
    matrices = np.zeros((4, 16, 8), np.uint8)
    for lane in range(32):
        for h in range(4):
            row, at = lane // 4 + 8 * (h >> 1), 2 * (lane % 4) + (h & 1)
            matrices[:, row, at] = fragments[lane, :, h]
    np.testing.assert_array_equal(session.buffer(3).reshape(4, 8, 16), matrices.transpose(0, 2, 1))


@pytest.mark.parametrize(("kernel", "engine"), [("bulk", "run"), ("tensor", "step")])
def test_multicast_by_a_function_of_the_driver(kernel: str, engine: str) -> None:
    """ptxas has no multicast for sm_120: in launches with clusters it calls for it."""
    program = gpudbg.load(str(CUBIN / "multicast.sm_120.cubin"), engine=engine)
    matrix = np.arange(32 * 32, dtype=np.uint32).reshape(32, 32)
    source: Any = matrix
    expected = matrix[:4].reshape(8, 16)
    if kernel == "tensor":
        source = program.device.tensor_map(program.device.buffer(matrix), (8, 16))
        expected = matrix[6:14, 4:20]
    args = [source, np.zeros((2, 8, 16), np.uint32)]
    session = program.launch(kernel, grid=2, block=32, args=args, shared_bytes=1024)
    stop = session.run(max_instructions=5000)
    assert stop.kind == "exited", stop.message
    for block in session.buffer(1):
        np.testing.assert_array_equal(block, expected)


@pytest.mark.parametrize("seed", range(3))
def test_a_box_inside_its_tensor_is_the_same_as_strided_bytes(seed: int) -> None:
    """Where a box is copied row by row its bytes are those of its elements, one by one; it is so
    exactly where all of its elements are inside."""
    rng, met = np.random.default_rng(seed), set[bool]()
    memory = rng.integers(0, 256, 1 << 16).astype(np.uint8)
    for _ in range(60):
        rank = int(rng.integers(1, 5))
        sizes = tuple(int(n) for n in rng.integers(1, 12, rank))
        strides, unit = [], 16 * (-(-2 * sizes[0] // 16))
        for n in range(1, rank):
            strides.append(unit)
            unit *= sizes[n]
        counts = tuple(int(n) for n in rng.integers(1, 5, rank))
        steps = tuple(int(n) for n in rng.integers(1, 3, rank))
        given = TensorMap(0, 1, sizes, tuple(strides), counts, steps)
        corner = [int(rng.integers(-1, size)) for size in sizes]
        found, inside = box.tile(given, corner), box.whole(given, corner)
        assert (inside is not None) == bool(found.inside.all())
        met.add(inside is not None)
        if inside is not None:
            held = memory[inside.first : inside.first + inside.size]
            made = as_strided(held, inside.shape, inside.strides).reshape(-1)
            wanted = memory[found.offsets[:, None] + np.arange(2)].reshape(-1)
            np.testing.assert_array_equal(made, wanted)
    assert met == {True, False}
