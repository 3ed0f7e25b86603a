"""Completion of the console's line."""

from __future__ import annotations

from gpudbg.debug import complete

__all__ = ["complete"]
