"""Random programs of index arithmetic: what lanes have in common is computed on, merged and lost.

As `random_programs` and `random_modern`, whose control flow they have (branches that diverge,
loops that lanes leave apart, calls, barriers), with straight pieces that read what a launch gives
(`tid`, the lane, constants) and compute with it: sums with carries into pairs, products, shifts,
masks, selections, comparisons.  Blocks have random shapes: rows of 8 and 16, and odd ones.
"""

from __future__ import annotations

import random
import re
from functools import cache

from gpudbg import assemble
from gpudbg.architectures import is_wide
from gpudbg.code_layout import layout_of
from gpudbg.errors import GpudbgError
from tests.engine import random_modern, random_programs
from tests.engine.random_programs import RandomProgram, random_block

BACK, RETURN = 250, 252
"""Registers of the address behind a call, and of the pair that RET reads."""
OFFSET = "@offset"
"""Stands before a label whose offset an instruction has as a number."""
OWN = 12
"""Registers R0 to R11 are computed with; 12 to 15 hold what memory gave."""
NUMBERS = (
    0, 1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 31, 32, 33, 64, 255, 0x7FFFE, 0x7FFF0,
    -1, -2, -4, -31, -0x100,
)  # fmt: skip
"""Small ones of both signs: sums of them wrap."""
NARROW = """
S2R {d}, SR_TID.X|S2R {d}, SR_TID.Y|S2R {d}, SR_TID.Z|S2R {d}, SR_CTAID.X|S2R {d}, SR_LANEID
S2R {d}, SR_LTMASK|S2R {d}, SR_EQMASK|MOV {d}, c[0x0][{k}]|MOV32I {d}, {N}|MOV {d}, {a}
IADD {d}, {a}, {b}|IADD {d}, {a}, -{b}|IADD {d}, {a}, {n}|IADD32I {d}, {a}, {n}
IADD3 {d}, {a}, {b}, {c}|IADD {d}.CC, {a}, {b};IADD.X {e}, {b}, {c}
IADD {d}.CC, {a}, {n};IADD.X {e}, {b}, RZ|ISCADD {d}, {a}, {b}, {s}
ISCADD {d}.CC, {a}, {b}, {s};IADD.X {e}, {b}, {c}|SHL {d}, {a}, {s}|SHL {d}, {a}, {b}
SHR.U32 {d}, {a}, {s}|SHR {d}, {a}, {s}|SHF.L.W {d}, {a}, {s}, {b}|SHF.R.W {d}, {a}, {s}, {b}
LEA {d}, {a}, {b}, {s}|LEA.HI {d}, {a}, {b}, {c}, {s}|LOP.AND {d}, {a}, {m}|LOP.OR {d}, {a}, {b}
LOP.XOR {d}, {a}, {n}|LOP32I.AND {d}, {a}, {m}|LOP3.LUT {d}, {a}, {b}, {c}, 0x96
LOP.AND {d}, {a}, {b}|LOP.PASS_B {d}, RZ, ~{a}|XMAD {d}, {a}, {b}, {c}
XMAD {d}, {a}, c[0x0][{k}], {c}|XMAD.MRG {d}, {a}, {b}.H1, RZ
XMAD.MRG {d}, {a}, {b}.H1, RZ;XMAD {e}, {a}, {b}, {c};XMAD.PSL.CBCC {d}, {a}.H1, {d}.H1, {e}
IMAD {d}, {a}, {b}, {c}|IMUL {d}, {a}, {b}|SEL {d}, {a}, {b}, {p}|SEL {d}, {a}, {n}, !{p}
IMNMX {d}, {a}, {b}, PT|IMNMX.U32 {d}, {a}, {n}, !{p}|BFE.U32 {d}, {a}, 0x302
BFI {d}, {a}, 0x404, {b}|POPC {d}, {a}|FLO.U32 {d}, {a}|PRMT {d}, {a}, 0x3210, {b}
PRMT {d}, {a}, 0x1054, {b}|VOTE.ANY {d}, PT, {p}|VOTE.ALL {q}, {p}|SHFL.IDX PT, {d}, {a}, 0x3, 0x1f
SHFL.BFLY {q}, {d}, {a}, 0x1, 0x1f|ISETP.GT.AND {q}, PT, {a}, {b}, PT
ISETP.LT.U32.OR {q}, {r}, {a}, {n}, {p}|ISETP.EQ.AND {q}, PT, {a}, {n}, PT
IADD {d}.CC, {a}, -{b};ISETP.GE.X.AND {q}, PT, {b}, {c}, PT|ICMP.GT {d}, {a}, {b}, {c}
PSETP.AND.OR {q}, {r}, {p}, !{o}, {p}|ISET.GT.AND {d}, {a}, {b}, PT
ISET.BF.GT.AND {d}, {a}, {n}, {p}|P2R {d}, PR, RZ, 0x7f|R2P PR, {a}, 0x3|CSET.EQ.AND {d}, CC, PT
LOP.XOR {q}, {d}, {a}, {b}|LDC {d}, c[0x0][{k}]|I2I.S32.S16 {d}, {a}|I2I.U32.U8 {d}, {a}
I2F.F32.S32 {d}, {a}|LDG.E {t}, [R28]|LDS.U.32 {t}, [R34]|STG.E [R28], {a}|MOV {d}, {t}
S2R {d}, SR_TID.Y;IMUL {d}, {d}, {b}|S2R {d}, SR_TID.Y;XMAD {d}, {d}, c[0x0][{k}], {c}
S2R {d}, SR_TID.Y;SHR.U32 {d}, {d}, 0x1;ISETP.EQ.AND {q}, PT, {d}, {n}, PT
"""
"""Pieces of sm_50 to sm_62: instructions that go together, with blanks (`_filled`)."""
WIDE = """
S2R {d}, SR_TID.X|S2R {d}, SR_TID.Y|S2R {d}, SR_TID.Z|S2R {d}, SR_LANEID|S2R {d}, SR_LTMASK
S2UR {u}, SR_CTAID.X|S2R {d}, SR_CTAID.X|MOV {d}, c[0x0][{k}]|MOV {d}, {N}|MOV {d}, {a}|MOV {d}, {u}
LDC {d}, c[0x0][{k}]|ULDC {u}, c[0x0][{k}]|LDCU {u}, c[0x0][{k}]|UMOV {u}, {N}|R2UR {u}, {a}
IMAD.MOV.U32 {d}, RZ, RZ, {a}|IMAD.SHL.U32 {d}, {a}, {m}, RZ|IMAD.IADD {d}, {a}, 0x1, {b}
IADD3 {d}, {a}, {b}, {c}|IADD3 {d}, {a}, {n}, RZ|IADD3 {d}, {a}, -{b}, {c}|IADD3 {d}, {a}, {u}, {c}
IADD3 {d}, PT, PT, {a}, {b}, {c}|IADD3 {d}, PT, PT, {a}, {n}, RZ|IADD {d}, {a}, {b}
IADD3 {d}, {q}, {a}, {b}, RZ;IADD3.X {e}, {b}, {c}, RZ, {q}, !PT
IADD3 {d}, {q}, PT, {a}, {n}, RZ;IADD3.X {e}, PT, PT, {b}, {c}, RZ, {q}, !PT|IMAD {d}, {a}, {b}, {c}
IMAD {d}, {a}, {n}, {c}|IMAD {d}, {a}, c[0x0][{k}], {c}|IMAD {d}, {a}, {u}, {c}
IMAD.WIDE {D}, {a}, {n}, {A}|IMAD.WIDE.U32 {D}, {a}, {b}, {A}|IMAD.HI.U32 {d}, {a}, {b}, {c}
LEA {d}, {a}, {b}, {s}|LEA {d}, {q}, {a}, {b}, {s};LEA.HI.X {e}, {a}, {b}, {c}, {s}, {q}
LEA.HI {d}, {a}, {b}, {c}, {s}|SHF.L.U32 {d}, {a}, {s}, RZ|SHF.R.U32.HI {d}, RZ, {s}, {a}
SHF.R.S32.HI {d}, RZ, {s}, {a}|SHF.L.U64.HI {d}, {a}, {s}, {b}|LOP3.LUT {d}, {a}, {m}, RZ, 0xc0, !PT
LOP3.LUT {d}, {a}, {b}, {c}, 0x96, !PT|LOP3.LUT {d}, {a}, {b}, RZ, 0xfc, !PT
LOP3.LUT {q}, {d}, {a}, {m}, RZ, 0xc0, !PT|SEL {d}, {a}, {b}, {p}|SEL {d}, {a}, {n}, !{p}
IMNMX {d}, {a}, {b}, PT|VIMNMX {d}, {a}, {b}, PT|ISETP.GT.AND {q}, PT, {a}, {b}, PT
ISETP.LT.U32.OR {q}, {r}, {a}, {n}, {p}
ISETP.GE.U32.AND {q}, PT, {a}, {b}, PT;ISETP.GE.U32.AND.EX {r}, PT, {b}, {c}, PT, {q}
ISETP.EQ.AND {q}, PT, {a}, {n}, PT|PLOP3.LUT {q}, PT, {p}, {o}, {p}, 0x80, 0x8
PLOP3.LUT {q}, {r}, {p}, {o}, PT, 0xf8, 0x8|PRMT {d}, {a}, 0x3210, {b}|PRMT {d}, {a}, 0x1054, {b}
POPC {d}, {a}|FLO.U32 {d}, {a}|BREV {d}, {a}|SGXT {d}, {a}, 0x10|SGXT.U32 {d}, {a}, 0x5
BMSK {d}, {a}, {b}|IABS {d}, {a}|VOTE.ANY {d}, PT, {p}|VOTE.ALL {q}, {p}|VOTEU.ANY {u}, UPT, {p}
SHFL.IDX PT, {d}, {a}, 0x3, 0x1f|SHFL.BFLY {q}, {d}, {a}, 0x1, 0x1f|MATCH.ANY {d}, {a}
P2R {d}, PR, RZ, 0x7f|R2P PR, {a}, 0x3|I2FP.F32.S32 {d}, {a}|I2F.F32.S32 {d}, {a}
UIADD3 {u}, {v}, {w}, URZ|UIADD3 {u}, UPT, UPT, {v}, {w}, URZ|UIMAD {u}, {v}, {w}, {v}
USHF.L.U32 {u}, {v}, {s}, URZ|ULOP3.LUT {u}, {v}, {m}, URZ, 0xc0, !UPT
UISETP.GT.AND UP0, UPT, {v}, {w}, UPT|USEL {u}, {v}, {w}, UP0|LDG.E {t}, [R240.64]
LDG.E {t}, desc[UR2][R240.64]|LDS {t}, [R244]|STS [R244], {a}|MOV {d}, {t}
S2R {d}, SR_TID.Y;IMAD {d}, {d}, {b}, {c}|S2R {d}, SR_TID.Y;IMAD {d}, {d}, {u}, {c}
S2R {d}, SR_TID.Y;SHF.R.U32.HI {d}, RZ, 0x1, {d};ISETP.EQ.AND {q}, PT, {d}, {n}, PT
"""
"""The same of sm_75 and later."""


def _filled(template: str, rng: random.Random) -> str:
    """Fill the blanks: registers (`d e a b c`, pairs `D A`, loaded `t`, uniform `u v w`),
    predicates (`q r` written, `p o` read), numbers (`n N s m`), a constant's place (`k`)."""
    d, at = rng.randrange(OWN), rng.randrange
    blanks = {"d": f"R{d}", "e": f"R{(d + 1) % OWN}", "t": f"R{OWN + at(4)}"}
    blanks |= {name: f"R{OWN + at(4) if at(8) == 0 else at(OWN)}" for name in "abc"}
    blanks |= {name: f"R{2 * at(OWN // 2)}" for name in "DA"}
    blanks |= {name: f"UR{4 + at(4)}" for name in "uvw"}
    blanks |= {name: f"P{at(6)}" for name in "qrpo"}
    if blanks["q"] == blanks["r"]:
        blanks["r"] = "PT"
    number = rng.choice(NUMBERS)
    blanks |= {"n": _number(number), "s": f"{rng.choice((1, 2, 3, 4, 5, 8, 30)):#x}"}
    blanks["N"] = _number(rng.choice((number, at(1 << 32), 0x7FFFFFF0, 0xFFFFFFF0)), 32)
    blanks["m"] = f"{rng.choice((1, 3, 4, 7, 8, 12, 15, 16, 31, 255)):#x}"
    blanks["k"] = f"{rng.choice((0x8, 0xC)):#x}"
    return template.format(**blanks)


def _number(value: int, bits: int = 0) -> str:
    if bits:
        return f"{value & (1 << bits) - 1:#x}"
    return f"{'-' * (value < 0)}{abs(value):#x}"


@cache
def pieces(arch: str) -> tuple[str, ...]:
    """Those of an architecture: it has their instructions."""
    some = (WIDE if is_wide(arch) else NARROW).replace("\n", "|").split("|")
    tries = [random.Random(seed) for seed in range(6)]
    return tuple(t for t in some if t and any(_legal(_filled(t, rng), arch) for rng in tries))


@cache
def _legal(piece: str, arch: str) -> bool:
    """Whether an architecture has these instructions and room for their numbers."""
    try:
        return all([assemble(line, arch=arch) for line in piece.split(";")])
    except GpudbgError:
        return False


def _straight(writer: random_programs._Writer | random_modern._Writer, most: int) -> list[str]:
    """Some pieces, a few of them for some lanes."""
    rng, lines = writer.rng, []
    for _ in range(rng.randint(1, most)):
        guard = writer.guard() if rng.random() < 0.15 else ""
        piece = _filled(rng.choice(pieces(writer.arch)), rng)
        for line in piece.split(";") if _legal(piece, writer.arch) else ():
            uniform = guard and line.startswith(("U", "S2UR", "LDCU", "R2UR", "VOTEU"))
            lines.append(line if uniform else guard + line)
    return lines


TEST = "ISETP.GT.AND {q}, PT, {a}, {n}, PT"
"""What a branch often depends on."""


class _Narrow(random_programs._Writer):
    def straight(self, most: int) -> list[str]:
        return _straight(self, most)

    def branch(self, depth: int) -> list[str]:
        return [*_tested(self), *super().branch(depth)]


class _Wide(random_modern._Writer):
    """Calls are jumps here, and a third of the branches are calls: of a function, or past code."""

    def straight(self, most: int) -> list[str]:
        return _straight(self, most)

    def branch(self, depth: int) -> list[str]:
        roll = self.rng.random()
        if roll < 0.2:
            return [*_tested(self), *self.call()]
        if roll < 0.33:
            end, guard = self.label(), self.guard()
            jump = f"{guard}CALL.REL.NOINC `({end})"
            return [*_tested(self), jump, *self.block(depth), f"{end}:"]
        if roll < 0.55:
            return [*_tested(self), *self.without_else()]
        return [*_tested(self), *super().branch(depth)]

    def without_else(self) -> list[str]:
        """A branch past a few instructions to a BSYNC, which is compiled in place."""
        join, end, number = self.label(), self.label(), self.depth
        lines = [f"BSSY B{number}, `({end})", *self.straight(2), f"{self.guard()}BRA `({join})"]
        return [*lines, *self.straight(5), f"{join}:", f"BSYNC B{number}", f"{end}:"]

    def call(self) -> list[str]:
        """Of the function at the end: RET goes behind the call, wherever the address comes from."""
        behind = self.label()
        move = f"MOV R{BACK}, {OFFSET}({behind})"
        if self.rng.random() < 0.1:
            move = f"{move} ; SHFL.IDX PT, R{BACK}, R{BACK}, RZ, 0x1f"
        guard = self.guard() if self.rng.random() < 0.3 else ""
        return [*move.split(" ; "), f"{guard}CALL.REL.NOINC `(LSUB)", f"{behind}:"]

    def function(self) -> list[str]:
        """What calls lead to: it comes back to where R250 says."""
        lines = ["LSUB:", *self.straight(3)]
        if self.rng.random() < 0.7:
            self.depth = 8
            lines += random_modern._Writer.branch(self, 0)
        move = [f"MOV R{RETURN}, R{BACK}", f"MOV R{RETURN + 1}, RZ"]
        return [*lines, *move, f"RET.REL.NODEC R{RETURN} 0x0"]


def _placed(lines: list[str]) -> list[str]:
    """With the offsets of labels in the places of their names (`OFFSET`)."""
    places: dict[str, int] = {}
    offset = 0
    for line in lines:
        if line.endswith(":"):
            places[line[:-1]] = offset
        elif not line.startswith("."):
            offset += layout_of("sm_80").word_bytes
    return [re.sub(rf"{OFFSET}\((\w+)\)", lambda m: f"{places[m[1]]:#x}", line) for line in lines]


def _tested(writer: random_programs._Writer | random_modern._Writer) -> list[str]:
    """New predicates, of numbers that lanes may share."""
    found = [_filled(TEST, writer.rng) for _ in range(writer.rng.randrange(4))]
    return [line for line in found if _legal(line, writer.arch)]


def make(seed: int, arch: str) -> RandomProgram:
    """The program of a seed."""
    rng = random.Random(f"lanes/{arch}/{seed}")
    name, wide = f"k{seed}", is_wide(arch)
    writer = _Wide(rng, arch) if wide else _Narrow(rng, arch, None)
    given = ("SR_TID.X", "SR_TID.Y", "SR_TID.Z", "SR_LANEID", "SR_CTAID.X")
    body = [f"S2R R{n}, {rng.choice(given)}" for n in range(OWN) if rng.random() < 0.7]
    body += writer.block(2)
    registers = random_modern.REGISTERS if wide else random_programs.REGISTERS
    lines = [
        f".kernel {name}", f".registers {registers}", ".shared 4096", ".local 1024",
        ".param 8, 8, 8, 8", ".barriers 16", *([] if wide else [".crs 1024"]), *body, "LEND:",
        rng.choice(("BRA `(LEND)", "EXIT")),
        *(writer.function() if isinstance(writer, _Wide) else
          ["LSUB:", "IADD R5, R5, 0x1", "@P0 RET", *writer.straight(2), "RET"]),
        "NOP",
    ]  # fmt: skip
    lines = _placed(lines) if wide else lines
    return RandomProgram(name, "\n".join(lines), rng.choice((1, 2)), random_block(rng, 96))
