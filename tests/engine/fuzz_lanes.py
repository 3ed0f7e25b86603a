"""Claims of the lane analysis held against the step engine, at random stops of random programs.

    python -m tests.engine.fuzz_lanes [--count 2000] [--start 0] [--seconds S] [--processes 2]
        [--arch sm_50 sm_61 sm_75 sm_80 sm_90 sm_120] [--any]

At each stop every register, uniform register, predicate and flag of every warp must be as
`sm.lanes` claims in the lanes that are active, and a branch that is not claimed to
diverge must take all of them one way.  What is claimed unless a sum wraps around may fail, but not
where the test passes that compiled code makes of it: that of each such claim about a whole warp is
executed, too (`lane_guards`).  Programs are those of `lane_programs`; with `--any` those of
`random_programs` and `random_modern`, of which little is known.

A wrong claim prints the program; `--start N --count 1 --arch A` runs one again.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import time
from collections import Counter
from typing import Any

from gpudbg.architectures import is_wide
from gpudbg.assembler import assemble_file
from gpudbg.errors import GpudbgError
from gpudbg.mem.lanes import FULL
from gpudbg.sm import cfg
from gpudbg.sm import record as rec
from gpudbg.sm.lane_patterns import LANES
from gpudbg.sm.lanes import analysis as lane_analysis
from gpudbg.sm.lanes.analysis import LaneAnalysis
from gpudbg.sm.lanes.values import UNIFORM_BASE, KnownState, Truth
from tests.engine import fuzz_random, lane_programs, random_modern, random_programs
from tests.engine.lane_guards import wrong_guard
from tests.engine.random_programs import source

ARCHS = ("sm_50", "sm_61", "sm_75", "sm_80", "sm_90", "sm_120")
FLAGS = "ZSCOK"
BATCH = 20
MOST_STOPS = 60

HELD, WRAPPED = "unless it wraps: held", "unless it wraps: not"
"""Claims that a sum which wraps around makes wrong: random numbers do so, indices do not."""

Counts = Counter[str]
"""Claims that were looked at, by kind."""


def analysis(session: Any) -> LaneAnalysis:
    """What is claimed of the kernel of a session."""
    symbols = session.symbols
    block = session.grid.launched.config.block
    found = lane_analysis.of_kernel(symbols.program, symbols.image, symbols.kernel, block)
    assert found is not None
    return found


def start_of(session: Any) -> int:
    """Where the kernel begins."""
    symbols = session.symbols
    place = next(p for p in symbols.image.placements if p.section == symbols.kernel.section)
    return int(place.address)


def truth_holds(truth: Truth, mask: int, active: int) -> bool:
    """Whether a mask is one value in the active lanes of each row."""
    size = LANES // truth.rows
    for row in range(truth.rows):
        lanes = active & ((1 << size) - 1) << row * size
        if mask & lanes not in (0, lanes):
            return False
        if truth.known is not None and lanes and bool(mask & lanes) is not truth.known:
            return False
    return True


def wrong_claim(warp: Any, state: KnownState, counts: Counts) -> str:
    """The first claim about a warp that does not hold where it stands, or ""."""
    active, wide = warp.active, warp.has_groups
    for index, shape in state.regs.items():
        own = index < UNIFORM_BASE
        if own and index >= len(warp.R):
            continue
        values = (warp.R[index] if own else warp.UR[index - UNIFORM_BASE]).tolist()
        if shape.given:
            counts[HELD if shape.holds(values, active) else WRAPPED] += 1
            if own and active == FULL:
                counts["tests of these"] += 1
                if wrong := wrong_guard(shape, values):
                    return f"R{index}: {wrong}"
            continue
        name = f"R{index}" if own else f"UR{index - UNIFORM_BASE}"
        counts["uniform" if shape.uniform else "rows" if shape.rows > 1 else "affine"] += own
        counts["uniform registers"] += not own
        if not shape.holds(values, active):
            return f"{name} is not {shape.words()} in {active:#x}: {values}"
    masks = [(f"P{n}", t, warp.predicates[n]) for n, t in state.preds.items() if n < UNIFORM_BASE]
    if not wide:
        masks += [(f"CC.{n}", t, warp.cc[FLAGS.index(n)]) for n, t in state.flags.items()]
    for name, truth, mask in masks:
        if not truth.given:
            counts["predicates" if name[0] == "P" else "flags"] += 1
            if not truth_holds(truth, mask, active):
                return f"{name} is not {truth} in {active:#x}: {mask:#x}"
    return ""


def wrong_claims(session: Any, known: LaneAnalysis, start: int, counts: Counts) -> str:
    """The first wrong claim about any warp, or ""."""
    for warp in session.grid.warps():
        state = known.before.get(warp.pc - start)
        if warp.words[rec.STATUS] == rec.DONE or not warp.active or state is None:
            continue
        wrong = wrong_claim(warp, state, counts)
        if wrong:
            return f"at {warp.pc - start:#x}: {wrong}"
    return ""


class Branches:
    """Branches that are not claimed to diverge, and the warps that stand at one."""

    def __init__(self, session: Any, known: LaneAnalysis, start: int) -> None:
        self._warps = list(session.grid.warps())
        self._start = start
        self._same = {
            offset
            for offset, insn in known.flow.instructions.items()
            if insn is not None and insn.op in cfg.JUMPS and not insn.unconditional
            if offset in known.before and offset not in known.divergent
        }

    def standing(self) -> list[tuple[Any, int, int]]:
        """(Warp, its pc, its active lanes) of those at one."""
        return [
            (warp, warp.pc, warp.active)
            for warp in self._warps
            if warp.active and warp.pc - self._start in self._same
        ]

    def parted(self, before: list[tuple[Any, int, int]], counts: Counts) -> str:
        """The first that took lanes different ways, or ""."""
        for warp, pc, active in before:
            if warp.pc == pc:
                continue
            counts["branches"] += 1
            if warp.has_groups:
                groups = warp.shown_groups.parked
                places = {warp.pc} if warp.active & active else set()
                places |= {g.pc for g in groups if g.lanes & active}
                if len(places) > 1:
                    return f"the branch at {pc - self._start:#x} parted {active:#x}"
            elif warp.active != active:
                return f"the branch at {pc - self._start:#x} parted {active:#x}"
        return ""


def walk(session: Any, stops: int, rng: random.Random, counts: Counts, most: int = 40) -> str:
    """The first wrong claim at random stops on the way, or ""."""
    known, start = analysis(session), start_of(session)
    branches = Branches(session, known, start)
    for _ in range(stops):
        standing = branches.standing()
        count = 1 if standing else rng.randrange(1, most)
        try:
            stop = session.run(max_instructions=count)
        except GpudbgError:
            break
        wrong = branches.parted(standing, counts) or wrong_claims(session, known, start, counts)
        if wrong or stop.kind != "limit":
            return wrong
    return ""


def programs(seeds: range, arch: str, anything: bool = False) -> dict[int, tuple[bytes, Any]]:
    """Cubin and program of each seed."""
    maker: Any = lane_programs.make
    if anything:
        maker = random_modern.make if is_wide(arch) else random_programs.make
    made = {seed: maker(seed, arch) for seed in seeds}
    cubin = assemble_file(source(list(made.values()), arch), path="lanes.sass").cubin()
    return {seed: (cubin, program) for seed, program in made.items()}


def campaign(
    seeds: range, arch: str, counts: Counts, anything: bool = False, stops: int = MOST_STOPS
) -> tuple[int, str]:
    """(Seed, what is wrong there) of the first wrong claim, or (-1, "")."""
    for seed, (cubin, program) in programs(seeds, arch, anything).items():
        session = fuzz_random.launched(cubin, program, "step", seed)
        counts["programs"] += 1
        rng = random.Random(seed)
        wrong = walk(session, stops, rng, counts, rng.choice((4, 40)))
        if wrong:
            return seed, f"block {program.block}, {wrong}\n{program.text}"
    return -1, ""


def _share(job: tuple[range, str, bool, float]) -> tuple[Counts, int]:
    seeds, arch, anything, until = job
    counts: Counts = Counter()
    if time.monotonic() > until:
        return counts, 0
    bad = 0
    for seed in seeds:
        number, wrong = campaign(range(seed, seed + 1), arch, counts, anything)
        if wrong:
            bad += 1
            print(f"{arch} seed {number}: {wrong}\n", flush=True)
    return counts, bad


def main() -> int:
    """Run the campaign; 1 when a claim is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--arch", nargs="+", default=list(ARCHS))
    parser.add_argument("--any", action="store_true", help="programs of any instructions")
    options = parser.parse_args()
    until = time.monotonic() + options.seconds
    end, jobs = options.start + options.count, []
    for n, first in enumerate(range(options.start, end, BATCH)):
        arch = options.arch[n % len(options.arch)]
        jobs.append((range(first, min(first + BATCH, end)), arch, options.any, until))
    counts: Counts = Counter()
    wrong = 0
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        for found, bad in pool.imap_unordered(_share, jobs):
            counts += found
            wrong += bad
    looked_at = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    print(f"{looked_at}: {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
