"""The table mnemonic -> semantics function; the only list of what executes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gpudbg.isa.spa5.operands import RZ
from gpudbg.sm.semantics.machine import Machine

if TYPE_CHECKING:
    from gpudbg.isa.spa5.insn import Instruction

Semantics = Callable[[Machine, Any], None]

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

_table: dict[str, Semantics] = {}


_stops: dict[str, str] = {}

GRAPHICS = "graphics pipeline, not part of a compute SM"


def register(*mnemonics: str, stops: str = "") -> Callable[[Semantics], Semantics]:
    """Decorator: the function is the meaning of these mnemonics.

    Args:
        mnemonics: what it is the meaning of.
        stops: why it only stops the machine with its name, where that is all it does.
    """

    def enter(function: Semantics) -> Semantics:
        for name in mnemonics:
            if name in _table:
                raise ValueError(f"{name} has semantics twice")
            _table[name] = function
            if stops:
                _stops[name] = stops
        return function

    return enter


def table() -> dict[str, Semantics]:
    """Mnemonic -> function, with every family loaded."""
    _load()
    return _table


@cache
def _load() -> None:
    for family in FAMILIES:
        import_module(f"gpudbg.sm.semantics.{family}")


def why_not(mnemonic: str) -> str:
    """Why a mnemonic does not execute; an empty string when it does."""
    return _stops.get(mnemonic, "") if mnemonic in table() else GRAPHICS


def missing_registers(insn: Instruction, count: int) -> list[int]:
    """Registers that an instruction names and a warp with that many does not have."""
    used = insn.reads().registers | insn.writes().registers
    return sorted(n for n in used if count <= n < RZ)
