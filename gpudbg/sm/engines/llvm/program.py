"""A kernel's compiled code: emitted, built and loaded when it is first wanted.

One process keeps one `CompiledProgram` for each kernel, whatever the number of launches; objects
are kept on disk across processes (`gpudbg.sm.engines.llvm.build`).
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import field
from typing import NamedTuple

from gpudbg.dataclass import dataclass
from gpudbg.formats.program import CodeImage
from gpudbg.sm.conditions import Condition
from gpudbg.sm.engines.llvm import RefusedModuleError, build, cache, compile_process, compiling
from gpudbg.sm.engines.llvm.job import FUNCTION, CompiledObject, CompileJob, assemble, emit
from gpudbg.sm.engines.llvm.kernel import final_state
from gpudbg.sm.engines.llvm.kernel.listing import KernelListing
from gpudbg.sm.engines.llvm.kernel.options import EmitterOptions
from gpudbg.sm.engines.llvm.kernel.patterns import Pattern, row_of
from gpudbg.sm.selection import NO_TESTS, Tests

QUICK, GOOD = 0, 1
"""Efforts: plain code, made with the least effort of the code generator (`EmitterOptions.plain`);
code that is worth its time."""

_LASTING = 0.05
"""Least seconds of quick code before better code is begun: most launches end earlier."""
_KEPT_PROGRAMS = 32
_MOST_REFUTED = 4
"""Most wrong guesses about shared memory; then no more guesses are made, since each means
recompiling.
"""
_REMADE = 1200
"""Most instructions recompiled because of wrong guesses: large kernels get fewer."""
_KEEPING = threading.Lock()
"""Held while a program takes a version: a background thread and a launch may both have one."""


@dataclass(slots=True)
class Version:
    """One compiled version of a kernel: for full warps, or for any mask.

    Attributes:
        address: of the function.
        extents: block head to the address of the block's last instruction.
        slow: instructions without a compiled version, address to reason.
        effort: of the code generator.
        refuted: guesses that were known to be wrong.
        code: keeps the function alive.
        writes: site cache entries of accesses that write, or that find places for one that does.
        before_stores: addresses of the loads among them.
        called: functions of the library that it calls.
        complete: address of the function that makes final registers (`final_state`), or 0.
    """

    address: int
    extents: dict[int, int]
    slow: dict[int, str]
    effort: int
    refuted: int
    code: build.Code
    writes: frozenset[int] = frozenset()
    before_stores: frozenset[int] = frozenset()
    called: frozenset[str] = frozenset()
    complete: int = 0


class Beside(NamedTuple):
    """A version that a copy of this process compiles.

    Attributes:
        copy: it.
        job: what it compiles.
        refuted: guesses that were known to be wrong then.
    """

    copy: compile_process.CompilingCopy
    job: CompileJob
    refuted: int


@dataclass(slots=True)
class CompiledProgram:
    """A kernel's code for warps with some number of registers.

    Attributes:
        listing: the decoded code.
        registers, uniform: registers of a warp's record.
        banks: bytes of the constant banks.
        sregs: special registers that have a compiled version.
        row: threads of a block in x (`patterns.row_of`).
        rows: as of `EmitterOptions`.
        traced: what the code notes for observers (`traced`), of `trace.BATCHED`.
        fixed: special registers that do not change during the launch.
        conditions: of breakpoints, by pc, that the code tests.
        marking: spaces in which the code marks what it stores (`kernel.marks`).
        tests: what observers have selected (`kernel.watch_tests`).
        clustered: it is for launches with clusters of several blocks.
        full, masked: the versions that exist.
        seconds: spent compiling.
        used: seconds that code has run.
        improving: better code is being made, or cannot be.
        replaced: quick versions that better ones took the place of.
        patterns: of accesses, once they are guessed.
        refuted: guesses that turned out wrong.
        plain: the version of quick code, for any mask and whole warps alike.
        identity: what code it is, to others with the same.
        note: of what kernel it is, whatever the launch (`kernel_note`).
        beside: what a copy of this process compiles.
    """

    listing: KernelListing
    registers: int
    banks: dict[int, int]
    sregs: frozenset[int]
    row: int = 64
    rows: int = 0
    traced: tuple[str, ...] = ()
    fixed: dict[int, int] = field(default_factory=dict)
    conditions: dict[int, Condition] = field(default_factory=dict)
    marking: frozenset[str] = frozenset()
    uniform: int = 0
    tests: Tests = NO_TESTS
    clustered: bool = False
    full: Version | None = None
    masked: Version | None = None
    seconds: float = 0.0
    used: float = 0.0
    improving: bool = False
    replaced: list[Version] = field(default_factory=list)
    patterns: dict[int, Pattern] | None = None
    refuted: int = 0
    plain: Version | None = None
    identity: bytes | None = None
    note: bytes = b""
    beside: Beside | None = None

    @property
    def sites(self) -> int:
        """Site cache entries of both versions: each has one for an instruction at most."""
        return 2 * len(self.listing.code)

    def version(self, full: bool, effort: int = GOOD) -> Version:
        """A version, compiled now if it does not exist."""
        found = self.full if full else self.masked
        if found is not None:
            return found
        if build.wants_plain():
            return self._quick()
        made = self.compile(full, GOOD) if effort == GOOD else self._kept(full)
        return self._quick() if made is None else self._keep(full, made)

    def _quick(self) -> Version:
        """Quick code for any mask: one version is less to compile than two."""
        return self._keep_quick(self.plain or self.compile(False, QUICK))

    def _keep_quick(self, made: Version) -> Version:
        """Take quick code where there is no other."""
        with _KEEPING:
            self.plain = self.plain or made
            self.full, self.masked = self.full or self.plain, self.masked or self.plain
            return self.plain

    def abandon(self) -> None:
        """Nobody waits any more for what a copy compiles."""
        with _KEEPING:
            beside, self.beside = self.beside, None
        if beside is not None:
            beside.copy.abandon()

    def _keep(self, full: bool, made: Version) -> Version:
        """Install a new version unless another thread's is as good. Returns the one in use.

        Code that may be running, here or in another launch, stays where it is.
        """
        with _KEEPING:
            found = self.full if full else self.masked
            if found is not None:
                if (found.refuted, found.effort) >= (made.refuted, made.effort):
                    return found
                self.replaced.append(found)
            if full:
                self.full = made
                if self.masked is self.plain and made is not self.plain:
                    # Compiled again only when a warp with inactive lanes is met.
                    self.masked = None
            else:
                self.masked = made
            return made

    def compile(self, full: bool, effort: int) -> Version:
        """Compile a version, whether it exists or not.

        Raises:
            RefusedModuleError: the compiler library does not take it.
        """
        job, refuted = self._job(full, effort)
        return self._loaded(job, refuted, assemble(job, emit(job)))

    def compile_beside(self, full: bool, effort: int) -> None:
        """Have a copy of this process compile a version, if there can be one and none does; see
        `collect`."""
        with _KEEPING:
            idle = self.beside is None
        if idle:
            job, refuted = self._job(full, effort)
            copy = compile_process.compiling(job)
            self.beside = None if copy is None else Beside(copy, job, refuted)

    def collect(self) -> bool:
        """Take what a copy has compiled, if it is done; whether none compiles now.

        Raises:
            RefusedModuleError: the compiler library did not take it.
        """
        with _KEEPING:
            beside = self.beside
            if beside is None:
                return True
            if not beside.copy.done():
                return False
            self.beside = None
        answer = beside.copy.answer()
        if answer is not None and answer.made is not None:
            made = self._loaded(beside.job, beside.refuted, answer.made)
            if beside.job.effort == QUICK:
                self._keep_quick(made)
            else:
                self._keep(beside.job.options.full, made)
        return True

    def _job(self, full: bool, effort: int) -> tuple[CompileJob, int]:
        """What a version's code depends on, and how many guesses were refuted then."""
        # Number of lanes that usually access consecutive memory.
        run = 16 if self.row % 32 else 32
        with _KEEPING:
            patterns, refuted = self.patterns, self.refuted
        quick = effort == QUICK
        if patterns is None and self.clustered:
            # No access patterns: addresses hold cluster ranks, which none describes.
            patterns = {}
        options = EmitterOptions(
            full,
            self.registers,
            self.banks,
            self.sregs,
            run,
            fixed=self.fixed,
            conditions=self.conditions,
            patterns={} if quick else patterns or {},
            first_site=0 if full else len(self.listing.code),
            traced=self.traced,
            marking=self.marking,
            uniform=self.uniform,
            tests=self.tests,
            clustered=self.clustered,
            plain=quick,
            rows=self.rows,
        )
        row = self.row if patterns is None and not quick else None
        return CompileJob(self.listing, options, effort, row), refuted

    def _loaded(self, job: CompileJob, refuted: int, made: CompiledObject) -> Version:
        """A version of an object."""
        start = time.perf_counter()
        code = build.Code(made.content)
        address = code.address(FUNCTION)
        complete = code.address(final_state.FUNCTION) if made.completes else 0
        about = made.extents, made.slow, job.effort, refuted, code
        version = Version(address, *about, made.writes, made.before_stores, made.called, complete)
        with _KEEPING:
            self.listing.heads |= made.heads
            if self.patterns is None:
                self.patterns = made.patterns
        if job.effort == GOOD and self.identity is not None:
            build.note(self.identity)
            cache.note(self.note)
        self.seconds += made.seconds + time.perf_counter() - start
        return version

    def _kept(self, full: bool) -> Version | None:
        """Better code from disk, whose loading takes less time than making quick code."""
        if self.identity is None or not build.is_noted(self.identity):
            return None
        job, refuted = self._job(full, GOOD)
        emitted = emit(job)
        if not build.is_kept(emitted.text, GOOD):
            return None
        return self._loaded(job, refuted, assemble(job, emitted))

    def refute(self, pc: int, effort: int) -> None:
        """What is guessed about shared memory from a pc to the end of its block is wrong: have
        code without it for full warps, which alone rely on guesses."""
        code = self.listing.code
        wrong = {pc}
        for _ in range(self.listing.stretch(pc) - 1):
            pc = self.listing.following(pc)
            wrong.add(pc)
        with _KEEPING:
            self.refuted += 1
            if self.refuted > min(_MOST_REFUTED, _REMADE // len(code)):
                wrong = set(code)
            guesses = (self.patterns or {}).items()
            wrong = {pc for pc in wrong if code[pc].op in ("LDS", "STS")}
            self.patterns = {pc: pattern for pc, pattern in guesses if pc not in wrong}
        if self.plain is not None and (effort == QUICK or build.wants_plain()):
            # Plain code makes no guesses.
            self.plain.refuted = self.refuted
            self._keep(True, self.plain)
        else:
            self._keep(True, self.compile(True, effort))

    def improve(self) -> None:
        """Compile again, well, what was compiled quickly: first for whole warps; then, where warps
        were met since then that lack lanes, for any."""
        for full in (True, False):
            if self._is_quick(full):
                self._keep(full, self.compile(full, GOOD))

    def _is_quick(self, full: bool) -> bool:
        """Whether a version exists that better code can replace."""
        found = self.full if full else self.masked
        return found is not None and found.effort < GOOD and not build.wants_plain()

    def has_run(self, seconds: float) -> None:
        """Code has run for so long: begin better code in the background where that pays.

        It costs several times what quick code did, so that runs that last are those that last
        longer than making the quick code took.
        """
        self.used += seconds
        if self.improving or self.used < max(_LASTING, self.seconds):
            return
        if self._is_quick(True) or self._is_quick(False) or self.beside is not None:
            self._improve_behind()

    def _improve_behind(self) -> None:
        """`improve` in a copy of this process, or else in a thread, whatever was made meanwhile;
        where the compiler fails quick code stays."""
        if compile_process.usable() or self.beside is not None:
            try:
                if self.collect():
                    wanted = next((full for full in (True, False) if self._is_quick(full)), None)
                    if wanted is not None:
                        self.compile_beside(wanted, GOOD)
            except RefusedModuleError:
                self.improving = True
            return
        self.improving = True
        compiling(self._improve_in_thread)

    def _improve_in_thread(self) -> None:
        with suppress(RefusedModuleError):
            self.improve()
            self.improving = False

    def heads(self) -> dict[int, int]:
        """Block heads of every version, to the address of the block's last instruction."""
        found: dict[int, int] = {}
        for version in (self.full, self.masked):
            if version is not None:
                for head, last in version.extents.items():
                    found[head] = max(last, found.get(head, 0))
        return found

    def writes(self) -> frozenset[int]:
        """Site cache entries through which every version writes."""
        versions = (self.full, self.masked)
        return frozenset[int]().union(*(v.writes for v in versions if v is not None))

    def called(self) -> frozenset[str]:
        """Functions of the library that the versions call."""
        versions = (self.full, self.masked)
        return frozenset[str]().union(*(v.called for v in versions if v is not None))

    def before_store(self, pc: int) -> bool:
        """Whether a load fills the site cache for a store, which then relies on it."""
        return any(v is not None and pc in v.before_stores for v in (self.full, self.masked))

    def is_slow(self, pc: int) -> bool:
        """Whether an instruction has no compiled version."""
        return any(v is not None and pc in v.slow for v in (self.full, self.masked))

    def stretch(self, pc: int) -> int:
        """Instructions from a pc to the next block head in straight code."""
        return self.listing.stretch(pc)


def kernel_note(image: CodeImage, entry: int) -> bytes:
    """What is noted on disk of a kernel whose good code was made, for launches of any kind."""
    return hashlib.sha256(image.code + entry.to_bytes(8, "little")).digest()


_programs: dict[object, CompiledProgram] = {}


def program_of(
    image: CodeImage,
    entry: int,
    entries: Iterable[int],
    registers: int,
    banks: dict[int, int],
    sregs: frozenset[int],
    row: int,
    traced: tuple[str, ...] = (),
    fixed: dict[int, int] | None = None,
    conditions: dict[int, Condition] | None = None,
    marking: frozenset[str] = frozenset(),
    uniform: int = 0,
    tests: Tests = NO_TESTS,
    clustered: bool = False,
) -> CompiledProgram:
    """The program of a kernel, kept from an earlier launch if there was one.

    Args:
        entry: where the kernel begins.
        entries: all places from which code is reached.
        row: threads of a block in x.
        traced, marking, uniform, tests, clustered: as for `CompiledProgram`.
    """
    entries = frozenset(entries)
    rows = 32 if row % 32 == 0 else row if 32 % row == 0 else 0
    row = row_of(row)
    sizes, known = tuple(sorted(banks.items())), tuple(sorted((fixed or {}).items()))
    asked = tuple(sorted((conditions or {}).items(), key=lambda item: item[0]))
    # Kept out of the key where there are none: the key is looked up at each launch.
    also = None if tests is NO_TESTS else tests
    about = (
        registers,
        sizes,
        sregs,
        row,
        rows,
        traced,
        known,
        asked,
        marking,
        uniform,
        also,
        clustered,
    )
    key = image.code, image.base, image.program.arch, entry, entries, about
    found = _programs.pop(key, None)
    if found is None:
        listing = KernelListing.of(image, entry, entries)
        given = fixed or {}, conditions or {}, marking, uniform, tests, clustered
        found = CompiledProgram(listing, registers, banks, sregs, row, rows, traced, *given)
        found.note = kernel_note(image, entry)
        found.identity = found.note + repr(key[1:]).encode()
        while len(_programs) >= _KEPT_PROGRAMS:
            _programs.pop(next(iter(_programs))).abandon()
    _programs[key] = found
    return found
