"""What is shown: commands, pictures, files, the story of a wrong clamp."""

from __future__ import annotations

import json
import re
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg import cli
from gpudbg.debug.views import image as views_image
from gpudbg.device.picture import pixels_of, png, shades_of
from gpudbg.errors import CommandError
from tests.kernel_cases import KERNELS

ROOT = Path(__file__).resolve().parents[2]
STORY = ROOT / "sessions" / "surface_clamp"


def read_png(data: bytes) -> Any:
    """The RGB pixels of a PNG file with filter 0 in every row."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, body, size = 8, b"", (0, 0)
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        chunk = data[at + 8 : at + 8 + length]
        (crc,) = struct.unpack(">I", data[at + 8 + length : at + 12 + length])
        assert crc == zlib.crc32(kind + chunk)
        if kind == b"IHDR":
            size = struct.unpack(">II", chunk[:8])
            assert tuple(chunk[8:]) == (8, 2, 0, 0, 0)
        if kind == b"IDAT":
            body += chunk
        at += 12 + length
    rows = np.frombuffer(zlib.decompress(body), np.uint8).reshape(size[1], 1 + 3 * size[0])
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(size[1], size[0], 3)


def test_png_holds_the_pixels() -> None:
    rng = np.random.default_rng(2)
    pixels = rng.integers(0, 256, (7, 5, 3)).astype(np.uint8)
    assert np.array_equal(read_png(png(pixels)), pixels)
    big = read_png(png(pixels, 3))
    assert np.array_equal(big[::3, ::3], pixels)
    assert np.array_equal(big[2::3, 1::3], pixels)


def test_shades() -> None:
    grey = np.array([[[0], [128], [255]]], np.uint8)
    assert pixels_of(grey)[0].tolist() == [[0] * 3, [128] * 3, [255] * 3]
    real = np.array([[[-2.0], [np.nan], [2.0]]], np.float32)
    assert pixels_of(real)[0].tolist() == [[0] * 3, [255, 0, 255], [255] * 3]
    assert shades_of(np.full((1, 1, 1), np.nan)).low == 0
    colour = np.array([[[10, 20, 30, 40]]], np.uint8)
    assert pixels_of(colour)[0, 0].tolist() == [10, 20, 30]


def test_half_blocks() -> None:
    values = np.arange(6 * 4, dtype=np.uint8).reshape(6, 4, 1) * 10
    rows = views_image.cells(values, views_image.PictureWindow(1, 2, 10, 10))
    assert [len(r) for r in rows] == [3, 3]
    assert rows[0][0] == ("▀", (90, 90, 90), (130, 130, 130))
    twice = views_image.cells(values, views_image.PictureWindow(0, 0, 10, 10, 2))
    assert [len(r) for r in twice] == [8] * 6
    assert twice[0][1] == ("▀", (0, 0, 0), (0, 0, 0))
    half = views_image.cells(values, views_image.PictureWindow(0, 0, 10, 10, -2))
    assert half[0][1] == ("▀", (20, 20, 20), (100, 100, 100))
    odd = views_image.cells(values[:3], views_image.PictureWindow(0, 0, 2, 10))
    assert odd[1][0] == ("▀", (80, 80, 80), (0, 0, 0))
    assert views_image.ansi(rows)[0].startswith("\x1b[38;2;90;90;90;48;2;130;130;130m▀")
    assert views_image.texel_words(values, 1, 2) == "(1, 2)  90  0x5a"
    assert views_image.PictureWindow(3, 3, 1, 1).moved(-9, 2) == views_image.PictureWindow(
        0, 5, 1, 1
    )


@pytest.mark.parametrize(
    ("size", "zoom"), [((96, 64), -2), ((20, 20), 2), ((78, 48), 1), ((1000, 10), -13)]
)
def test_zoom_that_fits(size: tuple[int, int], zoom: int) -> None:
    assert views_image.fitting_zoom(*size, 78, 24) == zoom


def session() -> Any:
    program = gpudbg.load(str(KERNELS / "cubin" / "sm_50" / "surface_rw.cubin"))
    a = program.device.surface(np.arange(21 * 11, dtype=np.uint32).reshape(11, 21), name="a")
    b = program.device.surface(np.zeros((11, 21), np.uint32), name="b")
    args = [a, b, np.int32(21), np.int32(11)]
    return program.launch("surf_blur2d", grid=(2, 2), block=(16, 8), args=args)


def test_info_surfaces() -> None:
    s = session()
    rows = s.execute("info surfaces")
    assert [r["name"] for r in rows] == ["a", "b"]
    assert rows[0]["header"]["width"] == 21
    assert rows[0]["layout"]["blocks_x"] == 2
    assert s.execute("info surfaces b 3 5")["writer"] is None
    s.run()
    found = s.execute("info surfaces b 18 9")
    assert found["coords"] == {"x": 18, "y": 9, "z": 0, "layer": 0}
    assert found["value"][0] == s.buffer("b")[9, 18]
    assert found["writer"]["block"] == [1, 1, 0]
    assert found["writer"]["thread"] == [2, 1, 0]
    assert found["writer"]["count"] == 1
    memory = s.memory.read("global", found["address"], 4)
    assert memory == int(found["value"][0]).to_bytes(4, "little")
    with pytest.raises(CommandError, match="0 to 20"):
        s.execute("info surfaces b 21 0")
    with pytest.raises(CommandError, match="no surface 'c'"):
        s.execute("info surfaces c")


def test_info_outside_lists_lanes_and_what_the_clamp_did() -> None:
    s = session()
    s.run()
    found = s.execute("info outside 1000")
    rows = [row for access in found["last"] for row in access["outside"]]
    total = sum(t["lanes"] for t in found["totals"])
    assert total == len(rows) > 0
    for row, access in ((r, a) for a in found["last"] for r in a["outside"]):
        x, y = row["coords"]["x"], row["coords"]["y"]
        words = [f"x too {'low' if x < 0 else 'high'}"] if not 0 <= x <= 80 else []
        words += [f"y too {'low' if y < 0 else 'high'}"] if not 0 <= y <= 10 else []
        assert row["outside"] == words
        if access["clamp"] == "NEAR":
            moved = f"moved to x byte {min(max(x, 0), 80)} y {min(max(y, 0), 10)}"
            assert row["did"] == moved
        else:
            assert row["did"] == {"SULD": "reads 0", "SUST": "dropped"}[access["op"]]
    only = s.execute("info outside 3 NEAR")
    assert {a["clamp"] for a in only["last"]} == {"NEAR"}


def test_info_textures() -> None:
    program = gpudbg.load(str(KERNELS / "cubin" / "sm_50" / "texture_modes.cubin"))
    device = program.device
    made = [
        device.texture(
            np.zeros((6, 8), np.float32), address="mirror", normalized=True, name="flat"
        ),
        device.texture(np.zeros((2, 6, 8), np.float32), dim="3d"),
        device.texture(np.zeros((2, 6, 8), np.float32), dim="2d_array"),
    ]
    out = np.zeros(384, np.float32)
    s = program.launch("tex_modes", block=(8, 6), args=[*made, out, np.int32(8), np.int32(6)])
    found = s.execute("info textures flat")
    assert found["sampler"]["address"] == ["MIRROR"] * 3
    assert [row["dim"] for row in s.execute("info textures")] == ["2d", "3d", "2d_array"]
    assert s.execute("info surfaces") == []


def test_export_command(tmp_path: Path) -> None:
    s = session()
    s.run()
    s.execute(f"export surface b {tmp_path}/b.npy")
    assert np.array_equal(np.load(tmp_path / "b.npy"), s.buffer("b"))
    s.execute(f"export surface b {tmp_path}/b.png zoom 2")
    assert read_png((tmp_path / "b.png").read_bytes()).shape == (22, 42, 3)
    for bad in ("b", "b x.gif", f"b {tmp_path}/no/b.png", f"b {tmp_path}/b.png slice 3"):
        with pytest.raises(CommandError):
            s.execute(f"export surface {bad}")


def test_picture_command() -> None:
    s = session()
    assert s.execute("picture a zoom 1") == {"name": "a", "width": 21, "height": 11, "zoom": 1}
    with pytest.raises(CommandError):
        s.execute("picture")


def test_export_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "out.png"
    cubin = str(STORY / "surface_clamp.cubin")
    assert cli.main(["export", "surface", cubin, "blurred", str(target)]) == 0
    picture = read_png(target.read_bytes())[..., 0].astype(int)
    photo = np.load(STORY / "photo.npy").astype(int)
    assert picture.shape == photo.shape
    wide = np.pad(photo, ((0, 0), (7, 7)), mode="edge")
    right = np.sum([wide[:, n : n + 96] for n in range(15)], axis=0) // 15
    assert np.array_equal(picture[:, 7:], right[:, 7:])
    # The wrong clamp: the left columns are darker, the more the nearer to the edge.
    assert (picture[:, :7] < right[:, :7]).all()
    assert (right[:, 0] - picture[:, 0]).mean() > 40
    assert cli.main(["export", "surface", cubin, "blurred", str(tmp_path / "o.txt")]) == 2
    assert cli.main(["export", "surface", cubin, "other", str(target)]) == 2
    assert "there are: photo, blurred" in capsys.readouterr().err


@pytest.mark.full(instead="test_export_verb")
def test_story(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["demo", "surface_clamp", "--headless"]) == 0
    out = capsys.readouterr().out
    assert "surface_clamp.cu:21, clamp IGN" in out
    assert re.search(r"lane +\d+  x -\d y \d+: x too low: reads 0", out)
    assert "written by block (0, 3, 0) thread (0, 6, 0)" in out


def test_decode_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    words = "0x58d4920f 0 0x00600007 8 0x00800063 0x31 0 0".split()
    assert cli.main(["decode", "texheader", "--json", *words]) == 0
    assert json.loads(capsys.readouterr().out)["width"] == 100
    assert cli.main(["decode", "texheader", *words]) == 0
    assert "TWO_D 100x50 R32 UINT, BLOCKLINEAR" in capsys.readouterr().out
    assert cli.main(["decode", "surface", *words, "--at", "77,33", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["offset_vm"], found["offset_raw16bx2"]) == (18548, 18740)
    assert cli.main(["decode", "surface", *words, "--offset", "18548"]) == 0
    assert "coordinates x 77 y 33" in capsys.readouterr().out
    assert cli.main(["decode", "sampler", *["0x92"] * 8]) == 0
    assert cli.main(["decode", "texheader", "zz"]) == 2


def test_writers_count_and_survive_reductions() -> None:
    program = gpudbg.load(str(KERNELS / "cubin" / "sm_50" / "surface_red.cubin"))
    surface = program.device.surface(np.zeros((4, 4, 4), np.uint32), dim="3d", name="v")
    values = np.full(64, 1 | 2 << 4 | 3 << 8, np.uint32)
    s = program.launch("sured_3d", grid=2, block=32, args=[surface, values, np.int32(64)])
    s.run()
    found = s.execute("info surfaces v 1 2 3")
    assert found["writer"]["count"] == 64
    assert found["writer"]["block"] == [1, 0, 0]
    assert found["writer"]["thread"] == [31, 0, 0]
    assert s.execute("info surfaces v 1 2 2")["writer"] is None
