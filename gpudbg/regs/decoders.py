"""`gpudbg decode sr|esr|xid|ptx`: words of a command line in, data and lines out."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO

from gpudbg.answers import Answer, Listing, column, data_of, lines_of, typed_row
from gpudbg.architectures import RUN, real
from gpudbg.dataclass import dataclass
from gpudbg.errors import UsageError
from gpudbg.regs.explain import (
    PtxExplanation,
    WordExplanation,
    explain_esr,
    explain_ptx,
    explain_sr,
    special_register,
)
from gpudbg.regs.special import DEFAULT_SPA, SPECIAL_REGISTERS, SpecialRegister
from gpudbg.regs.words import Json
from gpudbg.regs.xid import LogRecord
from gpudbg.regs.xid_log import decode_stretches, split_log
from gpudbg.regs.xid_text import record_lines
from gpudbg.textlines import lines_of as file_lines
from gpudbg.textlines import opened


@dataclass(frozen=True, slots=True)
class Decoding:
    """What a decode command answers.

    Attributes:
        answer: the record that its text and data are made from.
    """

    answer: Answer

    @property
    def data(self) -> Any:
        """One JSON object, or a list with one object per input."""
        return data_of(self.answer)

    @property
    def lines(self) -> tuple[str, ...]:
        """The same for people."""
        return tuple(lines_of(self.answer))

    def render(self, as_json: bool) -> str:
        """What the command prints: text, one object, or one object per line for a list."""
        if not as_json:
            return "\n".join(self.lines)
        data = self.data
        if isinstance(data, list):
            return "\n".join(map(json.dumps, data))
        return json.dumps(data, indent=2)


def parse_number(text: str) -> int:
    """A register value: 0x, 0b, 0o or decimal, underscores allowed.

    Raises:
        UsageError: not a number, negative, or more than 32 bits.
    """
    try:
        value = int(text, 0)
    except ValueError:
        hint = f"hexadecimal needs 0x: 0x{text[:20]}" if _is_hex(text) else "e.g. 0x1000e or 65550"
        raise UsageError(f"{text[:40]!r} is no number", hint) from None
    if not 0 <= value <= 0xFFFF_FFFF:
        raise UsageError(f"{text[:40]} does not fit 32 bits")
    return value


def _is_hex(text: str) -> bool:
    return text != "" and all(c in "0123456789abcdefABCDEF" for c in text)


def _options(
    argv: Sequence[str], known: Sequence[str], usage: str
) -> tuple[dict[str, str], list[str]]:
    """`--name value` and `--name=value` pairs of `known`, and the other words."""
    options: dict[str, str] = {}
    words: list[str] = []
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--"):
            words.append(word)
            continue
        name, equals, value = word[2:].partition("=")
        if name not in known:
            raise UsageError(f"unknown option --{name}", usage)
        if not equals:
            if not rest:
                raise UsageError(f"--{name} needs a value", usage)
            value = rest.pop(0)
        options[name] = value
    return options, words


def _explanations(found: Sequence[WordExplanation]) -> Decoding:
    return Decoding(Listing(tuple(found), WordExplanation.lines, alone=True))


SR_USAGE = "usage: decode sr NAME|NUMBER VALUE... [--spa 5.0|5.3|sm_61]"
ESR_USAGE = "usage: decode esr --reg NAME|ADDRESS VALUE... [--family Maxwell|sm_52]"
XID_USAGE = "usage: decode xid [FILE|-|LINE]"
PTX_USAGE = "usage: decode ptx NAME... [--arch sm_80]"


@typed_row
class RegisterFacts:
    """A special register without a value."""

    register: str = column()
    number: int = column()
    disassembler: str | None = column()
    scope: str | None = column()
    shaders: str | None = column()
    cs2r: bool = column()
    reserved: bool = column()
    fields: list[str] = column()
    note: str = column()

    @classmethod
    def of(cls, row: SpecialRegister) -> RegisterFacts:
        """A row of the register table."""
        return cls(
            row.name,
            row.number,
            row.disassembler_name(),
            None if row.scope is None else str(row.scope),
            None if row.shaders is None else str(row.shaders),
            row.coupled,
            row.reserved,
            [f"{r.name} {r.bits.hi}:{r.bits.lo}" for r in row.rows if not r.reserved],
            row.note,
        )

    def line(self) -> str:
        """The register for people."""
        about = "reserved, reads zero"
        if not self.reserved:
            about = f"{self.scope}, {', '.join(self.fields) or 'zero'}"
        return f"SR{self.number:<4} {self.register:<34} {about}"


def decode_sr(argv: Sequence[str]) -> Decoding:
    """`decode sr NAME VALUE...`; without a value the register itself, without a name the table.

    Raises:
        UsageError: unknown register or option, or a value that is no 32-bit number.
    """
    options, words = _options(argv, ("spa", "arch"), SR_USAGE)
    spa = options.get("spa") or options.get("arch") or DEFAULT_SPA
    if len(words) < 2:
        rows = [special_register(words[0])] if words else list(SPECIAL_REGISTERS)
        facts = tuple(map(RegisterFacts.of, rows))
        return Decoding(Listing(facts, RegisterFacts.line, alone=bool(words)))
    register = special_register(words[0])
    values = [parse_number(word) for word in words[1:]]
    return _explanations([explain_sr(register.number, value, spa) for value in values])


def decode_esr(argv: Sequence[str]) -> Decoding:
    """`decode esr --reg NAME VALUE...` (or `decode esr NAME VALUE...`).

    Raises:
        UsageError: unknown register, family or option, or a value that is no 32-bit number.
    """
    options, words = _options(argv, ("reg", "family", "arch", "chip"), ESR_USAGE)
    family = options.get("family") or options.get("arch") or options.get("chip")
    reg = options.get("reg") or (words.pop(0) if len(words) > 1 else None)
    if reg is None or not words:
        raise UsageError("decode esr needs a register and a value", ESR_USAGE)
    values = [parse_number(word) for word in words]
    return _explanations([explain_esr(reg, value, family) for value in values])


def decode_log(data: bytes) -> Decoding:
    """Kernel log bytes: one object per line, whatever the bytes are."""
    return _together(_chunks(split_log(data)))


def decode_xid(argv: Sequence[str], stdin: BinaryIO | None = None) -> Decoding:
    """`decode xid [FILE|-|LINE]`: kernel log lines of a file, of standard input, or given.

    Raises:
        UsageError: unknown option or more than one file.
        LoadError: the file cannot be read, or is no text.
    """
    return _together(stream_xid(argv, stdin))


def stream_xid(argv: Sequence[str], stdin: BinaryIO | None = None) -> Iterator[Decoding]:
    """`decode_xid` piece by piece: a log may be long, or still being written.

    Raises:
        UsageError: unknown option or more than one file.
        LoadError: the file cannot be read, or is no text.
    """
    _, words = _options(argv, (), XID_USAGE)
    if len(words) > 1:
        raise UsageError("decode xid takes one file", XID_USAGE)
    path = words[0] if words else "-"
    if path == "-":
        yield from _chunks(file_lines(stdin or sys.stdin.buffer, "<stdin>"))
        return
    if "NVRM: " in path and not os.path.exists(path):
        # The log's own words, copied from a terminal.
        yield from _chunks(path.splitlines())
        return
    with opened(path) as file:
        yield from _chunks(file_lines(file, path))


@dataclass(frozen=True, slots=True)
class NumberedRecord:
    """An entry of a kernel log, by its number in the log."""

    number: int
    record: LogRecord

    def lines(self) -> list[str]:
        """The entry for people."""
        head, *body = record_lines(self.record)
        return [f"{self.number}: {head}", *body]

    def to_json(self) -> Json:
        """The entry."""
        return self.record.to_json()


def _chunks(lines: Iterable[str]) -> Iterator[Decoding]:
    """Answers for stretches of a log; lines of one stretch explain one another."""
    number = 1
    for records in decode_stretches(lines):
        rows = tuple(NumberedRecord(n, record) for n, record in enumerate(records, number))
        number += len(rows)
        yield Decoding(Listing(rows, NumberedRecord.lines))


def _together(parts: Iterable[Decoding]) -> Decoding:
    """Answers in a row as one."""
    found = [part.answer for part in parts]
    rows = (row for answer in found if isinstance(answer, Listing) for row in answer.rows)
    return Decoding(Listing(tuple(rows), NumberedRecord.lines))


def info_ptx(argv: Sequence[str]) -> Decoding:
    """`decode ptx NAME... [--arch ARCH]`: what PTX registers are, and their lowering.

    Raises:
        UsageError: unknown register or architecture, or none named.
    """
    options, words = _options(argv, ("arch",), PTX_USAGE)
    arch = real(options.get("arch", ""))
    if arch and arch not in RUN:
        raise UsageError(f"no architecture is called {arch!r}", f"known: {', '.join(RUN)}")
    if not words:
        raise UsageError("decode ptx needs a register", PTX_USAGE)
    found = [one for word in words for one in explain_ptx(word, arch)]
    return Decoding(Listing(tuple(found), PtxExplanation.lines, alone=True))
