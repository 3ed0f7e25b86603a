"""`gpudbg decode sr|esr|xid` and `info ptx`: words of a command line in, data and lines out."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from gpudbg.errors import UsageError
from gpudbg.regs.explain import (
    WordExplanation,
    explain_esr,
    explain_ptx,
    explain_sr,
    special_register,
)
from gpudbg.regs.special import DEFAULT_SPA, SPECIAL_REGISTERS, SpecialRegister
from gpudbg.regs.words import Json
from gpudbg.regs.xid_log import decode_stretches, split_log
from gpudbg.regs.xid_text import record_lines
from gpudbg.textlines import lines_of, opened


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decode command's result.

    Attributes:
        data: one JSON object, or a list with one object per input.
        lines: the same for people.
    """

    data: Any
    lines: tuple[str, ...]

    def render(self, as_json: bool) -> str:
        """What the command prints: text, one object, or one object per line for a list."""
        if not as_json:
            return "\n".join(self.lines)
        if isinstance(self.data, list):
            return "\n".join(map(json.dumps, self.data))
        return json.dumps(self.data, indent=2)


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


def _explanations(found: Sequence[WordExplanation]) -> Decoded:
    lines = [line for one in found for line in one.lines()]
    data = [one.to_json() for one in found]
    return Decoded(data[0] if len(data) == 1 else data, tuple(lines))


SR_USAGE = "usage: decode sr NAME|NUMBER VALUE... [--spa 5.0|5.3|sm_61]"
ESR_USAGE = "usage: decode esr --reg NAME|ADDRESS VALUE... [--family Maxwell|sm_52]"
XID_USAGE = "usage: decode xid [FILE|-]"
PTX_USAGE = "usage: info ptx NAME..."


def _register_facts(row: SpecialRegister) -> tuple[Json, str]:
    """A register without a value, as data and as one line."""
    fields = [f"{r.name} {r.bits.hi}:{r.bits.lo}" for r in row.rows if not r.reserved]
    scope = None if row.scope is None else str(row.scope)
    data = {
        "register": row.name,
        "number": row.number,
        "disassembler": row.disassembler_name(),
        "scope": scope,
        "shaders": None if row.shaders is None else str(row.shaders),
        "cs2r": row.coupled,
        "reserved": row.reserved,
        "fields": fields,
        "note": row.note,
    }
    about = "reserved, reads zero" if row.reserved else f"{scope}, {', '.join(fields) or 'zero'}"
    return data, f"SR{row.number:<4} {row.name:<34} {about}"


def decode_sr(argv: Sequence[str]) -> Decoded:
    """`decode sr NAME VALUE...`; without a value the register itself, without a name the table.

    Raises:
        UsageError: unknown register or option, or a value that is no 32-bit number.
    """
    options, words = _options(argv, ("spa", "arch"), SR_USAGE)
    spa = options.get("spa") or options.get("arch") or DEFAULT_SPA
    if len(words) < 2:
        rows = [special_register(words[0])] if words else list(SPECIAL_REGISTERS)
        facts = [_register_facts(row) for row in rows]
        data = [fact[0] for fact in facts]
        return Decoded(data[0] if words else data, tuple(fact[1] for fact in facts))
    register = special_register(words[0])
    values = [parse_number(word) for word in words[1:]]
    return _explanations([explain_sr(register.number, value, spa) for value in values])


def decode_esr(argv: Sequence[str]) -> Decoded:
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


def decode_log(data: bytes) -> Decoded:
    """Kernel log bytes: one object per line, whatever the bytes are."""
    return _together(_chunks(split_log(data)))


def decode_xid(argv: Sequence[str], stdin: BinaryIO | None = None) -> Decoded:
    """`decode xid [FILE|-]`: kernel log lines of a file or of standard input.

    Raises:
        UsageError: unknown option or more than one file.
        LoadError: the file cannot be read, or is no text.
    """
    return _together(stream_xid(argv, stdin))


def stream_xid(argv: Sequence[str], stdin: BinaryIO | None = None) -> Iterator[Decoded]:
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
        yield from _chunks(lines_of(stdin or sys.stdin.buffer, "<stdin>"))
        return
    with opened(path) as file:
        yield from _chunks(lines_of(file, path))


def _chunks(lines: Iterable[str]) -> Iterator[Decoded]:
    """Answers for stretches of a log; lines of one stretch explain one another."""
    number = 0
    for records in decode_stretches(lines):
        shown: list[str] = []
        for record in records:
            number += 1
            head, *body = record_lines(record)
            shown += [f"{number}: {head}", *body]
        yield Decoded([record.to_json() for record in records], tuple(shown))


def _together(parts: Iterable[Decoded]) -> Decoded:
    """Answers in a row as one."""
    found = list(parts)
    return Decoded(
        [one for part in found for one in part.data], tuple(x for part in found for x in part.lines)
    )


def info_ptx(argv: Sequence[str]) -> Decoded:
    """`info ptx NAME...`: type, version, targets, limits and lowering of PTX registers.

    Raises:
        UsageError: unknown register, or none named.
    """
    _, words = _options(argv, (), PTX_USAGE)
    if not words:
        raise UsageError("info ptx needs a register", PTX_USAGE)
    found = [one for word in words for one in explain_ptx(word)]
    data = [one.to_json() for one in found]
    lines = [line for one in found for line in one.lines()]
    return Decoded(data[0] if len(data) == 1 else data, tuple(lines))
