"""Marks of what is stored to memory without contents (`gpudbg.sm.written`).

Those of shared and local memory lie at a fixed distance from it, those of an allocation at its own.
A store in place writes them in place; after a call of the library another one does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import Builder

ONES = "splat (i32 -1)"
_APART = {"shared": layout.SHARED_MARKS, "local": layout.LOCAL_MARKS}


class Marks:
    """Where the marks of the present access are.

    Attributes:
        spaces: in which what is stored is marked.
        noted: the present access has written them.
    """

    def __init__(self, ir: Builder, spaces: frozenset[str]) -> None:
        self.ir, self.spaces = ir, spaces
        self.noted = self._maybe = False
        self._apart = ""

    def begin(self, space: str) -> None:
        """Begin a store or an atomic."""
        known = space in self.spaces and space in _APART
        self._apart = self.ir.get("i64", "%env", _APART[space]) if known else ""
        self.noted = self._maybe = False

    def end(self) -> None:
        """End it: later stores have no marks."""
        self._apart = ""

    def of_site(self, site: str) -> str:
        """i64: bytes from a site's allocation to its marks, 0 without any; "" where nothing is
        marked."""
        marked = "global" in self.spaces
        return self.ir.get("i64", site, layout.SITE_MARKS) if marked else ""

    def lie(self, apart: str) -> None:
        """Set the distance to the marks of the next store (`of_site`)."""
        self._apart, self._maybe = apart, True

    @property
    def wanted(self) -> bool:
        """Whether the present access to shared or local memory is marked."""
        return bool(self._apart)

    @contextmanager
    def beside(self, place: str) -> Iterator[str]:
        """The marks of a place; "" where none are written.  An allocation may have none: what
        the body emits is passed over then."""
        ir = self.ir
        if not self._apart:
            yield ""
            return
        self.noted = True
        marks = ir.at(place, self._apart)
        if not self._maybe:
            yield marks
            return
        some, none = ir.fresh("some"), ir.fresh("none")
        ir.choose(ir.op(f"icmp eq i64 {self._apart}, 0"), none, some)
        ir.label(some)
        yield marks
        ir.br(none)
        ir.label(none)
