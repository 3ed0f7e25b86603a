"""The machine interface of a kernel that is compiled: every operation is that of one part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from gpudbg.isa.operands import RZ
from gpudbg.sm.engines.llvm.ir.floats import Floats
from gpudbg.sm.engines.llvm.ir.integers import Integers
from gpudbg.sm.engines.llvm.ir.values import Mask, Num, Slow
from gpudbg.sm.engines.llvm.kernel.accesses import Accesses
from gpudbg.sm.engines.llvm.kernel.constants import Constants
from gpudbg.sm.engines.llvm.kernel.conversions import Conversions
from gpudbg.sm.engines.llvm.kernel.copies import Copies
from gpudbg.sm.engines.llvm.kernel.cursor import Cursor
from gpudbg.sm.engines.llvm.kernel.doubles import Doubles
from gpudbg.sm.engines.llvm.kernel.flow import KernelFlow
from gpudbg.sm.engines.llvm.kernel.group_flow import GroupFlow
from gpudbg.sm.engines.llvm.kernel.library_access import LibraryAccess
from gpudbg.sm.engines.llvm.kernel.reciprocals import Reciprocals
from gpudbg.sm.engines.llvm.kernel.registers import Registers
from gpudbg.sm.engines.llvm.kernel.shuffles import Shuffles
from gpudbg.sm.engines.llvm.kernel.special import SpecialRegisters
from gpudbg.sm.engines.llvm.kernel.tensors import Tensors


class KernelMachine:
    """The machine interface that semantics functions are given
    (`gpudbg.sm.semantics.machine.Machine`).
    """

    def __init__(
        self,
        cursor: Cursor,
        registers: Registers,
        constants: Constants,
        special: SpecialRegisters,
        ints: Integers,
        floats: Floats,
        doubles: Doubles,
        conversions: Conversions,
        reciprocals: Reciprocals,
        shuffles: Shuffles,
        accesses: Accesses,
        library: LibraryAccess,
        flow: KernelFlow | GroupFlow,
        tensors: Tensors,
        copies: Copies,
    ) -> None:
        self._cursor = cursor
        # State.
        self.reg, self.reg_pair = registers.reg, registers.reg_pair
        self.reg_write, self.reg_pair_write = registers.reg_write, registers.reg_pair_write
        self.pred, self.pred_write = registers.pred, registers.pred_write
        self.cc_read, self.cc_write = registers.cc_read, registers.cc_write
        self.const, self.const_pair = constants.const, constants.const_pair
        self.const_load = constants.const_load
        self.sreg, self.sreg_coupled = special.sreg, special.sreg_coupled
        # Masks.
        self.mask, self.true, self.false = ints.mask, ints.true, ints.false
        self.mand, self.mor, self.mxor, self.mnot = ints.mand, ints.mor, ints.mxor, ints.mnot
        self.mselect, self.bit, self.from_mask = ints.mselect, ints.bit, ints.from_mask
        # Integers; what changes a sign bit may be an operation on floats.
        self.add, self.sub, self.mul = ints.add, ints.sub, ints.mul
        self.and_, self.or_, self.xor, self.not_ = floats.and_, ints.or_, floats.xor, ints.not_
        self.shl, self.shr, self.sar = ints.shl, ints.shr, ints.sar
        self.select, self.popc, self.clz, self.brev = ints.select, ints.popc, ints.clz, ints.brev
        self.eq, self.ult, self.slt = ints.eq, ints.ult, ints.slt
        self.wide, self.lo, self.hi = ints.wide, ints.lo, ints.hi
        self.zext, self.sext = ints.zext, ints.sext
        self.wadd, self.wsub, self.wmul = ints.wadd, ints.wsub, ints.wmul
        self.wand, self.wor, self.wxor, self.wnot = floats.wand, ints.wor, floats.wxor, ints.wnot
        self.wshl, self.wshr, self.wsar = ints.wshl, ints.wshr, ints.wsar
        self.weq, self.wult, self.wslt = ints.weq, ints.wult, ints.wslt
        self.wselect, self.lane_id, self.ballot = ints.wselect, ints.lane_id, ints.ballot
        # Floating point.
        self.fadd, self.fmul, self.ffma, self.ftz = (
            floats.fadd,
            floats.fmul,
            floats.ffma,
            floats.ftz,
        )
        self.flt, self.feq, self.fnan = floats.flt, floats.feq, floats.fnan
        self.fround, self.mufu = floats.fround, reciprocals.mufu
        halves = conversions.halves
        self.dadd, self.dmul, self.dfma = halves.dadd, halves.dmul, doubles.dfma
        self.dlt, self.deq, self.dnan = conversions.dlt, conversions.deq, conversions.dnan
        self.dround = conversions.dround
        self.f32_to_f64, self.f64_to_f32 = conversions.f32_to_f64, conversions.f64_to_f32
        self.f16_to_f64, self.f64_to_f16 = conversions.f16_to_f64, conversions.f64_to_f16
        self.int_to_f64, self.int_to_f32 = conversions.int_to_f64, conversions.int_to_f32
        self.f64_to_int = conversions.f64_to_int
        # Memory and control.
        self.lane_read = shuffles.lane_read
        self.load, self.store, self.atomic = accesses.load, accesses.store, accesses.atomic
        self.fence, self.in_window = accesses.fence, library.in_window
        self.branch, self.exit = flow.branch, flow.exit
        self.barrier, self.barrier_result = flow.barrier, flow.barrier_result
        if isinstance(flow, KernelFlow):
            self.push, self.pop, self.call = flow.push, flow.pop, flow.call
        else:
            self._groups(flow, registers, accesses, library, tensors, copies)

    def _groups(
        self,
        flow: GroupFlow,
        registers: Registers,
        accesses: Accesses,
        library: LibraryAccess,
        tensors: Tensors,
        copies: Copies,
    ) -> None:
        """Bind the operations that only the 128-bit instruction sets have."""

    def pc(self) -> int:
        """The address of the present instruction."""
        return self._cursor.pc

    def next_pc(self) -> int:
        """The address of the instruction after it."""
        return self._cursor.next_pc

    def lanes(self) -> Mask:
        """The executing lanes."""
        return self._cursor.exec

    def active(self) -> Mask:
        """The active lanes."""
        return self._cursor.active

    # ---- what has no compiled version ------------------------------------------------------

    def quad_activate(self, on: bool) -> None:
        """Left to the step engine."""
        raise Slow("SAM and RAM")

    def system(self, name: str, **arguments: Any) -> Any:
        """Left to the step engine."""
        raise Slow(f"system instruction {name}")

    def surface(self, name: str, i: Any) -> None:
        """Left to the step engine."""
        raise Slow("textures and surfaces")

    def gap(self, what: str) -> NoReturn:
        """Bail out: the step engine raises it."""
        raise Slow(what)

    def warp_error(self, code: str, lanes: Mask | None = None, detail: str = "") -> NoReturn:
        """Left to the step engine."""
        raise Slow(code)


class WideKernelMachine(KernelMachine):
    """The machine interface for semantics of the 128-bit instruction sets (`WideMachine`)."""

    def _groups(
        self,
        flow: GroupFlow,
        registers: Registers,
        accesses: Accesses,
        library: LibraryAccess,
        tensors: Tensors,
        copies: Copies,
    ) -> None:
        uniform = registers.uniform
        self.ureg, self.ureg_write = uniform.ureg, uniform.ureg_write
        self.upred, self.upred_write = uniform.upred, uniform.upred_write
        self.open_barrier, self.converge = flow.open_barrier, flow.converge
        self.leave_barrier, self.synchronize = flow.leave_barrier, flow.synchronize
        self.yield_turn, self.barrier_mask = flow.yield_turn, flow.barrier_mask
        self.set_barrier = flow.set_barrier
        self.in_shared, self.in_own_shared = library.in_shared, library.in_own_shared
        self._accesses, self._library = accesses, library
        self.load_rows, self.matrix_multiply = tensors.load_rows, tensors.matrix_multiply
        self.load_matrices, self.store_matrices = tensors.load_matrices, tensors.store_matrices
        self.warpgroup_multiply = tensors.warpgroup_multiply
        self._outside_windows, self.atomic = library.outside_windows, self._atomic
        self.poll, self.bulk_copy = flow.poll, copies.bulk_copy
        self.tensor_load, self.tensor_store = copies.tensor_load, copies.tensor_store
        self.cluster_arrive, self.cluster_wait = flow.cluster_arrive, flow.cluster_wait

    def ureg_pair(self, index: int) -> Any:
        """A pair of uniform registers."""
        return 0 if index == RZ else self.wide(self.ureg(index), self.ureg(index + 1))

    @contextmanager
    def only(self, mask: Mask) -> Iterator[None]:
        """Context: the executing lanes are those of a mask alone."""
        cursor = self._cursor
        kept = cursor.exec, cursor.guarded
        cursor.exec = self.mand(cursor.exec, mask)
        cursor.guarded = True
        try:
            yield
        finally:
            cursor.exec, cursor.guarded = kept

    def _atomic(
        self, space: str, op: str, type_: str, address: Any, operands: Sequence[Any]
    ) -> Any:
        """Emit an atomic; while it is observed a generic one outside global memory is left to the
        step engine."""
        if space == "generic" and self._library.observed:
            self._outside_windows(address)
            space = "global"
        if op == "ARRIVE":
            self._library.note_mbarriers(address, 2)
        return self._accesses.atomic(space, op, type_, address, operands)

    def vector_atomic(
        self, space: str, op: str, type_: str, address: Num, words: Sequence[Num],
        compare: Sequence[Num] = (),
    ) -> list[Num]:  # fmt: skip
        """Emit an atomic on each element, after a look at all of them: none may have been done
        where one cannot be."""
        if compare or space != "global" or self._library.observed:
            raise Slow("an atomic on several words at once")
        self._library.load(space, address, 4 * len(words), False)
        places = [self.wadd(address, 4 * n) if n else address for n in range(len(words))]
        atomic = self._accesses.atomic
        pairs = zip(places, words, strict=True)
        return [atomic(space, op, type_, place, [word]) for place, word in pairs]

    # ---- mbarriers -------------------------------------------------------------------------

    def mbarrier_passed(self, address: Num, wanted: Num) -> Mask:
        """Lanes in which the phase named by bit 31 of `wanted` is over."""
        _, high = self._accesses.load("shared", address, 8, False)
        return self.mnot(self.eq(self.shr(self.xor(high, self.not_(wanted)), 31), 1))

    def mbarrier_arrive(
        self, address: Num, arrivals: Num, transactions: Num, *,
        drops: bool = False, remote: bool = False, together: bool = False,
    ) -> tuple[Num, Num]:  # fmt: skip
        """Emit arrivals at the block's own mbarriers; leaves for another block's."""
        if together:
            raise Slow("arrivals of a mask of threads")
        op, library = "MBARRIER_DROP" if drops else "MBARRIER", self._library
        space = "shared"
        if remote and library.rank.clustered:
            space = "shared" if library.observed else "cluster"
            address = library.inside_cluster(address) if library.observed else address
        change = self.wide(arrivals, transactions)
        old = self._accesses.atomic(space, op, "U64", address, [change])
        return self.lo(old), self.hi(old)

    def mbarrier_begin(self, address: Num, word: Num) -> Num:
        """Emit the beginning of mbarriers."""
        self._library.note_mbarriers(self._library.rank.own(address), 0)
        return self._accesses.atomic("shared", "EXCH", "U64", address, [word])

    def mbarrier_end(self, address: Num) -> None:
        """Emit the end of mbarriers, which says only where there are none any more."""
        self._library.note_mbarriers(address, 1)

    # ---- stores that count on an mbarrier --------------------------------------------------

    def remote_store(self, address: Num, barrier: Num, words: Sequence[Num]) -> None:
        """Emit stores to the cluster's shared memory; they may be done again by the step engine,
        which then finds what is wrong with the mbarrier."""
        self._only_unobserved("what observers want to know of the cluster")
        self._library.store("cluster", address, 4 * len(words), words)
        self._library.marks.noted = False
        self._library.mark("cluster", address, 4 * len(words), self.lanes())
        self._count_down(barrier, 4 * len(words))

    def remote_reduce(
        self, address: Num, barrier: Num, op: str, type_: str, value: Num
    ) -> None:  # fmt: skip
        """Emit atomics on the cluster's shared memory, after a look at the mbarriers."""
        self._only_unobserved("what observers want to know of the cluster")
        self._library.load("cluster", barrier, 8, False)
        self._accesses.atomic("cluster", op, type_, address, [value])
        self._count_down(barrier, 8 if type_ in ("U64", "S64") else 4)

    def _only_unobserved(self, what: str) -> None:
        if self._library.observed:
            raise Slow(what)

    def _count_down(self, barrier: Num, size: int) -> None:
        """Count arrived bytes on mbarriers of the cluster."""
        change = self.wide(0, -size & 0xFFFF_FFFF)
        self._accesses.atomic("cluster", "MBARRIER", "U64", barrier, [change])

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Raise `Slow` for operations without a compiled version."""
        if name.startswith("_"):
            raise AttributeError(name)

        def leave(*given: object, **named: object) -> Any:
            raise Slow(name)

        return leave
