"""The machine interface: what an instruction's meaning is written against.

Each mnemonic's semantics is one function `(m: Machine, i: Instruction) -> None`, written once.
A `Machine` is a backend: the step engine evaluates every operation at once with NumPy, the run
engine emits LLVM IR for it.  Semantics therefore never look inside a value, never branch on
lane data and never loop over lanes; Python `if`s test the *instruction* (its operands and
modifiers) only.

Values
    `Value`  32 lanes of 32 bits.  Signedness, f32 and f16 are meanings given by operations.
    `Wide`   32 lanes of 64 bits (u64, s64, f64 bits).
    `Mask`   32 lanes of bool.
A Python int is accepted wherever a Value (taken mod 2**32) or Wide (mod 2**64) is read: it is
the same number in all lanes.

Execution mask
    `reg_write`, `pred_write`, `cc_write`, stores, atomics and control operations act on the
    lanes of `lanes()` only: active lanes whose guard holds.  Semantics never apply it to data.
    All other operations compute in all lanes.

Order
    A semantics function reads every source before it writes any destination.  An operation
    that can fault (load, store, atomic, checks) comes before the first write, so that a fault
    leaves the instruction without effect.

Floating point
    Operations take and return bit patterns.  Rounding is one of RN RM RP RZ.  f32 results that
    are NaN are 0x7fffffff; f64 results keep the first NaN operand's payload, quieted, own NaN
    0xfff8000000000000.  Nothing flushes unless `ftz` is called.  Source for every rule:
    the semantics notes named in `gpudbg/sm/semantics/__init__.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from gpudbg.sm.fragments import Multiplication


class Lanes32:
    """32 lanes of 32 bits, held by a backend; semantics cannot inspect it."""

    __slots__ = ()


class Lanes64:
    """32 lanes of 64 bits, held by a backend; semantics cannot inspect it."""

    __slots__ = ()


class Mask:
    """32 lanes of bool, held by a backend; semantics cannot inspect it."""

    __slots__ = ()


Value: TypeAlias = Lanes32 | int
Wide: TypeAlias = Lanes64 | int

V = TypeVar("V")
W = TypeVar("W")
M = TypeVar("M")

Rounding = Literal["RN", "RM", "RP", "RZ"]
Flag = Literal["Z", "S", "C", "O", "K"]
"""Condition-code flags; K is the hidden high bit of IADD3's two-bit carry."""

Space = Literal["global", "shared", "local", "generic"]
TokenKind = Literal["SSY", "PBK", "PCNT", "RET", "PLONGJMP", "PEXIT"]
"""Divergence-stack tokens: pushed by SSY PBK PCNT PRET/CAL PLONGJMP PEXIT."""


class Operations(Protocol[V, W, M]):
    """One warp executing one instruction, as a set of operations on 32-lane values."""

    # ---- state -------------------------------------------------------------------------
    def reg(self, index: int) -> V:
        """Register R`index`; 255 (RZ) reads 0.  Out of range: OOR_REG error."""

    def reg_pair(self, index: int) -> W:
        """R`index` (low) and R`index+1` (high); RZ reads 0.  Odd index: MISALIGNED_REG error."""

    def reg_write(self, index: int, value: V) -> None:
        """Write R`index` in the executing lanes; RZ discards."""

    def reg_pair_write(self, index: int, value: W) -> None:
        """Write the pair in the executing lanes; RZ discards."""

    def pred(self, index: int) -> M:
        """Predicate P`index`; 7 (PT) is true."""

    def pred_write(self, index: int, value: M) -> None:
        """Write P`index` in the executing lanes; PT discards."""

    def cc_read(self, flag: Flag) -> M:
        """One flag of the condition code."""

    def cc_write(self, flag: Flag, value: M) -> None:
        """Write one flag in the executing lanes."""

    def const(self, bank: int, offset: int) -> V:
        """The 32-bit word c[bank][offset] (a uniform operand of an ALU instruction)."""

    def const_pair(self, bank: int, offset: int) -> W:
        """The 64-bit word c[bank][offset]."""

    def const_load(self, bank: V, offset: V, size: int, signed: bool) -> Sequence[V]:
        """LDC: `size` bytes (1 2 4 8 16) per lane, bank and offset per lane; see `load`."""

    def sreg(self, index: int) -> V:
        """Special register SR`index` as S2R reads it."""

    def sreg_coupled(self, index: int) -> V:
        """Special register SR`index` as CS2R reads it (0 where not coupled)."""

    def lane_id(self) -> V:
        """0..31."""

    def lanes(self) -> M:
        """The executing lanes: active and guard true."""

    def active(self) -> M:
        """The active lanes, guard not considered."""

    # ---- masks -------------------------------------------------------------------------
    def mask(self, bits: int) -> M:
        """A constant mask: lane n is bit n of `bits`."""

    def true(self) -> M: ...
    def false(self) -> M: ...
    def mand(self, a: M, b: M) -> M: ...
    def mor(self, a: M, b: M) -> M: ...
    def mxor(self, a: M, b: M) -> M: ...
    def mnot(self, a: M) -> M: ...
    def mselect(self, c: M, a: M, b: M) -> M: ...

    def bit(self, a: V, n: int) -> M:
        """Bit `n` of each lane as a mask."""

    def from_mask(self, a: M) -> V:
        """1 where true, 0 where false."""

    # ---- 32-bit integers ---------------------------------------------------------------
    def add(self, a: V, b: V) -> V: ...
    def sub(self, a: V, b: V) -> V: ...
    def mul(self, a: V, b: V) -> V:
        """Low 32 bits of the product."""

    def and_(self, a: V, b: V) -> V: ...
    def or_(self, a: V, b: V) -> V: ...
    def xor(self, a: V, b: V) -> V: ...
    def not_(self, a: V) -> V: ...
    def shl(self, a: V, n: V) -> V:
        """n is unsigned; n >= 32 gives 0."""

    def shr(self, a: V, n: V) -> V:
        """Logical; n >= 32 gives 0."""

    def sar(self, a: V, n: V) -> V:
        """Arithmetic; n >= 32 gives the sign."""

    def select(self, c: M, a: V, b: V) -> V:
        """a where c, else b."""

    def popc(self, a: V) -> V: ...
    def clz(self, a: V) -> V:
        """Leading zeros; 32 for 0."""

    def brev(self, a: V) -> V:
        """Bits reversed."""

    def eq(self, a: V, b: V) -> M: ...
    def ult(self, a: V, b: V) -> M: ...
    def slt(self, a: V, b: V) -> M: ...

    # ---- 64-bit integers ---------------------------------------------------------------
    def wide(self, lo: V, hi: V) -> W: ...
    def lo(self, w: W) -> V: ...
    def hi(self, w: W) -> V: ...
    def zext(self, a: V) -> W: ...
    def sext(self, a: V) -> W: ...
    def wadd(self, a: W, b: W) -> W: ...
    def wsub(self, a: W, b: W) -> W: ...
    def wmul(self, a: W, b: W) -> W:
        """Low 64 bits of the product (exact for two zext or two sext operands)."""

    def wand(self, a: W, b: W) -> W: ...
    def wor(self, a: W, b: W) -> W: ...
    def wxor(self, a: W, b: W) -> W: ...
    def wnot(self, a: W) -> W: ...
    def wshl(self, a: W, n: V) -> W:
        """n is an unsigned Value; n >= 64 gives 0."""

    def wshr(self, a: W, n: V) -> W: ...
    def wsar(self, a: W, n: V) -> W: ...
    def weq(self, a: W, b: W) -> M: ...
    def wult(self, a: W, b: W) -> M: ...
    def wslt(self, a: W, b: W) -> M: ...
    def wselect(self, c: M, a: W, b: W) -> W: ...

    # ---- floating point ----------------------------------------------------------------
    def fadd(self, a: V, b: V, rnd: Rounding = "RN") -> V: ...
    def fmul(self, a: V, b: V, rnd: Rounding = "RN", flush: bool = False) -> V:
        """`flush` (`.FTZ`): a result that is tiny after rounding becomes zero of its sign.

        Tiny: below 2**-126 when rounded to 24 bits as if the exponent had no lower limit.  That
        differs from `ftz` of the rounded result where rounding to a subnormal would give
        2**-126.  A sum of two f32 is exact there, so `fadd` needs no such operand.
        """

    def ffma(self, a: V, b: V, c: V, rnd: Rounding = "RN", flush: bool = False) -> V:
        """One rounding; `flush` as in `fmul`."""

    def ftz(self, a: V) -> V:
        """f32 subnormals to zero of the same sign; everything else unchanged."""

    def flt(self, a: V, b: V) -> M:
        """Ordered less-than; false on NaN."""

    def feq(self, a: V, b: V) -> M:
        """Ordered equal; false on NaN, +0 equals -0."""

    def fnan(self, a: V) -> M: ...
    def fround(self, a: V, mode: Rounding) -> V:
        """To an integral f32 (RN ties to even, RM floor, RP ceil, RZ trunc); sign of zero kept."""

    def mufu(self, function: str, a: V) -> V:
        """RCP RSQ SQRT LG2 EX2 SIN COS RCP64H RSQ64H on already modified operands; *modelled*.

        SIN_TURNS and COS_TURNS take turns, not radians; TANH: these from sm_70 on.
        """

    def dadd(self, a: W, b: W, rnd: Rounding = "RN") -> W: ...
    def dmul(self, a: W, b: W, rnd: Rounding = "RN") -> W: ...
    def dfma(self, a: W, b: W, c: W, rnd: Rounding = "RN") -> W: ...
    def dlt(self, a: W, b: W) -> M: ...
    def deq(self, a: W, b: W) -> M: ...
    def dnan(self, a: W) -> M: ...
    def dround(self, a: W, mode: Rounding) -> W: ...

    def f32_to_f64(self, a: V) -> W:
        """Exact; NaN payload kept in the high bits, quieted."""

    def f64_to_f32(self, a: W, rnd: Rounding, flush: bool = False) -> V:
        """NaN gives 0x7fffffff; `flush` as in `fmul`."""

    def f16_to_f64(self, a: V) -> W:
        """The low 16 bits as f16, exact."""

    def f64_to_f16(self, a: W, rnd: Rounding) -> V:
        """f16 bits in 15..0, zero above; NaN gives 0x7fff.  One rounding."""

    def int_to_f64(self, a: W, signed: bool, rnd: Rounding) -> W: ...
    def int_to_f32(self, a: W, signed: bool, rnd: Rounding) -> V:
        """From a 64-bit integer with one rounding."""

    def f64_to_int(self, a: W, signed: bool, bits: int) -> W:
        """An integral f64 saturated to a `bits`-wide integer, sign- or zero-extended; NaN 0."""

    # ---- across lanes ------------------------------------------------------------------
    def lane_read(self, a: V, lane: V) -> V:
        """For each lane the value `a` has in lane `lane & 31` (any lane, active or not)."""

    def ballot(self, c: M) -> V:
        """Uniform: bit n is lane n of `c`."""

    # ---- memory ------------------------------------------------------------------------
    def load(self, space: Space, address: W | V, size: int, signed: bool) -> Sequence[V]:
        """`size` bytes (1 2 4 8 16 32) per executing lane: 1, 1, 1, 2, 4 or 8 Values, ascending.

        1 and 2 byte values are extended.  Address is a Wide for global and generic, a Value for
        shared and local.  Lanes that do not execute get 0.  Errors: OOR_ADDR, MISALIGNED_ADDR,
        MMU_FAULT; then nothing is written.
        """

    def store(self, space: Space, address: W | V, size: int, values: Sequence[V]) -> None:
        """Counterpart of `load`; lanes write in ascending order, the highest lane wins."""

    def fence(self, block: bool) -> None:
        """Accesses before it come before those after it, for every thread of the GPU or, with
        `block`, of the block."""

    def atomic(
        self,
        space: Space,
        op: str,
        type_: str,
        address: W | V,
        operands: Sequence[V | W],
    ) -> V | W:
        """Read-modify-write per executing lane in ascending lane order; returns old values.

        `op` is ADD MIN MAX INC DEC AND OR XOR EXCH CAS; `type_` U32 S32 U64 S64 F32 F16x2 F64,
        from sm_90 on BF16x2 and F32_DENORMAL, too.
        CAS takes (compare, swap).  64-bit types take and return Wide, others Value.
        F32 ADD flushes subnormal inputs and results, F32_DENORMAL does not.  Unsupported
        spaces: INVALID_ADDR_SPACE.
        """

    def in_window(self, address: W) -> M:
        """Lanes whose generic address lies in the shared or the local window."""

    # ---- control -----------------------------------------------------------------------
    def pc(self) -> int:
        """Address of this instruction."""

    def next_pc(self) -> int:
        """Address of the instruction after this one."""

    def branch(self, mask: M, target: int | V | W) -> None:
        """Lanes of `mask` (within the executing lanes) go to `target`, the others fall through."""

    def push(self, kind: TokenKind, target: int | V) -> None:
        """Push a divergence-stack token for the active lanes; a Value target is uniform."""

    def pop(self, kind: TokenKind, mask: M) -> None:
        """SYNC BRK CONT RET LONGJMP for the lanes of `mask`: wait for or take the token."""

    def call(self, target: int | V) -> None:
        """Push (RET, active, next_pc) and go to `target`."""

    def exit(self, mask: M) -> None:
        """End the lanes of `mask`, or send them to the target of a PEXIT token."""

    def quad_activate(self, on: bool) -> None:
        """SAM (True): activate every lane of each quad with an active lane; RAM: restore."""

    def barrier(
        self, mode: str, barrier_id: V, count: V | None, reduce_op: str, pred: M | None
    ) -> None:
        """BAR: mode SYNC ARV RED; count in threads, None or 0 for all; results by B2R.

        `barrier_id` and `count` are taken from the lowest executing lane.
        """

    def barrier_result(self) -> tuple[V, M]:
        """B2R.RESULT: (popc, and/or) of this warp's last BAR.RED."""

    # ---- system ------------------------------------------------------------------------
    def system(self, name: str, **arguments: Any) -> V | None:
        """BPT RTT IDE GETCRSPTR ... : the trap path; arguments by name, result where one exists."""

    def surface(self, name: str, i: Any) -> None:
        """Texture and surface instructions: handed whole to the surface unit."""

    def gap(self, what: str) -> NoReturn:
        """Stop: this instruction has no semantics (raises ModelGap with name, pc and word)."""

    def warp_error(self, code: str, lanes: M | None = None, detail: str = "") -> NoReturn:
        """Raise a warp error by name (ILLEGAL_INSTR_PARAM, ...) and abandon the instruction."""


class WideOperations(Operations[V, W, M], Protocol[V, W, M]):
    """What the instructions of sm_70 and later need besides."""

    def only(self, mask: M) -> AbstractContextManager[None]:
        """Within it the executing lanes are those of `mask` alone: for accesses of some lanes."""

    def in_shared(self, address: W) -> M:
        """Lanes whose generic address lies in the shared window."""

    def vector_atomic(
        self, space: Space, op: str, type_: str, address: W | V, words: Sequence[V],
        compare: Sequence[V] = (),
    ) -> Sequence[V]:  # fmt: skip
        """Read-modify-write of 8 or 16 bytes as 32-bit words, each of one element of `type_` (F32,
        F16x2, BF16x2; with EXCH and CAS the words are one element); returns the old words."""

    def ureg(self, index: int) -> V:
        """Uniform register UR`index`, one value for all lanes; 255 (URZ) reads 0."""

    def ureg_pair(self, index: int) -> W:
        """UR`index` (low) and the next one."""

    def ureg_write(self, index: int, value: V) -> None:
        """Write a uniform register with the value of the lowest executing lane."""

    def upred(self, index: int) -> M:
        """Uniform predicate UP`index`."""

    def upred_write(self, index: int, value: M) -> None:
        """Write a uniform predicate with the value of the lowest executing lane."""

    def open_barrier(self, number: int) -> None:
        """BSSY: the executing lanes will wait for one another at BSYNC of this barrier."""

    def converge(self, number: int, mask: M) -> None:
        """BSYNC of the lanes of `mask`."""

    def leave_barrier(self, number: int, mask: M) -> None:
        """BREAK of the lanes of `mask`."""

    def barrier_mask(self, number: int, clear: bool, keep: bool) -> V:
        """BMOV Rd, Bn; `clear` empties it, `keep` if what it held may be restored."""

    def bindless_load(self, handle: W, offset: V, size: int, signed: bool) -> Sequence[V]:
        """As `const_load`, of a bank that lies where a descriptor says."""

    def set_barrier(self, number: int, value: V) -> None:
        """BMOV Bn, R: what was saved with that mask."""

    def return_pc(self, half: int) -> V:
        """Rpc.LO or, with 1, Rpc.HI."""

    def return_pc_write(self, half: int, value: V) -> None:
        """Write Rpc.LO or Rpc.HI of the executing lanes."""

    def synchronize(self, value: V, mask: M, exclusive: bool) -> None:
        """WARPSYNC of the lanes of `mask`, which wait for the lanes of their `value`."""

    def yield_turn(self, mask: M) -> None:
        """YIELD: other groups of lanes may run before those of `mask`."""

    def matrix_multiply(self, i: Any, shape: Multiplication, accumulates: M) -> None:
        """D = A * B + C of fragments that the whole warp holds; `shape` says how they lie.

        Args:
            accumulates: C counts; else it is zero.
        """

    def warpgroup_multiply(
        self, i: Any, descriptors: tuple[W, W], negative: tuple[bool, bool],
        across: tuple[bool, bool], accumulates: M,
    ) -> None:  # fmt: skip
        """D = A * B + C of a warp group, the rows of this warp; A and B in shared memory by
        descriptors, unless A is in registers.

        Args:
            negative: every element of A, of B, is negated.
            across: rows of A, columns of B are side by side in memory, not k.
            accumulates: C counts; else it is zero.
        """

    def in_own_shared(self, address: W) -> M:
        """Lanes whose generic address lies in the CTA's own shared memory."""

    def mbarrier_begin(self, address: V, word: W) -> W:
        """The word of an mbarrier in the CTA's memory is set; returns the old one."""

    def mbarrier_end(self, address: V) -> None:
        """There is no mbarrier any more; its word stays as it is."""

    def mbarrier_arrive(
        self, address: V, arrivals: V, transactions: V, *,
        drops: bool = False, remote: bool = False, together: bool = False,
    ) -> tuple[V, V]:  # fmt: skip
        """Arrivals at mbarriers of shared memory, in ascending lane order.

        Args:
            transactions: bytes added to those that are to come, before the arrival; signed.
            drops: later phases expect the arriving threads no more.
            remote: the address is one of the cluster; else of the CTA's own memory.
            together: the old state of all lanes with the same address is that before the first.

        Returns:
            The old word of each lane, low and high; with `together` the mask of the lanes with the
            same address and the old high word.
        """

    def mbarrier_passed(self, address: V, wanted: V) -> M:
        """Lanes in which the phase of the mbarrier that bit 31 of `wanted` names is over."""

    def poll(self, passed: M, write: Callable[[M], None]) -> None:
        """The end of an instruction that says which lanes need not wait: its result is written;
        unless all that execute need not, others run before the warp goes on behind it."""

    def bulk_copy(
        self, route: tuple[str, str], target: W, barrier: V, source: W, size: V,
        multicast: bool = False, reduce: tuple[str, str] | None = None, masked: bool = False,
    ) -> None:  # fmt: skip
        """A bulk copy, once, with the values of the lowest executing lane.

        Args:
            route: where to and from: "G" global memory, "S" shared memory.
            target, source: addresses.
            barrier: address of the mbarrier that counts the bytes; of no use for a target in
                global memory.
            size: sixteenths of the bytes in the low half, CTAs of a multicast in the high half.
            reduce: operation and type, as of atomics, where elements are combined.
            masked: the high half says which bytes of each sixteen are written.
        """

    def tensor_load(
        self, place: W, target: V, barrier: V, corner: Sequence[V],
        shift: Sequence[V] | None, mask: V | None, rows: bool = False,
    ) -> None:  # fmt: skip
        """A box of a tensor to shared memory, once.

        Args:
            place: address of the tensor map.
            corner: coordinates, innermost first.
            shift: offsets of an im2col copy.
            mask: CTAs of a multicast in the high half.
            rows: coordinates are a column and rows, of which the copy takes parts.
        """

    def tensor_store(
        self, place: W, source: V, corner: Sequence[V], columns: bool,
        reduce: str | None = None, rows: bool = False,
    ) -> None:  # fmt: skip
        """A box of a tensor from shared memory; `columns`: as im2col has it; `rows`: see
        `tensor_load`."""

    def shared_zeros(self, address: V, size: V) -> None:
        """Zeros in shared memory, once."""

    def refuse_work(self, address: V, barrier: V) -> None:
        """An answer of 16 bytes, counted on an mbarrier: no block's work is handed over."""

    def remote_store(self, address: V, barrier: V, words: Sequence[V]) -> None:
        """A store to the cluster's shared memory, counted on an mbarrier."""

    def remote_reduce(self, address: V, barrier: V, op: str, type_: str, value: V | W) -> None:
        """A reduction there."""

    def cluster_arrive(self) -> None:
        """UCGABAR_ARV: the warp arrives at the barrier of its cluster."""

    def cluster_wait(self) -> None:
        """UCGABAR_WAIT: wait until all its warps have arrived."""

    def load_rows(self, address: V, count: int) -> list[V]:
        """16 bytes of shared memory for each of the first `count` lanes, as four words; all lanes
        are there, and the others give no address."""

    def load_matrices(self, address: V, count: int) -> Sequence[V]:
        """Matrices of eight rows of 16 bytes: lane 8n + g gives the address of row g of the nth,
        lane 4g + t gets its word t."""

    def store_matrices(self, address: V, registers: Sequence[V]) -> None:
        """Write up to four such matrices."""


Machine: TypeAlias = Operations[Value, Wide, Mask]
"""A backend as semantics see it: no value of its own is an int, a mask or another width."""
WideMachine: TypeAlias = WideOperations[Value, Wide, Mask]
"""The machine interface of sm_70 and later, with the types of `Machine`."""
