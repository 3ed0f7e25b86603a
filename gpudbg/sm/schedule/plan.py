"""Schedules that are directed: priorities of warps, and ticks at which the running one yields.

A planned schedule (after PCT, Burckhardt et al., ASPLOS 2010) always runs the ready warp of the
highest priority, and gives every turn back at the next turn point.  At a *switch*, which may be
anywhere, also between a load and the store behind it, the running warp falls behind all others.  A
warp that has had many turns in a row falls behind, too, so that one which spins lets others go on.
A plan is written as a seed above 32 bits, so that everything that takes a seed replays it.
"""

from __future__ import annotations

import json
from typing import Any, Final

from gpudbg.dataclass import dataclass
from gpudbg.errors import LoadError, UsageError
from gpudbg.textlines import read_text

MAX_BYTES = 64 << 20
"""Largest schedule file."""

_ORDERS: Final = 32
_TICK_BITS: Final = 32
MOST_TICKS: Final = (1 << _TICK_BITS) - 2
PATIENCE: Final = 400
"""Consecutive turns after which a warp is moved behind the others."""
SCHEMA: Final = "gpudbg-schedule/2"


@dataclass(frozen=True, slots=True)
class SchedulePlan:
    """A directed schedule.

    Attributes:
        order: what the priorities are drawn from; 0: by block and warp, the first ones first.
        switches: ticks (warp instructions of the launch), from 1 on and rising: after so many the
            running warp falls behind.
    """

    order: int = 0
    switches: tuple[int, ...] = ()

    @property
    def seed(self) -> int:
        """The plan as a seed."""
        ticks = 0
        for tick in reversed(self.switches):
            ticks = ticks << _TICK_BITS | tick + 1
        return (ticks << 1 | 1) << _ORDERS | self.order

    @staticmethod
    def of(seed: int) -> SchedulePlan | None:
        """The plan that a seed is; None: it is a number to draw from."""
        ticks, order = seed >> _ORDERS + 1, seed & (1 << _ORDERS) - 1
        if not seed >> _ORDERS:
            return None
        switches = []
        while ticks:
            switches.append((ticks & (1 << _TICK_BITS) - 1) - 1)
            ticks >>= _TICK_BITS
        return SchedulePlan(order, tuple(switches))

    @property
    def text(self) -> str:
        """`3:17,40`"""
        return f"{self.order}:{','.join(map(str, self.switches))}"

    def to_json(self) -> dict[str, Any]:
        """What a schedule file holds."""
        return {"schema": SCHEMA, "order": self.order, "switches": list(self.switches)}

    @staticmethod
    def read(given: str) -> SchedulePlan:
        """A schedule file, or the same as text.

        Raises:
            UsageError: it is neither.
        """
        order, colon, ticks = given.partition(":")
        if colon and order.isdigit():
            parts = [part for part in ticks.split(",") if part]
            if not all(part.isdigit() for part in parts):
                raise UsageError(f"--schedule {given}: no schedule", "such as 3:17,40")
            return _checked(given, int(order), [int(part) for part in parts])
        try:
            data = json.loads(read_text(given, MAX_BYTES, strict=True))
        except LoadError as error:
            raise UsageError(str(error)) from None
        except (ValueError, RecursionError) as error:
            line = getattr(error, "lineno", 1)
            raise UsageError(f"{given}:{line}: no schedule file: {error}") from None
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise UsageError(f"{given}:1: no schedule file: its schema is not {SCHEMA}")
        return _checked(given, data.get("order"), data.get("switches"))


def _checked(given: str, order: Any, switches: Any) -> SchedulePlan:
    good = type(order) is int and 0 <= order < 1 << _ORDERS and isinstance(switches, list)
    if not good or not all(type(n) is int and 0 < n <= MOST_TICKS for n in switches):
        wanted = "`order` is a number below 2^32, `switches` ticks from 1 on"
        raise UsageError(f"{given}: no schedule: {wanted}")
    return SchedulePlan(order, tuple(sorted(set(switches))))
