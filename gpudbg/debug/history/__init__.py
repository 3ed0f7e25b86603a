"""Reverse execution: the moves of a launch, its checkpoints, and any state made from both."""

from gpudbg.doors import door

__getattr__, __dir__ = door(__name__, __file__)
