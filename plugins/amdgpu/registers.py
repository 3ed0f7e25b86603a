"""Hardware registers by processor: ids, names, bit fields, what values mean, who may write.

The tables are the TOML files of `data/`; they are read once, on first use.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from gpudbg.bits import Field, mask
from gpudbg.errors import UsageError

WHOLE = Field(31, 0)
PREFIX = "HW_REG_"
DEFAULT_PROCESSOR = "gfx1010"

_DATA = Path(__file__).parent / "data"


@cache
def _table(name: str) -> dict[str, Any]:
    return tomllib.loads((_DATA / f"{name}.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class SubField:
    """A sub-field: what it is for, its bits in the register, names of its values."""

    of: str
    bits: Field
    values: Mapping[int, str]

    def explain(self, register: int) -> str:
        """What the sub-field says in a value of the register."""
        value = self.bits.get(register)
        return f"{self.of}: {self.values.get(value, value)}"


@dataclass(frozen=True, slots=True)
class FieldRow:
    """One field of a register.

    Args:
        name: as the register headers have it.
        bits: its place.
        text: meaning, or "" where the name is all there is.
        values: names of values.
        flags: names of its bits, lowest first.
        parts: sub-fields.
        certainty: "documented", or "inferred" where no header of the generation has it.
    """

    name: str
    bits: Field
    text: str = ""
    values: Mapping[int, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    parts: tuple[SubField, ...] = ()
    certainty: str = "documented"

    def explain(self, value: int) -> str:
        """What a value of this field says."""
        if self.flags:
            raised = [name for i, name in enumerate(self.flags) if value >> i & 1]
            return ", ".join(raised) or "none"
        if self.parts:
            return "; ".join(part.explain(value << self.bits.lo) for part in self.parts)
        return self.values.get(value, "")


@dataclass(frozen=True, slots=True)
class OperandField:
    """A field with its value, or with the part of it that an operand reads.

    Args:
        row: the field.
        value: of the whole field when `covered` is all of it, else of the covered bits.
        covered: the bits of the register that are known.
    """

    row: FieldRow
    value: int
    covered: Field

    @property
    def whole(self) -> bool:
        """Whether all bits of the field are known."""
        return self.covered == self.row.bits

    @property
    def meaning(self) -> str:
        """What the value says; nothing for a part of a field."""
        return self.row.explain(self.value) if self.whole else ""

    def to_json(self) -> dict[str, Any]:
        """As a JSON-able dict."""
        data: dict[str, Any] = {
            "name": self.row.name,
            "high": self.row.bits.hi,
            "low": self.row.bits.lo,
            "value": self.value,
            "text": self.row.text,
            "meaning": self.meaning,
            "certainty": self.row.certainty,
        }
        if not self.whole:
            data["covered"] = {"high": self.covered.hi, "low": self.covered.lo}
        return data

    def line(self) -> str:
        """As one line."""
        bits = _bits(self.row.bits)
        part = "" if self.whole else f" (bits {_bits(self.covered)} of it)"
        words = "; ".join(text for text in (self.row.text, self.meaning) if text)
        return f"{bits:>5}  {self.row.name:<22} {_number(self.value)}{part}  {words}".rstrip()


def _bits(bits: Field) -> str:
    return f"{bits.hi}:{bits.lo}" if bits.width > 1 else str(bits.lo)


def _number(value: int) -> str:
    return str(value) if value < 10 else f"0x{value:x}"


@dataclass(frozen=True, slots=True)
class Writable:
    """Which bits of a register s_setreg can change.

    Args:
        bits: the writable bits.
        certainty: documented, inferred or modelled.
        source: what that rests on.
    """

    bits: int
    certainty: str
    source: str


@dataclass(frozen=True, slots=True)
class Register:
    """A hardware register of one generation.

    Args:
        id: 0..63.
        name: without prefix; "" when nothing names it.
        printed: as the assembler prints it: with prefix, or the id.
        about: one line.
        fields: lowest bits first; empty where none is known.
        note: what the fields rest on when no header of the generation was read.
        generation: whose it is.
    """

    id: int
    name: str
    printed: str
    about: str
    fields: tuple[FieldRow, ...]
    note: str
    generation: str

    def decode(self, value: int, bits: Field = WHOLE) -> list[OperandField]:
        """The fields that `bits` of the register hold, with their values in `value`."""
        found = []
        for row in self.fields:
            covered = Field(min(row.bits.hi, bits.hi), max(row.bits.lo, bits.lo))
            if covered.hi >= covered.lo:
                found.append(OperandField(row, covered.get(value), covered))
        return found

    def get(self, name: str, value: int) -> int | None:
        """A field's value by name; None when the register has no such field."""
        for row in self.fields:
            if row.name == name:
                return row.bits.get(value)
        return None

    def writable(self, privileged: bool) -> Writable:
        """Which bits a write changes at a privilege."""
        rules = list(self._rules(privileged))
        if not rules:
            return Writable(0, "modelled", "no rule says it can be written: taken as read-only")
        bits = 0
        for rule in rules:
            bits |= self._rule_bits(rule)
        order = ("documented", "inferred", "modelled")
        weakest = max(rules, key=lambda rule: order.index(rule["certainty"]))
        return Writable(bits, weakest["certainty"], "; ".join(rule["source"] for rule in rules))

    def _rules(self, privileged: bool) -> Iterator[dict[str, Any]]:
        for level in ("user", "privileged") if privileged else ("user",):
            for rule in _table("access")["rules"]:
                applies = self.generation in rule.get("generations", [self.generation])
                if rule["level"] == level and self.name in rule["registers"] and applies:
                    yield rule
                    break

    def _rule_bits(self, rule: dict[str, Any]) -> int:
        rows = [row for row in self.fields if row.name in rule.get("fields", [row.name])]
        bits = 0
        for row in rows:
            bits |= row.bits.mask
        if not self.fields:
            bits = mask(32)
        for text in rule.get("read_only", []):
            bits &= ~_parse_bits(text).mask
        return bits


def _parse_bits(text: str) -> Field:
    high, _, low = text.partition(":")
    return Field(int(high), int(low or high))


@dataclass(frozen=True, slots=True)
class Scalars:
    """Scalar registers of a processor, as data: see `data/processors.toml`."""

    features: frozenset[str]
    codes: Mapping[str, int]
    last_sgpr: int
    ttmps: int
    prints: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Processor:
    """What `-mcpu` chooses.

    Args:
        name: as the user wrote it.
        generation: of its hardware registers, e.g. `gfx10.1`.
        registers: id -> register; every id 0..63.
        ids: name with prefix, as the assembler reads it -> id.
        opcodes: SOPK opcodes of getreg, setreg, setreg_imm32.
        scalars: its scalar registers.
    """

    name: str
    generation: str
    registers: Mapping[int, Register]
    ids: Mapping[str, int]
    opcodes: tuple[int, int, int]
    scalars: Scalars

    def by_name(self, name: str) -> Register | None:
        """A register by name, with or without prefix, named by the assembler or not."""
        name = name.upper()
        for prefix in (PREFIX + "WAVE_", PREFIX):
            name = name.removeprefix(prefix)
        if PREFIX + name in self.ids:
            return self.registers[self.ids[PREFIX + name]]
        return next((r for r in self.registers.values() if r.name == name), None)


@cache
def processor(name: str) -> Processor:
    """The processor of an `-mcpu` name.

    Raises:
        UsageError: no such processor.
    """
    for row in _table("processors")["processors"]:
        if name in row["names"]:
            return _processor(name, row)
    known = ", ".join(processor_names())
    raise UsageError(f"'{name}' is not a recognized processor for this target", f"known: {known}")


def processor_names() -> list[str]:
    """Every name `-mcpu` takes."""
    return [name for row in _table("processors")["processors"] for name in row["names"]]


@cache
def known_names() -> frozenset[str]:
    """Every register name, with prefix, that the assembler knows on some processor."""
    return frozenset(
        PREFIX + name
        for row in _table("registers")["generation"].values()
        for name in (*row["ids"].values(), *row.get("aliases", {}))
    )


def _processor(name: str, row: dict[str, Any]) -> Processor:
    tables = _table("processors")
    generation = row["generation"]
    scalars = tables["scalars"][row["scalars"]]
    registers = _registers(generation)
    data = _table("registers")["generation"][generation]
    ids = {PREFIX + reg: int(number) for number, reg in data["ids"].items()}
    ids |= {PREFIX + alias: int(number) for alias, number in data.get("aliases", {}).items()}
    first, second, third = tables["opcodes"][row["opcodes"]]
    return Processor(
        name, generation, registers, ids, (first, second, third),
        Scalars(
            frozenset(scalars["features"]), scalars["codes"], scalars["last_sgpr"],
            scalars["ttmps"],
            {int(code): text for code, text in scalars.get("prints", {}).items()},
        ),
    )  # fmt: skip


@cache
def _registers(generation: str) -> Mapping[int, Register]:
    data = _table("registers")["generation"][generation]
    fields = _fields(generation)
    about = _table("meanings")["about"]
    found = {}
    for number in range(64):
        named = data["ids"].get(str(number))
        name = named or data.get("hidden", {}).get(str(number), "")
        printed = PREFIX + named if named else str(number)
        rows = fields.get(name, ())
        note = data.get("inferred", "") if rows else ""
        found[number] = Register(
            number, name, printed, about.get(name, ""), rows, note, generation
        )  # fmt: skip
    return found


@cache
def _fields(generation: str) -> Mapping[str, tuple[FieldRow, ...]]:
    data = _table("registers")["generation"][generation]
    found = dict(_fields(data["base"])) if "base" in data else {}
    certainty = "inferred" if "inferred" in data else "documented"
    if certainty == "inferred":
        found = {name: tuple(_inferred(row) for row in rows) for name, rows in found.items()}
    for path in data.get("without", []):
        register, _, gone = path.partition(".")
        found[register] = tuple(row for row in found[register] if row.name != gone)
    for register, text in data.get("fields", {}).items():
        found[register] = _rows(register, text, certainty)
    for register, text in data.get("debugger", {}).items():
        rows = found.get(register, ()) + _rows(register, text, "inferred")
        found[register] = tuple(sorted(rows, key=lambda row: row.bits.lo))
    return found


def _inferred(row: FieldRow) -> FieldRow:
    return FieldRow(
        row.name, row.bits, row.text, row.values, row.flags, row.parts, "inferred"
    )  # fmt: skip


def _rows(register: str, text: str, certainty: str) -> tuple[FieldRow, ...]:
    meanings = _table("meanings")
    known = meanings["fields"].get(register, {})
    rows = []
    for item in text.split(","):
        name, bits = item.split()
        entry = known.get(name, {})
        flags = tuple(meanings["flags"].get(entry.get("flags", ""), ()))
        parts = tuple(
            SubField(of, Field(high, low), _values(table))
            for of, high, low, table in entry.get("parts", [])
        )
        values = _values(entry.get("values"))
        rows.append(
            FieldRow(
                name, _parse_bits(bits), entry.get("text", ""), values, flags, parts, certainty
            )
        )
    return tuple(sorted(rows, key=lambda row: row.bits.lo))


def _values(table: str | None) -> Mapping[int, str]:
    if table is None:
        return {}
    return {int(value): text for value, text in _table("meanings")["values"][table].items()}
