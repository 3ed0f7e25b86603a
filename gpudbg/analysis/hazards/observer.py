"""Hazards of what a run executes: every warp's instructions go through a `Pipeline`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpudbg.analysis.findings import report
from gpudbg.analysis.hazards.finding import Finding, HazardSite
from gpudbg.analysis.hazards.pipeline import Conflict, Pipeline, Plan, plan
from gpudbg.errors import DecodeError
from gpudbg.isa.control import Control
from gpudbg.isa.family import decode
from gpudbg.isa.layout import group_at
from gpudbg.public import public_names
from gpudbg.sm.observer import Observer

if TYPE_CHECKING:
    from gpudbg.formats.program import CodeImage
    from gpudbg.sm.state import WarpState


class HazardObserver(Observer):
    """Collects the hazards of all warps; each pair of instructions is reported once.

    A warp that is already running when the observer is attached is followed from there on, with
    nothing taken to be in flight.

    Args:
        image: the program at its code addresses.

    Attributes:
        counts: times each finding was met, in the order of `findings`.
    """

    __dir__ = public_names

    def __repr__(self) -> str:
        return f"<hazards: {len(self.findings)} findings>"

    def _repr_html_(self) -> str:
        from gpudbg import html

        return html.pre(report("hazards", self))

    looks_only = True

    def __init__(self, image: CodeImage) -> None:
        self._image = image
        self._arch = image.program.arch
        self._plans: dict[int, Plan] = {}
        self._pipelines: dict[tuple[int, int], Pipeline] = {}
        self._found: dict[tuple[str, str, int | None, int], Finding] = {}
        self.counts: list[int] = []
        self._order: dict[tuple[str, str, int | None, int], int] = {}

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found so far, in the order it was met."""
        return tuple(self._found.values())

    def warp_begin(self, warp: WarpState) -> None:
        """A new warp: nothing is in flight."""
        self._pipelines[warp.sm, warp.slot] = Pipeline(by_guard=False)

    def warp_end(self, warp: WarpState) -> None:
        """Forget what is in flight."""
        self._pipelines.pop((warp.sm, warp.slot), None)

    def instruction(self, warp: WarpState, pc: int, instruction: Any, lanes: int) -> None:
        """Issue an instruction."""
        p = self._plans.get(pc) or self._plan(pc)
        if p is None:
            return
        where = warp.sm, warp.slot
        pipeline = self._pipelines.get(where)
        if pipeline is None:
            pipeline = self._pipelines[where] = Pipeline(by_guard=False)
        for conflict in pipeline.issue(pc, p, lanes):
            self._note(warp, pc, conflict)

    def _plan(self, pc: int) -> Plan | None:
        """The plan of the instruction at a pc; None where there is none."""
        place = self._word_at(pc)
        if place is None:
            return None
        try:
            found = plan(*place, self._arch)
        except DecodeError:
            return None
        self._plans[pc] = found
        return found

    def _word_at(self, pc: int) -> tuple[int, int] | None:
        """(word, control group) at a code address."""
        if self._image.placement_at(pc) is None:
            return None
        layout, code = self._image.program.layout, self._image.code
        at = layout.first(pc - self._image.base)
        return layout.word_at(code, at), group_at(code, layout, at)

    def _note(self, warp: WarpState, pc: int, conflict: Conflict) -> None:
        key = (conflict.kind, conflict.resource, conflict.first, pc)
        if key in self._found:
            self.counts[self._order[key]] += 1
            return
        self._order[key] = len(self.counts)
        self.counts.append(1)
        first = None if conflict.first is None else self._site(conflict.first)
        self._found[key] = Finding(
            conflict.kind,
            conflict.resource,
            first,
            self._site(pc),
            conflict.short,
            conflict.detail,
            (warp.sm, warp.slot),
            warp.block,
        )

    def _site(self, pc: int) -> HazardSite:
        found = self._word_at(pc)
        assert found is not None
        word, group = found
        where = self._image.section_offset(pc)
        offset = where[1] if where else pc
        text = decode(word, self._arch).text(offset, group)
        return HazardSite(pc, self._image.describe(pc), text, str(Control.decode(group)))
