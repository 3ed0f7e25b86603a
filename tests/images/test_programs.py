"""Programs: kernels with images, references bound by name, launch tables, flags, queries."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.errors import UsageError
from gpudbg.formats.launch_toml import flag_launch, parse_launch
from tests.kernel_cases import KERNELS, Case, cases, check, run

HERE = Path(__file__).resolve().parent
NAMES = ["surface_red", "surface_rw", "texture_fetch", "texture_modes"]
BOUND = str(KERNELS / "cubin" / "sm_50" / "bound_images.cubin")


@pytest.mark.in_turn(10)
@pytest.mark.parametrize("engine", ["step", "run"])
@pytest.mark.parametrize("case", list(cases(names=NAMES)), ids=lambda case: case.id)
def test_kernel(case: Case, engine: str) -> None:
    assert check(case, run(case, functools.partial(gpudbg.load, engine=engine))) == []


@pytest.mark.parametrize("layout", [{"block_height": 16}, {"layout": "pitch"}])
def test_kernels_do_not_see_the_layout(layout: dict[str, Any]) -> None:
    program = gpudbg.load(str(KERNELS / "cubin" / "sm_50" / "surface_rw.cubin"))
    start = np.arange(21 * 11, dtype=np.uint32).reshape(11, 21)
    outputs = []
    for options in ({}, layout):
        a = program.device.surface(start, **options)
        b = program.device.surface(np.zeros_like(start), **options)
        args = [a, b, np.int32(21), np.int32(11)]
        stop = program.launch("surf_blur2d", grid=(2, 2), block=(16, 8), args=args).run()
        assert stop.kind == "exited"
        outputs.append(b.array())
    assert np.array_equal(outputs[0], outputs[1])


def bound_model(tex: Any, a: Any, b: Any, count: int) -> tuple[Any, Any, Any]:
    """What the bound_images kernel does, threads in order within each instruction."""
    a, b, out = a.copy(), b.copy(), np.zeros(32, np.uint32)
    values = {}
    old = {t: int(a[t]) for t in range(count)}
    for t in range(count):
        values[t] = (int(tex[t]) + old[t]) & 0xFFFFFFFF
        b[t] = values[t]
    for t in range(count):
        a[t] = (int(a[t]) + values[t]) & 0xFFFFFFFF
    for t in range(count):
        a[t] = min(np.uint32(a[t]).view(np.int32), np.uint32(values[t]).view(np.int32))
    for t in range(count):
        b[t] |= old[t]
    for t in range(count):
        out[t] = ((len(tex) + 1) * 3 + values[t]) & 0xFFFFFFFF
    return a, b, out


def bound_images() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(5)
    arrays = [rng.integers(0, 1 << 20, 32, np.uint32) for _ in range(3)]
    return arrays[0], arrays[1], arrays[2]


def test_references_bound_by_name() -> None:
    program = gpudbg.load(BOUND)
    device = program.device
    tex, a, b = bound_images()
    surf_a, surf_b = device.surface(a, dim="1d"), device.surface(b, dim="1d")
    program.bind("tex_a", device.texture(tex, dim="1d"))
    program.bind("surf_a", surf_a)
    program.bind("surf_b", surf_b)
    out = device.buffer(np.zeros(32, np.uint32))
    stop = program.launch(args=[out, np.uint32(20)]).run()
    assert stop.kind == "exited", stop.message
    want = bound_model(tex, a.view(np.int32), b, 20)
    assert np.array_equal(surf_b.array(), want[1])
    assert np.array_equal(surf_a.array().view(np.int32), want[0].view(np.int32))
    assert np.array_equal(out.array(), want[2])


def test_references_that_are_not_bound_act_as_disabled() -> None:
    program = gpudbg.load(BOUND)
    session = program.launch(args=[np.zeros(32, np.uint32), np.uint32(4)])
    assert session.run().kind == "exited"
    data = session.execute("info outside 100")
    assert {row["image"] for row in data["last"]} == {"unbound reference"}


def test_binding_complaints() -> None:
    program = gpudbg.load(BOUND)
    surface = program.device.surface(np.zeros(4, np.uint32))
    with pytest.raises(UsageError, match="references: tex_a"):
        program.bind("nothing", surface)
    with pytest.raises(UsageError, match="texture reference"):
        program.bind("tex_a", surface)


TABLE = """
kernel = "bound_images"
args = ["out", "u32:20"]
outputs = ["out"]
[buffers.out]
type = "u32"
count = 32
[images.t]
kind = "texture"
dim = "1d"
type = "u32"
size = [32]
init = { rule = "arange" }
bind = "tex_a"
[images.a]
kind = "surface"
dim = "1d"
type = "u32"
size = [32]
bind = "surf_a"
[images.b]
kind = "surface"
dim = "1d"
type = "u32"
size = [32]
bind = "surf_b"
"""


def test_a_table_makes_and_binds_images() -> None:
    program = gpudbg.load(BOUND)
    session = program.launch_table(parse_launch(TABLE))
    assert session.run().kind == "exited"
    want = bound_model(np.arange(32), np.zeros(32, np.int32), np.zeros(32, np.uint32), 20)
    assert np.array_equal(session.buffer("out"), want[2])
    made = {i.name: i for i in program.device.images}
    assert np.array_equal(made["b"].array(), want[1])


def test_flags_make_images() -> None:
    program = gpudbg.load(str(KERNELS / "cubin" / "sm_50" / "surface_rw.cubin"))
    table = flag_launch(
        kernel="surf_copy1d", grid="3", block="32",
        args=["a=surface.1d:u32[90]:arange", "b=surface.1d:u32[90](layout=pitch)", "i32:90"],
    )  # fmt: skip
    session = program.launch_table(table)
    assert session.run().kind == "exited"
    assert np.array_equal(session.buffer("b")[::-1], np.arange(90) ^ 0x5A5A5A5A)


def test_a_pixel_shader_launch() -> None:
    program = gpudbg.load(str(HERE / "probes.cubin"))
    surface = program.device.surface(np.zeros(4, np.uint32), dim="1d")
    words = [
        np.zeros((64, 4), np.int32),
        np.full((64, 4), 3, np.uint32),
        np.zeros((64, 4), np.int32),
    ]
    masks = [0xFF, 0xF0F0F0F0]
    # In a pixel shader the thread coordinates read zero: every lane adds to the first texel.
    session = program.launch(
        "sured_b_add_1d_u32_trap", grid=2, block=32, args=[surface, *words], coverage=masks
    )
    assert session.run().kind == "exited"
    assert surface.array().tolist() == [3 * (8 + 16), 0, 0, 0]


def test_queries_without_an_instruction() -> None:
    program = gpudbg.load(str(HERE / "queries.cubin"))
    device = program.device
    texture = device.texture(
        np.zeros((6, 10), np.float32), address="wrap", filter="linear", normalized=True
    )
    surface = device.surface(np.zeros((3, 4, 5, 2), np.uint16), dim="3d")
    out = device.buffer(np.zeros(23, np.uint32))
    stop = program.launch(grid=1, block=1, args=[texture, surface, out, 0]).run()
    assert stop.kind == "exited", stop.message
    assert out.array().tolist() == [
        10, 6, 1, 32, 1, 1, 0, 1, 1, 1, 0, 0, 0,
        5, 4, 3, 2, 2, 0, 1,
        1, 1, 1,
    ]  # fmt: skip


def test_a_second_start_begins_with_the_first_texels() -> None:
    program = gpudbg.load(str(KERNELS / "cubin" / "sm_50" / "surface_red.cubin"))
    surface = program.device.surface(np.zeros(16, np.uint32), dim="1d")
    values = np.arange(32, dtype=np.uint32)
    session = program.launch("sured_1d", args=[surface, values, np.int32(32)])
    session.run()
    once = surface.array()
    session.execute("run")
    assert np.array_equal(surface.array(), once)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda d: d.surface(np.zeros((2, 2, 2, 2, 2))), "no image"),
        (lambda d: d.surface(np.zeros(4, np.uint32), dim="4d"), "dimension"),
        (lambda d: d.surface(np.zeros((2, 2, 3), np.uint8), dim="2d"), "no texel format"),
        (lambda d: d.surface(np.zeros((2, 2), np.uint8), block_height=3), "block height"),
        (lambda d: d.surface(np.zeros((2, 2, 2), np.uint8), layout="pitch"), "two dimensions"),
        (
            lambda d: d.surface(np.zeros(4, np.uint8), dim="1d_buffer", layout="block_linear"),
            "linear",
        ),
        (lambda d: d.surface(np.zeros(4, np.uint8), dim="1d", colour=3), "no option"),
        (lambda d: d.surface(np.zeros((1, 70000), np.uint8)), "at most"),
        (lambda d: d.surface(np.zeros(0, np.uint8), dim="1d"), "no 1d image"),
        (lambda d: d.texture(np.zeros((2, 2), np.uint8), filter="linear"), "linear filter"),
        (lambda d: d.texture(np.zeros((2, 2), np.uint32), read="normalized_float"), "8- or 16-bit"),
        (lambda d: d.texture(np.zeros((2, 2), "f4"), address="torus"), "one of wrap"),
        (lambda d: d.texture(np.zeros((5, 2, 2), np.float32), dim="cube"), "6 faces"),
        (lambda d: d.texture(np.zeros((2, 2))), "float64"),
        (lambda d: d.texture(np.zeros(4, object)), "cannot be copied"),
        (lambda d: d.surface(np.zeros(4, np.uint32), dim="1d", format="DXT1"), "texel format"),
    ],
)
def test_what_cannot_be_made(make: Any, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        make(gpudbg.Device())
