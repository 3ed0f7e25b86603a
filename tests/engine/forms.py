"""Single instructions on both engines: many forms compiled together, each run alone."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from gpudbg.errors import DecodeError, ModelGap
from gpudbg.formats.cubin import read_cubin
from gpudbg.isa.spa5 import kinds, places
from gpudbg.isa.spa5.decode import decode
from gpudbg.isa.spa5.spec import Form
from gpudbg.regs.special import coupled_numbers
from gpudbg.sm import record as rec
from gpudbg.sm.barriers.phase import Barriers
from gpudbg.sm.engines.llvm import build, layout
from gpudbg.sm.engines.llvm.kernel.emitter import Emitter
from gpudbg.sm.engines.llvm.kernel.listing import KernelListing
from gpudbg.sm.engines.llvm.kernel.options import EmitterOptions
from gpudbg.sm.engines.llvm.kernel.special import COMPILED_SREGS
from gpudbg.sm.engines.values import const32
from gpudbg.sm.faults import TrapRaised, WarpErrorRaised
from gpudbg.sm.sregs import ROWS
from tests.isa.sampling import legal_word
from tests.semantics.harness import EDGES, Bench, State

DATA = Path(__file__).resolve().parents[1] / "data"
FULL = 0xFFFFFFFF
SPACING = 0x40
FLOATS = (
    0, 0x80000000, 1, 0x80000001, 0x007FFFFF, 0x00800000, 0x80800000, 0x00800001, 0x3F800000,
    0xBF800000, 0x3F7FFFFF, 0x3F000000, 0x40490FDB, 0x4B000000, 0x4F000000, 0xCF000000, 0x7F7FFFFF,
    0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0xFFFFFFFF, 0x1E000000, 0x20000000, 0x0D800000,
    0x3C003C00, 0x7BFF0001, 0xFC007E00, 0x80008001, 0x4EFFFFFF, 0xCF000001, 0x4F7FFFFF, 0x4F800000,
    0x42FE0000, 0x43000000, 0xC3000000, 0xC3010000, 0x437F0000, 0x43800000, 0x477FFF80, 0xC7000100,
)  # fmt: skip
LOCAL_START = (1 << 24) - 1024


@cache
def words(arch: str) -> tuple[int, ...]:
    """One word of every form in the sample programs: operands and immediates differ only."""
    found: dict[tuple[Any, ...], int] = {}
    for path in sorted(DATA.glob(f"kernels/cubin/{arch}*/*.cubin")):
        program = read_cubin(path)
        for name in program.code_sections:
            for word in _instructions(program.sections[name].data):
                found.setdefault(_form(word, arch), word)
    return tuple(found.values())


def _instructions(data: bytes) -> Iterator[int]:
    for n in range(0, len(data) - 7, 8):
        if n % 32:
            yield int.from_bytes(data[n : n + 8], "little")


def _form(word: int, arch: str) -> tuple[Any, ...]:
    try:
        insn = decode(word, arch)
    except DecodeError:
        return ()
    modifiers = tuple(sorted((k, str(v)) for k, v in insn.m.items()))
    kinds = tuple((k, type(v).__name__) for k, v in insn.o.items())
    return insn.op, modifiers, kinds


def mutated(word: int, rng: random.Random, arch: str) -> int | None:
    """The word with some bits changed that still is an instruction of the same name."""
    op = decode(word, arch).op
    for _ in range(8):
        other = word
        for _ in range(rng.randrange(1, 6)):
            other ^= 1 << rng.randrange(64)
        try:
            if decode(other, arch).op == op:
                return other
        except DecodeError:
            continue
    return None


def random_state(rng: random.Random, insn: Any, memory: int, registers: int = 32) -> State:
    """Registers full of edges and special floats; addresses that are mostly good."""
    pool = (*EDGES, *FLOATS)
    rows = {}
    for number in range(registers):
        kind = rng.randrange(4)
        if kind == 0:
            rows[number] = [rng.getrandbits(32) >> rng.randrange(32) for _ in range(32)]
        elif kind == 1:
            rows[number] = [rng.choice(pool)] * 32
        else:
            rows[number] = [rng.choice(pool) for _ in range(32)]
    _addresses(rng, insn, rows, memory)
    active = rng.choice((FULL, FULL, FULL, rng.getrandbits(32) | 1, 1 << rng.randrange(32)))
    flags = {name: rng.getrandbits(32) for name in "ZSCOK"}
    predicates = [rng.choice((0, FULL, rng.getrandbits(32))) for _ in range(7)]
    return State(rows, predicates, flags, active)


def _addresses(rng: random.Random, insn: Any, rows: dict[int, list[int]], memory: int) -> None:
    """Point the address register at memory of the instruction's space."""
    place = insn.o.get("addr")
    if place is None or place.base.index >= 30:
        return
    space = {"LDL": "local", "STL": "local", "LDS": "shared", "STS": "shared", "ATOMS": "shared"}
    where = space.get(insn.op, "global")
    if insn.op in ("LD", "ST"):
        where = rng.choice(("global", "window"))
    base = {"global": memory, "shared": 0, "local": LOCAL_START, "window": 0x01000000}[where]
    step = rng.choice((0, 4, 4, 8, 16, 16, 32, 1 if not rng.randrange(8) else 4))
    start = rng.choice((0, 16, 64, 256))
    lanes = [start + step * n for n in range(32)]
    if not rng.randrange(3):
        lanes = [16 * rng.randrange(32) for _ in range(32)]
    if not rng.randrange(6):
        lanes[rng.randrange(32)] = rng.choice((1, 2, 1020, 4096, 0xFFFFFF00))
    index = place.base.index
    whole = [base + lane - place.offset for lane in lanes]
    rows[index] = [v & FULL for v in whole]
    if place.wide and index + 1 < 32:
        rows[index + 1] = [v >> 32 & FULL for v in whole]


class Pair:
    """A batch of instruction words, compiled, and a step engine beside it.

    Args:
        tuned: with the host's own instructions; else as for any host.

    Attributes:
        slow: words without a compiled version -> why.
    """

    def __init__(
        self, batch: Sequence[int], arch: str, level: int = 0, tuned: bool = False
    ) -> None:
        self.arch = arch
        self.bench = Bench(arch, registers=32, shared=1024)
        self.memory = self.bench.memory.allocate(4096, "memory")
        self.bench.engine.sregs = _Sregs()  # type: ignore[assignment]
        self.words = list(batch)
        listing = KernelListing(arch, 0, 0)
        for n, word in enumerate(self.words):
            pc = self.pc(n)
            listing.code[pc] = decode(word, arch)
            listing.heads.add(pc)
        banks = {n: store.size for n, store in self.bench.banks.items()}
        self._codes = []
        self.slow: dict[int, str] = {}
        self._called: set[str] = set()
        for full in (True, False):
            options = EmitterOptions(full, 32, banks, COMPILED_SREGS)
            if tuned:
                host = build.host()
                options = replace(options, wide_vectors=host.wide_vectors, start=host.start)
            emitter = Emitter(listing, options)
            text = emitter.text("warp")
            code = build.Code(build.object_of(text, level))
            self._codes.append((code, code.address("warp")))
            self._called |= emitter.runtime.called
            self.slow |= {self.words[(pc - 8) // SPACING]: w for pc, w in emitter.slow.items()}
        self._environment()

    @staticmethod
    def pc(n: int) -> int:
        return 8 + SPACING * n

    def _environment(self) -> None:
        raw = np.zeros(layout.ENVIRONMENT_BYTES + 64, np.uint8)
        start = -raw.ctypes.data % 64
        self.env = raw[start : start + layout.ENVIRONMENT_BYTES]
        fields = self.env.view(np.int64)
        library = build.library()
        for name in self._called:
            address = library.address(layout.symbol(name))
            fields[layout.FUNCTIONS // 8 + layout.FUNCTION_INDEX[name]] = address
        for number, store in self.bench.banks.items():
            fields[layout.BANKS // 8 + 2 * number] = store.data.ctypes.data
            fields[layout.BANKS // 8 + 2 * number + 1] = store.size
        self._sites = np.zeros((2 * len(self.words) + 2) * layout.SITE_BYTES // 8, np.int64)
        self._marks = np.zeros(SPACING * len(self.words), np.uint8)
        self._table = np.array([self.memory.base, 4096, self.memory.data.ctypes.data], np.int64)
        warp, shared = self.bench.warp, self.bench.cta.shared
        for offset, value in (
            (layout.SITES, self._sites.ctypes.data),
            (layout.MARKS, self._marks.ctypes.data),
            (layout.TABLE, self._table.ctypes.data),
            (layout.TABLE_COUNT, 1),
            (layout.SHARED_WINDOW, self.bench.memory.layout.shared_window),
            (layout.SHARED_BYTES, shared.size),
            (layout.LOCAL_LOW, warp.local.low),
            (layout.LOCAL_START, warp.local.start),
            (layout.LOCAL_BYTES, warp.local.size),
        ):
            fields[offset // 8] = value
        words = warp.record.view(np.int64)
        words[layout.SHARED_POINTER // 8] = shared.data.ctypes.data
        words[layout.LOCAL_POINTER // 8] = warp.local.words.ctypes.data
        self._call = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)

    def _fill(self, seed: int) -> None:
        """The same random memory for both engines; floats and integers."""
        rng = np.random.default_rng(seed)
        spaces = (self.memory.words, self.bench.cta.shared.words, self.bench.warp.local.words)
        for words in spaces:
            words[...] = rng.integers(0, 1 << 32, words.shape, np.uint32)
        for store in self.bench.banks.values():
            store.words[:] = rng.integers(0, 1 << 32, store.words.shape, np.uint32)
            store.words[::3] = rng.choice(np.array(FLOATS, np.uint32), store.words[::3].shape)

    def _snapshot(self) -> dict[str, bytes]:
        warp = self.bench.warp
        record = warp.record.copy()
        fields = ("pointers", "self", "virtual_id", "budget", "executed", "came_from")
        for name in fields:
            slot = rec.FIELDS[name]
            record[slot.offset : slot.offset + slot.width * slot.length] = 0
        stack = warp.stack_base * 4 + 16 * warp.words[rec.DEPTH]
        return {
            "record": record[:stack].tobytes(),
            "memory": self.memory.data.tobytes(),
            "shared": self.bench.cta.shared.data.tobytes(),
            "local": warp.local.words.tobytes(),
        }

    def _begin(self, state: State, seed: int, pc: int) -> None:
        self._fill(seed)
        self.bench._load(state, pc)
        words = self.bench.warp.words
        words[rec.DEPTH] = 0
        words[rec.BAR_WAIT] = 0
        self.bench.cta.barriers = Barriers(16)
        tid = self.bench.warp.tid
        tid[:] = np.arange(96, dtype=np.uint32).reshape(3, 32)

    def step(self, n: int, state: State, seed: int) -> tuple[str, dict[str, bytes]]:
        """Outcome and state of the step engine."""
        self._begin(state, seed, self.pc(n))
        try:
            self.bench.execute(self.words[n], state, self.pc(n))
            outcome = "done"
        except (WarpErrorRaised, TrapRaised, ModelGap) as error:
            outcome = type(error).__name__
        return outcome, self._snapshot()

    def untouched(self, n: int, state: State, seed: int) -> dict[str, bytes]:
        """The state before the instruction."""
        self._begin(state, seed, self.pc(n))
        return self._snapshot()

    def run(self, n: int, state: State, seed: int) -> tuple[int, dict[str, bytes]]:
        """Why compiled code returned, and the state."""
        self._begin(state, seed, self.pc(n))
        warp = self.bench.warp
        warp.record.view(np.int64)[rec.FIELDS["budget"].offset // 8] = 1
        code = self._codes[0 if warp.active == FULL else 1]
        why = self._call(code[1])(self.env.ctypes.data, warp.record.ctypes.data)
        return why & 255, self._snapshot()


class _Sregs:
    """Special registers that depend on lanes alone."""

    def read(self, warp: Any, sm: Any, number: int) -> Any:
        if number not in COMPILED_SREGS:
            return np.full(32, number, np.uint32)
        value = ROWS[number](None, warp, sm)  # type: ignore[arg-type]
        return np.full(32, value, np.uint32) if isinstance(value, int) else value

    def read_coupled(self, warp: Any, sm: Any, number: int) -> Any:
        return self.read(warp, sm, number) if number in coupled_numbers() else const32(0)


def small_word(form: Form, rng: random.Random, arch: str) -> int | None:
    """A legal word of a form with registers below 32 and constants that exist, or None."""
    for _ in range(8):
        word = legal_word(form, rng)
        if word is None:
            return None
        for spec in form.operands:
            if isinstance(spec.kind, kinds.RegKind):
                bits = spec.kind.bits
                word = word & ~bits.mask | bits.put(4 * rng.randrange(1, 7))
            elif isinstance(spec.kind, places.AddressKind | places.CBankKind):
                for name, bits in spec.kind.fields():
                    word = word & ~bits.mask | bits.put(8 if name == "base" else 0)
            elif isinstance(spec.kind, kinds.ConstKind):
                word = word & ~(0x7FFFF << 20) | rng.randrange(16, 60) << 20
        try:
            if decode(word, arch).op == form.op and form.reason(word) is None:
                return word
        except DecodeError:
            continue
    return None
