"""Observers that listen until the session that they listen for ends."""

from __future__ import annotations

from types import TracebackType

from gpudbg.sm.gpu import Gpu
from gpudbg.sm.observer import Observer


class Subscription:
    """An observer at work; as a context manager it ends with the block.

    Attributes:
        observer: what was subscribed.
    """

    def __init__(self, gpu: Gpu, observer: Observer, among: set[Subscription]) -> None:
        """Args: among: those that end with the session, this one from now on."""
        self.observer = observer
        self._gpu: Gpu | None = gpu
        self._among = among
        among.add(self)
        gpu.subscribe(observer)

    def cancel(self) -> None:
        """Stop observing; a second call does nothing."""
        if self._gpu is not None:
            self._gpu.unsubscribe(self.observer)
            self._among.discard(self)
            self._gpu = None

    def __enter__(self) -> Observer:
        return self.observer

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.cancel()
