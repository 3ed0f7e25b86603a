"""What happened in a run, as plain data: `session.trace` writes it down, scripts ask it.

with session.trace("access", at="faulty.cu:16") as log:
    session.run()
[entry.threads for entry in log if 20 in entry.addresses]
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpudbg.debug.trace.log import Dim3, TraceLog
from gpudbg.debug.values.evaluation import origin
from gpudbg.errors import UsageError
from gpudbg.sm.observer import EVENTS, Hooked, Observer
from gpudbg.sm.trace import BATCHED, AccessBatch, Batch
from gpudbg.validation import index3, text

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.sm.state import WarpState

TRACED = tuple(event for event in EVENTS if not event.startswith("cta") and event not in BATCHED)
"""Events that a warp has, and that can be traced."""


class Tracer:
    """Writes a log; its `observer` has the wanted hooks only, others cost nothing.

    Attributes:
        entries: what was written down, in the order it happened.
    """

    def __init__(
        self,
        inferior: Inferior,
        events: tuple[str, ...],
        at: str | int | None = None,
        block: Dim3 | None = None,
    ) -> None:
        """Prepare a trace; arguments and errors as `DebugSession.trace`."""
        unknown = {text(event, "event", "access") for event in events} - set(TRACED)
        if unknown:
            raise UsageError(f"no event {min(unknown)!r}", "events: " + ", ".join(TRACED))
        config = inferior.grid.config
        self.entries = TraceLog(inferior.symbols, config.grid, config.block)
        self._grid = config.grid
        self._events = events or TRACED[:1]
        self._block = index3(block, "block") if block is not None else None
        self._wanted = _place(inferior, at)
        self._plain = self._block is None and self._wanted is None
        self._known: dict[int, bool] = {}
        self._first = inferior.symbols.layout.first

    def observer(self) -> Observer:
        """The observer that receives the events this tracer records."""
        hooks = {event: getattr(self, event) for event in self._events}
        batched = {"instruction": ("instructions", self.instructions),
                   "access": ("accesses", self.accesses)}  # fmt: skip
        wanted = [event for event in batched if event in hooks]
        if len(wanted) == 1:
            # In batches, which compiled code notes; those of two kinds are not in order to one
            # another.
            del hooks[wanted[0]]
            event, hook = batched[wanted[0]]
            hooks[event] = hook
        return Hooked(hooks, looks_only=True)

    def _takes(self, warp: WarpState, pc: int) -> bool:
        """Whether an event there is wanted."""
        if self._block is not None and warp.cta.block != self._block:
            return False
        return self._is_place(pc)

    def _is_place(self, pc: int) -> bool:
        """Whether an instruction is wanted."""
        if self._wanted is None:
            return True
        found = self._known.get(pc)
        if found is None:
            found = self._known[pc] = self._wanted(self._first(pc))
        return found

    def _note(self, event: str, warp: WarpState, pc: int, lanes: int, more: int = 0) -> None:
        if self._plain or self._takes(warp, pc):
            self.entries.note((event, "", "", 0), warp, pc, lanes, more)

    def _tell(self, event: str, warp: WarpState, pc: int, lanes: int, detail: str) -> None:
        if self._plain or self._takes(warp, pc):
            self.entries.note_detail(event, warp, pc, lanes, detail)

    # ---- what the machine reports ------------------------------------------------------
    def instruction(self, warp: WarpState, pc: int, instruction: Any, lanes: int) -> None:
        """An instruction."""
        self._note("instruction", warp, pc, lanes)

    def instructions(self, batch: Batch) -> None:
        """Instructions in the order they were issued."""
        if not self._plain:
            batch = Batch(batch.rows[self._of(batch)])
        if len(batch):
            self.entries.note_instructions(batch)

    def access(
        self, warp: WarpState, space: str, kind: str, address: Any, lanes: int, size: int
    ) -> None:
        """A load, store or atomic."""
        if self._plain or self._takes(warp, warp.pc):
            self.entries.note_access(("access", kind, space, size), warp, lanes, address)

    def accesses(self, batch: AccessBatch) -> None:
        """Loads, stores and atomics in the order they were issued."""
        if not self._plain:
            batch = AccessBatch(batch.rows[self._of(batch)])
        if len(batch):
            self.entries.note_accesses(batch)

    def _of(self, batch: Batch | AccessBatch) -> npt.NDArray[np.bool_]:
        """Which instructions or accesses are wanted."""
        wanted = np.ones(len(batch), bool)
        if self._wanted is not None:
            pcs, which = np.unique(batch.pc, return_inverse=True)
            wanted = np.array([self._is_place(pc) for pc in pcs.tolist()], bool)[which]
        if self._block is not None:
            x, y, _ = self._grid
            places = batch.cta % x, batch.cta // x % y, batch.cta // (x * y)
            for place, number in zip(places, self._block, strict=True):
                wanted &= place == number
        return wanted

    def barrier(self, warp: WarpState, arrival: Any, released: list[WarpState]) -> None:
        """An arrival at a barrier."""
        self._note("barrier", warp, warp.pc, arrival.lanes, arrival.barrier)

    def trap(self, warp: WarpState, mode: str, imm: int) -> None:
        """A BPT."""
        self._tell("trap", warp, warp.pc, warp.active, mode)

    def fault(self, warp: WarpState, fault: Any) -> None:
        """A warp error."""
        lanes = sum(1 << lane for lane in fault.lanes)
        self._tell("fault", warp, fault.pc, lanes, fault.name)

    def warp_begin(self, warp: WarpState) -> None:
        """A warp's begin."""
        self._note("warp_begin", warp, warp.pc, warp.active)

    def warp_end(self, warp: WarpState) -> None:
        """A warp's end."""
        self._note("warp_end", warp, warp.pc, warp.exited)


def _place(inferior: Inferior, at: str | int | None) -> Callable[[int], bool] | None:
    """Whether a pc is wanted: one instruction's, or any of a source line's."""
    if at is None:
        return None
    symbols = inferior.symbols
    found = symbols.resolve(inferior.location_text(at), origin(inferior))
    if found.line is None:
        return lambda pc: pc in found.addresses
    name, number = PurePath(found.line.file).name, found.line.number
    return lambda pc: str(symbols.line(pc) or "") == f"{name}:{number}"
