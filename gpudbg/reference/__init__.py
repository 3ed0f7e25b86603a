"""What words mean, without a program: instructions, registers, surfaces, kernel logs, policies.

The answers of `gpudbg decode` and of those topics of `gpudbg info` that need no program.
"""

from gpudbg.doors import door

__getattr__, __dir__ = door(__name__, __file__)
