"""Numbers for frames and variables: valid until the program runs again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass
from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession
    from gpudbg.frontends.dap.protocol import Body

Children = Callable[["DebugSession", "Node"], "list[Body]"]


@dataclass(slots=True)
class Node:
    """Something with children.

    Attributes:
        thread, level: whose frame it is read in.
        children: lists them.
        paths: name of a child -> the expression it is; those listed so far.
        lane: whose values they are, where not the focused lane's.
        lanes: name of a child -> its lane, where each is of another.
    """

    thread: int
    level: int
    children: Children
    paths: dict[str, str] = field(default_factory=dict)
    lane: int | None = None
    lanes: dict[str, int] = field(default_factory=dict)

    def lane_of(self, name: str) -> int | None:
        """The lane that a child is read in; None: the focused one."""
        return self.lanes.get(name, self.lane)


class Handles:
    """What the client knows by number; numbers are never given twice."""

    def __init__(self) -> None:
        self._next = 1
        self._frames: dict[int, tuple[int, int]] = {}
        self._nodes: dict[int, Node] = {}

    def forget(self) -> None:
        """The program runs on."""
        self._frames.clear()
        self._nodes.clear()

    def _number(self) -> int:
        self._next += 1
        return self._next - 1

    def frame(self, thread: int, level: int) -> int:
        """A number for a frame; the same one again while nothing runs."""
        for number, known in self._frames.items():
            if known == (thread, level):
                return number
        number = self._number()
        self._frames[number] = thread, level
        return number

    def frame_of(self, number: int) -> tuple[int, int]:
        """Thread and level of a frame.

        Raises:
            CommandError: it is of an earlier stop.
        """
        if number not in self._frames:
            raise CommandError(f"frame {number} is of an earlier stop")
        return self._frames[number]

    def add(self, thread: int, level: int, children: Children, lane: int | None = None) -> int:
        """A number for something with children."""
        number = self._number()
        self._nodes[number] = Node(thread, level, children, lane=lane)
        return number

    def node(self, number: int) -> Node:
        """What a number stands for; errors as `frame_of`."""
        if number not in self._nodes:
            raise CommandError(f"variables {number} are of an earlier stop")
        return self._nodes[number]
