"""What expressions read and write: names, registers, memory, call frames."""

from gpudbg.doors import door

__getattr__, __dir__ = door(__name__, __file__)
