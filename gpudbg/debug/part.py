"""What the parts of a session's class have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession


class Part:
    """A base of `DebugSession`, which holds some of its methods."""

    @property
    def _whole(self) -> DebugSession:
        """The session this is a part of."""
        return self  # type: ignore[return-value]
