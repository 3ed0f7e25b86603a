"""Why lanes part at a branch, and how an access's addresses lie, proven from the code.

What the lane analysis (`gpudbg.sm.lanes`) knows of an instruction, in words.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from gpudbg.isa.operands import RZ, Address
from gpudbg.sm.lanes.analysis import LaneAnalysis, of_kernel
from gpudbg.symbols.listing import code_line

if TYPE_CHECKING:
    from gpudbg.debug.symbols import Symbols


class LaneReasons:
    """Claims about a launched kernel's code, in words; offsets are those in its section."""

    def __init__(self, symbols: Symbols, block: tuple[int, int, int]) -> None:
        """Args: block: threads of a block."""
        self._symbols, self._block = symbols, block

    @cached_property
    def known(self) -> LaneAnalysis | None:
        """The analysis; None where the kernel is too long."""
        symbols = self._symbols
        return of_kernel(symbols.program, symbols.image, symbols.kernel, self._block)

    def text(self, offset: int) -> str:
        """An instruction as it is listed."""
        line = code_line(self._symbols.image, self._symbols.base + offset)
        return "" if line is None else line.text

    def branch(self, offset: int) -> str:
        """Why a branch's lanes may part, as `P0 varies: ISETP... at 0x58`; "" where they do not."""
        found = None if self.known is None else self.known.divergent.get(offset)
        if found is None:
            return ""
        if not found.predicate:
            return "its condition is not uniform"
        name = found.predicate.lstrip("!")
        if found.setter is None:
            return f"{name} varies"
        return f"{name} varies: {self.text(found.setter)} at {found.setter:#x}"

    def compared(self, offset: int) -> str:
        """What is known of the registers on which a branch's lanes part, as `R0 is lane`."""
        found = None if self.known is None else self.known.divergent.get(offset)
        if found is None or found.setter is None:
            return ""
        return self._registers(found.setter, None)

    def address(self, offset: int) -> str:
        """How the lanes of an access's address lie, as `R4 is base + 256*lane`; "": not known."""
        insn = None if self.known is None else self.known.flow.instructions.get(offset)
        place = None if insn is None else insn.o.get("addr")
        if not isinstance(place, Address) or place.base.index == RZ or place.base.file != "R":
            return ""
        return self._registers(offset, {place.base.index})

    def _registers(self, offset: int, wanted: set[int] | None) -> str:
        """Registers that an instruction reads, of those wanted, as far as they are known."""
        insn = None if self.known is None else self.known.flow.instructions.get(offset)
        if self.known is None or insn is None:
            return ""
        claims = self.known.claims(offset)
        read = sorted(insn.reads().registers if wanted is None else wanted)
        return ", ".join(f"R{n} is {claims[n].words()}" for n in read if n in claims)
