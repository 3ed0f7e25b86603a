"""Lane shapes that code generation carries: what it claims of a value is so when the code runs."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.sm.engines.llvm import build
from gpudbg.sm.engines.llvm.ir.builder import LANES, Builder
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


def _of_line(
    found: np.ndarray[Any, Any], bases: list[int], line: AffineForm
) -> np.ndarray[Any, Any]:
    """The numbers that a line claims; `bases`: where those that are not known were written."""
    assert LANES % len(bases) == 0
    rows = [
        known if isinstance(known, int) else int(found[place][0])
        for place, known in zip(bases, line.bases, strict=True)
    ]
    length = LANES // len(rows)
    numbers = (rows[n // length] + line.offsets[n] for n in range(LANES))
    return np.array([n & FULL for n in numbers], np.uint32)


def _pool(f: _Function) -> list[Num]:
    """Values of every shape."""
    ints, words = f.ints, [f.uniform(n) for n in range(8)]
    flat = (0,) * LANES
    return [
        *words[:3],
        ints.affine((words[4],), tuple(range(LANES))),
        ints.affine((words[3], words[5]), tuple(n % 16 for n in range(LANES))),
        ints.affine((words[3], words[6]), flat),
        ints.affine((words[1], words[2], words[6], words[7]), flat),
        ints.lane_id(),
        ints.lanes_of(tuple(n // 16 for n in range(LANES))),
        f.vector(),
        1,
        FULL,
    ]


@pytest.mark.parametrize("seed", range(4))
def test_affine_values_are_as_claimed(seed: int) -> None:
    """Sums, differences, products, shifts and bits, through every wrap-around; beside it the same
    without what is known of the values."""
    draw = random.Random(f"lines/{seed}")
    f = _Function()
    pool = _pool(f)
    plain = [Val(32, f.values.bare(v, 32)) for v in pool]
    claims, pairs, masks = [], [], []
    for _ in range(number(60, 400)):
        n, m = draw.choices(range(len(pool)), k=2)
        count = draw.choice((0, 1, 2, 3, 4, 31))
        what = draw.choice(_OPERATIONS)
        made, other = (what(f.ints, v[n], v[m], count) for v in (pool, plain))
        pool.append(made)
        plain.append(Val(32, f.values.bare(other, 32)))
        pairs.append((f.write(made), f.write(other)))
        compared = draw.choice(("eq", "ult", "slt"))
        one, two = (f.ints.from_mask(getattr(f.ints, compared)(v[n], v[m])) for v in (pool, plain))
        masks.append((f.write(one), f.write(two)))
        if isinstance(made, Val) and made.line is not None:
            assert made.shape is AFFINE
            bases = [-1 if isinstance(b, int) else f.write(b) for b in made.line.bases]
            claims.append((pairs[-1][0], bases, made.line))
    words = [draw.choice((draw.getrandbits(32), draw.getrandbits(4))) for _ in range(8)]
    lanes = np.array([draw.getrandbits(32) for _ in range(32)], np.uint32)
    found = f.run(words, lanes)
    assert len({len(line.bases) for _, _, line in claims}) == 3
    for place, bases, line in claims:
        assert np.array_equal(found[place], _of_line(found, bases, line))
    for one, two in (*pairs, *masks):
        assert np.array_equal(found[one], found[two])


_OPERATIONS: list[Callable[[Integers, Num, Num, int], Num]] = [
    lambda i, a, b, n: i.add(a, b),
    lambda i, a, b, n: i.sub(a, b),
    lambda i, a, b, n: i.mul(a, b),
    lambda i, a, b, n: i.mul(a, (3, FULL, 0x8000_0000, 0, 1, 5)[n % 6]),
    lambda i, a, b, n: i.and_(a, b),
    lambda i, a, b, n: i.or_(a, b),
    lambda i, a, b, n: i.xor(a, b),
    lambda i, a, b, n: i.shl(a, n),
    lambda i, a, b, n: i.shr(a, n),
    lambda i, a, b, n: i.sar(a, n),
]


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
        index = f.ints.affine((f.uniform(7),), tuple(range(32))) if affine else f.vector()
        assert isinstance(index, Val)
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
