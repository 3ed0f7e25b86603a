"""State of warps, CTAs and SMs; the warp's is one byte buffer that both engines use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gpudbg.mem.lanes import FULL, U32
from gpudbg.mem.local import LocalMemory
from gpudbg.mem.store import ByteStore
from gpudbg.mem.windows import RANK_SHIFT, WINDOW_BYTES
from gpudbg.sm import record as rec
from gpudbg.sm.barriers.phase import Barriers
from gpudbg.sm.clusters.cluster import Cluster
from gpudbg.sm.convergence import kept
from gpudbg.sm.convergence.groups import Groups
from gpudbg.sm.residency.arena import LIVE, Arena
from gpudbg.sm.trap.state import SmTrap

RZ = 255
UNIFORM_ROWS = 256
"""Where the uniform registers begin among the rows."""
ZERO_ROW: U32 = np.zeros(32, np.uint32)
ZERO_ROW.setflags(write=False)


class StackToken(NamedTuple):
    """One divergence-stack entry: token kind, its lanes, where they go."""

    kind: str
    mask: int
    target: int


class Masks(Sequence[int]):
    """Lane masks in the record, as a list of ints that can be assigned."""

    __slots__ = ("_count", "_start", "_words")

    def __init__(self, words: memoryview, start: int, count: int) -> None:
        self._words, self._start, self._count = words, start, count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> int:  # type: ignore[override]
        return int(self._words[self._place(index)])

    def __setitem__(self, index: int, mask: int) -> None:
        self._words[self._place(index)] = mask & FULL

    def _place(self, index: int) -> int:
        if not 0 <= index < self._count:
            raise IndexError(index)
        return self._start + index


class WarpState:
    """A warp: header, registers and divergence stack in one buffer.

    Attributes:
        sm, slot: SM index and warp slot (hardware coordinates).
        cta: its `Cta`; `index`: warp number in the CTA; lane n is thread 32*index + n of it.
        record: the buffer, uint8 (`gpudbg.sm.record` says where what lies).
        words, quads: memory from the buffer on as memoryviews of u32 and u64; the divergence
            stack is in them at `stack_base`, `stack_step` words from an entry to the next.
        pile: the divergence stack's entries, bytes of shape (count, 16), where they are not in
            `record`.
        R: registers, uint32 view of shape (count, 32); write through it.
        UR: uniform registers with a copy for each lane, likewise; sm_75 and later.
        has_groups: its lanes have pcs of their own (from sm_70 on), and it has `groups`.
        rows: R by register number: row views, RZ's zeros at 255, None where not allocated; from
            `UNIFORM_ROWS` on the uniform registers.
        local: the lanes' local memory.
        shown: `executed` when the debugger was last shown a breakpoint here, or -1.
        tid: uint32 view (3, 32): thread coordinates by lane.

    The arrays are made when somebody asks for them: compiled code needs none.
        outer: the interrupted code's local memory while the trap handler runs, else None.
    """

    __slots__ = (
        "R",
        "UR",
        "_groups",
        "cc",
        "cta",
        "has_groups",
        "index",
        "local",
        "outer",
        "pile",
        "predicates",
        "quads",
        "record",
        "rows",
        "shown",
        "slot",
        "sm",
        "stack_base",
        "stack_step",
        "tid",
        "uniform_predicates",
        "words",
    )

    local: LocalMemory
    outer: LocalMemory | None
    record: npt.NDArray[np.uint8]
    pile: npt.NDArray[np.uint8]
    words: memoryview
    quads: memoryview
    R: U32
    UR: U32
    uniform_predicates: Masks
    rows: list[U32 | None]
    predicates: Masks
    cc: Masks
    tid: U32

    def __init__(
        self,
        cta: Cta,
        index: int,
        slot: int,
        registers: int,
        capacity: int,
        local: LocalMemory | None = None,
        has_groups: bool = False,
    ) -> None:
        """A warp before its first instruction.

        Args:
            local: None: it and the record are the CTA's, which was placed in an arena.
            has_groups: its lanes have pcs of their own; else it has a divergence stack.
        """
        self.cta = cta
        self.has_groups = has_groups
        self._groups: Groups | None = None
        self.sm = cta.sm
        self.slot = slot
        self.index = index
        self.outer = None
        self.shown = -1
        home = cta.home
        if local is not None:
            self.local = local
            self.record = rec.new_record(registers, capacity)
            self.pile = self.record[:0].reshape(0, rec.ENTRY_BYTES)
            self.words = self.record.data.cast("I")
            self.quads = self.record.data.cast("Q")
        elif home is not None:
            start = (cta.place * home.config.warps + index) * home.stride
            self.words = home.words[start // 4 :]
            self.quads = home.quads[start // 8 :]
        self.stack_base = self.quads[rec.STACK] // 4
        self.stack_step = self.words[rec.STACK_STEP] // 4

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Make an array on first access (see the class)."""
            make = _MADE.get(name)
            if make is None:
                raise AttributeError(name)
            made = make(self)
            setattr(self, name, made)
            if name in _VARIABLES and self.cta.home is not None:
                self.cta.home.seen = True
            return made

    # ---- header ------------------------------------------------------------------------

    @property
    def pc(self) -> int:
        """Next instruction, a code address."""
        return int(self.quads[rec.PC])

    @pc.setter
    def pc(self, value: int) -> None:
        self.quads[rec.PC] = value
        self.quads[rec.TRAP_SEEN] = 0

    @property
    def active(self) -> int:
        """Mask of the lanes that execute together now."""
        return int(self.words[rec.ACTIVE])

    @active.setter
    def active(self, mask: int) -> None:
        self.words[rec.ACTIVE] = mask & FULL

    @property
    def exited(self) -> int:
        """Mask of the lanes that have ended."""
        return int(self.words[rec.EXITED])

    @property
    def valid(self) -> int:
        """Mask of the lanes that ever existed."""
        return int(self.words[rec.VALID])

    @property
    def executed(self) -> int:
        """Instructions issued since the warp began."""
        return int(self.quads[rec.EXECUTED])

    @property
    def status(self) -> str:
        """ready, barrier, exited, trap or error."""
        return rec.STATUS_NAMES[self.words[rec.STATUS]]

    @property
    def barrier(self) -> int | None:
        """The barrier it waits at, or None."""
        waits = self.words[rec.STATUS] == rec.AT_BARRIER
        return int(self.words[rec.BAR_WAIT]) if waits else None

    @property
    def in_trap(self) -> bool:
        """Whether it is in the trap handler."""
        return bool(self.words[rec.FLAGS] & rec.FLAG_TRAP)

    @property
    def block(self) -> tuple[int, int, int]:
        """Coordinates of its CTA."""
        return self.cta.block

    # ---- groups of lanes -----------------------------------------------------------------

    @property
    def groups(self) -> Groups:
        """The lane groups that do not run now, where `has_groups`; the returned object owns them
        until `kept.keep`.
        """
        if self.words[rec.APART] != rec.IN_PYTHON or self._groups is None:
            self._groups = kept.read(self)
            self.words[rec.APART] = rec.IN_PYTHON
        return self._groups

    @groups.setter
    def groups(self, groups: Groups) -> None:
        self._groups = groups
        self.words[rec.APART] = rec.IN_PYTHON

    @property
    def shown_groups(self) -> Groups:
        """The lane groups for reading only: the record keeps them."""
        return self.groups if self.words[rec.APART] == rec.IN_PYTHON else kept.read(self)

    # ---- divergence stack ----------------------------------------------------------------

    @property
    def stack(self) -> tuple[StackToken, ...]:
        """Where lanes that do not run now wait: the divergence stack, or groups; the top last."""
        if self.has_groups:
            return tuple(
                StackToken(group.state, group.lanes, group.pc)
                for group in reversed(self.shown_groups.parked)
                if group.lanes != self.words[rec.ACTIVE]
            )
        return tuple(self.entry(n) for n in range(self.words[rec.DEPTH]))

    def entry(self, n: int) -> StackToken:
        """Entry `n`, 0 at the bottom."""
        place = self.stack_base + self.stack_step * n
        kind, mask = self.words[place], self.words[place + 1]
        return StackToken(rec.TOKENS[kind], mask, self.quads[place // 2 + 1])

    def entry_words(self, n: int) -> tuple[int, int, int]:
        """Kind, mask and target of entry `n` as numbers."""
        place = self.stack_base + self.stack_step * n
        return self.words[place], self.words[place + 1], self.quads[place // 2 + 1]

    def set_entry(self, n: int, kind: int, mask: int, target: int) -> None:
        """Write entry `n`; the depth is the caller's."""
        place = self.stack_base + self.stack_step * n
        self.words[place] = kind
        self.words[place + 1] = mask
        self.quads[place // 2 + 1] = target

    # ---- all of it -----------------------------------------------------------------------

    def saved(self) -> npt.NDArray[np.uint8]:
        """The warp's bytes, header first, for `put_back`."""
        return np.concatenate((self.record, self.pile[: self.words[rec.DEPTH]].reshape(-1)))

    def put_back(self, saved: npt.NDArray[np.uint8]) -> None:
        """Its state as it was saved."""
        self.record[:] = saved[: len(self.record)]
        if self.cta.home is not None:
            self.cta.home.seen = True
        entries = saved[len(self.record) :].reshape(-1, rec.ENTRY_BYTES)
        self.pile[: len(entries)] = entries

    # ---- lanes ---------------------------------------------------------------------------

    def note_edit(self) -> None:
        """Count a change from outside to its state or its block's memory."""
        if self.cta.home is not None:
            self.cta.home.edits.count += 1

    def thread(self, lane: int) -> tuple[int, int, int]:
        """CUDA thread coordinates of a lane."""
        x, y, z = self.tid[:, lane].tolist()
        return (x, y, z)

    def __repr__(self) -> str:
        return f"<warp {self.sm}.{self.slot} of block {self.block}, pc 0x{self.pc:x}>"


def _registers(warp: WarpState) -> U32:
    count = warp.words[rec.REGISTERS]
    start = rec.HEADER_BYTES // 4
    return warp.record.view(np.uint32)[start : start + count * 32].reshape(count, 32)


def _uniform(warp: WarpState) -> U32:
    start = rec.HEADER_BYTES // 4 + warp.words[rec.REGISTERS] * 32
    count = warp.words[rec.UNIFORM]
    return warp.record.view(np.uint32)[start : start + count * 32].reshape(count, 32)


_VARIABLES = frozenset(("R", "UR", "rows", "predicates", "uniform_predicates", "cc"))
"""Arrays whose use may write a program's variables."""

_MADE: dict[str, Callable[[Any], Any]] = {
    "record": lambda warp: warp.cta.home.record(warp.cta.place, warp.index),
    "pile": lambda warp: warp.cta.home.stack(warp.cta.place, warp.index),
    "local": lambda warp: warp.cta.home.local(warp.cta.place, warp.index),
    "R": _registers,
    "UR": _uniform,
    "rows": lambda warp: [*warp.R, *[None] * (RZ - len(warp.R)), ZERO_ROW, *warp.UR],
    "uniform_predicates": lambda warp: Masks(warp.words, rec.UPRED, 7),
    "predicates": lambda warp: Masks(warp.words, rec.PRED, 7),
    "cc": lambda warp: Masks(warp.words, rec.CC, 5),
    "tid": lambda warp: warp.record.view(np.uint32)[rec.TID : rec.TID + 96].reshape(3, 32),
}


class Cta:
    """A resident CTA.

    Attributes:
        number: position in the grid, x fastest.
        block: its coordinates.
        sm, slot: SM index and CTA slot on it.
        warps: by warp index; none once the CTA has left its SM.
        shared: its shared memory.
        barriers: its 16 barriers.
        home, place: the memory it is in, and which of the CTAs there it is.
        descriptor: what compiled code knows of it (`residency.arena`), as i64.
        shared_cluster: its cluster, where it has others or somebody has asked for it.
        mbarriers: addresses of the mbarriers in its shared memory, those that
            instructions for mbarriers alone have used.
    """

    __slots__ = (
        "__weakref__",
        "barriers",
        "block",
        "descriptor",
        "home",
        "mbarriers",
        "number",
        "place",
        "shared",
        "shared_cluster",
        "slot",
        "sm",
        "warps",
    )

    barriers: Barriers
    shared: ByteStore
    descriptor: memoryview

    def __init__(
        self,
        number: int,
        block: tuple[int, int, int],
        sm: int,
        slot: int,
        shared_bytes: int = 0,
        home: Arena | None = None,
        place: int = 0,
    ) -> None:
        """Args: shared_bytes: where it has no `home`."""
        self.number = number
        self.block = block
        self.sm = sm
        self.slot = slot
        self.home = home
        self.place = place
        self.shared_cluster: Cluster | None = None
        self.mbarriers: set[int] = set()
        if home is None:
            self.shared = ByteStore(shared_bytes)
        else:
            self.descriptor = home.block(place)
        self.warps: list[WarpState] = []

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Make the shared memory on first access."""
            if name != "shared" or self.home is None:
                raise AttributeError(name)
            self.shared = self.home.shared(self.place)
            return self.shared

    @property
    def cluster(self) -> Cluster:
        """Its cluster: of itself alone where the launch has none."""
        if self.shared_cluster is None:
            self.shared_cluster = Cluster([self])
        return self.shared_cluster

    @property
    def rank(self) -> int:
        """Its rank in the cluster."""
        return 0 if self.shared_cluster is None else self.shared_cluster.rank(self)

    def at(self, address: int) -> tuple[Cta, int]:
        """The CTA of the cluster, and the offset in its memory, that a shared address means.

        A rank of 0 is the CTA itself, as for instructions that reach no other one's memory.
        """
        rank = address >> RANK_SHIFT
        if not rank or self.shared_cluster is None or rank >= len(self.shared_cluster.ctas):
            return self, address
        return self.shared_cluster.ctas[rank], address & (WINDOW_BYTES - 1)

    @property
    def finished(self) -> bool:
        """Whether it has left its SM."""
        return not self.warps

    def part(self) -> None:
        """Break the references between an ended CTA and its warps."""
        self.warps.clear()
        if self.home is not None:
            # Others of its cluster ask in compiled code, too.
            self.descriptor[LIVE // 8] = 0

    def expected(self, number: int) -> int:
        """Threads that a barrier waits for now.

        Warps whose lanes have pcs of their own are counted by threads, others by whole warps.
        """
        live, barriers = self.live, self.barriers
        if not live or not live[0].has_groups:
            return barriers.expected(number, len(live))
        count = barriers.slots[number].count
        threads = sum((w.valid & ~w.exited).bit_count() for w in live)
        return threads if count is None else count

    def barrier_words(self) -> list[str]:
        """A line for each barrier that holds threads: "barrier 1 holds 32 of 64"."""
        return [
            f"barrier {n} holds {slot.arrived} of {self.expected(n)}"
            for n, slot in enumerate(self.barriers.slots)
            if slot.arrived
        ]

    @property
    def live(self) -> list[WarpState]:
        """Warps that have not exited."""
        return [w for w in self.warps if w.words[rec.STATUS] != rec.DONE]

    def __repr__(self) -> str:
        return f"<block {self.block} on SM {self.sm}>"


class Sm:
    """A streaming multiprocessor.

    Attributes:
        index: its number.
        warps: by slot; None where free.
        ctas: by CTA slot; None where free.
        issued: warp instructions issued; what SR_ClockLo reads.
        clock_base: what a running warp's `executed` lacks to that count.
        trap: error status and debugger registers.
    """

    __slots__ = ("clock_base", "ctas", "index", "issued", "trap", "warps")

    def __init__(self, index: int, warp_slots: int, cta_slots: int) -> None:
        self.index = index
        self.warps: list[WarpState | None] = [None] * warp_slots
        self.ctas: list[Cta | None] = [None] * cta_slots
        self.issued = 0
        self.clock_base = 0
        self.trap = SmTrap()

    def resident(self) -> Iterator[WarpState]:
        """Warps on the SM by slot, exited ones of unfinished CTAs included."""
        return (w for w in self.warps if w is not None)
