"""Fuzz campaign against nvdisasm: decode, text, rejection and the assembler's round trip.

    GPUDBG_NVDISASM=... python tests/isa/fuzz_nvdisasm.py [--words N] [--seed S] [--arch sm_50 ...]

Every word is disassembled by both; accepted, refused and reserved-value words must agree, and
`assemble(text)` must give the word back (ignored bits aside).  Differences that `quirks.py`
explains are counted, others are listed; the exit status is 1 when there are any.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from gpudbg.errors import AssembleError, DecodeError
from gpudbg.isa.spa5 import assemble, decode
from gpudbg.isa.spa5.assemble import canonical
from tests.isa.nvdisasm import NEUTRAL_GROUP, RESERVED, address_of, disassemble
from tests.isa.quirks import ROUND_TRIP, TEXT, explained
from tests.isa.recorded import compiled
from tests.isa.sampling import campaign

ARCHS = ("sm_50", "sm_53", "sm_60", "sm_61")
BATCH = 15_000
GROUPS = (NEUTRAL_GROUP, NEUTRAL_GROUP | 1 << 17, NEUTRAL_GROUP | 6 << 17)
"""Control groups used in turn: no reuse, first operand, second and third."""


def ours(word: int, pc: int, arch: str, group: int) -> str | None:
    """Our text, None for an illegal word."""
    try:
        return decode(word, arch).text(pc, group).rstrip()
    except DecodeError:
        return None


def round_trip(word: int, pc: int, arch: str) -> str | None:
    """What is wrong with assembling the word's text, None when it comes back."""
    text = decode(word, arch).text(pc)
    try:
        again = assemble(text, pc, arch)
    except AssembleError as error:
        return str(error)
    return None if again == canonical(word, arch) else f"assembles to {again:#018x}"


class Campaign:
    """Counts and the differences that nothing explains."""

    def __init__(self, show: int) -> None:
        self.counts: Counter[str] = Counter()
        self.unexplained = 0
        self.show = show

    def report(self, what: str, arch: str, word: int, detail: str) -> None:
        """Count a difference that no quirk explains, and print the first ones."""
        self.unexplained += 1
        if self.unexplained <= self.show:
            print(f"{what} {arch} {word:016x}: {detail}", flush=True)

    def check(self, arch: str, words: list[int], group: int) -> None:
        """Compare one batch."""
        answers = disassemble(words, arch, group)
        for index, (word, text) in enumerate(zip(words, answers, strict=True)):
            pc = address_of(index)
            want = None if text is None or RESERVED.search(text) else text
            got = ours(word, pc, arch, group)
            self.counts["legal" if want is not None else "illegal"] += 1
            if got != want:
                quirk = explained(TEXT, text or got or "", word)
                self.counts[f"text quirk {quirk.name}" if quirk else "text differs"] += 1
                if not quirk:
                    self.report("TEXT", arch, word, f"nvdisasm {text!r}, gpudbg {got!r}")
            elif got is not None and (problem := round_trip(word, pc, arch)):
                quirk = explained(ROUND_TRIP, got)
                self.counts[f"round trip quirk {quirk.name}" if quirk else "word differs"] += 1
                if not quirk:
                    self.report("WORD", arch, word, f"{got!r}: {problem}")


def run(archs: Iterable[str], count: int, seed: int, show: int) -> Campaign:
    """The campaign over several architectures, `count` words each."""
    result = Campaign(show)
    for arch in archs:
        seeds = sorted({r.word for r in compiled()})
        words = campaign(arch, count, seeds, seed)
        number = 0
        while batch := list(islice(words, BATCH)):
            # Reuse marks are refused by some instructions, so the neutral group comes most.
            group = GROUPS[0] if number % 4 else GROUPS[1 + number // 4 % 2]
            result.check(arch, batch, group)
            number += 1
    return result


def main() -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", type=int, default=250_000, help="words per architecture")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--arch", nargs="*", default=ARCHS)
    parser.add_argument("--show", type=int, default=40, help="differences to list")
    options = parser.parse_args()
    start = time.monotonic()
    result = run(options.arch, options.words, options.seed, options.show)
    total = result.counts["legal"] + result.counts["illegal"]
    print(f"{total} words in {time.monotonic() - start:.0f} s, seed {options.seed}")
    for name, number in result.counts.most_common():
        print(f"  {number:9d}  {name}")
    print(f"  {result.unexplained:9d}  unexplained")
    return 1 if result.unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
