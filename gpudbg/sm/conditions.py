"""Conditions of breakpoints that compiled code tests itself."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import field
from typing import Protocol

from gpudbg.dataclass import dataclass
from gpudbg.sm.semantics.machine import M, Operations, V, W


class Holds(Protocol):
    """The lanes in which a condition holds, from operations of any backend."""

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
"""Of a pc: None where its breakpoints have to be asked one by one."""
