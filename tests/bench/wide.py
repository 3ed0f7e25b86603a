"""Twenty more kernels of the kinds people write: what each takes, and how its output is checked.

`bench.py --suite wide` measures them.  `kernels/wide/NAME.cu` is one text for CUDA C++ and OpenCL C
(`both.h` has what the two spell differently), `NAME.c` the same in plain C.  The cubins in
`tests/data/bench/cubin` were compiled from it by

    python tests/bench/wide.py

which needs NVRTC.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from suite import Array, Check, Problem, close, equal, f32, u32  # noqa: E402

KERNELS = HERE / "kernels" / "wide"
CUBINS = HERE.parent / "data" / "bench" / "cubin"
TENSOR = "sm_80"
"""What tensor cores of 16-bit floats with 32-bit sums begin with."""


def source(name: str) -> str:
    """A kernel's text for OpenCL, and for NVRTC."""
    return (KERNELS / "both.h").read_text() + (KERNELS / f"{name}.cu").read_text()


def _square(n: int) -> tuple[int, ...]:
    return n // 16, n // 16


def _f64(a: Array) -> npt.NDArray[np.float64]:
    return a.astype(np.float64)


def _transpose(size: int) -> Problem:
    n = (1024, 128, 32, 2048)[size]
    a = f32(n * n, 11)
    return Problem(
        (n // 32, n // 32), (32, 8), [a, np.zeros(n * n, np.float32)], [1], [np.int32(n)],
        equal(a.reshape(n, n).T.ravel()),
    )  # fmt: skip


def _by_256(size: int, seed: int) -> tuple[int, npt.NDArray[np.uint32]]:
    n = (1 << 19, 1 << 12, 1 << 9, 1 << 22)[size]
    return n, u32(n, seed)


def _scan(size: int) -> Problem:
    n, a = _by_256(size, 12)
    a = (a & np.uint32(1023)).astype(np.int32)
    ref = np.cumsum(a.reshape(-1, 256), axis=1, dtype=np.int32).ravel()
    return Problem((n // 256,), (256,), [a, np.zeros_like(a)], [1], [np.int32(n)], equal(ref))


def _segsort(size: int) -> Problem:
    n, a = _by_256(size, 13)
    a = a & np.uint32(0xFFFF)
    ref = np.sort(a.reshape(-1, 256), axis=1).ravel()
    return Problem((n // 256,), (256,), [a, np.zeros_like(a)], [1], [np.int32(n)], equal(ref))


def _rows(count: int, most: int, width: int, seed: int) -> tuple[Array, Array]:
    """Rows of a sparse matrix, or edges of a graph: where each begins, and its columns."""
    lengths = u32(count, seed) % np.uint32(most)
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    return starts, (u32(int(starts[-1]), seed + 1) % np.uint32(width)).astype(np.int32)


def _spmv(size: int) -> Problem:
    rows = (1 << 15, 1 << 11, 1 << 8)[size]
    starts, columns = _rows(rows, 32, rows, 14)
    values, x = f32(len(columns), 16), f32(rows, 17)
    sums = np.concatenate(([0.0], np.cumsum(_f64(values) * x[columns])))
    return Problem(
        (rows // 128,), (128,), [starts, columns, values, x, np.zeros(rows, np.float32)], [4],
        [np.int32(rows)], close(sums[starts[1:]] - sums[starts[:-1]], 1e-3),
    )  # fmt: skip


def _conv2d(size: int) -> Problem:
    n = (512, 64, 16, 1024)[size]
    a, w = f32(n * n, 18), f32(25, 19)
    padded = np.pad(_f64(a).reshape(n, n), 2)
    ref = sum(w[5 * j + i] * padded[j : j + n, i : i + n] for j in range(5) for i in range(5))
    return Problem(
        _square(n), (16, 16), [a, w, np.zeros(n * n, np.float32)], [2], [np.int32(n)],
        close(np.asarray(ref).ravel(), 1e-3),
    )  # fmt: skip


def _fft(size: int) -> Problem:
    count = (512, 16, 2, 4096)[size]
    a = f32(count * 512, 20)
    angle = -2 * np.pi * np.arange(256) / 256
    turns = np.stack((np.cos(angle), np.sin(angle)), axis=1).astype(np.float32).ravel()
    ref = np.fft.fft(_f64(a).view(np.complex128).reshape(count, 256), axis=1)
    return Problem(
        (count,), (128,), [a, turns, np.zeros_like(a)], [2], [np.int32(count)],
        close(ref.view(np.float64).ravel(), 1e-3),
    )  # fmt: skip


def _softmax(size: int) -> Problem:
    rows = (1024, 64, 4, 8192)[size]
    a = f32(rows * 256, 21) * np.float32(4)
    e = np.exp(_f64(a).reshape(rows, 256))
    return Problem(
        (rows,), (128,), [a, np.zeros_like(a)], [1], [np.int32(rows)],
        close((e / e.sum(axis=1, keepdims=True)).ravel(), 1e-3),
    )  # fmt: skip


def _layernorm(size: int) -> Problem:
    rows = (1024, 64, 4, 8192)[size]
    a, gain, bias = f32(rows * 512, 22), f32(512, 23), f32(512, 24)
    v = _f64(a).reshape(rows, 512)
    ref = (v - v.mean(axis=1, keepdims=True)) / np.sqrt(v.var(axis=1, keepdims=True) + 1e-5)
    return Problem(
        (rows,), (128,), [a, gain, bias, np.zeros_like(a)], [3], [np.int32(rows)],
        close((ref * gain + bias).ravel(), 1e-3),
    )  # fmt: skip


def _halves(n: int, seed: int) -> Array:
    return f32(n * n, seed).astype(np.float16)


def _hgemm(size: int) -> Problem:
    n = (256, 64, 16)[size]
    a, b = _halves(n, 25), _halves(n, 26)
    ref = _f64(a).reshape(n, n) @ _f64(b).reshape(n, n)
    return Problem(
        _square(n), (16, 16), [a, b, np.zeros(n * n, np.float32)], [2], [np.int32(n)],
        close(ref.ravel(), 1e-3),
    )  # fmt: skip


def _tcgemm(size: int) -> Problem:
    n = (256, 64, 32)[size]
    a, b = _halves(n, 27), _halves(n, 28)
    ref = _f64(a).reshape(n, n) @ _f64(b).reshape(n, n).T
    return Problem(
        (n // 32, n // 16), (128, 1), [a, b, np.zeros(n * n, np.float32)], [2], [np.int32(n)],
        close(ref.ravel(), 1e-3), arch=TENSOR,
    )  # fmt: skip


def _attention(size: int) -> Problem:
    n = (512, 128, 64)[size]
    q, k, v = (f32(n * 32, seed) for seed in (29, 30, 31))
    scores = _f64(q).reshape(n, 32) @ _f64(k).reshape(n, 32).T * 0.17677669
    p = np.exp(scores)
    ref = p / p.sum(axis=1, keepdims=True) @ _f64(v).reshape(n, 32)
    return Problem(
        (n // 64,), (64,), [q, k, v, np.zeros_like(q)], [3], [np.int32(n)], close(ref.ravel(), 1e-3)
    )


def _bfs(size: int) -> Problem:
    count = (1 << 16, 1 << 12, 1 << 9)[size]
    starts, edges = _rows(count, 16, count, 32)
    levels = np.where(u32(count, 34) % np.uint32(4) == 0, 3, -1).astype(np.int32)
    ref = levels.copy()
    reached = edges[np.repeat(levels == 3, np.diff(starts))]
    ref[reached[levels[reached] < 0]] = 4
    return Problem(
        (count // 256,), (256,), [starts, edges, levels, levels.copy()], [3],
        [np.int32(count), np.int32(3)], equal(ref),
    )  # fmt: skip


def _montecarlo(size: int) -> Problem:
    threads, points = ((1 << 13, 256), (1 << 10, 64), (1 << 8, 8))[size]
    state = np.arange(threads, dtype=np.uint32) * np.uint32(2654435761) + np.uint32(12345)
    ref = np.zeros(threads, np.int32)
    for _ in range(points):
        state ^= state << np.uint32(13)
        state ^= state >> np.uint32(17)
        state ^= state << np.uint32(5)
        x, y = state & np.uint32(32767), state >> np.uint32(15) & np.uint32(32767)
        ref += x * x + y * y < 1073676289
    return Problem(
        (threads // 256,), (256,), [np.zeros(threads, np.int32)], [0],
        [np.int32(threads), np.int32(points)], equal(ref),
    )  # fmt: skip


def _search(size: int) -> Problem:
    n = (1 << 20, 1 << 14, 1 << 10, 1 << 22)[size]
    text = (u32(n, 35) % np.uint32(4) + 97).astype(np.uint8)
    word = np.frombuffer(b"abcdabcd", np.uint8)
    text[n // 2 : n // 2 + 8] = word
    count = text.tobytes().count(word.tobytes())
    return Problem(
        (n // 256,), (256,), [text, word, np.zeros(1, np.int32)], [2], [np.int32(n)],
        equal(np.array([count], np.int32)),
    )  # fmt: skip


def _hash(size: int) -> Problem:
    n = (1 << 16, 1 << 12, 1 << 9, 1 << 20)[size]
    a = u32(n * 16, 36)
    h = np.full(n, 2166136261, np.uint32)
    for v in a.reshape(16, n):
        w = v * np.uint32(0xCC9E2D51)
        h ^= (w << np.uint32(15) | w >> np.uint32(17)) * np.uint32(0x1B873593)
        h = (h << np.uint32(13) | h >> np.uint32(19)) * np.uint32(5) + np.uint32(0xE6546B64)
    h ^= h >> np.uint32(16)
    h *= np.uint32(0x85EBCA6B)
    h ^= h >> np.uint32(13)
    h *= np.uint32(0xC2B2AE35)
    ref = h ^ h >> np.uint32(16)
    return Problem((n // 256,), (256,), [a, np.zeros(n, np.uint32)], [1], [np.int32(n)], equal(ref))


SOLUTIONS = {6: 4, 8: 92, 9: 352}
"""Placings of so many queens."""


def _queens(size: int) -> Problem:
    n = (9, 8, 6)[size]
    return Problem(
        (1,), (96,), [np.zeros(n * n, np.int32)], [0], [np.int32(n)],
        lambda outs: int(outs[0].sum()) == SOLUTIONS[n],
    )  # fmt: skip


def _lu(size: int) -> Problem:
    count = (1280, 16, 2, 4096)[size]
    a = f32(count * 1024, 37).reshape(count, 32, 32) + np.float32(40) * np.eye(32, dtype=np.float32)
    ref = _f64(a)
    for k in range(31):
        ref[:, k + 1 :, k] /= ref[:, k, k, None]
        ref[:, k + 1 :, k + 1 :] -= ref[:, k + 1 :, k, None] * ref[:, k, None, k + 1 :]
    return Problem((count,), (32,), [a.ravel()], [0], [np.int32(count)], close(ref.ravel(), 1e-3))


def _smithwaterman(size: int) -> Problem:
    pairs = (640, 16, 2)[size]
    a, b = ((u32(pairs * 64, seed) % np.uint32(4)).astype(np.uint8) for seed in (38, 39))
    ref = np.zeros(pairs, np.int32)
    table = np.zeros((pairs, 65, 65), np.int32)
    for i in range(64):
        for j in range(64):
            match = np.where(a[i::64] == b[j::64], 3, -1)
            h = np.maximum(table[:, i, j] + match, table[:, i, j + 1] - 2)
            table[:, i + 1, j + 1] = h = np.maximum(np.maximum(h, table[:, i + 1, j] - 2), 0)
            ref = np.maximum(ref, h)
    return Problem(
        (pairs,), (64,), [a, b, np.zeros(pairs, np.int32)], [2], [np.int32(pairs)],
        equal(ref.astype(np.int32)),
    )  # fmt: skip


def _kmeans(size: int) -> Problem:
    n = (1 << 17, 1 << 11, 1 << 8, 1 << 20)[size]
    points, centres = f32(n * 8, 40), f32(128, 41)
    away = _f64(points).reshape(8, 1, n) - _f64(centres).reshape(16, 8).T[:, :, None]
    far = (away**2).sum(axis=0)
    best = far.min(axis=0)
    return Problem(
        (n // 256,), (256,), [points, centres, np.zeros(n, np.int32)], [2], [np.int32(n)],
        _nearest(far, best),
    )  # fmt: skip


def _nearest(far: Array, best: Array) -> Check:
    """The labels name a centre that is as near as the nearest one, but for rounding."""

    def check(outs: list[Array]) -> bool:
        chosen = far[outs[0], np.arange(far.shape[1])]
        return bool(np.all(chosen <= best + 1e-5))

    return check


def _bins(size: int) -> Problem:
    n = (1 << 20, 1 << 14, 1 << 10, 1 << 22)[size]
    a = (u32(n, 42) & np.uint32(0xFFFF)).astype(np.uint16)
    return Problem(
        (n // 256,), (256,), [a, np.zeros(1 << 16, np.int32)], [1], [np.int32(n)],
        equal(np.bincount(a, minlength=1 << 16).astype(np.int32)),
    )  # fmt: skip


def _igemm(size: int) -> Problem:
    n = (256, 64, 16)[size]
    a, b = ((u32(n * n, seed) >> np.uint32(24)).astype(np.uint8).view(np.int8) for seed in (43, 44))
    ref = a.reshape(n, n).astype(np.int32) @ b.reshape(n, n).astype(np.int32)
    return Problem(
        _square(n), (16, 16), [a, b, np.zeros(n * n, np.int32)], [2], [np.int32(n)],
        equal(ref.ravel()),
    )  # fmt: skip


PROBLEMS: dict[str, Callable[[int], Problem]] = {
    "transpose": _transpose,
    "scan": _scan,
    "segsort": _segsort,
    "spmv": _spmv,
    "conv2d": _conv2d,
    "fft": _fft,
    "softmax": _softmax,
    "layernorm": _layernorm,
    "hgemm": _hgemm,
    "tcgemm": _tcgemm,
    "attention": _attention,
    "bfs": _bfs,
    "montecarlo": _montecarlo,
    "search": _search,
    "hash": _hash,
    "queens": _queens,
    "lu": _lu,
    "smithwaterman": _smithwaterman,
    "kmeans": _kmeans,
    "bins": _bins,
    "igemm": _igemm,
}


def main() -> None:
    """Compile the cubins."""
    from gpudbg.toolchain.compile import compile_cuda
    from gpudbg.toolchain.options import CompileOptions

    for name, made in PROBLEMS.items():
        arch = made(2).arch
        # A line table would name the folder it was compiled in.
        options = CompileOptions(arch=arch, lineinfo=False)
        compiled: Any = compile_cuda(source(name), f"{name}.cu", options)
        path = CUBINS / f"{name}.{arch}.cubin"
        path.write_bytes(compiled.cubin)
        print(path.name, len(compiled.cubin))


if __name__ == "__main__":
    main()
