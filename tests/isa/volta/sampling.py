"""Words for campaigns against nvdisasm: compiled ones, mutated."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from gpudbg.errors import DecodeError
from gpudbg.isa.volta import ARCHS, decode

_FIELDS = (
    (16, 8),
    (24, 8),
    (32, 8),
    (40, 24),
    (32, 32),
    (64, 8),
    (72, 20),
    (81, 3),
    (84, 3),
    (87, 4),
)
"""Lowest bit and width of the fields that many forms have."""
_MOST_FLIPS = 6


def _flipped(word: int, rng: random.Random) -> int:
    for _ in range(rng.randint(1, _MOST_FLIPS)):
        word ^= 1 << rng.randrange(105)
    return word


def _refilled(word: int, rng: random.Random) -> int:
    low, width = rng.choice(_FIELDS)
    ones = (1 << width) - 1
    value = rng.choice((0, ones, rng.getrandbits(width)))
    return word & ~(ones << low) | value << low


def _rescheduled(word: int, rng: random.Random) -> int:
    return word & ((1 << 105) - 1) | rng.getrandbits(20) << 105


def _remodified(word: int, arch: str, rng: random.Random) -> int:
    """Other values in some modifier fields of the word's form."""
    try:
        insn = decode(word, arch)
    except DecodeError:
        return _flipped(word, rng)
    sites = insn.form.parts(ARCHS[arch])[1]
    for site in rng.sample(sites, min(len(sites), rng.randint(1, 3))):
        word = word & ~site.bits.mask | site.bits.put(rng.getrandbits(site.bits.width))
    return word


def mutated(seeds: Sequence[int], arch: str, rng: random.Random) -> Iterator[int]:
    """Endless words near compiled ones: flipped bits, other fields, modifiers and scheduling."""
    while True:
        word = rng.choice(seeds)
        kind = rng.randrange(10)
        if kind < 4:
            yield _flipped(word, rng)
        elif kind < 7:
            yield _refilled(word, rng)
        elif kind < 9:
            yield _remodified(word, arch, rng)
        else:
            yield _rescheduled(word, rng)
