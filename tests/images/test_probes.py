"""Every PTX surface instruction form, as ptxas compiles it, against the model."""

from __future__ import annotations

import functools
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.isa.spa5 import decode
from tests.images.bench import natural
from tests.images.model import AXES, BYTES, Model

HERE = Path(__file__).resolve().parent
PROBES = json.loads((HERE / "probes.json").read_text())
SHAPES = {
    "1D": (23,),
    "1D_ARRAY": (3, 23),
    "2D": (11, 23),
    "2D_ARRAY": (2, 11, 23),
    "3D": (5, 11, 23),
}


@functools.cache
def program() -> Any:
    return gpudbg.load(str(HERE / "probes.cubin"))


def coordinates(row: dict[str, Any], size: int, rng: random.Random) -> list[list[int]]:
    """x in bytes, y, and z or layer of 32 lanes, as the kernels take them."""
    shape = SHAPES[row["dim"]]
    height = shape[-2] if "y" in AXES[row["dim"]] else 1
    deep = shape[0] if len(shape) > 1 else 1
    # Positions of 1D arrays come second.
    limits = [shape[-1] * 4 // size, height, deep]
    if row["dim"] == "1D_ARRAY":
        limits = [limits[0], deep, 1]
    out = []
    for _ in range(32):
        lane = [rng.randrange(n) for n in limits]
        if row["clamp"] != "TRAP" and not rng.randrange(4):
            lane[0] += rng.choice((-9, 40))
        out.append(lane)
    return out


def launch(row: dict[str, Any], image: Any, coords: Any, values: Any) -> tuple[Any, Any]:
    """Run a probe; its stop and the words it loaded."""
    out = np.zeros((32, 4), np.uint32)
    grid = np.zeros((32, 4), np.int32)
    grid[:, :3] = coords
    session = program().launch(row["name"], grid=1, block=32, args=[image, grid, values, out])
    return session.run(), session.buffer(3)


@pytest.mark.in_turn(40)
@pytest.mark.parametrize("row", PROBES, ids=lambda row: row["name"])
def test_probe(row: dict[str, Any]) -> None:
    rng = random.Random(row["name"])
    values = np.array([[rng.getrandbits(32) for _ in range(4)] for _ in range(32)], np.uint32)
    dtype: Any = rng.choice((np.int32, np.uint32))
    channels = (4,) if row["op"] == "SUST.P" else ()
    shape = SHAPES[row["dim"]] + channels
    start = np.array([rng.getrandbits(32) for _ in range(int(np.prod(shape)))], np.uint32)
    layout: dict[str, Any] = {"block_height": rng.choice((1, 2, 4))}
    if row["dim"] in ("1D", "2D") and rng.randrange(2):
        layout = {"layout": "pitch"}
    image = program().device.surface(
        start.view(dtype).reshape(shape), dim=row["dim"].lower(), **layout
    )
    model = Model(natural(image), dtype is np.int32)
    size = 16 if row["op"] == "SUST.P" else BYTES[row["size"]]
    ba = row.get("ba", row["op"] != "SUST.P")
    coords = coordinates(row, size if channels == () else 4, rng)
    for lane in coords:
        lane[0] *= size if ba else 1
    used = [[c & 0xFFFFFFFF for c in lane[: len(AXES[row["dim"]])]] for lane in coords]
    places = model.places(row["dim"], row["clamp"], used, size, ba)
    loaded = expected(row, model, places, values, size)
    stop, out = launch(row, image, coords, values)
    assert stop.kind == "exited", stop.message
    assert np.array_equal(natural(image), model.data)
    if row["op"] == "SULD":
        words = max(size // 4, 1)
        assert out[:, :words].tolist() == loaded


def expected(
    row: dict[str, Any], model: Model, places: list[Any], values: Any, size: int
) -> list[list[int]]:
    """Change the model as the probe does; what a load gives."""
    if row["op"] == "SURED":
        wide = [int(v[0]) | int(v[1]) << 32 for v in values]
        operands = [v & (1 << 8 * size) - 1 for v in wide]
        model.reduce(row["reduction"], row["size"], places, operands)
    elif row["op"] == "SULD":
        found = [0 if p is None else model.read(p, size) for p in places]
        words = max(size // 4, 1)
        return [[v >> 32 * n & 0xFFFFFFFF for n in range(words)] for v in found]
    else:
        for place, value in zip(places, values, strict=True):
            if place is None:
                continue
            count = len(row["mask"]) if row["op"] == "SUST.P" else max(size // 4, 1)
            raw = sum(int(v) << 32 * n for n, v in enumerate(value[:count]))
            model.write(place, min(size, 4 * count), raw)
    return []


def test_every_form_is_there() -> None:
    found = set()
    code = program().program.sections
    for section in code.values():
        if section.name.startswith(".text."):
            for at in range(0, section.size, 8):
                if at % 32:
                    insn = decode(int.from_bytes(section.data[at : at + 8], "little"), "sm_50")
                    if insn.op in ("SULD", "SUST", "SURED"):
                        found.add((insn.op, insn.m["mode"], insn.m["dim"]))
    dims = set(SHAPES)
    assert {d for op, m, d in found if (op, m) == ("SULD", "D")} == dims
    assert {d for op, m, d in found if (op, m) == ("SUST", "D")} == dims
    assert {d for op, m, d in found if (op, m) == ("SUST", "P")} == dims
    assert {d for op, m, d in found if (op, m) == ("SURED", "D")} == {"1D", "2D", "3D"}


@pytest.mark.parametrize("name", [r["name"] for r in PROBES if r["clamp"] == "TRAP"][::6])
def test_trap_stops_the_kernel(name: str) -> None:
    row = next(r for r in PROBES if r["name"] == name)
    channels = (4,) if row["op"] == "SUST.P" else ()
    image = program().device.surface(
        np.zeros(SHAPES[row["dim"]] + channels, np.uint32), dim=row["dim"].lower()
    )
    coords = np.zeros((32, 3), np.int32)
    coords[5] = (1 << 20, 0, 0)
    stop, _ = launch(row, image, coords, np.ones((32, 4), np.uint32))
    assert stop.kind == "warp_error"
    assert (stop.errors[0].name, tuple(stop.errors[0].lanes)) == ("OOR_ADDR", (5,))
    assert not image.array().any()
