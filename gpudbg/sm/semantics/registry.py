"""The table mnemonic -> semantics function; the only list of what executes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gpudbg.architectures import is_wide
from gpudbg.isa.operands import RZ
from gpudbg.sm.semantics.rows import ROWS, STOPS, WIDE_ROWS

if TYPE_CHECKING:
    from gpudbg.isa.family import Instruction

FAMILIES = (
    "integer",
    "multiply",
    "logic",
    "setcmp",
    "video",
    "fp32",
    "fp64",
    "half",
    "convert",
    "move",
    "memory",
    "control",
    "system",
)
"""Modules of this package that register semantics."""

WIDE_FAMILIES = (
    "integer",
    "logic",
    "floats",
    "halves",
    "convert",
    "move",
    "memory",
    "control",
    "images",
    "tensor",
    "asynchronous",
    "warpgroup",
)
"""Modules of `wide` that register semantics of the 128-bit instruction sets."""

GRAPHICS = "graphics pipeline, not part of a compute SM"


def table(arch: str = "sm_50") -> Mapping[str, Callable[[Any, Any], None]]:
    """Mnemonic -> function of an architecture, with every family loaded."""
    if is_wide(arch):
        _load_wide()
        return WIDE_ROWS
    _load()
    return ROWS


@cache
def _load() -> None:
    for family in FAMILIES:
        import_module(f"gpudbg.sm.semantics.{family}")


@cache
def _load_wide() -> None:
    for family in WIDE_FAMILIES:
        import_module(f"gpudbg.sm.semantics.wide.{family}")


_WIDE_REASONS = (
    ("tensor memory of sm_100 and its tensor cores", ("UTC", "LDTM", "STTM")),
    (
        "graphics pipeline, not part of a compute SM",
        ("AL2P", "ALD", "AST", "CSMTEST", "FOOTPRINT", "IPA", "ISBE", "LDTRAM", "OUT", "PIXLD",
         "UCLEA"),
    ),
    ("textures and surfaces", ("TEX", "TLD", "TMML", "TXD", "TXQ", "SU")),
)  # fmt: skip
"""Why mnemonics of 128-bit instructions have no semantics, by how they begin."""
_RESERVED = ("INVALID", "???")
NO_MEANING = "meaning unknown, or emitted by no compiler"


def why_not_wide(mnemonic: str, arch: str) -> str:
    """Why a mnemonic of 128-bit instructions does not execute; empty when it does."""
    if mnemonic in table(arch):
        return ""
    found = (why for why, starts in _WIDE_REASONS if mnemonic.startswith(starts))
    return next(found, NO_MEANING)


def why_not(mnemonic: str) -> str:
    """Why a mnemonic does not execute; an empty string when it does."""
    return STOPS.get(mnemonic, "") if mnemonic in table() else GRAPHICS


def reserved(insn: Any) -> bool:
    """Whether a field of a 128-bit instruction holds a value that has no meaning."""
    key = insn.word, insn.arch
    found = _known_words.get(key)
    if found is None:
        text = insn.text()
        found = any(mark in text for mark in _RESERVED)
        if len(_known_words) >= _MOST_KNOWN:
            _known_words.clear()
        _known_words[key] = found
    return found


_MOST_KNOWN = 1 << 16
_known_words: dict[tuple[int, str], bool] = {}
"""Words that were looked at -> what `reserved` says; a kernel's code is emitted several times."""


def missing_registers(insn: Instruction, count: int, uniform: int) -> str:
    """What is wrong with registers that an instruction names and a warp does not have, or "".

    Args:
        count: registers of a lane.
        uniform: uniform registers, the one that reads as zero among them.
    """
    reads, writes = insn.reads(), insn.writes()
    own = sorted(n for n in reads.registers | writes.registers if count <= n < RZ)
    if own:
        return f"{', '.join(f'R{n}' for n in own)} is not one of the warp's {count}"
    shared = sorted(n for n in reads.uniform | writes.uniform if uniform <= n < RZ)
    return f"{', '.join(f'UR{n}' for n in shared)}: a warp has {uniform - 1}" if shared else ""
