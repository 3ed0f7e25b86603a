"""Two builds of one kernel: where do their results part? A search by script, store by store.

Two builds of a moving average, with and without fused multiply-add, give results that differ in
the last digit. Comparing the outputs at the end says only that some of them differ. Which
store was the first, in which thread, and what went into it? Both builds run side by side here,
from store to store, until the output arrays are no longer equal.
"""

from pathlib import Path

import numpy as np

import gpudbg

HERE = Path(__file__).parent
ALPHA = np.float32(0.333)
PRICES = (90 + np.arange(2560) * 7919 % 2003 / 100).astype(np.float32).reshape(40, 64)


def begin(build: str) -> gpudbg.DebugSession:
    """A session of one build that stops at every store."""
    program = gpudbg.load(HERE / build)
    args = [PRICES, np.zeros_like(PRICES), np.int32(40), ALPHA]
    session = program.launch("smooth", block=64, args=args)
    session.break_at("two_builds.cu:15")
    return session


plain, fused = begin("two_builds.cubin"), begin("two_builds_fma.cubin")
both = enumerate(zip(plain.events(), fused.events(), strict=True))
number, (stop, _) = next(
    found for found in both if not np.array_equal(plain.buffer(1), fused.buffer(1))
)
different = np.argwhere(plain.buffer(1) != fused.buffer(1))
step, series = different[0]
print(f"equal after {number - 1} stores, different after {number}, in {len(different)} threads")
print(f"the first is thread {series}, step {step}; the stop after it: {stop}")
for name, session in (("plain", plain), ("fused", fused)):
    old, new = session.buffer(1)[step - 1 : step + 1, series]
    print(f"  {name}: mean {old:.9g} becomes {new:.9g}")

mean, price = plain.buffer(1)[step - 1, series], PRICES[step, series]
product = np.float64(ALPHA) * np.float64(price - mean)
print("With the same inputs, by hand:")
print(f"  product rounded, then the sum: {mean + np.float32(product):.9g}")
print(f"  the sum rounded alone:         {np.float32(np.float64(mean) + product):.9g}")

for session in (plain, fused):
    session.run()
apart = plain.buffer(1) != fused.buffer(1)
print(f"At the end {apart.sum()} of {apart.size} results differ. No build is wrong.")
