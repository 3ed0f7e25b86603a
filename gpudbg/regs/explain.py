"""Register words explained field by field: plain frozen results with JSON and text forms."""

from __future__ import annotations

import difflib
import struct
from collections.abc import Iterator

from gpudbg.bits import lanes_of
from gpudbg.dataclass import dataclass
from gpudbg.errors import UsageError
from gpudbg.regs.families import family_of
from gpudbg.regs.port import (
    ALL_WORDS,
    LAYOUTS,
    SmRegister,
    find_word,
    locate_all,
    locate_broadcast,
    word_names,
)
from gpudbg.regs.ptx import (
    PtxRegister,
    find_ptx,
    find_ptx_vector,
    nearest_ptx,
)
from gpudbg.regs.special import (
    DEFAULT_SPA,
    SR_COUNT,
    SpecialRegister,
    disassembler_name,
    find_special,
    nearest_special,
    parse_spa,
)
from gpudbg.regs.warp_errors import error_of_field
from gpudbg.regs.words import BitRow, Certainty, Family, FieldKind, Json, RegisterWord

WORD_MAX = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True)
class FieldValue:
    """One field of an explained word."""

    row: BitRow
    value: int
    text: str

    def to_json(self) -> Json:
        """Plain values; `value` is the amount for in-place fields, else the field's bits."""
        row = self.row
        return {
            "name": row.name,
            "hi": row.bits.hi,
            "lo": row.bits.lo,
            "value": self.value,
            "text": self.text,
            "meaning": row.meaning,
            "mark": str(row.certainty),
            "reserved": row.reserved,
            "group": row.group,
            "note": row.note,
        }

    def line(self) -> str:
        """`13:8  WarpId = 5  meaning`."""
        bits = self.row.bits
        where = f"{bits.hi}:{bits.lo}" if bits.hi != bits.lo else f"{bits.lo}"
        mark = "" if self.row.certainty is Certainty.DOCUMENTED else f" [{self.row.certainty}]"
        note = f" ({self.row.note})" if self.row.note else ""
        return f"{where:>6}  {self.row.name} = {self.text}  {self.row.meaning}{mark}{note}"


@dataclass(frozen=True, slots=True)
class WordExplanation:
    """A register word taken apart.

    Attributes:
        name: register name.
        value: the word.
        meaning: one line about the register.
        facts: (name, value) pairs about the register, in display order.
        fields: every field, lowest bits first.
        stray: bits set where nothing is defined.
        notes: remarks, e.g. that the value cannot occur.
        look_at: what to inspect next.
    """

    name: str
    value: int
    meaning: str
    facts: tuple[tuple[str, str | int | bool | None], ...]
    fields: tuple[FieldValue, ...]
    stray: int
    notes: tuple[str, ...] = ()
    look_at: str = ""

    def to_json(self) -> Json:
        """Plain values, field list included."""
        return {
            "register": self.name,
            "value": self.value,
            "hex": f"{self.value:#010x}",
            "meaning": self.meaning,
            **dict(self.facts),
            "fields": [f.to_json() for f in self.fields],
            "reserved_bits_set": self.stray,
            "notes": list(self.notes),
            "look_at": self.look_at,
        }

    def lines(self) -> list[str]:
        """Header, fields that are defined, notes."""
        facts = ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in self.facts if v is not None)
        head = f"{self.name} = {self.value:#010x}"
        text = [head + (f"  ({facts})" if facts else "")]
        if self.meaning:
            text.append(f"  {self.meaning}")
        text += [f"  {f.line()}" for f in self.fields if not f.row.reserved]
        text += [f"  note: {note}" for note in self.notes]
        if self.look_at:
            text.append(f"  look at: {self.look_at}")
        return text


def _field_text(row: BitRow, word: int) -> str:
    """A field's value in words."""
    value = row.amount(word)
    name = row.value_name(value)
    if name is not None:
        return f"{value:#x} {name}"
    if row.kind is FieldKind.FLAG:
        return str(value)
    if row.kind is FieldKind.F32:
        return f"{struct.unpack('<f', value.to_bytes(4, 'little'))[0]:g} ({value:#010x})"
    if row.kind is FieldKind.MASK:
        return f"{value:#010x} ({_ranges(lanes_of(value))})"
    unit = f" {row.unit}" if row.unit else ""
    return f"{value} ({value:#x}){unit}" if value > 9 else f"{value}{unit}"


def _ranges(numbers: tuple[int, ...]) -> str:
    """0-3, 7 for (0, 1, 2, 3, 7); "none" for nothing."""
    parts: list[list[int]] = []
    for n in numbers:
        if parts and n == parts[-1][1] + 1:
            parts[-1][1] = n
        else:
            parts.append([n, n])
    return ", ".join(f"{a}-{b}" if b > a else f"{a}" for a, b in parts) or "none"


def _fields(rows: tuple[BitRow, ...], word: int) -> tuple[tuple[FieldValue, ...], int]:
    values = tuple(FieldValue(row, row.amount(word), _field_text(row, word)) for row in rows)
    stray = sum(v.row.bits.mask & word for v in values if v.row.reserved)
    return values, stray


def _check_word(value: int) -> None:
    if not 0 <= value <= WORD_MAX:
        raise UsageError(f"{value:#x} is no 32-bit register value")


# --- special registers -----------------------------------------------------------------------


def special_register(name_or_number: str | int) -> SpecialRegister:
    """The register of a name or number.

    Raises:
        UsageError: no such register; names close ones.
    """
    found = find_special(name_or_number)
    if found is not None:
        return found
    text = str(name_or_number)
    if text.lstrip("-").isdecimal():
        raise UsageError(f"SR{text}: special registers are numbered 0 .. {SR_COUNT - 1}")
    near = nearest_special(text)
    hint = "closest: " + ", ".join(near) if near else "give a name (SR_VirtId) or a number (3)"
    if find_ptx(text) or find_ptx_vector(text):
        hint = f"a PTX register: gpudbg decode ptx {text}"
    raise UsageError(f"no special register {text!r}", hint)


def explain_sr(name_or_number: str | int, value: int, spa: str = DEFAULT_SPA) -> WordExplanation:
    """A special register's value under an SPA version ("5.0", "5.3", "sm_61").

    Raises:
        UsageError: unknown register, value of more than 32 bits, or no SPA version.
    """
    row = special_register(name_or_number)
    _check_word(value)
    try:
        version = parse_spa(spa)
    except ValueError as error:
        raise UsageError(str(error)) from None
    values, stray = _fields(row.fields(spa), value)
    facts: tuple[tuple[str, str | int | bool | None], ...] = (
        ("number", row.number),
        ("disassembler", disassembler_name(row.number, spa)),
        ("spa", ".".join(map(str, version))),
        ("scope", None if row.scope is None else str(row.scope)),
        ("shaders", None if row.shaders is None else str(row.shaders)),
        ("cs2r", row.coupled),
    )
    notes = tuple(_special_notes(row, value, stray))
    return WordExplanation(row.name, value, "", facts, values, stray, notes)


def _special_notes(row: SpecialRegister, value: int, stray: int) -> Iterator[str]:
    if row.reserved:
        yield "reserved: reads zero"
    if row.note:
        yield row.note
    if not row.coupled:
        yield "CS2R of this register gives 0"
    if stray:
        yield f"bits {stray:#010x} are set but unused: they always read zero"
    if row.constant is not None and value != row.constant:
        yield f"this register always reads {row.constant:#x}"


# --- error and debugger words ----------------------------------------------------------------


def register_word(reg: str) -> RegisterWord:
    """The word of a name, an alias or an SM register address.

    Raises:
        UsageError: no such register; names close ones.
    """
    address = _address(reg)
    found = find_word(reg) if address is None else _word_at(address)
    if found is None:
        near = difflib.get_close_matches(reg.strip().upper(), word_names(), n=3, cutoff=0.5)
        known = near or [word.name for word in ALL_WORDS]
        raise UsageError(f"no error or debugger register {reg!r}", "try " + ", ".join(known))
    return found


def _address(text: str) -> int | None:
    """An MMIO address; names are none."""
    try:
        return int(text, 16) if text.lower().startswith("0x") else None
    except ValueError:
        return None


def _word_at(address: int) -> RegisterWord | None:
    places = locate_all(address)
    name = places[0].register if places else locate_broadcast(address)
    return find_word(name) if name else None


def family_of_text(text: str) -> tuple[Family, ...]:
    """Families of a name ("Maxwell"), an architecture ("sm_52") or a layout ("Volta-Ampere").

    Raises:
        UsageError: none of those.
    """
    wanted = text.strip().lower()
    by_name = tuple(f for f in Family if f.value.lower() == wanted)
    by_layout = tuple(f for lay in LAYOUTS if lay.name.lower() == wanted for f in lay.families)
    by_arch = _family_of_arch(wanted)
    found = by_name or by_layout or by_arch
    if not found:
        names = ", ".join(f.value for f in Family)
        raise UsageError(f"no chip family {text!r}", f"one of {names}, or an architecture (sm_52)")
    return found


def _family_of_arch(text: str) -> tuple[Family, ...]:
    family = family_of(text)
    return () if family is None else (family,)


def _places(reg: str, families: tuple[Family, ...]) -> tuple[tuple[SmRegister, ...], str]:
    """Every reading of an SM register address, those of `families` if any fits; and in words."""
    address = _address(reg)
    found = locate_all(address) if address is not None else ()
    places = tuple(p for p in found if set(p.layout.families) & set(families)) or found
    named = [f"{p.place()} ({p.layout.name}, {p.layout.certainty})" for p in places]
    return places, " or ".join(named)


def explain_esr(reg: str, value: int, family: str | Family | None = None) -> WordExplanation:
    """An error status or debugger register's value on a chip family.

    Args:
        reg: name (HWW_WARP_ESR, SR66, DBGR_CONTROL0 ...), alias or SM register address.
        value: the 32-bit word.
        family: chip family, architecture or layout name; without one what the address says,
            else Maxwell.

    Raises:
        UsageError: unknown register or family, a register the family lacks, or a wide value.
    """
    word = register_word(reg)
    _check_word(value)
    families = family_of_text(str(family)) if family is not None else ()
    places, where = _places(reg, families)
    fits = tuple(f for p in places for f in p.layout.families)
    if not families:
        families = fits if fits and Family.MAXWELL not in fits else (Family.MAXWELL,)
    chosen = next((f for f in reversed(families) if f in word.families), None)
    if chosen is None:
        has = ", ".join(word.families)
        raise UsageError(f"{word.name} is not known on {family}", f"known on {has}")
    values, stray = _fields(word.rows_for(chosen), value)
    facts: tuple[tuple[str, str | None], ...] = (
        ("family", chosen.value),
        ("cleared_by", word.clearing or None),
        *((("place", where),) if where else ()),
    )
    notes = tuple(_word_notes(word, value, stray))
    if fits and chosen not in fits:
        notes += (f"{chosen} has no SM register at {reg}",)
    return WordExplanation(
        word.name, value, word.meaning, facts, values, stray, notes, _error_notes(word, value)[1]
    )


_ERROR_FIELDS = {"HWW_WARP_ESR": 0xFFFF, "SR_WarpErrorStatus": 0xFF}


def _error_notes(word: RegisterWord, value: int) -> tuple[tuple[str, ...], str]:
    """(notes, look_at) about the error code a word carries."""
    mask = _ERROR_FIELDS.get(word.name, 0)
    code = value & mask
    if not code:
        return (), word.look_at
    row, whole = error_of_field(code)
    if row is None:
        return (f"no public table names error code {code:#04x}",), word.look_at
    if whole:
        return (row.meaning,), row.look_at
    doubt = f"{code:#06x} is no known code; its low byte would be {row.name} [uncertain]"
    return (doubt, row.meaning), row.look_at


def _word_notes(word: RegisterWord, value: int, stray: int) -> Iterator[str]:
    yield from _error_notes(word, value)[0]
    if stray:
        yield f"bits {stray:#010x} are set without a public name"


# --- PTX -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PtxExplanation:
    """What one PTX special register is and what it becomes: on every target, or on `arch`."""

    row: PtxRegister
    arch: str = ""

    def _lowering(self) -> dict[str, str]:
        """Texts by the first target they hold for."""
        if not self.arch:
            return {_arch(low.since): low.text() for low in self.row.lowerings}
        found = self.row.lowering(self.arch)
        return {self.arch: found.text()} if found is not None else {}

    def to_json(self) -> Json:
        """Plain values; `lowering` by first architecture."""
        row = self.row
        return {
            "name": row.name,
            "type": row.type,
            "width": row.width,
            "ptx_isa": row.isa,
            "target": row.target or "all",
            "meaning": row.meaning,
            "history": row.history,
            "limits": [{"targets": t, "limit": limit} for t, limit in row.limits],
            "lowering": self._lowering(),
            "mark": str(row.certainty),
        }

    def lines(self) -> list[str]:
        """Header, history, limits, lowering per architecture."""
        row = self.row
        target = f", needs {row.target}" if row.target else ", every target"
        text = [f"{row.name}  .{row.type}  PTX ISA {row.isa}{target}", f"  {row.meaning}"]
        if row.history:
            text.append(f"  {row.history}")
        text += [f"  limit on {targets}: {limit}" for targets, limit in row.limits]
        on = "" if self.arch else " on"
        text += [f"  {first}{on}: {low}" for first, low in self._lowering().items()]
        return text


def _arch(version: tuple[int, int]) -> str:
    return f"sm_{version[0]}{version[1]}"


def explain_ptx(name: str, arch: str = "") -> tuple[PtxExplanation, ...]:
    """The register of a name, or every component of a vector (`%tid`); on `arch` alone if given.

    Raises:
        UsageError: unknown, or of a later target; names close ones.
    """
    found = find_ptx(name)
    rows = (found,) if found is not None else find_ptx_vector(name)
    if arch and rows and rows[0].lowering(arch) is None:
        raise UsageError(f"{name} needs {rows[0].target}: ptxas refuses it for {arch}")
    if rows:
        return tuple(PtxExplanation(row, arch) for row in rows)
    near = nearest_ptx(name)
    hint = "closest: " + ", ".join(near) if near else "PTX names start with %, e.g. %tid.x"
    raise UsageError(f"no PTX special register {name!r}", hint)


def certainty_of(reg: str, value: int, family: str | None = None) -> Certainty:
    """How the fields that are set in a register's value are known: the least certain one's mark."""
    order = list(Certainty)
    marks = [f.row.certainty for f in explain_esr(reg, value, family).fields if f.value]
    return max(marks, key=order.index, default=Certainty.DOCUMENTED)
