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
    """

    ops: tuple[str, ...]
    what: str
    sample: str
    arch: str


VARIANTS = (
    Variant(("B2R",), "all but .RESULT", "B2R R4, 0x0", "sm_75"),
    Variant(("BAR",), ".SYNCALL", "BAR.SYNCALL", "sm_80"),
    Variant(("BAR",), ".SCAN", "BAR.SCAN 0x2, 0x80, P0", "sm_120"),
    Variant(("BMOV",), ".PQUAD", "BMOV.32.PQUAD MACTIVE, B15", "sm_80"),
    Variant(
        ("F2FP",), ".RS (stochastic rounding)", "F2FP.F16.F32.PACK_AB.RS R4, R5, R6, R7", "sm_100"
    ),
    Variant(("HMMA",), ".1684", "HMMA.1684.F16 R16, R4, R6, R12", "sm_80"),
    Variant(
        ("HMMA",),
        ".SP of small shapes",
        "HMMA.SP.1688.F32 R16, R4, R8, R12, R0, 0x0",
        "sm_80",
    ),
    Variant(
        ("IMMA",),
        ".U16, .S16 (in two steps)",
        "IMMA.8816.U16.U8.STEP0 R4, R6.ROW, R8.COL, R4",
        "sm_72",
    ),
    Variant(
        ("HGMMA",),
        ".REGOFFSET",
        "HGMMA.SP.REGOFFSET.64x8x16.F16.TF32 R24, R28, gdesc[UR4], R24, !UP0, R0, 0x0, gsb0",
        "sm_90",
    ),
    Variant(
        ("HMNMX2",),
        ".IS_A",
        "HMNMX2.NAN.XORSIGN.IS_A R4, P5, P3, |R5|.H0_H0, |R0|.H0_H0, PT",
        "sm_90",
    ),
    Variant(("IADD", "UIADD"), ".XOR", "IADD.X.XOR RZ, P1, ~R9, R10, RZ, !PT", "sm_100"),
    Variant(("RPCMOV",), ".64", "RPCMOV.64 Rpc, UR4", "sm_90"),
    Variant(("MOVM",), ".M832, .M864, .U4TO8", "MOVM.16.M832 R24, R17", "sm_75"),
    Variant(
        ("STG",),
        ".256 of some words",
        "STG.E.ENL2.256 desc[UR4][R2.64], R12, R8, 0x5a",
        "sm_120",
    ),
    Variant(
        ("TLD",), ".MS (multisampled textures)", "TLD.B.LZ.MS R12, R10, R4, R14, ARRAY_2D", "sm_80"
    ),
    Variant(
        ("UBLKCP",),
        ".DST_G_BYTE_MASK to shared memory",
        "UBLKCP.S.G.DST_G_BYTE_MASK [UR4], [UR6], UR8",
        "sm_100",
    ),
    Variant(
        ("UTMALDG", "UTMASTG"),
        ".W, .W128, .2CTA",
        "UTMALDG.2D.W128 [UR8], [UR14], UR4, desc[UR6]",
        "sm_110",
    ),
    Variant(
        ("UTMALDG", "UTMASTG"),
        ".GATHER4, .SCATTER4 of other than two dimensions",
        "UTMALDG.5D.GATHER4 [UR40], [UR4], desc[UR6]",
        "sm_120",
    ),
)
"""In the order of their names."""
