"""From a file to a program: read, compiled, assembled, or in a format that a plugin reads."""

from gpudbg.doors import door

__getattr__, __dir__ = door(__name__, __file__)
