"""gpudbg: the debugger for GPU machine code that needs no GPU.

    import gpudbg, numpy as np
    program = gpudbg.load("saxpy.cubin")
    session = program.launch("saxpy", grid=4, block=256, args=[np.int32(1000), x, y])
    stop = session.cont()

Public names resolve on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module

from gpudbg.doors import door

__version__ = "0.1.0"

_load, _offered = door(__name__, __file__)
_MODULES = ("errors", "plugin")
"""Public modules: the error tree and the contract of plugins."""
_PYTHONS_OWN = ("compile", "open")
"""What `from gpudbg import *` leaves alone."""


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"gpudbg.{name}")
    if name == "__all__":
        return sorted({*_offered(), "__version__"} - {*_MODULES, *_PYTHONS_OWN})
    if name not in _offered():
        from difflib import get_close_matches

        # Tools ask every module for names such as `__wrapped__`; nobody has mistyped those.
        near = [] if name[:1] == "_" else get_close_matches(name, _offered(), n=1, cutoff=0.65)
        words = f"module 'gpudbg' has no attribute {name!r}"
        raise AttributeError(words + (f"; did you mean {near[0]!r}?" if near else ""))
    value = globals()[name] = _load(name)
    return value


def __dir__() -> list[str]:
    return sorted((*_offered(), "__doc__", "__version__"))
