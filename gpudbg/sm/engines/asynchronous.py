"""Asynchronous operations of the step engine: mbarriers, bulk and tensor copies, clusters.

A copy happens when its instruction executes; then its bytes count on its mbarrier.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from gpudbg.bits import lanes_of
from gpudbg.formats.tensor_map import SIZE as MAP_BYTES
from gpudbg.formats.tensor_map import TYPES, TensorMap, decode
from gpudbg.mem.device import Allocation
from gpudbg.mem.faults import MemoryFault
from gpudbg.mem.lanes import U32, U64, first_lane
from gpudbg.mem.windows import RANK_SHIFT, WINDOW_BYTES
from gpudbg.sm.asynchronous import box, mbarrier, transfer
from gpudbg.sm.asynchronous.events import (
    AsyncEvent,
    ByteRuns,
    BytesCopied,
    CopiedElements,
    MbarrierBegun,
    MbarrierChanged,
    MbarrierTested,
    TensorMapUsed,
)
from gpudbg.sm.asynchronous.transfer import Bytes, check_unit, global_place, reduced, shared_place
from gpudbg.sm.atomics.step import UPDATES
from gpudbg.sm.barriers.step import settle_cluster
from gpudbg.sm.convergence import step as convergence
from gpudbg.sm.engines.memory import MemoryOps
from gpudbg.sm.engines.values import Mask, Value, Wide, lanes32, lanes64
from gpudbg.sm.faults import WarpErrorRaised
from gpudbg.sm.record import ACTIVE
from gpudbg.sm.state import Cta

MAP_UNIT = 64
"""Alignment of a tensor map (*documented*)."""
BOX_UNIT = 128
"""Alignment of a box in shared memory (*documented*)."""
_ROW = 32 * transfer.UNIT
_REDUCED_AS = {
    "u32": "U32", "i32": "S32", "u64": "U64", "i64": "S64", "f16": "F16x2", "bf16": "BF16x2",
    "f32": "F32_DENORMAL", "f32.ftz": "F32", "f64": "F64",
}  # fmt: skip
"""Element type of a tensor -> type of the atomic that combines two."""


class AsyncOps(MemoryOps):
    """mbarriers, bulk and tensor copies, the cluster's barrier.

    The engine supplies `_next`, the pc to go on at, and `turn_over` and `polled`: the warp waits
    for others, who shall run.
    """

    __slots__ = ("_next", "polled", "turn_over")

    _next: int
    turn_over: bool
    polled: bool

    @property
    def _observed(self) -> bool:
        """Whether an observer subscribes to asynchronous events."""
        return self.observers is not None and bool(self.observers.hooks["asynchronous"])

    def _tell(self, event: AsyncEvent) -> None:
        if self.observers is not None:
            self.observers.emit("asynchronous", self.warp, event)

    # ---- mbarriers ---------------------------------------------------------------------
    def _generic(self, address: Value) -> Any:
        """Addresses in the cluster's shared memory as generic ones."""
        return lanes32(address).astype(np.uint64) + np.uint64(self.memory.layout.shared_window)

    def mbarrier_begin(self, address: Value, word: Wide) -> Wide:
        old = self.atomic("shared", "EXCH", "U64", address, [word])
        self.note_mbarriers(address)
        if self._observed:
            offsets, words = lanes32(address).tolist(), lanes64(word).tolist()
            for lane in lanes_of(self.exec):
                at = offsets[lane] & (WINDOW_BYTES - 1)
                self._tell(MbarrierBegun(self.warp.cta, at, lane, words[lane]))
        return cast("U64", old)

    def mbarrier_end(self, address: Value) -> None:
        offsets = (lanes32(address) & np.uint32(WINDOW_BYTES - 1)).tolist()
        for lane, offset in enumerate(offsets):
            if self.exec >> lane & 1:
                self.warp.cta.mbarriers.discard(offset)
                if self._observed:
                    self._tell(MbarrierBegun(self.warp.cta, offset, lane, None))

    def mbarrier_arrive(
        self,
        address: Value,
        arrivals: Value,
        transactions: Value,
        *,
        drops: bool = False,
        remote: bool = False,
        together: bool = False,
    ) -> tuple[U32, U32]:
        old = np.zeros(32, np.uint64)
        masks = np.zeros(32, np.uint32)
        if not self.exec:
            return masks, masks
        space, where = ("generic", self._generic(address)) if remote else ("shared", address)
        try:
            places = self._places(space, where, 8)
        except MemoryFault as fault:
            raise self._error(fault, "atomic", 8) from None
        self._tell_atomic(space, where, 8)
        counts = lanes32(arrivals).tolist()
        moved = lanes32(transactions).view(np.int32).tolist()
        first: dict[tuple[int, int], int] = {}
        members: dict[tuple[int, int], int] = {}
        for lane, (view, index) in enumerate(places):
            if view is None:
                continue
            key = (id(view.base), index)
            before = int(view[index])
            old[lane] = first.setdefault(key, before) if together else before
            members[key] = members.get(key, 0) | 1 << lane
            after = mbarrier.update(before, counts[lane], moved[lane], drops)
            view[index] = after
            if self._observed:
                home = self._home_of(lanes64(cast("Wide", where))[lane] if remote else None)
                change = (counts[lane], moved[lane], drops, before, after)
                self._tell(MbarrierChanged(home, 8 * index, lane, *change))
        if self.written is not None:
            self._note_atomic(space, where, self.exec, 8)
        if not together:
            return old.astype(np.uint32), (old >> np.uint64(32)).astype(np.uint32)
        for lane, (view, index) in enumerate(places):
            if view is not None:
                masks[lane] = members[id(view.base), index]
        return masks, (old >> np.uint64(32)).astype(np.uint32)

    def _home_of(self, generic: Any) -> Cta:
        """The CTA of the cluster that a generic address of shared memory belongs to."""
        cta = self.warp.cta
        if generic is None:
            return cta
        rank = int(generic) - self.memory.layout.shared_window >> RANK_SHIFT
        return cta.cluster.ctas[rank] if rank < len(cta.cluster.ctas) else cta

    def mbarrier_passed(self, address: Value, wanted: Value) -> Mask:
        _, high = self.load("shared", address, 8, False)
        passed = 0
        for lane, (word, parity) in enumerate(
            zip(high.tolist(), lanes32(wanted).tolist(), strict=True)
        ):
            if self.exec >> lane & 1 and mbarrier.passed(word << 32, parity):
                passed |= 1 << lane
        if self._observed:
            offsets = lanes32(address) & np.uint32(WINDOW_BYTES - 1)
            ranks = lanes32(address) >> np.uint32(RANK_SHIFT)
            self._tell(MbarrierTested(offsets, lanes32(wanted), self.exec, passed, ranks))
        return passed

    def poll(self, passed: Mask, write: Callable[[Mask], None]) -> None:
        write(passed)
        if not self.exec & ~passed:
            return
        # The running group polls: let other groups and other warps run first.
        self.turn_over = self.polled = True
        warp = self.warp
        self._next = convergence.yield_turn(warp, self._next, warp.words[ACTIVE])

    def _complete(self, address: int, size: int, what: str) -> None:
        """Count `size` arrived bytes on the mbarrier at an address of the cluster."""
        check_unit(address, "shared", f"{what}: mbarrier", 8)
        cta, offset = shared_place(self.warp.cta, address, 8, f"{what}: mbarrier", own=False)
        word = cta.shared.writable()[offset : offset + 8].view(np.uint64)
        before = int(word[0])
        word[0] = mbarrier.update(before, 0, -size)
        if self._observed:
            lane = first_lane(self.exec)
            change = (0, -size, False, before, int(word[0]))
            self._tell(MbarrierChanged(cta, offset, lane, *change, by_copy=True))
        self._mark_shared(cta, offset, 8)
        self._tell_range(cta, "atomic", offset, 8)

    def _complete_rest(self, address: int) -> None:
        """Count all expected bytes as arrived, for a left-out copy of unknown size."""
        with suppress(MemoryFault):
            cta, offset = shared_place(self.warp.cta, address, 8, "mbarrier", own=False)
            word = int(cta.shared.data[offset : offset + 8].view(np.uint64)[0])
            self._complete(address, max(mbarrier.read(word).bytes, 0), "tensor copy")

    def _mark_shared(self, cta: Cta, offset: int, size: int) -> None:
        if self.written is not None:
            self.written.note_bytes("shared", cta, 0, offset, size)

    def _tell_range(self, owner: Cta | Allocation, kind: str, offset: int, size: int) -> None:
        """Tell observers of bytes that a copy reads or writes, 16 for each of 32 lanes."""
        if self.observers is None:
            return
        space, base = "global", 0
        if isinstance(owner, Allocation):
            base = owner.base
        elif owner is self.warp.cta:
            space = "shared"
        else:
            space, base = "cluster", owner.rank << RANK_SHIFT
        unit = min(size, transfer.UNIT)
        for start in range(0, size, _ROW):
            count = min(-(-(size - start) // unit), 32)
            places = base + offset + start + unit * np.arange(32, dtype=np.uint64)
            given: Any = places if space == "global" else places.astype(np.uint32)
            lanes = (1 << count) - 1
            self.observers.emit("access", self.warp, space, kind, given, lanes, unit)

    # ---- bulk copies -------------------------------------------------------------------
    def bulk_copy(
        self,
        route: tuple[str, str],
        target: Wide,
        barrier: Value,
        source: Wide,
        size: Value,
        multicast: bool = False,
        reduce: tuple[str, str] | None = None,
        masked: bool = False,
    ) -> None:
        first = first_lane(self.exec)
        words = int(lanes32(size)[first])
        count, mask = (words & 0xFFFF) * transfer.UNIT, words >> 16
        to, at = int(lanes64(target)[first]), int(lanes32(barrier)[first])
        what = f"bulk {'reduction' if reduce else 'copy'}"
        try:
            origin = int(lanes64(source)[first])
            data = self._bulk_read(route[1], origin, count, what)
            own = self.warp.cta
            reads = ByteRuns.range(
                None if route[1] == "G" else own,
                origin if route[1] == "G" else origin & (WINDOW_BYTES - 1), count,
            )  # fmt: skip
            if route[0] == "G":
                kept, written = None, ByteRuns.range(None, to, count)
                if masked:
                    kept = np.resize([mask >> n & 1 for n in range(transfer.UNIT)], count) > 0
                    written = ByteRuns.elements(None, to + kept.nonzero()[0], 1)
                self._bulk_write_global(to, data, what, reduce, kept)
                elements = CopiedElements.whole(reads.low, to, count)
                self._tell_copy(reads, [(written, None)], elements, reduce is not None)
                return
            ranks = [to >> RANK_SHIFT & 0xFF]
            if multicast:
                ranks = [rank for rank in range(16) if mask >> rank & 1]
            # Check every place before the first effect.
            writes = []
            for rank in ranks:
                home, offset = shared_place(own, _at(rank, to), count, what, own=False)
                counted = self._barrier_at(_at(rank, at) if multicast else at)
                writes.append((ByteRuns.range(home, offset, count), counted))
            elements = CopiedElements.whole(reads.low, to & (WINDOW_BYTES - 1), count)
            self._tell_copy(reads, writes, elements, reduce is not None)
            for rank in ranks:
                self._bulk_write_shared(_at(rank, to), data, what, reduce)
                bar = _at(rank, at) if multicast else at
                self._complete(bar, count, what)
        except MemoryFault as fault:
            self._refuse(fault, count, [] if route[0] == "G" else [at])

    def _barrier_at(self, address: int) -> tuple[Cta, int] | None:
        """The CTA and the offset of an mbarrier, if its rank is one of the cluster."""
        rank, ctas = address >> RANK_SHIFT, self.warp.cta.cluster.ctas
        return (ctas[rank], address & (WINDOW_BYTES - 1)) if rank < len(ctas) else None

    def _tell_copy(
        self,
        reads: ByteRuns | None,
        writes: Sequence[tuple[ByteRuns, Any]],
        elements: CopiedElements,
        reduces: bool = False,
    ) -> None:
        if self._observed:
            lane = first_lane(self.exec)
            given = () if reads is None else (reads,)
            self._tell(BytesCopied(given, tuple(writes), reduces, False, lane, elements))

    def _refuse(
        self, fault: MemoryFault, size: int, barriers: Sequence[int], counted: int = 0
    ) -> None:
        """Handle a copy that faults: skip it where an observer subscribes to refused accesses, else
        raise the warp's error.  The message says whether its read or its write failed.

        Args:
            barriers: addresses of mbarriers on which a copy that is left out counts all the same.
            counted: its bytes; 0: `size`.
        """
        fault.unmapped = False
        reads = "source" in fault.detail or fault.detail.startswith("tensor map")
        access = "load" if reads else "store"
        if self.observers is None or not self.observers.hooks["refused"]:
            raise self._error(fault, access, size) from None
        fault.lanes = 1 << first_lane(self.exec)
        self.observers.emit("refused", self.warp, fault, access, size)
        with suppress(MemoryFault):
            for address in barriers:
                self._complete(address, counted or size, "bulk copy")

    def _bulk_read(self, space: str, address: int, size: int, what: str) -> Bytes:
        if space == "G":
            check_unit(address, "global", f"{what} source")
            found, offset = global_place(self.memory, address, size, f"{what} source")
            self._tell_range(found, "load", offset, size)
            return found.data[offset : offset + size].copy()
        check_unit(address, "shared", f"{what} source")
        cta, offset = shared_place(self.warp.cta, address, size, f"{what} source", own=True)
        self._tell_range(cta, "load", offset, size)
        return cta.shared.data[offset : offset + size].copy()

    def _bulk_write_global(
        self,
        address: int,
        data: Bytes,
        what: str,
        reduce: tuple[str, str] | None,
        kept: npt.NDArray[np.bool_] | None,
    ) -> None:
        """Args: kept: which bytes are written, or all."""
        check_unit(address, "global", f"{what} target")
        size = len(data)
        found, offset = global_place(self.memory, address, size, f"{what} target")
        self._tell_range(found, "atomic" if reduce else "store", offset, size)
        place = found.writable()[offset : offset + size]
        made = data if reduce is None else self._combined(place.copy(), data, reduce)
        chosen = slice(None) if kept is None else kept
        place[chosen] = made[chosen]
        if self.written is None:
            return
        if kept is None:
            self.written.note_bytes("global", found, 0, offset, size)
        elif found.marks is not None:
            found.marks[offset : offset + size][kept] = 0xFF

    def _bulk_write_shared(
        self, address: int, data: Bytes, what: str, reduce: tuple[str, str] | None
    ) -> None:
        check_unit(address, "shared", f"{what} target")
        size = len(data)
        cta, offset = shared_place(self.warp.cta, address, size, f"{what} target", own=False)
        self._tell_range(cta, "atomic" if reduce else "store", offset, size)
        place = cta.shared.writable()[offset : offset + size]
        place[:] = data if reduce is None else self._combined(place.copy(), data, reduce)
        self._mark_shared(cta, offset, size)

    def _combined(self, old: Bytes, data: Bytes, reduce: tuple[str, str]) -> Bytes:
        if reduce not in UPDATES:
            text = f"no reduction {reduce[0]} of {reduce[1]}"
            raise WarpErrorRaised("ILLEGAL_INSTR_PARAM", 0, text)
        return reduced(old, data, *reduce)

    def shared_zeros(self, address: Value, size: Value) -> None:
        first = first_lane(self.exec)
        at, count = int(lanes32(address)[first]), int(lanes32(size)[first])
        try:
            cta, offset = shared_place(self.warp.cta, at, count, "filling target", own=True)
        except MemoryFault as fault:
            raise self._error(fault, "store", count) from None
        self._tell_range(cta, "store", offset, count)
        cta.shared.writable()[offset : offset + count] = 0
        self._mark_shared(cta, offset, count)

    def refuse_work(self, address: Value, barrier: Value) -> None:
        first = first_lane(self.exec)
        at = int(lanes32(barrier)[first])
        self.shared_zeros(address, transfer.UNIT)
        try:
            self._complete(at, transfer.UNIT, "request for work")
        except MemoryFault as fault:
            raise self._error(fault, "store", transfer.UNIT) from None

    # ---- copies of tensors -------------------------------------------------------------
    def tensor_load(
        self,
        place: Wide,
        target: Value,
        barrier: Value,
        corner: Sequence[Value],
        shift: Sequence[Value] | None,
        mask: Value | None,
        rows: bool = False,
    ) -> None:
        first = first_lane(self.exec)
        given = self._tensor_map(place, 2 if rows else len(corner))
        what = "tensor copy"
        to, at = int(lanes32(target)[first]), int(lanes32(barrier)[first])
        if given is None:
            self._complete_rest(at)
            return
        inside = None
        if shift is None and not rows and self.observers is None:
            inside = box.whole(given, self._starts(corner))
        if inside is None:
            found = self._box(given, corner, shift, rows)
            box_bytes = len(found.inside) * given.element_bytes
        else:
            box_bytes = math.prod(inside.shape)
        ranks = [to >> RANK_SHIFT]
        if mask is not None:
            bits = int(lanes32(mask)[first]) >> 16
            ranks = [rank for rank in range(16) if bits >> rank & 1]
        self._tell_map(place, given, to, box_bytes)
        try:
            check_unit(to, "shared", f"{what} target", BOX_UNIT)
            if inside is None:
                data = box.delivered(self._elements(given, found, what), given).reshape(-1)
            else:
                data = self._strided(given, inside, what)
            for rank in ranks:
                shared_place(self.warp.cta, _at(rank, to), len(data), f"{what} target", own=False)
            if inside is None and self._observed:
                self._tell_box(given, found, ranks, to, at, mask is not None)
            for rank in ranks:
                address = _at(rank, to)
                cta, offset = shared_place(self.warp.cta, address, len(data), what, own=False)
                self._tell_range(cta, "store", offset, len(data))
                self._put(cta, offset, data, given.swizzle, what)
                self._mark_shared(cta, offset, len(data))
                self._complete(at if mask is None else _at(rank, at), len(data), what)
        except MemoryFault as fault:
            self._refuse(fault, given.element_bytes, [at], box_bytes)

    def _strided(self, given: TensorMap, inside: box.Whole, what: str) -> Bytes:
        """The bytes of a box inside its tensor."""
        at = given.address + inside.first
        found, start = global_place(self.memory, at, inside.size, f"{what} source")
        held = found.data[start : start + inside.size]
        return as_strided(held, inside.shape, inside.strides).reshape(-1).copy()

    def _put(self, cta: Cta, offset: int, data: Bytes, swizzle: int, what: str) -> None:
        """Write a box to shared memory; a swizzle moves units of 16 bytes."""
        if len(data) % transfer.UNIT:
            spots = box.swizzled(offset + np.arange(len(data)), swizzle)
            self._in_reach(cta, spots, what)
            cta.shared.writable()[spots] = data
            return
        spots = box.swizzled(offset + np.arange(0, len(data), transfer.UNIT), swizzle)
        self._in_reach(cta, spots + (transfer.UNIT - 1), what)
        held = cta.shared.writable()
        units = held[: len(held) // transfer.UNIT * transfer.UNIT].view(np.uint64).reshape(-1, 2)
        units[spots // transfer.UNIT] = data.view(np.uint64).reshape(-1, 2)

    def _tell_box(
        self, given: TensorMap, found: box.Box, ranks: Sequence[int], to: int, at: int, many: bool
    ) -> None:
        """Tell observers of a tensor load."""
        size, offset = given.element_bytes, to & (WINDOW_BYTES - 1)
        spots = box.swizzled(offset + np.arange(len(found.inside) * size), given.swizzle)
        writes = [
            (
                ByteRuns.elements(self.warp.cta.cluster.ctas[rank], spots, 1),
                self._barrier_at(_at(rank, at) if many else at),
            )
            for rank in ranks
        ]
        reads, inside = None, found.inside
        sources = given.address + found.offsets[inside]
        if inside.any():
            reads = ByteRuns.elements(None, sources, size)
        targets = spots.reshape(-1, size)[inside, 0]
        self._tell_copy(reads, writes, CopiedElements(sources, targets, size))

    def tensor_store(
        self,
        place: Wide,
        source: Value,
        corner: Sequence[Value],
        columns: bool,
        reduce: str | None = None,
        rows: bool = False,
    ) -> None:
        first = first_lane(self.exec)
        given = self._tensor_map(place, 2 if rows else len(corner))
        if given is None:
            return
        what = "tensor reduction" if reduce else "tensor copy"
        start = int(lanes32(source)[first])
        shift = [0] * max(given.rank - 2, 0) if columns else None
        found = self._box(given, corner, shift, rows)
        size = given.element_bytes
        count = len(found.inside) * size
        self._tell_map(place, given, start, count)
        try:
            check_unit(start, "shared", f"{what} source", BOX_UNIT)
            cta, offset = shared_place(self.warp.cta, start, count, f"{what} source", own=True)
            self._tell_range(cta, "load", offset, count)
            spots = box.swizzled(offset + np.arange(count), given.swizzle)
            self._in_reach(cta, spots, what)
            data = cta.shared.data[spots].reshape(-1, size)[found.inside]
            if not len(data):
                return
            allocation, places = self._tensor_places(given, found, f"{what} target")
            held = allocation.writable()
            self._tell_elements(allocation, places, "atomic" if reduce else "store", size)
            if self._observed:
                target = ByteRuns.elements(None, places[:, 0] + allocation.base, size)
                source_bytes = ByteRuns.elements(cta, spots, 1)
                sources = spots.reshape(-1, size)[found.inside, 0]
                elements = CopiedElements(sources, places[:, 0] + allocation.base, size)
                self._tell_copy(source_bytes, [(target, None)], elements, reduce is not None)
            if reduce is not None:
                data = self._reduced_elements(given, held[places], data, reduce)
            held[places] = data
            if self.written is not None and allocation.marks is not None:
                allocation.marks[places] = 0xFF
        except MemoryFault as fault:
            self._refuse(fault, size, [])

    def _tell_map(self, place: Wide, given: TensorMap, address: int, size: int) -> None:
        """Tell observers of the map of a copy, and where its box lies."""
        if self._observed:
            first = first_lane(self.exec)
            offset = address & (WINDOW_BYTES - 1)
            boundary = 128 << given.swizzle if given.swizzle else 1
            self._tell(TensorMapUsed(int(lanes64(place)[first]), offset, size, boundary, first))

    def _tell_elements(self, owner: Allocation, places: Any, kind: str, size: int) -> None:
        """Tell observers of elements of a tensor, 32 at a time."""
        if self.observers is None:
            return
        addresses = places[:, 0].astype(np.uint64) + np.uint64(owner.base)
        for start in range(0, len(addresses), 32):
            part = addresses[start : start + 32]
            lanes, given = (1 << len(part)) - 1, np.resize(part, 32)
            self.observers.emit("access", self.warp, "global", kind, given, lanes, size)

    def _in_reach(self, cta: Cta, spots: Any, what: str) -> None:
        """Raise a fault if a swizzled address leaves the CTA's memory."""
        last = int(spots.max(initial=0))
        if last >= cta.shared.size:
            text = f"{what}: the swizzle reaches shared address 0x{last:x}, outside the block's"
            raise MemoryFault("OOR_ADDR", 0, last, "shared", text)

    def _tensor_map(self, place: Wide, dimensions: int) -> TensorMap | None:
        """The tensor map at a generic address; None: the copy is left out."""
        address = int(lanes64(place)[first_lane(self.exec)])
        try:
            check_unit(address, "global", "tensor map", MAP_UNIT)
            found, offset = global_place(self.memory, address, MAP_BYTES, "tensor map")
        except MemoryFault as fault:
            self._refuse(fault, MAP_BYTES, [])
            return None
        self._tell_range(found, "load", offset, MAP_BYTES)
        given = decode(found.data[offset : offset + MAP_BYTES].tobytes())
        trouble = given.trouble()
        if not trouble and given.rank != dimensions:
            trouble = f"it has {given.rank} dimensions, the instruction {dimensions}"
        if trouble:
            text = f"tensor map at 0x{address:x}: {trouble}"
            raise WarpErrorRaised(
                "ILLEGAL_INSTR_PARAM", 0, text,
                address=address, space="global", access="load", size=MAP_BYTES,
            )  # fmt: skip
        return given

    def _box(
        self, given: TensorMap, corner: Sequence[Value], shift: Sequence[Value] | None, rows: bool
    ) -> box.Box:
        """The elements of a copy."""
        first, start = first_lane(self.exec), self._starts(corner)
        if rows:
            return box.rows(given, start[0], start[1:])
        if shift is None:
            return box.tile(given, start)
        if given.im2col is None:
            self._no_columns()
        offsets = [int(lanes32(value)[first]) for value in shift]
        return box.columns(given, start, offsets)

    def _starts(self, corner: Sequence[Value]) -> list[int]:
        """The coordinates of a copy."""
        first = first_lane(self.exec)
        return [int(lanes32(value).view(np.int32)[first]) for value in corner]

    def _no_columns(self) -> None:
        text = "an im2col copy with a tensor map that was made for tiles, or by a driver"
        raise WarpErrorRaised("ILLEGAL_INSTR_PARAM", 0, text)

    def _tensor_places(self, given: TensorMap, found: box.Box, what: str) -> tuple[Allocation, Any]:
        """The allocation, and the bytes in it of the elements inside the tensor, one a row."""
        offsets, size = found.offsets[found.inside], given.element_bytes
        low, high = int(offsets.min()), int(offsets.max()) + size
        allocation, start = global_place(self.memory, given.address + low, high - low, what)
        return allocation, (offsets - low + start)[:, None] + np.arange(size)

    def _elements(self, given: TensorMap, found: box.Box, what: str) -> Bytes:
        """All elements of a box, those outside the tensor filled."""
        size = given.element_bytes
        out = np.empty((len(found.inside), size), np.uint8)
        out[:] = np.frombuffer(box.fill(given), np.uint8)
        if found.inside.any():
            allocation, places = self._tensor_places(given, found, f"{what} source")
            self._tell_elements(allocation, places, "load", size)
            out[found.inside] = allocation.data[places]
        return out

    def _reduced_elements(self, given: TensorMap, old: Bytes, data: Bytes, op: str) -> Bytes:
        size = given.element_bytes
        type_ = _REDUCED_AS.get(TYPES[given.type], "")
        if op in ("AND", "OR", "XOR", "INC", "DEC"):
            type_ = "U64" if size == 8 else "U32"
        update = UPDATES.get((op, type_))
        if update is None or size == 1:
            text = f"no reduction {op} of {TYPES[given.type]}"
            raise WarpErrorRaised("ILLEGAL_INSTR_PARAM", 0, text)
        dtype = f"<u{size}"
        pairs = zip(
            np.ascontiguousarray(old).view(dtype)[:, 0].tolist(),
            np.ascontiguousarray(data).view(dtype)[:, 0].tolist(),
            strict=True,
        )
        made = [update(a, b) & (1 << 8 * size) - 1 for a, b in pairs]
        return np.array(made, dtype).view(np.uint8).reshape(-1, size)

    # ---- stores that count on an mbarrier ----------------------------------------------
    def remote_store(self, address: Value, barrier: Value, words: Sequence[Value]) -> None:
        size = 4 * len(words)
        self._tell_remote(address, barrier, size, False)
        self.store("generic", self._generic(address), size, words)
        self._complete_each(barrier, size)

    def remote_reduce(
        self, address: Value, barrier: Value, op: str, type_: str, value: Value | Wide
    ) -> None:
        size = 8 if type_ in ("U64", "S64") else 4
        self._tell_remote(address, barrier, size, True)
        self.atomic("generic", op, type_, self._generic(address), [value])
        self._complete_each(barrier, size)

    def _tell_remote(self, address: Value, barrier: Value, size: int, reduces: bool) -> None:
        """Tell observers of stores that count on mbarriers, lane by lane."""
        if not self._observed:
            return
        places, counted = lanes32(address).tolist(), lanes32(barrier).tolist()
        for lane in lanes_of(self.exec):
            home = self._barrier_at(places[lane])
            if home is not None:
                written = ByteRuns.range(home[0], home[1], size)
                writes = ((written, self._barrier_at(counted[lane])),)
                self._tell(BytesCopied((), writes, reduces, True, lane))

    def _complete_each(self, barrier: Value, size: int) -> None:
        try:
            for lane, place in enumerate(lanes32(barrier).tolist()):
                if self.exec >> lane & 1:
                    self._complete(place, size, "asynchronous store")
        except MemoryFault as fault:
            raise self._error(fault, "store", size) from None

    # ---- clusters ----------------------------------------------------------------------
    def cluster_arrive(self) -> None:
        cluster = self.warp.cta.cluster
        cluster.arrive(self.warp)
        settle_cluster(cluster)

    def cluster_wait(self) -> None:
        warp = self.warp
        if warp.cta.cluster.waits(warp):
            self._next = convergence.wait_for_cluster(warp, self._next, self.exec)


def _at(rank: int, address: int) -> int:
    """The address in the memory of a CTA of the cluster."""
    return rank << RANK_SHIFT | address & (WINDOW_BYTES - 1)
