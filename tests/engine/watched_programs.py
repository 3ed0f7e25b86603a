"""Random watchpoints in random programs, stop by stop on both engines.

The run engine executes compiled code up to what may touch a watched place; what a stop says (who,
where, the old and the new value, the lanes), how often each watchpoint was met, and the whole state
must be as on the step engine, which is told of every access.
"""

from __future__ import annotations

import os
import random
from contextlib import suppress
from itertools import islice
from typing import Any

from gpudbg.architectures import is_wide
from gpudbg.errors import GpudbgError
from gpudbg.sm.engines.llvm import build

LOOKED_AT = 200
"""Entries of its trace of accesses."""
STOPS = 12
"""Stops of a program that are compared."""
CONDITIONS = (
    *[None] * 6,
    "threadIdx.x < 8", "blockIdx.x == 1", "$R3 > 5", "$P0", "$R5 & 1", "warpid == 1",
)  # fmt: skip
KINDS = ("write", "write", "read", "access", "store")
SPECIAL = ("%tid.x", "%laneid", "SR_CTAID.X", "%clock", "SR_EQMASK")
TYPES = ("unsigned char", "short", "int", "float", "unsigned long")


def compile_quickly() -> None:
    """Another program for each selection: what it costs to make it well is not got back."""
    os.environ[build.LEAST_EFFORT] = "least"


Access = tuple[str, int]
"""Space and address of one lane."""


def accesses(session: Any, most: int) -> list[Access]:
    """Some that a program makes, of generic addresses none."""
    with session.trace("access") as log, suppress(GpudbgError):
        session.run(max_instructions=most)
    found = [
        (entry.space, int(address))
        for entry in islice(log, LOOKED_AT)
        if entry.space in ("global", "shared", "local")
        for address in entry.addresses[:: len(entry.addresses) // 4 + 1]
    ]
    return sorted(set(found))


def _memory(rng: random.Random, touched: list[Access], buffer: int) -> str:
    """A place in memory, mostly one that the program accesses."""
    space, at = rng.choice(touched) if touched and rng.random() < 0.9 else ("global", buffer)
    type_ = rng.choice(TYPES)
    place = f"*(@{space} {type_}*)0x{at + rng.choice((0, 0, 1, 4, -4)):x}"
    return f"{place}@{rng.choice((2, 3, 16, 64))}" if rng.random() < 0.25 else place


def _register(rng: random.Random, wide: bool) -> str:
    kinds = ["R", "R", "R", "P", "F", "RD", "SR", "c"]
    match rng.choice(kinds + (["UR", "UP"] if wide else ["cc", "flag"])):
        case "SR":
            return rng.choice(SPECIAL)
        case "c":
            offset = (0x160 if wide else 0x140) + 4 * rng.randrange(-2, 10)
            return f"c[{rng.choice((0, 0, 0, 3))}][{offset}]"
        case "RD":
            return f"$RD{2 * rng.randrange(16)}"
        case "P" | "UP" as kind:
            return f"${kind}{rng.randrange(6)}"
        case "UR":
            return f"$UR{rng.randrange(12)}"
        case "cc":
            return "$CC"
        case "flag":
            return "$CC." + rng.choice("ZSCO")
        case kind:
            return f"${kind}{rng.randrange(32)}"


def watch(session: Any, touched: list[Access], buffer: int, seed: int) -> list[str]:
    """Set some watchpoints; what they are."""
    rng = random.Random(seed)
    wide = is_wide(session.grid.gpu.arch)
    warps = list(session.grid.warps())
    for _ in range(rng.choice((1, 1, 2, 3, 12 if rng.random() < 0.2 else 4))):
        warp = rng.choice(warps)
        session.focus_on(
            warp.sm, warp.slot, rng.choice([n for n in range(32) if warp.valid >> n & 1])
        )
        condition = rng.choice(CONDITIONS)
        try:
            if rng.random() < 0.3:
                row = session.watch_at(_register(rng, wide), rng.choice(KINDS), condition)
            else:
                kind = rng.choice(KINDS)
                row = session.watch_at(_memory(rng, touched, buffer), kind, condition)
        except GpudbgError:
            continue
        row.ignore = rng.choice((0, 0, 0, 0, 1, 3))
    return [f"{row.watch.target.kind} {row.location} if {row.condition}" for row in rows(session)]


def rows(session: Any) -> list[Any]:
    """Its watchpoints."""
    return [row for row in session.breakpoints if row.watch is not None]


def stop_of(session: Any, most: int) -> tuple[Any, ...]:
    """How a run goes on to its next stop."""
    try:
        stop = session.cont(max_instructions=most)
    except GpudbgError as error:
        return type(error).__name__, str(error)
    errors = [(e.name, e.lanes, e.pc, e.address, e.access, e.detail) for e in stop.errors]
    counts = [(row.number, row.hits, row.ignore) for row in rows(session)]
    said = stop.kind, stop.message, stop.detail, stop.breakpoints, stop.watch, counts
    return *said, stop.sm, stop.warp, stop.lane, stop.pc, stop.instructions, errors


def met(session: Any) -> bool:
    """Whether a watchpoint was."""
    return any(row.hits for row in rows(session))
