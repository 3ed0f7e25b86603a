"""Accesses whose addresses the code computes from threads and blocks, between protected pages.

A program computes an index as sums and products of `tid`, the lane, the block and numbers, and
reads and writes there: at unit and other strides, by rows of the block's shape, backwards, in
loops that walk on and that lanes leave apart, with tests of bounds and without.  Compiled code
checks such accesses as a whole.  Arrays and numbers are such that some lanes lie inside and others
beyond either end, at times by 2^32.  The run engine must touch nothing but its memory, and end as
the step engine does: the same stop, the same message, the same memory.

    python -m tests.engine.hostile_affine --seed 1 --count 200 --arch sm_50 --host x86-64-v3

runs each architecture in a process of its own: an access outside ends it with a signal.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import gpudbg
from gpudbg import assemble
from gpudbg.architectures import is_wide
from gpudbg.assembler import assemble_file
from gpudbg.errors import GpudbgError
from gpudbg.sm.engines.llvm import build
from gpudbg.sm.engines.llvm.job import CompileJob, emit
from gpudbg.sm.engines.llvm.program import GOOD
from tests.engine import guards
from tests.engine.hostile import HOSTS, pretend
from tests.engine.random_programs import random_block

ARCHITECTURES = ("sm_50", "sm_61", "sm_75", "sm_80", "sm_90", "sm_120")
SIZES = {".U8": 1, ".S16": 2, "": 4, ".64": 8, ".128": 16}
SHARED = 1024
LIMIT = 4000
"""Instructions after which a launch is left."""
STRIDES = (0, 1, 1, 1, 1, 2, 3, 4, 16, -1, -1, -2, 0x10000, 1 << 30)
ROUNDS = (1, 1, 2, 3, 7)


class Access(NamedTuple):
    """What a program does, and on what.

    Attributes:
        lines: its text, labels included.
        block: threads by axis.
        words: of the buffer that is accessed.
    """

    lines: tuple[str, ...]
    block: tuple[int, int, int]
    words: int


@cache
def _one_of(arch: str, *texts: str) -> str:
    """The first text that an architecture has; "" for none."""
    for text in texts:
        try:
            if assemble(text, arch=arch):
                return text
        except GpudbgError:
            continue
    return ""


class Writer:
    """Writes one program.

    Attributes:
        tame: most of its accesses are inside.
        beside: threads of a row lie beside one another, and nothing guards them.

    Registers: R0 the index, R4 and R5 the address, R6 an address in shared memory, R7 rounds,
    R8 and R9 the buffer, R10 to R15 for parts, R16 to R19 data, R20 to R23 what is read.
    """

    def __init__(self, rng: random.Random, arch: str) -> None:
        self.rng, self.arch, self.wide = rng, arch, is_wide(arch)
        self.tame = rng.random() < 0.6
        self.beside = rng.random() < 0.35
        self.lines: list[str] = []

    def put(self, *texts: str) -> None:
        """One instruction, as this architecture spells it."""
        found = _one_of(self.arch, *texts)
        assert found, (self.arch, texts)
        self.lines.append(found)

    def number(self, register: str, value: int) -> None:
        self.put(
            f"MOV32I {register}, {value & 0xFFFFFFFF:#x}",
            f"MOV {register}, {value & 0xFFFFFFFF:#x}",
        )

    def index(self, words: int, size: int) -> None:
        """R0: numbers times what threads differ by, and a number that has it begin somewhere."""
        rng = self.rng
        room = max(1, 4 * words // size)
        first = rng.choice(
            (0, 0, 0, 1, -1, 4, room - 1, room - 32, room - 31, -31, room // 2, rng.randrange(room),
             0x7FFFFFE0, -0x80000000, 1 << 30)
        )  # fmt: skip
        self.number("R0", rng.choice((0, 0, 1, 4)) if self.tame else first)
        parts = rng.sample(
            ("SR_TID.X", "SR_TID.X", "SR_TID.Y", "SR_TID.Z", "SR_LANEID", "SR_CTAID.X"), 3
        )
        if self.beside:
            parts = ["SR_TID.X", *(p for p in parts[: rng.randint(0, 3)] if p != "SR_TID.X")]
        for part in parts[: rng.randint(1, 3)]:
            self.put(f"S2R R10, {part}")
            if rng.random() < 0.15 and not self.beside:
                self.put("LOP.AND R10, R10, 0x7", "LOP3.LUT R10, R10, 0x7, RZ, 0xc0, !PT")
            self.number("R11", self._stride(part))
            self.put("IMAD R0, R10, R11, R0")

    def _stride(self, part: str) -> int:
        """How far apart what has one number more of a part lies."""
        if self.beside:
            return {"SR_TID.X": 1, "SR_LANEID": 0}.get(part, self.rng.choice((0, 8, 32, 64)))
        return self.rng.choice((1, 1, 2, 4) if self.tame else STRIDES)

    def address(self, space: str, size: int) -> None:
        """R4 and R5, or R6, from R0: signed or not, with carries as compilers have them."""
        signed, shift = self.rng.random() < 0.6, size.bit_length() - 1
        if space == "shared":
            self.put(f"SHL R6, R0, {shift:#x}", f"SHF.L.U32 R6, R0, {shift:#x}, RZ")
            return
        if self.wide:
            self.number("R11", size)
            self.put(f"IMAD.WIDE{'' if signed else '.U32'} R4, R0, R11, R8")
            return
        self.put(
            f"SHR{'' if signed else '.U32'} R12, R0, {32 - shift:#x}"
            if shift
            else ("SHR R12, R0, 0x1f" if signed else "MOV R12, RZ")
        )
        self.put(f"ISCADD R4.CC, R0, R8, {shift:#x}")
        self.put("IADD.X R5, R12, R9")

    def step(self, space: str, by: int) -> None:
        """The address of the next round."""
        if space == "shared":
            self.put(
                f"IADD32I R6, R6, {by:#x}",
                f"IADD3 R6, R6, {by:#x}, RZ",
                f"IADD3 R6, PT, PT, R6, {by:#x}, RZ",
            )
        elif self.wide:
            high = "-0x1" if by < 0 else "RZ"
            self.put(f"IADD3 R4, P2, R4, {by:#x}, RZ", f"IADD3 R4, P2, PT, R4, {by:#x}, RZ")
            self.put(
                f"IADD3.X R5, R5, {high}, RZ, P2, !PT",
                f"IADD3.X R5, PT, PT, R5, {high}, RZ, P2, !PT",
            )
        else:
            self.put(f"IADD R4.CC, R4, {by:#x}")
            self.put(f"IADD.X R5, R5, {'-0x1' if by < 0 else 'RZ'}")

    def accesses(self, space: str, width: int, guard: str) -> None:
        """Reads and writes near the address, of what the architecture has."""
        rng = self.rng
        for _ in range(rng.randint(1, 3)):
            name, size = rng.choice([*SIZES.items(), *[("", 4)] * 4])
            if self.beside:
                name, size = next((n, s) for n, s in SIZES.items() if s == width)
            elif self.tame:
                name, size = rng.choice([(n, s) for n, s in SIZES.items() if s <= width])
            near = (
                0
                if self.tame and not self.beside and rng.random() < 0.8
                else rng.choice((0, 0, 0, size, -size, 2 * size, 0x40, -0x40, 0x400))
            )
            offset = f"+{'-' * (near < 0)}{abs(near):#x}" if near else ""
            store = rng.random() < 0.5 and name != ".S16"
            op = ("ST" if store else "LD") + ("S" if space == "shared" else "G.E")
            place = "R6" if space == "shared" else "R4"
            text = f"{guard}{op}{name} " + (
                f"[{place}%s{offset}], R16" if store else f"R20, [{place}%s{offset}]"
            )
            short, long = text % "", text % ".64"
            system = short.replace(f"{op}{name}", f"{op}{name}.SYS")
            self.put(short, long, long.replace("[", "desc[UR4]["), system)
            if not store and rng.random() < 0.5:
                self.put("MOV R16, R20")

    def program(self, words: int) -> None:
        """All of it."""
        rng = self.rng
        space = rng.choice(("global", "global", "global", "shared"))
        size = rng.choice((1, 2, 4, 4, 4, 8, 16))
        self.lines = [f"MOV R{n}, RZ" for n in (16, 17, 18, 19)]
        self.put("S2R R16, SR_TID.X")
        for n, word in (("8", "out"), ("9", "out+4")):
            text = f"c[0x0][{word}]"
            self.lines.append(
                f"LDC R{n}, {text}"
                if self.arch >= "sm_9" or self.arch == "sm_120"
                else f"MOV R{n}, {text}"
            )
        self.index(words if space == "global" else SHARED // 4, size)
        self.address(space, size)
        guard = ""
        if not self.beside and (self.tame or rng.random() < 0.5):
            # A bounds test, of which the bound may be wrong.
            room = 4 * words // size if space == "global" else SHARED // size
            bound = (
                room - 8
                if self.tame
                else rng.choice((room, room, room, room + 1, room - 1, room // 2, 1))
            )
            self.number("R13", bound)
            kind = "U32." if self.tame else rng.choice(("U32.", ""))
            self.put(f"ISETP.LT.{kind}AND P0, PT, R0, R13, PT")
            guard = "@P0 " if self.tame else rng.choice(("@P0 ", "@P0 ", "@!P0 "))
        rounds = rng.choice((1, *ROUNDS) if self.beside else ROUNDS)
        self.number("R7", rounds)
        if rounds > 1 and rng.random() < 0.4:
            # Lanes leave the loop apart.
            self.put("S2R R14, SR_LANEID")
            self.put("LOP.AND R14, R14, 0x5", "LOP3.LUT R14, R14, 0x5, RZ, 0xc0, !PT")
            self.put("IADD R7, R7, R14", "IADD3 R7, R7, R14, RZ", "IADD3 R7, PT, PT, R7, R14, RZ")
        self.lines.append("again:")
        self.accesses(space, size, guard)
        if rounds > 1:
            self.step(space, size * rng.choice((1, 1, 2) if self.tame else (1, -1, 2, 32, -32)))
            self.put(
                "IADD R7, R7, -0x1", "IADD3 R7, R7, -0x1, RZ", "IADD3 R7, PT, PT, R7, -0x1, RZ"
            )
            self.put("ISETP.GT.AND P1, PT, R7, RZ, PT")
            self.lines.append("@P1 BRA `(again)")


def access(rng: random.Random, arch: str) -> Access:
    """A random program with its launch."""
    words = rng.choice((1, 9, 16, 33, 64, 96, 256, 260, 1024))
    writer = Writer(rng, arch)
    writer.program(words)
    return Access(tuple(writer.lines), random_block(rng, 128), words)


def cubin(programs: list[Access], arch: str) -> bytes:
    """Programs `k0`, `k1`, ... as one file."""
    text = [f".arch {arch}"]
    for n, each in enumerate(programs):
        text += [f".kernel k{n}", ".registers 32", f".shared {SHARED}", ".param out 8"]
        text += [*each.lines, "EXIT"]
    return assemble_file("\n".join(text), path="affine.sass").cubin()


def ended(code: bytes, n: int, each: Access, engine: str) -> tuple[str, str, bytes, bytes]:
    """How a program ends, what is said, and the memory after it."""
    loaded = gpudbg.load(code, engine=engine, num_sms=1)
    target = loaded.device.buffer(np.arange(each.words, dtype=np.uint32))
    beside = loaded.device.buffer(np.arange(64, dtype=np.uint32))
    session = loaded.launch(f"k{n}", grid=2, block=each.block, args=[target])
    stop = session.run(max_instructions=LIMIT)
    return stop.kind, str(stop), target.array().tobytes(), beside.array().tobytes()


FEATURES = ("+avx2,+fma", "+avx2,+avx512f,+avx512dq,+fma")
"""Of the hosts whose accesses to shared memory by patterns differ in kind."""


def _text_for(job: CompileJob, features: str) -> str:
    """What a job is compiled from, on another host."""
    kept = build.host
    other = build.BuildHost("x86_64-linux-gnu", "x86-64", features)
    build.host = lambda: other  # type: ignore[assignment]
    try:
        return emit(job).text
    finally:
        build.host = kept


def texts(arch: str = "sm_50", count: int = 30) -> str:
    """The code of some programs for whole warps, for hosts with and without AVX-512."""
    rng, made = random.Random(1), []
    for _ in range(count):
        each = access(rng, arch)._replace(block=(64, 1, 1))
        loaded = gpudbg.load(cubin([each], arch), engine="run", num_sms=1)
        target = loaded.device.buffer(np.arange(each.words, dtype=np.uint32))
        session = loaded.launch("k0", grid=2, block=each.block, args=[target])
        session.run(max_instructions=1)
        engine: Any = session.grid.fast
        job = engine.engine.program._job(True, GOOD)[0]
        made += [_text_for(job, features) for features in FEATURES]
    return "\n".join(made)


BATCH = 10


def run(arch: str, seed: int, count: int) -> Iterator[dict[str, object]]:
    """Run programs on both engines; a row for each that differs, and one with how all ended."""
    rng, kinds = random.Random(f"{seed} {arch}"), Counter[str]()
    for start in range(0, count, BATCH):
        programs = [access(rng, arch) for _ in range(min(BATCH, count - start))]
        code = cubin(programs, arch)
        for n, each in enumerate(programs):
            one, two = (ended(code, n, each, engine) for engine in ("step", "run"))
            kinds[one[0]] += 1
            if one != two:
                row = {"arch": arch, "number": start + n, "block": each.block, "words": each.words}
                yield {**row, "lines": each.lines, "step": one[:2], "run": two[:2]}
    yield {"arch": arch, "ended": kinds}


def main() -> int:
    """Run programs of all architectures; 1 when any crashes or differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100, help="programs for each architecture")
    parser.add_argument("--arch", nargs="+", default=ARCHITECTURES, choices=ARCHITECTURES)
    parser.add_argument("--host", default="", choices=("", *HOSTS))
    parser.add_argument("--at-begin", action="store_true", help="protected pages lie before")
    options = parser.parse_args()
    if options.host and not pretend(options.host):
        print(json.dumps({"skipped": f"this host cannot run code for {options.host}"}))
        return 0
    return guards.in_children(
        options.arch,
        lambda arch: run(arch, options.seed, options.count),
        at_end=not options.at_begin,
    )


if __name__ == "__main__":
    sys.exit(main())
