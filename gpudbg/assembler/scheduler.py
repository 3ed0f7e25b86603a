"""The default scheduler: control groups that are safe, for instructions that have none.

Instructions stay in their order, one by one.  Inside a basic block a fixed-latency result is
waited for by the stall count of the instruction before its reader, and every instruction of
variable latency gets a scoreboard that its first reader (or the first to overwrite its operands)
waits for.  At the end of a block everything in flight is waited for, so that a block can assume
nothing is.  What is safe is what `gpudbg.analysis.hazards` finds no fault with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gpudbg.analysis.hazards.pipeline import Plan, name_of, plan
from gpudbg.code_layout import layout_of
from gpudbg.errors import DecodeError
from gpudbg.isa.control import SCOREBOARDS, Control
from gpudbg.isa.family import timing_of
from gpudbg.isa.spa5.sched import NEUTRAL_GROUP
from gpudbg.sm import cfg

MAX_STALL = 15
FLOW_STALL = 13
"""Cycles after a flow instruction, a barrier and a fence (modelled: as Mesa's compiler for these
architectures; compiled code uses 5 to 15).  Results still on their way are there after it."""


def schedule(
    words: Sequence[int],
    given: Sequence[Control | None],
    arch: str,
    entries: Iterable[int] = (),
) -> list[Control]:
    """Control groups for a function.

    Args:
        words: its instructions.
        given: control groups to keep; None where one is wanted.
        arch: "sm_50", ...
        entries: offsets of labels, where control may come from elsewhere.
    """
    if all(g is not None for g in given):
        return [g for g in given if g is not None]
    return _Schedule(words, given, arch, entries).run()


class _Schedule:
    """Scheduling of one function, block by block."""

    def __init__(
        self,
        words: Sequence[int],
        given: Sequence[Control | None],
        arch: str,
        entries: Iterable[int],
    ) -> None:
        self._given = given
        layout, self._timing = layout_of(arch), timing_of(arch)
        offsets = [layout.offset_of(n) for n in range(len(words))]
        flow = cfg.Flow(zip(offsets, words, strict=True), arch)
        starts = {b.start for b in flow.blocks()} | set(entries)
        self._starts = [o in starts for o in offsets]
        self._plans = [_plan(word, arch) for word in words]
        self.controls: list[Control] = []
        self._now = 0
        self._ready: dict[int, int] = {}
        self._cycles: dict[int, Mapping[str, int]] = {}
        self._boards: dict[int, set[int]] = {}
        self._next = 0

    def run(self) -> list[Control]:
        """The groups, in order."""
        for n, p in enumerate(self._plans):
            if self._starts[n]:
                self._settle_results()
            given = self._given[n]
            if p is None:
                self.controls.append(given or Control(stall=1, yield_=False))
                self._now += self.controls[-1].stall
                continue
            wait = self._needs(p)
            if self._starts[n] or self._leaves(p):
                wait |= sum(1 << b for b in self._boards)
            self._hold(p)
            control = given if given is not None else self._choose(p, wait)
            self._enter(p, control)
            self.controls.append(control)
            self._now += control.stall
        return [
            control if given is not None else self._final(p, control)
            for p, control, given in zip(self._plans, self.controls, self._given, strict=True)
        ]

    def _final(self, p: Plan | None, control: Control) -> Control:
        """A chosen group as the instruction takes it."""
        if p is not None and self._timing.takes_no_control(p.insn):
            return Control()
        if control.stall > self._timing.plain_stall:
            return replace(control, yield_=True)
        return control

    # ---- waiting -----------------------------------------------------------------------
    def _hold(self, p: Plan) -> None:
        """Raise the stall before an instruction until its operands are there."""
        wanted = 0
        for read in (*p.guard_reads, *p.reads):
            if read.resource in self._ready:
                issued = self._ready[read.resource]
                needed = self._latency(read.resource, read.reader)
                wanted = max(wanted, issued + needed - read.delay - self._now)
        self._stall(wanted)

    def _settle_results(self) -> None:
        """Let every fixed-latency result come in: control may come from elsewhere now."""
        ends = [
            at + max((self._latency(r, c) for c in self._cycles[r]), default=0) - self._now
            for r, at in self._ready.items()
        ]
        self._stall(max(ends, default=0))
        self._ready.clear()

    def _stall(self, cycles: int) -> None:
        """Add to the last instruction's stall count."""
        if cycles <= 0 or not self.controls:
            return
        last = self.controls[-1]
        if self._given[len(self.controls) - 1] is None:
            stall = min(last.stall + cycles, MAX_STALL)
            self.controls[-1] = replace(last, stall=stall)
            self._now += stall - last.stall

    def _needs(self, p: Plan) -> int:
        """Scoreboards that an instruction has to wait for."""
        touched = {r.resource for r in (*p.guard_reads, *p.reads)} | {~r for r in p.writes}
        touched |= set(p.writes)
        return sum(1 << b for b, held in self._boards.items() if held & touched)

    # ---- choosing ----------------------------------------------------------------------
    def _choose(self, p: Plan, wait: int) -> Control:
        control = Control(stall=1, yield_=False, wait=wait)
        if self._leaves(p) or self._timing.settles(p.insn):
            control = replace(control, stall=FLOW_STALL)
        if not p.variable or not (p.writes or p.late_reads):
            return control
        board = self._free(wait)
        control = replace(control, stall=max(control.stall, self._timing.scoreboard_latency))
        if board in self._boards:
            control = replace(control, wait=control.wait | 1 << board)
        if p.writes:
            return replace(control, write_barrier=board)
        return replace(control, read_barrier=board)

    def _free(self, released: int) -> int:
        """A scoreboard: one not in use, else the one used longest ago."""
        for n in range(SCOREBOARDS):
            board = (self._next + n) % SCOREBOARDS
            if board not in self._boards or released >> board & 1:
                break
        else:
            board = next(iter(self._boards))
        self._next = (board + 1) % SCOREBOARDS
        return board

    def _latency(self, resource: int, reader: str) -> int:
        return self._timing.safe_latency(self._cycles[resource], name_of(resource), reader)

    def _leaves(self, p: Plan) -> bool:
        """Whether control may go elsewhere after the instruction."""
        return self._timing.is_flow(p.insn)

    def _enter(self, p: Plan, control: Control) -> None:
        """What is in flight after the instruction has issued."""
        for board in range(SCOREBOARDS):
            if control.wait >> board & 1:
                self._boards.pop(board, None)
        for resource, cycles in zip(p.writes, p.cycles, strict=True):
            self._ready.pop(resource, None)
            if not p.variable:
                self._ready[resource], self._cycles[resource] = self._now, cycles
        # `~register` stands for a register that must not be written yet.
        if control.write_barrier is not None:
            held = self._boards.setdefault(control.write_barrier, set())
            held |= set(p.writes) | {~r for r in p.late_reads}
        if control.read_barrier is not None:
            held = self._boards.setdefault(control.read_barrier, set())
            held |= {~r for r in p.late_reads}


def _plan(word: int, arch: str) -> Plan | None:
    """What an instruction does; None for a word that is none."""
    try:
        return plan(word, NEUTRAL_GROUP, arch)
    except DecodeError:
        return None
