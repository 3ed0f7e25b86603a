"""The table mnemonic -> semantics function; the only list of what executes."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from gpudbg.isa.operands import RZ
from gpudbg.sm.semantics.rows import ROWS, STOPS, Semantics

if TYPE_CHECKING:
    from gpudbg.isa.spa5.insn import Instruction

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

GRAPHICS = "graphics pipeline, not part of a compute SM"


def table() -> dict[str, Semantics]:
    """Mnemonic -> function, with every family loaded."""
    _load()
    return ROWS


@cache
def _load() -> None:
    for family in FAMILIES:
        import_module(f"gpudbg.sm.semantics.{family}")


def why_not(mnemonic: str) -> str:
    """Why a mnemonic does not execute; an empty string when it does."""
    return STOPS.get(mnemonic, "") if mnemonic in table() else GRAPHICS


def missing_registers(insn: Instruction, count: int) -> list[int]:
    """Registers that an instruction names and a warp with that many does not have."""
    used = insn.reads().registers | insn.writes().registers
    return sorted(n for n in used if count <= n < RZ)
