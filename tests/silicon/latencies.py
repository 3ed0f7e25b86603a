"""How long results take: pack part `latencies`.

Each kernel executes a producer and, N cycles of stall later, an instruction that uses its result,
in a loop, so that the code is in the instruction cache; the last pass is stored.  The emulated SM
knows no stalls and gives the right words; the least N from which on the card gives them, too, is
the distance that code has to keep.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpudbg.assembler import assemble_file
from gpudbg.errors import AssembleError
from tests.silicon.pack import Pack, one_launch

SHORT = tuple(range(1, 16))
LONG = tuple(range(8, 46, 2))
PAIR = (1, 2, 3, 4)
WAIT, SLEEP = "[B012345:R-:W-:Y:S15] NOP", "[B------:R-:W-:Y:S15] NOP"
FALSE, UFALSE = "ISETP.NE.AND P0, PT, RZ, RZ, PT", "UISETP.NE.AND UP0, UPT, URZ, URZ, UPT"


class Kind(NamedTuple):
    """A pair of instructions.

    Attributes:
        name: of the case.
        producer, consumer: their texts; `reset` comes before, `after` behind, with long waits.
        barrier: scoreboard notation of the producer and of the consumer.
        distances: N.
    """

    name: str
    producer: str
    consumer: str
    reset: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    barrier: tuple[str, str] = ("B------:R-:W-", "B------:R-:W-")
    distances: tuple[int, ...] = SHORT


_TO = "IADD3 R20, R8, 0x1, RZ"
_ALU = {
    "IADD3": "IADD3 R8, R10, 0x100, RZ",
    "LOP3": "LOP3.LUT R8, R10, 0x100, RZ, 0xfc, !PT",
    "SHF": "SHF.L.U32 R8, R10, 0x4, RZ",
    "MOV": "MOV R8, R10",
    "SEL": "SEL R8, R10, R11, PT",
    "PRMT": "PRMT R8, R10, 0x3210, R11",
    "LEA": "LEA R8, R10, R11, 0x2",
    "IABS": "IABS R8, R10",
    "VIADD": "VIADD R8, R10, 0x33",
    "VIMNMX": "VIMNMX R8, R10, R11, PT",
    "FMNMX": "FMNMX R8, R12, R13, PT",
    "BMSK": "BMSK R8, R10, R11",
    "SGXT": "SGXT R8, R10, 0x4",
    "IMAD": "IMAD R8, R10, R11, R10",
    "IMAD.MOV": "IMAD.MOV.U32 R8, RZ, RZ, R10",
    "IMAD.HI": "IMAD.HI.U32 R8, R10, 0x70000000, R11",
    "IDP": "IDP.4A.S8.S8 R8, R10, R11, R10",
    "FFMA": "FFMA R8, R12, R13, R12",
    "FADD": "FADD R8, R12, R13",
    "FMUL": "FMUL R8, R12, R13",
    "HFMA2": "HFMA2 R8, R18, R18, R18",
    "HADD2": "HADD2 R8, R18, R18",
    "HMUL2": "HMUL2 R8, R18, R18",
    "F2FP": "F2FP.F16.F32.PACK_AB R8, R12, R13",
    "I2FP": "I2FP.F32.S32 R8, R10",
    "P2R": "P2R R8, PR, RZ, 0x7f",
    "CS2R": "CS2R.32 R8, SR_CLOCKLO",
    "VOTE": "VOTE.ANY R8, PT, PT",
    "VABSDIFF": "VABSDIFF.U32 R8, R10, R11, R10",
    "HMNMX2": "HMNMX2 R8, R18, R18, PT",
}
_READERS = {
    "IADD3": _TO,
    "IMAD.a": "IMAD R20, R8, 0x3, R11",
    "IMAD.c": "IMAD R20, R10, R11, R8",
    "FFMA.a": "FFMA R20, R8, R13, R12",
    "FFMA.c": "FFMA R20, R12, R13, R8",
    "MOV": "MOV R20, R8",
    "HFMA2": "HFMA2 R20, R8, R18, R18",
    "LOP3.c": "LOP3.LUT R20, R10, R11, R8, 0x96, !PT",
    "ISETP": "ISETP.EQ.AND P1, PT, R8, 0x7777, PT",
    "SHFL": "SHFL.IDX PT, R20, R8, RZ, 0x1f",
    "MUFU": "MUFU.RCP R20, R8",
    "STS": "STS [RZ], R8",
    "R2UR": "R2UR UR9, R8",
    "DADD": "DADD R20, R8, R14",
}
_BEHIND = {
    "ISETP": ("SEL R20, R11, RZ, P1",),
    "STS": ("[B------:R-:W0:Y:S15] LDS R20, [RZ]",),
    "R2UR": ("MOV R20, UR9",),
}
_OLD = ("MOV R8, 0x7777", "MOV R9, 0x7777", "MOV R20, RZ", "MOV R21, RZ")
_VARIABLE = ("SHFL", "MUFU", "STS", "DADD")


def kinds() -> Iterator[Kind]:
    """All pairs."""
    for name, text in _ALU.items():
        yield Kind(f"{name}->IADD3", text, _TO, _OLD)
    for producer in ("IADD3", "IMAD", "FFMA", "HFMA2"):
        for name, text in _READERS.items():
            mark = "B------:R-:W0" if name in ("SHFL", "MUFU") else "B------:R-:W-"
            yield Kind(
                f"{producer}=>{name}",
                _ALU[producer],
                text,
                _OLD,
                _BEHIND.get(name, ()),
                ("B------:R-:W-", mark),
            )
    yield from _pairs()
    yield from _predicates()
    yield from _uniform()
    yield from _scoreboards()
    yield from _tensor()


def _pairs() -> Iterator[Kind]:
    for what, register in (("low", "R8"), ("high", "R9")):
        to = f"IADD3 R20, {register}, 0x1, RZ"
        yield Kind(f"IMAD.WIDE {what}->IADD3", "IMAD.WIDE.U32 R8, R10, 0x70000000, R14", to, _OLD)
        yield Kind(f"CS2R {what}->IADD3", "CS2R R8, SRZ", to, _OLD)
        for op, text in (
            ("DADD", "DADD R8, R14, R16"),
            ("DMUL", "DMUL R8, R14, R16"),
            ("DFMA", "DFMA R8, R14, R16, R14"),
        ):
            yield Kind(f"{op} {what}->IADD3", text, to, _OLD, distances=tuple(range(1, 30)))
    yield Kind(
        "IMAD.WIDE->IMAD.WIDE.c",
        "IMAD.WIDE.U32 R8, R10, 0x70000000, R14",
        "IMAD.WIDE.U32 R20, R10, R11, R8",
        _OLD,
    )
    for op in ("DADD R20, R8, R16", "DFMA R20, R8, R16, R14", "DFMA R20, R14, R16, R8"):
        yield Kind(f"DFMA->{op}", "DFMA R8, R14, R16, R14", op, _OLD, distances=tuple(range(1, 30)))


def _predicates() -> Iterator[Kind]:
    reset = (FALSE, "MOV R20, RZ", "MOV R21, RZ")
    producers = {
        "ISETP": "ISETP.NE.AND P0, PT, R10, 0x999, PT",
        "FSETP": "FSETP.NEU.AND P0, PT, R12, 9, PT",
        "HSETP2": "HSETP2.NEU.AND P0, PT, R18, RZ, PT",
        "PLOP3": "PLOP3.LUT P0, PT, PT, PT, PT, 0x80, 0x0",
        "R2P": "R2P PR, R11, 0x1",
        "LOP3": "LOP3.LUT P0, RZ, R10, 0xff, RZ, 0xc0, !PT",
        "IADD3": "IADD3 R9, P0, R10, -0x1, RZ",
        "VOTE": "VOTE.ANY P0, PT",
        "DSETP": "DSETP.NEU.AND P0, PT, R14, R16, PT",
        "IMAD.WIDE": "IMAD.WIDE.U32 R8, P0, R10, -0x1, R24",
        "FCHK": "",
    }
    readers = {
        "guard": ("@P0 MOV R20, 0x55", ()),
        "SEL": ("SEL R20, R11, RZ, P0", ()),
        "BRA": ("@P0 BRA `(OVER)", ("MOV R20, 0x99", "OVER:")),
        "IADD3.X": ("IADD3.X R20, R10, R11, RZ, P0, !PT", ()),
        "PLOP3": ("PLOP3.LUT P1, PT, P0, PT, PT, 0x80, 0x0", ("SEL R20, R11, RZ, P1",)),
        "guard FFMA": ("@P0 FFMA R20, R12, R13, R12", ()),
        "P2R": ("P2R R20, PR, RZ, 0x1", ()),
        "VOTE": ("VOTE.ANY R20, PT, P0", ()),
        "ISETP": ("ISETP.EQ.AND P1, PT, RZ, RZ, P0", ("SEL R20, R11, RZ, P1",)),
        "BRA.b": ("BRA P0, `(OVER)", ("MOV R20, 0x99", "OVER:")),
        "guard STS": ("@P0 STS [RZ], R11", ("[B------:R-:W0:Y:S15] LDS R20, [RZ]",)),
    }
    for name, text in producers.items():
        if not text:
            continue
        distances = tuple(range(1, 26)) if name == "DSETP" else SHORT
        for reader, (use, after) in readers.items():
            if name in ("ISETP", "FSETP", "DSETP") or reader in ("guard", "SEL", "BRA"):
                yield Kind(f"{name}->{reader}", text, use, reset, after, distances=distances)


def _uniform() -> Iterator[Kind]:
    reset = ("UMOV UR8, 0x7777", "UMOV UR9, 0x7777", UFALSE, "MOV R20, RZ", FALSE)
    producers = {
        "UIADD3": "UIADD3 UR8, UR10, 0x5, URZ",
        "UMOV": "UMOV UR8, 0x55",
        "ULOP3": "ULOP3.LUT UR8, UR10, 0x5, URZ, 0xfc, !UPT",
        "UIMAD": "UIMAD UR8, UR10, UR11, UR10",
        "USHF": "USHF.L.U32 UR8, UR10, 0x3, URZ",
        "R2UR": "R2UR UR8, R11",
        "ULDC": "ULDC UR8, c[0x0][0x0]",
        "VOTEU": "VOTEU.ANY UR8, UPT, PT",
        "UFLO": "UFLO.U32 UR8, UR10",
        "UPOPC": "UPOPC UR8, UR10",
        "UP2UR": "UP2UR UR8, UPR, URZ, 0x7f",
        "UIMAD.WIDE": "UIMAD.WIDE.U32 UR8, UR10, UR11, URZ",
        "UPRMT": "UPRMT UR8, UR10, 0x3210, URZ",
        "ULEA": "ULEA UR8, UR10, UR11, 0x2",
    }
    readers = {
        "UIADD3": ("UIADD3 UR9, UR8, 0x1, URZ", ("MOV R20, UR9",)),
        "MOV": ("MOV R20, UR8", ()),
        "IADD3": ("IADD3 R20, R11, UR8, RZ", ()),
        "IMAD": ("IMAD R20, R11, UR8, R10", ()),
        "UIMAD": ("UIMAD UR9, UR8, UR11, UR10", ("MOV R20, UR9",)),
        "FFMA": ("FFMA R20, R12, UR8, R13", ()),
        "LDS": ("[B------:R-:W0:Y:S15] LDS R20, [UR8+-0x55]", ()),
        "LDC": ("LDC R20, c[0x0][R24+0x210]", ()),
    }
    for name, text in producers.items():
        for reader, (use, after) in readers.items():
            if reader in ("LDS", "LDC"):
                continue
            if name in ("UIADD3", "R2UR", "ULDC") or reader in ("UIADD3", "MOV"):
                yield Kind(f"{name}->{reader}", text, use, reset, after)
    tests = {
        "USEL": ("USEL UR9, UR10, URZ, UP0", ("MOV R20, UR9",)),
        "guard UMOV": ("@UP0 UMOV UR9, 0x5", ("MOV R20, UR9",)),
        "PLOP3": ("PLOP3.LUT P0, PT, PT, PT, UP0, 0x80, 0x0", ("SEL R20, R11, RZ, P0",)),
        "UP2UR": ("UP2UR UR9, UPR, URZ, 0x7f", ("MOV R20, UR9",)),
        "UPLOP3": (
            "UPLOP3.LUT UP1, UPT, UP0, UPT, UPT, 0x80, 0x0",
            ("USEL UR9, UR10, URZ, UP1", "MOV R20, UR9"),
        ),
    }
    for name, text in {
        "UISETP": "UISETP.NE.AND UP0, UPT, UR10, 0x999, UPT",
        "UPLOP3": "UPLOP3.LUT UP0, UPT, UPT, UPT, UPT, 0x80, 0x0",
        "R2UR.P": "R2UR P1, UR8, R11",
        "VOTEU": "VOTEU.ANY UP0, PT",
    }.items():
        for reader, (use, after) in tests.items():
            yield Kind(f"{name}->{reader}", text, use, reset, after)


def _scoreboards() -> Iterator[Kind]:
    marks = ("B------:R-:W0", "B0-----:R-:W-")
    for name, text in {
        "MUFU": "MUFU.RCP R8, R12",
        "POPC": "POPC R8, R10",
        "S2R": "S2R R8, SR_TID.X",
        "F2I": "F2I R8, R12",
        "LDS": "LDS R8, [RZ]",
        "LDG": "LDG.E R8, desc[UR4][R4.64]",
        "SHFL": "SHFL.IDX PT, R8, R10, RZ, 0x1f",
        "I2F.F64": "I2F.F64 R8, R10",
        "LDC": "LDC R8, c[0x0][RZ]",
        "FLO": "FLO.U32 R8, R10",
        "F2F": "F2F.F64.F32 R8, R12",
    }.items():
        yield Kind(f"{name} barrier->IADD3", text, _TO, _OLD, barrier=marks, distances=PAIR)
    yield Kind(
        "S2UR barrier->MOV",
        "S2UR UR8, SR_CTAID.X",
        "MOV R20, UR8",
        ("UMOV UR8, 0x7777",),
        barrier=marks,
        distances=PAIR,
    )
    read = ("B------:R0:W-", "B0-----:R-:W-")
    for name, text in {
        "STS": "STS [RZ], R8",
        "STG": "STG.E desc[UR4][R4.64+0x8], R8",
        "MUFU": "MUFU.RCP R22, R8",
        "SHFL": "SHFL.IDX PT, R22, R8, RZ, 0x1f",
    }.items():
        after = {
            "STS": ("[B------:R-:W0:Y:S15] LDS R20, [RZ]",),
            "STG": ("[B------:R-:W0:Y:S15] LDG.E R20, desc[UR4][R4.64+0x8]",),
        }.get(name, ("MOV R20, R22",))
        for tag, marked in (
            ("read barrier", read),
            ("no barrier", ("B------:R-:W-", "B------:R-:W-")),
        ):
            yield Kind(
                f"{name} {tag}->MOV over",
                text,
                "MOV R8, 0x1111",
                (*_OLD, "MOV R8, 0x3f800000"),
                after,
                marked,
                PAIR if tag[0] == "r" else SHORT,
            )


def _tensor() -> Iterator[Kind]:
    reset = (*(f"MOV R{n}, 0x7777" for n in range(32, 40)), "MOV R20, RZ")
    for name, text in {
        "HMMA.16816.F32": "HMMA.16816.F32 R32, R40, R44, R48",
        "HMMA.16816.F16": "HMMA.16816.F16 R32, R40, R44, R48",
        "HMMA.1688.F32": "HMMA.1688.F32 R32, R40, R44, R48",
        "HMMA.1688.F32.TF32": "HMMA.1688.F32.TF32 R32, R40, R44, R48",
        "HMMA.16816.F32.BF16": "HMMA.16816.F32.BF16 R32, R40, R44, R48",
        "IMMA.16832.S8.S8": "IMMA.16832.S8.S8 R32, R40.ROW, R44.COL, R48",
        "IMMA.16816.S8.S8": "IMMA.16816.S8.S8 R32, R40.ROW, R44.COL, R48",
    }.items():
        for which in (32, 33) if "F16" in name.split(".")[2:] else (32, 35):
            yield Kind(
                f"{name} R+{which - 32}->MOV", text, f"MOV R20, R{which}", reset, distances=LONG
            )
        yield Kind(
            f"{name}->{name}.c",
            text,
            text.replace("R32", "R20").replace("R48", "R32"),
            reset,
            distances=LONG,
        )
        yield Kind(
            f"{name}->{name}.a",
            text,
            text.replace("R32", "R20").replace("R40", "R32"),
            reset,
            distances=LONG,
        )
        yield Kind(
            f"MOV R40->{name}",
            "MOV R40, 0x3c003c00",
            text.replace("R32", "R20"),
            ("MOV R40, 0x44444444",),
            ("MOV R40, 0x3c004000",),
            distances=SHORT,
        )


def kernel(name: str, kind: Kind, distance: int) -> str:
    """Text of a kernel."""
    first, rest = min(distance, 15), distance - min(distance, 15)
    flag = "Y" if first > 11 else "-"
    lines = [f"[{kind.barrier[0]}:{flag}:S{first:02d}] {kind.producer}"]
    while rest > 0:
        part = min(rest, 11)
        lines.append(f"[B------:R-:W-:-:S{part:02d}] NOP")
        rest -= part
    consumer = kind.consumer
    if not consumer.startswith("["):
        consumer = f"[{kind.barrier[1]}:Y:S15] {consumer}"
    before = [line for text in kind.reset for line in (f"[B------:R-:W-:Y:S15] {text}", SLEEP)]
    behind = []
    for text in kind.after:
        plain = text.startswith("[") or text.endswith(":")
        behind += [text] if plain else [f"[B------:R-:W-:Y:S15] {text}"]
        behind += [WAIT, SLEEP] if not text.endswith(":") else []
    values = {
        10: 3,
        11: 7,
        12: 0x3FC00000,
        13: 0x40200000,
        14: 0,
        15: 0x3FF80000,
        16: 0,
        17: 0x40040000,
        18: 0x3C004000,
        24: 0,
        25: 0,
        30: 6,
    }
    values |= dict.fromkeys(range(40, 44), 0x3C004000) | dict.fromkeys(range(44, 52), 0x40003C00)
    return "\n".join(
        [
            f".kernel {name}",
            ".registers 64",
            ".shared 1024",
            ".param 8",
            "S2R R0, SR_TID.X",
            WAIT,
            "[B------:R-:W-:Y:S15] ULDC.64 UR4, c[0x0][0x208]",
            SLEEP,
            "[B------:R-:W-:Y:S15] MOV R2, c[0x0][0x210]",
            "[B------:R-:W-:Y:S15] MOV R3, c[0x0][0x214]",
            "[B------:R-:W-:Y:S15] IMAD.WIDE.U32 R4, R0, 0x10, R2",
            SLEEP,
            *(f"[B------:R-:W-:Y:S15] MOV R{n}, 0x{v:x}" for n, v in values.items()),
            *(f"[B------:R-:W-:Y:S15] MOV R{n}, RZ" for n in (20, 21, 22, 23)),
            "[B------:R-:W-:Y:S15] UMOV UR10, 0x33",
            "[B------:R-:W-:Y:S15] UMOV UR11, 0x3",
            SLEEP,
            "AGAIN:",
            *before,
            SLEEP,
            SLEEP,
            *lines,
            consumer,
            WAIT,
            SLEEP,
            SLEEP,
            *behind,
            WAIT,
            "[B------:R-:W-:Y:S15] IADD3 R30, R30, -0x1, RZ",
            SLEEP,
            "[B------:R-:W-:Y:S15] ISETP.GT.AND P6, PT, R30, RZ, PT",
            SLEEP,
            SLEEP,
            "[B------:R-:W-:Y:S15] @P6 BRA `(AGAIN)",
            SLEEP,
            "[B------:R-:W-:Y:S15] STG.E.128 desc[UR4][R4.64], R20",
            SLEEP,
            "[B------:R-:W-:Y:S15] EXIT",
        ]
    )


def fill(pack: Pack, arch: str, share: tuple[int, int] = (0, 1)) -> None:
    """A case for every pair and distance; pairs with an unknown instruction are left out."""
    for kind in list(kinds())[share[0] :: share[1]]:
        for distance in kind.distances:
            try:
                text = f".arch {arch}\n{kernel('pair', kind, distance)}"
                image = assemble_file(text, path="pair.sass").cubin()
            except AssembleError as error:
                print(f"{kind.name}: {error}")
                break
            args = [{"buffer": "out"}]
            pack.add(
                f"latency {kind.name} {distance}",
                image,
                one_launch("pair", (1, 1, 1), (32, 1, 1), args),
                buffers={"out": {"fill": 0, "size": 512}},
            )
