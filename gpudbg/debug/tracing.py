"""What happened in a run, as plain data: `session.trace` writes it down, scripts ask it.

with session.trace("access", at="faulty.cu:16") as log:
    session.run()
[entry.threads for entry in log if 20 in entry.addresses]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from gpudbg.debug.given import index3, text
from gpudbg.debug.stop import CallSite, dim
from gpudbg.debug.symbols import Line
from gpudbg.debug.views import lane_list
from gpudbg.debug.warp_view import LANES
from gpudbg.errors import UsageError
from gpudbg.isa.spa5.sched import first_instruction
from gpudbg.sm.observer import EVENTS, Observer

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.sm.state import WarpState

Dim3 = tuple[int, int, int]

TRACED = tuple(event for event in EVENTS if not event.startswith("cta"))
"""Events that a warp has, and that can be traced."""


@dataclass(frozen=True, slots=True)
class TraceEntry:
    """One event of one warp.

    Attributes:
        event: "instruction", "access", "barrier", … as in `gpudbg.Observer`.
        sm, warp: hardware coordinates of the warp; `index` is its number in the block.
        block: blockIdx.
        offset: of the instruction, in its kernel.
        where: the same with its function, "saxpy+0x48".
        line: source line (`line.number`, str is "saxpy.cu:7"); None without a line table.
            `file` is its file.
        function: the function the line is in, an inlined one included.
        inlined_at: the calls through which it came into the code, innermost first.
        text: the instruction as nvdisasm prints it.
        lanes: lanes that take part, guards considered; `threads`: their threadIdx.
        kind, space, size: of an access: load, store or atomic; the address space; bytes.
        addresses: of an access: one for each of `lanes`.
        barrier: of a barrier: its number, else None.
        detail: of a trap or fault: its name.

    >>> with session.trace("barrier") as log:
    ...     stop = session.run()
    >>> print(log[0])
    barrier  block_max+0x1d8  first_steps.cu:17  block (0,0,0) warp 0 lanes 0-31  barrier 0
    >>> log[0].line.number, log[0].function, log[0].threads[31]
    (17, 'block_max', (31, 0, 0))
    """

    event: str
    sm: int
    warp: int
    index: int
    block: Dim3
    offset: int
    where: str
    line: Line | None
    text: str
    lanes: tuple[int, ...]
    threads: tuple[Dim3, ...]
    kind: str = ""
    space: str = ""
    size: int = 0
    addresses: tuple[int, ...] = ()
    barrier: int | None = None
    detail: str = ""
    function: str | None = None
    inlined_at: tuple[CallSite, ...] = ()

    @property
    def file(self) -> str | None:
        """Source file; None without a line table."""
        return self.line.file if self.line is not None else None

    def __str__(self) -> str:
        what = f"{self.kind} {self.space} {self.size} bytes" if self.kind else self.detail
        what = f"barrier {self.barrier}" if self.barrier is not None else what
        lanes = lane_list(sum(1 << i for i in self.lanes))
        who = f"block {dim(self.block)} warp {self.index} lanes {lanes}"
        line = str(self.line or "")
        return "  ".join(filter(None, (self.event, self.where, line, who, what)))

    def at(self, address: int) -> tuple[Dim3, ...]:
        """Threads whose access touches the byte at an address."""
        pairs = zip(self.threads, self.addresses, strict=True) if self.addresses else ()
        return tuple(t for t, low in pairs if low <= address < low + self.size)


class Tracer:
    """Writes entries into a list; its observer has the wanted hooks only, others cost nothing.

    Attributes:
        entries: what was written down, in the order it happened.
        observer: what to subscribe.
    """

    def __init__(
        self,
        session: DebugSession,
        events: tuple[str, ...],
        at: str | int | None = None,
        block: Dim3 | None = None,
    ) -> None:
        """Prepare a trace; arguments and errors as `DebugSession.trace`."""
        unknown = {text(event, "event", "access") for event in events} - set(TRACED)
        if unknown:
            raise UsageError(f"no event {min(unknown)!r}", "events: " + ", ".join(TRACED))
        self.entries: list[TraceEntry] = []
        hooks = {event: staticmethod(getattr(self, event)) for event in events or TRACED[:1]}
        self.observer: Observer = type("TraceObserver", (Observer,), hooks)()
        self._session = session
        self._block = index3(block, "block") if block is not None else None
        self._wanted = _place(session, at)

    def _note(self, event: str, warp: WarpState, pc: int, lanes: int, **more: Any) -> None:
        pc = first_instruction(pc)
        if self._block is not None and warp.cta.block != self._block:
            return
        if self._wanted is not None and not self._wanted(pc):
            return
        symbols = self._session.symbols
        place = symbols.place(pc)
        code = symbols.instruction(pc)
        mine = tuple(i for i in range(LANES) if lanes >> i & 1)
        tid = warp.tid
        self.entries.append(
            TraceEntry(
                event=event,
                sm=warp.sm,
                warp=warp.slot,
                index=warp.index,
                block=warp.cta.block,
                offset=symbols.offset(pc),
                where=symbols.describe(pc),
                line=symbols.line(pc),
                text=code.text if code else "",
                lanes=mine,
                threads=tuple((int(tid[0, i]), int(tid[1, i]), int(tid[2, i])) for i in mine),
                function=place.function,
                inlined_at=place.inlined_at,
                **more,
            )
        )

    # ---- what the machine reports ------------------------------------------------------
    def instruction(self, warp: WarpState, pc: int, instruction: Any, lanes: int) -> None:
        """An instruction."""
        self._note("instruction", warp, pc, lanes)

    def access(
        self, warp: WarpState, space: str, kind: str, address: Any, lanes: int, size: int
    ) -> None:
        """A load, store or atomic."""
        each = np.broadcast_to(np.asarray(address), (LANES,))
        found = tuple(int(each[i]) for i in range(LANES) if lanes >> i & 1)
        self._note(
            "access", warp, warp.pc, lanes, kind=kind, space=space, size=size, addresses=found
        )

    def barrier(self, warp: WarpState, arrival: Any, released: list[WarpState]) -> None:
        """An arrival at a barrier."""
        self._note("barrier", warp, warp.pc, arrival.lanes, barrier=arrival.barrier)

    def trap(self, warp: WarpState, mode: str, imm: int) -> None:
        """A BPT."""
        self._note("trap", warp, warp.pc, warp.active, detail=mode)

    def fault(self, warp: WarpState, fault: Any) -> None:
        """A warp error."""
        lanes = sum(1 << lane for lane in fault.lanes)
        self._note("fault", warp, fault.pc, lanes, detail=fault.name)

    def warp_begin(self, warp: WarpState) -> None:
        """A warp's begin."""
        self._note("warp_begin", warp, warp.pc, warp.active)

    def warp_end(self, warp: WarpState) -> None:
        """A warp's end."""
        self._note("warp_end", warp, warp.pc, warp.exited)


def _place(session: DebugSession, at: str | int | None) -> Callable[[int], bool] | None:
    """Whether a pc is wanted: one instruction's, or any of a source line's."""
    if at is None:
        return None
    symbols = session.symbols
    found = symbols.resolve(session.location_text(at), session)
    if found.line is None:
        return lambda pc: pc in found.addresses
    name, number = PurePath(found.line.file).name, found.line.number
    return lambda pc: str(symbols.line(pc) or "") == f"{name}:{number}"
