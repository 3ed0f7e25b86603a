"""Random valid programs of machine instructions, for launches on both engines.

A program begins with registers full of special values and executes random words of any form that
has semantics, with branches, loops, calls and barriers among them.  Addresses are good most of the
time; a loop that does not end is cut by the number of instructions.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gpudbg.errors import DecodeError
from gpudbg.isa.spa5 import kinds, places
from gpudbg.isa.spa5.decode import decode
from gpudbg.isa.spa5.forms import all_forms
from gpudbg.isa.spa5.spec import Form
from gpudbg.sm.counters import reads_counters
from gpudbg.sm.semantics import registry
from tests.engine.forms import FLOATS
from tests.isa.sampling import legal_word
from tests.numeric import model as real
from tests.semantics.harness import EDGES

ARCHS = ("sm_50", "sm_53", "sm_61")
WORDS = 4096
"""32-bit words of the buffer."""
REGISTERS = 40
DATA, PLACE, LOW, LOCAL = 28, 30, 34, 38
"""Registers: address of the thread's data (a pair), of the buffer (a pair), a small offset, an
address in local memory."""
FLOW = frozenset(
    "BRA BRX BRK CAL CONT EXIT JCAL JMP JMX KIL LONGJMP PBK PCNT PEXIT PLONGJMP PRET RET RTT SSY "
    "SYNC BPT IDE".split()
)
LEFT_OUT = FLOW | frozenset(
    "RAM SAM SETCRSPTR SETLMEMBASE GETCRSPTR GETLMEMBASE TEX TEXS TLD TLD4 TLD4S TLDS TMML TXD TXQ "
    "SUATOM SULD SURED SUST BAR B2R LEPC".split()
)
"""Control flow and barriers are written with labels; textures need images."""
WIDE = ("LDG", "STG", "LD", "ST", "ATOM", "RED")
ADDRESSED = (*WIDE, "LDS", "STS", "LDL", "STL", "ATOMS", "LDC")
ODD = ("MOV", "IADD", "IADD3", "LOP", "LOP3", "SEL", "FADD", "FMUL", "FFMA", "XMAD", "SHFL", "PRMT")
"""Whose registers may have any number."""
GAPS = ("VABSDIFF4", "ATOMS")
"""With forms that have no semantics, which would be most of the ends otherwise."""
BLOCKS = (
    (32, 1, 1),
    (64, 1, 1),
    (33, 1, 1),
    (1, 1, 1),
    (7, 5, 1),
    (3, 5, 7),
    (95, 1, 1),
    (2, 2, 9),
    (16, 2, 1),
    (16, 3, 1),
    (8, 4, 1),
    (8, 2, 3),
    (16, 1, 5),
)


def random_block(rng: random.Random, most: int) -> tuple[int, int, int]:
    """A block of any shape, of at most so many threads: rows of warps, odd ones, thin ones."""
    if rng.random() < 0.4:
        return rng.choice([b for b in BLOCKS if b[0] * b[1] * b[2] <= most])
    width = rng.choice((1, 2, 3, 4, 5, 8, 8, 12, 16, 16, 17, 24, 31, 32, 33, 48, 64, 65, most))
    width = min(width, most)
    height = rng.randint(1, max(1, min(most // width, 40)))
    depth = rng.randint(1, max(1, min(most // (width * height), 64)))
    return rng.choice(((width, height, depth), (width, depth, height), (width, height, 1)))


def specials() -> npt.NDArray[np.uint32]:
    """Words of doubles, singles and halves that are special: NaNs of both signs, quiet and
    signalling, with payloads; infinities, subnormals, zeros, limits; odd integers."""
    doubles = [x for sign in (0, 1 << 63) for x in (
        sign | 0x7FF8 << 48, sign | 0x7FF0 << 48, sign | 0x7FF0 << 48 | 1,
        sign | 0x7FFF << 48 | 77,
        sign | 0x7FF4 << 48 | 0xABC << 20, sign | 0x7FFFFFFFFFFFFFFF, sign, sign | 1,
        sign | 1 << 52,
        sign | (1 << 52) - 1, sign | 0x3FF << 52, sign | 0x7FEFFFFFFFFFFFFF, sign | 0x4008 << 48,
        sign | 0x43E << 52, sign | 0x41F0 << 48,
    )]  # fmt: skip
    out = []
    for value in doubles:
        out += [value & 0xFFFFFFFF, value >> 32]
    for value in (*FLOATS, *EDGES, 0x7FA12345, 0xFFA12345, 0xFFC00001, 0x7E007D01, 0xFE01FD03):
        out += [value, value]
    for value in real.vectors("f32", 40, 1, seed=5)[0]:
        out.append(value.item())
    return np.array(out, np.uint32)


SPECIALS = specials()


def data_of(seed: int) -> npt.NDArray[np.uint32]:
    """What is in the buffer: pairs of words that are special, and some that are not."""
    rng = np.random.default_rng(seed)
    pairs = SPECIALS[: SPECIALS.size // 2 * 2].reshape(-1, 2)
    data = pairs[rng.integers(0, len(pairs), WORDS // 2)].copy()
    plain = rng.random(len(data)) < 0.15
    data[plain] = rng.integers(0, 1 << 32, (int(plain.sum()), 2), np.uint32)
    return data.reshape(-1)


def _pool(arch: str) -> dict[str, list[Form]]:
    pool: dict[str, list[Form]] = {}
    for form in all_forms():
        if arch in form.archs and form.op not in LEFT_OUT and not registry.why_not(form.op):
            pool.setdefault(form.op, []).append(form)
    return pool


POOLS = {arch: _pool(arch) for arch in ARCHS}
FLOATING = (
    "FADD FMUL FFMA FMNMX FSETP FSET FCMP FCHK FSWZADD MUFU RRO DADD DMUL DFMA DMNMX DSETP DSET "
    "F2F F2I I2F FADD32I FMUL32I FFMA32I HADD2 HMUL2 HFMA2 HSET2 HSETP2 "
    "HADD2_32I HMUL2_32I HFMA2_32I"
).split()


def random_word(rng: random.Random, arch: str, ops: Sequence[str] | None = None) -> int | None:
    """A legal word of a random form whose registers and places exist, or None."""
    pool = POOLS[arch]
    op = rng.choice([o for o in ops if o in pool]) if ops else rng.choice(list(pool))
    form = rng.choice(pool[op])
    word = legal_word(form, rng, 40)
    if word is None:
        return None
    wild = rng.random() < 0.02
    for spec in form.operands:
        if isinstance(spec.kind, kinds.RegKind):
            bits = spec.kind.bits
            number = 255 if rng.random() < 0.06 else 2 * rng.randrange(12)
            if op in ADDRESSED:
                number = number // 4 * 4
            elif rng.random() < 0.3 and op in ODD:
                number = rng.randrange(26)
            word = word & ~bits.mask | bits.put(number)
        elif isinstance(spec.kind, places.AddressKind | places.CBankKind):
            for name, bits in spec.kind.fields():
                if wild:
                    continue
                base = DATA if op in WIDE else LOCAL if op in ("LDL", "STL") else LOW
                value = base if name == "base" else 0
                if name == "bank":
                    value = 0
                elif name == "offset":
                    value = 16 * rng.randrange(4)
                elif name not in ("base",):
                    continue
                word = word & ~bits.mask | bits.put(value)
        elif isinstance(spec.kind, kinds.ConstKind):
            word = word & ~(0x7FFFF << 20) | rng.randrange(40, 44) << 21
    try:
        insn = decode(word, arch)
    except DecodeError:
        return None
    if insn.op != form.op or form.reason(word) is not None or (op in GAPS and rng.random() < 0.95):
        return None
    if reads_counters(struct.pack("<4Q", 0, word, 0, 0)):
        # A program that reads a performance counter runs on the step engine as a whole.
        return None
    if not wild and op in WIDE and not insn.m.get("e"):
        return None
    return word


@dataclass(frozen=True, slots=True)
class RandomProgram:
    """A program, and how it is launched."""

    name: str
    text: str
    grid: int
    block: tuple[int, int, int]


class _Writer:
    """Writes the body of one random program."""

    def __init__(self, rng: random.Random, arch: str, ops: Sequence[str] | None) -> None:
        self.rng, self.arch, self.ops = rng, arch, ops
        self.labels = 0

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def guard(self) -> str:
        return self.rng.choice(("@P0 ", "@!P1 ", "@P2 ", "@!P3 ", "@P4 ", "@!P5 "))

    def straight(self, most: int) -> list[str]:
        words = (
            random_word(self.rng, self.arch, self.ops) for _ in range(self.rng.randint(1, most))
        )
        return [f".word 0x{word:016x}" for word in words if word is not None]

    def block(self, depth: int) -> list[str]:
        """Pieces one after another, some of them structured, a few not."""
        lines: list[str] = []
        for _ in range(self.rng.randint(1, 3)):
            lines += self.straight(5)
            roll = self.rng.random()
            if roll < 0.08:
                lines.append(self.stray())
            elif depth and roll < 0.75:
                kind = self.rng.choice(
                    (self.branch, self.branch, self.loop, self.call, self.barrier)
                )
                lines += kind(depth - 1)
        return lines

    def branch(self, depth: int) -> list[str]:
        """if/else of a warp that splits."""
        other, end = self.label(), self.label()
        lines = [f"SSY `({end})", f"{self.guard()}BRA `({other})", *self.block(depth)]
        lines += [self.rng.choice(("SYNC", f"{self.guard()}SYNC")), f"{other}:", *self.block(depth)]
        return [*lines, "SYNC", f"{end}:"]

    def loop(self, depth: int) -> list[str]:
        """A loop with breaks; the counter in R36 ends it most of the time."""
        head, end = self.label(), self.label()
        lines = [f"PBK `({end})", "MOV32I R36, 0x3", f"{head}:", *self.block(depth)]
        if self.rng.random() < 0.5:
            lines.append(f"{self.guard()}BRK")
        lines += ["IADD R36, R36, -0x1", "ISETP.LE.AND P6, PT, R36, RZ, PT"]
        return [*lines, "@P6 BRK", f"BRA `({head})", f"{end}:"]

    def call(self, depth: int) -> list[str]:
        """A call; of some lanes only where the others go round it."""
        return ["CAL `(LSUB)"]

    def barrier(self, depth: int) -> list[str]:
        return ["BAR.SYNC 0x0"]

    def stray(self) -> str:
        """Flow that may well be an error."""
        guard, rng = self.rng.choice(("", self.guard())), self.rng
        anywhere = f"`(L{rng.randint(1, self.labels)})" if self.labels else "`(LEND)"
        return rng.choice((
            f"{guard}EXIT", "BPT.TRAP 0x1", f"{guard}JMP 0x{8 * rng.randrange(1 << 14):x}",
            f"{guard}BRX R{2 * rng.randrange(12)} 0x0", f"{guard}RET", f"{guard}BRK", f"{guard}KIL",
            f"{guard}JMX R{2 * rng.randrange(12)} 0x0", f"{guard}CONT", "BAR.ARV 0x1, 0x40",
            f"{guard}SYNC", f"{guard}BRA {anywhere}", f"SSY {anywhere}", f"PBK {anywhere}",
            f"PCNT {anywhere}", f"{guard}BRA `(LEND)",
        ))  # fmt: skip


def thread_numbers(rng: random.Random) -> list[str]:
    """Reads of the thread's number into registers: what lanes have in common differs by block."""
    return [f"S2R R{rng.randrange(24)}, SR_TID.{axis}" for axis in rng.sample("XYZXYZ", 3)]


def make(
    seed: int, arch: str, ops: Sequence[str] | None = None, flow: bool = True
) -> RandomProgram:
    """The program of a seed.

    Args:
        ops: mnemonics to choose from; None is all.
        flow: with branches, barriers and exits.
    """
    rng = random.Random(f"{arch}/{seed}/{len(ops or ())}")
    name = f"k{seed}"
    writer = _Writer(rng, arch, ops)
    body = writer.block(2) if flow else writer.straight(24)
    body = [*thread_numbers(rng), *body] if flow else body
    # A warp that goes round keeps its registers in sight to the end.
    ends = "BRA `(LEND)" if not flow or rng.random() < 0.7 else "EXIT"
    lines = [
        f".kernel {name}", f".registers {REGISTERS}", ".shared 1024", ".local 1024",
        ".param 8, 8, 8, 8", ".barriers 16", ".crs 1024", *body, "LEND:", ends,
        "LSUB:", "IADD R5, R5, 0x1", "@P0 RET", *writer.straight(2), "RET", "NOP",
    ]  # fmt: skip
    block = rng.choice(BLOCKS) if flow else (32, 1, 1)
    return RandomProgram(name, "\n".join(lines), rng.choice((1, 1, 2)), block)


def begin(session: Any, base: int, seed: int) -> None:
    """Registers, predicates and flags of all warps, which are resident."""
    grid = session.grid
    grid.start()
    rng = np.random.default_rng(seed)
    for warp in grid.warps():
        warp.R[:] = data_of(int(rng.integers(1 << 30)))[: warp.R.size].reshape(32, -1).T
        warp.R[1::2][rng.random(warp.R[1::2].shape) < 0.05] = 0
        lane = np.arange(32, dtype=np.uint32)
        warp.R[DATA] = (base & 0xFFFFFFFF) + 64 * lane
        warp.R[PLACE] = base & 0xFFFFFFFF
        warp.R[DATA + 1] = warp.R[PLACE + 1] = base >> 32
        warp.R[LOW] = 16 * lane
        warp.R[LOCAL] = warp.local.start + 16 * lane
        for n in range(6):
            warp.predicates[n] = int(rng.integers(1 << 32)) if rng.random() < 0.7 else 0
        for n in range(5):
            warp.cc[n] = int(rng.integers(1 << 32))


def source(programs: Sequence[RandomProgram], arch: str) -> str:
    """The programs as one SASS file."""
    return "\n".join([f".arch {arch}", *(p.text for p in programs), ""])
