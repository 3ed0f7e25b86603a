"""The Python API: programs that can be launched, opened from a path and flags."""

from gpudbg.doors import door

__getattr__, __dir__ = door(__name__, __file__)
