"""gpudbg decode insn WORD: one instruction word bit by bit, through the construct schema."""

from __future__ import annotations

import re
from typing import Any

from gpudbg.errors import DecodeError
from gpudbg.formats.program import SUPPORTED_ARCHS
from gpudbg.frontends.verbs.common import Parser, integer
from gpudbg.regs.decoders import Decoded


def decode_insn(words: list[str]) -> Decoded:
    """Explain instruction words.

    Raises:
        UsageError: a word that is no 64-bit number.
    """
    p = Parser(prog="gpudbg decode insn")
    p.add_argument("word", nargs="+", type=_word)
    p.add_argument("--arch", default="sm_50", choices=SUPPORTED_ARCHS)
    p.add_argument("--pc", type=integer, default=8)
    args = p.parse_args(words)
    rows: list[dict[str, Any]] = []
    lines: list[str] = []
    for word in args.word:
        if not 0 <= word < 1 << 64:
            p.error(f"{word:#x} does not fit in 64 bits")
        data, text = _explain(word, args.arch, args.pc)
        rows.append(data)
        lines += text
    return Decoded(rows if len(rows) > 1 else rows[0], tuple(lines))


def _word(text: str) -> int:
    """An instruction word: as `integer`, but sixteen digits are always hexadecimal."""
    return int(text, 16) if _DIGITS.fullmatch(text) else integer(text)


_DIGITS = re.compile(r"[0-9a-fA-F]{16}")


def _explain(word: int, arch: str, pc: int) -> tuple[dict[str, Any], list[str]]:
    from gpudbg.isa.spa5.decode import decode
    from gpudbg.isa.spa5.schema import explain

    base: dict[str, Any] = {"word": f"{word:#018x}", "arch": arch, "pc": pc}
    try:
        insn = decode(word, arch)
    except DecodeError as e:
        base |= {"legal": False, "reason": e.reason}
        return base, [f"{word:#018x}  {arch}: illegal: {e.reason}"]
    found = explain(word, arch, pc)
    # The all-zero word reads as NOP without being one: it has none of its fields.
    own = insn.word == word
    reads, writes = insn.reads(), insn.writes()
    base |= {
        "legal": True,
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
        "reads": _access(reads),
        "writes": _access(writes),
    }
    lines = [f"{word:#018x}  {arch}", f"  {insn.text(pc)}", ""]
    lines += [
        f"  {row.bits:>8}  {row.value:>#12x}  {row.name:14} {row.meaning}" for row in found.rows
    ]
    if found.ignored:
        lines.append(f"  ignored  {found.ignored:#x}")
    lines += ["", f"  reads   {_words(base['reads'])}", f"  writes  {_words(base['writes'])}"]
    return base, lines


def _access(access: Any) -> dict[str, Any]:
    return {
        "registers": [f"R{n}" for n in sorted(access.registers)],
        "predicates": [f"P{n}" for n in sorted(access.predicates)],
        "cc": access.cc,
    }


def _words(access: dict[str, Any]) -> str:
    words = [*access["registers"], *access["predicates"], *(["CC"] if access["cc"] else [])]
    return " ".join(words) or "nothing"
