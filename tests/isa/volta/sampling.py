"""Words for campaigns against nvdisasm, drawn in several ways.

Every sampler is an endless iterator of words for one architecture:

recorded   mutations of the recorded words, which are the odd ones
compiled   mutations of words that compilers emitted
rows       a form of our tables, each as likely as any other, every other bit random
reference  the same with the forms of a table that others measured (`volta-forms.json`): it may
           hold forms that ours lack
fields     every value of every modifier field of every form in turn, the rest random
pairs      two fields of a form at once, near their limits: registers that are none, zero, ones
opcodes    each of the 4,096 opcodes as likely as any other, with backgrounds of all kinds
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

from gpudbg.errors import DecodeError
from gpudbg.formats.cubin import architecture
from gpudbg.formats.elf import read_elf
from gpudbg.isa.bitsets import Bits
from gpudbg.isa.volta import ARCHS, decode
from gpudbg.isa.volta.decode import candidates_of
from gpudbg.isa.volta.parts import WideSite
from gpudbg.isa.volta.spec import WideForm
from tests.isa.volta.nvdisasm import WORD_BYTES

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
NEAREST = {"72": "70", "89": "86", "103": "100", "110": "100"}
"""For tables without compiled code or measured forms of their own: the nearest that have."""
CONTROL_LOW = 105
_QUIET = 0x7E1 << CONTROL_LOW
"""Scheduling bits that every form accepts."""
_ORDINARY = (1 << CONTROL_LOW) - 1
_PM_NOTE = 3 << 102
"""Bits that older tools print a note for, outside the text."""


def _flipped(word: int, rng: random.Random) -> int:
    for _ in range(rng.randint(1, _MOST_FLIPS)):
        word ^= 1 << rng.randrange(CONTROL_LOW)
    return word


def _refilled(word: int, rng: random.Random) -> int:
    low, width = rng.choice(_FIELDS)
    ones = (1 << width) - 1
    value = rng.choice((0, ones, rng.getrandbits(width)))
    return word & ~(ones << low) | value << low


def _rescheduled(word: int, rng: random.Random) -> int:
    return word & _ORDINARY | rng.getrandbits(20) << CONTROL_LOW


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


@cache
def compiled_words(tables: str, folders: tuple[Path, ...]) -> list[int]:
    """The distinct words of all cubins for some tables below folders."""
    found: set[int] = set()
    for folder in folders:
        for path in sorted(folder.rglob("*.cubin")):
            data = path.read_bytes()
            if ARCHS.get(architecture(data, str(path))) != tables:
                continue
            for section in read_elf(data, str(path)).sections:
                if section.name.startswith(".text."):
                    code = section.data
                    found |= {
                        int.from_bytes(code[at : at + WORD_BYTES], "little")
                        for at in range(0, len(code) - WORD_BYTES + 1, WORD_BYTES)
                    }
    return sorted(found)


# ---- forms -----------------------------------------------------------------------------
def _scheduling(form: WideForm, rng: random.Random) -> int:
    """Scheduling bits: mostly those the form accepts."""
    kind = rng.randrange(10)
    if kind == 0:
        return rng.getrandbits(23) << CONTROL_LOW
    if kind < 5:
        return _QUIET
    pair = rng.choice(sorted(form.controls))
    code, reuse = pair & 31, pair >> 5
    mask, value = form.barriers
    barriers = rng.getrandbits(12) << 110
    barriers = barriers & ~mask | value & ~(0x3F << 116)
    return code << CONTROL_LOW | reuse << 122 | barriers


def _filled(form: WideForm, tables: str, rng: random.Random) -> int:
    """A word of a form with random bits; values that are refused are rare."""
    word = rng.getrandbits(CONTROL_LOW)
    if rng.randrange(2):
        word &= ~_PM_NOTE
    for low, width in ((16, 8), (24, 8), (32, 8), (64, 8), (81, 3), (84, 3), (87, 3)):
        if not rng.randrange(4):
            word |= ((1 << width) - 1) << low
        elif not rng.randrange(8):
            word &= ~(((1 << width) - 1) << low)
    for site in form.parts(tables)[1]:
        if rng.randrange(8):
            word = word & ~site.bits.mask | site.bits.put(_accepted(site, rng))
    return word & ~form.mask | form.value | _scheduling(form, rng)


def _accepted(site: WideSite, rng: random.Random) -> int:
    count = 1 << site.bits.width
    good = [v for v, text in enumerate(site.texts[:count]) if text is not None]
    return rng.choice(good) if good else rng.getrandbits(site.bits.width)


def of_rows(arch: str, rng: random.Random) -> Iterator[int]:
    """Forms of our own tables."""
    tables = ARCHS[arch]
    forms = candidates_of(tables)
    while True:
        yield _filled(rng.choice(forms), tables, rng)


def of_fields(arch: str, rng: random.Random) -> Iterator[int]:
    """Every value of every modifier field, forms in random order, again and again."""
    tables = ARCHS[arch]
    while True:
        forms = list(candidates_of(tables))
        rng.shuffle(forms)
        for form in forms:
            for site in form.parts(tables)[1]:
                for value in range(1 << site.bits.width):
                    word = _filled(form, tables, rng) & ~site.bits.mask | site.bits.put(value)
                    yield word & ~form.mask | form.value


def of_pairs(arch: str, rng: random.Random) -> Iterator[int]:
    """Two operand or modifier fields of a form at their limits, the rest random."""
    tables = ARCHS[arch]
    forms = candidates_of(tables)
    while True:
        form = rng.choice(forms)
        parts, sites = form.parts(tables)
        masks = [part.mask for part in parts if part.mask] + [site.bits.mask for site in sites]
        word = _filled(form, tables, rng)
        for mask in rng.sample(masks, min(2, len(masks))):
            word = word & ~mask | rng.choice((0, mask, mask & -mask))
        yield word & ~form.mask | form.value


@cache
def _reference(path: Path, tables: str) -> list[dict[str, object]]:
    data = json.loads(path.read_text(encoding="utf-8"))
    rows = [row for row in data["forms"] if "mask" in row]
    found = [row for row in rows if tables in row["archs"]]
    return found or [row for row in rows if NEAREST[tables] in row["archs"]]


def of_reference(path: Path) -> Callable[[str, random.Random], Iterator[int]]:
    """Forms of a table in the format of `volta-forms.json`."""

    def sample(arch: str, rng: random.Random) -> Iterator[int]:
        rows = _reference(path, ARCHS[arch])
        while True:
            row = rng.choice(rows)
            mask, value = int(str(row["mask"]), 16), int(str(row["value"]), 16)
            word = rng.getrandbits(CONTROL_LOW) & ~mask | value
            yield word | (_QUIET if rng.randrange(8) else rng.getrandbits(23) << CONTROL_LOW)

    return sample


_BACKGROUNDS = (
    Bits.parse("31:24"),
    Bits.parse("39:32"),
    Bits.parse("63:40"),
    Bits.parse("71:64"),
    Bits.parse("80:72"),
    Bits.parse("90:81"),
)


def of_opcodes(arch: str, rng: random.Random) -> Iterator[int]:
    """Any opcode on backgrounds whose fields are zero, ones or random."""
    del arch
    while True:
        word = rng.getrandbits(CONTROL_LOW)
        for field in _BACKGROUNDS:
            kind = rng.randrange(3)
            word = word & ~field.mask | (
                field.mask & word if kind == 0 else field.mask * (kind - 1)
            )
        yield word & ~0xFFF | rng.randrange(1, 1 << 12) | _QUIET
