"""Layout of the memory that compiled code and the engine share beside the warp records.

The environment is one byte buffer for each thread that runs compiled code: pointers, the launch's
sizes, constant banks, addresses of library functions, and scratch rows through which vectors are
passed to them.  Offsets are bytes.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from gpudbg.sm.engines.llvm.outlined import OUTLINED

VERSION: Final = "9"
"""Of generated code; part of the key of cached objects."""

# ---- environment ---------------------------------------------------------------------------

STOP: Final = 0x00
"""i64: not 0 asks the grid loop to return."""
TABLE: Final = 0x08
"""ptr: allocations by base, a row of `DeviceMemory.table` each."""
TABLE_COUNT: Final = 0x10
SITES: Final = 0x18
"""ptr: one cache entry for each global access of the program, see `SITE_BYTES`."""
MARKS: Final = 0x20
"""ptr: one byte for each basic block; not 0: leave before it."""
FULL_CODE: Final = 0x28
"""ptr: the function for warps whose 32 lanes are all active."""
MASKED_CODE: Final = 0x30
"""ptr: the function for any mask; null until it is needed."""
SHARED_WINDOW: Final = 0x38
SHARED_BYTES: Final = 0x40
LOCAL_LOW: Final = 0x48
LOCAL_START: Final = 0x50
LOCAL_BYTES: Final = 0x58
LOOP: Final = 0x60
"""First byte of the grid loop's fields (`gpudbg.sm.schedule.compiled`)."""
BANKS: Final = 0x140
"""(host pointer, bytes) of each constant bank."""
TRACE: Final = 0x280
"""ptr: rows of executed instructions (`gpudbg.sm.trace`); null without an observer."""
ACCESSES: Final = 0x268
"""ptr: rows of accesses (`gpudbg.sm.trace`); null without an observer."""
ORDERED: Final = 0x288
"""ptr: rows of accesses, fences and barriers (`gpudbg.sm.trace`); null without an observer."""
NEAR_ORDERED: Final = 0x290
"""ptr: rows as in `ORDERED`, without accesses to global memory."""
WATCHED: Final = 0x298
"""ptr: the numbers of what accesses and registers are tested for (`kernel.watch_tests`)."""
TRACES: Final = {
    "instructions": TRACE,
    "accesses": ACCESSES,
    "ordered": ORDERED,
    "near_ordered": NEAR_ORDERED,
}
"""Kind of rows -> offset of the pointer to its buffer."""
DRAIN: Final = 0x2A0
"""ptr: a function `i1 (context, rows)` that reads and empties a full trace; null: Python does."""
DRAIN_CONTEXT: Final = 0x2A8
DRAIN_ROWS: Final = 0x2B0
"""ptr: the trace it reads."""
COMPLETE: Final = 0x2C8
"""ptr: makes the registers of a warp that has ended, where the code left that
(`kernel.final_state`); null: it leaves nothing."""
SLOT, SLOT_END, ROOM, ROOM_BEFORE = range(0x2F0, 0x310, 8)
"""ptr: the ring slot of the warp whose turn it is, and the one behind the last of its block, or
null where code must not go from a warp to the next one by itself; i64: instructions until the turn
goes elsewhere than to the next warp of the block or the call ends; none after Python has given the
turn to the present warp; the same when the loop's `total`, and what is counted as issued on the SM,
were written: code that goes from warp to warp leaves them as they are."""
SLOT_SURE, SUCCEED = 0x310, 0x318
"""ptr: a ring slot of the block: the warps after the present one and before it begin one after the
other, whole, in a block that begins in this call, and nobody wants to know, so that code goes from
one that ends to the next untested; null: none.  ptr: the function that begins a block in the place
of one that ends (`residency.compiled`)."""
PHASE_LAST, PHASE_FIRST, PHASE_CODE, PHASE_BARRIER = range(0x320, 0x340, 8)
"""ptr: slot of a warp of the block: those after the present one up to it, in a circle, have not had
a turn since a barrier let all warps of the block go, whole and at one place, within this call of a
kernel's function; ptr: slot of the block's first warp; ptr: the code at that place; i64: the
barrier.  The last three mean nothing where the first is the slot of the present warp."""
PHASE_SURE: Final = 0x340
"""ptr: slot of the last warp that a barrier has let go as above, where each of them before the
present one has come to the next barrier, within this call and without a test; else null."""
SHARED_MARKS: Final = 0x270
"""i64: bytes from shared memory to the marks of what has been written there (`gpudbg.sm.written`);
0: the code marks nothing."""
LOCAL_MARKS: Final = 0x278
"""i64: bytes from a warp's local memory to its marks; 0: the code marks nothing."""
MARKED_STORE: Final = "store_marked"
"""Begins the names of functions of the library that store and mark what they store."""
MARKED: Final = 0x2D0
"""i64: number of a CTA all of whose shared memory is marked, -1: none is known to be.  Beside it
`MARKING`: that of one whose first `MARKED_TO` bytes are.  They are known during one call of the
grid loop, for between calls others may take marks away."""
MARKING: Final = 0x2D8
MARKED_TO: Final = 0x2E0
WHY: Final = 0x260
"""i32: why code is about to return, while it stores what it leaves."""
WIDE: Final = 0x2E8
"""i64: not 0: lanes have pcs of their own (`gpudbg.sm.convergence`)."""
FUNCTIONS: Final = 0x400
SCRATCH: Final = 0x1800
ROW: Final = 256
"""Bytes of a scratch row: 32 lanes of 64 bits."""
SCRATCH_ROWS: Final = 32
ZERO: Final = SCRATCH + SCRATCH_ROWS * ROW
"""A row that is always zero."""
ENVIRONMENT_BYTES: Final = ZERO + ROW

TABLE_ROW: Final = 40

SITE_BYTES: Final = 192
"""A site: base of a window of an allocation (all of it, if no multiple of 4 GiB lies inside), its
bytes, host pointer of its first byte, and:"""
SITE_WHOLE: Final = 64
"""The same three of the allocation."""
SITE_MARKS: Final = 88
"""i64: bytes from the allocation to its marks; 0: it has none."""
SITE_LAST, SITE_STEP, SITE_STRIDE = 24, 32, 40
"""i64: host address of the last access of a whole warp, bytes from the one before to it, and the
last such number that came twice in a row."""
SITE_WRITES: Final = 48
"""i64: not 0: the access writes to what it finds here, or one that relies on it."""

SITE_APART: Final = 56
"""i64: bytes from the window to its place in the host's memory."""
SITE_ROOMS: Final = tuple(range(96, 192, 8))
"""i64 each, of an access, or a copy of one: at how many places of the window, from its first byte
and a whole element apart, may all begin that is tested at once (`kernel.sure_ranges`); 0: unknown.
"""

# ---- the grid loop ---------------------------------------------------------------------------

# Environment fields of the loop, i64 each.  `next` points to the number of the next CTA, which all
# threads share; `ctas`: the number at which that count ends for now; `tell`: Python wants to know
# of every warp that ends; `epoch`: a number for the time since somebody else may have written to
# local memory; `before`: instructions of the launch at the call; from `own` before `own_end`:
# numbers of CTAs that this thread has taken for itself, one of `spread` that wait, but at most
# `chunk` at a time, or 0: no other thread takes any; `wipe`: warps hold something where no code
# writes; `local_bytes`: the kernel's local memory of a thread; `issued`: where this thread counts
# instructions issued on each SM; `polls`: not 0: `Schedule.polls`.
_LOOP_NAMES = (
    "ring",
    "ring_count",
    "position",
    "current",
    "left",
    "quantum",
    "total",
    "limit",
    "next",
    "finished",
    "ctas",
    "grid_x",
    "grid_y",
    "entry",
    "stay",
    "tell",
    "epoch",
    "before",
    "voted",
    "voters",
    "own",
    "own_end",
    "chunk",
    "wipe",
    "local_bytes",
    "issued",
    "spread",
    "polls",
)
FIELD: Final = {
    **{name: LOOP + 8 * n for n, name in enumerate(_LOOP_NAMES)},
    # `polls` and `patience` of `HangChecks`.
    "idle": 0x2B8,
    "patience": 0x2C0,
}
"""Field of the grid loop -> offset in the environment."""

assert LOOP + 8 * len(_LOOP_NAMES) <= BANKS

IDLE: Final = 254
LIMIT: Final = 255
"""Results of the loop, whose low byte is no `Left`: no warp is ready; to stop, or the limit."""
GRID_LOOP: Final = "gpudbg_grid"
POLLED: Final = 2
"""Value of the loop's `polls` for a turn that ends because its warp polls."""

# ---- record fields that only compiled code uses ---------------------------------------------

SHARED_POINTER: Final = 0xA0
LOCAL_POINTER: Final = 0xA8
CTA_POINTER: Final = 0xB0
LOCAL_CLEAR: Final = 0xB8
"""i64: the `epoch` of the grid loop since whose begin local memory is all zero (`arena.UNTOUCHED`:
since it was made), or 0."""

FRESH: Final = 1
"""Bit of a pc: the warp has not begun; what registers, predicates and flags hold is from the warp
before, and stands for zeros; where no code writes there are zeros."""

# ---- why compiled code returned ---------------------------------------------------------------


PC_UNIT: Final = 8
"""Bytes that all addresses of instructions are multiples of."""


class Left(IntEnum):
    """Why a warp's function returned; the low byte of its result."""

    TURN = 0
    """Its turn is over."""
    STEP = 1
    """The instruction at pc is for the step engine, for the sake of one that is `PC_UNIT` times
    bits 8.. behind it."""
    SWITCH = 2
    """Its lanes are now all active, or no longer."""
    DONE = 3
    """It has exited."""
    BARRIER = 4
    """It stands before a BAR.SYNC of all threads; bits 8.. are the barrier."""
    MARK = 5
    """It stands before a block with a mark."""
    MISS = 6
    """No block begins at pc."""
    FULL = 7
    """It stands before a block that needs more room in the trace."""
    GUESS = 8
    """From the pc to the end of the block, an access to shared memory is not as guessed."""
    WATCHED = 9
    """From the pc to the end of the block, something touches what an observer has selected."""
    ELSEWHERE = 10
    """A whole warp's registers or accesses are not as its code expects: that for any lanes goes on
    with its turn, which may be over but for the block that it is in the middle of."""


# ---- library ------------------------------------------------------------------------------

SPACES: Final = ("global", "shared", "local", "generic")
"""Of accesses.  Functions have two more: `cluster`, shared memory by addresses with a rank, and
`ranked`, which is generic where the window of shared memory has the blocks of a cluster."""
_SIZES: Final = (1, 2, 4, 8, 16)
_TYPES: Final = {"U32": 32, "S32": 32, "U64": 64, "S64": 64, "F32": 32}
_INTEGER: Final = ("ADD", "MIN", "MAX", "AND", "OR", "XOR", "EXCH", "CAS")

ATOMICS: Final = {
    **{f"{op}.{kind}": bits for kind, bits in _TYPES.items() if kind != "F32" for op in _INTEGER},
    "INC.U32": 32,
    "DEC.U32": 32,
    "ADD.F32": 32,
    "ADD.F64": 64,
    "ADD.F16x2": 32,
    "ADD.BF16x2": 32,
    "MBARRIER.U64": 64,
    "MBARRIER_DROP.U64": 64,
    "ARRIVE.U64": 64,
}
"""Atomics with a compiled version -> bits of their type.  MBARRIER: arrivals in the operand's low
word, transactions in its high one (`gpudbg.sm.asynchronous.mbarrier.update`); ARRIVE is that of
sets before sm_90."""

SHARED_ATOMICS: Final = frozenset(("MBARRIER.U64", "MBARRIER_DROP.U64", "ARRIVE.U64"))
"""Those on shared memory alone."""


def atomics_on(space: str) -> dict[str, int]:
    """Atomics with a compiled version on a space -> bits of their type."""
    there = space in ("shared", "cluster")
    return {n: b for n, b in ATOMICS.items() if there or n not in SHARED_ATOMICS}


SUMS: Final = ("U32", "S32", "F32")
"""Types of ADD to shared memory that has a version without result."""


GROUPS: Final = tuple(
    f"groups.{name}"
    for name in (
        "open",
        "leave",
        "save",
        "restore",
        "split",
        "jump",
        "converge",
        "end",
        "yield",
        "sync",
    )
)
"""Control flow of lanes with pcs of their own (`gpudbg.sm.convergence.compiled`)."""


TENSOR: Final = (
    *(
        f"hmma.{kinds}.{count}.{bits}"
        for kinds in ("f16.f32", "f16.f16", "bf16.f32", "tf32.f32")
        for count in (2, 4)
        for bits in (24, 25)
    ),
    *(
        f"hmma.{kinds}.{count}.{bits}.sp"
        for kinds in ("f16.f32", "f16.f16", "bf16.f32", "tf32.f32")
        for count in (4, 8)
        for bits in (24, 25)
    ),
    *(
        f"imma.{a}{bits}.{b}{bits}.{count}{saturates}"
        for bits in (8, 4)
        for a in "su"
        for b in "su"
        for count in (1, 2, 4, 8)
        for saturates in ("", ".sat")
    ),
    *(
        f"qmma.{a}.{b}.{result}.{count}.{arch}"
        for a in ("e4m3", "e5m2")
        for b in ("e4m3", "e5m2")
        for result in ("f32", "f16")
        for count in (2, 4)
        for arch in ("89", "90", "120")
        if (count, arch) != (2, "90")
    ),
    *(
        f"qmma.{a}.{b}.{result}.{count}.{arch}.sp"
        for a in ("e4m3", "e5m2")
        for b in ("e4m3", "e5m2")
        for result in ("f32", "f16")
        for count in (4, 8)
        for arch in ("89", "90", "120")
        if (count, arch) != (4, "90")
    ),
    *(f"bmma.{operation}.{count}" for operation in ("and", "xor") for count in (1, 2, 4)),
    "dmma.884",
    "wgmma.along",
    "wgmma.across",
    *(f"sparse.{bits}" for bits in (8, 16, 32)),
)
"""Products of matrices (`gpudbg.sm.engines.llvm.runtime.tensor`), their reads (`warpgroup`), sparse
ones made dense (`sparse`).  A product of `.sp` is one of A and B so made: of its columns half are
nothing, and a block has twice as many."""


def _names() -> list[str]:
    names = ["pop", "exit", "spread", *GROUPS, *TENSOR, "resolve", "shuffle"]
    for space in (*SPACES, "cluster", "ranked"):
        for size in _SIZES:
            names += [f"load.{space}.{size}", f"store.{space}.{size}"]
            if size < 4:
                names.append(f"load.{space}.{size}s")
    names += [f"matrices.{how}.{count}" for how in ("load", "store") for count in (1, 2, 4)]
    for space in (*SPACES, "cluster", "ranked"):
        names += [f"mark.{space}.{size}" for size in _SIZES]
    names += [f"{MARKED_STORE}.local.{size}" for size in _SIZES if size >= 4]
    for size in _SIZES:
        names += [f"load.const.{size}"] + ([f"load.const.{size}s"] if size < 4 else [])
    for space in ("global", "shared", "cluster", "ranked", "generic"):
        names += [f"atomic.{space}.{what}" for what in atomics_on(space)]
    names += [f"sum.shared.{kind}" for kind in SUMS] + ["mark.sums"]
    names += ["mbarriers.note", "tensor.load", "tensor.store"]
    names += [f"bulk.{how}" for how in ("from_global", "from_shared", "to_global")]
    return names + list(OUTLINED)


FUNCTION_INDEX: Final = {name: n for n, name in enumerate(_names())}
"""Library function -> its place in the environment's table.  Each is built when code that calls it
is first made; until then its place is empty."""

assert FUNCTIONS + 8 * len(FUNCTION_INDEX) <= SCRATCH


_THREADED: Final = ("atomic.global.", "atomic.ranked.", "atomic.generic.")
"""Functions of which there is a variant for memory that other threads access."""


def symbol(name: str, shared: bool = False) -> str:
    """The IR name of a library function; `shared`: where other threads may be at the memory."""
    if shared and name.startswith(_THREADED):
        name += ".shared"
    return "gpudbg_" + name.replace(".", "_")
