"""What the parts of a session have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from gpudbg.debug.attached import AttachedToInferior

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession


class Part:
    """A base of `DebugSession`, which holds some of its methods."""

    @property
    def _whole(self) -> DebugSession:
        """The session this is a part of."""
        return self  # type: ignore[return-value]


class Attached(AttachedToInferior):
    """An object of a session that does not keep it."""

    @property
    def _session(self) -> DebugSession:
        """The session; UsageError when it is gone."""
        return cast("DebugSession", self._inferior)
