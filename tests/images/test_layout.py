"""Addresses: the recorded cases, the formula, both GOB views, and back."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudbg.errors import UsageError
from gpudbg.mem.surface import GOB_VIEWS, VIEWS, SurfaceLayout, layout_of
from gpudbg.reference.surfaces import decode_surface
from gpudbg.regs import texheader_schema
from gpudbg.regs.texfields import LAYOUTS, VERSIONS
from gpudbg.regs.texheader import (
    decode_header,
    decode_sampler,
    encode_header,
    encode_sampler,
    fields_of,
    fill,
    split_words,
)
from gpudbg.regs.texheader_text import decode_texheader, decode_texsampler, parse_words

CASES = json.loads((Path(__file__).parent / "surface_cases.json").read_text())["cases"]


def words(case: dict[str, Any]) -> list[int]:
    return [int(w, 16) for w in case["header_words"]]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c["id"])
def test_case(case: dict[str, Any]) -> None:
    instr = case["instr"]
    flags = ["--dim", instr["dim"], "--size", instr["size"], "--clamp", instr["clamp"]]
    flags += ["--ra", ",".join(case["ra"]), *(["--ba"] if instr["ba"] else [])]
    found = decode_surface([*case["header_words"], *flags]).data
    assert {k: found.get(k) for k in case["expect"]} == case["expect"]
    assert found["layout"] == case.get("layout", {})
    header = decode_texheader(case["header_words"]).data
    assert {k: header.get(k) for k in case["header"]} == case["header"]
    assert header["header_words"] == case["header_words"]
    again = decode_header(words(case))
    assert again is not None
    assert encode_header(again).words() == tuple(words(case))


@pytest.mark.parametrize("case", CASES, ids=lambda c: c["id"])
def test_case_back_from_the_offset(case: dict[str, Any]) -> None:
    expect = case["expect"]
    if expect["outcome"] != "access":
        return
    for view in VIEWS:
        back = decode_surface(
            [*case["header_words"], "--address", expect[f"address_{view}"], "--view", view]
        ).data
        assert back["x_bytes"] == expect.get("clamped_to", expect)["x_bytes"]
        assert back["outcome"] == "texel"
        at = expect.get("clamped_to", expect["coords"])
        assert {k: back["coords"][k] for k in ("y", "z", "layer")} == {
            k: at[k] for k in ("y", "z", "layer")
        }


LAYOUT = st.builds(
    SurfaceLayout,
    kind=st.just("BLOCKLINEAR"),
    width=st.integers(1, 150),
    height=st.integers(1, 90),
    depth=st.integers(1, 9),
    layers=st.integers(1, 3),
    texel=st.sampled_from((1, 2, 4, 8, 12, 16)),
    height_log2=st.integers(0, 5),
    depth_log2=st.integers(0, 5),
)


@settings(max_examples=150)
@given(LAYOUT, st.sampled_from(VIEWS), st.data())
def test_offset_is_the_written_formula(layout: SurfaceLayout, view: str, data: Any) -> None:
    xb = data.draw(st.integers(0, layout.row_bytes - 1))
    y = data.draw(st.integers(0, layout.height - 1))
    z = data.draw(st.integers(0, layout.depth - 1))
    layer = data.draw(st.integers(0, layout.layers - 1))
    h, d = 2**layout.height_log2, 2**layout.depth_log2
    nx = -(-layout.row_bytes // 64)
    ny = -(-layout.height // (8 * h))
    nz = -(-layout.depth // d)
    x6, y3 = xb % 64, y % 8
    inner = 64 * y3 + x6
    if view == "raw16bx2":
        inner = x6 % 16 | (y3 & 1) << 4 | (x6 >> 4 & 1) << 5 | (y3 >> 1) << 6 | (x6 >> 5) << 8
    block = ((z // d) * ny + y // (8 * h)) * nx + xb // 64
    gob = (z % d) * h + (y % (8 * h)) // 8
    want = layer * nx * ny * nz * 512 * h * d + block * 512 * h * d + gob * 512 + inner
    assert layout.offset(xb, y, z, layer, view) == want  # type: ignore[arg-type]
    place = layout.place(want, view)  # type: ignore[arg-type]
    assert place is not None
    assert (place.x_bytes, place.y, place.z, place.layer) == (xb, y, z, layer)
    assert place.inside


@settings(max_examples=100)
@given(LAYOUT, st.sampled_from(VIEWS), st.integers(0, 1 << 22))
def test_every_offset_has_one_place(layout: SurfaceLayout, view: Any, offset: int) -> None:
    place = layout.place(offset, view)
    if offset >= layout.nbytes:
        assert place is None
        return
    assert place is not None
    if place.inside:
        assert layout.offset(place.x_bytes, place.y, place.z, place.layer, view) == offset


def test_views_are_permutations() -> None:
    for forth, back in GOB_VIEWS.values():
        seen = {int(forth(x, y)) for y in range(8) for x in range(64)}
        assert seen == set(range(512))
        assert all(back(forth(x, y)) == (x, y) for y in range(8) for x in range(64))


def test_whole_surfaces_go_in_and_come_out() -> None:
    rng = np.random.default_rng(1)
    for kind in ("BLOCKLINEAR", "PITCH", "ONE_D_BUFFER"):
        height = 1 if kind == "ONE_D_BUFFER" else 20
        layout = SurfaceLayout(kind, 33, height, texel=2, pitch=96, height_log2=1)
        for view in VIEWS:
            data = np.zeros(layout.nbytes, np.uint8)
            texels = rng.integers(0, 256, (1, 1, height, 66)).astype(np.uint8)
            layout.write(data, texels, view)
            assert np.array_equal(layout.read(data, view), texels)


# ---- headers -------------------------------------------------------------------------------


def test_layouts_tile_256_bits() -> None:
    for name in texheader_schema.SCHEMAS:
        rows = texheader_schema.rows_of(name)
        at = 0
        for row in rows:
            assert row.bits.lo == at, (name, row)
            at = row.bits.hi + 1
        assert at == 256


@settings(max_examples=100)
@given(st.sampled_from(texheader_schema.SCHEMAS), st.integers(0, (1 << 256) - 1))
def test_construct_agrees_with_the_masks(name: str, value: int) -> None:
    parsed = texheader_schema.parse(name, value)
    rows = texheader_schema.rows_of(name)
    assert {k: parsed[k] for k in fields_of(rows, value)} == fields_of(rows, value)
    assert texheader_schema.build(name, parsed) == value


@settings(max_examples=100)
@given(st.integers(0, (1 << 256) - 1))
def test_any_header_decodes(value: int) -> None:
    found = split_words(value)
    header = decode_header(found)
    number = value >> 85 & 7
    assert (header is None) == (number >= len(VERSIONS))
    decode_texheader([f"0x{w:x}" for w in found])
    decode_texsampler([f"{w:08x}" for w in found])
    sampler = decode_sampler(found)
    assert replace(decode_sampler(split_words(encode_sampler(sampler).raw)), raw=0) == replace(
        sampler, raw=0
    )
    if (
        header is not None
        and header.texture_type
        and header.format.bytes
        and header.width < 1 << 16
    ):
        layout = layout_of(header)
        assert layout.width == header.width


def test_old_layouts_are_read_on_request() -> None:
    value = fill(
        LAYOUTS["OLD_V2"], {"WIDTH": 640, "HEIGHT": 480, "COMPONENT_SIZES": 8, "PITCH": 4096}
    )
    found = decode_texheader(["--layout", "old_v2", *(f"{w:08x}" for w in split_words(value))])
    fields = {f["name"]: f for f in found.data["fields"]}
    assert (fields["WIDTH"]["value"], fields["HEIGHT"]["value"]) == (640, 480)
    assert fields["COMPONENT_SIZES"]["meaning"] == "A8B8G8R8"


def test_words_are_written_many_ways() -> None:
    case = CASES[2]
    value = sum(w << 32 * n for n, w in enumerate(words(case)))
    memory = value.to_bytes(32, "little").hex()
    for given_ in (case["header_words"], [" ".join(case["header_words"])], [memory],
                   [f"0x{value:064x}"], [",".join(f"{w:x}" for w in words(case))]):  # fmt: skip
        assert parse_words(given_) == tuple(words(case))


@pytest.mark.parametrize(
    "given_",
    [[], ["zz"], ["0x1"] * 7, ["0x1"] * 9, ["0x123456789"] * 8, ["0x" + "f" * 65], ["-1"] * 8],
)
def test_what_is_no_header(given_: list[str]) -> None:
    with pytest.raises(UsageError):
        parse_words(given_)


@pytest.mark.parametrize(
    "argv",
    [
        [], ["--width", "0"], ["--width", "8", "--at", "1"],
        ["--width", "8", "--block-height", "3"],
        ["--width", "8", "--version", "PITCH"], ["--width", "8", "--ra", "1,2", "--size", "9"],
        ["--width", "8", "--at", "x,1"], ["--width", "8", "--at", "1,1", "--offset", "2"],
        ["--width", "8", "--version", "PITCH", "--pitch", "33"], ["--width", "99999"],
    ],
)  # fmt: skip
def test_calculator_complaints(argv: list[str]) -> None:
    with pytest.raises(UsageError):
        decode_surface(argv)


def test_padding_and_outside() -> None:
    flags = ["--width", "100", "--height", "50", "--block-height", "2"]
    assert decode_surface([*flags, "--offset", "0x6fff"]).data["outcome"] == "padding"
    assert decode_surface([*flags, "--offset", "0x7000"]).data["outcome"] == "outside"
