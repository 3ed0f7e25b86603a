"""Benchmark suite: what each kernel takes, its sizes, and how its output is checked.

`problem(name, size)` gives a Problem; every run works on fresh copies of its buffers.
Sizes: "full" (a fast peer, oclgrind about 1-20 s), "small" (slow peers), "tiny" (very slow ones);
"large" for many threads of ours: 4,096 blocks or more, 5 ms or more on one thread.
Argument order of every GPU kernel: buffers first, then scalars, as listed here.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float32]
Words = npt.NDArray[np.uint32]
Scalar = np.int32 | np.uint32 | np.float32
Check = Callable[[list[Array]], bool]

NO_FMA = {"mandelbrot"}  # built with contraction off, so results are bit equal


@dataclass
class Problem:
    """A kernel with its launch, its arguments and what is known of its output.

    Attributes:
        grid: blocks; block: threads per block.
        bufs: arrays in argument order; scalars: what follows them.
        outs: indices of the buffers that are outputs.
        expect: whether these outputs are right.
        native_scalars: where the plain C function takes something else.
        note: facts for the report.
        arch: what its cubin is for.
    """

    grid: tuple[int, ...]
    block: tuple[int, ...]
    bufs: list[Array]
    outs: list[int]
    scalars: list[Scalar]
    expect: Check
    native_scalars: list[Scalar] | None = None
    note: dict[str, int] = field(default_factory=dict)
    name: str = ""
    arch: str = "sm_50"

    def fresh(self) -> list[Array]:
        """Copies of the buffers as they are before a run."""
        return [b.copy() for b in self.bufs]

    def threads(self) -> int:
        """Threads of the launch."""
        return int(np.prod(self.grid)) * int(np.prod(self.block))

    def checksum(self, bufs: list[Array]) -> str:
        """Same string for equal outputs; floats are rounded to 3 significant digits of a sum."""
        parts = []
        for i in self.outs:
            a = bufs[i]
            if a.dtype.kind == "f":
                total, size = (float(np.sum(v, dtype=np.float64)) for v in (a, np.abs(a)))
                parts.append(f"{total:.4g}/{size:.4g}")
            else:
                parts.append(f"{zlib.crc32(a.tobytes()):08x}")
        return " ".join(parts)

    def correct(self, bufs: list[Array]) -> bool:
        """Whether a run's buffers hold what the kernel should have written."""
        return self.expect([bufs[i] for i in self.outs])


# ---- inputs and checks -----------------------------------------------------------------------


def u32(n: int, seed: int) -> Words:
    """Deterministic 32-bit noise without a library generator (multiply-xorshift of the index)."""
    v = (np.arange(n, dtype=np.uint64) + np.uint64(seed * 7919 + 1)) * np.uint64(0x9E3779B97F4A7C15)
    v ^= v >> np.uint64(29)
    v *= np.uint64(0xBF58476D1CE4E5B9)
    v ^= v >> np.uint64(32)
    return (v & np.uint64(0xFFFFFFFF)).astype(np.uint32)


def f32(n: int, seed: int) -> Floats:
    """Noise in -1..1."""
    return (u32(n, seed) >> np.uint32(8)).astype(np.float32) / np.float32(1 << 23) - np.float32(1)


def close(ref: Array, tol: float) -> Check:
    """The one output is this, but for rounding."""

    def check(outs: list[Array]) -> bool:
        d = np.abs(outs[0].astype(np.float64) - ref)
        return bool(np.all(d <= tol * (np.abs(ref) + np.max(np.abs(ref)) * 1e-2 + 1e-12)))

    return check


def equal(ref: Array) -> Check:
    """The one output is this, bit for bit."""
    return lambda outs: np.array_equal(outs[0], ref)


# ---- kernels: a function of (full, small, tiny, large) index each ------------------------------


def _saxpy(size: int) -> Problem:
    n = (1 << 21, 1 << 14, 1 << 10, 1 << 23)[size]
    x, y = f32(n, 1), f32(n, 2)
    return Problem(
        (n // 256,), (256,), [x, y], [1], [np.int32(n), np.float32(1.5)],
        close(1.5 * x.astype(np.float64) + y, 1e-5),
    )  # fmt: skip


def _sgemm(size: int) -> Problem:
    n = (256, 64, 16, 1024)[size]
    a, b = f32(n * n, 3), f32(n * n, 4)
    ref = (a.reshape(n, n).astype(np.float64) @ b.reshape(n, n)).ravel()
    return Problem(
        (n // 16, n // 16), (16, 16), [a, b, np.zeros(n * n, np.float32)], [2], [np.int32(n)],
        close(ref, 1e-3),
    )  # fmt: skip


def _reduce(size: int) -> Problem:
    n, blocks = ((1 << 22, 256), (1 << 15, 8), (1 << 10, 2), (1 << 24, 4096))[size]
    x = (u32(n, 5) & np.uint32(1023)).astype(np.int32)
    return Problem(
        (blocks,), (256,), [x, np.zeros(1, np.int32)], [1], [np.int32(n)],
        equal(x.sum(dtype=np.int32, keepdims=True)),
    )  # fmt: skip


def _mandelbrot(size: int) -> Problem:
    w, it = ((256, 256), (64, 64), (16, 32), (1024, 64))[size]
    ref = _mandelbrot_picture(w, w, it)
    return Problem(
        (w // 16, w // 16), (16, 16), [np.zeros(w * w, np.int32)], [0],
        [np.int32(w), np.int32(w), np.int32(it)], equal(ref),
        note={"iterations": int(ref.sum())},
    )  # fmt: skip


def _mandelbrot_picture(w: int, h: int, maxit: int) -> npt.NDArray[np.int32]:
    f = np.float32
    px = np.arange(w).astype(f)
    py = np.arange(h).astype(f)
    cx = px * (f(3) / f(1024)) * (f(1024) / f(w)) - f(2)
    cy = py * (f(2) / f(1024)) * (f(1024) / f(h)) - f(1)
    cx, cy = np.meshgrid(cx, cy)
    zx = np.zeros_like(cx)
    zy = np.zeros_like(cx)
    it = np.zeros(cx.shape, np.int32)
    live = np.ones(cx.shape, bool)
    for _ in range(maxit):
        xx, yy = zx * zx, zy * zy
        live &= ~((xx + yy) > f(4))
        if not live.any():
            break
        xy = zx * zy
        zx = np.where(live, (xx - yy) + cx, zx)
        zy = np.where(live, (xy + xy) + cy, zy)
        it += live
    return it.ravel()


def _nbody(size: int) -> Problem:
    # At the large size the first bodies alone attract.
    bodies, n = ((2048, 2048), (256, 256), (64, 64), (1 << 18, 512))[size]
    p = f32(bodies * 4, 6)
    p[3::4] = np.abs(p[3::4])
    return Problem(
        (bodies // 64,), (64,), [p, np.zeros(bodies * 4, np.float32)], [1], [np.int32(n)],
        close(_nbody_forces(p, n), 5e-3),
    )  # fmt: skip


def _nbody_forces(p: Floats, n: int) -> npt.NDArray[np.float64]:
    q = p.reshape(-1, 4).astype(np.float64)
    out = np.zeros_like(q)
    for x, y, z, mass in q[:n]:
        d = (x, y, z) - q[:, :3]
        inv = 1.0 / np.sqrt((d * d).sum(axis=1) + 0.01)
        out[:, :3] += d * (mass * inv**3)[:, None]
    return out.ravel()


def _sha256(size: int) -> Problem:
    n = (1 << 14, 512, 32, 1 << 19)[size]
    digests = (hashlib.sha256(struct.pack(">I", 1000 + i)).digest() for i in range(n))
    ref = np.array([struct.unpack(">8I", digest) for digest in digests], np.uint32).ravel()
    block = min(n, 128)
    return Problem(
        (n // block,), (block,), [np.zeros(n * 8, np.uint32)], [0], [np.int32(n), np.uint32(1000)],
        equal(ref),
    )  # fmt: skip


def _histogram(size: int) -> Problem:
    n, blocks = ((1 << 22, 64), (1 << 15, 4), (1 << 10, 1), (1 << 24, 4096))[size]
    x = (u32(n, 7) >> np.uint32(9)).astype(np.uint8)
    return Problem(
        (blocks,), (256,), [x, np.zeros(256, np.uint32)], [1], [np.int32(n)],
        equal(np.bincount(x, minlength=256).astype(np.uint32)),
    )  # fmt: skip


def _bitonic(size: int) -> Problem:
    blocks = (256, 8, 1, 4096)[size]
    x = u32(blocks * 512, 8)
    return Problem(
        (blocks,), (256,), [x], [0], [], equal(np.sort(x.reshape(blocks, 512), axis=1).ravel()),
        native_scalars=[np.int32(blocks)],
    )  # fmt: skip


def _stencil(size: int) -> Problem:
    w = (1024, 128, 32, 2048)[size]
    a = f32(w * w, 9)
    g = a.reshape(w, w).astype(np.float64)
    ref = g.copy()
    ref[1:-1, 1:-1] = 0.5 * g[1:-1, 1:-1] + 0.125 * (
        g[1:-1, :-2] + g[1:-1, 2:] + g[:-2, 1:-1] + g[2:, 1:-1]
    )
    return Problem(
        (w // 16, w // 16), (16, 16), [a, np.zeros(w * w, np.float32)], [1],
        [np.int32(w), np.int32(w)], close(ref.ravel(), 1e-4),
    )  # fmt: skip


SIZES = ("full", "small", "tiny", "large")
PROBLEMS: dict[str, Callable[[int], Problem]] = {
    "saxpy": _saxpy,
    "sgemm": _sgemm,
    "reduce": _reduce,
    "mandelbrot": _mandelbrot,
    "nbody": _nbody,
    "sha256": _sha256,
    "histogram": _histogram,
    "bitonic": _bitonic,
    "stencil": _stencil,
}
NAMES = list(PROBLEMS)


def problem(name: str, size: str = "full") -> Problem:
    """A kernel's problem of a size: one of the nine, of `wide` or of `shapes`."""
    import shapes
    import wide

    made = {**PROBLEMS, **wide.PROBLEMS, **shapes.PROBLEMS}[name](SIZES.index(size))
    made.name = name
    return made
