"""Breakpoints and watchpoints: their table, the tests of whether one is met, events for scripts."""

from gpudbg.doors import door

__getattr__, __dir__ = door(__name__, __file__)
