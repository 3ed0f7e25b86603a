"""Branches: alternative continuations of a launch, begun where a user changed its past."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from gpudbg.answers import Format, column, typed_row
from gpudbg.answers.formats import HERE
from gpudbg.dataclass import dataclass
from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.debug.history.replay import Mark, Position
    from gpudbg.sm.moves import Move

_TICK: Final = Format(lambda tick: "" if tick is None else f"{tick:,}")


@typed_row
class BranchRow:
    """A way a launch was led on.

    `number` names it for good.  `current` is the one that is followed.  `parent` is the branch that
    it began on, at tick `begins_at` of that, where something was changed; None for the launch
    itself.  `left_at` is where it was left first by such a change; None where it was not.  `end` is
    the tick it ends at.

    >>> stop = session.step(40)
    >>> stop = session.goto(10)
    >>> session.warp().R[4, 0] = 7
    >>> stop = session.step(5)
    >>> session.name_branch("with R4 = 7")
    >>> for branch in session.branches:
    ...     print(branch.number, branch.parent, branch.begins_at, branch.end, branch.name)
    1 None None 40
    2 1 10 15 with R4 = 7
    """

    number: int = column("Num")
    current: bool = column("Here", HERE)
    parent: int | None = column("From", _TICK)
    begins_at: int | None = column("At", _TICK)
    left_at: int | None = column("Left at", _TICK)
    end: int = column("End", _TICK)
    name: str = column("Name")


@dataclass(slots=True)
class BranchOrigin:
    """Where a branch began.

    Attributes:
        parent: the branch it began on; None: with the launch.
        tick: where.
    """

    parent: int | None = None
    tick: int | None = None


@dataclass(slots=True)
class Branch:
    """A recorded continuation of the launch that is not the followed one.

    Attributes:
        moves: all of them, from the launch on.
        marks: checkpoints on it.
        left: where something was changed, and another way began; None: it was left whole.
        name: what its user calls it.
    """

    moves: list[Move]
    marks: list[Mark]
    left: Position | None
    name: str = ""

    @property
    def tick(self) -> int:
        """The tick of its end."""
        return self.moves[-1].after if self.moves else 0


class Branches:
    """The branches of a launch that are not followed now, by number.

    Attributes:
        current: number of the one that is followed; the launch itself was the first.
        name: what its user calls it.
        left: where something was changed on it, and another way began.
    """

    def __init__(self) -> None:
        self._rows: dict[int, Branch] = {}
        self._origins: dict[int, BranchOrigin] = {1: BranchOrigin()}
        self.current = self._last = 1
        self.name = ""
        self.left: Position | None = None

    def leave(self, branch: Branch) -> None:
        """Store the followed branch under its number and begin a new one."""
        branch.name, self.name = self.name, ""
        left = branch.left
        branch.left, self.left = self.left or left, None
        self._rows[self.current] = branch
        self._last += 1
        self._origins[self._last] = BranchOrigin(self.current, None if left is None else left.tick)
        self.current = self._last

    def get(self, number: int) -> Branch:
        """A branch.

        Raises:
            CommandError: no branch has that number.
        """
        found = self._rows.get(number)
        if found is None:
            raise CommandError(f"no branch {number}", "`info branches` lists them")
        return found

    def number_of(self, text: str) -> int:
        """The branch of a number or a name; the followed one is found, too.

        Raises:
            CommandError: there is none, or several have the name.
        """
        word = text.strip()
        if word.isdecimal():
            if int(word) != self.current:
                self.get(int(word))
            return int(word)
        found = [number for number, branch in self if branch.name == word]
        found += [self.current] if self.name == word else []
        if len(found) != 1:
            words = f"no branch {word!r}" if not found else f"several branches are called {word!r}"
            raise CommandError(words, "`info branches` lists them")
        return found[0]

    def exchange(self, number: int, branch: Branch) -> None:
        """Follow another branch; `branch` is the one that was followed so far."""
        branch.name, branch.left = self.name, self.left
        self._rows[self.current] = branch
        taken = self._rows.pop(number)
        self.name, self.left = taken.name, taken.left
        self.current = number

    def delete(self, number: int) -> None:
        """Forget a branch; its number is not given again.

        Raises:
            CommandError: it is the one that is followed, or there is none.
        """
        if number == self.current:
            raise CommandError(
                f"branch {number} is the one that is followed", "`branch N` goes to another first"
            )
        self.get(number)
        del self._rows[number]

    def restore(self, number: int, branch: Branch, origin: BranchOrigin) -> None:
        """A branch of a recording, not followed."""
        self._rows[number], self._origins[number] = branch, origin
        self._last = max(self._last, number)

    def follow(self, number: int, name: str, left: Position | None, origin: BranchOrigin) -> None:
        """The branch of a recording that is followed."""
        self.current, self.name, self.left = number, name, left
        self._origins[number] = origin
        self._last = max(self._last, number)

    def name_of(self, number: int) -> str:
        """What its user calls a branch."""
        return self.name if number == self.current else self.get(number).name

    def left_at(self, number: int) -> Position | None:
        """The first position on a branch at which another one began; None where none did."""
        return self.left if number == self.current else self.get(number).left

    def origin(self, number: int) -> BranchOrigin:
        """Where a branch began."""
        return self._origins.get(number, BranchOrigin())

    def rows(self, end: int) -> list[BranchRow]:
        """All of them; `end` is where the followed one ends."""
        found = [self._row(n, b.left, b.tick, b.name) for n, b in self._rows.items()]
        found.append(self._row(self.current, self.left, end, self.name))
        return sorted(found, key=lambda row: row.number)

    def _row(self, number: int, left: Position | None, end: int, name: str) -> BranchRow:
        origin = self.origin(number)
        at = None if left is None else left.tick
        return BranchRow(number, number == self.current, origin.parent, origin.tick, at, end, name)

    def __iter__(self) -> Iterator[tuple[int, Branch]]:
        return iter(list(self._rows.items()))

    def __len__(self) -> int:
        return len(self._rows)
