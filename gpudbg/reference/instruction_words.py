"""`gpudbg decode insn WORD`: what an instruction word says, bit by bit."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from gpudbg.answers import Listing
from gpudbg.arguments import Parser, integer
from gpudbg.dataclass import dataclass
from gpudbg.errors import DecodeError
from gpudbg.isa import volta
from gpudbg.isa.operands import Access
from gpudbg.options import add_verb_options
from gpudbg.regs.decoders import Decoding


def decode_insn(words: list[str]) -> Decoding:
    """Explain instruction words.

    Raises:
        UsageError: a word that is no number of the architecture's width.
    """
    p = Parser(prog="gpudbg decode insn")
    add_verb_options(p, "decode insn", word={"type": _word})
    args = p.parse_args(words)
    rows: list[ExplainedWord] = []
    wide = args.arch in volta.ARCHS
    width = 128 if wide else 64
    for word in args.word:
        if wide and word.digits == _NARROW_DIGITS:
            p.error(
                f"{word.value:#018x} is half of a word of {args.arch}: give 32 digits, "
                "the second word of a disassembly first"
            )
        if wide and word.digits not in (0, _WIDE_DIGITS):
            p.error(f"{word.digits} hex digits: a word of {args.arch} has {_WIDE_DIGITS}")
        if not 0 <= word.value < 1 << width:
            hint = "" if wide or word.value >> 128 else "; 128-bit words need --arch sm_70 or later"
            p.error(
                f"{word.value:#x} does not fit in the {width} bits of {args.arch}'s words{hint}"
            )
        rows.append(
            _explain_wide(word.value, args.arch, args.pc or 0)
            if wide
            else _explain(word.value, args.arch, 8 if args.pc is None else args.pc)
        )
    return Decoding(Listing(tuple(rows), ExplainedWord.lines, alone=True))


@dataclass(frozen=True, slots=True)
class ExplainedWord:
    """An instruction word: what it says, or why it is none.

    `said` are its parts by name, `scheduling` the control word of 128-bit ones, `ignored` bits
    that no field has.
    """

    word: str
    arch: str
    pc: int
    legal: bool
    said: dict[str, Any]
    scheduling: str = ""
    ignored: int = 0

    def to_json(self) -> dict[str, Any]:
        """The word for programs."""
        head = {"word": self.word, "arch": self.arch, "pc": self.pc, "legal": self.legal}
        return head | self.said

    def lines(self) -> list[str]:
        """The word for people."""
        if not self.legal:
            return [f"{self.word}  {self.arch}: illegal: {self.said['reason']}"]
        out = [f"{self.word}  {self.arch}", f"  {self.said['text']}", ""]
        if self.scheduling:
            out += [f"  {self.scheduling}", ""]
        out += [
            f"  {row['bits']:>8}  {row['value']:>#12x}  {row['name']:14} {row['meaning']}"
            for row in self.said["fields"]
        ]
        if self.ignored:
            out.append(f"  ignored  {self.ignored:#x}")
        reads, writes = _words(self.said["reads"]), _words(self.said["writes"])
        return [*out, "", f"  reads   {reads}", f"  writes  {writes}"]


class _Word(NamedTuple):
    """A word as it was given; `digits` counts hex digits that stand for all its bits."""

    value: int
    digits: int


def _word(text: str) -> _Word:
    """A word: as `integer`, but sixteen digits or more are always hexadecimal.

    Behind `0x` zeros in front may be left out, except that sixteen digits are a 64-bit word.
    """
    found = _DIGITS.fullmatch(text)
    digits = (found[1] or found[2]) if found else ""
    return _Word(int(digits, 16), len(digits)) if digits else _Word(integer(text), 0)


_NARROW_DIGITS, _WIDE_DIGITS = 16, 32
_DIGITS = re.compile(r"(?:0x)?([0-9a-fA-F]{16}(?:[0-9a-fA-F]{16})?)|([0-9a-fA-F]{17,})")


def _explain(word: int, arch: str, pc: int) -> ExplainedWord:
    from gpudbg.isa.spa5.decode import decode
    from gpudbg.isa.spa5.schema import explain

    shown = f"{word:#018x}"
    try:
        insn = decode(word, arch)
    except DecodeError as e:
        return ExplainedWord(shown, arch, pc, False, {"reason": e.reason})
    found = explain(word, arch, pc)
    # The all-zero word reads as NOP without being one: it has none of its fields.
    own = insn.word == word
    said = {
        "text": insn.text(pc),
        "mnemonic": insn.op,
        "form": insn.form.line.strip(),
        "target": insn.target(pc),
        "fields": [
            {
                "bits": row.bits,
                "name": row.name,
                "kind": row.kind,
                "value": row.value,
                "meaning": row.meaning,
            }
            for row in found.rows
        ],
        "operands": {slot: str(value) for slot, value in insn.o.items()} if own else {},
        "modifiers": {k: v for k, v in insn.m.items() if own and v not in ("", False)},
        "reads": _access(insn.reads()),
        "writes": _access(insn.writes()),
    }
    return ExplainedWord(shown, arch, pc, True, said, ignored=found.ignored)


def _explain_wide(word: int, arch: str, pc: int) -> ExplainedWord:
    """A 128-bit word: text, operands as they print, scheduling, fields."""
    from gpudbg.isa.volta.schema import explain

    shown = f"{word:#034x}"
    try:
        insn = volta.decode(word, arch)
    except DecodeError as e:
        return ExplainedWord(shown, arch, pc, False, {"reason": e.reason})
    control = insn.control
    said = {
        "text": insn.text(pc),
        "mnemonic": insn.op,
        "target": insn.target(pc),
        "operands": [text for text in insn.operand_texts(pc) if text],
        "control": {
            "stall": control.stall,
            "yield": control.yield_,
            "write_barrier": control.write_barrier,
            "read_barrier": control.read_barrier,
            "wait": control.waits,
            "reuse": control.reuse,
        },
        "fields": [row._asdict() for row in explain(insn, pc)],
        "reads": _wide_access(insn.reads()),
        "writes": _wide_access(insn.writes()),
    }
    return ExplainedWord(shown, arch, pc, True, said, scheduling=control.words())


def _wide_access(access: Access) -> dict[str, Any]:
    """What a 128-bit word reads or writes; it has no condition code."""
    registers = {"R": access.registers, "UR": access.uniform}
    predicates = {"P": access.predicates, "UP": access.uniform_predicates}
    return {
        "registers": [f"{f}{n}" for f, numbers in registers.items() for n in sorted(numbers)],
        "predicates": [f"{f}{n}" for f, numbers in predicates.items() for n in sorted(numbers)],
        "cc": access.cc,
    }


def _access(access: Any) -> dict[str, Any]:
    return {
        "registers": [f"R{n}" for n in sorted(access.registers)],
        "predicates": [f"P{n}" for n in sorted(access.predicates)],
        "cc": access.cc,
    }


def _words(access: dict[str, Any]) -> str:
    words = [*access["registers"], *access["predicates"], *(["CC"] if access["cc"] else [])]
    return " ".join(words) or "nothing"
