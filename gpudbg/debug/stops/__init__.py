"""Why the machine stopped: stop records, fault cards, exceptions, proven hangs."""

from gpudbg.doors import door

__getattr__, __dir__ = door(__name__, __file__)
