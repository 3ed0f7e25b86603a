"""Copies of boxes and of bytes in compiled code: what the step engine does, to the byte and to the
message of an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from tests.variants import number

CUBIN = Path(__file__).resolve().parent / "cubin"
TYPES = ("uint8", "int16", "float16", "float32", "int32", "float64", "uint64")
_ROOM = 8192
"""Bytes of shared memory that a box has."""


def exits_of(session: Any) -> dict[str, int]:
    """What compiled code left to the step engine, by mnemonic."""
    report = session.grid.fast.report()
    found: dict[str, int] = {}
    for pc, count in report.exits.items():
        name = report.code[pc].op
        found[name] = found.get(name, 0) + count
    return found


class Boxes:
    """A program on both engines."""

    def __init__(self, cubin: str) -> None:
        self.programs = [
            gpudbg.load(str(CUBIN / f"{cubin}.cubin"), engine=engine) for engine in ("step", "run")
        ]

    def agree(self, kernel: str, block: int, made: Any) -> tuple[Any, dict[str, int]]:
        """Launch a kernel with the arguments that `made` makes, and its buffers; the stop."""
        found = []
        for program in self.programs:
            arguments, buffers = made(program.device)
            session = program.launch(kernel, grid=1, block=block, args=arguments)
            stop = session.run(max_instructions=50_000)
            errors = [(e.name, e.space, e.access, e.lanes, e.detail) for e in stop.errors]
            memory = [buffer.array().tobytes() for buffer in buffers]
            found.append((stop.kind, errors, session.grid.total, memory))
        assert found[0] == found[1]
        return stop, exits_of(session)


def _random_box(random: Any) -> dict[str, Any]:
    """A tensor of one, three or five dimensions, a box of it, and where that begins."""
    rank = int(random.choice((1, 3, 5)))
    dtype = np.dtype(str(random.choice(TYPES)))
    unit = 16 // dtype.itemsize
    row = unit * int(random.integers(1, 1 + (16 if rank == 1 else 4)))
    box = [*(int(n) for n in random.integers(1, 4, rank - 1)), row]
    shape = [int(n) for n in random.integers(1, 7, rank)]
    shape[-1] = unit * int(random.integers(1, 9))
    steps = [1] * rank
    if random.random() < 0.1 and rank > 1:
        steps[0] = 2
    swizzle = next((s for s in (128, 64, 32) if row * dtype.itemsize <= s), None)
    corner = [int(random.integers(-3, size + 2)) for size in shape]
    return {
        "rank": rank, "dtype": dtype, "box": box, "shape": shape, "steps": steps, "corner": corner,
        "swizzle": swizzle if random.random() < 0.5 else None,
        "fill": "nan" if dtype.kind == "f" and random.random() < 0.2 else "zeros",
    }  # fmt: skip


@pytest.fixture(scope="module")
def more() -> Boxes:
    return Boxes("more")


def test_boxes_of_any_shape(more: Boxes) -> None:
    """Ranks, types, swizzles, corners beside the tensor; those with steps or NaNs are stepped."""
    random = np.random.default_rng(2)
    for _ in range(number(10, 300)):
        case = _random_box(random)
        size = int(np.prod(case["box"])) * case["dtype"].itemsize
        if size > _ROOM:
            continue
        tensor = random.integers(0, 256, int(np.prod(case["shape"])) * case["dtype"].itemsize)
        tensor = tensor.astype(np.uint8).view(case["dtype"]).reshape(case["shape"])

        def made(device: Any, case: Any = case, tensor: Any = tensor, size: int = size) -> Any:
            given = device.tensor_map(
                device.buffer(tensor), case["box"], element_strides=case["steps"],
                fill=case["fill"], swizzle=case["swizzle"],
            )  # fmt: skip
            out = device.buffer(np.zeros(-(-size // 4), np.uint32))
            count = size // 2 if case["steps"][0] == 2 and case["box"][0] % 2 == 0 else size
            if case["steps"][0] == 2:
                count = size // case["box"][0] * -(-case["box"][0] // 2)
            numbers = (np.int32(c) for c in reversed(case["corner"]))
            return [given, out, np.int32(count), *numbers], [out]

        stop, exits = more.agree(f"boxes{case['rank']}", 32, made)
        assert stop.kind == "exited", case
        plain = case["fill"] == "zeros" and case["steps"][0] == 1
        assert not (plain and exits.get("UTMALDG", 0)), case


@pytest.mark.parametrize("wrong", ["address", "size", "map", "rank"])
def test_what_a_map_may_not_say(more: Boxes, wrong: str) -> None:
    """The error that the step engine finds, with its words."""

    def made(device: Any) -> Any:
        buffer = device.buffer(np.arange(256, dtype=np.float32).reshape(2, 4, 32))
        given = bytearray(device.tensor_map(buffer, (1, 4, 32)))
        if wrong == "address":
            given[0:8] = (0x1000).to_bytes(8, "little")
        elif wrong == "size":
            given[40:44] = (1 << 20).to_bytes(4, "little")
        elif wrong == "map":
            given[12:16] = bytes(4)
        else:
            given[8] ^= 0x30
        out = device.buffer(np.zeros(128, np.uint32))
        corner = [np.int32(0), np.int32(0), np.int32(300 if wrong == "size" else 0)]
        return [bytes(given), out, np.int32(512), *corner], [out]

    stop, _ = more.agree("boxes3", 32, made)
    assert stop.kind == "warp_error", wrong


@pytest.mark.parametrize("swizzle", [None, 64, 128])
def test_boxes_there_and_back(swizzle: int | None) -> None:
    """Stores of boxes, whose bytes outside the tensor are not written; the second launch leaves
    compiled code for none."""
    tiles = Boxes("tiles")
    given = np.random.default_rng(1).integers(0, 250, (100, 96), dtype=np.uint8)
    for corner in ((16, 10), (-16, -5), (48, 60), (-7, 99)):

        def made(device: Any, corner: Any = corner) -> Any:
            buffers = [device.buffer(a) for a in (given, given * 0, given * 0)]
            maps = [device.tensor_map(b, box=(64, 64), swizzle=swizzle) for b in buffers]
            there = device.buffer(np.frombuffer(maps[2], np.uint8))
            return [*maps[:2], there, *map(np.int32, corner)], buffers

        stop, exits = tiles.agree("tma2d", 128, made)
        assert stop.kind == "exited"
        assert exits.get("UTMASTG", 0) <= 2
        assert not exits.get("UTMALDG")
