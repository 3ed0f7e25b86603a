"""What a program's file says, listed: its code as `gpudbg dis` prints it, its contents."""

from gpudbg.doors import door

__getattr__, __dir__ = door(__name__, __file__)
