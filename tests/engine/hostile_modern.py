"""Accesses of sm_75 and later with hostile addresses, whole launches between protected pages.

Each program is some accesses with addresses by lane; lanes that do not execute them, and at times
one that does, point anywhere.  The run engine must touch nothing but its memory, and end as the
step engine does: the same stop, the same message, the same memory.

    python -m tests.engine.hostile_modern --seed 1 --count 40 --arch sm_80 sm_90

runs each architecture in a process of its own: an access outside ends it with a signal.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

import gpudbg
from gpudbg.errors import AssembleError
from gpudbg.isa.volta import assemble
from gpudbg.mem.windows import WINDOW_BYTES, AddressLayout
from tests.engine import guards
from tests.engine.modern_forms import COUNT, SHARED, Words, program_words

ARCHITECTURES = ("sm_75", "sm_80", "sm_89", "sm_90", "sm_120")
SIZES = {".U8": 1, ".S8": 1, ".U16": 2, ".S16": 2, "": 4, ".64": 8, ".128": 16}
TARGET = 1024
"""Bytes of the buffer that programs access, beside the one their registers come from."""
LOCAL_START, LOCAL = 0xFFFC00, 1024
"""A thread's local memory, of a program without a file's tables."""

Case = tuple[str, int, str]
"""A line with `{o}` for the constant; bytes of a lane; the space of its addresses."""

_BASES = {"global": "R8", "generic": "R18", "shared": "R12", "local": "R14", "const": "R16"}


def _moves() -> Iterator[Case]:
    wide = ("R8", "R8.64+UR4"), ("R18", "R18.64+UR4")
    narrow = ("R12", "R12.X4", "R12.X16+UR4", "R12+UR4"), ("R14", "R14+UR4")
    for op, space, places in (
        ("LDG.E", "global", wide[0]), ("LD.E", "generic", wide[1]),
        ("LDS", "shared", narrow[0]), ("LDL", "local", narrow[1]),
    ):  # fmt: skip
        store = op.replace("LD", "ST")
        for name, size in SIZES.items():
            for place in places:
                for end in ("", ".SYS"):
                    yield f"{op}{name}{end} R20, [{place}{{o}}]", size, space
                    if ".S" not in name:
                        yield f"{store}{name}{end} [{place}{{o}}], R24", size, space
    for name, size in SIZES.items():
        yield f"LDC{name} R20, c[0x0][R16{{o}}]", size, "const"


def _others() -> Iterator[Case]:
    for op in ("ADD", "MAX.S32", "EXCH", "AND", "ADD.F32.FTZ.RN", "ADD.64", "ADD.F16x2.RN"):
        size = 8 if "64" in op else 4
        data = "PT, R20, [R8{o}], R24"
        yield f"ATOMG.E.{op}.STRONG.GPU {data}", size, "global"
        yield f"ATOM.E.{op}.STRONG.GPU {data.replace('R8', 'R18')}", size, "generic"
        yield f"RED.E.{op}.STRONG.GPU [R8{{o}}], R24", size, "global"
        yield f"REDG.E.{op}.STRONG.GPU desc[UR4][R8.64{{o}}], R24", size, "global"
        yield f"ATOMS.{op} R20, [R12{{o}}], R24", size, "shared"
    yield "ATOMG.E.CAS.STRONG.GPU PT, R20, [R8{o}], R24, R25", 4, "global"
    yield "ATOMS.CAS R20, [R12{o}], R24, R25", 4, "shared"
    yield "ATOMS.CAST.SPIN R20, [R12{o}], R24, R25", 4, "shared"
    yield "ATOMS.POPC.INC.32 RZ, [R12+UR4{o}]", 4, "shared"
    for suffix in ("", ".A1T0", ".A0TR", ".RED.A1T0", ".OPTOUT.ART0"):
        yield f"SYNCS.ARRIVE.TRANS64{suffix} R20, [R12+UR4{{o}}], R24", 8, "shared"
    yield "SYNCS.PHASECHK.TRANS64 P2, [R12+UR4{o}], R24", 8, "shared"
    for count in ("", ".2", ".4"):
        for kind in ("M88", "MT88"):
            yield f"LDSM.16.{kind}{count} R20, [R12{{o}}]", 16, "shared"
            yield f"STSM.16.{kind}{count} [R12{{o}}], R24", 16, "shared"
    for name, size in (("", 4), (".64", 8), (".128", 16), (".BYPASS.128", 16)):
        yield f"LDGSTS.E{name} [R12{{o}}], [R8.64]", size, "shared"
        yield f"LDGSTS.E{name} [R12], [R8.64{{o}}]", size, "global"


@cache
def forms(arch: str) -> tuple[Case, ...]:
    """The accesses that an architecture has."""
    return tuple(case for case in (*_moves(), *_others()) if _legal(case[0].format(o=""), arch))


@cache
def _legal(text: str, arch: str) -> bool:
    try:
        return bool(assemble(text, 0, arch))
    except AssembleError:
        return False


class Way(NamedTuple):
    """How the register of a space makes addresses.

    Attributes:
        size: bytes of a lane.
        offset: the constant.
        scale: factor of the register.
        uniform: whether UR4 is added.
        lanes: how many lanes have addresses that count, whatever they execute; 0: those that do.
    """

    size: int
    offset: int
    scale: int
    uniform: bool
    lanes: int


class Program(NamedTuple):
    """Accesses, and how their addresses are made by space."""

    lines: tuple[str, ...]
    ways: dict[str, Way]


OFFSETS = (0, 0, 0, 4, -4, 16, -16, 0x40, -0x400, 0x7FFFF0, -0x800000)
_SCALES = {".X4": 4, ".X8": 8, ".X16": 16}
_MATRICES = {".2 ": 16, ".4 ": 32}
"""Lanes with the rows of two and four matrices; one has 8."""


def program(rng: random.Random, arch: str) -> Program:
    """An access or two of each space; lanes with P0, and without P1, execute."""
    lines, ways = ["R2UR UR4, R38", "R2P PR, R17, 0x3f"], dict[str, Way]()
    for text, size, space in rng.sample(forms(arch), 6):
        way = _way(rng, arch, text, size)
        if (ways.setdefault(space, way)._replace(size=size)) != way or size > ways[space].size:
            continue
        offset = way.offset
        sign = f"+{'-' * (offset < 0)}{abs(offset):#x}" if offset else ""
        guard = "" if way.lanes else rng.choice(("@P0 ", "@!P1 "))
        lines.append(guard + text.format(o=sign))
    if any("LDGSTS" in line for line in lines):
        lines += ["LDGDEPBAR", "DEPBAR.LE SB0, 0x0"]
    return Program(tuple(lines), ways)


def _way(rng: random.Random, arch: str, text: str, size: int) -> Way:
    offset = rng.choice(OFFSETS)
    scale = next((s for name, s in _SCALES.items() if name in text), 1)
    sign = f"+{'-' * (offset < 0)}{abs(offset):#x}" if offset else ""
    if offset % scale or not _legal(text.format(o=sign), arch):
        offset = 0
    lanes = next((n for name, n in _MATRICES.items() if name in text), 8) if "SM.16" in text else 0
    return Way(size, offset, scale, "+UR4" in text, lanes)


def _hostile(rng: random.Random, start: int, room: int, size: int) -> int:
    return rng.choice(
        (start - size, start + room, start + room - size + 1, 1 << 31, (1 << 31) - size,
         (1 << 32) - size, 1 << 32, 1 << 63, (1 << 63) - size, (1 << 64) - size, 0,
         start + (1 << 32), start - (1 << 32), start ^ 1 << 63, start + (1 << 24),
         rng.getrandbits(64), start + rng.getrandbits(20) - (1 << 19))
    )  # fmt: skip


def registers(
    rng: random.Random, made: Program, base: int, windows: AddressLayout, threads: int, wrong: bool
) -> Words:
    """R8 to R39 of each thread: lanes that execute point into memory, the others anywhere.

    Args:
        base: the target's address.
        windows: where generic addresses of shared and local memory lie.
        wrong: one lane that executes points anywhere too.
    """
    filled = np.random.default_rng(rng.getrandbits(32))
    data = filled.integers(0, 1 << 32, (threads, COUNT), np.int64)
    window = windows.shared_window
    anywhere = [(base, TARGET), (window, SHARED), (windows.local_window + LOCAL_START, LOCAL)]
    if windows.ranked:
        # Of another block, where there is a cluster.
        anywhere.append((window + WINDOW_BYTES, SHARED))
    limits = {
        "global": (base, TARGET), "shared": (0, SHARED),
        "local": (LOCAL_START, LOCAL), "const": (0, 0x160),
        "generic": rng.choice(anywhere),
    }  # fmt: skip
    lanes = rng.choice((rng.getrandbits(threads) or 1, 1 << rng.randrange(threads), ~1, 0))
    added = rng.choice((0, 0, 16, 0xFFFFFFF0, 1 << 31))
    for lane in range(threads):
        data[lane, 17 - 8] = data[lane, 17 - 8] & ~3 | (1 if lanes >> lane & 1 else 2)
    data[:, 38 - 8] = added
    odd = rng.randrange(threads) if wrong else -1
    mixed = rng.random() < 0.4
    for space, (size, offset, scale, uniform, needed) in made.ways.items():
        (start, room), step = limits[space], max(size, scale)
        for lane in range(threads):
            if space == "generic" and mixed:
                start, room = rng.choice(anywhere)
            place = start + (rng.randrange(room // step) * step)
            inside = lane % 32 < needed if needed else lanes >> lane & 1
            if lane == odd or not inside:
                place = _hostile(rng, start, room, step)
            place = (place - offset - uniform * added) % (1 << 64) // scale
            column = int(_BASES[space][1:]) - 8
            data[lane, column] = place & 0xFFFFFFFF
            if space in ("global", "generic"):
                data[lane, column + 1] = place >> 32
    return data.astype(np.uint32)


class Machine:
    """Where programs run: an architecture, and a folder for them."""

    def __init__(self, arch: str, folder: Path):
        self.arch = arch
        self.path = folder / "forms.bin"
        self.data_address = 0
        self.run(Program((), {}), np.zeros((32, COUNT), np.uint32), "step")

    def run(
        self, made: Program, data: Words, engine: str, blocks: int = 1
    ) -> tuple[str, str, bytes, bytes]:
        """How a run ends, what it says, and the memory after it; several blocks are a cluster."""
        while True:
            words = program_words(made.lines, self.data_address, self.arch, 3)
            self.path.write_bytes(b"".join(word.to_bytes(16, "little") for word in words))
            loaded = gpudbg.load(str(self.path), arch=self.arch, engine=engine)
            target = loaded.device.buffer(np.arange(TARGET // 4, dtype=np.uint32))
            buffer = loaded.device.buffer(data)
            self.base = target.address
            self.windows = loaded.device.gpu.memory.layout
            if buffer.address == self.data_address:
                break
            self.data_address = buffer.address
        sizes = {"grid": blocks, "block": len(data), "shared_bytes": SHARED}
        cluster = blocks if blocks > 1 else None
        session = loaded.launch("forms", args=[], cluster=cluster, **sizes)
        stop = session.run(max_instructions=20_000)
        return stop.kind, str(stop), buffer.array().tobytes(), target.array().tobytes()


def run(arch: str, seed: int, count: int, folder: Path) -> Iterator[dict[str, object]]:
    """Run programs on both engines; a row for each that differs, and one with how all ended."""
    rng, kinds = random.Random(f"{seed} {arch}"), dict[str, int]()
    machine = Machine(arch, folder)
    for number in range(count):
        made, threads = program(rng, arch), rng.choice((32, 64))
        blocks = 2 if machine.windows.ranked and rng.random() < 0.5 else 1
        for wrong in (False, True):
            data = registers(rng, made, machine.base, machine.windows, threads, wrong)
            one, two = (machine.run(made, data, engine, blocks) for engine in ("step", "run"))
            kinds[one[0]] = kinds.get(one[0], 0) + 1
            if one != two:
                row = {"arch": arch, "number": number, "wrong": wrong, "lines": made.lines}
                yield {**row, "step": one[:2], "run": two[:2]}
    yield {"arch": arch, "ended": kinds}


def main() -> int:
    """Run programs of all architectures; 1 when any crashes or differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20, help="programs for each architecture")
    parser.add_argument("--arch", nargs="+", default=ARCHITECTURES, choices=ARCHITECTURES)
    parser.add_argument("--at-begin", action="store_true", help="protected pages lie before")
    options = parser.parse_args()

    def rows(arch: str) -> Iterator[dict[str, object]]:
        with tempfile.TemporaryDirectory() as folder:
            yield from run(arch, options.seed, options.count, Path(folder))

    return guards.in_children(options.arch, rows, at_end=not options.at_begin)


if __name__ == "__main__":
    sys.exit(main())
