"""What was noted last: a sequence that forgets its beginning, and keeps its numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

Item = TypeVar("Item")


class Latest(Sequence[Item], Generic[Item]):
    """Items by the number they were given, of which the first ones are no longer kept.

    Its length is the number of all items there ever were; iteration and slices yield those that
    are kept.

    Attributes:
        first: number of the first item that is kept.
    """

    def __init__(self, most: int, weigh: Callable[[Item], int] | None = None) -> None:
        """Args: most: items that are kept, or what they weigh together; the last one always is."""
        self.first = 0
        self._most, self._weigh = most, weigh
        self._items: list[Item] = []
        self._before = self._gone = self._weight = 0

    def append(self, item: Item) -> None:
        """Note one more."""
        self._items.append(item)
        if self._weigh is None:
            more = self._before + len(self._items) - self.first - self._most
            if more <= 0:
                return
            self._gone += more
        else:
            self._weight += self._weigh(item)
            while self._weight > self._most and self._gone < len(self._items) - 1:
                self._weight -= self._weigh(self._items[self._gone])
                self._gone += 1
        self.first = self._before + self._gone
        if self._gone > 64 and 4 * self._gone > len(self._items):
            # Not one by one: each time all the others would be moved.
            del self._items[: self._gone]
            self._before += self._gone
            self._gone = 0

    def __len__(self) -> int:
        return self._before + len(self._items)

    @overload
    def __getitem__(self, index: int) -> Item: ...

    @overload
    def __getitem__(self, index: slice) -> list[Item]: ...

    def __getitem__(self, index: int | slice) -> Item | list[Item]:
        if isinstance(index, slice):
            numbers = range(*index.indices(len(self)))
            return [self._items[n - self._before] for n in numbers if n >= self.first]
        number = index + len(self) if index < 0 else index
        if not self.first <= number < len(self):
            kept = f"kept are {self.first} to {len(self) - 1}" if len(self) else "there are none"
            raise IndexError(f"no number {index}: {kept}")
        return self._items[number - self._before]

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items[self._gone :])

    def __reversed__(self) -> Iterator[Item]:
        return iter(self._items[: self._gone - 1 if self._gone else None : -1])

    def __eq__(self, other: Any) -> bool:
        return list(self) == list(other) if isinstance(other, list | Latest) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))
