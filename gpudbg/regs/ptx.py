"""PTX special registers: type, version, targets, limits, and what ptxas makes of each.

Sources: the PTX ISA's chapter on special registers; the lowering is measured (ptxas 12.6 on one
probe per register and target, sm_50 to sm_90; ptxas 13 for sm_100 on).  A lowering is a recipe an
evaluator can follow and a line of text; the instruction sequences themselves are test data.
"""

from __future__ import annotations

import difflib
from enum import StrEnum

from gpudbg.bits import Field
from gpudbg.dataclass import dataclass
from gpudbg.regs.special import SPECIAL_REGISTERS, parse_spa
from gpudbg.regs.table_reader import TableBlock, TableLine, blocks
from gpudbg.regs.words import Certainty


class Source(StrEnum):
    """Where ptxas takes a PTX register's value from."""

    S2R = "S2R"
    CS2R = "CS2R"
    CONSTANT = "constant bank 0"
    IMMEDIATE = "immediate"


_DONE = {
    "times": "times the float in c[0x0][{:#x}], cut to an integer",
    "over": "divided by c[0x0][{:#x}]",
    "modulo": "modulo c[0x0][{:#x}]",
    "least": "at most c[0x0][{:#x}]",
    "equals": "equal to {}",
}
"""What is done with a value, in words."""


@dataclass(frozen=True, slots=True)
class Lowering:
    """What one PTX register becomes on some targets.

    Attributes:
        since: first architecture version it holds for, e.g. (5, 0).
        source: kind of read.
        registers: SR numbers read, least significant word first.
        bits: the field taken from the word; None for the whole word(s).
        offset: byte offset in constant bank 0 of the first word.
        words: 32-bit words of the value.
        value: the immediate.
        less: byte offset in constant bank 0 of a word that is taken off the value.
        by: what is done with the value, and the byte offset in constant bank 0 of the word with
            which (`equals`: the number).
        name: what nvdisasm calls the register where the number has another name on older targets.
        note: what the sequence does beyond the read.
    """

    since: tuple[int, int]
    source: Source
    registers: tuple[int, ...] = ()
    bits: Field | None = None
    offset: int | None = None
    words: int = 1
    value: int | None = None
    less: int | None = None
    by: tuple[str, int] | None = None
    name: str = ""
    note: str = ""

    def text(self) -> str:
        """The recipe as one line."""
        if self.source is Source.IMMEDIATE:
            body = f"the constant {self.value}"
        elif self.source is Source.CONSTANT:
            assert self.offset is not None
            body = " ".join(f"c[0x0][{self.offset + 4 * i:#x}]" for i in range(self.words))
        else:
            body = f"{self.source} {self._names()}"
            if self.bits is not None:
                body += f" bits {self.bits.hi}:{self.bits.lo}"
        if self.less is not None:
            body += f" less c[0x0][{self.less:#x}]"
        if self.by is not None:
            body += " " + _DONE[self.by[0]].format(self.by[1])
        return f"{body}; {self.note}" if self.note else body

    def _names(self) -> str:
        if self.name:
            return self.name.replace(",", " and ")
        names = [SPECIAL_REGISTERS[n].disassembler_name() for n in reversed(self.registers)]
        return " and ".join(names)


@dataclass(frozen=True, slots=True)
class PtxRegister:
    """One PTX special register or vector component.

    Attributes:
        name: with the percent sign, e.g. `%tid.x`.
        type: PTX type, e.g. `u32`.
        width: bits of the value.
        isa: PTX ISA version that introduced it.
        target: minimum target, `""` for every target.
        meaning: one line.
        lowerings: by first architecture, ascending; empty when no target here accepts it.
        history: type changes over PTX versions.
        limits: (targets, limit) pairs.
        certainty: documented unless the PTX text at hand does not have it.
    """

    name: str
    type: str
    width: int
    isa: str
    target: str
    meaning: str
    lowerings: tuple[Lowering, ...]
    history: str = ""
    limits: tuple[tuple[str, str], ...] = ()
    certainty: Certainty = Certainty.DOCUMENTED

    def lowering(self, arch: str = "sm_50") -> Lowering | None:
        """The recipe on `arch` (sm_50 ... sm_121); None when ptxas refuses the register."""
        version = parse_spa(arch)
        fitting = [low for low in self.lowerings if version >= low.since]
        return fitting[-1] if fitting else None


_BLOCKS = tuple(blocks("ptx"))


def _blocks(kind: str) -> list[TableBlock]:
    return [block for block in _BLOCKS if block.head.words[0] == kind]


_TEXTS = {block.head.words[1]: block.head.text() for block in _blocks("text")}
_LIMITS = {
    block.head.words[1]: tuple((" ".join(line.words), line.text()) for line in block.body)
    for block in _blocks("limits")
}


def _lowering(line: TableLine) -> Lowering:
    kind, *given = line.words
    options = line.options
    since = parse_spa(options.get("since", "5.0"))
    note = "; ".join(_TEXTS[name] for name in line.names("note"))
    done, _, number = options.get("by", "").partition(":")
    by = (done, int(number, 0)) if done else None
    if kind == "value":
        return Lowering(since, Source.IMMEDIATE, value=int(given[0]), note=note)
    if kind == "c0":
        words, offset = int(options.get("words", "1")), int(given[0], 0)
        return Lowering(since, Source.CONSTANT, offset=offset, words=words, by=by, note=note)
    high, _, low = options.get("bits", "").partition(":")
    bits = Field(int(high), int(low)) if high else None
    registers = tuple(map(int, given))
    less = int(options["less"], 0) if "less" in options else None
    return Lowering(
        since,
        Source(kind),
        registers,
        bits,
        words=len(registers),
        less=less,
        by=by,
        name=options.get("name", ""),
        note=note,
    )


def _register(block: TableBlock) -> PtxRegister:
    head = block.head
    name, type_, isa, *_ = head.words
    options = head.options
    return PtxRegister(
        f"%{name}",
        type_,
        int(type_[1:]) if type_ != "pred" else 1,
        isa,
        options.get("target", ""),
        head.text(),
        tuple(map(_lowering, block.body)),
        _TEXTS.get(options.get("history", ""), ""),
        _LIMITS.get(options.get("limits", ""), ()),
        head.certainty,
    )


PTX_REGISTERS: tuple[PtxRegister, ...] = tuple(
    _register(block) for block in _BLOCKS if block.head.words[0] not in ("text", "limits")
)
_BY_NAME = {row.name: row for row in PTX_REGISTERS}


def find_ptx(name: str) -> PtxRegister | None:
    """The register of a name, percent sign optional, any case."""
    text = name.strip().lower()
    return _BY_NAME.get(text if text.startswith("%") else "%" + text)


def find_ptx_vector(name: str) -> tuple[PtxRegister, ...]:
    """The components of a vector such as `%tid`; empty for other names."""
    prefix = "%" + name.strip().lower().removeprefix("%") + "."
    return tuple(row for row in PTX_REGISTERS if row.name.startswith(prefix))


def nearest_ptx(name: str, count: int = 3) -> tuple[str, ...]:
    """Register names that look like `name`, best first."""
    wanted = "%" + name.strip().lower().removeprefix("%")
    return tuple(difflib.get_close_matches(wanted, _BY_NAME, n=count, cutoff=0.5))
