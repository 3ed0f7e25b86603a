"""Options as rows: name, default, range and help, in one table for every way to give them.

The command line (`--NAME`), `gpudbg.Device` and `gpudbg.load` (keyword) and `set NAME` in a
session all take theirs from here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Option:
    """A whole number that a user may choose."""

    name: str
    default: int
    least: int
    most: int
    help: str

    def trouble(self, value: int) -> str:
        """What is wrong with a value, or an empty string."""
        if self.least <= value <= self.most:
            return ""
        return f"{self.name} {value}: between {self.least} and {self.most}"


JOBS = Option(
    "jobs",
    1,
    1,
    256,
    "host threads for compiled code; with more than one, the order of instructions of different "
    "blocks is not the same from run to run",
)
