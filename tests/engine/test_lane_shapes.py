"""Lane shapes that code generation carries: what it claims of a value is so when the code runs."""

from __future__ import annotations

import ctypes
import random
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.sm.engines.llvm import build
from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.integers import Integers, Linear
from gpudbg.sm.engines.llvm.ir.values import (
    AFFINE,
    FULL,
    UNIFORM,
    VARYING,
    AffineForm,
    Num,
    Val,
    Values,
)
from gpudbg.sm.engines.llvm.program import GOOD
from gpudbg.sm.engines.llvm.run import RunEngine
from tests.kernel_cases import DATA
from tests.variants import number

LANE = np.arange(32, dtype=np.uint32)


class _Function:
    """A function of eight uniform words and a vector of them, which writes vectors."""

    def __init__(self) -> None:
        self.ir = Builder()
        self.values = Values(self.ir)
        self.ints = Integers(self.ir, self.values)
        self._written = 0

    def uniform(self, number: int) -> Val:
        """A word given to it."""
        return Val(32, self.ir.get("i32", "%given", 4 * number), UNIFORM)

    def vector(self) -> Val:
        """The vector given to it."""
        return Val(32, self.ir.get("<32 x i32>", "%given", 64, 4))

    def write(self, a: Num) -> int:
        """Write a value; where."""
        place = self.ir.at("%out", 128 * self._written)
        self.ir.line(f"store {self.values.whole(a, 32)}, ptr {place}, align 4")
        self._written += 1
        return self._written - 1

    def run(self, words: list[int], lanes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """What it writes, 32 words a row."""
        head = "define void @f(ptr %given, ptr %out) {\nentry:\n"
        text = head + "\n".join(self.ir.lines) + "\n  ret void\n}\n"
        code = build.Code(build.object_of(text, 0))
        given = np.zeros(48, np.uint32)
        given[: len(words)] = words
        given[16:] = lanes
        out = np.zeros((self._written, 32), np.uint32)
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(code.address("f"))
        call(given.ctypes.data, out.ctypes.data)
        return out


def _of_line(found: np.ndarray[Any, Any], base: int, line: AffineForm) -> np.ndarray[Any, Any]:
    """The numbers that a line claims."""
    first = line.base if isinstance(line.base, int) else int(found[base][0])
    return np.array([(first + n) & FULL for n in line.offsets], np.uint32)


@pytest.mark.parametrize("seed", range(4))
def test_affine_values_are_as_claimed(seed: int) -> None:
    """Sums, differences, products with constants and shifts, through every wrap-around."""
    draw = random.Random(f"lines/{seed}")
    f = _Function()
    pool: list[Num] = [f.uniform(n) for n in range(4)]
    pool += [f.ints.affine(f.uniform(4), tuple(range(32))), f.ints.lane_id(), f.vector(), 1, FULL]
    claims = []
    for _ in range(number(60, 400)):
        a, b = draw.choices(pool, k=2)
        constant = draw.choice((0, 1, 2, 3, 4, 31, FULL, 0x8000_0000))
        made = draw.choice(
            (
                lambda a=a, b=b: f.ints.add(a, b),
                lambda a=a, b=b: f.ints.sub(a, b),
                lambda a=a, c=constant: f.ints.mul(a, c),
                lambda a=a, c=constant: f.ints.shl(a, c & 31),
            )
        )()
        pool.append(made)
        if isinstance(made, Val) and made.line is not None:
            assert made.shape is AFFINE
            base = -1 if isinstance(made.line.base, int) else f.write(made.line.base)
            claims.append((f.write(made), base, made.line))
    words = [draw.getrandbits(32) for _ in range(8)]
    lanes = np.array([draw.getrandbits(32) for _ in range(32)], np.uint32)
    found = f.run(words, lanes)
    assert len(claims) > 2
    for place, base, line in claims:
        assert np.array_equal(found[place], _of_line(found, base, line))


def _address(f: _Function, index: Num, scale: int, signed: bool, chain: int) -> tuple[Num, Num]:
    """Base + index * 2**scale in two words, as 64-bit code computes it: shifts, a sum whose carry
    goes into the sum of the high words; and `chain` uniform sums more."""
    ints = f.ints
    low, high = ints.shl(index, scale), (ints.sar if signed else ints.shr)(index, 32 - scale)
    for n in range(1 + chain):
        base = f.uniform(2 * n), f.uniform(2 * n + 1)
        total = ints.add(low, base[0])
        carry = ints.from_mask(ints.ult(total, low if n % 2 else base[0]))
        low, high = total, ints.add(ints.add(high, base[1]), carry)
    return low, high


@pytest.mark.parametrize("affine", [False, True], ids=["varying", "affine"])
@pytest.mark.parametrize(("scale", "signed", "chain"), [(2, True, 0), (3, False, 1), (4, True, 2)])
def test_addresses_of_two_words_are_linear(
    affine: bool, scale: int, signed: bool, chain: int
) -> None:
    """Carries and 64-bit pairs: what is found of a pair is what its words hold."""
    draw = random.Random(f"{scale}/{signed}/{chain}")
    for _ in range(number(2, 20)):
        f = _Function()
        index = f.ints.affine(f.uniform(7), tuple(range(32))) if affine else f.vector()
        assert index.shape is (AFFINE if affine else VARYING)
        low, high = _address(f, index, scale, signed, chain)
        linear = f.ints.linear(f.ints.wide(low, high))
        assert isinstance(linear, Linear)
        assert (linear.scale, linear.signed) == (1 << scale, signed)
        places = [f.write(v) for v in (low, high, linear.number)]
        places += [f.write(f.ints.lo(linear.base)), f.write(f.ints.hi(linear.base))]
        words = [draw.getrandbits(32) for _ in range(8)]
        lanes = np.array([draw.choice((draw.getrandbits(32), FULL - n)) for n in range(32)])
        found = f.run(words, lanes.astype(np.uint32))
        got = [found[place].astype(np.uint64) for place in places]
        indices = found[places[2]].view(np.int32 if signed else np.uint32).astype(np.int64)
        base = got[4] << np.uint64(32) | got[3]
        wanted = base + (indices << scale).astype(np.uint64)
        assert np.array_equal(got[1] << np.uint64(32) | got[0], wanted)


def test_what_is_no_address_is_not_linear() -> None:
    """A carry of another sum, another index, another shift."""
    f = _Function()
    index, other = f.vector(), f.ints.xor(f.vector(), 1)
    low, high = _address(f, index, 2, True, 0)
    low2, high2 = _address(f, other, 2, True, 0)
    assert f.ints.linear(f.ints.wide(low, high2)) is None
    assert f.ints.linear(f.ints.wide(low2, high)) is None
    shifted = f.ints.wide(f.ints.shl(index, 2), f.ints.sar(index, 29))
    assert f.ints.linear(shifted) is None


def test_a_row_of_threads_needs_no_test_of_its_addresses() -> None:
    """Threads in x follow one another: compiled loads and stores have one way in place."""
    path = DATA / "bench" / "cubin" / "saxpy.sm_50.cubin"
    texts = {}
    for width in (256, 48):
        program = gpudbg.load(str(path), engine="step")
        args = [program.device.buffer(np.zeros(512, np.float32)) for _ in range(2)]
        session = program.launch(grid=1, block=width, args=[*args, np.int32(512), np.float32(2)])
        grid = session.grid
        grid.start()
        made = RunEngine(grid.launched, grid.entry).program
        job, _ = made._job(True, GOOD)
        from gpudbg.sm.engines.llvm.job import emit

        texts[width] = emit(job).text
    # What resumes in the middle has its registers from the record.
    assert texts[256].count("\none") < texts[48].count("\none")
