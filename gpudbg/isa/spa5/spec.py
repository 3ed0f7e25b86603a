"""The grammar of the form tables, and the compiled `Form`.

A line is `NAME match[ variants] | modifiers | operands [| options]`:

    IADD 5c10:fff8 rci | .po@48&49 .sat@50 .x@43 | d .cc@47, a -49^48, b:s20 -48^49

match       top 16 bits as value:mask in hex; further bits as `,HI:LO=value`.
variants    r c i k: the register form itself; b a constant (4...); b an immediate (3...); c a
            constant and b in 46..39 (5...).  Their values follow from the register form's.
modifiers   `.name@bits` with the table or flag called name, `.name@bits=TABLE` with another one,
            `.LUT` a fixed text, `.hint!` the texture hint of the control word.  `.atype+btype@...`
            splits the meaning at the dots over the names.  `@48&49`: a flag that is set when
            both bits are.
operands    `slot[:kind][@bits]` and attributes, separated by blanks; `'CC` is fixed text.  Kind
            and bits have defaults by slot (`_SLOT_DEFAULTS`); kinds are listed in `_MAKERS`.
      -48 |46 ~40 !42  bit that negates, takes the absolute value, complements, inverts (predicate)
      -49^48           negates when bit 49 is set and 48 clear
      .cc@47 .part@28=H1   suffix modifier; the part of the operand used
      ? ?N             left out of the text when the field is all ones, or N
      #N #name         consecutive registers: a number, or a rule of `counts.py`, or a modifier
      ^                an immediate's sign prints before it instead of .NEG
      ~                a predicate number stored inverted
      xN               the field (an address: its base) must not hold N
      %N               reuse bit N marks this register (default a 0, b 1, c 2)
      =name            the field's value is also a modifier called name
options     `noguard`; `var`: variable latency; `noreuse`, `noreuse=50-53`: reuse bits do not
            show; `arch=53+`, `arch=50`;
            `set=HEX`: bits set in assembled words that decoding ignores; `means=hi,mode:SYNC`:
            modifiers implied by the form; `reads=CC`, `writes=PR`, `writes=file`; `glued`: no
            blank after the mnemonic.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, replace
from functools import cached_property
from typing import Any, NamedTuple

from gpudbg.dataclass import dataclass

from ...architectures import NARROW
from ..bitsets import Bits
from ..operands import Operand
from . import kinds, places
from .counts import register_count
from .sregs import SREG_SETS
from .tables import FLAG_TEXT, LOW_FLAG_TEXT, TABLES, ValueTable, flag

ARCHS = NARROW
GUARD = Bits.parse("18:16")
GUARD_NOT = Bits.parse("19")
GUARD_MASK = GUARD.mask | GUARD_NOT.mask

_SLOT_DEFAULTS = {
    "d": ("R", "7:0"), "d2": ("R", "35:28"), "a": ("R", "15:8"), "b": ("R", "27:20"),
    "c": ("R", "46:39"), "p": ("P", "5:3"), "q": ("P", "2:0"), "pc": ("P", "41:39"),
    "pa": ("P", "14:12"), "pb": ("P", "31:29"),
}  # fmt: skip
_KIND_BITS = {
    "s20": "56+38:20", "f20": "56+38:20", "d20": "56+38:20", "h20": "35:20",
    "x20": "56+38:20", "w20": "56+38:20",
    "s32": "51:20", "f32": "51:20", "rel": "43:20", "abs": "51:20", "C": "38:20", "cb": "40:20",
}  # fmt: skip
_TEXTS_LIMIT = 1 << 14
"""Most texts of one operand that are kept."""
FLAGS = frozenset(FLAG_TEXT) | frozenset(LOW_FLAG_TEXT) | {"right"}
_CLEAR = ("", "0", "?", False)
REUSE_BITS = {"a": 0, "b": 1, "c": 2}
_SIGNS = {"-": "neg", "|": "abs", "~": "inv"}
_SUFFIX_SIGNS = {"neg": ".NEG", "abs": ".ABS", "inv": ".INV"}


class FormError(ValueError):
    """A line of a form table that cannot be read."""


@dataclass(frozen=True, slots=True)
class Site:
    """A modifier field: where it is, what its values print and mean."""

    names: tuple[str, ...]
    bits: Bits
    table: ValueTable

    def meanings(self, value: int) -> Iterator[tuple[str, str | bool]]:
        """(modifier name, value) pairs for a field value."""
        meaning = self.table.values[value] if value < len(self.table.values) else "?"
        if len(self.names) == 1:
            yield self.names[0], meaning
        else:
            yield from zip(self.names, str(meaning).split("."), strict=False)


@dataclass(frozen=True, slots=True)
class Sign:
    """A neg/abs/inv bit; with `clear`, it acts only while that bit is clear."""

    name: str
    bits: Bits
    on: int

    def get(self, word: int) -> bool:
        """True when the sign applies."""
        return self.bits.get(word) == self.on


@dataclass(slots=True)
class OperandSpec:
    """One operand: its slot, its core kind, and the signs and suffixes around it."""

    slot: str
    kind: kinds.Kind | None
    text: str = ""
    signs: list[Sign] = field(default_factory=list)
    part: Site | None = None
    suffixes: list[Site] = field(default_factory=list)
    omit: int | None = None
    count: str = "1"
    export: str = ""
    prefixed: bool = False
    forbidden: int = -1
    reuse: int = -1

    @property
    def mask(self) -> int:
        """Bits of the word that the operand's text depends on."""
        out = self.kind.mask if self.kind else 0
        for site in self.sites():
            out |= site.bits.mask
        for sign in self.signs:
            out |= sign.bits.mask
        return out

    @property
    def suffix_signs(self) -> bool:
        """True when signs print as .NEG .ABS .INV after the core (immediates)."""
        return not self.prefixed and isinstance(
            self.kind, kinds.IntKind | kinds.FloatKind | kinds.HalfPairKind
        )

    def decode(self, word: int, mods: dict[str, Any]) -> Operand:
        """The operand object."""
        assert self.kind is not None
        flags: dict[str, Any] = {s.name: True for s in self.signs if s.get(word)}
        if isinstance(self.kind, kinds.RegKind):
            flags["reuse"] = self.reuse
        if self.part:
            for _, value in self.part.meanings(self.part.bits.get(word)):
                flags["part"] = value
        return self.kind.decode(word, register_count(self.count, mods), flags)

    def omitted(self, word: int) -> bool:
        """True when the text leaves the operand out."""
        if self.omit is None or self.kind is None:
            return False
        return kinds.field_value(self.kind, word) == self.omit

    def show(self, word: int, pc: int, reuse: int) -> str:
        """Text of the operand; `reuse` is the 4-bit reuse field of the control word."""
        if self.kind is None:
            return self.text
        out = self.kind.show(word, pc)
        part = self.part.table.text(self.part.bits.get(word)) or "" if self.part else ""
        active = {s.name for s in self.signs if s.get(word)}
        if self.suffix_signs:
            out += "".join(t for n, t in _SUFFIX_SIGNS.items() if n in active) + part
        else:
            out += part
            if "abs" in active:
                out = f"|{out}|"
            if self.prefixed and out == "0x0":
                active.discard("neg")  # the disassembler prints the negated number
            out = ("-" if "neg" in active else "") + ("~" if "inv" in active else "") + out
        if reuse and self.reuse >= 0 and reuse >> self.reuse & 1:
            out += ".reuse"
        for site in self.suffixes:
            out += site.table.text(site.bits.get(word)) or ""
        return out

    def sites(self) -> Iterator[Site]:
        """Modifier fields that belong to the operand."""
        if self.part:
            yield self.part
        yield from self.suffixes


class _OperandTexts(NamedTuple):
    """An operand with the texts it has printed so far, by the bits they depend on.

    Programs repeat operands far more often than whole words, so a listing looks most of them up.
    None stands for an operand that the text leaves out.
    """

    mask: int
    reuse_bit: int
    plain: dict[int, str | None]
    reused: dict[int, str | None]
    spec: OperandSpec

    @classmethod
    def of(cls, spec: OperandSpec) -> _OperandTexts:
        """No texts yet; a register that is never reused has a reuse bit that is never set."""
        return cls(spec.mask, spec.reuse if spec.reuse >= 0 else 4, {}, {}, spec)

    def make(self, word: int, pc: int, reuse: int) -> str | None:
        """The text of an operand not met before; None when it is left out."""
        found = None if self.spec.omitted(word) else self.spec.show(word, pc, reuse)
        if self.spec.kind is None or not self.spec.kind.relative:
            texts = self.reused if reuse >> self.reuse_bit & 1 else self.plain
            if len(texts) >= _TEXTS_LIMIT:
                texts.clear()
            texts[word & self.mask] = found
        return found


@dataclass(eq=False)
class Form:
    """One instruction form: everything about how it is encoded and written.

    A program uses a few dozen of the forms: modifiers and operands are read from the `columns`
    of the table line (its second and third) when a word first meets the form.
    """

    op: str
    value: int
    mask: int
    default: int
    columns: tuple[str, str]
    options: dict[str, str]
    archs: frozenset[str]
    line: str
    shape: str = ""
    guarded: bool = True
    reuse: bool = True

    @cached_property
    def mods(self) -> list[Site | str]:
        """Modifier fields and fixed texts, in the order they are written.

        Raises:
            FormError: the line does not follow the grammar.
        """
        try:
            return [_site(t[1:]) for t in self.columns[0].split()]
        except (ValueError, KeyError) as error:
            raise FormError(f"{self.line}: {error}") from error

    @cached_property
    def operands(self) -> list[OperandSpec]:
        """Operands in the order they are written.

        Raises:
            FormError: the line does not follow the grammar.
        """
        try:
            found = [_operand(t, self.shape) for t in self.columns[1].split(",") if t.strip()]
        except (ValueError, KeyError) as error:
            raise FormError(f"{self.line}: {error}") from error
        return found if self.reuse else [replace(o, reuse=-1) for o in found]

    @property
    def variable_latency(self) -> bool:
        """True when the form may set scoreboards; fixed-latency forms refuse them (measured)."""
        return "var" in self.options

    @cached_property
    def all_sites(self) -> tuple[Site, ...]:
        """Every modifier field, mnemonic's first, then the operands'."""
        own = [m for m in self.mods if isinstance(m, Site)]
        return tuple(own + [s for o in self.operands for s in o.suffixes])

    @cached_property
    def checks(self) -> tuple[tuple[Bits, frozenset[int], str], ...]:
        """(field, illegal values, name) of every field with reserved values."""
        out = []
        for site in (*self.all_sites, *(o.part for o in self.operands if o.part)):
            bad = frozenset(v for v in range(1 << site.bits.width) if site.table.text(v) is None)
            if bad:
                out.append((site.bits, bad, "+".join(site.names)))
        for spec in self.operands:
            if isinstance(spec.kind, kinds.NameKind):
                bits, table = spec.kind.bits, spec.kind.table
                bad = frozenset(v for v in range(1 << bits.width) if table.text(v) is None)
                if bad:
                    out.append((bits, bad, spec.slot))
        return tuple(out)

    @cached_property
    def used(self) -> int:
        """Bits that decide the form or show in its text; the others are ignored."""
        out = self.mask | (GUARD_MASK if self.guarded else 0)
        for site in self.all_sites:
            out |= site.bits.mask
        for spec in self.operands:
            out |= spec.kind.mask if spec.kind else 0
            out |= spec.part.bits.mask if spec.part else 0
            for sign in spec.signs:
                out |= sign.bits.mask
        return out

    def modifiers(self, word: int) -> dict[str, str | bool | int]:
        """Modifier values by name."""
        out: dict[str, str | bool | int] = {}
        for site in self.all_sites:
            for name, meaning in site.meanings(site.bits.get(word)):
                out[name] = meaning not in _CLEAR if name in FLAGS else meaning
        for spec in self.operands:
            if isinstance(spec.kind, kinds.NameKind):
                value = spec.kind.bits.get(word)
                values = spec.kind.table.values
                out[spec.export or spec.slot] = values[value] if value < len(values) else "?"
            elif spec.export and isinstance(spec.kind, kinds.IntKind):
                out[spec.export] = spec.kind.value(word)
        for fixed in self.options.get("means", "").split(","):
            name, _, text = fixed.partition(":")
            if name:
                out[name] = text or True
        return out

    @cached_property
    def _reason_mask(self) -> int:
        """Bits of the word that can make it illegal."""
        mask = 0
        for bits, _, _ in self.checks:
            mask |= bits.mask
        for spec in self.operands:
            if spec.kind and (spec.forbidden >= 0 or spec.kind.may_be_reserved):
                mask |= spec.kind.mask
        return mask

    @cached_property
    def _reasons(self) -> dict[int, str | None]:
        """Answers of `reason` so far, by `_reason_mask`."""
        return {}

    def reason(self, word: int) -> str | None:
        """Why the word is illegal in this form, None when it is legal."""
        key = word & self._reason_mask
        try:
            return self._reasons[key]
        except KeyError:
            pass
        if len(self._reasons) >= _TEXTS_LIMIT:
            self._reasons.clear()
        found = self._reasons[key] = self._reason(word)
        return found

    def _reason(self, word: int) -> str | None:
        for bits, bad, name in self.checks:
            value = bits.get(word)
            if value in bad:
                return f"{self.op}: reserved value {value} of {name} (bits {bits})"
        for spec in self.operands:
            if not spec.kind:
                continue
            checked = getattr(spec.kind, "base", None) or spec.kind.bits
            if spec.forbidden >= 0 and checked.get(word) == spec.forbidden:
                return f"{self.op}: operand {spec.kind.show(word, 0)} is not allowed here"
            if why := spec.kind.reserved(word):
                return f"{self.op}: {why}"
        return None

    @cached_property
    def _head_mask(self) -> int:
        """Bits of the word that the mnemonic and its modifiers depend on."""
        mask = 0
        for mod in self.mods:
            if isinstance(mod, Site):
                mask |= mod.bits.mask
        return mask

    @cached_property
    def _heads(self) -> dict[int, str]:
        """Mnemonics printed so far, by `_head_mask`; forms with a texture hint keep none."""
        return {}

    @cached_property
    def _hinted(self) -> bool:
        return any(isinstance(mod, Site) and mod.names == ("hint",) for mod in self.mods)

    @cached_property
    def _operand_texts(self) -> tuple[_OperandTexts, ...]:
        return tuple(_OperandTexts.of(spec) for spec in self.operands)

    @cached_property
    def _gap(self) -> str:
        return "" if "glued" in self.options else " "

    def _head(self, word: int, reuse: int) -> str:
        """The mnemonic with its modifiers."""
        out = self.op
        for mod in self.mods:
            if isinstance(mod, str):
                out += mod
            elif mod.names == ("hint",):
                out += mod.table.text(reuse & 3) or ""
            else:
                out += mod.table.text(mod.bits.get(word)) or ""
        return out

    def text(self, word: int, pc: int, reuse: int) -> str:
        """The instruction as nvdisasm prints it, without guard and semicolon."""
        key = word & self._head_mask
        try:
            out = self._heads[key]
        except KeyError:
            out = self._head(word, reuse)
            if not self._hinted:
                self._heads[key] = out
        shown = []
        for operand in self._operand_texts:
            mask, reuse_bit, plain, reused, _ = operand
            try:
                text = (reused if reuse >> reuse_bit & 1 else plain)[word & mask]
            except KeyError:
                text = operand.make(word, pc, reuse)
            if text is not None:
                shown.append(text)
        return out + self._gap + ", ".join(shown) if shown else out

    def __repr__(self) -> str:
        return f"<Form {self.op} {self.value:016x}/{self.mask:016x}>"


_MATCH = re.compile(r"([0-9a-f]{4}):([0-9a-f]{4})((?:,[\d:+]+=\w+)*)$")
_SIGN = re.compile(r"([-|~!])(\d+)(?:\^(\d+))?$")
_COLUMNS = re.compile(r"(?<=\s)\|(?=\s|$)")


def parse_match(text: str) -> tuple[int, int]:
    """Value and mask of the `match` column."""
    found = _MATCH.match(text)
    if not found:
        raise FormError(f"match column {text!r}")
    value, mask = int(found[1], 16) << 48, int(found[2], 16) << 48
    for extra in filter(None, found[3].split(",")):
        where, _, number = extra.partition("=")
        bits = Bits.parse(where)
        value |= bits.put(int(number, 0))
        mask |= bits.mask
    return value & mask, mask


def _variant(value: int, mask: int, letter: str) -> tuple[int, int]:
    """Match of a constant or immediate form derived from the register form's."""
    low = (1 << 48) - 1
    top, top_mask = value >> 48, mask >> 48
    if letter == "c":
        top -= 0x1000
    elif letter == "k":
        top -= 0x0800
    elif letter == "i":
        # The top byte 0x58 + n of the register form becomes 0x30 + 2n; bit 56 is the sign.
        top = 0x3000 + ((top - 0x5800) >> 8) * 0x200 + (top & 0xFF)
        top_mask &= ~0x0100
    return (top << 48 | value & low) & (top_mask << 48 | low), top_mask << 48 | mask & low


def _site(token: str) -> Site | str:
    """A modifier token without its leading dot."""
    head, at, rest = token.partition("@")
    if token == "hint!":
        return Site(("hint",), Bits(()), TABLES["HINT"])
    if not at:
        return "." + head
    where, _, name = rest.partition("=")
    names = tuple(head.split("+"))
    if "&" in where:
        bits = Bits.parse(where.replace("&", "+"))
        shown = TABLES[name or head].texts[1]
        return Site(
            names, bits, ValueTable(head, ("", "", "", shown), (False, False, False, True), False)
        )
    found = TABLES.get(name or head) or TABLES.get((name or head).upper())
    if found is None and name.startswith("."):
        found = flag(head, name)
    if found is None:
        raise FormError(f"no table {name or head!r}")
    return Site(names, Bits.parse(where), found)


@dataclass(frozen=True, slots=True)
class _Ask:
    """What a row says about an operand core: its bits, `=argument`, `!` bit, spaced constant."""

    bits: Bits
    arg: str
    negate: Bits | None
    spaced: bool

    @property
    def scale(self) -> int:
        """The argument as a left shift."""
        return int(self.arg or 0)

    @property
    def base(self) -> Bits | None:
        """Bits 15..8 when the argument is R: the form has an index register."""
        return _BASE if self.arg == "R" else None


_BASE = Bits.parse("15:8")
_NO_BITS = Bits(())
_MAKERS: dict[str, Callable[[_Ask], kinds.Kind]] = {
    # registers and predicates
    "R": lambda q: kinds.RegKind(q.bits),
    "D": lambda q: kinds.SwapRegKind(q.bits, Bits.parse(q.arg)),
    "Z": lambda q: kinds.ZeroRegKind(_NO_BITS),
    "P": lambda q: kinds.PredKind(q.bits, q.negate),
    # constants and immediates
    "C": lambda q: kinds.ConstKind(q.bits, q.spaced),
    "u": lambda q: kinds.IntKind(q.bits, signed=False, scale=q.scale),
    "s": lambda q: kinds.IntKind(q.bits, signed=True, scale=q.scale),
    "x": lambda q: kinds.IntKind(q.bits, signed=False, extend=True),
    "s20": lambda q: kinds.IntKind(q.bits, signed=True),
    "s32": lambda q: kinds.IntKind(q.bits, signed=True),
    "w20": lambda q: kinds.IntKind(q.bits, signed=False),
    "x20": lambda q: kinds.IntKind(q.bits, signed=False, extend=True),
    "h20": lambda q: kinds.FloatKind(q.bits, 16),
    "f20": lambda q: kinds.FloatKind(q.bits, 32),
    "f32": lambda q: kinds.FloatKind(q.bits, 32),
    "d20": lambda q: kinds.FloatKind(q.bits, 64),
    # places
    "A": lambda q: places.AddressKind(q.bits, q.scale, _BASE),
    "A0": lambda q: places.AddressKind(_NO_BITS, 0, q.bits),
    "V": lambda q: places.AttributeKind(q.bits, None, q.arg),
    "VR": lambda q: places.AttributeKind(q.bits, _BASE, q.arg),
    "L": lambda q: places.CBankKind(q.base),
    "rel": lambda q: places.TargetKind(q.bits, True, q.base),
    "abs": lambda q: places.TargetKind(q.bits, False, q.base),
    # names
    "S": lambda q: kinds.SRegKind(q.bits, SREG_SETS[q.arg]),
    "N": lambda q: kinds.NameKind(q.bits, TABLES[q.arg]),
    "SBS": lambda q: kinds.BoardSetKind(q.bits),
}


def _kind(name: str, where: str, negate: Bits | None, spaced: bool) -> kinds.Kind:
    """Build an operand core from its kind (`A=2`) and bits."""
    head, _, arg = name.partition("=")
    where = where or _KIND_BITS.get(head, "")
    if head == "h2":
        high, _, low = where.partition("/")
        return kinds.HalfPairKind(Bits.parse(high), Bits.parse(low))
    maker = _MAKERS.get(head)
    if maker is None:
        raise FormError(f"unknown operand kind {name!r}")
    return maker(_Ask(Bits.parse(where) if where else _NO_BITS, arg, negate, spaced))


def _sign(text: str) -> Sign:
    """A sign token such as `-49^48`."""
    found = _SIGN.match(text)
    if not found:
        raise FormError(f"sign {text!r}")
    bits = Bits.parse(found[2] if found[3] is None else f"{found[3]}+{found[2]}")
    return Sign(_SIGNS[found[1]], bits, 1)


def _operand(text: str, letter: str) -> OperandSpec:
    """One operand column entry, for the variant `letter` ("" when the row has no variants)."""
    tokens = text.split()
    if tokens[0].startswith("'"):
        return OperandSpec("", None, tokens[0][1:])
    head, _, where = tokens[0].partition("@")
    slot, _, kind = head.partition(":")
    if letter and slot == "b":
        kind, where = {"r": ("R", where), "c": ("C", ""), "i": (kind, where), "k": ("R", "46:39")}[
            letter
        ]
    elif letter == "k" and slot == "c":
        kind, where = "C", ""
    default_kind, default_where = _SLOT_DEFAULTS.get(slot, ("", ""))
    if not kind or kind == "R" or kind == "P":
        kind, where = kind or default_kind, where or default_where
    spec = OperandSpec(slot, None)
    if kind == "R":
        spec.reuse = REUSE_BITS.get(slot, -1)
    nots = [Bits.parse(t[1:]) for t in tokens[1:] if t[0] == "!"]
    spaced = any(t.startswith(".part") for t in tokens)
    spec.kind = _kind(kind, where, nots[0] if nots else None, spaced)
    for token in tokens[1:]:
        if token[0] in "-|~" and len(token) > 1:
            spec.signs.append(_sign(token))
        elif token[0] == "x":
            spec.forbidden = int(token[1:])
        elif token == "^":
            spec.prefixed = True
        elif token == "~":
            assert isinstance(spec.kind, kinds.PredKind)
            spec.kind.inverted = True
        elif token[0] == "#":
            spec.count = token[1:]
        elif token[0] == "%":
            spec.reuse = int(token[1:]) if kind == "R" else -1
        elif token[0] == "=":
            spec.export = token[1:]
        elif token[0] == "?":
            full = kinds.field_ones(spec.kind)
            spec.omit = int(token[1:], 0) if len(token) > 1 else full
        elif token[0] == ".":
            site = _site(token[1:])
            assert isinstance(site, Site)
            if site.names == ("part",):
                spec.part = site
            else:
                spec.suffixes.append(site)
        elif token[0] != "!":
            raise FormError(f"operand attribute {token!r}")
    return spec


def parse_archs(text: str) -> frozenset[str]:
    """`53+`, `50`, `50-53` or "" (all) as architecture names."""
    if not text:
        return frozenset(ARCHS)
    low, _, high = text.rstrip("+").partition("-")
    first = ARCHS.index("sm_" + low)
    last = len(ARCHS) - 1 if text.endswith("+") else ARCHS.index("sm_" + (high or low))
    return frozenset(ARCHS[first : last + 1])


def parse_line(line: str, common: str = "") -> Iterator[Form]:
    """The forms of one table line (one per variant letter); `common` options are added.

    Raises:
        FormError: the line does not follow the grammar.
    """
    columns = [c.strip() for c in _COLUMNS.split(line)]
    if len(columns) not in (3, 4):
        raise FormError(f"{line!r}: {len(columns)} columns")
    op, match, *variants = columns[0].split()
    options: dict[str, str] = {}
    for token in [*common.split(), *(columns[3].split() if len(columns) == 4 else [])]:
        name, _, argument = token.partition("=")
        options[name] = argument
    value, mask = parse_match(match)
    for letter in variants[0] if variants else [""]:
        v, m = _variant(value, mask, letter) if letter else (value, mask)
        guarded = "noguard" not in options
        default = v | int(options.get("set", "0"), 16) | (0x70000 if guarded else 0)
        archs = parse_archs(options.get("arch", ""))
        without = parse_archs(options["noreuse"]) if "noreuse" in options else frozenset()
        parts = (columns[1], columns[2])
        for some in filter(None, (archs - without, archs & without)):
            reuse = not some <= without
            yield Form(op, v, m, default, parts, options, some, line, letter, guarded, reuse)


def parse_table(text: str, common: str = "") -> Iterable[Form]:
    """All forms of a table, with options common to its lines.

    Blank lines and lines starting with `#` are skipped.
    """
    for line in text.splitlines():
        line = line.split("  #")[0].strip()
        if line and not line.startswith("#"):
            try:
                yield from parse_line(line, common)
            except (FormError, ValueError, KeyError) as error:
                raise FormError(f"{line}: {error}") from error
