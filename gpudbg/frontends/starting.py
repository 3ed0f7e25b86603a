"""What front ends do while they start: NumPy without threads, no search for garbage.

The linear algebra library under NumPy starts a thread for each processor when it is loaded, and
each spins for a while: processor time for nothing in front ends, which multiply no large matrices.
The Python API and `gpudbg script` leave the choice to the user.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS")
"""Where NumPy's libraries read how many threads they are to start."""


def load_numpy() -> None:
    """Import NumPy with one thread, unless the user has chosen a number.

    The environment is as it was afterwards: programs that the user starts from here read it too.
    """
    if any(name in os.environ for name in THREADS):
        import numpy

        return
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        import numpy  # noqa: F401
    finally:
        for name in THREADS:
            del os.environ[name]


@contextmanager
def no_collection() -> Iterator[None]:
    """Look for no garbage; what is there at the end is never looked at again.

    Start-up makes a million objects and drops few of them: walking them costs a tenth of it.
    """
    gc.disable()
    try:
        yield
    finally:
        collect_again()


def collect_again() -> None:
    """The end of `no_collection`, where a screen knows better when it has started."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
