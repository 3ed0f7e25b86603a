"""Native conditions: breakpoint conditions that compiled code tests without returning to Python."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import field
from typing import Protocol

from gpudbg.dataclass import dataclass
from gpudbg.sm.semantics.machine import M, Operations, V, W


class Holds(Protocol):
    """A function that computes the lanes in which a condition holds, from the operations of any
    backend.
    """

    def __call__(self, m: Operations[V, W, M], /) -> M: ...


@dataclass(frozen=True, slots=True)
class Condition:
    """Lanes in which a warp stops before an instruction; it cannot fail, and reads no memory.

    Attributes:
        key: what it means; equal conditions have equal keys.
        holds: the mask, from operations of the machine interface.
    """

    key: Hashable
    holds: Holds = field(compare=False, repr=False)


Conditions = Callable[[int], "Condition | None"]
"""Pc -> its condition; None where the breakpoints at it must be tested one by one."""
