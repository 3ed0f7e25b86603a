"""One version of a kernel to compile: what its code depends on, and what comes of it.

A job holds no state of a launch, and its object refers to nothing outside itself: another process
may do it (`compile_process`).  This module imports nothing that compiles before it is asked to.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass
from gpudbg.sm.engines.llvm import build
from gpudbg.sm.engines.llvm.kernel.listing import KernelListing
from gpudbg.sm.engines.llvm.kernel.options import LARGE, EmitterOptions

if TYPE_CHECKING:
    from gpudbg.sm.engines.llvm.kernel.emitter import Emitter
    from gpudbg.sm.engines.llvm.kernel.patterns import Pattern

FUNCTION = "warp"
"""Name of the function in the object."""


_SMALL = 80
"""Instructions of a kernel whose code may be as long as it likes."""
_LINES, _LINES_OF_LARGE = 35, 35
"""Lines of IR for an instruction from which copies along traces are too many, in another kernel
and in a large one: a thousand of them take some 30 ms to compile."""
_FEWER_LINES, _FEWER_LINES_OF_LARGE = 30, 25
"""The same for hosts without AVX-512, where a line is twice as many instructions or more."""
_MOST_LINES, _MOST_LINES_OF_LARGE = 60, 55
"""Lines of IR for an instruction from which loads and stores are calls of the library."""
_COPIED = 1.1
"""Instructions emitted for one of the kernel from which short traces can save text."""
_LEAST_BRANCHED = 40
"""Most instructions of a kernel whose traces are always long."""
_BRANCHED = 50
"""Instructions for each place that a kernel's code goes to, up to which its traces are short at
once: long ones would have too many copies of what lies between."""
_WORTH = 0.92
"""Shorter code is taken where it is so much of the other."""


@dataclass(frozen=True, slots=True)
class CompileJob:
    """A version that is wanted.

    Attributes:
        listing: the decoded code.
        options: how it is compiled; what the host adds to them is not in yet.
        effort: of the code generator.
        row: threads of a block in x, where patterns of accesses are yet to be guessed.
    """

    listing: KernelListing
    options: EmitterOptions
    effort: int
    row: int | None = None


@dataclass(frozen=True, slots=True)
class CompiledObject:
    """What a job comes to.

    Attributes:
        content: object code with `FUNCTION`.
        heads: where blocks begin, also behind what is left to the step engine.
        extents: block head to the address of the block's last instruction.
        slow: instructions without a compiled version, address to reason.
        writes: site cache entries of accesses that write, or that find places for one that does.
        before_stores: addresses of the loads among them.
        called: functions of the library that it calls.
        completes: it has a function that makes final registers (`final_state`), too.
        patterns: that were guessed, if that was asked for.
        seconds: that it took.
    """

    content: bytes
    heads: frozenset[int]
    extents: dict[int, int]
    slow: dict[int, str]
    writes: frozenset[int]
    before_stores: frozenset[int]
    called: frozenset[str]
    completes: bool
    patterns: dict[int, Pattern] | None
    seconds: float


@dataclass(frozen=True, slots=True)
class EmittedVersion:
    """A job's IR and the emitter that made it.

    Attributes:
        emitter: what knows about the code.
        text: the module.
        patterns: that were guessed, if that was asked for.
        seconds: that it took.
    """

    emitter: Emitter
    text: str
    patterns: dict[int, Pattern] | None
    seconds: float


def _shorter(emitter: Emitter, text: str) -> tuple[Emitter, str]:
    """Code that takes less time to compile, where that of a version would take too much."""
    listing, options = emitter.listing, emitter.options
    count = len(listing.code)
    if count <= _SMALL or options.plain or not options.full:
        return emitter, text
    large = count > LARGE
    lines, of_large = _LINES, _LINES_OF_LARGE
    if not options.wide_vectors:
        lines, of_large = _FEWER_LINES, _FEWER_LINES_OF_LARGE
    steps = (
        (of_large if large else lines, replace(options, short=True)),
        (_MOST_LINES_OF_LARGE if large else _MOST_LINES, replace(options, short=True, calls=True)),
    )
    for most, shorter in steps:
        if shorter == emitter.options:
            continue
        copied = emitter.emitted > _COPIED * count
        if text.count("\n") - emitter.added > most * count and (copied or shorter.calls):
            instead, code = _version(listing, shorter)
            if len(code) < _WORTH * len(text):
                emitter, text = instead, code
    return emitter, text


def _branched(listing: KernelListing) -> bool:
    """Whether code is of many short pieces, some of them in loops."""
    count = len(listing.code)
    many = count <= _BRANCHED * len(listing.targets) and count > _LEAST_BRANCHED
    return many and bool(listing.loops)


def _version(listing: KernelListing, options: EmitterOptions) -> tuple[Emitter, str]:
    """The code of a version."""
    from gpudbg.sm.engines.llvm.kernel.emitter import Emitter

    emitter = Emitter(listing, options)
    return emitter, emitter.text(FUNCTION)


def emit(job: CompileJob) -> EmittedVersion:
    """The IR of a version."""
    from gpudbg.sm.engines.llvm.kernel.lane_facts import claims_of
    from gpudbg.sm.engines.llvm.kernel.patterns import patterns_of

    start = time.perf_counter()
    host = build.host()
    options = replace(
        job.options,
        wide_vectors=host.wide_vectors,
        blends=host.blends,
        halves=host.half_conversions and host.fma,
        masks=host.masks,
        start=host.start,
    )
    patterns = None
    if job.row is not None:
        patterns = patterns_of(job.listing, job.row)
        options = replace(options, patterns=patterns)
    if options.full and not options.plain:
        claims = claims_of(job.listing, options.registers, options.rows)
        options = replace(options, claims=claims, short=_branched(job.listing))
    emitter, text = _shorter(*_version(job.listing, options))
    return EmittedVersion(emitter, text, patterns, time.perf_counter() - start)


def assemble(job: CompileJob, emitted: EmittedVersion) -> CompiledObject:
    """The object of a version's IR, from disk where it is kept there.

    Raises:
        RefusedModuleError: the compiler library does not take it.
    """
    start = time.perf_counter()
    content = build.object_of(emitted.text, job.effort)
    emitter = emitted.emitter
    return CompiledObject(
        content,
        frozenset(job.listing.heads),
        emitter.blocks.extents,
        emitter.slow,
        frozenset(emitter.sites.writes),
        frozenset(emitter.sites.before_stores),
        frozenset(emitter.runtime.called),
        bool(emitter.finals.functions),
        emitted.patterns,
        emitted.seconds + time.perf_counter() - start,
    )
