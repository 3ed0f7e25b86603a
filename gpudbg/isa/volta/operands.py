"""Operands of 128-bit instructions as records, by slot, from the notation of the form tables.

Slots are named by what a field is for, in the order of the text:

    d d2       destination registers              p q        destination predicates
    a b c e    sources: registers, constants, immediates, whichever the form has there
    pa pb pc   source predicates                   addr addr2 memory addresses
    cbank      LDC's constant address              target     flow target
    offset     what a flow target adds to a register
    sr         special register                    sb         scoreboard
    imm imm2   further immediates: a truth table, a shift, a barrier's number
    name name2 bare words: B0, 2D, PR              desc       a descriptor in uniform registers
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from ..operands import (
    RZ,
    URZ,
    Address,
    CBankAddress,
    Const,
    Imm,
    Name,
    Operand,
    Pred,
    Reg,
    SReg,
    Target,
)
from .parts import WORD_BYTES, Core, Part, WideSign
from .spec import WideForm, site_part
from .sregs import special_name

Read = Callable[[int], Operand]
"""The operand of a word."""

_FLOAT = re.compile(r"(f32|f64h|f16|bf16|mufu)@(\d+)")
_BRACKETS = re.compile(r"\[([^\]]*)\]")
_MARKS = "!%#@"
_RESULTS = (81, 84, 66)
"""Lowest bits of the fields of predicates that are written."""
_SOURCES = ("a", "b", "c", "e", "f", "g", "h")
_GROUP_SLOTS = {"R64": "c", "R40": "e"}
"""Products of warp groups, whose A may not be in registers: accumulator and metadata."""
_TWO_RESULTS = frozenset("LD LDG TEX TLD TLD4 TXD TMML TXQ FOOTPRINT".split())
"""Their second half, or components from the third on, go to the register that is printed first."""
_TWO_HALVES = frozenset(("ST", "STG"))
_TESTS = ("pa", "pb", "pc", "pd")


class OperandSlot(NamedTuple):
    """An operand of a form: its name, and how it is read from a word."""

    name: str
    read: Read


def slots(form: WideForm, tables: str) -> tuple[OperandSlot, ...]:
    """The operands of a form in text order, for an architecture's tables."""
    namer = _Namer()
    out = []
    names = _fixed_names(form)
    for text in filter(None, form.operands.split(", ")):
        token, *attributes = text.split()
        name = names.get(token) or namer.name(token, attributes)
        out.append(OperandSlot(name, _operand(token, attributes, tables)))
    return tuple(out)


def _fixed_names(form: WideForm) -> dict[str, str]:
    """Slots that where a field stands does not tell."""
    tokens = [text.split()[0] for text in filter(None, form.operands.split(", "))]
    if "gdesc[" in form.operands:
        return _GROUP_SLOTS
    if form.op in _TWO_RESULTS and {"R64", "R16"} <= set(tokens):
        return {"R64": "d2"}
    if form.op in _TWO_HALVES and {"R32", "R16"} <= set(tokens):
        return {"R16": "b"}
    return {}


class _Namer:
    """Gives operands the names of their slots."""

    def __init__(self) -> None:
        self._used: dict[str, int] = {}

    def _next(self, names: tuple[str, ...]) -> str:
        number = self._used.get(names[0], 0)
        self._used[names[0]] = number + 1
        return names[number] if number < len(names) else f"{names[-1]}{number}"

    def name(self, token: str, attributes: list[str]) -> str:
        """The slot of the next operand."""
        if token[0] == "'" or token[0] == "N":
            return self._next(("name", "name2", "name3", "name4"))
        if "[" in token:
            head = token[: token.index("[")]
            if head in ("c", "cx") and _is_plain_constant(token):
                return self._next(_SOURCES)
            if head in ("c", "cx"):
                return self._next(("cbank", "cbank2"))
            if head == "desc" and token.count("[") == 1:
                return self._next(("desc", "desc2"))
            return self._next(("addr", "addr2", "addr3"))
        if _FLOAT.fullmatch(token):
            return self._next(_SOURCES)
        return self._plain(token, attributes)

    def _plain(self, token: str, attributes: list[str]) -> str:
        letter, low = _letter(token), _low(token)
        if letter in "RU":
            if low == 16 and "d" not in self._used:
                return self._next(("d",))
            return self._next(_SOURCES)
        if letter in "PQ":
            tested = any(a[0] == "!" for a in attributes)
            if low in _RESULTS and not tested:
                return self._next(("p", "q", "q2"))
            return self._next(_TESTS)
        if letter in "IS" and low == 32:
            return self._next(_SOURCES)
        if letter == "S" and low == 34:
            return "offset"
        return {"T": "target", "SR": "sr", "B": "sb"}.get(letter) or self._next(
            ("imm", "imm2", "imm3", "imm4")
        )


def _letter(token: str) -> str:
    return "SR" if token.startswith("SR") else token[0]


def _low(token: str) -> int:
    """The lowest bit of a token's field; -1 for one that the form fixes."""
    found = re.match(r"[A-Z]+(\d+)(?::(\d+))?", token)
    return -1 if found is None else int(found[2] or found[1])


def _is_plain_constant(token: str) -> bool:
    """Whether brackets hold a bank and an offset only."""
    return not re.search(r"\[[^\]]*\]\[[^\]]*[RU]\d", token)


# ---- reading ---------------------------------------------------------------------------
def _operand(token: str, attributes: list[str], tables: str) -> Read:
    if token[0] == "'":
        plain = Name(0, token[1:])
        return lambda word: plain
    if token[0] == "N":
        return _name(token)
    if found := _FLOAT.fullmatch(token):
        return _float(found[1], int(found[2]), attributes)
    if "[" in token:
        return _place(token, attributes, tables)
    core = Core(token, tables)
    value = core.value()
    match core.letter:
        case "R" | "U":
            return _register(core, attributes)
        case "P" | "Q":
            return _predicate(core, attributes)
        case "SR":
            return lambda word: SReg(value(word), special_name(value(word), tables))
        case "T":
            return lambda word: Target(value(word), True, after=WORD_BYTES)
        case _:
            return _immediate(core, attributes)


def _name(token: str) -> Read:
    where, _, values = token[1:].partition("=")
    part = site_part(f"{values}@{where}")
    return lambda word: _named(part.show(word, 0))


def _named(text: str) -> Name:
    number = re.search(r"\d+$", text)
    return Name(int(number[0]) if number else 0, text)


class _Signs:
    """What stands around an operand: signs, and the suffix that chooses a piece of it."""

    def __init__(self, attributes: list[str]) -> None:
        made = [WideSign.parse(a) for a in attributes if a[0] in "-|~!"]
        self._by = {sign.mark: sign for sign in made}
        self._suffix = [site_part(a[1:]) for a in attributes if a[0] == "+"]

    def on(self, mark: str, word: int) -> bool:
        """Whether a sign stands there."""
        sign = self._by.get(mark)
        return sign is not None and sign.on(word)

    def part(self, word: int) -> str:
        """The suffix without its dots; the marks of reuse are no piece."""
        text = "".join(part.show(word, 0) for part in self._suffix)
        return text.replace(".reuse", "").lstrip(".")


def _register(core: Core, attributes: list[str]) -> Read:
    value, signs, zero = core.value(), _Signs(attributes), core.zero
    file = "UR" if core.letter == "U" else "R"

    def read(word: int) -> Operand:
        number = value(word)
        return Reg(
            URZ if number == zero else number,
            signs.on("-", word),
            signs.on("|", word),
            signs.on("~", word),
            signs.part(word),
            file=file,
        )

    return read


def _predicate(core: Core, attributes: list[str]) -> Read:
    value, signs = core.value(), _Signs(attributes)
    file = "UP" if core.letter == "Q" else "P"
    return lambda word: Pred(value(word), signs.on("!", word), file)


def _immediate(core: Core, attributes: list[str]) -> Read:
    value, signs = core.value(), _Signs(attributes)

    def read(word: int) -> Operand:
        on = signs.on
        return Imm(value(word), on("-", word), on("|", word), on("~", word), signs.part(word))

    return read


def _float(kind: str, low: int, attributes: list[str]) -> Read:
    """A float immediate as its bits: those of the format, an f64's from its high word."""
    width = 16 if kind in ("f16", "bf16") else 32
    shift = 32 if kind == "f64h" else 0
    signs, ones = _Signs(attributes), (1 << width) - 1
    return lambda word: Imm(
        (word >> low & ones) << shift, signs.on("-", word), signs.on("|", word), signs.on("~", word)
    )


class _Member(NamedTuple):
    """What stands in brackets: a number, its field's zero, and its suffix."""

    core: Core
    value: Callable[[int], int]
    suffix: tuple[Part, ...]

    def part(self, word: int) -> str:
        """The suffix without its dot."""
        return (self.core.rest + "".join(p.show(word, 0) for p in self.suffix)).lstrip(".")


def _members(text: str, tables: str) -> list[_Member]:
    out = []
    for token in filter(None, text.split(",")):
        head, *sites = re.split(r"[<>]", token.rstrip(_MARKS))
        core = Core(head, tables)
        out.append(_Member(core, core.value(), tuple(site_part(s) for s in sites if s)))
    return out


def _place(token: str, attributes: list[str], tables: str) -> Read:
    """What stands in brackets."""
    head = token[: token.index("[")]
    groups = [_members(text, tables) for text in _BRACKETS.findall(token)]
    if head in ("c", "cx"):
        return _constant(head, groups, attributes)
    return _address(groups[-1], groups[0] if len(groups) > 1 else None)


def _file_register(member: _Member, word: int) -> Reg:
    number = member.value(word)
    index = URZ if number == member.core.zero else number
    file = "UR" if member.core.letter == "U" else "R"
    return Reg(index, part=member.part(word), file=file)


def _constant(head: str, groups: list[list[_Member]], attributes: list[str]) -> Read:
    (first,), rest = groups[0], groups[1]
    offset = next((m for m in rest if m.core.letter in "IS"), None)
    base = next((m for m in rest if m.core.letter in "RU"), None)
    signs = _Signs(attributes)

    def read(word: int) -> Operand:
        handle = _file_register(first, word) if head == "cx" else None
        bank = 0 if handle is not None else first.value(word)
        at = 0 if offset is None else offset.value(word)
        if base is not None:
            return CBankAddress(bank, _file_register(base, word), at)
        on = signs.on
        return Const(
            bank, at, on("-", word), on("|", word), on("~", word), signs.part(word), handle=handle
        )

    return read


def _address(members: list[_Member], descriptor: list[_Member] | None) -> Read:
    base = next((m for m in members if m.core.letter == "R"), None)
    index = next((m for m in members if m.core.letter == "U"), None)
    offset = next((m for m in members if m.core.letter in "IS"), None)
    none = Reg(RZ)

    def read(word: int) -> Operand:
        register = none if base is None else _file_register(base, word)
        return Address(
            register,
            0 if offset is None else offset.value(word),
            register.part == "64",
            None if index is None else _file_register(index, word),
            None if descriptor is None else _file_register(descriptor[0], word),
        )

    return read
