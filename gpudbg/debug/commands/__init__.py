"""The console's commands, one family a module; `registry.load()` gives the table."""

from gpudbg.doors import door

__getattr__, __dir__ = door(__name__, __file__)
