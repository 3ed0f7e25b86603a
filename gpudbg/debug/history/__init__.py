"""Going back: what a launch did, states on the way, and every state in between."""

from gpudbg.doors import door

__getattr__, __dir__ = door(__name__, __file__)
