"""Events of a run for sanitizers, tracers, recorders and coverage.

An observer overrides the hooks it wants.  `Observers` keeps a tuple of bound hooks per event, so
an event without observers costs nothing.  A hook must not run the grid, prompt or block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gpudbg.sm.selection import NOTHING, Selection

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    # Programs are loaded without the machine, which takes its time.
    from gpudbg.mem.faults import MemoryFault
    from gpudbg.sm.asynchronous.events import AsyncEvent
    from gpudbg.sm.barriers.phase import Arrival
    from gpudbg.sm.events import WarpFault
    from gpudbg.sm.state import Cta, WarpState
    from gpudbg.sm.trace import AccessBatch, Batch, Trace

EVENTS = (
    "instruction",
    "instructions",
    "access",
    "accesses",
    "ordered",
    "near_ordered",
    "refused",
    "asynchronous",
    "barrier",
    "trap",
    "fault",
    "warp_begin",
    "warp_end",
    "cta_begin",
    "cta_end",
)


_STEPPED = ("instruction", "access", "asynchronous")
"""Events that take the step engine.  `refused` does not: compiled code leaves an access that would
fail to that engine, before anything has changed."""


class Observer:
    """Base of observers: every hook does nothing.

    >>> class Coverage(gpudbg.Observer):
    ...     def __init__(self):
    ...         self.seen = set()
    ...     def instruction(self, warp, pc, instruction, lanes):
    ...         self.seen.add(instruction.op)
    >>> with session.subscribe(Coverage()) as coverage:
    ...     session.run().kind
    'exited'
    >>> sorted(coverage.seen)[:4]
    ['BAR', 'BRA', 'EXIT', 'IADD']

    Attributes:
        looks_only: it promises to change neither memory nor warps, so that a hang can be proven
            while it is there (`set stop-on-hang`).
        selects: it wants single instructions and accesses only of what `selection` says.
    """

    looks_only: bool = False
    selects: bool = False

    def selection(self) -> Selection:
        """What it wants in the run that begins, where it `selects`: it is notified of every access
        to that, and may be of others."""
        return NOTHING

    def instruction(self, warp: WarpState, pc: int, instruction: Any, lanes: int) -> None:
        """Before an instruction is executed; the run takes the step engine for it.

        Args:
            warp: that executes it; registers are as before it.
            pc: its code address, in bytes.
            instruction: it, as `gpudbg.decode` gives one.
            lanes: mask of the lanes that execute it, bit 0 for lane 0; 0 where all are guarded off.
        """

    def instructions(self, batch: Batch) -> None:
        """Instructions that have been executed, many at a time: arrays of pc, lanes, CTA, warp.

        Registers and memory have gone on meanwhile.  Where `instruction` has every run take the
        step engine, this hook is called from compiled code too, with the same instructions in
        the same order, at the latest before the next event of another kind and when a run ends.
        """

    def access(
        self, warp: WarpState, space: str, kind: str, address: Any, lanes: int, size: int
    ) -> None:
        """Before a load, store or atomic, once per space; the run takes the step engine for it.

        Args:
            warp: that makes it.
            space: "global", "shared", "local", …: the address space.
            kind: "load", "store" or "atomic".
            address: byte addresses.
            lanes: mask of the lanes that make it.
            size: bytes for each lane.

        `address` has an element per lane or one for all; for shared and local memory it is the
        offset.  Shared memory of another CTA is the space `cluster`: its rank stands above bit 24.
        What a bulk copy reads and writes comes as accesses of 16 bytes for each of 32 lanes.  The
        access may still fault.
        """

    def accesses(self, batch: AccessBatch) -> None:
        """Accesses that have been made, many at a time: the arguments of `access`, as arrays.

        As with `instructions`, compiled code calls it too, with the same accesses in the same
        order; those of one batch and of one of `instructions` are not in order to one another.
        """

    def ordered(self, rows: npt.NDArray[np.int64]) -> None:
        """Accesses and what orders them (barriers, `__syncwarp`, shuffles), many at a time in the
        order they were issued: rows of `gpudbg.sm.trace`, valid during the call."""

    def near_ordered(self, rows: npt.NDArray[np.int64]) -> None:
        """As `ordered`, without accesses to global memory by instructions that have no other."""

    def drain(self) -> tuple[int, int] | None:
        """Addresses of a compiled function and of its context, to be called in place of `ordered`
        or `near_ordered` where a buffer of rows is full and nobody else reads it; None: none.

        It is `i1 (context, buffer)`: it sets the buffer's count of rows to 0 and returns 1, or
        returns 0 to have the hook called.
        """
        return None

    def refused(self, warp: WarpState, fault: MemoryFault, access: str, size: int) -> None:
        """Lanes of a load, store, atomic or free (`access`) may not touch memory where they point.

        With an observer that wants this event such an access ends no warp: these lanes are left
        out, their loads give 0, and the instruction goes on.
        """

    def asynchronous(self, warp: WarpState, event: AsyncEvent) -> None:
        """Copies, mbarriers and products beside the threads, as the step engine carries them out:
        a record of `sm/asynchronous/events.py`."""

    def barrier(self, warp: WarpState, arrival: Arrival, released: list[WarpState]) -> None:
        """After a barrier instruction (`BAR`).

        Args:
            warp: that has come.
            arrival: the instruction: mode, number of the barrier, threads that it counts.
            released: the warps that it set free; empty while others are waited for.
        """

    def trap(self, warp: WarpState, mode: str, imm: int) -> None:
        """A breakpoint instruction (`BPT`) stops the warp.

        Args:
            warp: that executed it.
            mode: of the instruction, such as "TRAP" or "PAUSE".
            imm: its immediate.
        """

    def fault(self, warp: WarpState, fault: WarpFault) -> None:
        """A warp error: the instruction had no effect; the launch ends or enters its trap handler.

        Args:
            warp: whose error it is; it stands at the instruction.
            fault: the error's code, the guilty lanes, and the address where there is one.
        """

    def warp_begin(self, warp: WarpState) -> None:
        """A warp has been set up on its SM, before its first instruction."""

    def warp_end(self, warp: WarpState) -> None:
        """The last lane of a warp has exited; its CTA is there until `cta_end`."""

    def cta_begin(self, cta: Cta) -> None:
        """A CTA has become resident: its warps are set up, its shared memory is allocated."""

    def cta_end(self, cta: Cta) -> None:
        """The last warp of a CTA has exited; its shared memory still exists."""


class Hooked(Observer):
    """An observer made of functions; an event without one costs nothing."""

    def __init__(
        self, functions: Mapping[str, Callable[..., None]], looks_only: bool = False
    ) -> None:
        """Args: functions: by event; looks_only: as for `Observer`."""
        self.functions = dict(functions)
        self.looks_only = looks_only


def _hook(observer: Observer, event: str) -> Callable[..., None] | None:
    """The bound hook of an observer for an event; None where it has none."""
    if isinstance(observer, Hooked):
        return observer.functions.get(event)
    if getattr(type(observer), event) is getattr(Observer, event):
        return None
    found: Callable[..., None] = getattr(observer, event)
    return found


class Observers:
    """Hooks by event: `hooks["access"]` is a tuple of callables, empty without observers.

    Attributes:
        members: the observers, in the order they were added.
        selecting: those of them that select.
        everywhere: somebody observes who does not.
        steps: somebody wants to be called in the middle of what compiled code does, wherever it is.
        trace: collects what the hooks want that take it in batches.
    """

    __slots__ = ("_heard", "everywhere", "hooks", "members", "selecting", "steps", "trace")

    def __init__(self, members: Iterable[Observer] = (), trace: Trace | None = None) -> None:
        """Args: trace: collects what the hooks want that take it in batches."""
        self.members = tuple(members)
        self.trace = trace
        self.hooks: dict[str, tuple[Callable[..., None], ...]] = {
            event: tuple(
                hook for member in self.members if (hook := _hook(member, event)) is not None
            )
            for event in EVENTS
        }

        self.selecting: tuple[Observer, ...] = ()
        self.everywhere = self.steps = False
        if self.members:
            self._sort_members()
        self._heard = frozenset(event for event in EVENTS if self.hooks[event])
        if trace is not None:
            trace.readers = self.hooks["instructions"]
            trace.access_readers = self.hooks["accesses"]
            if trace.instructions is not None:
                self.hooks["instruction"] += (trace.instruction,)
            trace.ordered_readers = self.hooks["ordered"]
            trace.near_readers = self.hooks["near_ordered"]
            trace.drain = self._drain(trace)
            orders = trace.ordered is not None or trace.near is not None
            if trace.accesses is not None or orders:
                self.hooks["access"] += (trace.access,)
            if orders:
                self.hooks["instruction"] += (trace.order,)

    def _drain(self, trace: Trace) -> tuple[int, int] | None:
        """What empties the only buffer of a trace, which one member alone reads."""
        if trace.kinds not in (("ordered",), ("near_ordered",)):
            return None
        readers = [member for member in self.members if _hook(member, trace.kinds[0]) is not None]
        return readers[0].drain() if len(readers) == 1 else None

    def _sort_members(self) -> None:
        self.selecting = tuple(member for member in self.members if member.selects)
        self.everywhere = len(self.selecting) < len(self.members)
        rest = [member for member in self.members if not member.selects]
        self.steps = any(_hook(member, event) for member in rest for event in _STEPPED)

    def with_added(self, observer: Observer) -> Observers:
        """A set with one more."""
        return Observers((*self.members, observer))

    def without(self, observer: Observer) -> Observers:
        """A set with one less."""
        return Observers(m for m in self.members if m is not observer)

    def selection(self) -> Selection:
        """What those want in the run that begins that select."""
        found = NOTHING
        for member in self.selecting:
            found = found.joined(member.selection())
        return found

    def emit(self, event: str, *arguments: Any) -> None:
        """Call the hooks of an event."""
        if self.trace is not None and event in self._heard:
            self.trace.flush(event)
        for hook in self.hooks[event]:
            hook(*arguments)
