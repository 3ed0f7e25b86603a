"""Why lanes part, how the lanes of results and addresses lie, proven from the code: in words.

What the lane analysis (`gpudbg.sm.lanes`) knows of an instruction: the one place of these texts for
`info uniform`, `disassemble /u`, `gpudbg dis --lanes`, the findings of checks and their figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gpudbg.isa.operands import RZ, Address
from gpudbg.sm import cfg
from gpudbg.sm.lanes.analysis import MAX_INSTRUCTIONS, LaneAnalysis, of_kernel
from gpudbg.symbols.listing import code_line

if TYPE_CHECKING:
    from gpudbg.formats.program import CodeImage, Kernel
    from gpudbg.sm.lanes.analysis import Divergence
    from gpudbg.sm.lanes.values import Truth

_MEETS = frozenset(("BAR", "WARPSYNC", "SHFL", "VOTE", "MATCH"))
"""Instructions that mean something else where not all lanes come."""


class LaneReasons:
    """Claims about a kernel's code, in words; offsets are those in its section.

    Args:
        analysed: makes the analysis; None where the kernel is too long.
        text: an instruction as it is listed, by offset.
    """

    def __init__(
        self, analysed: Callable[[], LaneAnalysis | None], text: Callable[[int], str]
    ) -> None:
        self._analysed, self.text = analysed, text

    @classmethod
    def of_launch(
        cls, image: CodeImage, kernel: Kernel, block: tuple[int, int, int]
    ) -> LaneReasons:
        """Of a launched kernel; `block`: threads of a block."""

        def text(offset: int) -> str:
            line = code_line(image, image.address_in(kernel.section, offset))
            return "" if line is None else line.text

        return cls(lambda: of_kernel(image.program, image, kernel, block), text)

    @cached_property
    def known(self) -> LaneAnalysis | None:
        """The analysis; None where the kernel is too long."""
        return self._analysed()

    @property
    def unclaimed(self) -> str:
        """Why nothing is claimed of this code; "" where something is."""
        if self.known is None:
            return f"too long to be analysed: {MAX_INSTRUCTIONS:,} instructions are"
        away = self.known.leads_anywhere
        if away is not None:
            where = f"{self.text(away)} at 0x{away:x}"
            return f"nothing is claimed: {where} leads where the file does not say"
        return "" if self.known.flow.complete else "nothing is claimed: tokens are nested too deep"

    @property
    def offsets(self) -> tuple[int, ...]:
        """Of all instructions."""
        return () if self.known is None else tuple(self.known.flow.instructions)

    # ---- why lanes part ----------------------------------------------------------------

    def branch(self, offset: int) -> str:
        """Why a branch's lanes may part, as `P0 varies: ISETP... at 0x58`; "" where they do not."""
        found = None if self.known is None else self.known.divergent.get(offset)
        return "" if found is None else self._condition(found)

    def why(self, offset: int) -> str:
        """The same, and what is known of the registers that decide it, as `R0 is lane`; of any
        guarded instruction."""
        found = None if self.known is None else self.known.divergence(offset)
        return "" if found is None else self._reason(found)

    def parted(self, offset: int) -> str:
        """Why only some lanes of a warp may execute an instruction: of its guard, or of the branch
        (or EXIT) behind which it lies; "" where all come, as far as the code says."""
        if self.known is None:
            return ""
        own = self.known.guarded(offset)
        if own is not None:
            return f"lanes part at its guard: {self._reason(own)}"
        found = self.known.parted(offset)
        if found is None:
            return ""
        insn = self.known.flow.instructions[found.offset]
        name = "branch" if insn is None else insn.op
        return f"lanes part at the {name} at {found.offset:#x}: {self._reason(found)}"

    def _reason(self, found: Divergence) -> str:
        setters = self._setters(found)
        compared = self._registers(setters[0]) if len(setters) == 1 else ""
        return ", ".join(text for text in (self._condition(found), compared) if text)

    def _condition(self, found: Divergence) -> str:
        if not found.predicate:
            return "its condition is not uniform"
        name = found.predicate.lstrip("!")
        return f"{name} varies{self._from(self._setters(found))}"

    def _from(self, places: list[int]) -> str:
        """What wrote something: the instruction where it is one, else where they are."""
        if len(places) == 1:
            return f": {self.text(places[0])} at {places[0]:#x}"
        return f", written at {', '.join(f'{o:#x}' for o in places)}" if places else ""

    def _setters(self, found: Divergence) -> list[int]:
        """Instructions that may have written the predicate of a branch."""
        if found.setter is not None or self.known is None or not found.predicate:
            return [] if found.setter is None else [found.setter]
        index = int(found.predicate.lstrip("!P"))
        parting = self.known.parting
        return sorted(parting.writers(found.offset, lambda i: index in i.writes().predicates))

    # ---- how lanes lie -----------------------------------------------------------------

    def results(self, offset: int, registers: Iterable[int] | None = None) -> str:
        """How the lanes of what an instruction writes lie, as `R4 base + 4*lane; P0 varying`.

        Args:
            registers: only these, and no predicates.
        """
        if self.known is None:
            return ""
        found = self.known.results(offset)
        chosen = found if registers is None else set(registers) & found.keys()
        shapes = ((n, found[n]) for n in sorted(chosen))
        words = [f"R{n} {'varying' if s is None else s.words()}" for n, s in shapes]
        if registers is None:
            words += [f"P{n} {_mask(held)}" for n, held in self.known.masks(offset).items()]
        return "; ".join(words)

    def address(self, offset: int) -> str:
        """How the lanes of an access's address lie, as `R4 is base + 256*lane`; "": not known."""
        insn = None if self.known is None else self.known.flow.instructions.get(offset)
        place = None if insn is None else insn.o.get("addr")
        if self.known is None or not isinstance(place, Address):
            return ""
        index = place.base.index
        if index == RZ or place.base.file != "R":
            return ""
        claims = self.known.claims(offset)
        return f"R{index} is {claims[index].words()}" if index in claims else ""

    def _registers(self, offset: int) -> str:
        """Registers that an instruction reads: how their lanes lie, or what wrote them."""
        insn = None if self.known is None else self.known.flow.instructions.get(offset)
        if self.known is None or insn is None:
            return ""
        claims = self.known.claims(offset)
        words = []
        for index in sorted(insn.reads().registers):
            if index in claims:
                words.append(f"R{index} is {claims[index].words()}")
                continue
            places = self.known.parting.writers(offset, _writer(index))
            words.append(f"R{index} varies{self._from(sorted(places))}")
        return ", ".join(words)

    # ---- a listing's remark ------------------------------------------------------------

    def remark(self, offset: int) -> str:
        """What a listing says beside an instruction: its results, its address, and of a branch,
        EXIT, barrier or exchange whether lanes may part there and why."""
        insn = None if self.known is None else self.known.flow.instructions.get(offset)
        if self.known is None or insn is None or offset not in self.known.before:
            return ""
        return "; ".join(text for text in self._remarks(offset, insn) if text)

    def _remarks(self, offset: int, insn: Any) -> Iterator[str]:
        yield self.results(offset)
        address = self.address(offset)
        yield address and f"address {address}"
        if insn.op in _MEETS:
            yield self.parted(offset) or "all lanes come"
        elif insn.op in cfg.FLOW and (insn.op in cfg.INDIRECT or cfg.goes_on(insn)):
            why = self.why(offset)
            yield f"lanes may part: {why}" if why else "all lanes go one way"


def _writer(index: int) -> Any:
    """Whether an instruction writes a register."""
    return lambda insn: index in insn.writes().registers


def _mask(held: Truth | None) -> str:
    """A predicate in few words."""
    if held is None:
        return "varying"
    text = "uniform" if held.rows == 1 else f"uniform in each {32 // held.rows} lanes"
    if held.known is not None:
        text += " true" if held.known else " false"
    return f"{text}, unless it wraps" if held.given else text
