"""What follows from statements about words (`ir.bounds`)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpudbg.sm.engines.llvm.ir.bounds import bounds_of
from gpudbg.sm.engines.llvm.ir.values import FULL

_KIND = "<32 x i32>"
_STEPS: dict[str, Callable[[int, int], int]] = {
    "shl": lambda a, n: a << n & FULL,
    "lshr": lambda a, n: a >> n,
    "and": lambda a, n: a & n,
    "add": lambda a, n: a + n & FULL,
}


@given(
    st.sampled_from(("i8", "i16", "")),
    st.lists(st.tuples(st.sampled_from(sorted(_STEPS)), st.integers(0, FULL)), max_size=14),
    st.integers(0, FULL),
)
def test_no_word_is_outside(source: str, steps: list[tuple[str, int]], seed: int) -> None:
    """Random numbers through random statements."""
    texts = {"%v0": f"zext {'<32 x ' + source + '>'} %x to {_KIND}" if source else "other"}
    most = (1 << int(source[1:])) - 1 if source else FULL
    rng = np.random.default_rng(seed)
    words = [int(n) for n in rng.integers(0, most, 30, endpoint=True)] + [0, most]
    for n, (op, number) in enumerate(steps):
        number = number % 32 if op in ("shl", "lshr") else number
        texts[f"%v{n + 1}"] = f"{op} {_KIND} %v{n}, splat (i32 {number})"
        words = [_STEPS[op](word, number) for word in words]
    found = bounds_of(texts, f"%v{len(steps)}")
    assert all(word <= found.most and word % (1 << found.zeros) == 0 for word in words)


def test_bytes_times_four() -> None:
    """From memory in halves, whatever led there."""
    texts = {
        "%v1": "zext <16 x i8> %v0 to <16 x i32>",
        "%v2": "zext <16 x i8> %v9 to <16 x i32>",
        "%v3": f"shufflevector <16 x i32> %v1, <16 x i32> %v2, {_KIND} <i32 0>",
        "%v4": f"phi {_KIND} [ %v3, %a ], [ %v3, %b ]",
        "%v5": f"shl {_KIND} %v4, splat (i32 2)",
        "%v6": f"phi {_KIND} [ %v3, %a ], [ zeroinitializer, %b ]",
        "%v7": f"shl {_KIND} %v5, splat (i32 28)",
    }
    assert bounds_of(texts, "%v5") == (1020, 2)
    assert bounds_of(texts, "%v6") == (FULL, 0)
    assert bounds_of(texts, "%v7") == (0xC000_0000, 30)
    assert bounds_of(texts, "%v8") == (FULL, 0)
