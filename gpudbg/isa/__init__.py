"""Instruction words: what they mean to read, and how to write them.

`decode` and `assemble` are the Python API over `spa5` (64-bit words, sm_50 .. sm_62) and `volta`
(128-bit words, sm_70 and later).
"""

from gpudbg.doors import door

__getattr__, __dir__ = door(__name__, __file__)
