"""Random programs on both engines, compared to the bit: `make fuzz` runs ten thousand.

    python -m tests.engine.fuzz_random [--count 10000] [--start 0] [--seconds S] [--processes 2]
        [--arch sm_50 ...] [--floats | --lanes] [--shapes] [--plain | --level x86-64-v3]
        [--traced | --stops | --watched]

Each program runs on the step engine and on the run engine; how it ends (the error, its pc, address
and lanes) and the whole state must be equal: registers, predicates, flags, stacks, memory of all
spaces, barriers and the schedule.  Some are straight floating-point code (all of them with
`--floats`), which is also held against the scalar models of `tests.semantics`: every engine follows
that one rule for NaNs, signs, rounding, flushing and saturation.

`--arch sm_75 sm_80 sm_89 sm_90 sm_120` makes programs of 128-bit instructions, which the
scalar models do not know.

With `--shapes` blocks have any shape (17x3, 5x7x2, 1x1x64), of up to 1,024 threads; with `--lanes`
programs compute with what lanes have in common (`lane_programs`).

With `--watched` random watchpoints are set, and the engines must stop alike at each of them
(`watched_programs`).

With `--traced` accesses are traced meanwhile, and the logs must be equal entry by entry.

A difference prints the program; `--start N --count 1 --arch A` runs one again.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gpudbg
from gpudbg.architectures import is_wide
from gpudbg.assembler import assemble_file
from gpudbg.errors import GpudbgError
from gpudbg.isa.spa5.decode import decode
from gpudbg.sm.engines.llvm import build
from tests.engine import lane_programs, machines, random_modern, watched_programs
from tests.engine.random_programs import (
    ARCHS,
    FLOATING,
    WORDS,
    RandomProgram,
    begin,
    data_of,
    make,
    random_block,
    source,
)
from tests.levels import LEVELS, stand_for
from tests.semantics.harness import State
from tests.semantics.model import Lane
from tests.semantics.model_fp import MODELS

BATCH = 20
MOST = 1000
"""Instructions after which a program is left; of many warps, as many of each as `MOST_EACH`."""
MOST_EACH = 80
REGISTER_FILE = 1 << 16
STOPS = 8
"""Stops on the way of a program that is stopped at random."""
Comparison = Callable[[bytes, RandomProgram, int], tuple[str, str]]


def launched(cubin: bytes, program: RandomProgram, engine: str, seed: int) -> Any:
    """A session before the first instruction, its registers filled."""
    loaded = gpudbg.load(cubin, engine=engine, num_sms=1)
    buffer = loaded.device.buffer(data_of(seed))
    assert buffer.nbytes == 4 * WORDS
    # Marks of what was written are compared, too.
    loaded.device.gpu.memory.leave_uninitialized(buffer.allocation)
    session = loaded.launch(
        program.name, grid=program.grid, block=program.block, args=[buffer, 0, 0, 0]
    )
    wide = is_wide(loaded.device.gpu.arch)
    (random_modern.begin if wide else begin)(session, buffer.address, seed)
    return session


def limit(program: RandomProgram) -> int:
    """Instructions after which a program is left."""
    return max(MOST, MOST_EACH * program.grid * -(-math.prod(program.block) // 32))


def outcome(session: Any, most: int = MOST) -> tuple[Any, ...]:
    """How a run ends."""
    try:
        stop = session.run(max_instructions=most)
    except GpudbgError as error:
        return type(error).__name__, str(error)
    errors = [(e.name, e.lanes, e.pc, e.address, e.access, e.detail) for e in stop.errors]
    return stop.kind, stop.message, stop.warp, stop.lane, stop.instructions, errors


def compare(cubin: bytes, program: RandomProgram, seed: int) -> tuple[str, str]:
    """The kind of end, and what differs between the engines, or ""."""
    step, run = (launched(cubin, program, engine, seed) for engine in ("step", "run"))
    ends = outcome(step, limit(program)), outcome(run, limit(program))
    if ends[0] != ends[1]:
        return ends[0][0], f"step ends as {ends[0]}, run as {ends[1]}"
    states = machines.grid_state(step.grid), machines.grid_state(run.grid)
    return ends[0][0], machines.difference(*states)


def compare_stops(cubin: bytes, program: RandomProgram, seed: int) -> tuple[str, str]:
    """As `compare`, with both stopped at the same random counts of instructions on the way."""
    step, run = (launched(cubin, program, engine, seed) for engine in ("step", "run"))
    rng = random.Random(seed)
    points = sorted(rng.sample(range(1, limit(program)), STOPS))
    for point in [*points, limit(program)]:
        most = point - step.grid.total
        if most <= 0:
            continue
        ends = outcome(step, most), outcome(run, most)
        if ends[0] != ends[1]:
            return ends[0][0], f"at {point}: step ends as {ends[0]}, run as {ends[1]}"
        states = machines.grid_state(step.grid), machines.grid_state(run.grid)
        found = machines.difference(*states)
        if found or ends[0][0] != "limit":
            return ends[0][0], found and f"at {point}: {found}"
    return "limit", ""


# ---- the written rule ------------------------------------------------------------------


def compare_traces(cubin: bytes, program: RandomProgram, seed: int) -> tuple[str, str]:
    """As `compare`, with accesses traced in both runs: the logs must be equal too."""
    step, run = (launched(cubin, program, engine, seed) for engine in ("step", "run"))
    with step.trace("access") as first, run.trace("access") as second:
        ends = outcome(step), outcome(run)
    if ends[0] != ends[1]:
        return ends[0][0], f"step ends as {ends[0]}, run as {ends[1]}"
    unequal = (n for n, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)
    n = next(unequal, None)
    if n is not None:
        return ends[0][0], f"entry {n} of the traces: step {first[n]}, run {second[n]}"
    if len(first) != len(second):
        return ends[0][0], f"{len(first)} accesses by step, {len(second)} by run"
    return ends[0][0], machines.difference(
        machines.grid_state(step.grid), machines.grid_state(run.grid)
    )


def compare_watched(cubin: bytes, program: RandomProgram, seed: int) -> tuple[str, str]:
    """As `compare`, from stop to stop at random watchpoints."""
    step, run = (launched(cubin, program, engine, seed) for engine in ("step", "run"))
    buffer = next(iter(step.grid.gpu.memory.allocations())).base
    touched = watched_programs.accesses(launched(cubin, program, "run", seed), MOST)
    words = [watched_programs.watch(session, touched, buffer, seed) for session in (step, run)]
    assert words[0] == words[1]
    for _ in range(watched_programs.STOPS):
        most = MOST - step.grid.total
        if most <= 0:
            break
        ends = [watched_programs.stop_of(session, most) for session in (step, run)]
        said = f"at {step.grid.total}, watching {words[0]}"
        if ends[0] != ends[1]:
            return ends[0][0], f"{said}: step ends as {ends[0]}, run as {ends[1]}"
        found = machines.difference(machines.grid_state(step.grid), machines.grid_state(run.grid))
        if found or ends[0][0] != "breakpoint":
            met = "watched, " if watched_programs.met(step) else ""
            return met + ends[0][0], found and f"{said}: {found}"
    return "watched", ""


def by_rule(cubin: bytes, program: RandomProgram, seed: int, arch: str) -> str:
    """What differs between the run engine and the scalar models, or "".

    The program is straight code.  Instructions that the models leave open end the comparison.
    """
    body = program.text[: program.text.index("LEND:")].splitlines()
    words = [int(line.split()[1], 16) for line in body if ".word" in line]
    before = launched(cubin, program, "step", seed)
    warp = next(iter(before.grid.warps()))
    banks = before.grid.engine.constants.banks
    state = State(
        {n: row.tolist() for n, row in enumerate(warp.R)},
        list(warp.predicates),
        {name: warp.cc[n] for n, name in enumerate("ZSCOK")},
    )

    def constant(bank: int, offset: int) -> int:
        return int(banks[bank].words[offset >> 2])

    count = 0
    for word in words:
        insn = decode(word, arch)
        if insn.op not in MODELS or not _apply(state, insn, constant):
            break
        count += 1
    if not count:
        return ""
    run = launched(cubin, program, "run", seed)
    # The run engine takes whole blocks: past a gap of the models the step engine goes on.
    if count < len(words):
        run = launched(cubin, program, "step", seed)
        run.run(max_instructions=count)
    else:
        run.run(max_instructions=MOST)
    warp = next(iter(run.grid.warps()))
    done = " ; ".join(decode(word, arch).text() for word in words[:count])
    for number, row in state.registers.items():
        got = warp.R[number].tolist()
        for lane in range(32):
            if number not in (254, 255) and got[lane] != row[lane]:
                return f"R{number} lane {lane}: {got[lane]:08x}, by rule {row[lane]:08x}: {done}"
    return ""


def _apply(state: State, insn: Any, constant: Any) -> bool:
    """Carry out an instruction by its model; false where that says nothing."""
    index, negated = insn.guard
    lanes = [k for k in range(32) if state.pred(index, k) ^ negated]
    effects = {k: MODELS[insn.op](insn, Lane(state, k, constant)) for k in lanes}
    if any(e is None for e in effects.values()):
        return False
    for k, effect in effects.items():
        assert effect is not None
        for number, value in effect.registers.items():
            if number != 255:
                state.registers[number][k] = value
        for number, value in effect.predicates.items():
            if number != 7:
                state.predicates[number] &= ~(1 << k)
                state.predicates[number] |= value << k
        for name, value in effect.flags.items():
            state.flags[name] &= ~(1 << k)
            state.flags[name] |= value << k
    return True


# ---- the campaign ----------------------------------------------------------------------


def kind_of(seed: int, floats: bool) -> tuple[Sequence[str] | None, bool]:
    """What a program consists of: mnemonics (None: all), whether it branches."""
    if floats or seed % 4 == 0:
        return FLOATING, False
    return (None, True) if seed % 4 < 3 else (FLOATING, True)


def shaped(program: RandomProgram, arch: str, seed: int) -> RandomProgram:
    """A program with a block of any shape that every SM has registers for."""
    registers = random_modern.REGISTERS + 1 if is_wide(arch) else 64
    rng = random.Random(f"block/{arch}/{seed}")
    most = rng.choice((96, 96, min(1024, REGISTER_FILE // 2 // registers)))
    return replace(program, block=random_block(rng, most))


def campaign(
    seeds: Sequence[int],
    arch: str,
    floats: bool = False,
    way: Comparison | None = None,
    shapes: bool = False,
    lanes: bool = False,
) -> Iterator[tuple[int, str, str]]:
    """(seed, kind of end, difference) of each program, compared at its end or in another way."""
    for start in range(0, len(seeds), BATCH):
        part = seeds[start : start + BATCH]
        made = random_modern.make if is_wide(arch) else make
        if lanes:
            texts = [lane_programs.make(seed, arch) for seed in part]
        else:
            texts = [made(seed, arch, *kind_of(seed, floats)) for seed in part]
        if shapes:
            named = zip(texts, part, strict=True)
            texts = [shaped(text, arch, seed) for text, seed in named]
        cubin = assemble_file(source(texts, arch), path="random.sass").cubin()
        for seed, program in zip(part, texts, strict=True):
            end, found = (way or compare)(cubin, program, seed)
            straight = not kind_of(seed, floats)[1] and end == "limit"
            straight = straight and not (shapes or lanes)
            if not found and straight and not is_wide(arch):
                found = by_rule(cubin, program, seed, arch)
            if found:
                found = f"block {program.block}: {found}\n{program.text}"
            yield seed, end, found


@dataclass(frozen=True, slots=True)
class _Job:
    """Programs of one process.

    Attributes:
        level: of the host, "" for this one.
        until: when it ends, by the monotonic clock.
    """

    seeds: list[int]
    arch: str
    floats: bool
    plain: bool
    level: str
    shapes: bool
    lanes: bool
    way: Comparison
    until: float


def _share(job: _Job) -> tuple[dict[str, int], int]:
    """(Ends by kind, how many programs differ)."""
    if job.level:
        stand_for(job.level)
    if job.plain:
        build.BuildHost.wide_vectors = False  # type: ignore[assignment,method-assign]
    if job.way is compare_watched:
        watched_programs.compile_quickly()
    kinds: dict[str, int] = {}
    wrong = 0
    if time.monotonic() > job.until:
        return kinds, wrong
    made = campaign(job.seeds, job.arch, job.floats, job.way, job.shapes, job.lanes)
    for seed, end, found in made:
        kinds[end] = kinds.get(end, 0) + 1
        if found:
            wrong += 1
            print(f"{job.arch} seed {seed}: {found}\n", flush=True)
        if time.monotonic() > job.until:
            break
    return kinds, wrong


def main() -> int:
    """Run the campaign; 1 when anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--arch", nargs="+", default=list(ARCHS))
    parser.add_argument("--floats", action="store_true", help="straight floating-point code alone")
    older = parser.add_mutually_exclusive_group()
    older.add_argument("--plain", action="store_true", help="as on hosts without AVX-512")
    older.add_argument("--level", choices=tuple(LEVELS), default="", help="as on hosts of a level")
    parser.add_argument("--shapes", action="store_true", help="blocks of any shape")
    parser.add_argument("--lanes", action="store_true", help="programs of index arithmetic")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--traced", action="store_true", help="with accesses traced")
    how.add_argument("--stops", action="store_true", help="stopped at random on the way")
    how.add_argument("--watched", action="store_true", help="with random watchpoints")
    options = parser.parse_args()
    until = time.monotonic() + options.seconds
    ways = {"traced": compare_traces, "stops": compare_stops, "watched": compare_watched}
    way = next((ways[name] for name in ways if getattr(options, name)), compare)
    jobs = []
    for first in range(0, options.count, 5 * BATCH):
        part = list(
            range(options.start + first, options.start + min(first + 5 * BATCH, options.count))
        )
        arch = options.arch[first // (5 * BATCH) % len(options.arch)]
        host = options.plain, options.level
        made = options.shapes, options.lanes
        jobs.append(_Job(part, arch, options.floats, *host, *made, way, until))
    kinds: dict[str, int] = {}
    wrong = 0
    # A fresh process now and then: compiled code is never given back.
    with multiprocessing.get_context("spawn").Pool(options.processes, maxtasksperchild=2) as pool:
        for found, bad in pool.imap_unordered(_share, jobs):
            wrong += bad
            for kind, count in found.items():
                kinds[kind] = kinds.get(kind, 0) + count
    ends = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    print(f"{sum(kinds.values())} programs ({ends}): {wrong} differ")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
