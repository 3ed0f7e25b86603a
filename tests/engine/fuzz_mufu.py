"""MUFU of compiled code has the bits of the definition: the part of the proof in
`gpudbg.sm.engines.llvm.kernel.reciprocals` that is a search, and every operand there is.

    python -m tests.engine.fuzz_mufu [--all]

`--all` takes all 2**32 operands instead of 2**24 significands and parities with some exponents.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import numpy.typing as npt

from gpudbg.sm.engines import mufu
from gpudbg.sm.engines.llvm import build, layout
from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.floats import F32
from gpudbg.sm.engines.llvm.kernel.reciprocals import STARTS, Reciprocals
from gpudbg.sm.engines.llvm.runtime.body import Body

U32 = npt.NDArray[np.uint32]
FUNCTIONS = ("RCP", "SQRT", "RSQ")
"""Done in place."""
CALLED = ("EX2", "LG2", "SIN", "COS")
"""Functions of the library."""
CHUNK = 1 << 20
BELOW, ABOVE = 2.0**-25 - 1.5 * 2.0**-27, 1.5 * 2.0**-24 + 2.0**-31
"""How much too large, as a ratio, y1 is before it is rounded: a little more than is proved."""


def starts() -> list[str]:
    """The ways to estimate that this host can run."""
    best = build.host().start
    usable = {"wide": ("wide", "vector", "divide"), "vector": ("vector", "divide")}
    assert set(STARTS) == {"wide", "vector", "divide"}
    return list(usable.get(best, (best,) if best else ()))


@cache
def _compiled(what: str, start: str) -> tuple[build.Code, Callable[..., None]]:
    body = Body()
    b, floats = body.ir, body.floats
    mufu_of = Reciprocals(b, floats, floats.runtime, start)
    at = b.var("i64", 0)
    with b.loop() as (_, after):
        n = b.get("i64", at)
        b.unless(b.op(f"icmp uge i64 {n}, %rows"), after)
        row = b.op(f"shl i64 {n}, 7")
        x, y = (b.get(F32, p, row, 4) for p in ("%x", "%y"))
        if what == "corrected":
            result = mufu_of.corrected(x, y)
        else:
            result = floats.f32(mufu_of.mufu(what, floats.bits32(x)))
        b.put(F32, result, "%out", row, 4)
        b.put("i64", b.op(f"add i64 {n}, 1"), at)
    b.line("ret void")
    head = "define void @apply(ptr %x, ptr %y, ptr %out, i64 %rows) {"
    text = "\n".join([head, *b.lines, "}"])
    code = build.Code(build.object_of(text, 1, "variables"))
    pointers = [ctypes.c_void_p] * 3
    return code, ctypes.CFUNCTYPE(None, *pointers, ctypes.c_int64)(code.address("apply"))


def applied(what: str, start: str, x: U32, y: U32) -> U32:
    """Results for operands in whole rows of 32; `what`: a function, or "corrected" with y."""
    out = np.empty_like(x)
    _compiled(what, start)[1](x.ctypes.data, y.ctypes.data, out.ctypes.data, len(x) // 32)
    return out


@cache
def _loop() -> tuple[build.Code, Callable[..., None]]:
    """Calls a library function for rows of 32."""
    b = Builder()
    at = b.var("i64", 0)
    with b.loop() as (_, after):
        n = b.get("i64", at)
        b.unless(b.op(f"icmp uge i64 {n}, %rows"), after)
        row = b.op(f"shl i64 {n}, 7")
        b.line(f"call void %f(ptr {b.at('%x', row)}, ptr {b.at('%out', row)})")
        b.put("i64", b.op(f"add i64 {n}, 1"), at)
    b.line("ret void")
    head = "define void @apply(ptr %f, ptr %x, ptr %out, i64 %rows) {"
    code = build.Code(build.object_of("\n".join([head, *b.lines, "}"]), 1, "variables"))
    pointers = [ctypes.c_void_p] * 3
    return code, ctypes.CFUNCTYPE(None, *pointers, ctypes.c_int64)(code.address("apply"))


def _aligned(count: int) -> U32:
    raw = np.empty(4 * count + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + 4 * count].view(np.uint32)


def called(function: str, x: U32) -> U32:
    """Results of a library function for operands in whole rows of 32."""
    values, out = _aligned(len(x)), _aligned(len(x))
    values[:] = x
    where = build.library().address(layout.symbol(f"mufu.{function}"))
    _loop()[1](where, values.ctypes.data, out.ctypes.data, len(x) // 32)
    return out


def defined(function: str, x: U32) -> U32:
    """What the step engine gives."""
    with np.errstate(all="ignore"):
        return mufu.mufu(function, x)


def correction_errors(x: U32) -> int:
    """How many of these operands the correction turns into a wrong RSQ for any y1 that a step
    can give."""
    exact = 1 / np.sqrt(x.view(np.float32).astype(np.float64))
    low, high = ((exact * (1 + by)).astype(np.float32).view(np.uint32) for by in (BELOW, ABOVE))
    want = exact.astype(np.float32).view(np.uint32)
    wrong = np.zeros(len(x), bool)
    for k in range(int((high - low).max()) + 1):
        y = np.minimum(low + np.uint32(k), high)
        wrong |= applied("corrected", "divide", x, y) != want
    return int(wrong.sum())


def errors(function: str, start: str, x: U32) -> int:
    """How many operands have another result than the definition's."""
    got, want = applied(function, start, x, x), defined(function, x)
    nan = (got & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    return int((np.where(nan, mufu.NAN, got) != want).sum())


def called_errors(function: str, x: U32) -> int:
    """`errors` of a library function."""
    return int((called(function, x) != defined(function, x)).sum())


def _operands(everything: bool) -> Iterator[U32]:
    some = (0, 1, 2, 110, 125, 126, 127, 128, 133, 140, 141, 253, 254, 255, 256, 375, 383, 389, 396)
    exponents = range(512) if everything else some
    for exponent in exponents:
        for first in range(exponent << 23, (exponent + 1) << 23, CHUNK):
            yield np.arange(first, first + CHUNK, dtype=np.uint32)


def main() -> int:
    """Run the campaign; 1 when anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="every operand")
    options = parser.parse_args()
    binades = range(127 << 23, 129 << 23, CHUNK)
    wrong = sum(correction_errors(np.arange(n, n + CHUNK, dtype=np.uint32)) for n in binades)
    print(f"{'correction':12} {wrong or 'no'} errors", flush=True)
    failed = wrong
    for function in FUNCTIONS:
        for start in starts() if function == "RSQ" else starts()[:1]:
            wrong = sum(errors(function, start, x) for x in _operands(options.all))
            print(f"{function:5} {start:6} {wrong or 'no'} errors", flush=True)
            failed += wrong
    for function in CALLED:
        wrong = sum(called_errors(function, x) for x in _operands(options.all))
        print(f"{function:12} {wrong or 'no'} errors", flush=True)
        failed += wrong
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
