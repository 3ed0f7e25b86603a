"""Branches: the moves after a position of the past at which a user changed something."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass
from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.debug.history.replay import Mark, Position
    from gpudbg.sm.moves import Move


@dataclass(slots=True)
class Branch:
    """Recorded moves that are not followed now.

    Attributes:
        moves: all of them, from the launch on.
        marks: checkpoints on it.
        left: where something was changed, and another way began.
        name: what its user calls it.
    """

    moves: list[Move]
    marks: list[Mark]
    left: Position
    name: str = ""

    @property
    def tick(self) -> int:
        """Where it ends."""
        return self.moves[-1].after if self.moves else 0


class Branches:
    """The branches of a launch that are not followed now, by number.

    Attributes:
        current: number of the one that is followed; the launch itself was the first.
        name: what its user calls it.
    """

    def __init__(self) -> None:
        self._rows: dict[int, Branch] = {}
        self.current = 1
        self.name = ""

    def leave(self, branch: Branch) -> None:
        """Keep the followed branch by its number and begin a new one."""
        branch.name, self.name = self.name, ""
        self._rows[self.current] = branch
        self.current = max(self._rows) + 1

    def get(self, number: int) -> Branch:
        """A branch.

        Raises:
            CommandError: no branch has that number.
        """
        found = self._rows.get(number)
        if found is None:
            raise CommandError(f"no branch {number}", "`info branches` lists them")
        return found

    def exchange(self, number: int, branch: Branch) -> None:
        """Follow another branch; `branch` is the one that was followed so far."""
        branch.name = self.name
        self._rows[self.current] = branch
        self.name = self._rows.pop(number).name
        self.current = number

    def __iter__(self) -> Iterator[tuple[int, Branch]]:
        return iter(list(self._rows.items()))

    def __len__(self) -> int:
        return len(self._rows)
