"""From a launch table, flags or a form to a launch with its arguments checked."""

from gpudbg.doors import door

__getattr__, __dir__ = door(__name__, __file__)
