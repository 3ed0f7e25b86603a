"""Parts of an instruction's text: how a field prints, and which bits a text stands for.

Every `Part` has both directions: `show` gives the text of a word, `scan` finds the part at a
position of a text and gives the bits that print it.  `spec` makes parts from the form tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import product
from typing import NamedTuple

from gpudbg.dataclass import dataclass

from ...bits import Field, sign_extend
from ..bitsets import Bits
from ..floats import format_float, parse_float, scan_float
from .sregs import special_name, special_number

WIDE_UNIFORM = frozenset({"100", "103", "110", "120"})
"""Tables whose uniform registers are numbered in eight bits."""
WORD_BYTES = 16
_TEXTS_LIMIT = 1 << 14
"""Most texts of one operand that are kept."""
_MUFU_LOW, _MUFU_64H = 74, (6, 7)
"""Where MUFU names its function, and the functions of the high word of an f64."""
_SCOREBOARDS = 6
_NAMES = {"R": "R", "U": "UR", "P": "P", "Q": "UP", "V": "???"}
_STANDARD = {"R": 8, "P": 3, "Q": 3}
_QUIET = {"f32": 22, "mufu": 22, "f64h": 19, "f16": 9, "bf16": 6}
"""The bit that tells a quiet NaN from a signalling one."""
_NUMBER = re.compile(r"-?(?:0x[0-9a-fA-F]{1,40}|\d{1,40})(?![0-9a-fA-F])")
_REUSE = ".reuse"
_REUSE_ACTS = 109
"""The bit that makes bits 124:122 mark reused operands."""

Show = Callable[[int, int], str]
"""The text of a part of a word at an address."""


class Reading(NamedTuple):
    """A part found in a text: where it ends, its bits, and which bits it decides."""

    end: int
    bits: int
    mask: int

    def then(self, other: Reading) -> Reading | None:
        """Both, one after the other; None where they disagree about a bit."""
        if (self.bits ^ other.bits) & self.mask & other.mask:
            return None
        return Reading(other.end, self.bits | other.bits, self.mask | other.mask)


Scan = Callable[[str, int, int], Iterator[Reading]]
"""Every reading of a part at a position of a text, for an instruction at an address."""


class RegisterField(NamedTuple):
    """A field that names a register.

    Attributes:
        letter: R, U (uniform), P or Q (uniform predicate).
        low: its lowest bit; -1 for a register that the form fixes.
        get: the number a word holds.
        zero: the number that is no register: RZ, PT or a sibling.
    """

    letter: str
    low: int
    get: Callable[[int], int]
    zero: int


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the text.

    Attributes:
        mask: the bits it depends on.
        show: its text.
        scan: the bits a text stands for.
        relative: depends on the address.
        omit: texts that are left out.
        maybe: texts that are left out as the form's option `omit=` says.
        separator: what stands after it.
        registers: the register fields in it.
        expected: what it is, for messages.
        refusals: fields in it with refused values.
    """

    mask: int
    show: Show
    scan: Scan
    relative: bool = False
    omit: frozenset[str] = frozenset()
    maybe: frozenset[str] = frozenset()
    separator: str = ", "
    registers: tuple[RegisterField, ...] = ()
    expected: str = "modifier"
    refusals: tuple[WideSite, ...] = ()


def fixed(text: str) -> Part:
    """A text that stands for no bits."""

    def scan(source: str, pos: int, pc: int) -> Iterator[Reading]:
        if source.startswith(text, pos):
            yield Reading(pos + len(text), 0, 0)

    return Part(0, lambda word, pc: text, scan, expected=text or "nothing")


def in_turn(scans: Sequence[Scan], source: str, pos: int, pc: int) -> Iterator[Reading]:
    """Readings of several parts that stand one after another."""
    yield from _after(Reading(pos, 0, 0), scans, source, pc)


def _after(first: Reading, scans: Sequence[Scan], source: str, pc: int) -> Iterator[Reading]:
    if not scans:
        yield first
        return
    for found in scans[0](source, first.end, pc):
        both = first.then(found)
        if both is not None:
            yield from _after(both, scans[1:], source, pc)


@dataclass(frozen=True)
class WideSite:
    """A modifier field and the texts of its values; None is refused."""

    bits: Bits
    texts: tuple[str | None, ...]

    def part(self) -> Part:
        """The site as text."""
        get, texts = self.bits.get, self.texts
        return Part(
            self.bits.mask,
            lambda word, pc: texts[get(word)] or "",
            self.scan,
            expected=self.names,
            refusals=(self,) if None in texts else (),
        )

    @property
    def names(self) -> str:
        """The first few texts."""
        known = list(dict.fromkeys(t for t in self.texts if t and "?" not in t))
        return " ".join(known[:8]) + (" ..." if len(known) > 8 else "")

    def scan(self, source: str, pos: int, pc: int) -> Iterator[Reading]:
        """Values whose text stands there, longest text first."""
        for text, bits in self._by_length:
            if source.startswith(text, pos):
                yield Reading(pos + len(text), bits, self.bits.mask)

    @cached_property
    def _by_length(self) -> list[tuple[str, int]]:
        count = 1 << self.bits.width
        texts = enumerate(self.texts[:count])
        known = [(text, self.bits.put(value)) for value, text in texts if text is not None]
        return sorted(known, key=lambda row: -len(row[0]))


# ---- numbers and registers -------------------------------------------------------------
CORE = re.compile(r"(SR|[RUPQBISTV])(=?-?[\d:+]*\d)?((?:\*\d+)?)((?:\+\d+)?)(\^?)(.*)")


def number_text(value: int) -> str:
    """A number as nvdisasm prints it."""
    return f"-{-value:#x}" if value < 0 else f"{value:#x}"


def _scoreboard(number: int) -> str:
    """There are six; other numbers are accepted."""
    return f"SB{number}" if number < _SCOREBOARDS else f"INVALID{number}"


def _named(letter: str, zero: int, name: str) -> Callable[[int], str]:
    """Register names: all ones is RZ, PT or their uniform siblings."""
    last = f"{name}T" if letter in "PQ" else f"{name}Z"
    return lambda value: last if value == zero else f"{name}{value}"


class Core:
    """A number in a field: a register, an immediate or a target.

    Args:
        token: its notation in a form table; what follows the number is `rest`.
        arch: the tables it is read for.

    Raises:
        ValueError: no such notation.
    """

    def __init__(self, token: str, arch: str) -> None:
        found = CORE.fullmatch(token)
        if not found:
            raise ValueError(f"operand {token!r}")
        self.letter = found[1]
        self.arch = arch
        where, self.rest = found[2] or "", found[6]
        self.scale, self.add = int(found[3][1:] or 1), int(found[4] or 0)
        if self.letter == "U" and where[-2:] in ("+1", "+2"):
            # A later register of a group, not a further range: no uniform field has these bits.
            where, self.add = where[:-2], int(where[-1])
        self.inverted = bool(found[5])
        self.fixed: int | None = int(where[1:]) if where.startswith("=") else None
        if self.fixed is None and where.isdigit() and self.letter in _NAMES:
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
            known = self.fixed
            return lambda word: known
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
        if self.letter in _NAMES:
            if self.fixed is not None:
                return {"R": 255, "U": -1}.get(self.letter, 7)
            return (1 << self.bits.width) - 1
        return 0

    def show(self) -> Show:
        """Its text."""
        value, arch = self.value(), self.arch
        match self.letter:
            case "R" | "U" | "P" | "Q" | "V":
                name = _named(self.letter, self.zero, _NAMES[self.letter])
                return lambda word, pc: name(value(word))
            case "B":
                return lambda word, pc: _scoreboard(value(word))
            case "SR":
                return lambda word, pc: special_name(value(word), arch)
            case "T":
                return lambda word, pc: number_text(pc + WORD_BYTES + value(word))
            case _:
                return lambda word, pc: number_text(value(word))

    @property
    def expected(self) -> str:
        """What it is, for messages."""
        return _EXPECTED.get(self.letter, "a number")

    def registers(self) -> tuple[RegisterField, ...]:
        """The register it names."""
        if self.letter not in ("R", "U", "P", "Q"):
            return ()
        low = self.bits.ranges[0].lo if self.bits.ranges else -1
        return (RegisterField(self.letter, low, self.value(), self.zero),)

    def scan(self, source: str, pos: int, pc: int) -> Iterator[Reading]:
        """The number or name that stands there."""
        if self.letter in _NAMES or self.letter == "B":
            found = _register_pattern(self.letter).match(source, pos)
            if found:
                value = self.zero if found[1] is None else int(found[1])
                yield from self._made(found.end(), value, named=found[1] is None)
                if found[1] is None and self.letter == "U" and self.add:
                    # The register after the last one reads as URZ, too.
                    raw = self.zero - self.add
                    yield Reading(found.end(), self.bits.put(raw), self.bits.mask)
        elif self.letter == "SR":
            found = _SPECIAL.match(source, pos)
            number = special_number(found[0], self.arch) if found else None
            if found and number is not None:
                yield from self._made(found.end(), number)
        elif found := _NUMBER.match(source, pos):
            value = int(found[0], 16 if "x" in found[0] else 10)
            if self.letter == "T":
                value -= pc + WORD_BYTES
            yield from self._made(found.end(), value)

    def _made(self, end: int, value: int, named: bool = False) -> Iterator[Reading]:
        """The reading of a number that ends at `end`, when the field can hold it."""
        raw = self.raw(value, named)
        if raw is not None:
            yield Reading(end, self.bits.put(raw), self.bits.mask)

    def raw(self, value: int, named: bool = False) -> int | None:
        """The field of a number, None where it does not fit; `named`: RZ, PT or a sibling."""
        if self.fixed is not None:
            return 0 if value == self.fixed else None
        width = self.bits.width
        ones = (1 << width) - 1
        if self.letter in _NAMES:
            if named:
                return self.zero ^ (ones if self.inverted else 0)
            value -= self.add
            fits = 0 <= value < self.zero
            return (value ^ ones if self.inverted else value) if fits else None
        value, rest = divmod(value - self.add, self.scale)
        if rest:
            return None
        if self.letter in "ST":
            # A number written without its sign is taken as the bits, as compilers' masks are.
            high = 1 << width if self.letter == "S" else 1 << (width - 1)
            return value & ones if -(1 << (width - 1)) <= value < high else None
        if self.inverted:
            value ^= ones
        return value if 0 <= value <= ones else None


_EXPECTED = {
    "R": "a register", "U": "a uniform register", "P": "a predicate",
    "Q": "a uniform predicate", "B": "a scoreboard", "SR": "a special register",
    "T": "an address",
}  # fmt: skip
_SPECIAL = re.compile(r"[A-Za-z_][\w.]*")
_PATTERNS = {
    letter: re.compile(
        rf"{re.escape(name)}(?:(\d{{1,4}})|{'T' if letter in 'PQ' else 'Z'})(?![\w])"
    )
    for letter, name in _NAMES.items()
} | {"B": re.compile(r"(?:SB|INVALID)(\d{1,4})(?!\d)")}


def _register_pattern(letter: str) -> re.Pattern[str]:
    return _PATTERNS[letter]


# ---- floats ----------------------------------------------------------------------------
@dataclass(frozen=True)
class FloatField:
    """A float immediate.

    Attributes:
        kind: f32, f64h (the high word of an f64), f16, bf16, or mufu: f32, but f64h for the
            functions of the high word.
        low: its lowest bit.
        arch: the tables it is read for.
        head_mask: bits of the modifiers, which may make an f16 a bf16.
        head: the modifiers' text.
    """

    kind: str
    low: int
    arch: str
    head_mask: int = 0
    head: Callable[[int], str] = field(default=lambda word: "")

    @property
    def width(self) -> int:
        """Bits of the field."""
        return 16 if self.kind in ("f16", "bf16") else 32

    def part(self) -> Part:
        """The field as text."""
        own = ((1 << self.width) - 1) << self.low
        function = 15 << _MUFU_LOW if self.kind == "mufu" else 0
        mask = own | self.head_mask | function
        return Part(mask, self.show, self.scan, expected="a float")

    def show(self, word: int, pc: int) -> str:
        """Its text."""
        value = word >> self.low & ((1 << self.width) - 1)
        if self._high_word(word):
            return format_float(value << 32, 64)
        if self._brain(word):
            return self._signalling(format_float(value << 16, 32), value >> _QUIET["bf16"])
        return self._signalling(format_float(value, self.width), value >> _QUIET[self.kind])

    def _brain(self, word: int) -> bool:
        """Whether it is a bf16: the last format that the modifiers name is that of the source."""
        if self.kind == "bf16" or not self.head_mask:
            return self.kind == "bf16"
        head = self.head(word)
        return head.rfind(".BF16") > head.rfind(".F16")

    def _signalling(self, text: str, quiet: int) -> str:
        """The text of a NaN whose quiet bit is clear, as newer tools print it."""
        if quiet & 1 or self.arch not in WIDE_UNIFORM:
            return text
        return text.replace("QNAN", "SNAN")

    def _high_word(self, word: int) -> bool:
        return self.kind == "f64h" or (self.kind == "mufu" and word >> _MUFU_LOW & 15 in _MUFU_64H)

    def scan(self, source: str, pos: int, pc: int) -> Iterator[Reading]:
        """The float there, in every format that the field can have."""
        found = scan_float(source, pos)
        if found is None:
            return
        mask = ((1 << self.width) - 1) << self.low
        for value in self._values(found[1]):
            if value is not None:
                yield Reading(found[0], value << self.low, mask)

    def _values(self, literal: str) -> Iterator[int | None]:
        """Patterns of a literal; raw bits (`0x...`) stand for themselves in every format."""
        if literal.startswith("0x"):
            value = int(literal, 16)
            yield value if not value >> self.width else None
            return
        if self.kind in ("f32", "mufu"):
            yield _pattern(literal, 32)
        if self.kind in ("f64h", "mufu"):
            high = _pattern(literal, 64)
            yield None if high is None else high >> 32
        if self.kind == "f16":
            yield _pattern(literal, 16)
        if self.kind == "bf16" or self.head_mask:
            wide = _pattern(literal, 32)
            yield None if wide is None else wide >> 16


def _pattern(literal: str, width: int) -> int | None:
    try:
        return parse_float(literal, width)
    except OverflowError:
        return None


# ---- brackets --------------------------------------------------------------------------
ALWAYS, NUMBERED, REFUSED, AS_REGISTER = "!%#@"
"""Marks behind a member of brackets: printed even when zero; the same, with RZ as ???255; refused
when zero; a number 0 that stands alone prints as RZ."""


class Member:
    """What stands in brackets between plus signs: a number with its suffixes.

    A member that is zero (RZ, URZ, 0) is not printed unless its mark or its suffix says so.
    """

    def __init__(self, token: str, arch: str, site: Callable[[str], Part]) -> None:
        self.mark = token[-1] if token[-1] in ALWAYS + NUMBERED + REFUSED + AS_REGISTER else ""
        head, *sites = re.split(r"[<>]", token.removesuffix(self.mark))
        self.core = Core(head, arch)
        self.suffix = [fixed(self.core.rest)] if self.core.rest else []
        self._choices = [site(s) for s in sites if s]
        self.suffix += self._choices
        self._show = with_suffix(self.core.show(), self.suffix)
        self._value = self.core.value()

    @property
    def mask(self) -> int:
        """The bits it depends on."""
        out = self.core.bits.mask
        for part in self.suffix:
            out |= part.mask
        return out

    def refusal(self) -> WideSite | None:
        """The field with its refused value, where it has one."""
        if self.mark != REFUSED:
            return None
        zero = self.core.zero
        return WideSite(self.core.bits, (*("" for _ in range(zero)), None))

    def is_zero(self, word: int) -> bool:
        """Whether it is nothing."""
        return self._value(word) == self.core.zero

    def printed(self, word: int) -> bool:
        """Whether it stands in the text when others do."""
        if self.mark in (ALWAYS, NUMBERED) and self.mark:
            return True
        return not self.is_zero(word) or any(part.show(word, 0) for part in self._choices)

    def show(self, word: int, pc: int) -> str:
        """Its text."""
        text = self._show(word, pc)
        if self.mark == NUMBERED and self.is_zero(word):
            number = f"???{self.core.zero}"
            return number + text[3 if text.startswith("URZ") else 2 :]
        return text

    def alone(self, word: int, pc: int) -> str:
        """Its text where nothing else stands in the brackets."""
        return "RZ" if self.mark == AS_REGISTER and self.is_zero(word) else self.show(word, pc)

    def scan(self, source: str, pos: int, pc: int) -> Iterator[Reading]:
        """Its readings as a member that is printed."""
        if self.mark == NUMBERED and source.startswith(f"???{self.core.zero}", pos):
            raw = self.core.raw(self.core.zero, named=True)
            head = self._bits(pos + 3 + len(str(self.core.zero)), raw)
        elif self.mark == AS_REGISTER and source.startswith("RZ]", pos):
            head = self._bits(pos + 2, self.core.raw(0))
        else:
            yield from in_turn([self.core.scan, *(p.scan for p in self.suffix)], source, pos, pc)
            return
        for found in head:
            for after in in_turn([p.scan for p in self.suffix], source, found.end, pc):
                both = found.then(after)
                if both is not None:
                    yield both

    def _bits(self, end: int, raw: int | None) -> Iterator[Reading]:
        if raw is not None:
            yield Reading(end, self.core.bits.put(raw), self.core.bits.mask)

    def scan_absent(self, source: str, pos: int, pc: int) -> Iterator[Reading]:
        """The reading of a member that is not printed: zero, without suffixes."""
        if self.mark in (ALWAYS, NUMBERED) and self.mark:
            return
        raw = self.core.raw(self.core.zero, named=self.core.letter in _NAMES)
        for found in self._bits(pos, raw):
            # Fixed suffixes go with their member.
            for silent in in_turn([part.scan for part in self._choices], "", 0, pc):
                both = found.then(silent)
                if both is not None:
                    yield Reading(pos, both.bits, both.mask)


class Bracket:
    """One pair of brackets.

    Args:
        members: their notation, with commas between.
        arch: the tables it is read for.
        site: makes a suffix from its notation.
    """

    def __init__(self, members: str, arch: str, site: Callable[[str], Part]) -> None:
        self._members = [Member(token, arch, site) for token in filter(None, members.split(","))]
        self.registers = tuple(r for m in self._members for r in m.core.registers())

    @property
    def mask(self) -> int:
        """The bits it depends on."""
        out = 0
        for member in self._members:
            out |= member.mask
        return out

    @property
    def refusals(self) -> list[WideSite]:
        """Fields with refused values."""
        return [site for m in self._members if (site := m.refusal()) is not None]

    def show(self, word: int, pc: int) -> str:
        """Its text."""
        shown = [m.show(word, pc) for m in self._members if m.printed(word)]
        if not shown and self._members:
            shown = [self._members[0].alone(word, pc)]
        return f"[{'+'.join(shown)}]"

    def scan(self, source: str, pos: int, pc: int) -> Iterator[Reading]:
        """Readings of the brackets, whichever members stand there."""
        if not source.startswith("[", pos):
            return
        for kept in product((True, False), repeat=len(self._members)):
            scans: list[Scan] = [fixed("[").scan]
            for number, (member, here) in enumerate(zip(self._members, kept, strict=True)):
                if here and any(kept[:number]):
                    scans.append(fixed("+").scan)
                scans.append(member.scan if here else member.scan_absent)
            yield from in_turn([*scans, fixed("]").scan], source, pos, pc)


def with_suffix(show: Show, suffix: Sequence[Part]) -> Show:
    """A text and the texts of what follows it."""
    if not suffix:
        return show
    return lambda word, pc: show(word, pc) + "".join(part.show(word, pc) for part in suffix)


# ---- signs around an operand -----------------------------------------------------------
@dataclass(frozen=True)
class WideSign:
    """A sign bit: `-`, `|`, `~` or `!`, printed when the bit is set (clear: `acts` False).

    A sign that always prints has no bit (-1).
    """

    mark: str
    bit: int
    acts: bool = True

    @classmethod
    def parse(cls, text: str) -> WideSign:
        """The notation `-63`, `!^63` (when clear) or `~always`."""
        mark, where = text[0], text[1:]
        if where == "always":
            return cls(mark, -1)
        return cls(mark, int(where.lstrip("^")), where[0] != "^")

    @property
    def mask(self) -> int:
        """Its bit."""
        return 1 << self.bit if self.bit >= 0 else 0

    def on(self, word: int) -> bool:
        """Whether it prints."""
        return self.bit < 0 or bool(word >> self.bit & 1) == self.acts

    def reading(self, pos: int, on: bool) -> Reading | None:
        """The bit for a sign that is there or not."""
        if self.bit < 0:
            return Reading(pos, 0, 0) if on else None
        return Reading(pos, self.mask if on == self.acts else 0, self.mask)


class Signed:
    """Signs, bars, `.reuse` and suffixes around an operand.

    Args:
        core: the operand.
        signs: what can stand before it.
        suffix: what follows.
        reuse: the bit that marks its reuse, or -1; and all bits that do.
        inside: the suffix stands inside the bars.
    """

    def __init__(
        self,
        core: Part,
        signs: Sequence[WideSign],
        suffix: Sequence[Part],
        reuse: tuple[int, int],
        inside: bool,
    ) -> None:
        self._core = core
        self._bars = next((s for s in signs if s.mark == "|"), None)
        self._signs = sorted((s for s in signs if s.mark != "|"), key=lambda s: "-~!".index(s.mark))
        self._suffix = suffix
        self._reuse, self._reuse_mask = reuse
        self._inside = inside

    @property
    def mask(self) -> int:
        """The bits it depends on."""
        out = self._core.mask | self._reuse_mask
        out |= 1 << _REUSE_ACTS if self._reuse_mask else 0
        for sign in (*self._signs, *filter(None, [self._bars])):
            out |= sign.mask
        for part in self._suffix:
            out |= part.mask
        return out

    def show(self, word: int, pc: int) -> str:
        """Its text."""
        out = self._core.show(word, pc)
        tail = "".join(part.show(word, pc) for part in self._suffix)
        reused = word >> _REUSE_ACTS & 1 and word & self._reuse_mask
        mark = _REUSE if reused else ""
        if self._bars is not None and self._bars.on(word):
            out = f"|{out}{tail}|{mark}" if self._inside else f"|{out}|{mark}{tail}"
        else:
            out += mark + tail
        for sign in self._signs:
            if sign.on(word):
                out = sign.mark + out
        return out

    def scan(self, source: str, pos: int, pc: int) -> Iterator[Reading]:
        """Readings with each of the signs there or not."""
        scans: list[Scan] = [_mark(sign) for sign in reversed(self._signs)]
        tail = [part.scan for part in self._suffix]
        reuse = [self._scan_reuse] if self._reuse >= 0 else []
        if self._bars is None:
            yield from in_turn([*scans, self._core.scan, *reuse, *tail], source, pos, pc)
            return
        bar = fixed("|").scan
        inner = [bar, self._core.scan, *(tail if self._inside else []), bar]
        inner += [*reuse, *([] if self._inside else tail)]
        for middle, on in ((inner, True), ([self._core.scan, *reuse, *tail], False)):
            held = [_silent(self._bars, on)]
            yield from in_turn([*scans, *held, *middle], source, pos, pc)

    def _scan_reuse(self, source: str, pos: int, pc: int) -> Iterator[Reading]:
        if not source.startswith(_REUSE, pos):
            yield Reading(pos, 0, 0)
            return
        others = (b for b in range(128) if self._reuse_mask >> b & 1 and b != self._reuse)
        for bit in (self._reuse, *others):
            both = 1 << bit | 1 << _REUSE_ACTS
            yield Reading(pos + len(_REUSE), both, both)


def _mark(sign: WideSign) -> Scan:
    """A sign that is there, or not."""

    def scan(source: str, pos: int, pc: int) -> Iterator[Reading]:
        # A minus may belong to the number behind it: both are tried.
        if source.startswith(sign.mark, pos):
            found = sign.reading(pos + 1, True)
            if found is not None:
                yield found
        found = sign.reading(pos, False)
        if found is not None:
            yield found

    return scan


def _silent(sign: WideSign, on: bool) -> Scan:
    """A sign whose marks are read elsewhere."""

    def scan(source: str, pos: int, pc: int) -> Iterator[Reading]:
        found = sign.reading(pos, on)
        if found is not None:
            yield found

    return scan


def numbered(part: Part) -> Part:
    """A register whose last number prints as ???n: the form does not take RZ there."""
    (register,) = part.registers
    odd = f"???{register.zero}"

    def show(word: int, pc: int) -> str:
        return odd if register.get(word) == register.zero else part.show(word, pc)

    def scan(source: str, pos: int, pc: int) -> Iterator[Reading]:
        if source.startswith(odd, pos):
            yield Reading(pos + len(odd), part.mask, part.mask)
        yield from part.scan(source, pos, pc)

    return replace(part, show=show, scan=scan)


def remembered(mask: int, show: Show) -> Show:
    """The same, looked up by the bits the text depends on: programs repeat their operands."""
    texts: dict[int, str] = {}

    def table_text(word: int, pc: int) -> str:
        key = word & mask
        found = texts.get(key)
        if found is None:
            if len(texts) >= _TEXTS_LIMIT:
                texts.clear()
            found = texts[key] = show(word, pc)
        return found

    return table_text
