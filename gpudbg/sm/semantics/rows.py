"""Mnemonics and their semantics functions, as the families enter them; `registry` has them all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpudbg.sm.semantics.machine import Machine

Semantics = Callable[[Machine, Any], None]

ROWS: dict[str, Semantics] = {}
"""Mnemonic -> function."""
STOPS: dict[str, str] = {}
"""Mnemonics that only stop the machine with their name -> why."""


def register(*mnemonics: str, stops: str = "") -> Callable[[Semantics], Semantics]:
    """Decorator: the function is the meaning of these mnemonics.

    Args:
        mnemonics: what it is the meaning of.
        stops: why it only stops the machine with its name, where that is all it does.
    """

    def enter(function: Semantics) -> Semantics:
        for name in mnemonics:
            if name in ROWS:
                raise ValueError(f"{name} has semantics twice")
            ROWS[name] = function
            if stops:
                STOPS[name] = stops
        return function

    return enter
