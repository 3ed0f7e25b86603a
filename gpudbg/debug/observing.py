"""Observers of an inferior: attached until they are cancelled, or its launch is released."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.device.subscription import Subscription
from gpudbg.errors import UsageError
from gpudbg.sm.observer import Observer

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior


def subscribe(inferior: Inferior, observer: Observer) -> Subscription:
    """Attach an observer to the machine's events.

    Raises:
        UsageError: it is none.
    """
    if not isinstance(observer, Observer):
        raise UsageError(f"an observer is a gpudbg.Observer, not a {type(observer).__name__}")
    return Subscription(inferior.grid.gpu, observer, inferior.launch.subscriptions)


def unsubscribe(inferior: Inferior, observer: Observer) -> None:
    """Detach an observer that `subscribe` attached; nothing happens to others."""
    for found in [s for s in inferior.launch.subscriptions if s.observer is observer]:
        found.cancel()
