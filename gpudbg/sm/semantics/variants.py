"""Variants of 128-bit instructions that stop by name though their mnemonics run.

`gpudbg info isa` lists them; the semantics functions say the same where they meet one
(`WideMachine.gap`).  No compiler was seen to emit them, or public facts do not say what they do.
"""

from __future__ import annotations

from typing import NamedTuple


class Variant(NamedTuple):
    """Some variants of instructions.

    Attributes:
        ops: mnemonics.
        what: which variants, for readers.
        sample: one of them.
        arch: an architecture that has it.
        why: why it has no semantics.
    """

    ops: tuple[str, ...]
    what: str
    sample: str
    arch: str
    why: str


_UNUSED = "no documented PTX compiles to it"
_UNKNOWN = "public facts do not say what it does"
_GRAPHICS = "of graphics code"


VARIANTS = (
    Variant(
        ("ATOMG",),
        ".SAFEADD of other sizes than its own",
        "ATOMG.E.SAFEADD.S32.STRONG.GPU PT, R4, desc[UR4][R2.64], R6",
        "sm_90",
        _UNUSED,
    ),
    Variant(("B2R",), "all but .RESULT", "B2R R4, 0x0", "sm_75", _UNUSED),
    Variant(("BAR",), ".SYNCALL", "BAR.SYNCALL", "sm_80", _UNUSED),
    Variant(("BAR",), ".SCAN", "BAR.SCAN 0x2, 0x80, P0", "sm_120", _UNUSED),
    Variant(("BMOV",), ".PQUAD", "BMOV.32.PQUAD MACTIVE, B15", "sm_80", _GRAPHICS),
    Variant(
        ("BMOV",),
        "of other than B0 to B15",
        "BMOV.32 R4, MACTIVE",
        "sm_80",
        "of trap handlers and the run time",
    ),
    Variant(
        ("CALL", "JMP"), "through a constant", "CALL.ABS.NOINC c[0x0][0x160]", "sm_80", _UNUSED
    ),
    Variant(
        ("F2FP",),
        ".RS before sm_100, .MERGE_C.RS",
        "F2FP.PACK_AB.RS R4, R5, R6, R7",
        "sm_80",
        _UNUSED,
    ),
    Variant(("HMMA",), ".1684", "HMMA.1684.F16 R16, R4, R6, R12", "sm_80", _UNUSED),
    Variant(
        ("HMMA",),
        ".SP of shapes that PTX does not have",
        "HMMA.SP.1688.F32 R16, R4, R8, R12, R0, 0x0",
        "sm_80",
        _UNUSED,
    ),
    Variant(
        ("HMMA", "IMMA", "QMMA", "OMMA", "HGMMA", "IGMMA", "QGMMA"),
        ".SP with a selector that its shape does not have",
        "IMMA.SP.16832.U8.S8 R16, R4.ROW, R20.COL, R8, R0, 0x3",
        "sm_80",
        _UNUSED,
    ),
    Variant(
        ("IMMA",),
        ".U16, .S16 (in two steps)",
        "IMMA.8816.U16.U8.STEP0 R4, R6.ROW, R8.COL, R4",
        "sm_72",
        _UNKNOWN,
    ),
    Variant(
        ("HGMMA",),
        ".REGOFFSET",
        "HGMMA.SP.REGOFFSET.64x8x16.F16.TF32 R24, R28, gdesc[UR4], R24, !UP0, R0, 0x0, gsb0",
        "sm_90",
        _UNKNOWN,
    ),
    Variant(
        ("HMNMX2",),
        ".IS_A",
        "HMNMX2.NAN.XORSIGN.IS_A R4, P5, P3, |R5|.H0_H0, |R0|.H0_H0, PT",
        "sm_90",
        _UNUSED,
    ),
    Variant(("IADD", "UIADD"), ".XOR", "IADD.X.XOR RZ, P1, ~R9, R10, RZ, !PT", "sm_100", _UNKNOWN),
    Variant(
        ("IADD3", "UIADD3"),
        ".64 with carries",
        "UIADD3.64 UR44, UP4, UR6, UR52, UR4",
        "sm_75",
        _UNUSED,
    ),
    Variant(
        ("IMNMX", "UIMNMX"),
        ".S64, .U64 with predicates as results",
        "IMNMX.S64 P5, P3, R6, R18, R8, PT, !PT",
        "sm_120",
        _UNKNOWN,
    ),
    Variant(
        ("LDC", "ULDC", "LDCU"), "without a bank", "ULDC.S8 UR4, [UR6+0x10], UP1", "sm_80", _UNKNOWN
    ),
    Variant(
        ("REDAS", "STAS"),
        "with an address in one register",
        "STAS.64 [R8.U32+UR4], R10",
        "sm_120",
        _UNUSED,
    ),
    Variant(("RPCMOV",), ".64", "RPCMOV.64 Rpc, UR4", "sm_90", _UNKNOWN),
    Variant(("LDSM",), ".M832 of halves", "LDSM.16.M832.2 R4, [R8]", "sm_75", _UNUSED),
    Variant(("MOVM",), ".M832, .M864, .U4TO8", "MOVM.16.M832 R24, R17", "sm_75", _UNUSED),
    Variant(
        ("STG",),
        ".256 of some words",
        "STG.E.ENL2.256 desc[UR4][R2.64], R12, R8, 0x5a",
        "sm_120",
        _UNUSED,
    ),
    Variant(
        ("TLD",),
        ".MS (multisampled textures)",
        "TLD.B.LZ.MS R12, R10, R4, R14, ARRAY_2D",
        "sm_80",
        "its textures come from graphics interfaces alone",
    ),
    Variant(
        ("UBLKCP",),
        ".DST_G_BYTE_MASK to shared memory",
        "UBLKCP.S.G.DST_G_BYTE_MASK [UR4], [UR6], UR8",
        "sm_100",
        _UNUSED,
    ),
    Variant(
        ("UBLKCP",),
        "from global to global memory",
        "UBLKCP.G.G [UR4], [UR6], UR8",
        "sm_90",
        _UNUSED,
    ),
    Variant(
        ("UTMALDG", "UTMASTG"),
        ".W, .W128, .2CTA",
        "UTMALDG.2D.W128 [UR8], [UR14], UR4, desc[UR6]",
        "sm_110",
        "documented for sm_100 and later alone",
    ),
    Variant(
        ("UTMALDG", "UTMASTG"),
        ".GATHER4, .SCATTER4 of other than two dimensions",
        "UTMALDG.5D.GATHER4 [UR40], [UR4], desc[UR6]",
        "sm_120",
        "no such shape is documented",
    ),
)
"""In the order of their names."""
