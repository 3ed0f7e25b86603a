"""Where a value came from: who wrote and read a place, and what a value was computed from."""

from gpudbg.doors import door

__getattr__, __dir__ = door(__name__, __file__)
