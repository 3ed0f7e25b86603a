"""Rows of the special registers that exist; reserved numbers are filled in by `special`.

Source: the S2R/CS2R register table (SPA 5.0 text with its remarks on 5.3), meanings in own words.
"""

from __future__ import annotations

from gpudbg.bits import Field
from gpudbg.regs.esr import SR_GLOBAL_ERROR_STATUS, SR_WARP_ERROR_STATUS
from gpudbg.regs.special_types import Scope, Shaders, SpecialRegister
from gpudbg.regs.words import BitRow, FieldKind, complete

_T, _W, _C, _S, _G = Scope.THREAD, Scope.WARP, Scope.CTA, Scope.SM, Scope.GLOBAL
_CS = Shaders.COMPUTE
_UNNAMED = "the source gives the bits but no field name"
_VALUES_LOST = "the source announces an enumeration that its text does not contain"


def _f(
    hi: int,
    lo: int,
    meaning: str,
    name: str = "value",
    *,
    kind: FieldKind = FieldKind.UINT,
    unit: str = "",
    note: str = "",
) -> BitRow:
    return BitRow(name, Field(hi, lo), meaning, kind=kind, unit=unit, note=note)


def _in_place(hi: int, lo: int, meaning: str, name: str = "value", unit: str = "bytes") -> BitRow:
    return _f(hi, lo, meaning, name, kind=FieldKind.IN_PLACE, unit=unit)


def _sr(
    number: int,
    name: str,
    scope: Scope,
    shaders: Shaders,
    *rows: BitRow,
    coupled: bool = False,
    constant: int | None = None,
    note: str = "",
    aliases: tuple[str, ...] = (),
    before_53: tuple[BitRow, ...] | None = None,
) -> SpecialRegister:
    return SpecialRegister(
        number,
        name,
        scope,
        coupled,
        shaders,
        complete(rows),
        complete(before_53) if before_53 else None,
        constant=constant,
        note=note,
        aliases=aliases,
    )


def _virt_id(warp_hi: int) -> tuple[BitRow, ...]:
    return (
        _f(4, 0, "virtual lane, 0 .. WarpSz-1", "LaneId"),
        _f(warp_hi, 8, "virtual warp slot on the SM, 0 .. NWarp-1", "WarpId"),
        _f(19, 16, "low 4 bits of the virtual CTA slot", "ArrayIdLower"),
        _f(28, 20, "virtual SM number, 0 .. NSM-1", "SMId"),
        _f(30, 29, "high bits of the virtual CTA slot", "ArrayIdUpper"),
    )


_ORDERING_TICKET = (
    _f(8, 0, "ticket dispenser number", "dispenser", note=_UNNAMED),
    _f(
        15,
        9,
        "ticket increment: 0 except for a tile's last warp, which adds 128 - warps in tile",
        "increment",
        note=_UNNAMED,
    ),
    _f(31, 16, "ticket to match with the global counter before blending", "ticket", note=_UNNAMED),
)
_AFFINITY = tuple(
    _f(
        8 * i + 7,
        8 * i,
        f"affinity byte {i}" + ("" if i else ", GPC number on GF100"),
        f"Affinity[{i}]",
    )
    for i in range(4)
)


def _machine_and_graphics() -> tuple[SpecialRegister, ...]:
    """SR0..SR31: who runs where, counters, and what only graphics shaders see."""
    every, vtg, vsb = Shaders.ALL, Shaders.VTG, Shaders.VSB_TI
    only_cbe = "0 unless SR_DirectCBEWriteEnable is 1"
    counters = [
        _sr(4 + i, f"SR_PM{i}", _S, every, _f(31, 0, "low word of " + what), coupled=True)
        for i, what in enumerate(
            ["the performance counter of the thread's sub-partition"] * 4
            + ["a performance counter shared by the SM (MIO, pixel out)"] * 4
        )
    ]
    machine_ids = [
        _sr(25 + i, f"SR_MACHINE_ID_{i + 1}", _S, every, note="kept for later use, reads zero")
        for i in range(3)
    ]
    return (
        _sr(0, "SR_LaneId", _T, every, _f(4, 0, "virtual lane, same as SR_VirtId bits 4:0")),
        _sr(
            2,
            "SR_VirtCfg",
            _W,
            every,
            _f(5, 0, "lanes per warp, always 32", "WarpSz"),
            _f(14, 8, "virtual warps per SM, at most 64", "NWarp"),
            _f(
                19,
                16,
                "low 4 bits of the virtual number of CTAs per SM",
                "NArrayLower",
                note="the source says at most 16; the hardware has 32 CTA slots: doubtful",
            ),
            _f(28, 20, "virtual number of SMs of the GPU", "NSM"),
            _f(30, 29, "high bits of the virtual number of CTAs per SM", "NArrayUpper"),
            note="after floorsweeping and limit methods",
        ),
        _sr(
            3,
            "SR_VirtId",
            _T,
            every,
            *_virt_id(14),
            before_53=_virt_id(13),
            note="WarpId is 13:8 before SPA 5.3; ptxas for sm_53 still reads 6 bits",
        ),
        *counters,
        _sr(15, "SR_ORDERING_TICKET", _W, Shaders.PIXEL, *_ORDERING_TICKET),
        _sr(
            16,
            "SR_PRIM_TYPE",
            _W,
            every,
            _f(13, 0, "primitive type and size of the warp's input", note=_VALUES_LOST),
        ),
        _sr(17, "SR_INVOCATION_ID", _T, every, _f(4, 0, "instance of a replicated primitive")),
        _sr(
            18,
            "SR_Y_DIRECTION",
            _W,
            Shaders.GRAPHICS,
            _f(31, 0, "+1.0 or -1.0, from the window origin", kind=FieldKind.F32),
        ),
        _sr(
            19,
            "SR_THREAD_KILL",
            _T,
            Shaders.PIXEL,
            _f(31, 0, "non-zero when the thread has been killed"),
        ),
        _sr(
            20,
            "SM_SHADER_TYPE",
            _W,
            every,
            _f(7, 0, "type of the running shader", note=_VALUES_LOST),
            note="spelled SM_ in the source and by the disassembler",
        ),
        _sr(
            21,
            "SR_DirectCBEWriteAddressLow",
            _W,
            vsb,
            _f(31, 0, f"address of the circular buffer entry, low word; {only_cbe}"),
        ),
        _sr(
            22,
            "SR_DirectCBEWriteAddressHigh",
            _W,
            vsb,
            _f(7, 0, f"address of the circular buffer entry, high 8 bits; {only_cbe}"),
        ),
        _sr(
            23,
            "SR_DirectCBEWriteEnable",
            _W,
            vsb,
            _f(0, 0, "last alpha stage: outputs go straight to memory", kind=FieldKind.FLAG),
            aliases=("SR_DirectCBEWriteEnabled",),
        ),
        _sr(24, "SR_MACHINE_ID_0", _S, every, _f(31, 0, "value set by software")),
        *machine_ids,
        _sr(28, "SR_AFFINITY", _S, every, *_AFFINITY),
        _sr(
            29,
            "SR_INVOCATION_INFO",
            _T,
            vtg,
            _f(7, 0, "primitive index of the thread (lane for vertex shaders)", "primIndex"),
            _f(21, 16, "vertices per primitive", "vertexPerPrim"),
        ),
        _sr(
            30,
            "SR_WScaleFactor_XY",
            _W,
            vtg,
            _f(31, 0, "XY plane scale factor, 1.0 or 256.0", kind=FieldKind.F32),
        ),
        _sr(
            31,
            "SR_WScaleFactor_Z",
            _W,
            vtg,
            _f(31, 0, "Z plane scale factor, 1.0 or 256.0", kind=FieldKind.F32),
        ),
    )


def _launch() -> tuple[SpecialRegister, ...]:
    """SR32..SR63: thread and CTA indices, memory windows and sizes, lane masks."""
    every = Shaders.ALL
    masks = (
        ("Eq", "own lane: 1 << lane"),
        ("Lt", "lanes below: (1 << lane) - 1"),
        ("Le", "own lane and those below"),
        ("Gt", "lanes above"),
        ("Ge", "own lane and those above"),
    )
    return (
        _sr(
            32,
            "SR_Tid",
            _T,
            _CS,
            _f(10, 0, "thread index x in the CTA", "x"),
            _f(25, 16, "thread index y in the CTA", "y"),
            _f(31, 26, "thread index z in the CTA", "z"),
        ),
        _sr(33, "SR_Tid.X", _T, _CS, _f(10, 0, "thread index x in the CTA")),
        _sr(34, "SR_Tid.Y", _T, _CS, _f(9, 0, "thread index y in the CTA")),
        _sr(35, "SR_Tid.Z", _T, _CS, _f(5, 0, "thread index z in the CTA")),
        _sr(37, "SR_CTAid.X", _C, _CS, _f(31, 0, "CTA index x in the grid")),
        _sr(38, "SR_CTAid.Y", _C, _CS, _f(15, 0, "CTA index y in the grid")),
        _sr(39, "SR_CTAid.Z", _C, _CS, _f(15, 0, "CTA index z in the grid")),
        _sr(
            40,
            "SR_NTid",
            _C,
            _CS,
            _f(12, 0, "live threads left in the CTA", unit="threads"),
            note="starts at the CTA's thread count and drops by 32 per completed warp, so it can "
            "be short by 32 - count mod 32; a partly exited warp does not count",
        ),
        _sr(
            41,
            "SR_CirQueueIncrMinusOne",
            _C,
            _CS,
            _f(7, 0, "queue entries of this CTA minus one; 0 unless isQueue", "incrMinusOne"),
            _f(31, 31, "launched as a circular queue, not a grid", "isQueue", kind=FieldKind.FLAG),
        ),
        _sr(
            42,
            "SR_NLATC",
            _C,
            _CS,
            _f(12, 0, "launched and still living threads of the CTA", unit="threads"),
            note="starts at 0, +32 per warp launched, -32 per warp exited; the source's remark "
            "that it exceeds SR_NTid by count mod 32 contradicts its counting rule: the rule holds",
        ),
        _sr(48, "SR_SWinLo", _G, _CS, _in_place(31, 24, "shared window base, multiple of 16 MiB")),
        _sr(
            49,
            "SR_SWINSZ",
            _G,
            _CS,
            _in_place(24, 24, "shared window size"),
            constant=1 << 24,
        ),
        _sr(
            50,
            "SR_SMemSz",
            _G,
            _CS,
            _in_place(23, 7, "allocated shared memory, multiple of 128 bytes"),
        ),
        _sr(
            51,
            "SR_SMemBanks",
            _G,
            _CS,
            _in_place(5, 5, "number of 32-bit shared memory banks", unit="banks"),
            constant=32,
        ),
        _sr(52, "SR_LWinLo", _G, every, _in_place(31, 24, "local window base, multiple of 16 MiB")),
        _sr(
            53,
            "SR_LWINSZ",
            _G,
            every,
            _in_place(24, 24, "local window size"),
            constant=1 << 24,
        ),
        _sr(
            54,
            "SR_LMemLoSz",
            _G,
            every,
            _in_place(19, 4, "low local memory per thread, multiple of 16 bytes"),
        ),
        _sr(
            55,
            "SR_LMemHiOff",
            _G,
            every,
            _in_place(24, 4, "offset of the high local memory: window size - its size"),
        ),
        *(
            _sr(56 + i, f"SR_{n}Mask", _T, every, _f(31, 0, what, kind=FieldKind.MASK))
            for i, (n, what) in enumerate(masks)
        ),
        _sr(61, "SR_RegAlloc", _W, every, _f(7, 0, "registers per thread", unit="registers")),
    )


def _status_and_time() -> tuple[SpecialRegister, ...]:
    """SR64..SR99: error status, counters' high parts, clocks, work queue."""
    every = Shaders.ALL
    only_queue = "0 unless SR_CirQueueIncrMinusOne.isQueue"
    high = "bits 39:32 of SR_PM{0}, saturating at 0xff until reset by the host"
    clocks = (
        ("SR_ClockLo", "SM clock counter, low word, wraps silently"),
        ("SR_ClockHi", "SM clock counter, high word"),
        ("SR_GlobalTimerLo", "global timer in ns (32 ns steps), low word"),
        ("SR_GlobalTimerHi", "global timer in ns, high word"),
    )
    return (
        _sr(64, "SR_GlobalErrorStatus", _S, every, *SR_GLOBAL_ERROR_STATUS.rows),
        _sr(
            66,
            "SR_WarpErrorStatus",
            _S,
            every,
            *SR_WARP_ERROR_STATUS.rows,
            note="the source's type column says SM, its text speaks of the thread's own warp",
        ),
        *(
            _sr(72 + i, f"SR_PM_HI{i}", _S, every, _f(7, 0, high.format(i)), coupled=True)
            for i in range(8)
        ),
        *(
            _sr(80 + i, name, _S, every, _f(31, 0, what), coupled=True)
            for i, (name, what) in enumerate(clocks)
        ),
        _sr(96, "SR_HwTaskId", _W, _CS, _f(4, 0, "hardware task number given by the distributor")),
        _sr(
            97,
            "SR_CircularQueueEntryIndex",
            _W,
            _CS,
            _f(23, 0, f"index in the work creation queue; {only_queue}"),
        ),
        _sr(
            98,
            "SR_CircularQueueEntryAddressLow",
            _W,
            _CS,
            _f(31, 0, f"queue entry address, low word; {only_queue}"),
        ),
        _sr(
            99,
            "SR_CircularQueueEntryAddressHigh",
            _W,
            _CS,
            _f(7, 0, f"queue entry address, high 8 bits; {only_queue}"),
        ),
    )


NAMED_REGISTERS: tuple[SpecialRegister, ...] = (
    *_machine_and_graphics(),
    *_launch(),
    *_status_and_time(),
)
"""Every number the source names a register for, ascending."""
