"""Groups of lanes in compiled code against the step engine's: random rows of what lanes do to
convergence barriers and to one another, state by state."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from gpudbg.mem.lanes import FULL
from gpudbg.mem.local import LocalMemory
from gpudbg.mem.pages import address_of, zeroed
from gpudbg.sm import record as rec
from gpudbg.sm.convergence import kept, step
from gpudbg.sm.convergence.compiled import CLEARS, KEEPS
from gpudbg.sm.engines.llvm import build, layout
from gpudbg.sm.state import Cta, WarpState
from tests.variants import number

NEXT = 0x500
REFUSED = -1
_POINTER, _WORD, _LONG = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int64


def _function(name: str, result: Any, *arguments: Any) -> Any:
    at = build.library().address(layout.symbol(f"groups.{name}"))
    return ctypes.CFUNCTYPE(result, *arguments)(at)


class Compiled:
    """The functions of the library."""

    def __init__(self) -> None:
        rec_, word = _POINTER, _WORD
        self.open = _function("open", ctypes.c_bool, rec_, word, word)
        self.leave = _function("leave", ctypes.c_bool, rec_, word, word)
        self.save = _function("save", ctypes.c_bool, rec_, word, word, word, _POINTER)
        self.restore = _function("restore", ctypes.c_bool, rec_, word, word, _POINTER)
        self.split = _function("split", _LONG, rec_, word, _LONG, _LONG)
        self.jump = _function("jump", _LONG, rec_, _POINTER, word, _LONG)
        self.converge = _function("converge", _LONG, rec_, word, word, _LONG)
        self.sync = _function("sync", _LONG, rec_, word, word, word, _LONG)
        self.yields = _function("yield", _LONG, _POINTER, rec_, word, _LONG)


def _warp() -> WarpState:
    warp = WarpState(Cta(0, (0, 0, 0), 0, 0, 0), 0, 0, 1, 40, LocalMemory(4), has_groups=True)
    warp.words[rec.VALID] = warp.words[rec.ACTIVE] = FULL
    return warp


def _state(warp: WarpState) -> Any:
    """What decides how the warp goes on."""
    groups = warp.shown_groups
    parked = [
        (g.pc, g.lanes, g.state, g.place, g.passes, g.waited, g.activation and g.activation.members)
        for g in groups.parked
    ]
    held = sorted((n, lanes, a.members, a.waiting) for n, lanes, a in groups.activations())
    saved = sorted(
        (key, [(a.members, a.waiting) for a in row]) for key, row in groups._saved.items() if row
    )
    more = groups.exclusive, groups.running
    return warp.words[rec.ACTIVE], warp.words[rec.STATUS], parked, held, saved, more


class Pair:
    """A warp of each engine, and the row that words are passed in."""

    def __init__(self, compiled: Compiled, rng: random.Random) -> None:
        self.compiled, self.rng = compiled, rng
        self.one, self.two = _warp(), _warp()
        memory = zeroed(256)
        self.row = memory[-address_of(memory) % 64 :][:128].view(np.uint32)
        long = zeroed(512)
        self.longs = long[-address_of(long) % 64 :][:256].view(np.int64)
        self.environment = zeroed(layout.ENVIRONMENT_BYTES)
        self.masks = [0] * 32
        self.refused = 0

    def _lanes(self) -> int:
        active = int(self.one.words[rec.ACTIVE])
        some = active & self.rng.choice((FULL, self.rng.getrandbits(32), 0xFFFF, 0xF0F0F0F0))
        return some or active

    def move(self) -> str:
        """One random move of both; its name."""
        rng, at, made = self.rng, self.two.quads[rec.SELF], self.compiled
        name = rng.choice(
            "open open converge converge leave save restore split jump sync sync yields".split()
        )
        n, lanes = rng.randrange(2), self._lanes()
        pc = NEXT
        act: Callable[[WarpState], Any]
        if name == "open":
            self.one.groups.open(n, lanes)
            done = made.open(at, n, lanes)
            act = lambda warp: warp.groups.open(n, lanes)  # noqa: E731
        elif name == "leave":
            self.one.groups.leave(n, lanes)
            done = made.leave(at, n, lanes)
            act = lambda warp: warp.groups.leave(n, lanes)  # noqa: E731
        elif name == "save":
            how = rng.choice((CLEARS, KEEPS, KEEPS))
            masks = [self.one.groups.mask_of_lane(n, lane) for lane in range(32)]
            self.one.groups.save(n, lanes, how == KEEPS)
            self.row[:] = 0
            done = made.save(at, n, lanes, how, self.row.ctypes.data)
            if done:
                wanted = [m if lanes >> lane & 1 else 0 for lane, m in enumerate(masks)]
                assert self.row.tolist() == wanted
            if how == KEEPS:
                self.masks = [
                    m if lanes >> k & 1 else o
                    for k, (m, o) in enumerate(zip(masks, self.masks, strict=True))
                ]
            act = lambda warp: warp.groups.save(n, lanes, how == KEEPS)  # noqa: E731
        elif name == "restore":
            masks = list(self.masks)
            self.one.groups.restore(n, lanes, masks)
            self.row[:] = masks
            done = made.restore(at, n, lanes, self.row.ctypes.data)
            act = lambda warp: warp.groups.restore(n, lanes, masks)  # noqa: E731
        else:
            return self._flow(name, n, lanes)
        self._settle(bool(done), act, pc, pc)
        return name

    def _flow(self, name: str, n: int, lanes: int) -> str:
        rng, at, made = self.rng, self.two.quads[rec.SELF], self.compiled
        act: Callable[[WarpState], Any]
        if name == "converge":
            act = lambda warp: step.converge(warp, NEXT, n, lanes)  # noqa: E731
            goal = made.converge(at, n, lanes, NEXT)
        elif name == "split":
            target = rng.choice((0x100, 0x900))
            lanes = lanes if lanes != self.one.words[rec.ACTIVE] else lanes & -lanes
            if lanes == self.one.words[rec.ACTIVE]:
                return name
            act = lambda warp: step.branch_each(  # noqa: E731
                warp, NEXT, step.goals(warp, NEXT, {target: lanes})
            )
            goal = made.split(at, lanes, target, NEXT)
        elif name == "jump":
            self.longs[:] = [rng.choice((0x100, 0x200, NEXT, 0x900)) for _ in range(32)]
            goals: dict[int, int] = {}
            for lane, target in enumerate(self.longs.tolist()):
                if lanes >> lane & 1:
                    goals[target] = goals.get(target, 0) | 1 << lane
            act = lambda warp: step.branch_each(  # noqa: E731
                warp, NEXT, step.goals(warp, NEXT, goals)
            )
            goal = made.jump(at, self.longs.ctypes.data, lanes, NEXT)
        elif name == "sync":
            if rng.random() < 0.3:
                return self._goes_alone(lanes)
            mask, passes = rng.choice((FULL, 0xFFFF)) | lanes, rng.random() < 0.3
            act = lambda warp: step.synchronize(  # noqa: E731
                warp, NEXT, lanes, [mask] * 32, False, passes
            )
            goal = made.sync(at, lanes, mask, passes, NEXT)
        else:
            act = lambda warp: step.yield_turn(warp, NEXT, lanes)  # noqa: E731
            goal = made.yields(address_of(self.environment), at, lanes, NEXT)
        self._settle(goal != REFUSED, act, act(self.one), goal)
        return name

    def _goes_alone(self, lanes: int) -> str:
        """A WARPSYNC.EXCLUSIVE, which a kernel's own code does for the only group of a warp."""
        words = self.two.words
        whole = not words[rec.DEPTH] and words[rec.APART] != rec.IN_PYTHON
        done = bool(whole and lanes == words[rec.ACTIVE])

        def act(warp: WarpState) -> int:
            return step.synchronize(warp, NEXT, lanes, [FULL] * 32, True, False)

        if done:
            words[rec.APART] = rec.ALONE
        self._settle(done, act, act(self.one), NEXT)
        return "alone"

    def _settle(self, done: bool, act: Any, wanted: int, goal: int) -> None:
        """Have the step engine do what compiled code refused; both are the same then."""
        self.refused += not done
        if not done:
            again = act(self.two)
            goal = wanted if again is None else again
        assert goal == wanted
        assert _state(self.one) == _state(self.two)
        for warp in (self.one, self.two):
            kept.keep(warp)


def test_random_groups() -> None:
    """Most moves are compiled; where one is refused nothing has changed."""
    compiled, moves, refused = Compiled(), 0, 0
    for seed in range(number(60, 4000)):
        pair, names = Pair(compiled, random.Random(seed)), []
        for _ in range(30):
            try:
                names.append(pair.move())
            except AssertionError as error:
                raise AssertionError(f"seed {seed} after {names}") from error
            if pair.one.words[rec.STATUS] != rec.READY:
                break
        moves, refused = moves + len(names), refused + pair.refused
    assert refused < 2 * moves // 3
