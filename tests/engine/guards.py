"""Memory between pages that nobody may touch, in place of what `gpudbg.mem.pages` gives out.

An access outside of an allocation, up to `REACH` bytes before and behind it, ends the process: for
child processes only.
"""

from __future__ import annotations

import ctypes
import json
import math
import mmap
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

REACH = (4 << 30) + (16 << 20)
"""More than what 32 bits can be wrong by."""
_PROTECTED = 0


class Guards:
    """Allocations between protected pages, which end, or begin, at one.

    Attributes:
        at_end: they end there; else they begin there.
        made: how many there were.
    """

    def __init__(self) -> None:
        self.at_end = True
        self.made = 0
        self._protect = ctypes.CDLL(None, use_errno=True).mprotect
        self._protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)

    def _zeroed(self, size: int, alignment: int) -> npt.NDArray[np.uint8]:
        page = mmap.PAGESIZE
        room = max(page, size + -size % page)
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
        array = np.frombuffer(mmap.mmap(-1, room + 2 * REACH, flags=flags), np.uint8)
        start = address_of(array)
        for place in (start, start + REACH + room):
            if self._protect(place, REACH, _PROTECTED):
                raise OSError(ctypes.get_errno(), "mprotect")
        self.made += 1
        at = REACH
        if self.at_end:
            at += (room - size) // alignment * alignment
        return array[at : at + size]

    def zeroed(self, size: int) -> npt.NDArray[np.uint8]:
        """As `pages.zeroed`."""
        return self._zeroed(size, 64)

    def zeroed_part(self, size: int, used: int) -> npt.NDArray[np.uint8]:
        """As `pages.zeroed_part`."""
        return self._zeroed(size, 64)

    def storage(self, size: int) -> tuple[npt.NDArray[np.uint8], None]:
        """As `pages.storage`; what a program may use ends where the protected page begins."""
        return self._zeroed(size, 16), None

    def install(self) -> None:
        """Have all modules loaded so far, and later ones, take memory from here."""
        from gpudbg.debug.history import pace
        from gpudbg.mem import pages

        # A checkpoint of a long run would read the protected pages.
        vars(pace)["FIRST"] = math.inf

        for name in ("zeroed", "zeroed_part", "storage"):
            known = getattr(pages, name)
            for module in list(sys.modules.values()):
                if getattr(module, name, None) is known:
                    setattr(module, name, getattr(self, name))


def quiet() -> None:
    """A crash writes nothing: who waits for the process sees the signal."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def address_of(array: npt.NDArray[Any]) -> int:
    """Where an array begins."""
    return int(array.__array_interface__["data"][0])


def in_children(
    names: Iterable[str], rows: Callable[[str], Iterable[dict[str, object]]], *, at_end: bool
) -> int:
    """Install guards, and print the rows of each name from a process of its own; 1 when any has
    more than one, which tells how all ended, or a signal ended it.

    Args:
        at_end: as of `Guards`.
    """
    quiet()
    made = Guards()
    made.at_end = at_end
    made.install()
    bad = 0
    for name in names:
        child = os.fork()
        if not child:
            found = list(rows(name))
            print(*map(json.dumps, found), sep="\n", flush=True)
            os._exit(int(len(found) > 1))
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            print(json.dumps({"arch": name, "signal": os.WTERMSIG(status)}), flush=True)
        bad += status != 0
    return int(bad > 0)
