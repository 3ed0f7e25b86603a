"""The construct view of instruction words, built from the same table lines.

`schema(form)` is a construct `BitStruct` over the eight big-endian bytes of a word (a little-endian
word goes through `ByteSwapped`); every bit range of the form is one named member.  It explains a
word and checks the masks; nothing on the execution path uses it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from construct import BitsInteger, BitStruct, ByteSwapped, Construct, Padding

from gpudbg.dataclass import dataclass

from ...bits import Field
from ..bitsets import Bits
from ..operands import Access
from .decode import decode, find_form
from .insn import Instruction
from .spec import GUARD, GUARD_NOT, Form


@dataclass(frozen=True, slots=True)
class BitRange:
    """A named contiguous bit range of a form; `kind` is opcode, guard, operand or modifier."""

    name: str
    field: Field
    kind: str


@dataclass(frozen=True, slots=True)
class Explained:
    """One row of `explain`: bits, their value, and what they mean."""

    name: str
    bits: str
    value: int
    meaning: str
    kind: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything `explain` knows about a word."""

    insn: Instruction
    text: str
    rows: tuple[Explained, ...]
    ignored: int
    reads: Access
    writes: Access


def named_fields(form: Form) -> Iterator[tuple[str, Bits, str]]:
    """(name, bits, kind) of every field of a form; fields may share bits."""
    if form.guarded:
        yield "guard", GUARD, "guard"
        yield "guard_not", GUARD_NOT, "guard"
    for site in form.all_sites:
        if site.bits.width:
            yield "_".join(site.names), site.bits, "modifier"
    for spec in form.operands:
        if spec.kind is None:
            continue
        for suffix, bits in spec.kind.fields():
            if bits.width:
                yield f"{spec.slot}_{suffix}" if suffix else spec.slot, bits, "operand"
        for sign in spec.signs:
            yield f"{spec.slot}_{sign.name}", sign.bits, "operand"
        if spec.part:
            yield f"{spec.slot}_part", spec.part.bits, "operand"


@cache
def parts(form: Form) -> tuple[BitRange, ...]:
    """The word cut into contiguous named ranges, highest bits first, every bit exactly once.

    Bits that several fields share belong to the first; bits of no field are `opcode` where they
    take part in the match and `ignored` otherwise.
    """
    owner: dict[int, tuple[str, str]] = {}
    for name, bits, kind in named_fields(form):
        for bit in bits.positions():
            owner.setdefault(bit, (name, kind))
    for bit in range(64):
        default = ("opcode", "opcode") if form.mask >> bit & 1 else ("ignored", "ignored")
        owner.setdefault(bit, default)
    out: list[BitRange] = []
    high = 63
    for bit in range(62, -2, -1):
        if bit < 0 or owner[bit] != owner[high]:
            name, kind = owner[high]
            out.append(BitRange(name, Field(high, bit + 1), kind))
            high = bit
    return tuple(out)


@cache
def schema(form: Form) -> Construct[Any, Any]:
    """`ByteSwapped(BitStruct(...))` of a form: parses the 8 bytes of a word as they lie in a file.

    A name that occurs in several ranges gets its low bit appended (`imm_20`).
    """
    names = [p.name for p in parts(form)]
    members = []
    for part in parts(form):
        width = part.field.width
        if part.kind == "ignored":
            members.append(Padding(width))
            continue
        name = part.name if names.count(part.name) == 1 else f"{part.name}_{part.field.lo}"
        members.append(name / BitsInteger(width))
    return ByteSwapped(BitStruct(*members))


def parse_word(word: int, arch: str = "sm_50") -> dict[str, int]:
    """The members of a word's construct view by name.

    Raises:
        DecodeError: no form matches the word.
    """
    form = find_form(word, arch)
    parsed = schema(form).parse(word.to_bytes(8, "little"))
    return {k: int(v) for k, v in parsed.items() if not k.startswith("_")}


def explain(word: int, arch: str = "sm_50", pc: int = 8) -> Explanation:
    """A word field by field, from high to low bits.

    Raises:
        DecodeError: an illegal word.
    """
    insn = decode(word, arch)
    form = insn.form
    if insn.word != word:
        whole = Explained("word", "63:0", word, f"reads as {insn.op} and has no fields", "opcode")
        return Explanation(insn, insn.text(pc), (whole,), 0, insn.reads(), insn.writes())
    values = parse_word(insn.word, arch)
    names = [p.name for p in parts(form)]
    rows = []
    for part in parts(form):
        key = part.name if names.count(part.name) == 1 else f"{part.name}_{part.field.lo}"
        where = str(part.field.lo)
        if part.field.width > 1:
            where = f"{part.field.hi}:{part.field.lo}"
        value = values.get(key, part.field.get(insn.word))
        rows.append(Explained(part.name, where, value, _meaning(insn, part, pc), part.kind))
    return Explanation(
        insn, insn.text(pc), tuple(rows), ~form.used & (1 << 64) - 1, insn.reads(), insn.writes()
    )


def _meaning(insn: Instruction, part: BitRange, pc: int) -> str:
    """What a range says, in words."""
    form, word = insn.form, insn.word
    if part.kind == "opcode":
        return form.op
    if part.kind == "ignored":
        return "ignored"
    if part.kind == "guard":
        index, negated = insn.guard
        return f"@{'!' if negated else ''}P{'T' if index == 7 else index}"
    for site in form.all_sites:
        if "_".join(site.names) == part.name and part.kind == "modifier":
            shown = site.table.text(site.bits.get(word))
            said = " ".join(f"{n}={insn.m[n]}" for n in site.names if n in insn.m)
            return f"{shown or 'prints nothing'} ({said})"
    slot = part.name.split("_")[0]
    for spec in form.operands:
        if spec.kind is not None and spec.slot == slot:
            return f"operand {slot}: {spec.show(word, pc, 0)}"
    return ""
