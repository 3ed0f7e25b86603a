"""Replay public recordings of real tensor cores: words that the model gives otherwise.

    GPUDBG_TENSOR_RECORDINGS=FOLDER python -m tests.engine.replay_tensor

FOLDER is `model_validation` of the repository MATLAB-tensor-core (Khattak and Mikaitis, arXiv
2512.07004): DEVICE/TYPE/{a,b,c,d}_DEVICE_*.txt, one vector a line.  Without the variable nothing is
replayed, and the exit code is 2.  What ran through `mma.sync` of fp8 on Hopper and Blackwell is two
products of halves and an addition there, as compilers make of it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gpudbg.sm.engines import tensor

ENVIRONMENT = "GPUDBG_TENSOR_RECORDINGS"
DEVICES = {
    "V100": 70, "A100": 80, "A2": 86, "Ada": 89, "L40S": 89, "H100": 90, "H200": 90, "B200": 100,
}  # fmt: skip
KINDS = {"fp16": "F16", "bf16": "BF16", "tf32": "TF32", "E4M3": "E4M3", "E5M2": "E5M2"}
U32s = npt.NDArray[np.uint32]


def hexadecimal(path: Path) -> U32s:
    """Vectors of floats as hexadecimal words."""
    rows = [[int(word, 16) for word in line.split()] for line in path.read_text().split("\n")]
    return np.array([row for row in rows if row], np.uint32)


def binary(path: Path) -> U32s:
    """Floats as binary digits, one a line."""
    return np.array([int(line, 2) for line in path.read_text().split()], np.uint32)


def pattern(words: U32s, kind: str) -> U32s:
    """Floats that a format holds exactly as its patterns."""
    if kind == "TF32":
        return words
    if kind == "BF16":
        return words >> np.uint32(16)
    if kind == "F16":
        return words.view(np.float32).astype(np.float16).view(np.uint16).astype(np.uint32)
    shift = 3 if kind == "E4M3" else 2
    sign, size = words >> np.uint32(31), words & np.uint32(0x7FFFFFFF)
    bias, exponent = (7, 4) if kind == "E4M3" else (15, 5)
    value = size.view(np.float32).astype(np.float64)
    scale = np.maximum(np.frexp(value)[1] - 1, 1 - bias)
    units = np.where(value > 0, value * 2.0 ** (shift - scale), 0).astype(np.uint32)
    lifted = np.where(units >= 1 << shift, (scale + bias - 1) << shift, 0).astype(np.uint32)
    return sign << np.uint32(shift + exponent) | np.where(value > 0, units + lifted, 0).astype(
        np.uint32
    )


def products(
    a: U32s, b: U32s, c: U32s, kind: str, half: bool, number: int, bits: int | None
) -> U32s:
    """Every vector's product: each is a row of A with its own column of B."""
    unit = tensor.unit_of(number)
    return tensor.multiply(
        a, b[:, :, None], c[:, None], (kind, kind), half, half, unit, bits
    )[:, 0]  # fmt: skip


def lowered(a: U32s, b: U32s, c: U32s, kind: str, half: bool, number: int) -> U32s:
    """fp8 of `mma.sync` where compilers make two products of halves of it, and add C at the end."""
    held, depth = np.zeros(len(a), np.uint32), np.arange(a.shape[1])
    wide = {n: _halves(x, kind) for n, x in (("a", a), ("b", b))}
    for low in (True, False):
        chosen = (depth % 4 < 2) == low
        held = products(wide["a"][:, chosen], wide["b"][:, chosen], held, "F16", half, number, None)
    kinds = (np.uint16, np.float16) if half else (np.uint32, np.float32)
    total = c.astype(kinds[0]).view(kinds[1]) + held.astype(kinds[0]).view(kinds[1])
    found: U32s = total.view(kinds[0]).astype(np.uint32)
    return found


def _halves(raw: U32s, kind: str) -> U32s:
    """fp8 patterns as f16 ones, exact."""
    found = tensor.numbers(raw, kind)
    value = found.sign * found.significand * 2.0 ** (found.exponent - found.fraction)
    return value.astype(np.float16).view(np.uint16).astype(np.uint32)


def replay(folder: Path, device: str, name: str, half: bool) -> tuple[int, int] | None:
    """(words, words that differ) of one recording; None where there is none."""
    place, number, kind = folder / device / name, DEVICES[device], KINDS[name]
    recorded = place / f"d_{device}_{'fp16' if half else 'fp32'}.txt"
    if not recorded.exists():
        return None
    a, b = (pattern(hexadecimal(place / f"{n}_{device}_{name}.txt"), kind) for n in "ab")
    c, d = binary(place / f"c_{device}_fp32.txt"), binary(recorded)
    if half:
        c, d = pattern(c, "F16"), pattern(d, "F16")
    if name[0] == "E" and number >= 90 and (half or number >= 100):
        found = lowered(a, b, c, kind, half, number)
    else:
        bits = tensor.NARROW_BITS if name[0] == "E" else None
        if bits and number == 90:
            c = np.zeros_like(c)  # taken with the accumulator switched off
        found = products(a, b, c, kind, half, number, bits)
    return len(d), int((found != d).sum())


def main() -> int:
    """Replay everything; the exit code is 1 where a word differs."""
    where = os.environ.get(ENVIRONMENT)
    if not where:
        print(f"tensor cores: nothing replayed, {ENVIRONMENT} names no recordings")
        return 2
    words = different = 0
    for device in DEVICES:
        for name in KINDS:
            for half in (False, True):
                found = replay(Path(where), device, name, half)
                if found is None:
                    continue
                words, different = words + found[0], different + found[1]
                print(f"{device:5} {name:5} {'f16' if half else 'f32'}: {found[1]} of {found[0]}")
    print(f"tensor cores: {different} of {words} words differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
