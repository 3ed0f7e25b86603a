"""A debug session: a launch that can be stopped, inspected, changed and stepped."""

from gpudbg.doors import door

__getattr__, __dir__ = door(__name__, __file__)
