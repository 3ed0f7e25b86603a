"""Fuzz campaign of 128-bit words against nvdisasm: text, refusal, and the assembler's round trip.

    GPUDBG_NVDISASM=... GPUDBG_NVDISASM13=... \\
        python -m tests.isa.volta.fuzz_nvdisasm [--words N] [--seed S] [--arch sm_80 ...]
            [--sampler recorded ...] [--cubins FOLDER ...] [--forms volta-forms.json]

Words are drawn in several ways (`sampling`).  Every word is disassembled by both, and every text
must assemble to a word that reads the same.  Differences are listed, counted by mnemonic and by
sampler.  The exit status is 1 when more than one word in ten thousand differs.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from gpudbg.errors import DecodeError, GpudbgError
from gpudbg.isa.volta import ARCHS, assemble, decode
from gpudbg.isa.volta.rows import TABLE_ARCHS
from tests.isa.volta import sampling
from tests.isa.volta.nvdisasm import WORD_BYTES, disassemble
from tests.isa.volta.test_words import recorded

BATCH = 8_000
ALLOWED = 10_000
"""One word in so many may differ."""
SAMPLERS = ("recorded", "compiled", "rows", "fields", "pairs", "opcodes", "reference")
TESTS = Path(__file__).parents[2]


def squeezed(text: str | None) -> str | None:
    """A text with single blanks: some, nvdisasm sets by columns."""
    return None if text is None else re.sub(r"\s+", " ", text).strip()


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


def words_of(
    sampler: str, arch: str, rng: random.Random, options: argparse.Namespace
) -> Iterator[int]:
    """The words of a sampler by name."""
    match sampler:
        case "recorded":
            seeds = [r.word for r in recorded("words.txt") if ARCHS[r.arch] == ARCHS[arch]]
            return sampling.mutated(seeds, arch, rng)
        case "compiled":
            folders = tuple(options.cubins or [TESTS])
            own = ARCHS[arch]
            seeds = sampling.compiled_words(own, folders)
            seeds = seeds or sampling.compiled_words(sampling.NEAREST[own], folders)
            return sampling.mutated(seeds, arch, rng)
        case "reference":
            return sampling.of_reference(options.forms)(arch, rng)
        case _:
            return getattr(sampling, f"of_{sampler}")(arch, rng)  # type: ignore[no-any-return]


def campaign(
    arch: str, sampler: str, words: Iterator[int], options: argparse.Namespace
) -> tuple[Counter[str], int]:
    """Differences by mnemonic, and the words that both accept."""
    wrong: Counter[str] = Counter()
    legal = 0
    for start in range(0, options.words, BATCH):
        batch = list(islice(words, min(BATCH, options.words - start)))
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
                if sum(wrong.values()) <= options.show:
                    print(f"{arch} {sampler} {word:032x} {pc:x}: {problem}", flush=True)
    return wrong, legal


def main() -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", type=int, default=8_000, help="words per sampler and target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--arch", nargs="*", default=[f"sm_{arch}" for arch in TABLE_ARCHS])
    parser.add_argument("--sampler", nargs="*", default=SAMPLERS[:-1], choices=SAMPLERS)
    parser.add_argument("--cubins", nargs="*", type=Path, help="folders of compiled code")
    parser.add_argument("--forms", type=Path, help="table of forms for the sampler `reference`")
    parser.add_argument("--show", type=int, default=20, help="differences to list, each")
    options = parser.parse_args()
    total = number = 0
    for sampler in options.sampler:
        for arch in options.arch:
            rng = random.Random(f"{arch} {sampler} {options.seed}")
            words = words_of(sampler, arch, rng, options)
            wrong, legal = campaign(arch, sampler, words, options)
            number += options.words
            total += wrong.total()
            most = ", ".join(f"{name} {n}" for name, n in wrong.most_common(8))
            counts = f"{options.words} words, {legal} legal, {wrong.total()} differ"
            print(f"{sampler} {arch} seed {options.seed}: {counts}: {most}", flush=True)
    print(f"{total} of {number} words differ")
    return 1 if total * ALLOWED > number else 0


if __name__ == "__main__":
    sys.exit(main())
