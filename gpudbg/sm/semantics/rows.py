"""Mnemonics and their semantics functions, as the families enter them; `registry` has them all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpudbg.sm.semantics.machine import Machine, WideMachine

Semantics = Callable[[Machine, Any], None]

ROWS: dict[str, Semantics] = {}
"""Mnemonic -> function."""
STOPS: dict[str, str] = {}
"""Mnemonics that only stop the machine with their name -> why."""


WideSemantics = Callable[[WideMachine, Any], None]

WIDE_ROWS: dict[str, WideSemantics] = {}
"""Mnemonic -> function, for the 128-bit instruction sets."""


def register_wide(*mnemonics: str) -> Callable[[WideSemantics], WideSemantics]:
    """Decorator: the function is the meaning of these mnemonics of 128-bit instructions."""

    def enter(function: WideSemantics) -> WideSemantics:
        for name in mnemonics:
            if name in WIDE_ROWS:
                raise ValueError(f"{name} has semantics twice")
            WIDE_ROWS[name] = function
        return function

    return enter


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
