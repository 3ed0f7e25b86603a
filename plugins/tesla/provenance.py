"""What every behaviour of the model stands on: documented, inferred, or modelled.

`documented` is in the NV50 CUDA notes; `inferred` follows from them or from later public
documentation and drivers, which is named; `modelled` is this project's choice where nothing
public decides.
"""

from __future__ import annotations

from dataclasses import dataclass

DOCUMENTED = "documented"
INFERRED = "inferred"
MODELLED = "modelled"


@dataclass(frozen=True, slots=True)
class Behaviour:
    """One behaviour, its standing and what it stands on."""

    area: str
    what: str
    standing: str
    basis: str = "NV50 CUDA notes"


def _rows(area: str, *rows: tuple[str, ...]) -> tuple[Behaviour, ...]:
    return tuple(Behaviour(area, *row) for row in rows)


BEHAVIOURS: tuple[Behaviour, ...] = (
    *_rows(
        "hierarchy",
        ("PMC 0x1540: TP mask bits 15:0, MP mask bits 27:24", DOCUMENTED),
        ("the MP mask is the same in every TP", INFERRED, "the address formulas use one MP count"),
        ("24 warps and 8192 registers per MP before NVA0, 32 and 16384 from it on", DOCUMENTED),
        ("SM version of chips the notes do not name", INFERRED, "their place in the family"),
    ),
    *_rows(
        "physid",
        ("lane 4:0, warp 12:8, MP 17:16, TP 23:20", DOCUMENTED),
        ("wider fields with the same starts", INFERRED, "later documentation of the ISA"),
    ),
    *_rows(
        "addresses",
        ("local in-block bits by the bit table", DOCUMENTED),
        (
            "the bit table wins over the C expression's precedence",
            INFERRED,
            "block sizes of 0x100/0x200 bytes; a driver's buffer size equals the table's total",
        ),
        ("blocks grouped by MP, warp, TP, outer index", DOCUMENTED),
        ("before NVA0 only the TP count is rounded up to a power of two", DOCUMENTED, "the C code"),
        ("TPs or MPs that are not active have no addresses", INFERRED, "compressed ids"),
        ("WARP_HALVES 0 counts as 1 for compute programs", DOCUMENTED),
        ("WARP_HALVES 0 is invalid for the 3D object", MODELLED, "the notes leave it open"),
        ("WARPS_LOG_ALLOC 0-4 and 7 (for 5); 5 invalid", DOCUMENTED),
        ("WARPS_LOG_ALLOC 6 and above 7 invalid", INFERRED, "not among the valid values"),
        ("NO_CLAMP 0: warps that do not fit are not executed; 1: they alias", DOCUMENTED),
        ("a stack has at least 4 entries", INFERRED, "later documentation of STACK_SIZE_LOG"),
    ),
    *_rows(
        "stack",
        ("entry words, types 2 (call), 3 (call with 0x40), 6 (joinat)", DOCUMENTED),
        ("types 1, 4, 5 (branch, prebreak, quadon)", INFERRED, "later documentation of the ISA"),
        ("word 1 is the mask of active lanes", INFERRED, "the notes say warps; a stack has one"),
        ("blocks of 4 entries, 3 blocks per warp on the MP", DOCUMENTED, "seen on NV86"),
        ("the oldest block spills; a block returns when its entry is the top", MODELLED),
        (
            "popping an empty stack or the wrong type traps (STACK_UNDERFLOW, STACK_MISMATCH)",
            INFERRED,
            "names of the MP's trap bits in the kernel driver",
        ),
        ("pushing on a full stack traps (STACK_LIMIT)", INFERRED, "the trap bit's name"),
    ),
    *_rows(
        "const",
        ("128 buffers, 16 spaces per program, CB_ADDR autoincrement", DOCUMENTED),
        ("an upload after the address overflows is an error", DOCUMENTED),
        ("that error is DATA_ERROR INVALID_VALUE", MODELLED),
        ("the address overflows after word 0x3fff", INFERRED, "the 14-bit field of CB_ADDR"),
        ("an upload past the buffer's size stores nothing", MODELLED),
        ("an upload to a buffer that was never defined: INVALID_OPERATION", MODELLED),
        ("CB_DEF_SET size: multiple of 0x100, 0 means 65536", DOCUMENTED),
        ("a cached word stays as first read until CODE_CB_FLUSH", DOCUMENTED),
        ("the cache never evicts and is one for the whole chip", MODELLED, "location is unknown"),
        ("a read past the buffer or of an unbound space gives 0", MODELLED),
        ("SET_PROGRAM_CB with bit 0 clear unbinds", INFERRED, "the 3D driver uses it so"),
        ("const buffers are shared by both objects", INFERRED, "128 per channel"),
    ),
    *_rows(
        "launch",
        ("blocks start in (y, x) order", DOCUMENTED),
        ("threads in (z, y, x) order to sequential lanes, cut at THREADS_PER_BLOCK", DOCUMENTED),
        ("32 lanes with 0x2b8 = 1 and 0x3b8 = 2, else 16", DOCUMENTED),
        ("shared memory header and $r0", DOCUMENTED),
        ("DATA_ERROR without 0x2f8 and for too many threads", DOCUMENTED),
        ("the numbers and the other launch errors", INFERRED, "the list of DATA_ERROR codes"),
        (
            "changing BLOCKDIM, THREADS_PER_BLOCK or the lane enable needs a new latch; "
            "grid, parameters and sizes do not",
            INFERRED,
            "the method's later name BLOCKDIM_LATCH and the 3D driver's order of writes",
        ),
        ("order in which several launch errors are found", MODELLED),
        ("registers of a block: count times lanes times warps, no rounding", MODELLED),
        ("a launch of 0 threads is INVALID_VALUE", MODELLED),
        ("0x384 with bit 8 clear runs only block 0,0; starts as 0x100", INFERRED, "later lists"),
        ("which MP and which warp ids a block gets", MODELLED, "MPs in turn, lowest free ids"),
    ),
    *_rows(
        "global",
        ("linear and 2D address formulas, limits per axis", DOCUMENTED),
        ("tile flags 0x7000 are left out", INFERRED, "the storage type is behind the VM"),
        ("PITCH: multiple of 0x100, at most 0x800000", DOCUMENTED),
        ("linear LIMIT: a multiple of 0x100, less 1", DOCUMENTED),
        (
            "a 2D LIMIT needs no multiple of 0x100",
            INFERRED,
            "the 3D driver sets it to pitch - 1, in steps of 64 bytes",
        ),
        ("a bad linear limit is refused at the LIMIT or the MODE write, as it arises", MODELLED),
        ("LIMIT 0 is accepted", INFERRED, "the 3D driver closes spaces with it"),
        ("tile mode 0-5, bits 7:4 zero", INFERRED, "later lists of the method"),
        (
            "an access beyond a limit traps (LOCAL_LIMIT_*, GLOBAL_LIMIT_*)",
            INFERRED,
            "names of the MP's trap bits in the kernel driver",
        ),
    ),
    *_rows(
        "registers",
        ("views, bit buckets, $a0/$a5/$a6 zero, flag meanings", DOCUMENTED),
        ("registers beyond the allocated count read 0", DOCUMENTED, "usually, the notes say"),
        ("a write to them is dropped", MODELLED, "the notes only say something weird happens"),
        ("predicate codes", INFERRED, "later documentation of the ISA"),
    ),
    *_rows(
        "methods",
        ("offsets and fields of the methods", DOCUMENTED),
        ("a write that raises DATA_ERROR changes nothing", MODELLED),
        ("state before the first write is 0", MODELLED),
        ("DMA objects cover all of memory", MODELLED),
        ("a method outside the model stops the run", MODELLED, "never skipped in silence"),
    ),
)


def lines(area: str | None = None) -> list[str]:
    """The table as text, one line a behaviour."""
    return [
        f"{row.area:<10} {row.standing:<10} {row.what}"
        + (
            f" [{row.basis}]"
            if row.basis != Behaviour.__dataclass_fields__["basis"].default
            else ""
        )
        for row in BEHAVIOURS
        if area in (None, row.area)
    ]
