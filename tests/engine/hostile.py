"""Accesses of compiled code with hostile addresses, between protected pages, on both engines.

A `Batch` is short sequences of accesses, compiled together; each runs from many states, in which
lanes that do not execute, and at times some that do, point anywhere: below and behind their
memory, around 2^31, 2^32 and 2^63, over the end and on from the beginning.  Compiled code must
touch nothing but its memory, and together with the step engine that goes on where it leaves must do
what the step engine does alone.

    python -m tests.engine.hostile --seed 1 --batches 2 --cases 40 --host x86-64-v3

runs cases in processes of their own, and tells of each that ends one, or differs.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from gpudbg.code_layout import BUNDLES
from gpudbg.errors import AssembleError, ModelGap
from gpudbg.isa.spa5.assemble import assemble
from gpudbg.isa.spa5.decode import decode
from gpudbg.mem.local import LocalMemory
from gpudbg.mem.store import ByteStore
from gpudbg.sm import record as rec
from gpudbg.sm.atomics.compiled import atomic_functions, sum_functions
from gpudbg.sm.engines.llvm import build, layout
from gpudbg.sm.engines.llvm.ir.values import AccessHost, MaskHost
from gpudbg.sm.engines.llvm.kernel.emitter import Emitter
from gpudbg.sm.engines.llvm.kernel.listing import KernelListing
from gpudbg.sm.engines.llvm.kernel.options import EmitterOptions
from gpudbg.sm.engines.llvm.kernel.special import COMPILED_SREGS
from gpudbg.sm.engines.llvm.layout import Left
from gpudbg.sm.engines.llvm.runtime import library
from gpudbg.sm.engines.llvm.runtime.wide_moves import matrix_functions
from gpudbg.sm.engines.step import Bound
from gpudbg.sm.faults import TrapRaised, WarpErrorRaised
from gpudbg.sm.semantics import registry
from gpudbg.sm.state import WarpState
from gpudbg.sm.written import Written
from tests.engine import guards
from tests.semantics.harness import Bench

FULL = 0xFFFF_FFFF
REGISTERS = 32
SPACING = 0x40
"""Bytes from a sequence to the next: room for six instructions."""
HOSTS = {
    "x86-64-v3": "+avx2,+fma",
    "znver1": "+avx2,+fma,+f16c,-sse4a",
    "x86-64-v2": "+sse4.2,+popcnt",
    "x86-64": "",
}
"""Hosts that this one can stand for -> what they have; "" is this one as it is."""

# ---- what is accessed ----------------------------------------------------------------------------

_SIZES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "": 4, "64": 8, "128": 16}
_FLOAT = {"F32": "F32.FTZ.RN", "F64": "F64.RN"}


class Form(NamedTuple):
    """An access as the instruction set has it.

    Attributes:
        text: with `{a}` for the address.
        space: of its addresses: global, shared, local, generic, const.
        size: bytes of a lane.
    """

    text: str
    space: str
    size: int


def _plain_forms() -> Iterator[Form]:
    spaces = {"LDG.E": "global", "LDG": "global", "LD.E": "generic", "LD": "generic"}
    spaces["LDL"] = "local"
    for op, space in {**spaces, "LDS": "shared", "LDS.U": "shared"}.items():
        for name, size in _SIZES.items():
            name = "32" if op == "LDS.U" and size == 4 else name
            yield Form(f"{op}{'.' * bool(name)}{name} R16, {{a}}", space, size)
    for op, space in {**spaces, "LDS": "shared"}.items():
        for name, size in _SIZES.items():
            if name[:1] != "S":
                op = op.replace("LD", "ST")
                yield Form(f"{op}{'.' * bool(name)}{name} {{a}}, R12", space, size)
    for name, size in _SIZES.items():
        if name != "128":
            yield Form(f"LDC{'.' * bool(name)}{name} R16, c[0x2]{{a}}", "const", size)


def _atomic_forms() -> Iterator[Form]:
    for what, bits in layout.atomics_on("global").items():
        op, kind = what.split(".")
        if kind.endswith("F16x2"):
            # Named otherwise on each older architecture; `hostile_modern` has them.
            continue
        name = _FLOAT.get(kind, "" if kind == "U32" else kind)
        size, dot = bits // 8, "." * bool(name)
        if op == "CAS":
            if kind[0] == "U":
                wide = ".64" * (size == 8)
                data = f"R12, R{14 if size == 8 else 13}"
                yield Form(f"ATOM.E.CAS{wide} R20, {{a}}, {data}", "global", size)
                yield Form(f"ATOMS.CAS{wide} R20, {{a}}, {data}", "shared", size)
            continue
        yield Form(f"ATOM.E.{op}{dot}{name} R20, {{a}}, R12", "global", size)
        if op != "EXCH":
            yield Form(f"RED.E.{op}{dot}{name} {{a}}, R12", "global", size)
        if kind[0] != "F":
            yield Form(f"ATOMS.{op}{dot}{name} R20, {{a}}, R12", "shared", size)
            yield Form(f"ATOMS.{op}{dot}{name} RZ, {{a}}, R12", "shared", size)


PLAIN_FORMS = tuple(_plain_forms())
FORMS = (*PLAIN_FORMS, *_atomic_forms())
WAYS = ("lanes", "lanes", "lanes", "guessed", "uniform", "constant")
"""Where an address is from: a register by lane; the same, and the code expects a pattern of it; a
register with one number; the instruction."""
GUARDS = ("", "@P1 ", "@!P2 ")
OFFSETS = (0, 0, 0, 4, 8, 16, -4, -8, -16, 0x40, -0x40, 0x400, -0x400, 0x7FFFF0, -0x800000)
CONSTANTS = (0, 4, 12, 16, 20, 64, 1020, 1024, 0x7FFC, 0x7FFFF0, 0xFFFFC0, 0xFFFFFC)
_ADDRESS = {"global": 6, "generic": 6, "shared": 8, "local": 8, "const": 8}
"""Register of the address."""


@dataclass(frozen=True, slots=True)
class Sequence:
    """Accesses that run one after the other.

    Attributes:
        lines: their text.
        form: of the first one.
        offset: its constant.
        way: one of `WAYS`.
        pattern: of the lanes, where the code expects one.
    """

    lines: tuple[str, ...]
    form: Form
    offset: int
    way: str
    pattern: tuple[int, ...] | None

    @property
    def guarded(self) -> bool:
        """Whether every access has a guard."""
        return all("@" in line or line.startswith("MOV") for line in self.lines)


GUESSED = 12
"""Sequences of a batch on words and less in a guessed pattern."""
ROWS = 6
"""Sequences of a batch that load words one behind the other."""
PATTERNS: tuple[Callable[[int, int], int], ...] = (
    lambda n, size: n * size,
    lambda n, size: n * 2 * size,
    lambda n, size: n * 4 * size,
    lambda n, size: n % 16 * size + n // 16 * 0x100,
    lambda n, size: n // 16 * 0x40,
    lambda n, size: (n ^ 3) * size,
    lambda n, size: (31 - n) * size,
    lambda n, size: 0,
)
"""Bytes from the first lane, by lane and size of the access."""


def sequence(rng: random.Random, form: Form, guard: str, way: str) -> Sequence:
    """One to three accesses that begin at the same address register."""
    pattern = None
    if way == "guessed":
        pick = rng.choice(PATTERNS)
        lanes = [pick(n, form.size) for n in range(32)]
        pattern = tuple(place - min(lanes) for place in lanes)
    base, lines = f"R{_ADDRESS[form.space]}", []
    offset = _offset(rng, form, base, OFFSETS)
    if way == "constant":
        base = "RZ"
        offset = _offset(rng, form, base, CONSTANTS)
    elif way == "uniform":
        bank = 0x140
        lines = [f"MOV {base}, c[0x0][{bank:#x}]"]
        if form.space in ("global", "generic") and ".E" in form.text:
            lines.append(f"MOV R7, c[0x0][{bank + 4:#x}]")
    lines.append(guard + form.text.format(a=_place(base, offset)))
    for _ in range(rng.randrange(3)):
        alike = [f for f in FORMS if f.space == form.space and f.size <= max(4, form.size)]
        alike = [f for f in alike if (".E" in f.text) is (".E" in form.text)]
        also, near = rng.choice(alike), (offset, offset + form.size)
        more = _offset(rng, also, base, near if base == "RZ" else (*near, *near, *OFFSETS))
        lines.append(rng.choice((guard, guard, *GUARDS)) + also.text.format(a=_place(base, more)))
    return Sequence(tuple(lines), form, offset, way, pattern)


def row_of_words(rng: random.Random, guard: str) -> Sequence:
    """Loads of words that follow one another from one register."""
    form = rng.choice([f for f in PLAIN_FORMS if f.text in ("LDG.E R16, {a}", "LDS R16, {a}")])
    base, first = f"R{_ADDRESS[form.space]}", rng.choice(OFFSETS[:-2])
    offsets = [first + 4 * n for n in rng.sample(range(5), rng.randint(3, 5))]
    lines = [
        guard + form.text.format(a=_place(base, offset)).replace("R16", f"R{16 + n % 4}")
        for n, offset in enumerate(offsets)
    ]
    return Sequence(tuple(lines), form, offsets[0], "lanes", None)


def _offset(rng: random.Random, form: Form, base: str, some: tuple[int, ...]) -> int:
    """One of some constants that the instruction has room for; else 0."""
    for _ in range(4):
        found = rng.choice(some)
        if _legal(form.text.format(a=_place(base, found))):
            return found
    return 0


@cache
def _legal(text: str) -> bool:
    try:
        return bool(assemble(text))
    except AssembleError:
        return False


def _place(base: str, offset: int) -> str:
    if base == "RZ":
        return f"[{offset:#x}]"
    return f"[{base}]" if not offset else f"[{base}+{'-' * (offset < 0)}{abs(offset):#x}]"


# ---- a batch -------------------------------------------------------------------------------------


def access_library(host: AccessHost) -> str:
    """The part of the library that touches memory."""
    return "\n".join(
        [
            library._resolve(),
            library._shuffle(),
            *library.access_functions(host),
            *library.generic_functions(),
            *library.constant_functions(host),
            *atomic_functions(host),
            *sum_functions(host),
            *matrix_functions(),
        ]
    )


class Batch:
    """Sequences in compiled code, and the step engine beside it, on the same memory.

    Attributes:
        sequences: what runs.
        threads: atomics are those for memory at which other host threads may be.
        calls: functions of the library that the code calls.
        slow: accesses without a compiled version.
        marking: spaces in which what is written is marked (`gpudbg.sm.written`): all, or none.
    """

    def __init__(self, seed: int, count: int = 48, wanted: list[tuple[Form, str]] | None = None):
        """Args: wanted: forms and guards to begin with."""
        self.rng = rng = random.Random(seed)
        self.arch = rng.choice(("sm_50", "sm_61"))
        picked = list(wanted or ())
        rest = range(count - len(picked))
        # The code has ways of its own for those.
        usual = tuple(form for form in PLAIN_FORMS if form.size == 4)
        picked += [(rng.choice((*PLAIN_FORMS, *usual)), rng.choice(GUARDS)) for _ in rest]
        self.sequences = [sequence(rng, form, guard, rng.choice(WAYS)) for form, guard in picked]
        spaces = [form for form in PLAIN_FORMS if form.space in ("shared", "global")]
        words = [form for form in usual if form.space == "shared"]
        few = [form for form in spaces if form.size <= 4]
        self.sequences += [
            sequence(rng, rng.choice(words if n % 2 else few), rng.choice(GUARDS), "guessed")
            for n in range(GUESSED)
        ]
        # First: of many accesses some are not done in place.
        self.sequences[:0] = [row_of_words(rng, rng.choice(GUARDS)) for _ in range(ROWS)]
        self.run_length = rng.choice((16, 32))
        self.shared_bytes = rng.choice((1024, 1024, 128, 64, 4096, 16, 0))
        self.memory_bytes = rng.choice((4096, 4096, 1024, 1040, 20))
        self.threads = bool(rng.randrange(2))
        self.marking = frozenset(layout.SPACES if seed % 2 else ())
        self.calls: set[str] = set()
        self.slow: dict[int, str] = {}
        if any(".F64." in line for each in self.sequences for line in each.lines):
            self.arch = "sm_61"
        self.listing = self._listing()

    def pc(self, n: int) -> int:
        """Where a sequence begins."""
        return 8 + SPACING * n

    def _listing(self) -> KernelListing:
        listing = KernelListing(self.arch, 0, 8)
        self.ends: list[int] = []
        for n, each in enumerate(self.sequences):
            pc = self.pc(n)
            listing.heads.add(pc)
            for line in each.lines:
                listing.code[pc] = decode(assemble(line, pc, self.arch), self.arch)
                pc = BUNDLES.next(pc)
            self.ends.append(pc)
        # All of it is a loop: only there are accesses of code for any lanes done in place.
        pc = self.pc(len(self.sequences))
        listing.code[pc] = decode(assemble("BRA 0x8;", pc, self.arch), self.arch)
        return listing

    def emitter(self, full: bool, masks: MaskHost | None = None) -> Emitter:
        """An emitter for the batch; its text is the code.

        Args:
            masks: for any host that keeps masks so; None: for this one.
        """
        banks = {0: 0x400, 1: 0x400, 2: 20, 3: 64}
        host = build.host()
        patterns = {}
        for n, each in enumerate(self.sequences):
            if each.pattern is not None:
                pc = self.pc(n)
                while pc != self.ends[n]:
                    patterns[pc] = each.pattern
                    pc = BUNDLES.next(pc)
        options = EmitterOptions(
            full,
            REGISTERS,
            banks,
            COMPILED_SREGS,
            self.run_length,
            wide_vectors=(masks or host.masks) is MaskHost.REGISTERS,
            masks=masks or host.masks,
            start="divide" if masks else host.start,
            patterns=patterns,
            first_site=0 if full else len(self.listing.code),
            marking=self.marking,
        )
        made = Emitter(self.listing, options)
        made.runtime.called = self.calls
        return made

    # ---- memory ----------------------------------------------------------------------------

    def make(self) -> None:
        """Compile, and make memory."""
        self._codes = []
        for full in (True, False):
            emitter = self.emitter(full)
            code = build.Code(build.object_of(emitter.text("warp"), 0))
            self._codes.append((code, code.address("warp")))
            self.slow |= emitter.slow
        text = access_library(build.host().accesses)
        self._library = build.Code(build.object_of(text, 0, "variables"))
        self._bench()
        self._environment()

    def _bench(self) -> None:
        self.bench = bench = Bench(self.arch, REGISTERS, self.shared_bytes)
        bench.banks[2], bench.banks[3] = ByteStore(20), ByteStore(64)
        bench.engine.constants.banks.update(bench.banks)
        if self.rng.randrange(2):
            # Across a multiple of 4 GiB.
            start = (bench.memory.next_address >> 32) + 1 << 32
            bench.memory.next_address = start - self.memory_bytes // 2 // 16 * 16
        sizes = (self.memory_bytes, 256)
        self.memory = [bench.memory.allocate(size, f"memory {size}") for size in sizes]
        low = self.rng.choice((0, 64))
        local = LocalMemory(self.rng.choice((512, 1024)), low)
        bench.warp = WarpState(bench.cta, 0, 0, REGISTERS, 32, local)
        bench.cta.warps = [bench.warp]
        self._stores = [*self.memory, bench.cta.shared, local._store] if self.marking else []
        for store in self._stores:
            store.marks = guards_zeroed(len(store._padded))
        for allocation in self.memory if self.marking else ():
            bench.memory.leave_uninitialized(allocation)
        bench.engine.written = Written() if self.marking else None
        for pc, insn in self.listing.code.items():
            index, negated = insn.guard
            function = registry.table()[insn.op]
            bound = Bound(pc, BUNDLES.next(pc), rec.PRED + index, negated, insn, function)
            bench.engine._bound[pc] = bound

    def _environment(self) -> None:
        self._kept = [guards_zeroed(layout.ENVIRONMENT_BYTES)]
        env = self._kept[0].view(np.int64)
        for name in self.calls:
            address = self._library.address(layout.symbol(name, self.threads))
            env[layout.FUNCTIONS // 8 + layout.FUNCTION_INDEX[name]] = address
        bench, warp = self.bench, self.bench.warp
        for number, store in bench.banks.items():
            env[layout.BANKS // 8 + 2 * number] = guards.address_of(store.data)
            env[layout.BANKS // 8 + 2 * number + 1] = bench.engine.constants.bound(number)
        sites = guards_zeroed(2 * len(self.listing.code) * layout.SITE_BYTES)
        marks = guards_zeroed(SPACING * len(self.sequences) + 64)
        rows = bench.memory.table()
        table = guards_zeroed(rows.nbytes).view(np.int64)
        table[:] = rows.reshape(-1)
        self._kept += [sites, marks, table]
        local = warp.local
        for offset, value in (
            (layout.SITES, guards.address_of(sites)),
            (layout.MARKS, guards.address_of(marks)),
            (layout.TABLE, guards.address_of(table)),
            (layout.TABLE_COUNT, len(rows)),
            (layout.SHARED_WINDOW, bench.memory.layout.shared_window),
            (layout.SHARED_BYTES, self.shared_bytes),
            (layout.LOCAL_LOW, local.low),
            (layout.LOCAL_START, local.start),
            (layout.LOCAL_BYTES, local.size),
        ):
            env[offset // 8] = value
        if self.marking:
            for offset, store in (
                (layout.SHARED_MARKS, bench.cta.shared), (layout.LOCAL_MARKS, local._store),
            ):  # fmt: skip
                apart = guards.address_of(store.marked()) - guards.address_of(store._padded)
                env[offset // 8] = apart
            # The descriptor of a block that nothing is asked of but its number.
            self._cta = np.zeros(8, np.int64)
        words = warp.record.view(np.int64)
        if self.marking:
            words[layout.CTA_POINTER // 8] = guards.address_of(self._cta)
        words[layout.SHARED_POINTER // 8] = guards.address_of(bench.cta.shared.data)
        words[layout.LOCAL_POINTER // 8] = guards.address_of(local.words)
        self._call = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)

    # ---- states ------------------------------------------------------------------------------

    def _limits(self, space: str, rng: random.Random) -> tuple[int, int, int]:
        """(First address, bytes, bits of an address) of some memory of a space."""
        bench, local = self.bench, self.bench.warp.local
        if space == "const":
            return 0, 20, 32
        if space == "shared":
            return 0, self.shared_bytes, 32
        if space == "local":
            return (0, local.low, 32) if local.low and rng.randrange(2) else (
                local.start, local.high, 32
            )  # fmt: skip
        if space == "generic" and rng.randrange(2):
            window = bench.memory.layout.shared_window
            if rng.randrange(2):
                return window, self.shared_bytes, 64
            return window + (1 << 24) + local.start, local.high, 64
        one = rng.choice((0, 0, 1))
        return self.memory[one].base, self.memory[one].size, 64

    def addresses(self, n: int, rng: random.Random) -> tuple[list[int], int]:
        """(Effective addresses of the first access, lanes that are inside and aligned)."""
        each = self.sequences[n]
        size = each.form.size
        start, room, bits = self._limits(each.form.space, rng)
        pick = rng.choice((PATTERNS[0], rng.choice(PATTERNS)))
        lanes = [pick(k, size) for k in range(32)]
        if each.pattern is not None and rng.randrange(4):
            lanes = list(each.pattern)
        whole = max(lanes) + size
        first = rng.choice(
            (0, room - whole, room - size, *(-size * rng.randrange(1, 32) for _ in range(4)),
             room - size * rng.randrange(33), size * rng.randrange(4), 0x100, -whole, room, -4)
        )  # fmt: skip
        if bits == 64 and start >> 32 != start + room >> 32 and rng.randrange(2):
            # The sum of the base, or of base and constant, is a multiple of 4 GiB in some lane.
            here = (-start & FULL) + rng.choice((0, each.offset))
            first = here - size * rng.randrange(1, 32)
        if rng.randrange(8):
            first -= first % size
        places = [start + first + lane for lane in lanes]
        for _ in range(rng.choice((0, 0, 0, 0, 1, 2, 8, 31))):
            places[rng.randrange(32)] = self._hostile(rng, start, room, size, bits)
        places = [place & (1 << bits) - 1 for place in places]
        good = 0
        for lane, place in enumerate(places):
            inside = 0 <= place - start <= room - size and not place % size
            good |= inside << lane
        return places, good

    def _hostile(self, rng: random.Random, start: int, room: int, size: int, bits: int) -> int:
        some = size * rng.randrange(64)
        return rng.choice(
            (start - size, start + room, start + room - size + 1, 1 << 31, (1 << 31) - size,
             (1 << 32) - size, (1 << 32) + some, 1 << 63, (1 << 63) - size, (1 << 64) - size,
             (1 << 64) - some, some, start + (1 << 32), start - (1 << 32), start ^ 1 << 63,
             start + (1 << 24), rng.getrandbits(bits), start + rng.getrandbits(20) - (1 << 19),
             self.memory[0].end, self.memory[1].base - size, 0xFFFF_8000_0000_0000)
        )  # fmt: skip

    def begin(self, n: int, seed: int) -> None:
        """The state before a case, which its number tells."""
        rng = random.Random(seed)
        each, warp = self.sequences[n], self.bench.warp
        fill = np.random.default_rng(seed)
        for store in self._stores:
            store.marked()[:] = 0xFF if store is self.bench.cta.shared and seed % 4 == 3 else 0
        env = self._kept[0].view(np.int64)
        env[layout.MARKED // 8] = env[layout.MARKING // 8] = -1
        spaces = [a.words for a in self.memory] + [self.bench.cta.shared.words, warp.local.words]
        for words in (*spaces, *(store.words for store in self.bench.banks.values()), warp.R):
            words[...] = fill.integers(0, 1 << 32, words.shape, np.uint32)
        places, good = self.addresses(n, rng)
        bank = self.bench.banks[0].words
        base = [(place - each.offset) & (1 << 64) - 1 for place in places]
        bank[0x140 // 4], bank[0x144 // 4] = base[0] & FULL, base[0] >> 32
        register = _ADDRESS[each.form.space]
        warp.R[register] = np.array([v & FULL for v in base], np.uint32)
        if register == 6:
            warp.R[7] = np.array([v >> 32 for v in base], np.uint32)
            if not rng.randrange(3):
                # Sums that lack the carry to the high word.
                warp.R[7] = base[0] >> 32
        # Only lanes that are inside execute, or others too.
        lanes = rng.choice((*(good,) * 5, good & rng.getrandbits(32), good & rng.getrandbits(32),
                            good | 1 << rng.randrange(32), FULL, rng.getrandbits(32)))  # fmt: skip
        active = lanes or 1 << rng.randrange(32)
        if each.guarded and rng.randrange(4):
            active = rng.choice((FULL, FULL, active | rng.getrandbits(32)))
        record = warp.words
        for k in range(7):
            warp.predicates[k] = rng.getrandbits(32)
        warp.predicates[1], warp.predicates[2] = lanes, ~lanes & FULL
        record[rec.VALID], record[rec.EXITED], record[rec.STATUS] = FULL, 0, rec.READY
        record[rec.DEPTH] = record[rec.BAR_WAIT] = 0
        warp.active, warp.pc = active, self.pc(n)

    def _snapshot(self) -> list[Any]:
        """What a case leaves behind."""
        warp = self.bench.warp
        spaces = [*self.memory, self.bench.cta.shared]
        content = [store.data.tobytes() for store in spaces] + [warp.local.words.tobytes()]
        state = [warp.pc, warp.active, list(warp.predicates), list(warp.cc), warp.stack]
        marks = b"".join(store.marked().tobytes() for store in self._stores)
        return [*state, warp.R.tobytes(), *content, marks]

    def _finish(self, n: int) -> tuple[str, list[Any]]:
        """Let the step engine go on to the end of the sequence; how that ended, and the state."""
        bench, count, pc = self.bench, 0, self.bench.warp.pc
        while pc != self.ends[n] and count < len(self.sequences[n].lines):
            count, pc = count + 1, BUNDLES.next(pc)
        if not count:
            return "done", self._snapshot()
        try:
            ended = bench.engine.run(bench.warp, bench.sm, count)
        except ModelGap as gap:
            return f"gap {gap}", self._snapshot()
        if ended in ("fault", "trap"):
            fault: Any = bench.engine.fault
            assert isinstance(fault, WarpErrorRaised | TrapRaised)
            return f"{fault} {getattr(fault, 'lanes', '')}", self._snapshot()
        return "done", self._snapshot()

    def case(self, n: int, seed: int) -> tuple[str, bool]:
        """Run a case on both: how they differ or "", and whether compiled code came to the end."""
        self.begin(n, seed)
        want = self._finish(n)
        self.begin(n, seed)
        warp = self.bench.warp
        warp.record.view(np.int64)[rec.FIELDS["budget"].offset // 8] = 1000
        code = self._codes[0 if warp.active == FULL else 1]
        why = self._call(code[1])(guards.address_of(self._kept[0]), guards.address_of(warp.record))
        reached = warp.pc == self.ends[n]
        if why & 255 not in (Left.STEP, Left.MISS, Left.GUESS):
            return f"left by {why}", reached
        got = self._finish(n)
        if got[0] != want[0]:
            return f"run engine: {got[0]}; step engine: {want[0]}", reached
        names = ("pc", "active", "predicates", "flags", "stack", "registers", "memory", "memory 2",
                 "shared", "local", "marks")  # fmt: skip
        wrong = [name for name, a, b in zip(names, got[1], want[1], strict=True) if a != b]
        return ", ".join(wrong), reached


def guards_zeroed(size: int) -> Any:
    """Memory from where `gpudbg.mem.pages` has it now."""
    from gpudbg.mem import pages

    return pages.zeroed(size)


# ---- running -------------------------------------------------------------------------------------


def pretend(name: str) -> bool:
    """Have code made for another host; false where this one cannot run it."""
    real = build.host()
    wanted = HOSTS[name]
    here = set(real.features.split(","))
    asked = {name for name in wanted.split(",") if name.startswith("+")}
    if not real.triple.startswith("x86_64") or not asked <= here:
        return False
    older = build.BuildHost(real.triple, name, wanted)
    build.host = lambda: older  # type: ignore[assignment]
    build._machine.cache_clear()
    return True


def wanted_of(batch: int) -> list[tuple[Form, str]]:
    """A share of all forms with all guards: every one comes in some batch."""
    pairs = [(form, guard) for form in FORMS for guard in GUARDS[:2]]
    random.Random(0).shuffle(pairs)
    start = 32 * batch % len(pairs)
    return (pairs + pairs)[start : start + 32]


BATCHES = -(-2 * len(FORMS) // 32)
"""After so many batches every form has come."""


def run_batch(batch: int, seed: int, cases: int) -> Iterator[dict[str, Any]]:
    """Run a batch's cases; a row for each that crashed or differs, and one for the batch."""
    made = Batch(1000 * seed + batch, wanted=wanted_of(batch))
    made.make()
    todo = [(n, k) for k in range(cases) for n in range(len(made.sequences))]
    at, reached = 0, 0
    while at < len(todo):
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.close(reader)
            _worker(made, todo[at:], batch, seed, writer)
        os.close(writer)
        lines = _lines(reader)
        _, status = os.waitpid(child, 0)
        begun = [line for line in lines if isinstance(line, int)]
        for line in lines:
            if isinstance(line, dict):
                reached += line.pop("reached", 0)
                if line:
                    yield line
        if not os.WIFSIGNALED(status):
            if os.WEXITSTATUS(status):
                yield {"what": f"exit {os.WEXITSTATUS(status)}", "batch": batch}
            break
        at += begun[-1]
        n, k = todo[at]
        yield _row(made, batch, n, k, f"signal {os.WTERMSIG(status)}")
        at += 1
    yield {"batch": batch, "cases": len(todo), "reached": reached, "slow": sorted(made.slow)}


def _row(made: Batch, batch: int, n: int, k: int, what: str) -> dict[str, Any]:
    text = "; ".join(made.sequences[n].lines)
    return {"what": what, "batch": batch, "sequence": n, "case": k, "text": text, "arch": made.arch}


def _seed(seed: int, batch: int, n: int, k: int) -> int:
    return ((seed * 1009 + batch) * 1009 + n) * 1009 + k


def _worker(made: Batch, todo: list[tuple[int, int]], batch: int, seed: int, writer: int) -> None:
    reached = 0
    try:
        for place, (n, k) in enumerate(todo):
            os.write(writer, f"{place}\n".encode())
            wrong, here = made.case(n, _seed(seed, batch, n, k))
            reached += here
            if wrong:
                row = _row(made, batch, n, k, wrong)
                os.write(writer, (json.dumps(row) + "\n").encode())
        os.write(writer, (json.dumps({"reached": reached}) + "\n").encode())
        os._exit(0)
    except BaseException:
        import traceback

        traceback.print_exc()
        os._exit(9)


def _lines(reader: int) -> list[Any]:
    with os.fdopen(reader, "rb") as pipe:
        return [json.loads(line) for line in pipe.read().splitlines()]


def main() -> int:
    """Run batches; 1 when any case crashes or differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="batch to begin with")
    parser.add_argument("--batches", type=int, default=BATCHES)
    parser.add_argument("--cases", type=int, default=4, help="states of each sequence")
    parser.add_argument("--host", default="", choices=["", *HOSTS])
    parser.add_argument("--at-begin", action="store_true", help="protected pages lie before")
    parser.add_argument("--show", type=int, default=20, help="rows to print at most")
    options = parser.parse_args()
    guards.quiet()
    if options.host and not pretend(options.host):
        print(json.dumps({"skipped": options.host}))
        return 0
    made = guards.Guards()
    made.at_end = not options.at_begin
    made.install()
    wrong = cases = crashes = 0
    for batch in range(options.first, options.first + options.batches):
        for row in run_batch(batch, options.seed, options.cases):
            if "cases" in row:
                cases += row["cases"]
                print(json.dumps(row), flush=True)
                continue
            wrong += 1
            crashes += row["what"].startswith("signal")
            if wrong <= options.show:
                print(json.dumps(row), flush=True)
    print(json.dumps({"total": cases, "crashes": crashes, "differ": wrong - crashes}))
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
