"""Answers as text, JSON and HTML: pure functions of a session's data."""

from gpudbg.doors import door

__getattr__, __dir__ = door(__name__, __file__)
