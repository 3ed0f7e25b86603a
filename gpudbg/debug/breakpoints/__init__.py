"""Breakpoints and watchpoints: their table, what meets them, events for scripts."""

from gpudbg.doors import door

__getattr__, __dir__ = door(__name__, __file__)
