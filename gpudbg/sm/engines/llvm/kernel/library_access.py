"""Accesses to memory by the run-time library, which checks lane by lane.

Every access function gets pointers to rows of addresses and data.  It returns whether all
executing lanes were good; if not, nothing has happened and the step engine takes over.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpudbg.mem.windows import RANK_SHIFT, WINDOW_BYTES, AddressLayout
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.integers import Integers
from gpudbg.sm.engines.llvm.ir.values import (
    FULL,
    UNIFORM,
    Mask,
    MaskHost,
    Num,
    Slow,
    Val,
    Values,
)
from gpudbg.sm.engines.llvm.kernel.addresses import AddressParts
from gpudbg.sm.engines.llvm.kernel.cluster_rank import ClusterRank
from gpudbg.sm.engines.llvm.kernel.cursor import Cursor
from gpudbg.sm.engines.llvm.kernel.exits import Exits
from gpudbg.sm.engines.llvm.kernel.marks import Marks
from gpudbg.sm.engines.llvm.kernel.runtime_calls import RuntimeCalls
from gpudbg.sm.engines.llvm.kernel.sites import Sites


class LibraryAccess:
    """Loads, stores and atomics of any form."""

    def __init__(
        self,
        ir: Builder,
        values: Values,
        ints: Integers,
        cursor: Cursor,
        exits: Exits,
        runtime: RuntimeCalls,
        sites: Sites,
        marks: Marks,
        windows: AddressLayout,
        rank: ClusterRank,
        observed: bool = False,
    ) -> None:
        """Args: windows: where generic addresses of shared and local memory lie. observed: by
        observers, generic accesses to other blocks are then left to the step engine."""
        self.observed = observed
        self.ir, self.values, self.ints, self.cursor = ir, values, ints, cursor
        self.exits, self.runtime, self.sites, self.marks = exits, runtime, sites, marks
        self._windows, self.rank = windows, rank

    def _where(self, space: str, address: Num) -> str:
        """Arguments for the addresses of a library call: low row, high row, constant."""
        if space in ("shared", "local", "cluster"):
            if isinstance(address, int):
                return f"ptr {self.ir.at('%env', layout.ZERO)}, i64 {address & FULL}"
            return f"ptr {self.runtime.row_of(address, 32)}, i64 0"
        zero = self.ir.at("%env", layout.ZERO)
        if isinstance(address, int):
            return f"ptr {zero}, ptr {zero}, i64 {address}"
        low, high, add = self.ints.words(address)
        return f"ptr {self.runtime.row_of(low, 32)}, ptr {self.runtime.row_of(high, 32)}, i64 {add}"

    def call(self, name: str, space: str, address: Num, tail: str) -> None:
        """Call an access function and leave unless it succeeded."""
        where = self._where(space, address)
        if space == "generic" and self._windows.ranked:
            if not self.observed:
                name = name.replace(".generic.", ".ranked.")
            elif not isinstance(address, int):
                self._in_no_other_block(address)
        known = space in ("global", "generic")
        site = self.sites.entry(not name.startswith("load")) if known else "null"
        mask = self.values.mask_bits(self.cursor.exec)
        good = self.ir.op(
            f"call i1 {self.runtime.function(name)}(ptr %env, ptr %rec, ptr {site}, {where}, "
            f"i32 {mask}{tail})"
        )
        self.exits.bail_unless(good)

    def load(self, space: str, address: Num, size: int, signed: bool) -> Sequence[Num]:
        """Emit a load by the library."""
        out = self.runtime.new_row()
        if size > 8:
            self.runtime.new_row()
        name = f"load.{space}.{size}{'s' if signed else ''}"
        self.call(name, space, address, f", ptr {out}")
        return self.runtime.words(out, size)

    def store(self, space: str, address: Num, size: int, values: Sequence[Num]) -> None:
        """Emit a store by the library."""
        data = [self.runtime.row_of(v, 32) for v in values]
        tail = "".join(f", ptr {row}" for row in data)
        what = "store"
        if self._marks_in_passing(space, size):
            what, self.marks.noted = layout.MARKED_STORE, True
        self.call(f"{what}.{space}.{size}", space, address, tail)

    def _marks_in_passing(self, space: str, size: int) -> bool:
        """Whether a store by the library writes marks, too: where words are stored one by one."""
        packed = self.values.masks is MaskHost.PACKED
        return packed and space == "local" and size >= 4 and space in self.marks.spaces

    def atomic(self, space: str, op: str, type_: str, address: Num, operands: Sequence[Num]) -> Num:
        bits = layout.ATOMICS.get(f"{op}.{type_}", 0)
        if not bits:
            raise Slow(f"atomic {op} of {type_}")
        rows = [self.runtime.row_of(v, bits) for v in operands]
        if space == "shared" and op == "ADD" and type_ in layout.SUMS and not self.cursor.wants_old:
            self.call(f"sum.shared.{type_}", space, address, f", ptr {rows[0]}")
            return 0
        rows += [self.ir.at("%env", layout.ZERO)] * (2 - len(rows))
        out = self.runtime.new_row()
        tail = "".join(f", ptr {row}" for row in (*rows, out))
        self.call(f"atomic.{space}.{op}.{type_}", space, address, tail)
        return Val(bits, self.ir.get(f"<32 x i{bits}>", out, 0, 64))

    def mark(self, space: str, address: Num, size: int, lanes: Mask) -> None:
        """Emit the marks of a store by the library, unless they were written in place."""
        kept = "shared" if space == "cluster" else space
        if kept not in self.marks.spaces or self.marks.noted:
            return
        site = self.sites.entry(writes=True) if space in ("global", "generic") else "null"
        where, mask = self._where(space, address), self.values.mask_bits(lanes)
        if space == "generic" and self._windows.ranked and not self.observed:
            space = "ranked"
        self._call_mark(f"mark.{space}.{size}", site, where, mask)

    def _call_mark(self, name: str, site: str, where: str, mask: str) -> None:
        # The access succeeded, so the marks are in range as well.
        function = self.runtime.function(name)
        self.ir.op(f"call i1 {function}(ptr %env, ptr %rec, ptr {site}, {where}, i32 {mask})")

    def note_mbarriers(self, address: Num, how: int) -> None:
        """Emit a note of where mbarriers begin (0), end (1), or are arrived at (2)."""
        function, mask = self.runtime.function("mbarriers.note"), self.cursor.exec
        about = f"{self._where('shared', address)}, i32 {self.values.mask_bits(mask)}"
        done = self.ir.op(f"call i1 {function}(ptr %rec, {about}, i32 {how})")
        self.exits.bail_unless(done)

    def _into_shared(self, address: Num) -> Num:
        """Offsets from the beginning of the shared window."""
        window = Val(64, self.ir.get("i64", "%env", layout.SHARED_WINDOW), UNIFORM)
        return self.ints.wsub(address, window)

    def in_window(self, address: Num) -> Mask:
        ints, windows = self.ints, self._windows
        if not windows.ranked:
            # The local window follows the shared one.
            return ints.wult(self._into_shared(address), 2 * WINDOW_BYTES)
        local = ints.wult(ints.wsub(address, windows.local_window), WINDOW_BYTES)
        return ints.mor(self.in_shared(address), local)

    def inside_cluster(self, address: Num) -> Num:
        """An address in the cluster's shared memory, where rank 0 is the first block: that in the
        block's own memory, or one outside every block's."""
        if not self.rank.clustered:
            return address
        ints = self.ints
        own = ints.eq(ints.shr(address, RANK_SHIFT), self.rank.number())
        return ints.select(own, self.rank.own(address), -WINDOW_BYTES)

    def in_shared(self, address: Num) -> Mask:
        return self.ints.wult(self._into_shared(address), self._windows.shared_bytes)

    def in_own_shared(self, address: Num) -> Mask:
        if self.rank.clustered:
            raise Slow("whether an address is in a block of a cluster")
        return self.ints.wult(self._into_shared(address), WINDOW_BYTES)

    def _in_no_other_block(self, address: Num) -> None:
        """Leave where a lane's address may lie in another block's shared memory."""
        ints, into = self.ints, self._into_shared(address)
        others = ints.wult(into, self._windows.shared_bytes)
        if not self.rank.clustered:
            others = ints.mand(others, ints.mnot(ints.wult(into, WINDOW_BYTES)))
        bits = self.values.mask_bits(ints.mand(self.cursor.exec, others))
        self.exits.bail_unless(self.ir.op(f"icmp eq i32 {bits}, 0"))

    def outside_windows(self, address: Num) -> None:
        """Leave unless the executing lanes' generic addresses are in global memory."""
        inside = self.ints.mand(self.cursor.exec, self.in_window(address))
        bits = self.values.mask_bits(inside)
        self.exits.bail_unless(self.ir.op(f"icmp eq i32 {bits}, 0"))

    def leave_misaligned(self, address: Num, size: int) -> None:
        """Leave unless the executing lanes' 64-bit addresses are multiples of `size`."""
        ints = self.ints
        rest = ints.and_(ints.lo(address), size - 1)
        bits = self.values.mask_bits(ints.mand(self.cursor.exec, ints.mnot(ints.eq(rest, 0))))
        self.exits.bail_unless(self.ir.op(f"icmp eq i32 {bits}, 0"))

    def load_at(
        self, space: str, site: str, where: AddressParts, size: int, signed: bool, mask: str
    ) -> list[Val]:
        out = self.runtime.new_row()
        if size > 8:
            self.runtime.new_row()
        name = f"load.{space}.{size}{'s' if signed else ''}"
        self.call_at(name, space, site, where, mask, f", ptr {out}")
        return [word for word in self.runtime.words(out, size) if isinstance(word, Val)]

    def store_at(
        self,
        space: str,
        site: str,
        where: AddressParts,
        size: int,
        mask: str,
        rows: Sequence[Val],
    ) -> None:
        """Emit a store of words by the library at the parts of an address."""
        tail = "".join(f", ptr {self.runtime.row_of(row, 32)}" for row in rows)
        self.call_at(f"store.{space}.{size}", space, site, where, mask, tail)

    def call_at(
        self, name: str, space: str, site: str, where: AddressParts, mask: str, tail: str
    ) -> None:
        """Call an access function on prepared addresses."""
        runtime = self.runtime
        what, _, size = name.partition(f".{space}.")
        marks = space in self.marks.spaces and what in ("store", "sum")
        if what == "store" and self._marks_in_passing(space, int(size)):
            name, marks = f"{layout.MARKED_STORE}.{space}.{size}", False
        rows = f"ptr {runtime.row_of(where.low, 32)}"
        if space == "global":
            rows += f", ptr {runtime.row_of(where.high, 32)}"
        good = self.ir.op(
            f"call i1 {runtime.function(name)}(ptr %env, ptr %rec, ptr {site or 'null'}, {rows}, "
            f"i64 {where.add}, i32 {mask}{tail})"
        )
        self.exits.bail_unless(good)
        if marks:
            size = size if what == "store" else "4"
            place = f"{rows}, i64 {where.add}"
            self._call_mark(f"mark.{space}.{size}", site or "null", place, mask)
