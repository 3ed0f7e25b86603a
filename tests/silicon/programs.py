"""Random programs of many instructions: pack part `programs`.

Words of `words` one after another, whose operands are often results of earlier ones, with branches
of groups of lanes, short loops, and loads and stores of the thread's own shared and global memory.
Inputs and results are those of `words`; every word waits for what came before it.
"""

from __future__ import annotations

import random
import re

import numpy as np

from gpudbg.assembler import assemble_file
from gpudbg.isa.volta import decode
from gpudbg.isa.volta.insn import WideInstruction
from tests.engine.random_modern import _pool
from tests.engine.random_programs import SPECIALS
from tests.silicon.pack import Pack, one_launch
from tests.silicon.words import (
    APART,
    BEHIND,
    BLOCKS,
    FIRST,
    OUT_STRIDE,
    RESULT,
    SLEEP,
    TENSOR,
    WAIT,
    _fits,
    inputs,
    kernel,
    random_word,
)

COUNT = 300
EVERY = 0x3F
"""Scoreboards a word waits for."""
LEFT_OUT = frozenset("MUFU BMMA USETSHMSZ ULEPC".split())
"""Whose last bits are open, or results are of the place."""
ILLEGAL = re.compile(
    r"\bU?F2FP|\bRPCMOV|\bUSETSHMSZ|\bH(ADD|FMA|MUL)2\.F32|BF16_V2.*\.(SAT|FTZ)|\.(SAT|FTZ).*BF16_V2"
    r"|\.IS_A|\bVI\w*MNMX.*U(32|16x2).*RELU|\bF2IP.*RELU|HFMA2\.MMA\.BF16_V2|\bUIMAD.*\.X|\bULEA"
    r"|\bUIADD3\.64|\bDSETP\.M|\b(IADD3|LEA)\S* .*-.*-|XORSIGN|\bUFLO\.SH|\bF2IP"
)
"""What cards refuse, and forms without semantics here (`docs/silicon.md`)."""
TOGETHER = frozenset("SHFL VOTE VOTEU MATCH REDUX R2UR FSWZADD".split()) | frozenset(TENSOR)
"""Not among lanes that are apart."""
SHARED, SCRATCH = "R12", "R13"
"""Registers: the thread's 16 bytes of shared memory; a loop's counter."""


class Writer:
    """The middle of one program."""

    def __init__(self, rng: random.Random, arch: str) -> None:
        self.rng, self.arch = rng, arch
        self.labels = self.depth = 0
        pool = _pool(arch)
        self.ops = [op for op in pool if op not in APART and op not in LEFT_OUT]
        self.pool = pool

    def word(self) -> list[str]:
        """One instruction of a random operation."""
        for _ in range(50):
            op = self.rng.choice(self.ops)
            if self.depth and (op in TOGETHER or op.startswith("U")):
                continue
            made = random_word(self.rng.choice(self.pool[op]), self.arch, self.rng)
            if made is None:
                continue
            insn = decode(made, self.arch)
            if ILLEGAL.search(insn.text()):
                continue
            if self.depth and (insn.writes().uniform or insn.writes().uniform_predicates):
                continue
            made = self.chained(made, insn)
            lines = [f".word 0x{made | EVERY << 116:032x}"]
            return [*lines, SLEEP, SLEEP] if op in TENSOR else lines
        return []

    def chained(self, word: int, insn: WideInstruction) -> int:
        """Operands are results of earlier words now and then."""
        if self.rng.random() < 0.3:
            return word
        before = insn.reads().registers
        for low in (24, 32, 64):
            number = word >> low & 0xFF
            if number in before and FIRST <= number < RESULT and self.rng.random() < 0.6:
                changed = word & ~(0xFF << low) | RESULT + number % 16 << low
                try:
                    other = decode(changed, self.arch)
                except ValueError:
                    continue
                reads = other.reads().registers
                if reads != before and _fits(other) and all(FIRST <= n < BEHIND for n in reads):
                    word, before = changed, reads
        return word

    def access(self) -> list[str]:
        """A store to the thread's own memory and a load of it."""
        rng = self.rng
        wide, step = rng.choice((("", 1), (".64", 2), (".128", 4), (".U16", 1), (".S8", 1)))
        narrow = {".U16": ".U16", ".S8": ".U8"}.get(wide, wide)
        source = RESULT + rng.randrange(0, 16, step)
        target = RESULT + rng.randrange(0, 16, step)
        offset = 0 if step == 4 else rng.randrange(0, 16, 4 * step)
        return [
            f"STS{narrow} [{SHARED}+0x{offset:x}], R{source} [B012345:R-:W-:Y:S15]",
            SLEEP,
            f"LDS{wide} R{target}, [{SHARED}+0x{offset:x}] [B012345:R-:W0:Y:S15]",
            WAIT,
        ]

    def block(self, depth: int, most: int) -> list[str]:
        """Pieces one after another."""
        lines: list[str] = []
        for _ in range(self.rng.randint(2, most)):
            roll = self.rng.random()
            if depth and roll < 0.2:
                lines += self.branch(depth - 1)
            elif depth and roll < 0.26:
                lines += self.loop(depth - 1)
            elif roll < 0.36:
                lines += self.access()
            else:
                lines += self.word()
        return lines

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def guard(self) -> str:
        return f"@{self.rng.choice(('', '!'))}P{self.rng.randrange(7)} "

    def branch(self, depth: int) -> list[str]:
        """if/else of a warp that splits."""
        other, end = self.label(), self.label()
        number = self.depth
        self.depth += 1
        lines = [
            WAIT,
            f"BSSY B{number}, `({end})",
            f"{self.guard()}BRA `({other})",
            *self.block(depth, 5),
            WAIT,
            f"BRA `({end})",
            f"{other}:",
            *self.block(depth, 5),
            WAIT,
            f"{end}:",
            f"BSYNC B{number}",
        ]
        self.depth -= 1
        return lines

    def loop(self, depth: int) -> list[str]:
        """Two or three rounds, which no lane leaves early; branches go in rounds of their own."""
        if self.depth:
            return self.word()
        head = self.label()
        return [
            f"MOV {SCRATCH}, 0x{self.rng.randint(2, 3):x}",
            f"{head}:",
            *self.block(depth, 4),
            WAIT,
            f"IADD3 {SCRATCH}, {SCRATCH}, -0x1, RZ",
            f"ISETP.GT.AND P6, PT, {SCRATCH}, RZ, PT",
            f"@P6 BRA `({head})",
        ]


def program(arch: str, seed: int) -> str:
    """Text of a program."""
    rng = random.Random(f"{arch}/programs/{seed}")
    before, behind = kernel("program", 0).split(f".word 0x{0:032x}\n")
    before = before.replace(".registers 96", ".registers 96\n.shared 512\n.barriers 1")
    body = [f"IMAD {SHARED}, R0, 0x10, RZ", f"LOP3.LUT {SHARED}, {SHARED}, 0x1f0, RZ, 0xc0, !PT"]
    # Registers of results begin with inputs, too.
    body += [f"MOV R{RESULT + n}, R{FIRST + 2 * n}" for n in range(BEHIND - RESULT)]
    writer = Writer(rng, arch)
    body += [SLEEP, *writer.block(2, 24), WAIT, SLEEP]
    return before + "\n".join(body) + "\n" + behind


def fill(
    pack: Pack, arch: str, seed: int = 0, count: int = COUNT, share: tuple[int, int] = (0, 1)
) -> None:
    """Cases named after their seeds."""
    rng = np.random.default_rng(seed)
    buffers = [pack.buffer(inputs(n)) for n in range(4)]
    constants = [SPECIALS[rng.integers(0, SPECIALS.size, 16)].tobytes().hex() for _ in range(8)]
    for n in range(seed, seed + count):
        if n % share[1] != share[0]:
            continue
        image = assemble_file(f".arch {arch}\n{program(arch, n)}", path="program.sass").cubin()
        args = [{"buffer": "in"}, {"buffer": "out"}, {"bytes": constants[n % len(constants)]}]
        row = {
            "in": buffers[n % len(buffers)],
            "out": {"fill": 0xCD, "size": BLOCKS * 32 * OUT_STRIDE},
        }
        launches = one_launch("program", (BLOCKS, 1, 1), (32, 1, 1), args)
        pack.add(f"program {n}", image, launches, buffers=row, reload=True)
