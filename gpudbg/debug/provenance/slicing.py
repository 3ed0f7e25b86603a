"""`why`: from a value back to its loads and parameters, instruction by instruction.

A register's value goes on at what its writer read, a load's at who wrote the memory, a shuffle's in
the other lane.  Constants, special registers and what was there at the launch are the leaves.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from gpudbg.debug.provenance.access_observers import Hit
from gpudbg.debug.provenance.causes import Derivation
from gpudbg.debug.provenance.controlling import Controlling
from gpudbg.debug.provenance.places import (
    AskedPlace,
    raw_value,
    register_place,
    value_text,
)
from gpudbg.debug.provenance.search import Search, SearchGoals
from gpudbg.debug.provenance.sources import ReadSource, Visit, sources_of, visit
from gpudbg.debug.provenance.warp_log import WarpLog
from gpudbg.isa.family import decode

if TYPE_CHECKING:
    from gpudbg.debug.history.history import LaunchHistory
    from gpudbg.debug.inferior import Inferior
    from gpudbg.debug.provenance.places import WarpKey
    from gpudbg.debug.provenance.queries import Provenance
    from gpudbg.isa.family import Instruction

MOST: Final = 400
"""Values of one tree."""


class Slice:
    """Makes one tree; the launch goes through its past meanwhile.

    Args:
        inferior: whose launch.
        history: its past.
        asking: says who wrote memory, and what was there at the launch.
        control: branches that decided whether an instruction ran are causes, too.
    """

    def __init__(
        self, inferior: Inferior, history: LaunchHistory, asking: Provenance, control: bool
    ) -> None:
        self._inferior, self._history, self._asking = inferior, history, asking
        self._logs: dict[WarpKey, WarpLog] = {}
        self._pcs: dict[tuple[str, tuple[int, ...]], frozenset[int]] = {}
        self._seen: set[tuple[object, ...]] = set()
        self._left = MOST
        arch = inferior.program.arch
        rows = inferior.symbols.listing
        self._code: dict[int, Instruction] = {r.pc: decode(r.word, arch) for r in rows if r.legal}
        self._controlling = Controlling(inferior.symbols, self._code) if control else None

    def of(
        self, place: AskedPlace, lane: int, before: int, depth: int, role: str = ""
    ) -> Derivation:
        """What a place of a lane has before a tick, and why."""
        self._left -= 1
        self._history.pass_by(self._history.replay.latest(before))
        value = value_text(place, raw_value(self._inferior, place, lane))
        if place.space == "constant":
            return self._leaf(place, lane, before, role, value)
        hit = self._writer(place, lane, before)
        if not isinstance(hit, Hit):
            return self._leaf(place, lane, before, role, value, hit)
        return self._made(place, lane, before, hit, value, depth, role)

    # ---- who wrote it --------------------------------------------------------------------
    def _writer(self, place: AskedPlace, lane: int, before: int) -> Hit | str | None:
        """The last writer of a register: a hit, "edit" for a change from outside, None for none."""
        if not place.in_memory:
            found = self._register_writer(place, lane, before)
            since = -1 if found is None else found.tick
            if not self._edited_between(since, before):
                return found
        wanted = SearchGoals([replace(place, lanes=1 << lane) if not place.in_memory else place], 1)
        search = Search(self._inferior, self._history, self._history.pass_by, "write")
        search.last(wanted, self._history.replay.latest(before))
        if not wanted.found[0]:
            return None
        last = wanted.found[0][0]
        return last if isinstance(last, Hit) else "edit"

    def _edited_between(self, since: int, before: int) -> bool:
        marks = self._history.replay.marks
        return any(mark.needed and since < mark.at.tick <= before for mark in marks)

    def _register_writer(self, place: AskedPlace, lane: int, before: int) -> Hit | None:
        name = place.space, place.numbers
        if name not in self._pcs:
            found = (pc for pc, insn in self._code.items() if place.written_by(insn))
            self._pcs[name] = frozenset(found)
        row = self._log(place.key, before).last(self._pcs[name], lane, before)
        if row is None:
            return None
        return Hit(row[0], 0, place.key, row[1], row[2], "register")

    def _log(self, key: WarpKey, before: int) -> WarpLog:
        log = self._logs.get(key)
        if log is None or before > log.high:
            log = self._logs[key] = WarpLog(self._history, key, before)
        return log

    # ---- values --------------------------------------------------------------------------
    def _leaf(
        self,
        place: AskedPlace,
        lane: int,
        before: int,
        role: str,
        value: str,
        why: str | None = None,
    ) -> Derivation:
        """A leaf of the tree: a value that no instruction made."""
        kind = why or ("constant" if place.space == "constant" else "launch")
        note = self._asking.origin(place) if kind != "edit" else "changed from outside"
        return Derivation(
            role=role, what=place.expression, value=value, kind=kind,
            tick=None, block=None, thread=None, lane=lane, pc=None, instruction="",
            function=None, file=None, line=None, note=note,
            cut=False, again=False, children=(), origin=(place, lane, before),
        )  # fmt: skip

    def _made(
        self,
        place: AskedPlace,
        lane: int,
        before: int,
        hit: Hit,
        value: str,
        depth: int,
        role: str,
    ) -> Derivation:
        """A node of the tree: a value that an instruction made, with its sources below."""
        inferior, symbols = self._inferior, self._inferior.symbols
        # The lane whose store stands: for memory the highest of those that wrote it.
        writer = hit.lanes.bit_length() - 1 if place.in_memory else lane
        seen = visit(inferior, self._history, hit, writer)
        row, code = symbols.instruction(hit.pc), symbols.place(hit.pc)
        made = Derivation(
            role=role, what=place.expression, value=value, kind=self._asking.kind_of(hit, place),
            tick=hit.tick, block=seen.block, thread=seen.thread, lane=writer,
            pc=symbols.offset(hit.pc), instruction="" if row is None else row.text,
            function=code.function, file=code.file, line=code.line, note="",
            cut=False, again=False, children=(), origin=(place, lane, before),
        )  # fmt: skip
        insn = self._code[hit.pc]
        sources = sources_of(insn, seen, place, writer)
        name = hit.tick, hit.key, writer, place.text if place.in_memory else ""
        if name in self._seen and sources:
            return replace(made, cut=True, again=True)
        if sources and (depth <= 1 or self._left <= 0):
            return replace(made, cut=True)
        self._seen.add(name)
        children = [self._child(source, hit, seen, depth) for source in sources]
        if self._controlling is not None and depth > 1:
            children += self._control(hit, writer, depth)
        return replace(made, children=tuple(children))

    def _child(self, source: ReadSource, hit: Hit, seen: Visit, depth: int) -> Derivation:
        if source.place is None:
            return Derivation(
                role=source.role, what=source.what, value=source.value, kind=source.kind,
                tick=None, block=seen.block, thread=seen.thread, lane=source.lane, pc=None,
                instruction="", function=None, file=None, line=None, note=source.kind, cut=False,
                again=False, children=(), origin=None,
            )  # fmt: skip
        return self.of(source.place, source.lane, hit.tick, depth - 1, source.role)

    def _control(self, hit: Hit, lane: int, depth: int) -> list[Derivation]:
        """The branch that led to an instruction."""
        assert self._controlling is not None
        pcs = self._controlling.of(hit.pc)
        # A lane that jumps over the branch does not execute it.
        row = self._log(hit.key, hit.tick).last(pcs, None, hit.tick) if pcs else None
        if row is None:
            return []
        tick, pc, _ = row
        index, _ = self._code[pc].guard
        place = register_place("predicate", (index,), hit.key, lane)
        return [self.of(place, lane, tick, depth - 1, "control")]
