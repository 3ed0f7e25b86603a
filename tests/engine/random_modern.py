"""Random valid programs of 128-bit instructions, for launches on both engines.

As `random_programs`, which makes those of older architectures: words of any form that has
semantics, most of them near words that compilers emit, with divergent branches, loops, barriers and
polls among them.  Addresses are good most of the time.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from gpudbg.architectures import age
from gpudbg.errors import DecodeError
from gpudbg.isa.volta import ARCHS as TABLES
from gpudbg.isa.volta import decode
from gpudbg.isa.volta.decode import candidates_of
from gpudbg.isa.volta.spec import WideForm
from gpudbg.sm.launch_constants import launch_words
from gpudbg.sm.semantics import registry
from tests.engine.random_programs import BLOCKS, RandomProgram, data_of, thread_numbers

ARCHS = ("sm_75", "sm_80", "sm_89", "sm_90", "sm_120")
REGISTERS = 255
DATA, LOW, LOCAL, COUNT, MINUS = 240, 244, 246, 248, 249
"""Registers: address of the thread's data (a pair), a small offset, an address in local memory,
what is left of a loop, -1."""
OWN = 224
"""Random words write registers below."""
FLOW = frozenset(
    "BAR BMOV BPT BRA BREAK BRX BRXU BSSY BSYNC CALL EXIT JMP JMX JMXU KILL LEPC NANOSLEEP RET "
    "WARPSYNC YIELD ELECT ENDCOLLECTIVE BRA.U RTT PREEXIT ACQBULK WARPGROUP WARPGROUPSET".split()
)
LEFT_OUT = FLOW | frozenset(
    "B2R R2B SETMAXREG USETMAXREG SETLMEMBASE GETLMEMBASE SYNCS UCGABAR_ARV UCGABAR_WAIT MAPA "
    "HGMMA IGMMA QGMMA BGMMA STAS REDAS ARRIVES LDGMC CCTL CCTLL CCTLT  UGETNEXTWORKID "
    "CS2R S2R S2UR CS2UR".split()
)
"""Written with labels, or nothing that one warp does alone; clocks and places are elsewhere."""
_APART = ("UBLK", "UTM", "TEX", "TLD", "TMML", "TXD", "TXQ", "SU", "UTC", "LDT", "STT")
GLOBAL = ("LDG", "STG", "LD", "ST", "ATOMG", "ATOM", "RED", "REDG")
SHARED = ("LDS", "STS", "ATOMS", "LDSM", "STSM")
HEAVY = ("HMMA", "IMMA", "BMMA", "DMMA", "QMMA", "OMMA", "LDGSTS")
"""Rare, since most of their random words have no semantics or take long."""


_GAPS = re.compile(
    r"INVALID|\?\?\?|cx\[|^F2FP.*\.RS|^F2FP.*E8|MOVM\.(?!16\.MT88)|LDSM\.(?!16\.MT?88)|^MUFU.*PACK|"
    r"MMA.*(SATFINITE|REGOFFSET|, !?UP)|^ATOM.*(EF|PRIVATE)|^(LD|LDG|ST|STG)\..*(EF\b|PRIVATE)"
)
"""Of texts: values without a meaning, and forms that stop by name."""


@cache
def _pool(arch: str) -> dict[str, list[WideForm]]:
    pool: dict[str, list[WideForm]] = {}
    for form in candidates_of(TABLES[arch]):
        op = form.op
        if op not in LEFT_OUT and not op.startswith(_APART) and not registry.why_not_wide(op, arch):
            pool.setdefault(op, []).append(form)
    return pool


def _put(word: int, low: int, width: int, value: int) -> int:
    return word & ~(((1 << width) - 1) << low) | value << low


def _filled(form: WideForm, arch: str, rng: random.Random) -> int:
    """A word of a form: values of its fields that are accepted, registers that exist."""
    word = rng.getrandbits(105)
    for low in (16, 24, 32, 64):
        register = (
            255 if rng.random() < 0.1 else rng.randrange(OWN) & (~3 if rng.random() < 0.8 else ~0)
        )
        word = _put(word, low, 8, register)
    for low in (81, 84):
        word = _put(word, low, 3, rng.choice((7, 7, 0, 1, 2, 3, 4)))
    word = _put(word, 87, 4, rng.choice((7, 7, 15, 0, 1, 2, 9)))
    for site in form.parts(TABLES[arch])[1]:
        good = [v for v, text in enumerate(site.texts[: 1 << site.bits.width]) if text is not None]
        if good:
            word = word & ~site.bits.mask | site.bits.put(rng.choice((good[0], rng.choice(good))))
    word = _put(word, 12, 4, rng.choice((7, 7, 7, 7, 0, 1, 9, 10, 3)))
    return word & ~form.mask | form.value | 0x7E1 << 105


def _placed(word: int, op: str, arch: str, text: str, rng: random.Random) -> int:
    """Addresses and constants that exist, most of the time."""
    if rng.random() < 0.02:
        return word
    if "c[" in text and op not in ("LDC", "ULDC", "LDCU"):
        offset = launch_words(arch).block + 4 * rng.randrange(3)
        word = _put(_put(word, 54, 5, 0), 40, 14, offset // 4)
    if op in GLOBAL or op == "LDGSTS":
        word = _put(_put(word, 24, 8, DATA), 40, 24, 16 * rng.randrange(4))
        word |= 1 << 72
    if op in SHARED:
        word = _put(_put(word, 24, 8, LOW), 40, 24, 16 * rng.randrange(4))
    if op in ("LDL", "STL"):
        word = _put(_put(word, 24, 8, LOCAL), 40, 24, 16 * rng.randrange(4))
    if op == "LDGSTS":
        word = _put(word, 16, 8, LOW)
    return word


def random_word(rng: random.Random, arch: str) -> int | None:
    """A word of a random form that has semantics, or None."""
    pool = _pool(arch)
    op = rng.choice(list(pool))
    if op in HEAVY and rng.random() < 0.8:
        return None
    word = _filled(rng.choice(pool[op]), arch, rng)
    try:
        insn = decode(word, arch)
        placed = _placed(word, op, arch, insn.text(), rng)
        insn = decode(placed, arch)
    except DecodeError:
        return None
    text = insn.text()
    # Registers in addresses are wild, and much has no semantics: rare.
    wild = bool(_GAPS.search(text)) or ("UR" in text and "[" in text)
    return placed if insn.op == op and (not wild or rng.random() < 0.03) else None


class _Writer:
    """Writes the body of one random program."""

    def __init__(self, rng: random.Random, arch: str) -> None:
        self.rng, self.arch = rng, arch
        self.labels = 0
        self.depth = 0

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def guard(self) -> str:
        return self.rng.choice(("@P0 ", "@!P1 ", "@P2 ", "@!P3 ", "@P4 ", "@!P5 "))

    def straight(self, most: int) -> list[str]:
        words = (random_word(self.rng, self.arch) for _ in range(self.rng.randint(1, most)))
        return [f".word 0x{word:032x}" for word in words if word is not None]

    def block(self, depth: int) -> list[str]:
        """Pieces one after another, some of them structured, a few not."""
        lines: list[str] = []
        for _ in range(self.rng.randint(1, 3)):
            lines += self.straight(6)
            roll = self.rng.random()
            if roll < 0.1:
                lines.append(self.stray())
            elif depth and roll < 0.75:
                lines += self.rng.choice((self.branch, self.branch, self.loop))(depth - 1)
        return lines

    def branch(self, depth: int) -> list[str]:
        """if/else of a warp that splits."""
        other, join, end = self.label(), self.label(), self.label()
        number = self.depth
        self.depth += 1
        lines = [f"BSSY B{number}, `({end})", f"{self.guard()}BRA `({other})", *self.block(depth)]
        if self.rng.random() < 0.2:
            lines += [f"@P1 BREAK B{number}", f"@P1 BRA `({end})"]
        lines += [f"BRA `({join})", f"{other}:", *self.block(depth), f"{join}:"]
        self.depth -= 1
        return [*lines, f"BSYNC B{number}", f"{end}:"]

    def loop(self, depth: int) -> list[str]:
        """A loop with an early end for some lanes."""
        head, join, end = self.label(), self.label(), self.label()
        number = self.depth
        self.depth += 1
        begin = [f"MOV R{COUNT}, 0x3", f"MOV R{MINUS}, 0xffffffff", f"{head}:"]
        lines = [f"BSSY B{number}, `({end})", *begin, *self.block(depth)]
        if self.rng.random() < 0.5:
            lines.append(f"{self.guard()}BRA `({join})")
        if self.rng.random() < 0.3:
            lines.append("YIELD")
        lines += [
            f"IMAD R{COUNT}, R{COUNT}, 0x1, R{MINUS}",
            f"ISETP.GT.AND P6, PT, R{COUNT}, RZ, PT",
        ]
        self.depth -= 1
        return [*lines, f"@P6 BRA `({head})", f"{join}:", f"BSYNC B{number}", f"{end}:"]

    def stray(self) -> str:
        """What may well be an error, or wait for ever."""
        guard, rng = self.rng.choice(("", self.guard())), self.rng
        anywhere = f"`(L{rng.randint(1, self.labels)})" if self.labels else "`(LEND)"
        warpsync = ["WARPSYNC.ALL", f"{guard}WARPSYNC R8"]
        if age(self.arch)[0] < 90:
            warpsync = ["WARPSYNC 0xffffffff", f"{guard}WARPSYNC 0xf0f"]
        return rng.choice((
            *warpsync, f"{guard}EXIT", "BPT.TRAP 0x1", "BAR.SYNC 0x0", "BAR.SYNC 0x0", "YIELD",
            f"{guard}YIELD", "BAR.ARV 0x1, 0x40",
            f"{guard}BSYNC B0", f"{guard}BREAK B1", f"{guard}BRA {anywhere}", "NANOSLEEP 0x20",
            f"{guard}BRA `(LEND)", f"{guard}BAR.SYNC 0x0",
        ))  # fmt: skip


def make(
    seed: int, arch: str, ops: Sequence[str] | None = None, flow: bool = True
) -> RandomProgram:
    """The program of a seed; `ops` are those of older architectures and not looked at.

    Args:
        flow: with branches, barriers and exits.
    """
    rng = random.Random(f"{arch}/{seed}")
    name = f"k{seed}"
    writer = _Writer(rng, arch)
    body = [*thread_numbers(rng), *writer.block(2)] if flow else writer.straight(30)
    ends = "BRA `(LEND)" if not flow or rng.random() < 0.7 else "EXIT"
    lines = [
        f".kernel {name}", f".registers {REGISTERS}", ".shared 4096", ".local 1024",
        ".param 8, 8, 8, 8", ".barriers 16", *body, "LEND:", ends, "NOP",
    ]  # fmt: skip
    block = rng.choice([b for b in BLOCKS if b[0] * b[1] * b[2] <= 96]) if flow else (32, 1, 1)
    return RandomProgram(name, "\n".join(lines), rng.choice((1, 1, 2)), block)


def begin(session: Any, base: int, seed: int) -> None:
    """Registers and predicates of all warps, which are resident."""
    grid = session.grid
    grid.start()
    rng = np.random.default_rng(seed)
    for warp in grid.warps():
        size = warp.R.size
        data = np.concatenate(
            [data_of(int(n)) for n in rng.integers(1 << 30, size=size // 4096 + 1)]
        )
        warp.R[:] = data[:size].reshape(32, -1).T
        lane = np.arange(32, dtype=np.uint32)
        warp.R[DATA], warp.R[DATA + 1] = (base & 0xFFFFFFFF) + 64 * lane, base >> 32
        warp.R[LOW], warp.R[LOCAL] = 16 * lane, warp.local.start + 16 * lane
        if warp.UR.size:
            warp.UR[:] = rng.integers(0, 1 << 32, warp.UR.shape, np.uint32) & 0xFF0
            warp.UR[:] = warp.UR[:, :1]
        for n in range(6):
            warp.predicates[n] = int(rng.integers(1 << 32)) if rng.random() < 0.7 else 0
