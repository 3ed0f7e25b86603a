"""The first pass of a check: it never passes what the exact checks would report, and passes what is
plainly clean."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.mem.pages import address_of
from gpudbg.sanitizer import run
from gpudbg.sanitizer.assignment import reads_unwritten
from gpudbg.sanitizer.placed_code import PlacedCode
from gpudbg.sanitizer.races import emulated_atomics
from gpudbg.sanitizer.screening import _function, can_screen, screening_of
from gpudbg.sm.engines.llvm.runtime import screening as code
from gpudbg.sm.engines.llvm.runtime.screening_words import PAGE_BYTES
from gpudbg.sm.trace import ACCESS_WORDS, SYNCS, what_of
from tests.sanitizer.test_twins import HERE, TWINS

ALL = ("memory", "race", "init", "sync", "leak")


def suspected(kernel: str, arch: str) -> tuple[str, ...]:
    twin = TWINS[kernel]
    program = gpudbg.load(str(HERE / f"twins.{arch}.cubin"), engine="run")
    with program.launch(kernel, grid=twin.grid, block=twin.block, args=twin.args) as session:
        instructions = PlacedCode.of(session).instructions
        assert can_screen(session, instructions, ALL)
        emulated = emulated_atomics(instructions)
        screening = screening_of(session, instructions, ALL, emulated=emulated)
        with session.subscribe(screening):
            session.run()
        screening.finish()
        return screening.suspected


@pytest.mark.parametrize(
    ("kernel", "arch", "bad"),
    [("vec", "sm_52", False), ("vec_bad", "sm_52", True), ("wred_bad", "sm_80", True)],
)
def test_compiled_code_tells_clean_from_suspect(kernel: str, arch: str, bad: bool) -> None:
    assert bool(suspected(kernel, arch)) == bad


def test_a_clean_launch_is_not_run_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "Monitor", None)
    twin = TWINS["dbuf"]
    program = gpudbg.load(str(HERE / "twins.sm_52.cubin"))
    report = gpudbg.check(program, "dbuf", grid=twin.grid, block=twin.block, args=twin.args)
    assert report.status == "clean"
    assert report.instructions == report.stop.instructions > 0


# ---- definite assignment ---------------------------------------------------------------------
@pytest.mark.parametrize(
    ("body", "unwritten"),
    [
        ("MOV R0, 0x1\n IADD R1, R0, 0x1", False),
        ("IADD R1, R0, 0x1", True),
        ("S2R R0, SR_TID.X\n ISETP.LT.AND P0, PT, R0, 0x4, PT\n"
         "@P0 MOV R2, 0x1\n @P0 IADD R3, R2, 0x1", False),
        ("S2R R0, SR_TID.X\n ISETP.LT.AND P0, PT, R0, 0x4, PT\n"
         "@P0 MOV R2, 0x1\n @!P0 IADD R3, R2, 0x1", True),
        ("S2R R0, SR_TID.X\n ISETP.LT.AND P0, PT, R0, 0x4, PT\n"
         "@P0 MOV R2, 0x1\n @!P0 MOV R2, 0x2\n IADD R3, R2, 0x1", False),
        ("S2R R0, SR_TID.X\n ISETP.LT.AND P0, PT, R0, 0x4, PT\n @P0 MOV R2, 0x1\n"
         "ISETP.LT.AND P0, PT, R0, 0x8, PT\n @P0 IADD R3, R2, 0x1", True),
        ("@P1 MOV R0, 0x1", True),
    ],
)  # fmt: skip
def test_definite_assignment(body: str, unwritten: bool) -> None:
    program = gpudbg.assemble_program(f"{body}\nEXIT")
    kernel = next(iter(program.program.kernels.values()))
    image = program.module.image
    assert reads_unwritten(program.program, image, kernel.section) == unwritten


# ---- the compiled function against vector clocks ----------------------------------------------
WARPS, CTAS = 2, 2
CODE, MEMORY = 0x1000, 0x10000


@dataclass
class Clocks:
    """Every thread with a clock of its own, and all accesses of each byte."""

    lock_step: bool
    lanes: int
    now: dict[tuple[int, int, int], dict[Any, int]] = field(default_factory=dict)
    tick: int = 0
    past: dict[Any, list[Any]] = field(default_factory=dict)
    arrived: dict[int, set[int]] = field(default_factory=dict)
    granules: set[tuple[str, int]] = field(default_factory=set)

    @property
    def raced(self) -> bool:
        return bool(self.granules)

    def clock(self, who: tuple[int, int, int]) -> dict[Any, int]:
        return self.now.setdefault(who, {})

    def join(self, threads: list[tuple[int, int, int]]) -> None:
        known: dict[Any, int] = {}
        for who in threads:
            for other, tick in {**self.clock(who), who: self.tick}.items():
                known[other] = max(known.get(other, 0), tick)
        for who in threads:
            self.now[who] = dict(known)

    def meet(self, cta: int, warp: int, lanes: Iterable[int]) -> None:
        self.join([(cta, warp, lane) for lane in lanes])
        self.tick += 1

    def access(
        self, cta: int, warp: int, accesses: dict[int, int], kind: str, size: int, space: str,
        active: Iterable[int],
    ) -> None:  # fmt: skip
        threads = [(cta, warp, lane) for lane in active]
        if self.lock_step:
            self.join(threads)
        self.tick += 1
        for lane, address in accesses.items():
            who = (cta, warp, lane)
            for byte in range(address, address + size):
                key = (space, cta if space == "shared" else None, byte)
                for other, tick, before, at, bytes_ in self.past.setdefault(key, []):
                    if other == who or (kind == before == "load"):
                        continue
                    if kind == before == "atomic" and (at, bytes_) == (address, size):
                        continue
                    if self.clock(who).get(other, 0) < tick:
                        self.granules.add((space, byte >> 2))
            for byte in range(address, address + size):
                key = (space, cta if space == "shared" else None, byte)
                self.past[key].append((who, self.tick, kind, address, size))
        if self.lock_step:
            # They go on, or part by a branch that they take together.
            self.join(threads)

    def barrier(self, cta: int, warp: int) -> None:
        arrived = self.arrived.setdefault(cta, set())
        if self.lock_step:
            self.join([(cta, warp, lane) for lane in range(self.lanes)])
        self.tick += 1
        arrived.add(warp)
        if len(arrived) == WARPS:
            arrived.clear()
            self.join([(cta, w, lane) for w in range(WARPS) for lane in range(self.lanes)])


def made(lock_step: bool, lanes: int) -> tuple[Any, list[Any]]:
    """What the function is given, and what must be kept with it."""
    kept = [np.zeros(1 << 16, np.int64) for _ in range(7)]
    shared, pages, ctas, pool, flags, suspects, shared_suspects = (address_of(k) for k in kept)
    fields = dict.fromkeys(code.FIELDS, 0) | {
        "first_page": MEMORY >> 12, "pages": pages, "page_count": 1, "pool": pool,
        "pool_end": pool + 4 * PAGE_BYTES, "shared": shared, "shared_stride": 4096,
        "shared_bytes": 16 + 16 * lanes, "ctas": ctas, "slots": 64, "warps": WARPS,
        "last_valid": (1 << lanes) - 1, "code": CODE, "flags": flags, "lock_step": lock_step,
        "window": 1 << 40, "local_window": 1 << 41, "races": 1,
        "suspects": suspects, "shared_suspects": shared_suspects,
    }  # fmt: skip
    return np.array([int(fields[n]) for n in code.FIELDS], np.int64), kept


def row(cta: int, warp: int, lanes: int, what: int, together: bool = False) -> Any:
    words = np.zeros(ACCESS_WORDS, np.int64)
    words[0], words[1] = CODE, lanes | what << 32 | warp << 48
    words[2] = cta << 32 | (2 * cta + warp) << 8 | together
    return words


@dataclass
class Warp:
    """Its lanes, those that go on now, and those that wait for them."""

    lanes: range
    active: list[int]
    others: list[int] = field(default_factory=list)

    def turn(self, dice: random.Random) -> bool:
        """Part, go on with the others, or meet again; whether all are together then."""
        if self.active == [*self.lanes]:
            self.active = sorted(dice.sample(self.lanes, dice.randrange(1, len(self.lanes))))
            self.others = [lane for lane in self.lanes if lane not in self.active]
            return False
        if self.others and dice.random() < 0.6:
            self.active, self.others = self.others, []
            return False
        self.active, self.others = [*self.lanes], []
        return True


@pytest.mark.parametrize(
    ("lanes", "runs"),
    [
        (4, 1500),
        pytest.param(
            20, 800, marks=pytest.mark.full(instead="test_it_misses_no_race_of_random_accesses")
        ),
    ],
)
def test_it_misses_no_race_of_random_accesses(lanes: int, runs: int) -> None:
    call, dice, races, passed = _function(), random.Random(7), 0, 0
    whole = (1 << lanes) - 1
    for n in range(runs):
        lock_step, mixed = bool(n & 1), n % 3 == 0
        kinds = ("load", "store", "atomic") if n & 4 else ("load", "load", "load", "store")
        words, kept = made(lock_step, lanes)
        model, rows = Clocks(lock_step, lanes), []
        waiting: dict[int, set[int]] = {}
        warps = {
            (c, w): Warp(range(lanes), [*range(lanes)]) for c in range(CTAS) for w in range(WARPS)
        }
        for _ in range(dice.choice((3, 5, 9, 14))):
            cta, warp = dice.randrange(CTAS), dice.randrange(WARPS)
            if warp in waiting.get(cta, ()):
                continue
            here = warps[cta, warp]
            if dice.random() < 0.25:
                # All have been together before they part and when they meet; `__syncwarp`.
                mask = whole if warp == WARPS - 1 else 0xFFFFFFFF
                if not lock_step:
                    rows.append(row(cta, warp, mask, 3 | SYNCS.index("warp") << 4))
                    model.meet(cta, warp, here.lanes)
                elif len(here.active) == lanes or here.turn(dice):
                    model.meet(cta, warp, here.lanes)
                    if len(here.active) == lanes and dice.random() < 0.7:
                        here.turn(dice)
                continue
            together = len(here.active) == lanes
            if together and dice.random() < 0.3:
                # Only the last warp has few lanes; the first one's others never come.
                mask = whole if warp == WARPS - 1 else 0xFFFFFFFF
                rows.append(row(cta, warp, mask, 3 | SYNCS.index("barrier") << 4))
                model.barrier(cta, warp)
                held = waiting.setdefault(cta, set())
                held.add(warp)
                if len(held) == WARPS:
                    held.clear()
                continue
            kind = dice.choice(kinds)
            size = dice.choice((1, 4, 4, 8, 16)) if mixed else dice.choice((4, 8))
            size = min(max(size, 4), 8) if kind == "atomic" else size
            size = size if mixed or kind != "atomic" else 4
            space = dice.choice(("shared", "global"))
            part = 1.0 if n & 2 else 0.7
            chosen = [at for at in here.active if dice.random() < part] or here.active[:1]
            apart = dice.choice((0, size))
            start = dice.randrange(0, 2) * 16 if size > 8 else dice.randrange(0, 3) * 8
            at = {lane: start + apart * lane for lane in chosen}
            mask = sum(1 << lane for lane in chosen)
            found = row(cta, warp, mask, what_of(kind, space, size), together)
            base = MEMORY if space == "global" else 0
            for lane, address in at.items():
                found[3 + lane] = base + address
            rows.append(found)
            model.access(cta, warp, at, kind, size, space, here.active)
        table = np.array(rows)
        assert call(address_of(words), address_of(table), 0, len(rows)) == len(rows)
        suspects = bool(words[code.FIELD["found"] // 8])
        assert suspects or not model.raced, (n, lock_step, rows)
        # Shared memory is marked by offset, whichever CTA it is of; the model knows no base.
        marks = {"shared": kept[6], "global": kept[5]}
        for space, granule in model.granules:
            assert int(marks[space][granule >> 6]) >> (granule & 63) & 1, (n, space, granule, rows)
        races += model.raced
        passed += not suspects
        assert len(kept) == 7
    assert races > runs // 5
    assert passed > runs // 5


def judged(
    lock_step: bool, accesses: list[tuple[int, str, int, str, list[int], bool]]
) -> tuple[bool, bool]:
    """Whether accesses to one place are suspect, and whether they race: (warp, kind, size, space,
    lanes, whether all are together); without lanes it is `__syncwarp`."""
    words, kept = made(lock_step, 4)
    model, rows = Clocks(lock_step, 4), []
    for warp, kind, size, space, lanes, together in accesses:
        if not lanes:
            mask = 15 if warp == WARPS - 1 else 0xFFFFFFFF
            rows.append(row(0, warp, mask, 3 | SYNCS.index("warp") << 4))
            model.meet(0, warp, range(4))
            continue
        what = what_of(kind, space, size)
        rows.append(row(0, warp, sum(1 << lane for lane in lanes), what, together))
        rows[-1][3:] = MEMORY if space == "global" else 0
        active = range(4) if together else lanes
        model.access(0, warp, dict.fromkeys(lanes, 0), kind, size, space, active)
    table = np.array(rows)
    assert _function()(address_of(words), address_of(table), 0, len(rows)) == len(rows)
    assert len(kept) == 7
    return bool(words[code.FIELD["found"] // 8]), model.raced


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("space", ["shared", "global"])
def test_what_lanes_of_one_warp_read_apart_was_written_by_it(space: str, size: int) -> None:
    """Another warp that reads it, too, has not met with the writer."""
    parted = [
        (0, "store", size, space, [0], True),
        (0, "load", size, space, [0, 1], False),
        (0, "load", size, space, [2, 3], False),
        (1, "load", size, space, [0], True),
    ]
    assert judged(True, parted) == (True, True)
    synced = [
        (0, "store", size, space, [0], True),
        (0, "", 0, "", [], True),
        (0, "load", size, space, [1], True),
        (0, "load", size, space, [2], True),
        (1, "load", size, space, [0], True),
    ]
    assert judged(False, synced) == (True, True)


@pytest.mark.parametrize(("size", "clean"), [(1, True), (4, True), (16, True)])
def test_lanes_that_read_apart_and_meet_may_write(size: int, clean: bool) -> None:
    accesses = [
        (0, "load", size, "shared", [1], True),
        (0, "load", size, "shared", [2], True),
        (0, "", 0, "", [], True),
        (0, "store", size, "shared", [3], True),
    ]
    assert judged(False, accesses) == (not clean, not clean)


def test_code_is_looked_at_once_for_all_launches() -> None:
    program = gpudbg.load(str(HERE / "twins.sm_52.cubin"), engine="run")
    twin = TWINS["vec"]
    seen = []
    for _ in range(2):
        with program.launch("vec", grid=twin.grid, block=twin.block, args=twin.args) as session:
            seen.append((PlacedCode.of(session), PlacedCode.of(session).symbol_accesses(session)))
    assert seen[0][0] is seen[1][0]
    assert seen[0][1] is seen[1][1]
