"""Random walks forward and back over a launch, with changes on the way; states by place."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gpudbg
from gpudbg.sm.state_hash import parts
from tests import kernel_cases as kc
from tests.engine import machines

HOPPER = Path(__file__).resolve().parents[1] / "hopper" / "cubin"
State = dict[str, Any]
Opened = tuple[str, Callable[[str, int], Any]]
"""A launch to walk over: its name, and what makes its session by engine and seed."""
STORIES = (
    "trap_handler", "trap_counter", "bpt_pause", "barrier_count", "divergent_barrier",
    "surface_reduction", "spin_lock_ends", "tensor_tile", "lost_update", "spill_windows",
)  # fmt: skip
"""Trap handlers, traps, barriers, atomics, textures, groups of lanes: walked over on purpose."""


def of_case(case: kc.Case) -> Opened:
    """A case's first launch."""
    return case.name, lambda engine, seed: machines.launch(case, engine, seed=seed % 3)


def of_story(name: str) -> Opened:
    """A program of `sessions`."""
    program = str(next(Path("sessions", name).glob("*.cubin")))
    return name, lambda engine, seed: gpudbg.open(program, engine=engine, seed=seed % 3)


def of_second(case: kc.Case) -> Opened:
    """A case's first launch once more, after it has run on the same device."""

    def second(engine: str, seed: int) -> Any:
        before = machines.launch(case, engine, seed=seed % 3)
        before.run(max_instructions=20_000)
        again = machines.launch_of(before.launch.loaded, case)
        again.before = before
        return again

    return f"{case.name} again", second


def special() -> list[Opened]:
    """Launches that have what few kernels have."""
    several = [case for case in kc.cases() if len(case.launches) > 1 or "atomic" in case.kernel]
    return [*map(of_story, STORIES), *map(of_second, several)]


def of_hopper(name: str, kernel: str | None, shape: dict[str, Any]) -> Opened:
    """A launch of sm_90 of `tests/hopper`, its buffers filled with numbers.

    Args:
        shape: grid, block, and `words`: of each buffer.
    """

    def opened(engine: str, seed: int) -> Any:
        program = gpudbg.load(str(HOPPER / f"{name}.cubin"), engine=engine, seed=seed % 3)
        given = dict(shape)
        args: list[Any] = [np.arange(n, dtype=np.int32) for n in given.pop("words")]
        return program.launch(kernel, args=args, **given)

    return f"{name} {kernel}", opened


def gemm() -> Opened:
    """Clusters, tensor maps, mbarriers and products of warp groups in one launch."""

    def opened(engine: str, seed: int) -> Any:
        program = gpudbg.load(str(HOPPER / "gemm.cubin"), engine=engine, seed=seed % 3)
        device = program.device
        shapes = ((256, 128), (64, 128), (256, 64))
        buffers = [device.buffer(np.ones(shape, np.float16)) for shape in shapes]
        boxes = (((128, 64), 128), ((32, 64), 128), ((64, 64), None))
        maps = [
            device.tensor_map(buffer, box, swizzle=swizzle)
            for buffer, (box, swizzle) in zip(buffers, boxes, strict=True)
        ]
        shared = 3 * 192 * 128 + 128 * 128
        args = [*maps, np.int32(128)]
        return program.launch(grid=2, block=384, args=args, shared_bytes=shared)

    return "gemm", opened


def modern() -> list[Opened]:
    """Launches of sm_75 and later: groups of lanes, uniform registers, clusters, copies."""
    return [
        of_hopper("bulk", "multicast", {"grid": 4, "block": 128, "words": (128, 512)}),
        of_hopper("bulk", "neighbour", {"grid": 4, "block": 64, "words": (256, 256)}),
        of_hopper("bulk", "reduce", {"grid": 1, "block": 32, "words": (32, 288)}),
        of_hopper("bulk", "remote", {"grid": 2, "block": 64, "words": (128, 128)}),
        of_hopper("barriers", "forms", {"grid": 1, "block": 64, "words": (128,)}),
        of_hopper("barriers", "roles", {"grid": 1, "block": 256, "words": (512, 128)}),
        of_hopper("copies", "copies", {"grid": 1, "block": 64, "words": (512, 256)}),
        of_hopper("matrices", None, {"grid": 1, "block": 32, "words": (128, 256)}),
        gemm(),
        *map(of_case, kc.cases("sm_75", "sm_80", "sm_90", "sm_120")),
    ]


def state(session: Any) -> State:
    """Every part of the state, so that a difference has a name."""
    return {name: bytes(v) if isinstance(v, memoryview) else v for name, v in parts(session.grid)}


def difference(a: State, b: State) -> list[str]:
    """Names of the parts that differ."""
    return sorted(name for name in {*a, *b} if a.get(name) != b.get(name))


class Walk:
    """One walk.

    Attributes:
        trouble: what went wrong first, or "".
    """

    def __init__(self, launch: Opened, engine: str, seed: int) -> None:
        name, opened = launch
        self.random = random.Random(f"{name} {engine} {seed}")
        self.session = opened(engine, seed)
        self.trouble = ""
        self._name = f"{name}, engine {engine}, seed {seed}"
        self._seen: dict[tuple[object, ...], tuple[State, str]] = {}

    def go(self, moves: int) -> str:
        """Move so often, then go back to places that were seen; `trouble`."""
        doings: list[str] = []
        for _ in range(moves):
            doings.append(self._move())
            self._note(doings[-1])
            if self.trouble:
                break
        for where in self.random.sample(list(self._seen), min(len(self._seen), 4)):
            if not self.trouble:
                self._return_to(where)
        return f"{self._name}: {self.trouble}, after {', '.join(doings)}" if self.trouble else ""

    # ---- moves -------------------------------------------------------------------------
    def _move(self) -> str:
        session, draw = self.session, self.random.random()
        alive = not session.finished and not session.faulted and session.focus is not None
        if draw < 0.3 and alive:
            count = self.random.randint(1, 500)
            session.run(max_instructions=count)
            return f"run {count}"
        if draw < 0.45 and alive:
            scope, count = self.random.choice(["warp", "warp", "cta", "all"]), 1 + int(8 * draw)
            session.step(count, scope=scope)
            return f"step {count} {scope}"
        if draw < 0.6 and alive:
            return self._edit()
        if draw < 0.8:
            return self._undo(self.random.randint(1, 5))
        tick = self.random.randint(0, session.history.end_tick)
        session.goto(tick)
        return f"goto {tick}"

    def _undo(self, count: int) -> str:
        """Back, and by one more; that one step leads to the same state again."""
        session = self.session
        session.reverse_step(count)
        if not session.finished and not session.faulted and session.tick:
            before, tick = state(session), session.tick
            session.reverse_step()
            session.step()
            found = difference(before, state(session))
            if session.tick != tick or found:
                self.trouble = f"reverse_step, step: tick {session.tick}, not {tick}, or {found}"
        return f"reverse_step {count}"

    def _edit(self) -> str:
        """Change something, and move on."""
        session = self.session
        if not session.history.in_past:
            # What was here before the change is not to be found again.
            self._seen.pop(self._where(), None)
        warp = self.random.choice([w for w in session.warps() if w.status != "exited"])
        number, lane = self.random.randint(0, 3), self.random.randint(0, 31)
        kind = self.random.choice(["R", "P", "shared", "expression"])
        if kind == "R":
            warp.R[number, lane] = lane
        elif kind == "P":
            warp.P[number, lane] = not warp.P[number, lane]
        elif kind == "expression" or not warp.state.cta.shared.size:
            session.command(f"set var $R{number} = {lane}")
        else:
            session.command(f"set var *(@shared char*)0 = {lane}")
        session.step(2)
        return f"{kind} changed, step 2"

    # ---- states ------------------------------------------------------------------------
    def _where(self) -> tuple[object, ...]:
        session = self.session
        stopped = session.stop.kind in ("warp_error", "trap", "deadlock")
        return session.history.branches.current, session.tick, session.finished, stopped

    def _note(self, doing: str) -> None:
        now = state(self.session)
        before, how = self._seen.setdefault(self._where(), (now, doing))
        if found := difference(before, now):
            self.trouble = f"{found} differ at {self._where()} by {how!r} and {doing!r}"

    def _return_to(self, where: tuple[Any, ...]) -> None:
        branch, tick = where[:2]
        session = self.session
        if branch != session.history.branches.current:
            session.command(f"branch {branch}")
        session.goto(tick)
        if self._where() == where:
            before, how = self._seen[where]
            if found := difference(before, state(session)):
                self.trouble = f"{found} differ at {where}, where {how!r} led"


def walk(launch: Opened, engine: str, seed: int, moves: int = 12) -> str:
    """A walk; what went wrong, or ""."""
    try:
        return Walk(launch, engine, seed).go(moves)
    except gpudbg.GpudbgError as error:
        if str(error).endswith("has no semantics"):
            # A changed predicate led a part of a warp to what whole warps execute.
            return ""
        return f"{launch[0]}, engine {engine}, seed {seed}: {error}"


def recorded_walk(launch: Opened, engine: str, seed: int, path: Path, moves: int = 8) -> str:
    """A walk, recorded and opened again: states at some ticks of both; what went wrong, or ""."""
    name = f"{launch[0]}, engine {engine}, seed {seed}"
    try:
        there = Walk(launch, engine, seed)
        if trouble := there.go(moves):
            return trouble
        draw, session = random.Random(seed), there.session
        end = session.history.end_tick
        ticks = [*(draw.randint(0, end) for _ in range(4)), end]
        hashes = []
        for tick in ticks:
            session.goto(tick)
            hashes.append(session.state_hash())
        numbers = [row.number for row in session.branches if not row.current]
        session.save_recording(path)
        with gpudbg.open(path) as again:
            for tick, hashed in zip(reversed(ticks), reversed(hashes), strict=True):
                again.goto(tick)
                if again.state_hash() != hashed:
                    return f"{name}: tick {tick} of {end} is another state in the recording"
            for number in numbers:
                session.branch(number)
                again.branch(number)
                if again.state_hash() != session.state_hash():
                    return f"{name}: branch {number} ends in another state in the recording"
    except gpudbg.GpudbgError as error:
        # What recordings do not hold is refused by name.
        return "" if "recordings do not hold" in str(error) else f"{name}: recording: {error}"
    return ""
