"""What the compiler's libraries make of programs: pack part `library`.

Functions of the math library over values that are special and values that are random, arithmetic of
halves, warps, blocks and clusters that work together, atomics, copies into shared memory, products
on tensor cores, in launches of odd shapes.  Integer results and float results alike are compared
bit for bit: no kernel here adds floats in an order that is open.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tests.silicon.pack import Pack, Row, one_launch

SOURCE = Path(__file__).resolve().parent / "src" / "patterns.cu"
COUNT: Final = 8192
"""Values of a function."""

ONE: Final = (
    "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp exp2 exp10 expm1 log log2"
    " log10 log1p sqrt rsqrt cbrt rcbrt erf erfc erfinv erfcinv erfcx lgamma tgamma normcdf"
    " normcdfinv sinpi cospi j0 j1 y0 y1 ceil floor trunc rint nearbyint round logb fabs"
).split()
"""Functions of one argument, for both types."""
TWO: Final = ("pow atan2 fmod remainder hypot fdim fmin fmax copysign nextafter rhypot").split()
INTRINSICS: Final = (
    "__fdividef(x,y) __frcp_rn(x) __frcp_rd(x) __fsqrt_rn(x) __fsqrt_ru(x) __fdiv_rz(x,y)"
    " __fmaf_rd(x,y,x) __fadd_ru(x,y) __fmul_rz(x,y) __saturatef(x) x/y 1.0f/x"
    " __int_as_float(__float2int_rn(x)) __int_as_float(__float2uint_rz(x))"
    " __int_as_float(int(__float2ll_rd(x))) __ll2float_rn(__float_as_int(x)*77777ll)"
    " __uint2float_ru(__float_as_uint(x)) ldexpf(x,__float_as_int(y)>>25) scalblnf(x,3) fmaf(x,y,x)"
).split(" ")
DOUBLES: Final = (
    "x/y 1.0/x __ddiv_rd(x,y) __drcp_ru(x) __dsqrt_rz(x) fma(x,y,x) __dadd_rd(x,y) __dmul_ru(x,y)"
    " (double)(float)x (double)(int)x (double)(long)x (double)(unsigned)y ldexp(x,(int)y&63)"
    " __longlong_as_double(__double2ull_rn(x)) __longlong_as_double(__double_as_longlong(x)*3)"
).split(" ")
HALVES: Final = (
    "__hadd2(x,y) __hsub2(x,y) __hmul2(x,y) __hfma2(x,y,x) __hfma2_relu(x,y,x) __hadd2_sat(x,y)"
    " __hmul2_sat(x,y) __h2div(x,y) __hmax2(x,y) __hmin2(x,y) __hmax2_nan(x,y) __hmin2_nan(x,y)"
    " __habs2(x) __hneg2(x) h2floor(x) h2ceil(x) h2trunc(x) h2rint(x) h2sqrt(x) h2rcp(x) h2rsqrt(x)"
    " h2exp2(x) h2log2(x) h2sin(x) h2exp(x) __heq2(x,y) __hlt2(x,y) __hgeu2(x,y) __hne2(x,y)"
).split()


def _values(kind: Any, seed: int) -> npt.NDArray[Any]:
    """Special values, any bits, and numbers of the size that people use."""
    rng = np.random.default_rng(seed)
    bits: Any = np.uint32 if kind == np.float32 else np.uint64
    wide = np.iinfo(bits).bits
    top = int(np.array(1, kind).view(bits))
    edges = [0, 1, 2, top, top - 1, top + 1, top * 2 % (1 << wide - 1)]
    info = np.finfo(kind)
    for value in (info.max, info.tiny, np.inf, np.nan, np.pi, np.pi / 2, np.e, 0.5, 2, 3, 10, 88.7):
        near = int(np.array(value, kind).view(bits))
        edges += [near - 1, near, near + 1]
    edges += [edge | 1 << wide - 1 for edge in edges]
    special = np.array(edges, bits).view(kind)
    third = COUNT // 4
    anything = rng.integers(0, 1 << wide, third, dtype=bits).view(kind)
    with np.errstate(all="ignore"):
        usual = [
            rng.standard_normal(third).astype(kind),
            rng.uniform(-120, 120, third).astype(kind),
            rng.uniform(0, 1, COUNT - 3 * third - len(special)).astype(kind),
        ]
    return np.concatenate([special, anything, *usual])


def _function_kernels(names: dict[str, str], kind: str) -> str:
    """Kernels `fN(in, in, out)` that have an expression of `x` and `y` each."""
    return "\n".join(
        f'extern "C" __global__ void {entry}(const {kind}* a, const {kind}* b, {kind}* out) {{'
        f" int i = blockIdx.x * blockDim.x + threadIdx.x; {kind} x = a[i], y = b[i];"
        f" out[i] = {text}; }}"
        for entry, text in names.items()
    )


def compiled(text: str, name: str, arch: str) -> bytes:
    """The cubin, by NVRTC and headers of CUDA (GPUDBG_CUDA_INCLUDE)."""
    from tests.kernels_own.build import nvrtc

    folder = os.environ["GPUDBG_CUDA_INCLUDE"]
    words = [f"--gpu-architecture={arch}", "--std=c++17", f"-I{folder}", f"-I{folder}/cccl"]
    return nvrtc(text, name, words)


def _functions(pack: Pack, arch: str) -> None:
    heads = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
    groups: dict[str, tuple[str, Any, list[str]]] = {
        "float": (
            "float",
            np.float32,
            [f"{n}f(x)" for n in ONE] + [f"{n}f(x, y)" for n in TWO] + INTRINSICS,
        ),
        "fast": ("float", np.float32, ["__sinf(x)", "__cosf(x)", "__expf(x)", "__logf(x)",
                 "__powf(x, y)", "__tanf(x)", "__exp10f(x)", "__log2f(x)", "__log10f(x)"]),
        "double": (
            "double",
            np.float64,
            [f"{n}(x)" for n in ONE] + [f"{n}(x, y)" for n in TWO] + DOUBLES,
        ),
        "half2": ("__half2", np.float32, HALVES),
        "bf162": ("__nv_bfloat162", np.float32, HALVES),
    }  # fmt: skip
    for group, (kind, numbers, texts) in groups.items():
        names = {f"f{n}": text for n, text in enumerate(texts)}
        image = compiled(heads + _function_kernels(names, kind), f"{group}.cu", arch)
        ins = [_values(numbers, seed) for seed in (1, 2)]
        if group in ("half2", "bf162"):
            rng = np.random.default_rng(3)
            ins = [rng.integers(0, 1 << 32, COUNT, dtype=np.uint32) for _ in range(2)]
            near = 0x3C00 if group == "half2" else 0x3F80
            small = rng.integers(near - 900, near + 900, (2, COUNT, 2), dtype=np.uint16)
            for each, usual in zip(ins, small, strict=True):
                each[COUNT // 2 :] = usual.view(np.uint32)[COUNT // 2 :, 0]
        rows = {"a": pack.buffer(ins[0]), "b": pack.buffer(np.roll(ins[1], 777))}
        out = {"fill": 0xCD, "size": ins[0].nbytes}
        args: list[Row] = [{"buffer": name} for name in ("a", "b", "out")]
        for entry, text in names.items():
            launches = one_launch(entry, (COUNT // 128, 1, 1), (128, 1, 1), args)
            pack.add(f"library {group} {text}", image, launches, buffers={**rows, "out": out})


SHAPES: Final = (
    ((1, 1, 1), (1, 1, 1)),
    ((3, 1, 1), (33, 1, 1)),
    ((2, 3, 2), (5, 3, 2)),
    ((1, 1, 5), (1, 77, 1)),
    ((4, 2, 1), (16, 16, 1)),
    ((1, 4, 3), (7, 1, 9)),
    ((5, 1, 1), (1, 2, 64)),
    ((2, 2, 2), (31, 3, 3)),
    ((7, 1, 1), (1000, 1, 1)),
)
"""Grids and blocks."""
ANY: Final = (
    "places sums votes matches shuffles scan histogram tickets minmax halves bf16 tiles balance"
    " strings mixed wide_atomics pingpong recursion calls sortnet"
).split()
"""Kernels of `patterns.cu` for blocks of any shape."""
WHOLE: Final = (
    "wmma_half wmma_bf16 wmma_int8 wmma_tf32 copies pipeline reduce_groups barrier_parts"
).split()
"""Those for blocks of 128 threads."""
CLUSTERS: Final = ("cluster_ring", "cluster_sum", "cluster_map")


def _patterns(pack: Pack, arch: str) -> None:
    image = compiled(SOURCE.read_text(), "patterns.cu", arch)
    rng = np.random.default_rng(5)
    words = pack.buffer(rng.integers(0, 1 << 32, 1 << 14, dtype=np.uint32))
    floats = pack.buffer(rng.standard_normal(1 << 14).astype(np.float32))
    args: list[Row] = [{"buffer": name} for name in ("words", "floats", "out")]
    buffers = {"words": words, "floats": floats, "out": {"fill": 0, "size": 1 << 18}}
    for entry in ANY:
        for grid, block in SHAPES:
            name = f"library {entry} {'x'.join(map(str, grid))} {'x'.join(map(str, block))}"
            pack.add(name, image, one_launch(entry, grid, block, args), buffers=dict(buffers))
    for entry in WHOLE:
        for grid in ((1, 1, 1), (3, 2, 1)):
            name = f"library {entry} {'x'.join(map(str, grid))}"
            launches = one_launch(entry, grid, (128, 1, 1), args)
            pack.add(name, image, launches, buffers=dict(buffers))
    for entry in CLUSTERS:
        for cluster in (2, 4, 8):
            launches = one_launch(entry, (16, 1, 1), (96, 1, 1), args, cluster=[cluster, 1, 1])
            pack.add(f"library {entry} {cluster}", image, launches, buffers=dict(buffers))


def fill(pack: Pack, arch: str) -> None:
    """All of them."""
    _functions(pack, arch)
    _patterns(pack, arch)
