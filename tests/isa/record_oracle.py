"""Record what nvdisasm says, for the tests to compare with.

    GPUDBG_NVDISASM=... GPUDBG_CUOBJDUMP=... python -m tests.isa.record_oracle

Writes two files to tests/isa/data (gzip, one record a line, sorted):

    compiled.txt.gz  every distinct instruction of the cubins in tests/data:
                     arch pc word control-group TAB text
    sampled.txt.gz   random words per form and architecture, illegal ones too:
                     arch pc word control-group TAB text, `!` for refused, `?` for a text with a
                     reserved value
"""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterable
from pathlib import Path

from gpudbg.isa.spa5.forms import all_forms
from gpudbg.isa.spa5.spec import ARCHS
from tests.isa.nvdisasm import NEUTRAL_GROUP, RESERVED, address_of, cubin_words, disassemble
from tests.isa.sampling import legal_word, mutate

HERE = Path(__file__).resolve().parent
DATA = HERE / "data"
CUBINS = HERE.parent / "data"
PER_FORM = 3
MUTATIONS = 1200


def compiled() -> Iterable[str]:
    """Lines for the instructions of the cubins, one per distinct word, text and reuse bits."""
    seen: set[tuple[str, int, int, str]] = set()
    for path in sorted(CUBINS.glob("**/*.cubin")):
        if "illegal" in path.name:  # cuobjdump refuses the whole file
            continue
        for arch, pc, word, group, text in cubin_words(path):
            key = (arch, word, group >> 17, text)
            if key not in seen:
                seen.add(key)
                yield f"{arch} {pc:x} {word:016x} {group:06x}\t{text}"


def sampled() -> Iterable[str]:
    """Lines for random words: legal ones of every form, and mutations of them."""
    for arch in ARCHS:
        rng = random.Random(arch)
        words = []
        for form in all_forms():
            if arch in form.archs:
                words += [w for _ in range(PER_FORM) if (w := legal_word(form, rng)) is not None]
        words += [mutate(rng.choice(words), rng) for _ in range(MUTATIONS)]
        words += [rng.getrandbits(64) for _ in range(MUTATIONS // 6)]
        words = sorted(set(words))
        for index, text in enumerate(disassemble(words, arch)):
            answer = "!" if text is None else "?" if RESERVED.search(text) else text
            where = f"{arch} {address_of(index):x} {words[index]:016x} {NEUTRAL_GROUP:06x}"
            yield f"{where}\t{answer}"


def write(name: str, lines: Iterable[str]) -> None:
    """Write a recorded file, sorted, with a fixed time stamp so that it is reproducible."""
    text = "\n".join(sorted(lines)) + "\n"
    with gzip.GzipFile(DATA / name, "wb", mtime=0, compresslevel=9) as file:
        file.write(text.encode())
    print(f"{name}: {text.count(chr(10))} records")


if __name__ == "__main__":
    DATA.mkdir(exist_ok=True)
    write("compiled.txt.gz", compiled())
    write("sampled.txt.gz", sampled())
