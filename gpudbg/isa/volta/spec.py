"""The notation of the form tables, and the compiled `Form`.

A row is `NAME match[ variants] | modifiers | operands[ | options]`:

    DMUL 028 r c@70-90 i u@75+ x@75-90 | $round | R16, R24 -72 |73, B -63 |62 =f64h@32 | {var@120}

What differs between architectures or variants stands in braces: `rows` reads them, and `$NAME`.

match       bits 11:0 in hex (`.1d`: the braces say bits 11:8), then `,HI:LO=HEX` for further ones.
variants    what stands in bits 11:9 and so in 63:32: r a register, i an immediate, c a constant,
            x a constant of a bindless bank, u a uniform register as operand B; I C X U the same as
            operand C, where the register of B moves to 71:64; s k K are r i I of the uniform
            datapath.  `@ARCHS` limits a variant.
modifiers   `.TEXT` fixed; `.TEXT@BIT` printed when the bit is set, `.TEXT@!BIT` when clear;
            `NAME@BITS` a list of `values.tbl`; `(a/b/c)@BITS` a list in place.
            In lists: `_` nothing, `?` refused, `*` .INVALIDn, `-*` INVALIDn, `%` .???n, `-%` ???n,
            `TOKENxN` the token N times.
operands    R U P Q (UP) V (U that prints as ???n) B (scoreboard) and the lowest bit, or all
            bits; I unsigned, S signed,
            T target relative to the next instruction, each with `*SCALE` and `+ADD`; `f32@LOW`,
            `f64h@LOW`, `f16@LOW`, `bf16@LOW`; `SR` special register; `NBITS=NAME` a word of a list;
            `'TEXT`; places such as `c[I58:54][S53:40*4]` or `[R24.64,U64!,S63:40]`, whose members
            print unless they are zero.  Marks behind a member: `!` always printed, `%` the same
            with RZ as ???255, `#` refused when zero, `@` a 0 that stands alone prints as RZ.
            Attributes: `-BIT` negate, `|BIT` absolute, `~BIT` complement, `!BIT` not, `+SITE`
            suffix (`&`: inside the bars), `?A/B` left out when it reads A or B, `??A` left out as
            the option `omit=` says, `%` RZ prints as ???255, `#` RZ is refused, `_` a blank in
            place of the comma, `^` stored inverted.
options     `var` variable latency; `ctl=A/B` allowed values of bits 124:122; `bar=w|r|wr|m`
            barriers that must be unset; `U` guarded by a uniform predicate; `idle=HEX` bits
            that show nowhere and that compilers set; `loose` sm_75 does not look at bit 91, as
            sm_70 and sm_72 never do; `arch=` for the variants that name none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field, replace
from functools import cache, cached_property

from gpudbg.dataclass import dataclass

from ..bitsets import Bits
from .parts import (
    Bracket,
    Core,
    FloatField,
    Part,
    Show,
    Signed,
    WideSign,
    WideSite,
    fixed,
    in_turn,
    numbered,
    remembered,
)
from .rows import FormRow, fixed_bits, rows_of, table_lines

NO_UNIFORM = frozenset({"70", "72"})
"""Those without a uniform datapath: they do not look at the bit of uniform forms."""
_UNIFORM = 1 << 91
_FORM_BITS = {
    "r": 1, "I": 2, "C": 3, "X": 3, "i": 4, "c": 5, "x": 5, "u": 6, "U": 7, "s": 1, "k": 4, "K": 2
}  # fmt: skip
_UNIFORM_BIT = {letter: int(letter in "xXuUskK") for letter in _FORM_BITS}
_CORES = {
    "r": "R32", "c": "c[I58:54][S53:40*4]", "x": "cx[U32][I53:40*4]", "u": "U32", "s": "U32",
    "C": "c[I58:54][S53:40*4]", "X": "cx[U32][I53:40*4]", "U": "U32",
}  # fmt: skip
_SOURCES = (24, 32, 64)
"""Lowest bits of the fields that hold source registers."""


@cache
def value_lists() -> dict[str, tuple[str | None, ...]]:
    """The lists of `values.tbl`."""
    out = {}
    for line in table_lines("values"):
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


def site(token: str) -> WideSite | str:
    """A modifier token; fixed texts are themselves."""
    head, at, where = token.rpartition("@")
    if not at:
        return token
    if head[0] == "(":
        return WideSite(Bits.parse(where), _values(head[1:-1].split("/")))
    if head[0] == ".":
        clear = where[0] == "!"
        return WideSite(Bits.parse(where.lstrip("!")), (head, "") if clear else ("", head))
    return WideSite(Bits.parse(where), value_lists()[head])


def site_part(token: str) -> Part:
    """A modifier token as a part."""
    made = site(token)
    return fixed(made) if isinstance(made, str) else made.part()


# ---- operands --------------------------------------------------------------------------
_FLOAT = re.compile(r"(f32|f64h|f16|bf16|mufu)@(\d+)")
_BRACKET = re.compile(r"\[([^\]]*)\]")


def _core(token: str, form: WideForm, arch: str) -> tuple[Part, int]:
    """An operand without its attributes, and the lowest bit of a register's field (else -1)."""
    if token[0] == "'":
        return fixed(token[1:]), -1
    if found := _FLOAT.fullmatch(token):
        heads = (form.heads[0], form.head) if found[1] == "f16" else ()
        return FloatField(found[1], int(found[2]), arch, *heads).part(), -1
    if token[0] == "N":
        where, _, name = token[1:].partition("=")
        return WideSite(Bits.parse(where), value_lists()[name]).part(), -1
    if "[" in token:
        return _place(token, arch), -1
    core = Core(token, arch)
    low = core.bits.ranges[0].lo if core.letter == "R" and core.bits.ranges else -1
    relative = core.letter == "T"
    mask, registers, expected = core.bits.mask, core.registers(), core.expected
    part = Part(
        mask, core.show(), core.scan, relative, registers=registers, expected=expected
    )  # fmt: skip
    return part, low


def _place(token: str, arch: str) -> Part:
    """What stands in brackets, such as `c[I58:54][S53:40*4]` or `desc[U64][R24]`."""
    head = token[: token.index("[")]
    brackets = [Bracket(members, arch, site_part) for members in _BRACKET.findall(token)]
    mask = 0
    for bracket in brackets:
        mask |= bracket.mask
    scans = [fixed(head).scan, *(b.scan for b in brackets)]
    return Part(
        mask,
        lambda word, pc: head + "".join(b.show(word, pc) for b in brackets),
        lambda source, pos, pc: in_turn(scans, source, pos, pc),
        registers=tuple(r for b in brackets for r in b.registers),
        expected=head + "[...]" * len(brackets),
        refusals=tuple(site for b in brackets for site in b.refusals),
    )


def _spaced(show: Show) -> Show:
    """A constant of which a suffix chooses a piece: nvdisasm sets its brackets apart."""
    return lambda word, pc: show(word, pc).replace("][", "] [")


def refused_zero(token: str, arch: str) -> WideSite:
    """The field of a register that must not be RZ."""
    core = Core(token, arch)
    return WideSite(core.bits, (*("" for _ in range(core.zero)), None))


def _operand(text: str, form: WideForm, arch: str) -> tuple[Part, list[WideSite]]:
    """An operand with its attributes."""
    token, *attributes = text.split()
    core, low = _core(token, form, arch)
    reuse = form.reuse_bits.get(low, -1)
    sites, inside, separator = list(core.refusals), "&" in attributes, ", "
    omit: frozenset[str] = frozenset()
    maybe: frozenset[str] = frozenset()
    signs, suffix = [], []
    for a in attributes:
        if a[:2] == "??":
            maybe = frozenset(a[2:].split("/"))
        elif a[0] == "?":
            omit = frozenset(a[1:].split("/"))
        elif a == "_":
            separator = " "
        elif a == "%":
            core = numbered(core)
        elif a == "#":
            sites.append(refused_zero(token, arch))
        elif a[0] == "+":
            made = site(a[1:])
            suffix.append(fixed(made) if isinstance(made, str) else made.part())
            sites += [made] if isinstance(made, WideSite) else []
        elif a[0] in "-|~!":
            signs.append(WideSign.parse(a))
    if suffix and token[0] == "c":
        core = replace(core, show=_spaced(core.show))
    mask, show, scan = core.mask, core.show, core.scan
    if signs or suffix or reuse >= 0:
        signed = Signed(core, signs, suffix, (reuse, form.reuse_mask(low)), inside)
        mask, show, scan = signed.mask, signed.show, signed.scan
    if not core.relative:
        show = remembered(mask, show)
    part = replace(core, mask=mask, show=show, scan=scan, omit=omit, maybe=maybe)
    return replace(part, separator=separator), sites


# ---- forms -----------------------------------------------------------------------------
@dataclass(eq=False)
class WideForm:
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
    twin: WideForm | None = None
    _heads: dict[int, str] = field(default_factory=dict)
    _texts: dict[str, tuple[list[Part], list[WideSite]]] = field(default_factory=dict)

    @cached_property
    def fixed_latency(self) -> bool:
        """Whether bits 124:122 mark reused operands."""
        return "var" not in self.options

    @cached_property
    def idle(self) -> int:
        """Bits without a text that compilers set."""
        return int(self.options.get("idle", "0"), 16)

    @cached_property
    def uniform_guard(self) -> bool:
        """Whether the guard is a uniform predicate."""
        return "U" in self.options

    def relative(self, arch: str) -> bool:
        """Whether its text depends on where it stands."""
        return any(part.relative for part in self.parts(arch)[0])

    def parts(self, arch: str) -> tuple[list[Part], list[WideSite]]:
        """Operands in text order and all modifier fields, for an architecture's tables."""
        if arch not in self._texts:
            made: list[Part] = []
            sites = [s for s in map(site, self.modifiers.split()) if isinstance(s, WideSite)]
            for text in filter(None, self.operands.split(", ")):
                part, more = _operand(text, self, arch)
                made.append(part)
                sites += more
            self._texts[arch] = (made, sites)
        return self._texts[arch]

    @cached_property
    def heads(self) -> tuple[int, list[Part]]:
        """The mask of the modifiers, and how they print."""
        mask, out = 0, list[Part]()
        for made in map(site, self.modifiers.split()):
            out.append(made.part() if isinstance(made, WideSite) else fixed(made))
            mask |= made.bits.mask if isinstance(made, WideSite) else 0
        return mask, out

    def head(self, word: int) -> str:
        """The mnemonic with its modifiers."""
        mask, parts = self.heads
        found = self._heads.get(word & mask)
        if found is None:
            texts = "".join(part.show(word, 0) for part in parts)
            found = self._heads[word & mask] = self.op + texts
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

    def reuse_mask(self, low: int) -> int:
        """The bits any of which marks the reuse of the source register at `low`.

        sm_70 takes bit 123 and bit 124 for the second of two registers (measured).
        """
        bit = self.reuse_bits.get(low, -1)
        if bit < 0:
            return 0
        if self.twin is not None and len(self.sources) == 2 and low == self.sources[1]:
            return 3 << 123
        return 1 << bit

    @cached_property
    def controls(self) -> frozenset[int]:
        """Allowed pairs of issue code (bits 109:105) and bits 124:122 (times 32)."""
        late, early = self._reuse_values
        out = {code | int(x) << 5 for x in late for code in range(17, 28)}
        out |= {code | int(x) << 5 for x in early for code in range(1, 16)}
        return frozenset(out | {0})

    @property
    def unscheduled(self) -> bool:
        """Whether it takes no issue code and no marks of reuse."""
        return self.controls == {0}

    @cached_property
    def barriers(self) -> tuple[int, int]:
        """Bits of the barriers that must hold a value, and the value."""
        kinds = self.options.get("bar", "")
        mask = (7 << 110 if "w" in kinds else 0) | (7 << 113 if "r" in kinds else 0)
        return mask | (0x3F << 116 if "m" in kinds else 0), mask


def _form(row: FormRow, tables: str) -> WideForm:
    """The form of a row."""
    code, *pairs = row.match.split(",")
    more, bits = fixed_bits(pairs)
    # Of a code such as `.1d` the braces name the rest.
    digits = code.lstrip(".")
    mask, value = (1 << 4 * len(digits)) - 1 | more | row.mask, int(digits, 16) | bits | row.value
    operands, options = row.operands, dict(o.partition("=")[::2] for o in row.options.split())
    if row.letter:
        mask |= 7 << 9 | _UNIFORM
        value |= _FORM_BITS[row.letter] << 9 | _UNIFORM_BIT[row.letter] << 91
        operands = _placed(operands.split(", "), row.letter)
    if tables in NO_UNIFORM or (tables == "75" and "loose" in options):
        mask, value = mask & ~_UNIFORM, value & ~_UNIFORM
    return WideForm(row.op, mask, value, row.modifiers, operands, options)


def _placed(operands: list[str], letter: str) -> str:
    """The operands of a variant: B and C become what stands there.

    In the rows B has the attributes of the operand in bits 63:32, C those of the register in
    bits 71:64, because signs stay with their field; only the places are swapped in I C X U.
    """
    own = {o.split()[0]: o.split()[1:] for o in operands if o.split()[0] in ("B", "C")}
    immediate = next((a[1:] for a in own.get("B", []) if a[0] == "="), "")
    plain_core = "U64" if letter in "skK" else "R64"
    signs = [a for a in own.get("B", []) if a[0] != "="]
    if letter in "iIkK":
        odd = ", ".join(immediate.replace("~~", " ").split("&"))
    else:
        odd = " ".join([_CORES[letter], *signs])
    plain = " ".join([plain_core, *own.get("C", [])])
    swapped = letter in "ICXUK"
    texts = {"B": plain if swapped else odd, "C": odd if swapped else plain}
    return ", ".join(texts.get(o.split()[0], o) for o in operands)


def forms_of(tables: str) -> Iterator[WideForm]:
    """Every form of an architecture's tables."""
    for row in rows_of(tables):
        yield _form(row, tables)
