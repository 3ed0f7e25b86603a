"""What is said of an instruction's timing, for both families: units, and what a family answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal, Protocol

from gpudbg.dataclass import dataclass

Certainty = Literal["documented", "inferred", "modelled"]


@dataclass(frozen=True, slots=True)
class Unit:
    """Where an instruction executes, as far as timing needs it.

    Attributes:
        name: of the unit; what is in one unit finishes in order.
        variable: it takes a variable time and reports through scoreboards.
        read_delay: cycles after issue at which register operands are read.
        certainty: of the row.
        source: where the row's facts come from.
    """

    name: str
    variable: bool
    read_delay: int
    certainty: Certainty
    source: str


class Timing(Protocol):
    """The rules of a family that scheduling bits have to respect.

    Attributes:
        scoreboard_latency: cycles from setting a scoreboard to the first wait for it that holds.
        plain_stall: the largest stall count that does not let another warp go first.
        unpaired_unit: the unit that a dual-issue pair cannot use twice; "" without dual issue.
    """

    scoreboard_latency: int
    plain_stall: int
    unpaired_unit: str

    @property
    def read_before_bar(self) -> Collection[str]:
        """Units that have read their operands when a BAR issues."""

    def unit(self, insn: Any) -> Unit:
        """Where an instruction executes."""

    def accepts_barriers(self, insn: Any) -> bool:
        """Whether its scheduling bits may name a write or read barrier."""

    def takes_no_control(self, insn: Any) -> bool:
        """Whether it takes no stall count, no barriers and no waits."""

    def is_flow(self, insn: Any) -> bool:
        """Whether control may go elsewhere after it."""

    def settles(self, insn: Any) -> bool:
        """Whether what follows has to keep the distance that it keeps from flow."""

    def holds_operands(self, insn: Any) -> bool:
        """Whether it goes on only when its register operands have been read."""

    def depbar(self, insn: Any) -> tuple[tuple[int, int], ...]:
        """(scoreboard, how many may still be in flight) that it waits for as an instruction."""

    def read_queue(self, insn: Any) -> str:
        """What it reads its operands in order with."""

    def in_order(self, insn: Any) -> bool:
        """Whether its unit finishes in order, so that a later scoreboard covers its results."""

    def tracks_results(self, insn: Any) -> bool:
        """Whether stall counts or scoreboards tell when its results are there."""

    def result(self, insn: Any, resource: str) -> Mapping[str, int]:
        """Cycles from its issue to readers of a fixed-latency result, by the readers' class.

        Args:
            resource: the result's name: "R4", "P0", "CC", "UR4", "UP0".
        """

    def reader(self, insn: Any, resource: str, guard: bool) -> str:
        """Its class as a reader of a resource; `guard`: it tests it as its guard."""

    def safe_latency(self, cycles: Mapping[str, int], resource: str, reader: str) -> int:
        """What the assembler's scheduler keeps."""
