"""Fuzz campaign of 128-bit words against nvdisasm: text, refusal, and the assembler's round trip.

    GPUDBG_NVDISASM=... GPUDBG_NVDISASM13=... \\
        python -m tests.isa.volta.fuzz_nvdisasm [--words N] [--seed S] [--arch sm_80 ...]

Every word is disassembled by both, and every text must assemble to a word that reads the same.
Differences are listed and counted by mnemonic.  The exit status is 1 when more than one word in a
thousand differs.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from itertools import islice

from gpudbg.errors import DecodeError, GpudbgError
from gpudbg.isa.volta import assemble, decode
from gpudbg.isa.volta.spec import TABLE_ARCHS
from tests.isa.volta.nvdisasm import WORD_BYTES, disassemble
from tests.isa.volta.sampling import mutated
from tests.isa.volta.test_words import recorded

BATCH = 8_000
ALLOWED = 1000
"""One word in so many may differ."""


def squeezed(text: str | None) -> str | None:
    """A text without blanks, which nvdisasm sets by columns."""
    return None if text is None else re.sub(r"\s+", "", text)


def read(word: int, pc: int, arch: str) -> str | None:
    """Our text, None for a refused word."""
    try:
        return decode(word, arch).text(pc)
    except DecodeError:
        return None


def round_trip(text: str, word: int, pc: int, arch: str) -> str | None:
    """What is wrong with assembling a text, None when it comes back."""
    try:
        made = assemble(text, pc, arch, decode(word, arch).control)
    except GpudbgError as error:
        return str(error)
    again = decode(made, arch).text(pc)
    return None if again == text else f"comes back as {again!r}"


def campaign(arch: str, count: int, seed: int, show: int) -> tuple[Counter[str], int]:
    """Differences by mnemonic, and the words that both accept."""
    seeds = [row.word for row in recorded("words.txt") if row.arch == arch]
    words = mutated(seeds, arch, random.Random(f"{arch} {seed}"))
    wrong: Counter[str] = Counter()
    legal = 0
    for start in range(0, count, BATCH):
        batch = list(islice(words, min(BATCH, count - start)))
        for n, (word, want) in enumerate(zip(batch, disassemble(batch, arch), strict=True)):
            pc = n * WORD_BYTES
            got = read(word, pc, arch)
            problem = None
            if squeezed(got) != squeezed(want):
                problem = f"nvdisasm {want!r}, gpudbg {got!r}"
            elif got is not None:
                legal += 1
                problem = round_trip(got, word, pc, arch)
            if problem:
                name = re.sub(r"^@!?U?P\w+ ", "", got or want or "?")
                wrong[re.split(r"[ .]", name)[0]] += 1
                if sum(wrong.values()) <= show:
                    print(f"{arch} {word:032x}: {problem}", flush=True)
    return wrong, legal


def main() -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", type=int, default=25_000, help="words per architecture")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--arch", nargs="*", default=[f"sm_{arch}" for arch in TABLE_ARCHS])
    parser.add_argument("--show", type=int, default=20, help="differences to list, each")
    options = parser.parse_args()
    total = 0
    for arch in options.arch:
        wrong, legal = campaign(arch, options.words, options.seed, options.show)
        number = sum(wrong.values())
        total += number
        most = ", ".join(f"{name} {n}" for name, n in wrong.most_common(8))
        print(f"{arch}: {options.words} words, {legal} legal, {number} differ: {most}", flush=True)
    return 1 if total * ALLOWED > options.words * len(options.arch) else 0


if __name__ == "__main__":
    sys.exit(main())
