"""Frozen pictures of memory, buffers and images at a stop, and what has changed at it."""

from gpudbg.doors import door

__getattr__, __dir__ = door(__name__, __file__)
