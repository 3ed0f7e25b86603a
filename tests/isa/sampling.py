"""Random instruction words: legal ones of a form, mutations, and anything at all."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from gpudbg.isa.spa5.forms import all_forms
from gpudbg.isa.spa5.spec import GUARD_MASK, Form

WORD = (1 << 64) - 1


def legal_word(form: Form, rng: random.Random, tries: int = 400) -> int | None:
    """A word that `form` matches and accepts; None when chance finds none."""
    for _ in range(tries):
        density = rng.choice((0.05, 0.2, 0.5, 0.8, 0.95))
        word = sum(1 << bit for bit in range(64) if rng.random() < density)
        word = word & ~form.mask & WORD | form.value
        if form.guarded and rng.random() < 0.7:
            word = word & ~GUARD_MASK | 0x70000
        if form.reason(word) is None:
            return word
    return None


def mutate(word: int, rng: random.Random) -> int:
    """A few bits flipped, a field overwritten, or the low part of another word."""
    kind = rng.random()
    if kind < 0.6:
        for _ in range(rng.randint(1, 4)):
            word ^= 1 << rng.randrange(64)
        return word
    if kind < 0.85:
        low, width = rng.randrange(60), rng.randint(1, 12)
        return (word & ~(((1 << width) - 1) << low) | rng.getrandbits(width) << low) & WORD
    keep = rng.choice((48, 52, 56, 40))
    return word >> keep << keep | rng.getrandbits(keep)


def campaign(arch: str, count: int, seeds: Sequence[int], seed: int) -> Iterator[int]:
    """`count` words for `arch`: legal, mutated (of legal words and `seeds`) and random ones."""
    rng = random.Random(f"{arch}/{seed}")
    forms = [f for f in all_forms() if arch in f.archs]
    pool = list(seeds)
    made = 0
    while made < count:
        kind = rng.random()
        if kind < 0.35 or not pool:
            word = legal_word(rng.choice(forms), rng)
            if word is None:
                continue
            if len(pool) < 50_000:
                pool.append(word)
        elif kind < 0.95:
            word = mutate(rng.choice(pool), rng)
        else:
            word = rng.getrandbits(64)
        made += 1
        yield word
