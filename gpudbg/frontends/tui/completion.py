"""Completion of the console's line."""

from __future__ import annotations

from gpudbg.debug.completion import complete

__all__ = ["complete"]
