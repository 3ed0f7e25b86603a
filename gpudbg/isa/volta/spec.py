"""The notation of the form tables, and the compiled `Form`.

A row is `NAME match[ variants] | modifiers | operands[ | options]`:

    DMUL 028 r c@75-90 i u | (_/.RM/.RP/.RZ)@79:78 | R16, R24 -72 |73, B -63 |62 =f64h@32 | arch=75+

match       bits 11:0 in hex, then `,HI:LO=HEX` for further fixed bits.
variants    what stands in bits 11:9 and so in 63:32: r a register, i an immediate, c a constant,
            x a constant of a bindless bank, u a uniform register as operand B; I C X U the same as
            operand C, where the register of B moves to 71:64.  `@ARCHS` limits a variant.
modifiers   `.TEXT` fixed; `.TEXT@BIT` printed when the bit is set, `.TEXT@!BIT` when clear;
            `NAME@BITS` a list of `values.tbl`; `(a/b/c)@BITS` a list in place.
            In lists: `_` nothing, `?` refused, `*` .INVALIDn, `-*` INVALIDn, `%` .???n, `-%` ???n,
            `TOKENxN` the token N times.
operands    R U P Q (UP) B (scoreboard) and the lowest bit, or all bits; I unsigned, S signed,
            T target relative to the next instruction, each with `*SCALE` and `+ADD`; `f32@LOW`,
            `f64h@LOW`, `f16@LOW`, `bf16@LOW`; `SR` special register; `NBITS=NAME` a word of a list;
            `'TEXT`; places such as `c[I58:54][S53:40*4]`, with `{flags:printed;...}` after a
            bracket: which members print, by which are zero.
            Attributes: `-BIT` negate, `|BIT` absolute, `~BIT` complement, `!BIT` not, `+SITE`
            suffix (`&`: inside the bars), `?A/B` left out when it reads A or B, `??A` left out as
            the option `omit=` says, `_` a blank in place of the comma, `^` stored inverted.
options     `var` variable latency; `ctl=A/B` allowed values of bits 124:122; `bar=w|r|wr|m`
            barriers that must be unset; `U` guarded by a uniform predicate; `arch=`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files

from ...bits import Field, sign_extend
from ..bitsets import Bits
from ..floats import format_float
from .sregs import special_name

TABLE_ARCHS = ("70", "75", "80", "86", "89", "90", "100", "120")
"""Architectures that have tables of their own."""
_TEXTS_LIMIT = 1 << 14
"""Most texts of one operand that are kept."""
WIDE_UNIFORM = frozenset({"100", "120"})
"""Those whose uniform registers are numbered in eight bits."""
FAMILIES = (
    "integer", "float", "half", "memory", "flow", "uniform", "tensor", "async", "texture",
    "graphics",
)  # fmt: skip
_FORM_BITS = {"r": 1, "I": 2, "C": 3, "X": 3, "i": 4, "c": 5, "x": 5, "u": 6, "U": 7}
_UNIFORM_BIT = {"r": 0, "i": 0, "I": 0, "c": 0, "C": 0, "x": 1, "X": 1, "u": 1, "U": 1}
_CORES = {
    "r": "R32", "c": "c[I58:54][S53:40*4]", "x": "cx[U32][I53:40*4]", "u": "U32",
    "C": "c[I58:54][S53:40*4]", "X": "cx[U32][I53:40*4]", "U": "U32",
}  # fmt: skip
_SOURCES = (24, 32, 64)
"""Lowest bits of the fields that hold source registers."""
_MUFU_LOW, _MUFU_64H = 74, (6, 7)
"""Where MUFU names its function, and the functions of the high word of an f64."""
Show = Callable[[int, int], str]
"""The text of a part of a word at an address."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the text: the bits it depends on, and how it is shown."""

    mask: int
    show: Show
    relative: bool = False
    omit: frozenset[str] = frozenset()
    maybe: frozenset[str] = frozenset()
    separator: str = ", "


@dataclass(frozen=True, slots=True)
class Site:
    """A modifier field and the texts of its values; None is refused."""

    bits: Bits
    texts: tuple[str | None, ...]

    def part(self) -> Part:
        """The site as text."""
        get, texts = self.bits.get, self.texts
        return Part(self.bits.mask, lambda word, pc: texts[get(word)] or "")


@cache
def value_lists() -> dict[str, tuple[str | None, ...]]:
    """The lists of `values.tbl`."""
    out = {}
    for line in _table("values"):
        name, _, rest = line.partition(" = ")
        out[name] = _values(rest.split())
    return out


def _values(tokens: list[str]) -> tuple[str | None, ...]:
    out: list[str | None] = []
    special = {"_": "", "?": None}
    numbered = {"*": ".INVALID", "-*": "INVALID", "%": ".???", "-%": "???"}
    for token in tokens:
        found = re.fullmatch(r"(_|\?|\*|-\*|%|-%)x(\d+)", token)
        head, count = (found[1], int(found[2])) if found else (token, 1)
        for _ in range(count):
            if head in numbered:
                out.append(f"{numbered[head]}{len(out)}")
            else:
                out.append(special.get(head, head))
    return tuple(out)


def _table(name: str) -> list[str]:
    text = (files(__package__) / "tables" / f"{name}.tbl").read_text(encoding="utf-8")
    return text.splitlines()


def _site(token: str) -> Site | str:
    """A modifier token; fixed texts are themselves."""
    head, at, where = token.rpartition("@")
    if not at:
        return token
    if head[0] == "(":
        return Site(Bits.parse(where), _values(head[1:-1].split("/")))
    if head[0] == ".":
        clear = where[0] == "!"
        return Site(Bits.parse(where.lstrip("!")), (head, "") if clear else ("", head))
    return Site(Bits.parse(where), value_lists()[head])


# ---- operands --------------------------------------------------------------------------
_CORE = re.compile(r"(SR|[RUPQBIST])(=?-?[\d:+]*\d)?((?:\*\d+)?)((?:\+\d+)?)(\^?)(.*)")
_STANDARD = {"R": 8, "P": 3, "Q": 3}


def _number(value: int) -> str:
    return f"-{-value:#x}" if value < 0 else f"{value:#x}"


def _named(letter: str, zero: int, name: str) -> Callable[[int], str]:
    """Register names: all ones is RZ, PT or their uniform siblings."""
    last = f"{name}T" if letter in "PQ" else f"{name}Z"
    return lambda value: last if value == zero else f"{name}{value}"


class _Core:
    """A number in a field: a register, an immediate or a target."""

    def __init__(self, token: str, arch: str) -> None:
        found = _CORE.fullmatch(token)
        if not found:
            raise ValueError(f"operand {token!r}")
        self.letter = found[1]
        where, self.rest = found[2] or "", found[6]
        self.scale, self.add = int(found[3][1:] or 1), int(found[4] or 0)
        if self.letter == "U" and where.endswith("+1"):
            # The second register of a pair, not a further range: no uniform field has bit 1.
            where, self.add = where.removesuffix("+1"), 1
        self.inverted = bool(found[5])
        self.fixed: int | None = int(where[1:]) if where.startswith("=") else None
        if self.fixed is None and where.isdigit() and self.letter in "RUPQ":
            wide = 8 if arch in WIDE_UNIFORM else 6
            size = _STANDARD.get(self.letter, wide)
            where = f"{int(where) + size - 1}:{where}"
        self.bits = Bits.parse(where) if self.fixed is None else Bits(())
        if self.letter == "U" and arch in WIDE_UNIFORM and self.bits.width == 6:
            low = self.bits.ranges[0].lo
            self.bits = Bits((Field(low + 7, low),))

    def value(self) -> Callable[[int], int]:
        """A function from word to the number."""
        if self.fixed is not None:
            fixed = self.fixed
            return lambda word: fixed
        get, scale, add, width = self.bits.get, self.scale, self.add, self.bits.width
        ones = (1 << width) - 1
        if self.letter in "ST":
            return lambda word: sign_extend(get(word), width) * scale + add
        if self.inverted:
            return lambda word: get(word) ^ ones
        if self.letter == "U" and add:
            return lambda word: ones if (n := get(word)) == ones else n + add
        return lambda word: get(word) * scale + add

    @property
    def zero(self) -> int:
        """The value that reads as nothing: RZ, PT, 0."""
        if self.letter in "RUPQ":
            if self.fixed is not None:
                return {"R": 255, "U": -1}.get(self.letter, 7)
            return (1 << self.bits.width) - 1
        return 0

    def show(self, arch: str) -> Show:
        """Its text."""
        value = self.value()
        match self.letter:
            case "R" | "U" | "P" | "Q":
                names = {"R": "R", "U": "UR", "P": "P", "Q": "UP"}
                name = _named(self.letter, self.zero, names[self.letter])
                return lambda word, pc: name(value(word))
            case "B":
                return lambda word, pc: f"SB{value(word)}"
            case "SR":
                return lambda word, pc: special_name(value(word), arch)
            case "T":
                return lambda word, pc: _number(pc + 16 + value(word))
            case _:
                return lambda word, pc: _number(value(word))


def _float(kind: str, low: int, form: Form, arch: str) -> Part:
    """A float immediate; `mufu` is the high word of an f64 for the .64H functions."""
    width = 16 if kind in ("f16", "bf16") else 32
    mask = ((1 << width) - 1) << low
    head_mask = form.heads[0] if kind == "f16" else 0
    function = 15 << _MUFU_LOW if kind == "mufu" else 0

    def show(word: int, pc: int) -> str:
        value = (word & mask) >> low
        if kind == "f64h" or (function and word >> _MUFU_LOW & 15 in _MUFU_64H):
            return format_float(value << 32, 64)
        if kind == "bf16" or (head_mask and ".BF16" in form.head(word)):
            return format_float(value << 16, 32)
        text = format_float(value, width)
        if width == 32 and arch in WIDE_UNIFORM and "QNAN" in text and not value >> 22 & 1:
            return text.replace("QNAN", "SNAN")
        return text

    return Part(mask | head_mask | function, show)


_FLOAT = re.compile(r"(f32|f64h|f16|bf16|mufu)@(\d+)")
_BRACKET = re.compile(r"\[([^\]]*)\](?:\{([^}]*)\})?")


def _bracket(members: str, printed: str, alone: str, arch: str) -> Part:
    """One pair of brackets.

    Args:
        alone: "RZ" where a number 0 that is the only member prints so; else what stands before the
            brackets: after `desc` a base RZ prints.
    """
    mask, shows, values = 0, [], []
    for token in filter(None, members.split(",")):
        head, *sites = re.split(r"[<>]", token)
        core = _Core(head, arch)
        mask |= core.bits.mask
        suffix = [core.rest] + [_site(s) for s in sites if s]
        shows.append(_with_suffix(core.show(arch), suffix))
        mask |= sum(s.bits.mask for s in suffix if isinstance(s, Site))
        values.append((core.value(), core.zero))
    rules = dict(rule.split(":") for rule in printed.split(";")) if printed else {}
    lone = alone if alone == "RZ" and len(values) == 1 and values[0][1] == 0 else ""
    scaled = "<" in members
    described = alone == "desc"

    def show(word: int, pc: int) -> str:
        flags = "".join("1" if get(word) == zero else "0" for get, zero in values)
        if lone and flags == "1":
            return f"[{lone}]"
        kept = rules.get(flags) or _kept(flags)
        if described and kept[:1] == "0" and flags not in rules:
            kept = f"1{kept[1:]}"
        if scaled and kept[:1] == "0" and "." in shows[0](word, pc):
            kept = f"1{kept[1:]}"
        out = ""
        for keep, one in zip(kept, shows, strict=True):
            if keep == "1":
                text = one(word, pc)
                out += f"+{text}" if out else text
        return f"[{out}]"

    return Part(mask, show)


def _kept(zero: str) -> str:
    """Members that print: those that are not zero, or the first where all are."""
    kept = "".join("0" if flag == "1" else "1" for flag in zero)
    return kept if "1" in kept else "1".ljust(len(zero), "0")


def _with_suffix(show: Show, suffix: list[Site | str]) -> Show:
    parts = [s.part().show if isinstance(s, Site) else (lambda w, p, s=s: s) for s in suffix if s]
    if not parts:
        return show
    return lambda word, pc: show(word, pc) + "".join(part(word, pc) for part in parts)


def _core(token: str, form: Form, arch: str) -> tuple[Part, int]:
    """An operand without its attributes, and the lowest bit of a register's field (else -1)."""
    if token[0] == "'":
        return Part(0, lambda word, pc: token[1:]), -1
    if found := _FLOAT.fullmatch(token):
        return _float(found[1], int(found[2]), form, arch), -1
    if token[0] == "N":
        where, _, name = token[1:].partition("=")
        return Site(Bits.parse(where), value_lists()[name]).part(), -1
    if "[" in token:
        head = token[: token.index("[")]
        alone = "RZ" if not head or form.op == "LDC" else head
        groups = _BRACKET.findall(token)
        brackets = [
            _bracket(a, b, alone if n == len(groups) - 1 else "", arch)
            for n, (a, b) in enumerate(groups)
        ]
        mask = 0
        for bracket in brackets:
            mask |= bracket.mask
        return Part(mask, lambda w, p: head + "".join(b.show(w, p) for b in brackets)), -1
    core = _Core(token, arch)
    low = core.bits.ranges[0].lo if core.letter == "R" and core.bits.ranges else -1
    return Part(core.bits.mask, core.show(arch), core.letter == "T"), low


def _test(where: str) -> tuple[int, Callable[[int], bool]]:
    """A sign bit: its mask and whether it acts (`^BIT`: when clear; `always`)."""
    if where == "always":
        return 0, lambda word: True
    bit = int(where.lstrip("^"))
    if where[0] == "^":
        return 1 << bit, lambda word: not word >> bit & 1
    return 1 << bit, lambda word: bool(word >> bit & 1)


def _operand(text: str, form: Form, arch: str) -> tuple[Part, list[Site]]:
    """An operand with its attributes."""
    token, *attributes = text.split()
    core, low = _core(token, form, arch)
    reuse = form.reuse_bits.get(low, -1)
    mask, sites, inside, separator = core.mask, [], False, ", "
    omit: frozenset[str] = frozenset()
    maybe: frozenset[str] = frozenset()
    signs: dict[str, Callable[[int], bool]] = {}
    suffix: list[Site | str] = []
    if reuse >= 0:
        mask |= 1 << reuse | 1 << 109
    for a in attributes:
        if a[:2] == "??":
            maybe = frozenset(a[2:].split("/"))
        elif a[0] == "?":
            omit = frozenset(a[1:].split("/"))
        elif a == "_":
            separator = " "
        elif a == "&":
            inside = True
        elif a[0] == "+":
            made = _site(a[1:])
            suffix.append(made)
            if isinstance(made, Site):
                sites.append(made)
                mask |= made.bits.mask
        elif a[0] in "-|~!":
            bit, acts = _test(a[1:])
            signs[a[0]] = acts
            mask |= bit
    parts = [s.part().show if isinstance(s, Site) else (lambda w, p, s=s: s) for s in suffix]
    show = core.show
    if signs or parts or reuse >= 0:
        show = _signed(core.show, signs, parts, reuse, inside)
    if not core.relative:
        show = _remembered(mask, show)
    return Part(mask, show, core.relative, omit, maybe, separator), sites


def _remembered(mask: int, show: Show) -> Show:
    """The same, looked up by the bits the text depends on: programs repeat their operands."""
    texts: dict[int, str] = {}

    def look(word: int, pc: int) -> str:
        key = word & mask
        found = texts.get(key)
        if found is None:
            if len(texts) >= _TEXTS_LIMIT:
                texts.clear()
            found = texts[key] = show(word, pc)
        return found

    return look


def _signed(
    core: Show,
    signs: dict[str, Callable[[int], bool]],
    parts: list[Show],
    reuse: int,
    inside: bool,
) -> Show:
    """Signs, bars, `.reuse` and suffixes around an operand."""

    def show(word: int, pc: int) -> str:
        out = core(word, pc)
        tail = "".join(part(word, pc) for part in parts)
        mark = ".reuse" if reuse >= 0 and word >> 109 & 1 and word >> reuse & 1 else ""
        if "|" in signs and signs["|"](word):
            out = f"|{out}{tail}|{mark}" if inside else f"|{out}|{mark}{tail}"
        else:
            out += mark + tail
        for sign in "-~!":
            if sign in signs and signs[sign](word):
                out = sign + out
        return out

    return show


# ---- forms -----------------------------------------------------------------------------
@dataclass(eq=False)
class Form:
    """One instruction form of one row and variant.

    Attributes:
        twin: for a form of sm_70 that accepts every value of bits 124:122, the same form of sm_75:
            where that has fixed latency, reuse prints on sm_70, too.
    """

    op: str
    mask: int
    value: int
    modifiers: str
    operands: str
    options: dict[str, str]
    archs: frozenset[str]
    twin: Form | None = None
    _heads: dict[int, str] = field(default_factory=dict)
    _texts: dict[str, tuple[list[Part], list[Site]]] = field(default_factory=dict)

    @cached_property
    def fixed_latency(self) -> bool:
        """Whether bits 124:122 mark reused operands."""
        return "var" not in self.options

    @cached_property
    def uniform_guard(self) -> bool:
        """Whether the guard is a uniform predicate."""
        return "U" in self.options

    def parts(self, arch: str) -> tuple[list[Part], list[Site]]:
        """Operands in text order and all modifier fields, for an architecture's tables."""
        if arch not in self._texts:
            made: list[Part] = []
            sites = [s for s in map(_site, self.modifiers.split()) if isinstance(s, Site)]
            for text in filter(None, self.operands.split(", ")):
                part, more = _operand(text, self, arch)
                made.append(part)
                sites += more
            self._texts[arch] = (made, sites)
        return self._texts[arch]

    @cached_property
    def heads(self) -> tuple[int, list[Part | str]]:
        """The mask of the modifiers, and how they print."""
        mask, out = 0, list[Part | str]()
        for made in map(_site, self.modifiers.split()):
            out.append(made.part() if isinstance(made, Site) else made)
            mask |= made.bits.mask if isinstance(made, Site) else 0
        return mask, out

    def head(self, word: int) -> str:
        """The mnemonic with its modifiers."""
        mask, parts = self.heads
        found = self._heads.get(word & mask)
        if found is None:
            texts = (p if isinstance(p, str) else p.show(word, 0) for p in parts)
            found = self._heads[word & mask] = self.op + "".join(texts)
        return found

    def used(self, arch: str) -> int:
        """Bits that decide the form or show in its text."""
        made, _ = self.parts(arch)
        mask = self.mask | self.heads[0]
        for part in made:
            mask |= part.mask
        return mask

    @cached_property
    def sources(self) -> list[int]:
        """Lowest bits of the source register fields."""
        lows = {int(n) for n in re.findall(r"(?<![\w\[,])R(\d+)\b", self.operands)}
        return [low for low in _SOURCES if low in lows]

    @cached_property
    def _reuse_values(self) -> tuple[str, str]:
        """Allowed values of bits 124:122 with issue codes 17..27 and with 1..15."""
        if not self.fixed_latency:
            return "012345", "012345"
        if "ctl" in self.options:
            late, _, early = self.options["ctl"].partition("/")
            return late, early
        places = [n for n, low in enumerate(_SOURCES) if low in self.sources]
        allowed = [x for x in range(8) if all(n in places for n in range(3) if x >> n & 1)]
        return "".join(map(str, allowed)), "012345" if places else "01245"

    @cached_property
    def reuse_bits(self) -> dict[int, int]:
        """Lowest bit of a source register's field -> the bit that marks its reuse.

        The bits go by source slot, and some forms leave a slot out: FADD adds slots a and c.
        """
        if not self.fixed_latency:
            return self.twin.reuse_bits if self.twin is not None else {}
        slots = [n for n in range(3) if str(1 << n) in self._reuse_values[0]]
        if len(slots) > len(self.sources):
            slots = [_SOURCES.index(low) for low in self.sources]
        elif len(slots) == len(self.sources):
            return {low: 122 + slot for low, slot in zip(self.sources, slots, strict=True)}
        if all(_SOURCES[slot] in self.sources for slot in slots):
            return {_SOURCES[slot]: 122 + slot for slot in slots}
        # Where a form has fewer slots than fields, its first field is always RZ in compiled code.
        fields = self.sources[len(self.sources) - len(slots) :]
        return {low: 122 + slot for low, slot in zip(fields, slots, strict=True)}

    @cached_property
    def controls(self) -> frozenset[int]:
        """Allowed pairs of issue code (bits 109:105) and bits 124:122 (times 32)."""
        late, early = self._reuse_values
        out = {code | int(x) << 5 for x in late for code in range(17, 28)}
        out |= {code | int(x) << 5 for x in early for code in range(1, 16)}
        return frozenset(out | {0})

    @cached_property
    def barriers(self) -> tuple[int, int]:
        """Bits of the barriers that must hold a value, and the value."""
        kinds = self.options.get("bar", "")
        mask = (7 << 110 if "w" in kinds else 0) | (7 << 113 if "r" in kinds else 0)
        return mask | (0x3F << 116 if "m" in kinds else 0), mask


def parse_archs(text: str) -> frozenset[str]:
    """`75-90`, `80+`, `70,80` or "" (all)."""
    out: set[str] = set()
    for part in text.split(",") if text and text != "all" else ["70+"]:
        low, _, high = part.rstrip("+").partition("-")
        last = TABLE_ARCHS[-1] if part.endswith("+") else high or low
        out |= set(TABLE_ARCHS[TABLE_ARCHS.index(low) : TABLE_ARCHS.index(last) + 1])
    return frozenset(out)


def _variants(row: str) -> Iterator[Form]:
    """The forms of one row."""
    columns = [c.strip() for c in row.split(" | ")]
    columns += [""] * (4 - len(columns))
    op, match, *letters = columns[0].split()
    options = dict(o.partition("=")[::2] for o in columns[3].split())
    archs = options.pop("arch", "")
    code, *fixed = match.split(",")
    mask, value = 0xFFF, int(code, 16)
    for pair in fixed:
        where, _, number = pair.partition("=")
        low = Bits.parse(where).ranges[0].lo
        mask |= Bits.parse(where).mask
        value |= int(number, 16) << low
    if not letters:
        yield Form(op, mask, value, columns[1], columns[2], options, parse_archs(archs))
    for word in letters:
        letter, _, own = word.partition("@")
        yield Form(
            op,
            mask | 1 << 91,
            value | _FORM_BITS[letter] << 9 | _UNIFORM_BIT[letter] << 91,
            columns[1],
            _placed(columns[2].split(", "), letter),
            options,
            parse_archs(own or archs),
        )


def _placed(operands: list[str], letter: str) -> str:
    """The operands of a variant: B and C become what stands there.

    In the rows B has the attributes of the operand in bits 63:32, C those of the register in
    bits 71:64, because signs stay with their field; only the places are swapped in I C X U.
    """
    own = {o.split()[0]: o.split()[1:] for o in operands if o.split()[0] in ("B", "C")}
    immediate = next((a[1:] for a in own.get("B", []) if a[0] == "="), "")
    signs = [a for a in own.get("B", []) if a[0] != "="]
    if letter in "iI":
        odd = ", ".join(immediate.replace("~~", " ").split("&"))
    else:
        odd = " ".join([_CORES[letter], *signs])
    plain = " ".join(["R64", *own.get("C", [])])
    swapped = letter in "ICXU"
    texts = {"B": plain if swapped else odd, "C": odd if swapped else plain}
    return ", ".join(texts.get(o.split()[0], o) for o in operands)


def rows() -> Iterator[Form]:
    """Every form of every table."""
    for family in FAMILIES:
        for row in _table(family):
            if row:
                yield from _variants(row)
