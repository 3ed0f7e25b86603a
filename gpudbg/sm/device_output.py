"""What device code printed, and the heap its malloc takes from: both outlast a launch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from gpudbg.dataclass import dataclass
from gpudbg.latest import Latest
from gpudbg.mem.device import Allocation

MAX_OUTPUT_CHARS = 1 << 24
"""Characters of output kept, in whole pieces; older ones are dropped, as the real printf buffer
does."""
PIECE_CHARS = 64
"""What a piece of text costs beside its characters."""


@dataclass(slots=True)
class DeviceOutput:
    """What device code printed, in order; `listeners` hear each piece as it comes.

    Attributes:
        count: pieces so far.
        repeated: pieces to come that were printed before, by a run that is carried out again.
    """

    pieces: Latest[str] = field(
        default_factory=lambda: Latest(MAX_OUTPUT_CHARS, lambda text: len(text) + PIECE_CHARS)
    )
    listeners: list[Callable[[str], None]] = field(default_factory=list)
    repeated: int = 0
    count: int = 0

    @property
    def dropped(self) -> int:
        """Pieces that are kept no longer."""
        return self.pieces.first

    def write(self, text: str) -> None:
        """Add a piece of text."""
        if self.repeated:
            self.repeated -= 1
            return
        self.pieces.append(text)
        self.count += 1
        for listener in self.listeners:
            listener(text)

    @property
    def text(self) -> str:
        """Everything that was kept."""
        return "".join(self.pieces)

    def __str__(self) -> str:
        return self.text


@dataclass(slots=True)
class Heap:
    """The device heap: malloc takes from it until `limit` bytes are out.

    Attributes:
        used: bytes that are out.
        blocks: allocated by malloc and not freed.
    """

    limit: int
    used: int = 0
    blocks: set[Allocation] = field(default_factory=set)
