"""What the parts of a session have in common."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from gpudbg.errors import UsageError

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession


class Part:
    """A base of `DebugSession`, which holds some of its methods."""

    @property
    def _whole(self) -> DebugSession:
        """The session this is a part of."""
        return self  # type: ignore[return-value]


class Attached:
    """An object of a session that does not keep it: the session goes when its last user does."""

    def __init__(self, session: DebugSession) -> None:
        self._owner = weakref.ref(session)

    @property
    def _session(self) -> DebugSession:
        """The session.

        Raises:
            UsageError: it is gone.
        """
        found = self._owner()
        if found is None:
            raise UsageError(f"the session of this {type(self).__name__} is gone", "keep it")
        return found
