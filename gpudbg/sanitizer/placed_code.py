"""Facts about a program's code that checks need, computed once for all its launches."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from gpudbg.code_layout import layout_of
from gpudbg.dataclass import dataclass
from gpudbg.errors import DecodeError
from gpudbg.isa.family import decode
from gpudbg.isa.layout import instructions
from gpudbg.sanitizer.screening import reached_code
from gpudbg.sanitizer.symbol_addresses import SymbolAddresses, accesses_by_symbol

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.formats.program import CodeImage

BySymbol = tuple[SymbolAddresses, Mapping[int, frozenset[int]]]
"""Addresses of variables in code, and the variables that an access may go to, by pc."""


@dataclass(slots=True)
class PlacedCode:
    """Code that is placed on a device.

    Attributes:
        instructions: (pc, instruction) of everything that can be decoded.
        by_pc: the same, by pc.
        by_symbol: of each kernel that was asked for; None where it is unknown.
    """

    instructions: list[tuple[int, Any]]
    by_pc: Mapping[int, Any]
    by_symbol: dict[str, BySymbol | None] = field(default_factory=dict)

    @classmethod
    def of(cls, session: DebugSession) -> PlacedCode:
        """The placed code of a launch's program."""
        image = session.launch.image
        found = _KNOWN.get(image)
        if found is None:
            arch = session.launch.program.arch
            rows = []
            for pc, word, _ in instructions(image.code, layout_of(arch), image.base):
                with suppress(DecodeError):
                    rows.append((pc, decode(word, arch)))
            found = _KNOWN[image] = cls(rows, dict(rows))
        return found

    def symbol_accesses(self, session: DebugSession) -> BySymbol | None:
        """Accesses of a launch's kernel that go through the address of a variable."""
        kernel = session.symbols.kernel_name
        if kernel not in self.by_symbol:
            known = SymbolAddresses.of(session)
            reached = reached_code(session, self.instructions) or self.instructions
            found = accesses_by_symbol(session, known, reached)
            self.by_symbol[kernel] = None if found is None else (known, found)
        return self.by_symbol[kernel]


_KNOWN: WeakKeyDictionary[CodeImage, PlacedCode] = WeakKeyDictionary()
