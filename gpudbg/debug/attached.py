"""Parts of a session that work on its inferior and do not keep it."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Generic, TypeVar

from gpudbg.errors import UsageError

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior

Owner = TypeVar("Owner", bound="Inferior")
"""What a part works on: an inferior, or what a caller's own functions take for one."""


class Attached(Generic[Owner]):
    """An object that does not keep the inferior: that goes when its last user does."""

    def __init__(self, owner: Owner) -> None:
        self._owner = weakref.ref(owner)

    @property
    def _inferior(self) -> Owner:
        """The inferior.

        Raises:
            UsageError: it is gone.
            CommandError: its machine runs in another thread.
        """
        found = self._owner()
        if found is None:
            raise UsageError(f"the session of this {type(self).__name__} is gone", "keep it")
        if found.ownership.thread:
            found.ownership.require()
        return found
