"""Scalar registers: their names, the codes of their 7-bit field, and the errors of other names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from .reader import SourceToken, TokenCursor, TokenKind
from .registers import Processor

NOT_HERE = "register not available on this GPU"


@dataclass(frozen=True, slots=True)
class Special:
    """A register with a name of its own.

    Attributes:
        code: 7-bit field value; None for pairs, which no instruction here takes.
        group: name of the feature it needs ("" when it is everywhere).
        missing: the error where the feature is missing.
    """

    code: int | None
    group: str = ""
    missing: str = NOT_HERE


_PAIRS: Mapping[str, tuple[int | None, str]] = {
    "vcc": (106, ""), "exec": (126, ""), "flat_scratch": (None, "flat_scratch"),
    "xnack_mask": (104, "xnack_mask"), "tba": (None, "tba_tma"), "tma": (None, "tba_tma"),
}  # fmt: skip
"""Pair -> (code of its low half unless `codes` has it, feature)."""

_NUMBERED = re.compile(r"(s|ttmp|v|a)([0-9]{1,9})", re.ASCII)
_COUNTS = {"v": 256, "a": 256, "s": 106, "ttmp": 16}


@cache
def _specials(codes: tuple[tuple[str, int], ...]) -> Mapping[str, Special]:
    moved = dict(codes)
    missing = "'null' operand is not supported on this GPU"
    found = {"m0": Special(moved["m0"]), "null": Special(moved.get("null"), "null", missing)}
    for name, (code, group) in _PAIRS.items():
        low = moved.get(name, code)
        found[name] = Special(None, group)
        for step, half in enumerate(("lo", "hi")):
            found[f"{name}_{half}"] = Special(None if low is None else low + step, group)
    return found


def _of(processor: Processor) -> Mapping[str, Special]:
    return _specials(tuple(sorted(processor.scalars.codes.items())))


def scalar_name(code: int, processor: Processor) -> str:
    """The name the disassembler prints for a 7-bit field value; the number when it has none."""
    scalars = processor.scalars
    if code <= scalars.last_sgpr:
        return f"s{code}"
    ttmp = code - scalars.codes["ttmp"]
    if 0 <= ttmp < scalars.ttmps:
        return f"ttmp{ttmp}"
    for name, special in _of(processor).items():
        if special.code == code and (not special.group or special.group in scalars.features):
            return name
    return scalars.prints.get(code) or str(code)


def scalar_names(processor: Processor) -> Iterator[str]:
    """The names of all 128 field values."""
    return (scalar_name(code, processor) for code in range(128))


def is_register(token: SourceToken, processor: Processor) -> bool:
    """Whether a register is here, of whatever kind."""
    if token.kind is not TokenKind.NAME:
        return False
    return bool(_NUMBERED.fullmatch(token.text)) or token.text in _of(processor)


def read_register(cursor: TokenCursor, processor: Processor) -> int | None:
    """The code of the register at a cursor; None for one that is no 32-bit scalar register.

    Raises:
        AsmError: the processor has no such register.
    """
    token = cursor.advance()
    scalars = processor.scalars
    numbered = _NUMBERED.fullmatch(token.text)
    if numbered is None:
        special = _of(processor)[token.text]
        if special.group and special.group not in scalars.features:
            cursor.fail(special.missing, token)
        return special.code
    kind, number = numbered[1], int(numbered[2])
    if number >= _COUNTS[kind]:
        cursor.fail("register index is out of range", token)
    if number >= {"ttmp": scalars.ttmps, "s": scalars.last_sgpr + 1}.get(kind, 256):
        cursor.fail(NOT_HERE, token)
    if kind in ("v", "a"):
        return None
    return number + (scalars.codes["ttmp"] if kind == "ttmp" else 0)
