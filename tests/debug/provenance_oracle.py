"""Who touched what in a launch, noted on the way, against what the search backwards says."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import numpy as np

import gpudbg
from gpudbg.isa.family import decode
from tests import kernel_cases as kc
from tests.engine import machines

MOST = 20_000
"""Warp instructions of a launch at most."""
Row = tuple[int, int, int]
"""Tick, pc, lanes."""


class Noted(gpudbg.Observer):
    """Every touch of memory and registers: by space, owner and word, rows in order of time.

    Attributes:
        memory: (how, space, owner, word) -> rows; owner is the CTA's number for shared memory.
        registers: (how, CTA, warp, register) -> rows.
    """

    def __init__(self, session: Any) -> None:
        self.memory: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
        self.registers: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
        self._session, self._tick, self._pc = session, -1, 0
        self._arch = session.program.arch
        self._known: dict[int, Any] = {}

    def instruction(self, warp: Any, pc: int, instruction: Any, lanes: int) -> None:
        self._tick += 1
        self._pc = pc
        if pc not in self._known:
            row = self._session.symbols.instruction(pc)
            self._known[pc] = decode(row.word, self._arch)
        insn = self._known[pc]
        for how, access in (("write", insn.writes()), ("read", insn.reads())):
            for number in access.registers if lanes else ():
                key = how, warp.cta.number, warp.index, number
                self.registers[key].append((self._tick, pc, lanes))

    def access(self, warp: Any, space: str, kind: str, address: Any, lanes: int, size: int) -> None:
        at = np.broadcast_to(np.asarray(address), (32,)).astype(np.uint64)
        owner = warp.cta.number if space == "shared" else None
        if space not in ("global", "shared"):
            return
        touched: dict[int, int] = defaultdict(int)
        for lane in (n for n in range(32) if lanes >> n & 1):
            first, last = int(at[lane]) >> 2, int(at[lane]) + size - 1 >> 2
            for word in range(first, last + 1):
                touched[word] |= 1 << lane
        hows = {"store": ("write",), "load": ("read",)}.get(kind, ("write", "read"))
        for word, mask in touched.items():
            for how in hows:
                self.memory[how, space, owner, word].append((self._tick, self._pc, mask))


def first_of(warp: Any) -> int:
    """A lane of a warp."""
    lanes = int(warp.state.valid)
    return (lanes & -lanes).bit_length() - 1


def trouble_of(case: kc.Case, engine: str, seed: int, asked: int = 6) -> str:
    """Ask about places of a launch at random; what is answered wrongly, or ""."""
    draw = random.Random(f"{case.name} {engine} {seed}")
    session = machines.launch(case, engine, seed=seed % 3)
    oracle = machines.launch(case, "step", seed=seed % 3)
    with oracle.subscribe(Noted(oracle)) as noted:
        oracle.run(max_instructions=MOST)
    session.run(max_instructions=oracle.tick)
    # Somewhere before the end a warp is there to ask.
    tick = draw.randint(min(oracle.tick - 1, 40), oracle.tick - 1) if oracle.tick > 1 else 0
    session.goto(tick)
    if session.focus is None:
        return ""
    name = f"{case.name}, engine {engine}, seed {seed}, tick {tick}"
    warp = draw.choice([w for w in session.warps() if w.status != "exited"])
    sm, slot = warp.state.sm, warp.state.slot
    cta = warp.state.cta.number
    for _ in range(asked):
        how, count = draw.choice(["write", "read"]), draw.randint(1, 4)
        places = [k for k in noted.memory if k[0] == how and k[2] in (None, cta)]
        if draw.random() < 0.5 and places:
            key = draw.choice(sorted(places, key=str))
            session.focus_on(sm, slot, first_of(warp))
            rows, base = noted.memory[key], key[3] << 2
            expression = f"*(@{key[1]} unsigned int*)0x{base:x}"
        else:
            lane = draw.randint(0, 31)
            number = draw.randint(0, 8)
            if not warp.state.valid >> lane & 1 or number >= len(warp.state.R) - 1:
                continue
            session.focus_on(sm, slot, lane)
            rows = noted.registers.get((how, cta, warp.state.index, number), [])
            rows = [(t, pc, lanes & 1 << lane) for t, pc, lanes in rows if lanes >> lane & 1]
            expression = f"$R{number}"
        wanted = [row for row in rows if row[0] < tick][-count:][::-1]
        wanted = [(t, session.symbols.offset(pc), lanes) for t, pc, lanes in wanted]
        found = (session.who_wrote if how == "write" else session.who_read)(expression, n=count)
        got = [(t.tick, t.pc, t.lanes) for t in found if t.inside]
        if got != wanted:
            return f"{name}: {how} {expression} x{count}: {got}, not {wanted}"
        if session.tick != tick:
            return f"{name}: stands at tick {session.tick} after {expression}"
    return ""
