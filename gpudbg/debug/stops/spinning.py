"""Warps in loops without progress: found by running ahead on trial, reported with what they poll.

A ready warp runs on, on its own record, for some instructions; everything is then put back.  It
*repeats itself* when its whole state comes back while memory stays as it is: without somebody
else's store it does the same for ever.  Where it reads a clock, every way that any time could send
it is followed (`timed_loops`).  It *goes round* when it only returns to a place several times and
writes no memory.  Neither is said of a warp that waits at a barrier, calls the driver, or stores
something new on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from gpudbg.dataclass import dataclass
from gpudbg.debug.stops.stop import CUT_SHORT
from gpudbg.debug.stops.timed_loops import Walk, reads_changing
from gpudbg.debug.values.mbarriers import holding, mbarrier_name, state_at
from gpudbg.debug.values.operands import instruction_at
from gpudbg.errors import GpudbgError
from gpudbg.sm import record as rec
from gpudbg.sm.engines.values import lanes32, lanes64
from gpudbg.sm.observer import Observer

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.isa.family import Instruction
    from gpudbg.mem.faults import MemoryFault
    from gpudbg.sm.state import WarpState

TRIED: Final = 512
"""Most instructions tried ahead for one warp."""
TRIED_IN_ALL: Final = 4096
"""Most instructions tried ahead for all warps together: a stop must not take long."""
LAPS: Final = 3
"""Returns to a place from which a warp goes round."""
NEVER: Final = (
    "BAR", "BPT", "CCTLT", "TEX", "TLD", "TXQ", "SU", "SETC", "RTT", "GETC", "UBLK", "UTMA",
    "UCGABAR", "STAS", "REDAS",
)  # fmt: skip
"""First letters of instructions never tried: their effects cannot be undone."""
ENDS: Final = ("EXIT", "KILL")
"""Instructions tried only where no lane executes them: barriers count lanes that exit."""


@dataclass(frozen=True, slots=True)
class Poll:
    """Memory that a loop reads in each iteration: `name` as in the source (`lock[0]`), its value.

    `more` is how many other places the same instruction reads; `offset` is that of the instruction;
    `mbarrier` the offset in shared memory of the mbarrier that it tests.
    """

    name: str
    value: str
    more: int = 0
    offset: int = 0
    mbarrier: int | None = None

    def __str__(self) -> str:
        others = f" and {self.more} more" if self.more else ""
        return f"{self.name} (now {self.value}){others}"


@dataclass(frozen=True, slots=True)
class Spin:
    """A warp that goes round: offsets of its lowest and highest instruction, how many there are.

    `repeats`: its state comes back exactly; `inside`: it is there now, not only on its way there;
    `tried` instructions were looked at; `dropped`: offsets of those whose accesses are left out,
    since memory refuses them (`Observer.refused`); `timed`: it reads a clock, which cannot end it.
    """

    sm: int
    slot: int
    low: int
    high: int
    count: int
    repeats: bool
    inside: bool
    tried: int
    polls: tuple[Poll, ...]
    dropped: tuple[int, ...] = ()
    timed: bool = False

    @property
    def words(self) -> str:
        """In a clause: `repeats 0048..0068 (4 instructions) until another thread changes x[0]`."""
        place = f"{self.low:04x}..{self.high:04x}" if self.high > self.low else f"{self.low:04x}"
        many = f"({self.count} instruction{'s' * (self.count != 1)})"
        what = " or ".join(map(str, self.polls))
        if self.repeats:
            wait = f"until another thread changes {what}" if what else "for ever, reading no memory"
            return f"repeats {place} {many} {wait}" + ", at any time" * self.timed
        reads = f", reads {what.replace(' or ', ', ')}" if what else ""
        return f"goes round {place} {many}{reads}; the next {self.tried:,} write no memory"


class _Probe(Observer):
    """Observer of one tried instruction: keeps the overwritten bytes so that they can be
    restored.
    """

    def __init__(self, inferior: Inferior) -> None:
        self._inferior = inferior
        self.reads: dict[int, list[tuple[str, int, int]]] = {}
        self.before: dict[tuple[str, int, int], bytes] = {}
        self.dropped: set[int] = set()
        self.unknown = False
        self.pc = 0

    def access(
        self, warp: WarpState, space: str, kind: str, address: Any, lanes: int, size: int
    ) -> None:
        """Before a load, store or atomic."""
        parts = [(space, address, lanes)]
        if space == "generic":
            parts = self._inferior.grid.engine.by_space(lanes64(address), lanes)
        for where, given, part in parts:
            spread = lanes64(given) if where == "global" else lanes32(given)
            chosen = [(n, int(a)) for n, a in enumerate(spread.tolist()) if part >> n & 1]
            self._note(warp, where, kind, chosen, size)

    def _note(
        self, warp: WarpState, space: str, kind: str, chosen: list[tuple[int, int]], size: int
    ) -> None:
        rows = self.reads.setdefault(self.pc, [])
        for lane, address in chosen:
            if kind != "store" and space != "local":
                row = (space, address, size)
                if row not in rows:
                    rows.append(row)
            if kind == "load":
                continue
            key = (space, address, lane if space == "local" else -1)
            try:
                self.before.setdefault(key, self.read(warp, key, size))
            except GpudbgError:
                self.unknown = True

    def read(self, warp: WarpState, key: tuple[str, int, int], size: int) -> bytes:
        """The bytes of a place."""
        space, address, lane = key
        if space == "global":
            return bytes(self._inferior.grid.gpu.memory.read(address, size))
        if space == "local":
            return warp.local.read(lane, address, size)
        return bytes(warp.cta.shared.data[address : address + size])

    def put_back(self, warp: WarpState) -> bool:
        """Undo the last instruction's stores; whether one of them had changed anything."""
        changed = False
        for key, old in self.before.items():
            space, address, lane = key
            if self.read(warp, key, len(old)) == old:
                continue
            changed = True
            if space == "global":
                self._inferior.grid.gpu.memory.write(address, old)
            elif space == "local":
                warp.local.write(lane, address, old)
            else:
                warp.cta.shared.data[address : address + len(old)] = np.frombuffer(old, np.uint8)
        self.before.clear()
        return changed


class _DroppingProbe(_Probe):
    """A probe for where an observer has refused accesses skipped."""

    def refused(self, warp: WarpState, fault: MemoryFault, access: str, size: int) -> None:
        """The access is made again without the lanes that may not make it."""
        self.dropped.add(self.pc)
        self.reads.pop(self.pc, None)
        self.before.clear()
        self.unknown = False


def spin_of(inferior: Inferior, warp: WarpState, budget: int = TRIED) -> Spin | None:
    """The loop without progress that a warp is in, or None: there is none, or that is undecided.

    Args:
        budget: instructions that may be tried.
    """
    if warp.status != "ready" or warp.in_trap:
        return None
    engine, sm = inferior.grid.engine, inferior.grid.sms[warp.sm]
    drops = inferior.grid.launched.observed("refused")
    probe = (_DroppingProbe if drops else _Probe)(inferior)
    with engine.trial(warp, sm, probe):
        try:
            return _try_ahead(inferior, warp, probe, budget)
        except GpudbgError:
            return None
        finally:
            probe.put_back(warp)


def _try_ahead(inferior: Inferior, warp: WarpState, probe: _Probe, budget: int) -> Spin | None:
    """Brent's cycle search over the warp's states; counts returns to each place besides."""
    path: list[int] = []
    laps: dict[int, int] = {}
    mark, mark_at, power = _state(warp), 0, 1
    gone = warp.exited
    while len(path) < budget:
        insn = _triable(inferior, warp)
        if insn is None:
            return None
        if reads_changing(insn):
            return _timed(inferior, warp, path, probe)
        pc = inferior.symbols.layout.first(warp.pc)
        path.append(pc)
        laps[pc] = laps.get(pc, 0) + 1
        if not _step(inferior, warp, probe, gone):
            return None
        now = _state(warp)
        if now == mark:
            return _spin(inferior, warp, path, path[mark_at:], probe, True)
        if len(path) - mark_at == power:
            mark, mark_at, power = now, len(path), 2 * power
    # The last lap begins behind the previous visit of its end.
    last = path[-1]
    if laps[last] < LAPS:
        return None
    back = len(path) - 1 - path[-2::-1].index(last) - 1
    return _spin(inferior, warp, path, path[back:-1], probe, False)


def _timed(inferior: Inferior, warp: WarpState, path: list[int], probe: _Probe) -> Spin | None:
    """The loop round a clock that no time ends, which the warp has come to by a path."""
    place = inferior.symbols.layout.first
    gone = warp.exited
    path.append(place(warp.pc))
    loop = Walk(
        warp,
        lambda: _triable(inferior, warp),
        lambda: _step(inferior, warp, probe, gone),
        lambda: _state(warp),
        lambda: place(warp.pc),
    ).loop()
    return None if loop is None else _spin(inferior, warp, path, loop, probe, True, timed=True)


def _triable(inferior: Inferior, warp: WarpState) -> Instruction | None:
    """The instruction that a warp executes next, None where it must not be tried."""
    insn = instruction_at(inferior, inferior.symbols.layout.first(warp.pc))
    if insn is None or insn.op.startswith(NEVER):
        return None
    ends = warp.has_groups and insn.op in ENDS and _executing(warp, insn)
    return None if ends else insn


def _step(inferior: Inferior, warp: WarpState, probe: _Probe, gone: int) -> bool:
    """Execute one instruction on trial. Returns whether memory is as it was, and all lanes go on:
    an exiting one may release a barrier.
    """
    probe.pc = inferior.symbols.layout.first(warp.pc)
    outcome = inferior.grid.engine.run(warp, inferior.grid.sms[warp.sm], 1)
    if probe.put_back(warp) or probe.unknown or outcome in ("fault", "trap", "blocked"):
        return False
    return warp.exited == gone


def _executing(warp: WarpState, insn: Instruction) -> int:
    """The lanes that execute an instruction."""
    index, negated = insn.guard
    held = warp.words[rec.PRED + index]
    return warp.active & (~held if negated else held)


def _state(warp: WarpState) -> bytes:
    """The warp's record, its bookkeeping of executed instructions cleared."""
    copy = warp.saved()
    quads = copy.view(np.uint64)
    quads[rec.EXECUTED] = quads[rec.CAME_FROM] = 0
    state: bytes = copy.tobytes()
    return state + warp.shown_groups.state() if warp.has_groups else state


def _spin(
    inferior: Inferior,
    warp: WarpState,
    path: list[int],
    lap: list[int],
    probe: _Probe,
    repeats: bool,
    timed: bool = False,
) -> Spin:
    pcs = sorted(set(lap))
    offsets = [inferior.symbols.offset(pc) for pc in pcs]
    # Two or three names are enough for the message.
    polls = tuple(_poll(inferior, warp, probe, pc) for pc in pcs if probe.reads.get(pc))[:3]
    inside = path[0] in pcs
    low, high = offsets[0], offsets[-1]
    dropped = tuple(inferior.symbols.offset(pc) for pc in pcs if pc in probe.dropped)
    count, tried = len(pcs), len(path)
    return Spin(warp.sm, warp.slot, low, high, count, repeats, inside, tried, polls, dropped, timed)


def _poll(inferior: Inferior, warp: WarpState, probe: _Probe, pc: int) -> Poll:
    rows = probe.reads[pc]
    space, address, size = rows[0]
    raw = probe.read(warp, (space, address, -1), size)
    held = holding(warp.cta, address) if space == "shared" else None
    if held is not None:
        words = state_at(inferior, warp.cta, held).words
        variable = mbarrier_name(inferior, held)
        name = f"mbarrier shared 0x{held:x}" + f" ({variable})" * bool(variable)
        return Poll(name, words, len(rows) - 1, inferior.symbols.offset(pc), held)
    name, dtype = name_of(inferior, space, address)
    value = np.frombuffer(raw[: dtype.itemsize], dtype)[0] if dtype is not None else None
    text = f"{value}" if value is not None else f"0x{int.from_bytes(raw, 'little'):x}"
    return Poll(name, text, len(rows) - 1, inferior.symbols.offset(pc))


def name_of(inferior: Inferior, space: str, address: int) -> tuple[str, np.dtype[Any] | None]:
    """A place's name in the source (`lock[0]`) or its address (`shared 0x10`), and its type."""
    if space != "global":
        return f"{space} 0x{address:x}", None
    for argument in inferior.launch.arguments:
        buffer = argument.buffer
        if buffer is not None and buffer.address <= address < buffer.address + buffer.nbytes:
            index, rest = divmod(address - buffer.address, buffer.dtype.itemsize)
            return f"{argument.name}[{index}]", None if rest else buffer.dtype
    return f"global 0x{address:x}", None


_FOUND: WeakKeyDictionary[Inferior, tuple[int, dict[tuple[int, int], Spin], bool]] = (
    WeakKeyDictionary()
)


def spins(inferior: Inferior) -> dict[tuple[int, int], Spin]:
    """Warps that go round at the present stop, by (SM, slot); looked for once a stop."""
    return _at_stop(inferior)[1]


def known_spin(inferior: Inferior, warp: WarpState) -> Spin | None:
    """What has been found of a warp at this stop, without looking again."""
    found = _FOUND.get(inferior)
    if found is None or found[0] != len(inferior.stops):
        return None
    return found[1].get((warp.sm, warp.slot))


def hangs(inferior: Inferior) -> bool:
    """Whether every warp that can run comes to repeat itself: nothing can change any more.

    Blocks that wait for a place get none then, and warps at a barrier wait for these.
    """
    return _at_stop(inferior)[2]


def _at_stop(inferior: Inferior) -> tuple[int, dict[tuple[int, int], Spin], bool]:
    number = len(inferior.stops)
    found = _FOUND.get(inferior)
    if found is None or found[0] != number:
        found = (number, *_find(inferior))
        _FOUND[inferior] = found
    return found


def _find(inferior: Inferior) -> tuple[dict[tuple[int, int], Spin], bool]:
    out: dict[tuple[int, int], Spin] = {}
    stop = inferior.stop
    if stop is None or inferior.finished or not (isinstance(stop, CUT_SHORT) or stop.hang):
        return out, False
    focus = inferior.focus
    warps = list(inferior.grid.warps())
    if any(w.in_trap or w.status == "trap" for w in warps):
        return out, False
    warps.sort(key=lambda w: focus is None or (w.sm, w.slot) != (focus.sm, focus.warp))
    left, every = TRIED_IN_ALL, True
    for warp in warps:
        if warp.status != "ready":
            continue
        if left <= 0:
            return out, False
        spin = spin_of(inferior, warp, min(TRIED, left))
        left -= TRIED if spin is None else spin.tried
        every = every and spin is not None and spin.repeats
        if spin is not None and spin.inside:
            out[warp.sm, warp.slot] = spin
    return out, every and bool(out)


def spin_lines(inferior: Inferior) -> Iterator[str]:
    """Lines for a stop in the middle of a run: warps in loops without progress, and a proven
    hang.
    """
    if inferior.stop is not None and inferior.stop.hang:
        # The hang is described by the stop's own details.
        return
    yield from group_lines(spins(inferior).values())
    if hangs(inferior):
        yield "  hang    every warp that can run comes to such a loop: nothing will change"


def group_lines(found: Iterable[Spin]) -> Iterator[str]:
    """A line for each loop, naming the warps that go round in it."""
    groups: dict[str, list[Spin]] = {}
    for spin in found:
        groups.setdefault(spin.words, []).append(spin)
    for words, members in list(groups.items())[:4]:
        first = members[0]
        name = f"warp {first.slot}" if len(members) == 1 else f"{len(members)} warps"
        verb = words if len(members) == 1 else words.replace("repeats", "repeat", 1)
        verb = verb if len(members) == 1 else verb.replace("goes round", "go round", 1)
        yield f"  spins   {name}: {verb}"
    if len(groups) > 4:
        yield f"  spins   … {len(groups) - 4} more loops; `info warps` has them all"
