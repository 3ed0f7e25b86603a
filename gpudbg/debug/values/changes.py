"""Which buffers a run has written to, and how many of their elements differ from before.

Device memory tells what was written since a checkpoint (`gpudbg.mem.checkpoint`); a `ChangeMark` is
one that frontends may hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpudbg.analysis.contents import differing

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.device.device import DeviceBuffer
    from gpudbg.mem.pages import Kept


class ChangeMark:
    """Device memory as it was when the mark was made; without a reference to it nothing is kept."""

    __slots__ = ("_checkpoint",)

    def __init__(self, inferior: Inferior) -> None:
        self._checkpoint = inferior.grid.gpu.memory.checkpoint()

    def touched(self, buffer: DeviceBuffer) -> bool:
        """Whether a buffer has been written to since the mark."""
        return self._checkpoint.kept(buffer.allocation) is not None

    def changed(self, buffer: DeviceBuffer) -> int:
        """Elements of a buffer that are not what they were."""
        kept = self._checkpoint.kept(buffer.allocation)
        return 0 if kept is None else _differing(buffer, kept)


def _differing(buffer: Any, kept: Kept) -> int:
    size = buffer.dtype.itemsize
    if hasattr(buffer, "layout"):
        layout = buffer.layout()
        old, new = (np.ascontiguousarray(layout.read(b, "vm")).view(np.uint8).reshape(-1)
                    for b in (kept.content(), buffer.allocation.data))  # fmt: skip
        return int(differing(old, new, size).sum())
    count = 0
    for at, content in kept.pieces(size):
        now = buffer.allocation.data[at : at + len(content)]
        count += int(differing(content, now, size).sum())
    return count
