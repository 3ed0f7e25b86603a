"""Benchmark suite: what each kernel takes, its sizes, and how its output is checked.

`problem(name, size)` gives a Problem; every run works on fresh copies of its buffers.
Sizes: "full" (a fast peer, oclgrind about 1-20 s), "small" (slow peers), "tiny" (very slow ones).
Argument order of every GPU kernel: buffers first, then scalars, as listed here.
"""

import hashlib
import struct
import zlib
from dataclasses import dataclass, field

import numpy as np

NAMES = [
    "saxpy",
    "sgemm",
    "reduce",
    "mandelbrot",
    "nbody",
    "sha256",
    "histogram",
    "bitonic",
    "stencil",
]
NO_FMA = {"mandelbrot"}  # built with contraction off, so results are bit equal


@dataclass
class Problem:
    name: str
    grid: tuple  # blocks
    block: tuple  # threads per block
    bufs: list  # numpy arrays, in argument order
    outs: list  # indices of the buffers that are outputs
    scalars: list  # numpy scalars, after the buffers
    native_scalars: list = None  # where the plain C function takes something else
    expect: object = None  # callable(outs) -> bool
    tol: float = 0.0
    note: dict = field(default_factory=dict)

    def fresh(self):
        return [b.copy() for b in self.bufs]

    def threads(self):
        return int(np.prod(self.grid)) * int(np.prod(self.block))

    def checksum(self, bufs):
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

    def correct(self, bufs):
        return bool(self.expect([bufs[i] for i in self.outs]))


def _u32(n, seed):
    """Deterministic 32-bit noise without a library generator (multiply-xorshift of the index)."""
    v = (np.arange(n, dtype=np.uint64) + np.uint64(seed * 7919 + 1)) * np.uint64(0x9E3779B97F4A7C15)
    v ^= v >> np.uint64(29)
    v *= np.uint64(0xBF58476D1CE4E5B9)
    v ^= v >> np.uint64(32)
    return (v & np.uint64(0xFFFFFFFF)).astype(np.uint32)


def _f32(n, seed):
    return (_u32(n, seed) >> np.uint32(8)).astype(np.float32) / np.float32(1 << 23) - np.float32(1)


def _close(ref, tol):
    def f(outs):
        d = np.abs(outs[0].astype(np.float64) - ref)
        return np.all(d <= tol * (np.abs(ref) + np.max(np.abs(ref)) * 1e-2 + 1e-12))

    return f


def _equal(ref):
    return lambda outs: np.array_equal(outs[0], ref)


def problem(name, size="full"):
    def pick(full, small, tiny):
        return {"full": full, "small": small, "tiny": tiny}[size]

    i32, u32, f32 = np.int32, np.uint32, np.float32
    if name == "saxpy":
        n = pick(1 << 21, 1 << 14, 1 << 10)
        x, y = _f32(n, 1), _f32(n, 2)
        return Problem(
            name,
            (n // 256,),
            (256,),
            [x, y],
            [1],
            [i32(n), f32(1.5)],
            expect=_close(1.5 * x.astype(np.float64) + y, 1e-5),
        )
    if name == "sgemm":
        n = pick(256, 64, 16)
        a, b = _f32(n * n, 3), _f32(n * n, 4)
        ref = (a.reshape(n, n).astype(np.float64) @ b.reshape(n, n)).ravel()
        return Problem(
            name,
            (n // 16, n // 16),
            (16, 16),
            [a, b, np.zeros(n * n, f32)],
            [2],
            [i32(n)],
            expect=_close(ref, 1e-3),
        )
    if name == "reduce":
        n, g = pick((1 << 22, 256), (1 << 15, 8), (1 << 10, 2))
        x = (_u32(n, 5) & u32(1023)).astype(i32)
        return Problem(
            name,
            (g,),
            (256,),
            [x, np.zeros(1, i32)],
            [1],
            [i32(n)],
            expect=_equal(np.array([int(x.sum())], i32)),
        )
    if name == "mandelbrot":
        w, it = pick((256, 256), (64, 64), (16, 32))
        ref = _mandel(w, w, it)
        return Problem(
            name,
            (w // 16, w // 16),
            (16, 16),
            [np.zeros(w * w, i32)],
            [0],
            [i32(w), i32(w), i32(it)],
            expect=_equal(ref),
            note={"iterations": int(ref.sum())},
        )
    if name == "nbody":
        n = pick(2048, 256, 64)
        p = _f32(n * 4, 6)
        p[3::4] = np.abs(p[3::4])
        return Problem(
            name,
            (n // 64,),
            (64,),
            [p, np.zeros(n * 4, f32)],
            [1],
            [i32(n)],
            expect=_close(_nbody(p, n), 5e-3),
        )
    if name == "sha256":
        n = pick(1 << 14, 512, 32)
        ref = np.array(
            [
                struct.unpack(">8I", hashlib.sha256(struct.pack(">I", 1000 + i)).digest())
                for i in range(n)
            ],
            u32,
        ).ravel()
        blk = min(n, 128)
        return Problem(
            name,
            (n // blk,),
            (blk,),
            [np.zeros(n * 8, u32)],
            [0],
            [i32(n), u32(1000)],
            expect=_equal(ref),
        )
    if name == "histogram":
        n, g = pick((1 << 22, 64), (1 << 15, 4), (1 << 10, 1))
        x = (_u32(n, 7) >> u32(9)).astype(np.uint8)
        ref = np.bincount(x, minlength=256).astype(u32)
        return Problem(
            name, (g,), (256,), [x, np.zeros(256, u32)], [1], [i32(n)], expect=_equal(ref)
        )
    if name == "bitonic":
        nb = pick(256, 8, 1)
        x = _u32(nb * 512, 8)
        return Problem(
            name,
            (nb,),
            (256,),
            [x],
            [0],
            [],
            native_scalars=[i32(nb)],
            expect=_equal(np.sort(x.reshape(nb, 512), axis=1).ravel()),
        )
    if name == "stencil":
        w = pick(1024, 128, 32)
        a = _f32(w * w, 9)
        g = a.reshape(w, w).astype(np.float64)
        ref = g.copy()
        ref[1:-1, 1:-1] = 0.5 * g[1:-1, 1:-1] + 0.125 * (
            g[1:-1, :-2] + g[1:-1, 2:] + g[:-2, 1:-1] + g[2:, 1:-1]
        )
        return Problem(
            name,
            (w // 16, w // 16),
            (16, 16),
            [a, np.zeros(w * w, f32)],
            [1],
            [i32(w), i32(w)],
            expect=_close(ref.ravel(), 1e-4),
        )
    raise KeyError(name)


def _mandel(w, h, maxit):
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


def _nbody(p, n):
    q = p.reshape(n, 4).astype(np.float64)
    out = np.zeros((n, 4))
    for i in range(n):
        d = q[:, :3] - q[i, :3]
        inv = 1.0 / np.sqrt((d * d).sum(axis=1) + 0.01)
        out[i, :3] = (d * (q[:, 3] * inv**3)[:, None]).sum(axis=0)
    return out.ravel()
