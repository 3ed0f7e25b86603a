"""Names, types and lines of a program: code listings and the types of variables."""

from gpudbg.doors import door

__getattr__, __dir__ = door(__name__, __file__)
