"""Screening, the first pass of a check on compiled code: can a launch have findings at all?

Compiled code writes rows of accesses, barriers and shuffles; a compiled function
(`sm/engines/llvm/runtime/screening.py`) holds them against shadow memory and answers "cannot be" or
"may be".  Where it cannot, the launch is done; else it is launched again from its beginning and
checked exactly, one instruction at a time, which also makes the report.  So a verdict is always the
exact one, and clean launches, which are most, cost little.  Where races are looked for, the pass
goes on after a suspicion, for the exact one keeps records only of memory that may race.

Shadow memory is 24 bytes for every four of shared memory and of the pages of global memory that are
touched.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from gpudbg.architectures import is_wide
from gpudbg.mem.lanes import FULL
from gpudbg.mem.local import LocalMemory
from gpudbg.mem.pages import address_of
from gpudbg.sanitizer.assignment import reads_unwritten
from gpudbg.sanitizer.facts import GPU, facts_of
from gpudbg.sanitizer.hand_over import masks_of_converged
from gpudbg.sanitizer.race_window import Suspects
from gpudbg.sm.cfg import CALLS
from gpudbg.sm.engines.llvm import build
from gpudbg.sm.engines.llvm.runtime import screening as code
from gpudbg.sm.engines.llvm.runtime import screening_words as words
from gpudbg.sm.launch import limits_of, system_shared
from gpudbg.sm.observer import Observer

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.mem.device import Allocation, DeviceMemory
    from gpudbg.mem.faults import MemoryFault
    from gpudbg.sanitizer.symbol_addresses import SymbolRows
    from gpudbg.sm.state import WarpState

Words = npt.NDArray[np.int64]

Code = Sequence[tuple[int, Any]]
"""(pc, instruction) of all placed code."""

_CHUNK: Final = 256
"""Pages of shadow memory provided at a time (6 MiB, of which the host commits what is touched)."""
_HOST_PAGE: Final = 4096
_MOST_CTAS: Final = 1 << 24
PAGE_GRANULES: Final = 1 << words.PAGE_SHIFT - 2
"""Granules of four bytes of a page of memory."""
MOST_PAGES: Final = 1 << 24
"""Most pages of memory between the first and last allocation (64 GiB): one pointer each."""
_BESIDE: Final = frozenset(
    (
        "LDGSTS", "LDGDEPBAR", "SYNCS", "ARRIVES", "ACQBULK", "PREEXIT", "STAS", "REDAS",
        "UGETNEXTWORKID", "USETMAXREG", "WARPGROUP", "HGMMA", "IGMMA", "QGMMA", "BGMMA",
        "FENCE", "UFENCE", "BPT",
        "SULD", "SUST", "SUATOM", "SURED", "SUQ",
        "TEX", "TEXS", "TLD", "TLDS", "TLD4", "TLD4S", "TXQ", "TMML", "TXD",
        "LDT", "STT", "LDTM", "STTM",
    )
)  # fmt: skip
"""Mnemonics that only the exact checks handle."""
_BESIDE_BEGIN: Final = ("UTM", "UBLK", "UCGA", "UTC", "UMEM")


@cache
def _function() -> Callable[..., int]:
    """The compiled function; its module stays loaded until the process ends."""
    made = build.object_of(code.screen_text(), 2, "all")
    loaded = build.Code(made, [code.FUNCTION, code.DRAIN])
    kind = ctypes.CFUNCTYPE(
        ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
    )
    found: Any = kind(loaded.address(code.FUNCTION))
    found.loaded = loaded
    return found  # type: ignore[no-any-return]


def reached_code(session: DebugSession, instructions: Code) -> list[tuple[int, Any]] | None:
    """Instructions of the sections that a kernel's calls reach; None where a call's target is
    unknown, or takes from the heap.
    """
    image = session.launch.image
    found: list[tuple[int, Any]] = []
    todo, known = [session.launch.kernel.section], {session.launch.kernel.section}
    while todo:
        section = todo.pop()
        place = next((p for p in image.placements if p.section == section), None)
        if place is None:
            return None
        inside = range(place.address, place.address + place.size)
        code = [(pc, insn) for pc, insn in instructions if pc in inside]
        found += code
        for pc, insn in code:
            if insn.op not in CALLS:
                continue
            goal = insn.target(pc)
            callee = image.placement_at(goal) if goal is not None else None
            if callee is None:
                if goal is None or image.externs.get(goal) in (None, "malloc", "free"):
                    return None
            elif callee.section not in known:
                known.add(callee.section)
                todo.append(callee.section)
    return found


def can_screen(session: DebugSession, instructions: Code, checks: Sequence[str]) -> bool:
    """Whether a launch can be judged on compiled code.

    Args:
        instructions: (pc, instruction) of all that is placed.
    """
    grid = session.grid
    config = grid.launched.config
    if config.clustered or config.ctas >= _MOST_CTAS or grid.gpu.engine == "step":
        return False
    reached = reached_code(session, instructions)
    if grid.gpu.seed or reached is None:
        return False
    for _, insn in reached:
        if insn.op in _BESIDE or insn.op.startswith(_BESIDE_BEGIN):
            return False
        if insn.op == "ATOMS" and "ARRIVE" in insn.text():
            return False
    if allocated_pages(session.grid.gpu.memory)[1] > MOST_PAGES or masks_of_converged(reached):
        return False
    kernel = session.launch.kernel
    return "init" not in checks or not reads_unwritten(
        session.launch.program, session.launch.image, kernel.section
    )


def allocated_pages(memory: DeviceMemory) -> tuple[int, int]:
    """(first allocated page, number of pages to the last one)."""
    found = list(memory.allocations())
    if not found:
        return 0, 0
    low = min(a.base for a in found) >> words.PAGE_SHIFT
    return low, (max(a.end for a in found) >> words.PAGE_SHIFT) + 1 - low


def screening_of(
    session: DebugSession, instructions: Code, checks: Sequence[str], **more: Any
) -> Screening:
    """What watches a launch; accesses to global memory only where they matter."""
    near = "race" not in checks and not more.get("undefined") and not more.get("symbols")
    return (NearScreening if near else WholeScreening)(session, instructions, checks, **more)


class Screening(Observer):
    """Watches a launch on compiled code.

    Attributes:
        suspected: what may be wrong, as words of `REASONS`, "refused" or "symbol"; empty: nothing
            can be.
    """

    looks_only = True

    def __init__(
        self,
        session: DebugSession,
        instructions: Code,
        checks: Sequence[str],
        *,
        emulated: frozenset[int] = frozenset(),
        volatile_data: bool = False,
        undefined: Sequence[tuple[Allocation, npt.NDArray[np.uint8]]] = (),
        symbols: SymbolRows | None = None,
    ) -> None:
        """
        Args:
            instructions: (pc, instruction) of all that is placed.
            emulated: pcs of loads that belong to an atomic the compiler made.
            volatile_data: volatile accesses race as others do.
            undefined: allocations with bytes never written, which are not 0 in the row.
            symbols: accesses that go through the address of a variable.
        """
        self._symbols, self._left = symbols, False
        self._end = session.interrupt
        self._call = _function()
        self._kept: list[Any] = []
        self._refused = self._over = False
        fields = dict.fromkeys(code.FIELDS, 0)
        fields |= {
            "races": "race" in checks, "definedness": "init" in checks, "barriers": "sync" in checks
        }  # fmt: skip
        if "memory" in checks:
            kernel, arch = session.launch.kernel, session.grid.gpu.arch
            fields["system_shared"] = system_shared(kernel, arch)
        # Where races are looked for, the pass goes on for all granules that may have some.
        last = ("too_long",) if "race" in checks else code.REASONS
        fields["final"] = sum(1 << code.REASONS.index(reason) for reason in last)
        fields |= self._places(session)
        fields |= self._flags(session, instructions, emulated, volatile_data)
        rows = [(a.base, a.end, self._keep(row.copy())) for a, row in undefined]
        fields["undefined"] = self._keep(np.array(rows, np.int64).reshape(-1)) if rows else 0
        fields["undefined_count"] = len(rows)
        self._words = np.array([int(fields[name]) for name in code.FIELDS], np.int64)

    def _keep(self, made: npt.NDArray[Any]) -> int:
        self._kept.append(made)
        return address_of(made)

    def _table(self, size: int) -> int:
        """Address of zeroed memory that the host commits on first touch."""
        return self._keep(np.zeros(size // 8 + 8, np.int64))

    def _places(self, session: DebugSession) -> dict[str, int]:
        """Field values that locate memory and its shadow."""
        grid = session.grid
        config, windows = grid.launched.config, grid.gpu.layout
        slots = limits_of(grid.gpu.arch).warps
        all_slots = slots * len(grid.launched.sms)
        first, count = allocated_pages(grid.gpu.memory)
        stride = words.GRANULE_BYTES * ((config.shared_bytes + 3) // 4)
        high, low, start = LocalMemory.ranges(config.local_bytes, config.local_low)
        local = 32 * ((high + low + 3) // 4)
        threads = config.block[0] * config.block[1] * config.block[2]
        left = threads - 32 * (config.warps - 1)
        self._suspects = np.zeros(count * PAGE_GRANULES // 8, np.uint8)
        self._shared_suspects = np.zeros(config.shared_bytes // 32 + 1, np.uint8)
        return {
            "suspects": address_of(self._suspects),
            "shared_suspects": address_of(self._shared_suspects),
            "first_page": first,
            "pages": self._table(8 * count),
            "page_count": count,
            "shared": self._table(stride * (all_slots // config.warps + 1)),
            "shared_stride": stride,
            "shared_bytes": config.shared_bytes,
            "ctas": self._table(code.CTA_BYTES * all_slots),
            "slots": slots,
            "warps": config.warps,
            "last_valid": FULL >> 32 - left,
            "lock_step": not is_wide(grid.gpu.arch),
            "window": windows.shared_window,
            "window_bytes": windows.shared_bytes,
            "local_window": windows.local_window,
            "local": self._table(local * all_slots),
            "local_stride": local,
            "local_low": low,
            "local_start": start,
            "local_bytes": high + low,
        }

    def _flags(
        self, session: DebugSession, instructions: Code,
        emulated: frozenset[int], volatile_data: bool,
    ) -> dict[str, int]:  # fmt: skip
        image = session.launch.image
        flags = np.zeros(len(image.code) // 8 + 8, np.uint8)
        for pc, insn in instructions:
            facts = facts_of(insn)
            atomic = insn.op.startswith(("ATOM", "RED"))
            strong = facts.strong >= GPU and (atomic or not volatile_data)
            strong |= pc in emulated and not volatile_data
            value = code.STRONG * strong | code.READ_ONLY * facts.read_only
            value |= code.WEAK * (atomic and not strong)
            value |= code.ALL_LANES * (insn.op == "WARPSYNC")
            flags[(pc - image.base) >> 3] = value
        return {"code": image.base, "flags": self._keep(flags)}

    # ---- events ------------------------------------------------------------------------
    def _rows(self, rows: Words) -> None:
        at, count = self._field("done"), len(rows)
        self._set("done", 0)
        if self._over:
            # The answer is final.
            return
        if self._symbols and not self._left and self._symbols.outside(rows):
            self._left = True
            self._end_unless_going()
        while at < count:
            at = self._call(address_of(self._words), address_of(rows), at, count)
            if at < count:
                self._give_pages()
        if self._field("found") & self._field("final"):
            # The exact checks begin again: the rest of this pass is of no use.
            self._over = True
            self._end()

    def _end_unless_going(self) -> None:
        """Something is suspect: only the granules that may race are still of use."""
        if not self._field("races"):
            self._over = True
            self._end()

    def drain(self) -> tuple[int, int] | None:
        """Let compiled code examine the rows, except for accesses by variable."""
        if self._symbols:
            return None
        return self._call.loaded.address(code.DRAIN), address_of(self._words)  # type: ignore[attr-defined]

    def refused(self, warp: WarpState, fault: MemoryFault, access: str, size: int) -> None:
        self._refused = True
        self._end_unless_going()

    def finish(self) -> None:
        """Called at the end of the launch: a barrier may still wait for warps that have exited."""
        states = next(k for k in self._kept if address_of(k) == self._field("ctas"))
        whole = len(states) - len(states) % (code.CTA_BYTES // 8)
        arrived = states[:whole].reshape(-1, code.CTA_BYTES // 8)[:, 3]
        if arrived.any() and (self._field("races") or self._field("barriers")):
            self._set("found", self._field("found") | 1 << code.REASONS.index("barrier"))

    def _give_pages(self) -> None:
        size = words.PAGE_BYTES * _CHUNK
        # Page-aligned: words of one kind fill whole pages of the host.
        begin = self._table(size + _HOST_PAGE) + _HOST_PAGE - 1 & -_HOST_PAGE
        self._set("pool", begin)
        self._set("pool_end", begin + size)

    def _field(self, name: str) -> int:
        return int(self._words[code.FIELD[name] // 8])

    def _set(self, name: str, value: int) -> None:
        self._words[code.FIELD[name] // 8] = value

    @property
    def suspected(self) -> tuple[str, ...]:
        found = self._field("found")
        beside = {"refused": self._refused, "symbol": self._left}
        return (*self._reasons(found), *(name for name, held in beside.items() if held))

    def suspects(self) -> Suspects | None:
        """The granules that may race; None: the launch was not looked at to its end."""
        if not self._field("races") or self._over:
            return None
        kept = next(k for k in self._kept if address_of(k) == self._field("pages"))
        pages = int(np.count_nonzero(kept))
        first = self._field("first_page") * PAGE_GRANULES
        touched = (pages << words.PAGE_SHIFT) + self._field("shared_bytes")
        return Suspects(self._shared_suspects, first, self._suspects, touched)

    @staticmethod
    def _reasons(found: int) -> Iterator[str]:
        return (name for n, name in enumerate(code.REASONS) if found >> n & 1)

    @property
    def first(self) -> tuple[int, int]:
        """Code address and memory address of the first suspicion."""
        return self._field("found_at"), self._field("found_address")


class WholeScreening(Screening):
    """Screening of all accesses."""

    def ordered(self, rows: Words) -> None:
        self._rows(rows)


class NearScreening(Screening):
    """Screening of accesses to shared and local memory."""

    def near_ordered(self, rows: Words) -> None:
        self._rows(rows)
