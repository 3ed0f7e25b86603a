"""Products of warp groups against NumPy: layouts in shared memory, types, signs, sparse A."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import gpudbg
from gpudbg.debug.session import DebugSession
from gpudbg.mem.store import ByteStore
from gpudbg.sm.engines import tensor, wgmma
from gpudbg.sm.engines.llvm import build, layout
from gpudbg.sm.fragments import bits_of
from tests.variants import some

CUBIN = Path(__file__).resolve().parent / "cubin"
Array = npt.NDArray[Any]
B_AT = 8192
"""Where B begins in shared memory."""


def image(
    matrix: Array, at: int, swizzle: int, across: bool, leading: int, stride: int
) -> tuple[Array, int]:
    """Shared memory with a matrix (rows of A or columns of B, then k) in the canonical layouts of
    the PTX ISA: core matrices of 8 x 16 bytes, or atoms of 8 swizzled rows; and its descriptor."""
    out = np.zeros(16384, np.uint8)
    outer, length = matrix.shape
    size = matrix.dtype.itemsize
    # Rows of memory: along k, or along the outer dimension.
    lines, places = (length, outer) if across else (outer, length)
    for line in range(lines):
        for place in range(places):
            element = matrix[place, line] if across else matrix[line, place]
            group, byte = line // 8, place * size
            if swizzle:
                width = swizzle
                inner = byte % width if across else byte
                address = at + line % 8 * width + group * stride + inner
                address += byte // width * leading if across else 0
            else:
                tile = byte // 16
                by_group, by_tile = (leading, stride) if across else (stride, leading)
                address = at + group * by_group + tile * by_tile + line % 8 * 16 + byte % 16
            if swizzle:
                rows = {128: 7, 64: 3, 32: 1}[swizzle]
                address ^= (address >> 7 & rows) << 4
            out[address : address + size] = np.frombuffer(element.tobytes(), np.uint8)
    code = {0: 0, 128: 1, 64: 2, 32: 3}[swizzle]
    word = at >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | code << 62
    return out, word


def accumulators(matrix: Array) -> Array:
    """A 64 x N matrix by thread and register: 32-bit elements, or pairs of halves."""
    columns = matrix.shape[1]
    per = 2 if matrix.dtype.itemsize == 2 else 1
    count = columns // (2 * per)
    out = np.zeros((128, count * per), matrix.dtype)
    for thread in range(128):
        warp, lane = divmod(thread, 32)
        for n in range(count * per):
            pair, side = (n >> 1, n & 1)
            row = 16 * warp + lane // 4 + 8 * (pair & 1)
            out[thread, n] = matrix[row, 8 * (pair >> 1) + 2 * (lane % 4) + side]
    return out


def back(registers: Array, columns: int) -> Array:
    """The matrix of `accumulators`."""
    numbers = np.arange(64 * columns).reshape(64, columns).astype(np.int32)
    places = accumulators(numbers) if registers.dtype.itemsize == 4 else _half_places(numbers)
    out = np.zeros(64 * columns, registers.dtype)
    out[places.reshape(-1)] = registers.reshape(-1)
    return out.reshape(64, columns)


def _half_places(numbers: Array) -> Array:
    low, high = (accumulators((numbers >> s & 0xFF).astype(np.uint16)) for s in (0, 8))
    return low.astype(np.int64) | high.astype(np.int64) << 8


def started(
    name: str, a: Array | None, b: Array, c: Array, *, layouts: Any,
    accumulate: bool = True, more: Array | None = None, result: Any = np.float32,
    engine: str = "step",
) -> DebugSession:  # fmt: skip
    """A session at the first instruction of one kernel."""
    program = gpudbg.load(str(CUBIN / "wgmma.cubin"), engine=engine)
    whole, da = np.zeros(16384, np.uint8), 0
    if a is not None:
        whole, da = image(a, 0, *layouts[0])
    second, db = image(b, B_AT, *layouts[1])
    d = accumulators(c)
    declared = np.float32 if result == np.float32 else np.uint32
    args = [
        (whole | second).view(np.int32), np.uint64(da), np.uint64(db), np.uint32(accumulate),
        np.zeros((128, 4), np.uint32) if more is None else more, d.view(declared),
    ]  # fmt: skip
    return program.launch(name, grid=1, block=128, args=args, shared_bytes=16384)


def multiply(
    name: str, a: Array | None, b: Array, c: Array, *, result: Any = np.float32,
    engine: str = "step", **more: Any,
) -> Array:  # fmt: skip
    """Run one kernel; the result matrix.  Compiled code leaves no product to the step engine."""
    session = started(name, a, b, c, result=result, engine=engine, **more)
    stop = session.run(max_instructions=100_000)
    assert stop.kind == "exited", stop.message
    if engine == "run":
        left = session.execute("info engine")["exits"]
        assert not [row for row in left if "GMMA" in row["instruction"]]
    return back(session.buffer(5).view(result).reshape(128, -1), c.shape[1])


def small(rng: Any, *shape: int) -> Array:
    """Small integers, whose products are exact everywhere."""
    return np.asarray(rng.integers(-4, 5, shape).astype(np.float64))


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("accumulate", [True, False])
@pytest.mark.parametrize(
    ("swizzle", "leading", "stride"), [(0, 128, 256), (0, 1024, 128), (32, 16, 256), (64, 16, 512),
                                       (128, 16, 1024)],
)  # fmt: skip
def test_halves_along_k(swizzle: int, leading: int, stride: int, accumulate: bool) -> None:
    rng = np.random.default_rng(1)
    a, b, c = small(rng, 64, 16), small(rng, 64, 16), small(rng, 64, 64)
    layout = (swizzle, False, leading, stride)
    found = multiply(
        "f16_kmajor", a.astype(np.float16), b.astype(np.float16), c.astype(np.float32),
        layouts=(layout, layout), accumulate=accumulate,
    )  # fmt: skip
    np.testing.assert_array_equal(found, a @ b.T + (c if accumulate else 0))


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    ("swizzle", "leading", "stride"), [(0, 1024, 128), (32, 512, 256), (64, 1024, 512),
                                       (128, 4096, 1024)],
)  # fmt: skip
def test_halves_across_k(swizzle: int, leading: int, stride: int) -> None:
    rng = np.random.default_rng(2)
    a, b, c = small(rng, 64, 16), small(rng, 64, 16), small(rng, 64, 64)
    # Swizzled: `leading` is from one width of rows to the next, `stride` from eight k to the next.
    layout = (swizzle, True, leading, stride)
    found = multiply(
        "f16_across", a.astype(np.float16), b.astype(np.float16), c.astype(np.float32),
        layouts=(layout, layout),
    )  # fmt: skip
    np.testing.assert_array_equal(found, a @ b.T + c)


def test_signs_and_half_results() -> None:
    rng = np.random.default_rng(3)
    a, b, c = small(rng, 64, 16), small(rng, 16, 16), small(rng, 64, 16)
    found = multiply(
        "f16_negative", a.astype(np.float16), b.astype(np.float16), c.astype(np.float32),
        layouts=((128, False, 16, 1024), (32, True, 512, 256)),
    )  # fmt: skip
    np.testing.assert_array_equal(found, c - a @ b.T)
    b, c = small(rng, 32, 16), small(rng, 64, 32)
    found = multiply(
        "f16_half", a.astype(np.float16), b.astype(np.float16), c.astype(np.float16),
        layouts=((0, False, 128, 256), (0, False, 128, 256)), result=np.float16,
    )  # fmt: skip
    np.testing.assert_array_equal(found, c - a @ b.T)


_ALONG, _ACROSS = (128, False, 16, 1024), (128, True, 4096, 1024)
_NARROW = (32, True, 512, 256)
_COMPILED: dict[str, tuple[Any, int, int, Any, Any]] = {
    "f16_kmajor": (np.float16, 16, 64, np.float32, ((0, False, 128, 256), _ALONG)),
    "f16_across": (np.float16, 16, 64, np.float32, ((0, True, 1024, 128), _ACROSS)),
    "f16_negative": (np.float16, 16, 16, np.float32, (_ALONG, _NARROW)),
    "f16_half": (np.float16, 16, 32, np.float16, ((0, False, 128, 256), (64, False, 16, 512))),
    "bf16_registers": (np.uint16, 16, 16, np.float32, ((), _NARROW)),
    "bf16_registers_negative": (np.uint16, 16, 16, np.float32, ((), _NARROW)),
    "tf32_registers_negative": (np.uint32, 8, 8, np.float32, ((), (0, False, 128, 256))),
    "tf32": (np.uint32, 8, 8, np.float32, ((32, False, 16, 256), (0, False, 128, 256))),
    "s8": (np.int8, 32, 16, np.int32, ((32, False, 16, 256), (32, False, 16, 256))),
    "b1": (np.uint8, 32, 8, np.int32, ((32, False, 16, 256), (32, False, 16, 256))),
    "fp8": (np.uint8, 32, 16, np.float32, ((32, False, 16, 256), (0, False, 128, 256))),
    "fp8_half": (np.uint8, 32, 16, np.float16, ((32, False, 16, 256), (0, False, 128, 256))),
}


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("name", some("wgmma", list(_COMPILED), 2))
def test_compiled_products_are_those_of_the_step_engine(name: str) -> None:
    """Word by word, of numbers with any fractions."""
    kind, k, columns, result, layouts = _COMPILED[name]
    rng = np.random.default_rng(list(name.encode()))
    if np.issubdtype(kind, np.floating):
        a, b = (rng.standard_normal((n, k)).astype(kind) for n in (64, columns))
    elif kind == np.int8 or kind == np.uint8:
        a, b = (rng.integers(0, 256, (n, k)).astype(np.uint8) for n in (64, columns))
        if name.startswith("fp8"):
            # Without infinities and NaNs.
            a, b = (np.where(v & 0x70 == 0x70, v & 0x8F, v) for v in (a, b))
    else:
        near = [
            rng.standard_normal((n, k)).astype(np.float32).view(np.uint32) for n in (64, columns)
        ]
        a, b = ((v >> np.uint32(32 - 8 * kind().itemsize)).astype(kind) for v in near)
    c = (100 * rng.standard_normal((64, columns))).astype(result)
    registers = fragment(a, 4 // kind().itemsize) if not layouts[0] else None
    found = [
        multiply(
            name, a if registers is None else None, b, c, layouts=layouts, more=registers,
            result=result, engine=engine,
        ).view(np.uint8)
        for engine in ("step", "run")
    ]  # fmt: skip
    np.testing.assert_array_equal(found[0], found[1])


def fragment(a: Array, per: int) -> Array:
    """A 64 x K matrix of raw elements as four words of each thread."""
    out = np.zeros((128, 4), np.uint32)
    bits = 32 // per
    for thread in range(128):
        warp, lane = divmod(thread, 32)
        for n in range(4):
            row = 16 * warp + lane // 4 + 8 * (n & 1)
            first = (n >> 1) * 4 * per + lane % 4 * per
            for h in range(per):
                out[thread, n] |= np.uint32(int(a[row, first + h]) << bits * h)
    return out


def test_a_in_registers() -> None:
    rng = np.random.default_rng(4)
    a, b, c = small(rng, 64, 16), small(rng, 16, 16), small(rng, 64, 16)
    brain = [(v.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16) for v in (a, b)]
    found = multiply(
        "bf16_registers", None, brain[1], c.astype(np.float32), more=fragment(brain[0], 2),
        layouts=((), (32, True, 512, 256)),
    )  # fmt: skip
    np.testing.assert_array_equal(found, a @ b.T + c)


def test_tf32_ignores_low_bits() -> None:
    rng = np.random.default_rng(5)
    a, b, c = small(rng, 64, 8), small(rng, 8, 8), small(rng, 64, 8)
    words = [v.astype(np.float32).view(np.uint32) | np.uint32(0x1FFF) for v in (a, b)]
    found = multiply(
        "tf32", words[0], words[1], c.astype(np.float32),
        layouts=((32, False, 16, 256), (0, False, 128, 256)),
    )  # fmt: skip
    np.testing.assert_array_equal(found, a @ b.T + c)


E4M3 = {v: s << 7 | (0 if m == 0 else (m.bit_length() + 6) << 3 | (m << (4 - m.bit_length()) & 7))
        for m in range(5) for s in (0, 1) for v in [m * (1 - 2 * s)]}  # fmt: skip
E5M2 = {v: s << 7 | (0 if m == 0 else (m.bit_length() + 14) << 2 | (m << (3 - m.bit_length()) & 3))
        for m in (0, 1, 2, 3, 4) for s in (0, 1) for v in [m * (1 - 2 * s)]}  # fmt: skip


def test_bytes_of_floats() -> None:
    rng = np.random.default_rng(6)
    a, b, c = small(rng, 64, 32), small(rng, 16, 32), small(rng, 64, 16)

    def coded(matrix: Array, table: dict[int, int]) -> Array:
        return np.array([[table[int(v)] for v in row] for row in matrix], np.uint8)

    layouts = ((32, False, 16, 256), (0, False, 128, 256))
    found = multiply("fp8", coded(a, E4M3), coded(b, E5M2), c.astype(np.float32), layouts=layouts)
    np.testing.assert_array_equal(found, a @ b.T + c)
    found = multiply(
        "fp8_half", coded(a, E5M2), coded(b, E4M3), c.astype(np.float16), layouts=layouts,
        result=np.float16,
    )  # fmt: skip
    np.testing.assert_array_equal(found, a @ b.T + c)


def _exactly(raw: Array, places: int) -> tuple[Array, Array]:
    """(values, exponents) of 8-bit floats with so many fraction bits; zeros have the least one."""
    bias = {3: 7, 2: 15}[places]
    exponent = raw.astype(int) >> places & (0x7F >> places)
    part = raw & (1 << places) - 1 | (exponent > 0) << places
    scale = np.maximum(exponent, 1) - bias
    value = np.where(raw >> 7, -1.0, 1.0) * part * 2.0 ** (scale - places)
    return value, np.where(part == 0, -999, scale)


@pytest.mark.parametrize("engine", ["step", "run"])
def test_sums_of_bytes_keep_thirteen_fraction_bits(engine: str) -> None:
    """The products and the addend are cut below the largest exponent, and so is their sum."""
    rng = np.random.default_rng(8)
    raw = [rng.integers(0, 0x48, (n, 32)) | rng.integers(0, 2, (n, 32)) << 7 for n in (64, 16)]
    a, b = (r.astype(np.uint8) for r in raw)
    c = (rng.standard_normal((64, 16)) * 8).astype(np.float32)
    layouts = ((32, False, 16, 256), (0, False, 128, 256))
    found = multiply("fp8", a, b, c, layouts=layouts, engine=engine)
    (x, x_top), (y, y_top) = _exactly(a, 3), _exactly(b, 2)
    products = x[:, None] * y[None]
    tops = np.where(products == 0, -999, x_top[:, None] + y_top[None]).max(-1)
    scale = 2.0 ** (13 - np.maximum(tops, np.frexp(np.abs(c))[1] - 1))
    total = np.trunc(products * scale[..., None]).sum(-1) + np.trunc(c * scale)
    last = 2.0 ** (np.frexp(np.abs(total))[1] - 1 - 13)
    np.testing.assert_array_equal(found, np.trunc(total / last) * last / scale)
    assert np.abs(found - (x @ y.T + c)).max() > 1e-4


def test_integers_and_bits() -> None:
    rng = np.random.default_rng(7)
    a = rng.integers(-128, 128, (64, 32)).astype(np.int8)
    b = rng.integers(0, 256, (16, 32)).astype(np.uint8)
    c = rng.integers(-1000, 1000, (64, 16)).astype(np.int32)
    c[0] = 2**31 - 5
    layouts = ((32, False, 16, 256), (32, False, 16, 256))
    found = multiply("s8", a, b, c, layouts=layouts, result=np.int32)
    exact = a.astype(np.int64) @ b.T.astype(np.int64) + c
    np.testing.assert_array_equal(found, np.clip(exact, -(2**31), 2**31 - 1))
    x, y = (rng.integers(0, 256, (n, 32)).astype(np.uint8) for n in (64, 8))
    c = rng.integers(0, 99, (64, 8)).astype(np.int32)
    found = multiply("b1", x, y, c, layouts=layouts, result=np.int32)
    bits = [np.unpackbits(v, axis=1).astype(np.int64) for v in (x, y)]
    np.testing.assert_array_equal(found, bits[0] @ bits[1].T + c)


@pytest.mark.parametrize("engine", ["step", "run"])
def test_sparse_a(engine: str) -> None:
    rng = np.random.default_rng(8)
    for name, k, dtype in (("f16_sparse", 32, np.float16), ("s8_sparse", 64, np.int8)):
        stored, b, c = small(rng, 64, k // 2), small(rng, 16, k), small(rng, 64, 16)
        pairs = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
        chosen = pairs[rng.integers(0, 6, (64, k // 4))]
        dense = np.zeros((64, k))
        more = np.zeros((128, 4), np.uint32)
        for row in range(64):
            warp, inside = divmod(row, 16)
            for chunk in range(k // 4):
                first, second = (int(v) for v in chosen[row, chunk])
                dense[row, 4 * chunk + first] = stored[row, 2 * chunk]
                dense[row, 4 * chunk + second] = stored[row, 2 * chunk + 1]
                quad, upper = 4 * (inside & 7), inside >> 3
                if dtype == np.float16:
                    lane, low = quad + (chunk >> 2), 16 * upper + 4 * (chunk & 3)
                else:
                    lane, low = quad + upper + 2 * (chunk >> 3), 4 * (chunk & 7)
                more[32 * warp + lane, 0] |= np.uint32((first | second << 2) << low)
        result = np.float32 if dtype == np.float16 else np.int32
        for of_b in ((64, False, 16, 512), (0, False, 128, 512), (128, False, 16, 1024)):
            found = multiply(
                name, stored.astype(dtype), b.astype(dtype), c.astype(result),
                layouts=((32, False, 16, 256), of_b), more=more, result=result, engine=engine,
            )  # fmt: skip
            np.testing.assert_array_equal(found, dense @ b.T + c)


@pytest.mark.parametrize("across", [False, True])
def test_reads_of_compiled_code_deep_in_k(across: bool) -> None:
    """Sparse products read 64 bytes along k of B: both halves, as the step engine does."""
    name = "wgmma.across" if across else "wgmma.along"
    pointer, word = ctypes.c_void_p, ctypes.c_uint64
    kind = ctypes.CFUNCTYPE(
        ctypes.c_bool, pointer, word, word, word, word, ctypes.c_uint32, pointer, pointer
    )
    function = kind(build.library().address(layout.symbol(name)))
    store = ByteStore(32768)
    store.writable()[:] = np.random.default_rng(1).integers(0, 256, 32768)
    for swizzle, leading, stride in ((0, 512, 128), (1, 4096, 1024), (2, 1024, 512), (3, 512, 256)):
        descriptor = leading >> 4 << 16 | stride >> 4 << 32 | swizzle << 62 | 0x40
        for first, deep in ((0, 0), (0, 2), (8, 2)):
            rows = np.zeros((3, 2, 32), np.uint32)
            at = -rows.ctypes.data % 64
            placed = rows.reshape(-1)[at // 4 : at // 4 + 64].reshape(2, 32)
            places = (placed[n].ctypes.data for n in (0, 1))
            assert function(store.data.ctypes.data, store.size, descriptor, first, deep, 0, *places)
            whole = wgmma.matrix(store, descriptor, "F16", range(first, first + 8), 32, across)
            half = whole[:, 8 * deep : 8 * deep + 16]
            wanted = half[:, ::2] | half[:, 1::2] << 16
            np.testing.assert_array_equal(placed[0].reshape(8, 4), wanted[:, :4])
            np.testing.assert_array_equal(placed[1].reshape(8, 4), wanted[:, 4:])


def test_matrices_in_shared_memory_are_shown_as_the_product_reads_them() -> None:
    """A and B by their descriptors, the focused warp's rows; the place of each element; then D."""
    rng = np.random.default_rng(9)
    a, b, c = small(rng, 64, 16), small(rng, 64, 16), small(rng, 64, 64)
    across = (128, True, 4096, 1024)
    session = started(
        "f16_across", a.astype(np.float16), b.astype(np.float16), c.astype(np.float32),
        layouts=(across, across),
    )  # fmt: skip
    row = next(r for r in session.symbols.listing if "HGMMA" in r.text)
    session.command(f"break *0x{row.offset:x}")
    session.cont()
    view = session.fragments()
    first = 16 * session.focused().index
    np.testing.assert_array_equal(view.A.values[0], a[first : first + 16])
    np.testing.assert_array_equal(view.B.values[0], b.T)
    shared = session.focused().cta.shared.words.view(np.float16)
    np.testing.assert_array_equal(shared[view.B.addresses[0] // 2], b.T)
    assert view.B.descriptor.text == (
        "shared 0x2400, k strided, 128B swizzle, leading 4096, stride 1024"
    )
    assert view.B.holder(0, 0, 0) == "0x2400"
    text = session.command("info fragment B lanes").text
    assert "(UR6:UR7)" in text
    assert "0x2400" in text.split("\n")[5]
    session.step()
    after = session.fragments(view.offset).D
    np.testing.assert_array_equal(after.values[0], a[first : first + 16] @ b.T + c[first:][:16])


@pytest.mark.parametrize("accumulate", [True, False])
def test_a_c_that_is_not_added_is_said_to_count_as_zero(accumulate: bool) -> None:
    rng = np.random.default_rng(12)
    b, layout = small(rng, 64, 16), (128, False, 16, 1024)
    session = started(
        "f16_kmajor", small(rng, 64, 16).astype(np.float16), b.astype(np.float16),
        np.ones((64, 64), np.float32), layouts=(layout, layout), accumulate=accumulate,
    )  # fmt: skip
    row = next(r for r in session.symbols.listing if "HGMMA" in r.text)
    session.command(f"break *0x{row.offset:x}")
    session.cont()
    note = session.fragments().C.note
    assert note == ("" if accumulate else "counts as zero: UP0 is false")


def test_a_descriptor_that_leads_out_of_shared_memory_is_named() -> None:
    rng = np.random.default_rng(10)
    b = small(rng, 16, 16)
    session = started(
        "f16_half", small(rng, 64, 16).astype(np.float16), b.astype(np.float16),
        np.zeros((64, 32), np.float16), layouts=((0, False, 128, 256), (0, False, 128, 256)),
        result=np.float16,
    )  # fmt: skip
    row = next(r for r in session.symbols.listing if "HGMMA" in r.text)
    session.command(f"break *0x{row.offset:x}")
    session.cont()
    for n in (4, 5, 6, 7):
        session.focused().UR[n][:] = 0x3FFF
    view = session.fragments(row.offset)
    assert view.A.values is None
    text = session.command("info fragment A").text
    assert "outside the block's" in text


def test_sparse_a_in_shared_memory_has_its_metadata_beside_it() -> None:
    """Both of what a sparse product stores: elements, and the column of each."""
    rng = np.random.default_rng(11)
    stored, b = small(rng, 64, 16), small(rng, 16, 32)
    more = np.full((128, 4), 0x4E4E4E4E, np.uint32)
    session = started(
        "f16_sparse", stored.astype(np.float16), b.astype(np.float16),
        np.zeros((64, 16), np.float32), more=more,
        layouts=((32, False, 16, 256), (64, False, 16, 512)),
    )  # fmt: skip
    row = next(r for r in session.symbols.listing if "HGMMA" in r.text)
    session.command(f"break *0x{row.offset:x}")
    session.cont()
    view = session.fragments()
    first = 16 * session.focused().index
    np.testing.assert_array_equal(view.A.values[0], stored[first : first + 16])
    # Nibbles 0xe and 0x4: columns 2, 3 and 0, 1 of chunks of four.
    assert view.E.values[0, 0].tolist() == [n for c in range(0, 32, 8) for n in
                                            (c + 2, c + 3, c + 4, c + 5)]  # fmt: skip
    dense = np.zeros((16, 32))
    np.put_along_axis(dense, view.E.values[0], view.A.values[0], axis=1)
    session.step()
    np.testing.assert_array_equal(session.fragments(view.offset).D.values[0], dense @ b.T)


def test_a_matrix_outside_shared_memory_is_an_error() -> None:
    program = gpudbg.load(str(CUBIN / "wgmma.cubin"), engine="step")
    args = [
        np.zeros(4096, np.int32), np.uint64(0x1000), np.uint64(0), np.uint32(0),
        np.zeros((128, 4), np.uint32), np.zeros((128, 32), np.float32),
    ]  # fmt: skip
    session = program.launch("f16_kmajor", grid=1, block=128, args=args, shared_bytes=16384)
    stop = session.run(max_instructions=100_000)
    assert stop.kind == "warp_error"
    assert (stop.errors[0].name, stop.errors[0].space, stop.errors[0].access) == (
        "OOR_ADDR", "shared", "load",
    )  # fmt: skip


def test_a_pipelined_product_of_a_cluster() -> None:
    """What CUTLASS does: a producer warp, two consumer groups, stages guarded by mbarriers, tiles
    of B shared by two blocks, more registers for consumers, results stored as a tensor."""
    program = gpudbg.load(str(CUBIN / "gemm.cubin"), engine="step")
    device = program.device
    rng = np.random.default_rng(9)
    a, b = (rng.standard_normal((n, 256)).astype(np.float16) for n in (256, 64))
    buffers = [device.buffer(v) for v in (a, b, np.zeros((256, 64), np.float16))]
    boxes = (((128, 64), 128), ((32, 64), 128), ((64, 64), None))
    maps = [
        device.tensor_map(buffer, box, swizzle=swizzle)
        for buffer, (box, swizzle) in zip(buffers, boxes, strict=True)
    ]
    session = program.launch(
        grid=2, block=384, args=[*maps, np.int32(256)], shared_bytes=3 * 192 * 128 + 128 * 128
    )
    assert session.grid.config.registers == 240
    stop = session.run(max_instructions=100_000)
    assert stop.kind == "exited", stop.message
    exact = a.astype(np.float64) @ b.T.astype(np.float64)
    np.testing.assert_allclose(buffers[2].array(), exact, rtol=2e-3, atol=1e-2)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("kind", ["F16", "BF16", "TF32", "E4M3", "E5M2"])
def test_finite_products_in_doubles_are_the_same_words(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The quick way for finite matrices, against the way that knows infinities, too."""
    rng = np.random.default_rng(list(kind.encode()))
    quick = tensor._multiply_finite
    for turn in range(24):
        unit = (tensor.VOLTA, tensor.TURING, tensor.HOPPER)[turn % 3]
        half = kind != "TF32" and turn % 4 == 1
        bits = 13 if kind[0] == "E" and turn % 2 else None
        a, b = (_finite(rng, kind, shape) for shape in ((16, 32), (32, 8)))
        c = _finite(rng, "F16" if half else "F32", (16, 8))
        found = []
        for way in (quick, lambda *given: None):
            monkeypatch.setattr(tensor, "_multiply_finite", way)
            found.append(tensor.multiply(a, b, c, (kind, kind), half, half, unit, bits))
        assert np.array_equal(found[0], found[1])


def _finite(rng: np.random.Generator, kind: str, shape: tuple[int, int]) -> tensor.Raw:
    """Raw elements of any exponent, or near 1; some zeros."""
    raw = rng.integers(0, 1 << 32, shape, dtype=np.uint32) >> np.uint32(32 - bits_of(kind))
    near = rng.standard_normal(shape).astype(np.float32).view(np.uint32)
    if kind in ("F32", "TF32", "BF16") and rng.integers(2):
        raw = near >> np.uint32(32 - bits_of(kind))
    parts = tensor.numbers(raw, kind)
    keep = ~(parts.infinite | parts.nan) & (rng.random(shape) < 0.9)
    return np.where(keep, raw, 0).astype(np.uint32)
