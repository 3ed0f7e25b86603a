"""Base of a session's parts: an object that works on the inferior through a weak reference."""

from __future__ import annotations

import weakref
from threading import get_ident
from typing import TYPE_CHECKING, Generic, TypeVar

from gpudbg.errors import UsageError

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior

Owner = TypeVar("Owner", bound="Inferior")
"""The inferior's type as a part sees it: `Inferior`, or the session class its callbacks are
given.
"""


class Attached(Generic[Owner]):
    """An object that holds its inferior weakly: a part never keeps a closed session alive."""

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
        owner = found.ownership.thread
        if owner and owner != get_ident():
            found.ownership.require()
        return found
