"""The construct view of 128-bit words, built from the same table rows as their text.

`schema(form, tables)` is a construct `BitStruct` over a word's sixteen bytes; every bit range of
the form is one named member.  It explains a word and checks the masks; nothing that executes uses
it.  Fields of operands have their slot's name (`operands`), signs and suffixes one behind it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

from construct import BitsInteger, BitStruct, ByteSwapped, Construct, Padding

from ...bits import Field
from ..bitsets import Bits
from ..control import CONTROL_LOW, NO_YIELD, READ_BARRIER, REUSE, STALL, WAIT_MASK, WRITE_BARRIER
from .insn import WideControl, WideInstruction
from .operands import slots
from .parts import Core, Member, WideSign, WideSite
from .spec import WideForm, site_part, value_lists
from .spec import site as table_site

WORD_BITS = 128
_CONTROL = {
    "stall": STALL,
    "no_yield": NO_YIELD,
    "write_barrier": WRITE_BARRIER,
    "read_barrier": READ_BARRIER,
    "wait": WAIT_MASK,
    "reuse": REUSE,
}
_GUARD = {"guard": Bits.parse("14:12"), "guard_not": Bits.parse("15")}
_BRACKETS = re.compile(r"\[([^\]]*)\]")
_FLOAT = re.compile(r"\w+@(\d+)")
_FLOAT_WIDTHS = {"f16": 16, "bf16": 16}
_SIGNS = {"-": "negate", "|": "absolute", "~": "complement", "!": "not"}


class NamedField(NamedTuple):
    """A field of a form; `kind` is opcode, scheduling, guard, modifier, operand or ignored."""

    name: str
    bits: Bits
    kind: str
    site: WideSite | None = None
    operand: int = -1


class WordRange(NamedTuple):
    """A contiguous bit range of a form, and the field that it is of.

    Attributes:
        key: its member in the construct view: the field's name, with the lowest bit behind it
            where several ranges have the name.
    """

    key: str
    field: Field
    of: NamedField


class ExplainedField(NamedTuple):
    """One row of `explain`: bits, their value, and what they mean."""

    name: str
    bits: str
    value: int
    meaning: str
    kind: str


@cache
def named_fields(form: WideForm, tables: str) -> tuple[NamedField, ...]:
    """Every field of a form for an architecture's tables; of shared bits the first one counts."""
    fixed = (Field(bit, bit) for bit in reversed(range(WORD_BITS)) if form.mask >> bit & 1)
    out = [NamedField("opcode", Bits(tuple(fixed)), "opcode")]
    for name, place in _CONTROL.items():
        bits = Bits((Field(place.hi + CONTROL_LOW, place.lo + CONTROL_LOW),))
        out.append(NamedField(name, bits, "scheduling"))
    out += [NamedField(name, bits, "guard") for name, bits in _GUARD.items()]
    for token in form.modifiers.split():
        made = table_site(token)
        if isinstance(made, WideSite):
            out.append(NamedField("modifier", made.bits, "modifier", made))
    texts = filter(None, form.operands.split(", "))
    for number, (slot, text) in enumerate(zip(slots(form, tables), texts, strict=True)):
        token, *attributes = text.split()
        out += [
            NamedField(name, bits, "operand", site, number)
            for name, bits, site in (
                *_core(slot.name, token, tables),
                *_attributes(slot.name, attributes),
            )
        ]
    return tuple(out)


_Found = Iterator[tuple[str, Bits, WideSite | None]]


def _core(slot: str, token: str, tables: str) -> _Found:
    """The fields of an operand without its attributes."""
    if token[0] == "'":
        return
    if found := _FLOAT.fullmatch(token):
        low = int(found[1])
        width = _FLOAT_WIDTHS.get(token.partition("@")[0], 32)
        yield slot, Bits((Field(low + width - 1, low),)), None
    elif token[0] == "N":
        where, _, name = token[1:].partition("=")
        bits = Bits.parse(where)
        yield slot, bits, WideSite(bits, value_lists()[name])
    elif "[" in token:
        for group in _BRACKETS.findall(token):
            for member in filter(None, group.split(",")):
                yield from _member(slot, member, tables)
    else:
        yield slot, Core(token, tables).bits, None


_MEMBERS = {"R": "register", "U": "uniform", "I": "number", "S": "offset"}


def _member(slot: str, token: str, tables: str) -> _Found:
    core = Member(token, tables, site_part).core
    yield f"{slot}_{_MEMBERS.get(core.letter, 'number')}", core.bits, None
    for suffix in re.split(r"[<>]", token)[1:]:
        made = table_site(suffix) if "@" in suffix else ""
        if isinstance(made, WideSite):
            yield f"{slot}_suffix", made.bits, made


def _attributes(slot: str, attributes: list[str]) -> _Found:
    for text in attributes:
        if text[0] in _SIGNS and text[1:2] != "":
            bit = WideSign.parse(text).bit
            if bit >= 0:
                yield f"{slot}_{_SIGNS[text[0]]}", Bits((Field(bit, bit),)), None
        elif text[0] == "+":
            made = table_site(text[1:])
            if isinstance(made, WideSite):
                yield f"{slot}_suffix", made.bits, made


@cache
def parts(form: WideForm, tables: str) -> tuple[WordRange, ...]:
    """The word cut into contiguous named ranges, highest bits first, every bit exactly once."""
    ignored = NamedField("ignored", Bits(()), "ignored")
    owner = [ignored] * WORD_BITS
    for field in reversed(named_fields(form, tables)):
        for bit in field.bits.positions():
            owner[bit] = field
    ranges: list[tuple[Field, NamedField]] = []
    high = WORD_BITS - 1
    for bit in range(WORD_BITS - 2, -2, -1):
        if bit < 0 or owner[bit] is not owner[high]:
            ranges.append((Field(high, bit + 1), owner[high]))
            high = bit
    names = [of.name for _, of in ranges]
    return tuple(
        WordRange(of.name if names.count(of.name) == 1 else f"{of.name}_{place.lo}", place, of)
        for place, of in ranges
    )


@cache
def schema(form: WideForm, tables: str) -> Construct[Any, Any]:
    """`ByteSwapped(BitStruct(...))` of a form: parses a word's bytes as they lie in a file."""
    return ByteSwapped(
        BitStruct(
            *(
                Padding(part.field.width)
                if part.of.kind == "ignored"
                else part.key / BitsInteger(part.field.width)
                for part in parts(form, tables)
            )
        )
    )


def parse_word(insn: WideInstruction) -> dict[str, int]:
    """The members of a word's construct view by name."""
    parsed = schema(insn.form, insn.tables).parse(insn.word.to_bytes(WORD_BITS // 8, "little"))
    return {key: int(value) for key, value in parsed.items() if not key.startswith("_")}


def explain(insn: WideInstruction, pc: int = 0) -> tuple[ExplainedField, ...]:
    """A word field by field, from high to low bits."""
    values = parse_word(insn)
    made, _ = insn.form.parts(insn.tables)
    texts = [part.show(insn.word, pc) for part in made]
    rows = []
    for key, place, of in parts(insn.form, insn.tables):
        where = f"{place.hi}:{place.lo}" if place.width > 1 else str(place.lo)
        value = values.get(key, place.get(insn.word))
        name = of.name if of.kind == "ignored" else key
        rows.append(ExplainedField(name, where, value, _meaning(insn, of, texts), of.kind))
    return tuple(rows)


def _meaning(insn: WideInstruction, of: NamedField, texts: list[str]) -> str:
    """What a field says, in words."""
    if of.kind in _KINDS:
        return _KINDS[of.kind](insn, of)
    said = _choice(of.site, insn.word) if of.site is not None else ""
    if of.kind == "modifier":
        return said
    whole = f"operand {of.operand + 1}: {texts[of.operand]}"
    return f"{said} of {whole}" if said and of.name.endswith("_suffix") else whole


def _choice(site: WideSite, word: int) -> str:
    return site.texts[site.bits.get(word)] or "prints nothing"


def _guard(insn: WideInstruction, of: NamedField) -> str:
    index, negated = insn.guard
    file = "UP" if insn.uniform_guard else "P"
    return f"@{'!' if negated else ''}{file}{'T' if index == 7 else index}"


def _scheduling(insn: WideInstruction, of: NamedField) -> str:
    control = insn.control
    match of.name:
        case "stall":
            return f"stall {control.stall}"
        case "no_yield":
            return "yield" if control.yield_ else "no yield"
        case "wait":
            return "waits for " + (" ".join(f"SB{n}" for n in control.waits) or "nothing")
        case "reuse":
            return _reuse(control)
    number = control.write_barrier if of.name == "write_barrier" else control.read_barrier
    when = "written" if of.name == "write_barrier" else "read"
    return "sets nothing" if number is None else f"sets SB{number} when {when}"


def _reuse(control: WideControl) -> str:
    if control.yield_:
        return f"batch code {control.reuse}"
    kept = [str(n) for n in range(control.REUSE_SLOTS) if control.reuse >> n & 1]
    return f"keeps source {' and '.join(kept)} for the next one" if kept else "keeps no source"


_KINDS: dict[str, Callable[[WideInstruction, NamedField], str]] = {
    "opcode": lambda insn, of: insn.op,
    "ignored": lambda insn, of: "ignored",
    "guard": _guard,
    "scheduling": _scheduling,
}
