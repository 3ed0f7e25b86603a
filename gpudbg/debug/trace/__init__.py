"""What happened in a run: traces, and the timeline of warps by tick."""

from gpudbg.doors import door

__getattr__, __dir__ = door(__name__, __file__)
