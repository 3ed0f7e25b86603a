"""Launches of sample programs on an engine of choice, and their whole state for comparison."""

from __future__ import annotations

from typing import Any

import numpy as np

import gpudbg
from gpudbg.sm import record as rec
from gpudbg.sm.convergence.groups import READY
from tests import kernel_cases as kc

FIELDS = [
    name
    for name in rec.FIELDS
    if name
    not in ("pointers", "self", "virtual_id", "budget", "stack", "stack_step", "capacity", "tid")
]
KEPT = ("depth", "apart", "ready", "lowest", "second", "backward", "opened", "held", "activations")
"""Fields that hold groups of lanes, unless these are in Python."""


def launch(
    case: kc.Case,
    engine: str,
    seed: int = 0,
    num_sms: int | None = None,
    block: tuple[int, int, int] | None = None,
) -> Any:
    """The session of a case's first launch, before its first instruction; `block`: its shape, in
    place of the case's."""
    program = gpudbg.load(str(case.cubin), engine=engine, seed=seed, num_sms=num_sms)
    return launch_of(program, case, block)


def launch_of(program: Any, case: kc.Case, block: tuple[int, int, int] | None = None) -> Any:
    """A session of a case's first launch on its program."""
    objects = kc.make_objects(case, program.device)
    for name, spec in case.symbols.items():
        program.write_symbol(name, kc.contents(spec))
    first = case.launches[0]
    return program.launch(
        first["entry"],
        grid=tuple(first["grid"]),
        block=block or tuple(first["block"]),
        args=[kc.argument(row, objects) for row in first["args"]],
        shared_bytes=first.get("shared", 0),
    )


def warp_state(warp: Any) -> dict[str, Any]:
    """A warp's header, registers, stack and local memory."""
    state: dict[str, Any] = {}
    for name in FIELDS:
        if warp.has_groups and name in KEPT:
            continue
        slot = rec.FIELDS[name]
        end = slot.offset + slot.width * slot.length
        state[name] = warp.record[slot.offset : end].tobytes().hex()
    if warp.words[rec.STATUS] == rec.DONE:
        # The masks and flags of a warp that has ended mean nothing.
        state["active"] = ""
    state["R"] = warp.R.tobytes()
    if warp.has_groups:
        state["UR"] = warp.UR.tobytes()
        state["groups"] = groups_state(warp)
        state["lowest holds"] = _lowest_holds(warp)
    state["stack"] = warp.stack
    state["local"] = warp.local.words.tobytes()
    state["marks"] = warp.local.marks().tobytes()
    state["place"] = (warp.sm, warp.slot, warp.index, warp.cta.number, warp.cta.block)
    return state


def _lowest_holds(warp: Any) -> bool:
    """Whether no group in a record that is ready has a lower pc than the record says, nor one
    below the top of the stack."""
    words = warp.words
    if words[rec.APART] == rec.IN_PYTHON or not words[rec.READY_GROUPS]:
        return True
    parked = warp.shown_groups.parked
    ready = [group.pc for group in parked if group.state == READY]
    below = [group.pc for group in parked[:-1] if group.state == READY]
    least = min(below, default=words[rec.SECOND])
    return bool(min(ready) >= words[rec.LOWEST] and least >= words[rec.SECOND])


def groups_state(warp: Any) -> dict[str, Any]:
    """The groups of a warp's lanes, wherever they are."""
    return groups_words(warp.shown_groups)


def groups_words(groups: Any) -> dict[str, Any]:
    """The same, with those that a trap handler interrupts."""
    held = [(n, lanes, a.members, a.waiting) for n, lanes, a in groups.activations()]
    return {
        "parked": [(g.state, g.pc, g.lanes, g.place, g.exclusive, g.waited) for g in groups.parked],
        "activations": sorted(held),
        "running": groups.running,
        "exclusive": groups.exclusive,
        "backward": groups.backward_count if groups.parked else 0,
        "saves": groups.saves,
        "interrupted": groups.interrupted and groups_words(groups.interrupted),
    }


def barrier_state(cta: Any) -> list[Any]:
    """Barriers of a CTA that are in use."""
    return [
        (n, b.arrived, b.count, sorted(b.waiting.items()), b.total, b.all_true, b.any_true)
        for n, b in enumerate(cta.barriers.slots)
        if b.arrived or b.waiting
    ]


def grid_state(grid: Any) -> dict[str, Any]:
    """Everything of a launch that either engine can change."""
    schedule = grid.schedule
    turn = None
    if schedule.warp is not None and schedule.left > 0 and not schedule.warp.words[rec.STATUS]:
        turn = (schedule.warp.sm, schedule.warp.slot, schedule.left)
    ctas = list(grid.ctas())
    return {
        "total": grid.total,
        "turn": turn,
        "position": (schedule.position, schedule.stay, schedule.polls),
        "done": (grid.ctas_done, grid.ctas_waiting),
        "issued": [sm.issued for sm in grid.sms],
        "warps": [warp_state(w) for w in grid.warps()],
        "shared": [cta.shared.data.tobytes() for cta in ctas],
        "barriers": [(cta.number, barrier_state(cta)) for cta in ctas],
        "marks": [store.marked().tobytes() for store in _without_contents(grid, ctas)],
        "memory": [a.data.tobytes() for a in grid.gpu.memory.allocations()],
    }


def _without_contents(grid: Any, ctas: list[Any]) -> list[Any]:
    """What nobody gave contents, of which is marked what has been written."""
    return [
        *(cta.shared for cta in ctas),
        *(a for a in grid.gpu.memory.allocations() if a.uninitialized),
    ]


def difference(a: Any, b: Any, path: str = "") -> str:
    """Where two states differ first, or ""."""
    if isinstance(a, dict):
        for key in a:
            found = difference(a[key], b[key], f"{path}.{key}")
            if found:
                return found
        return ""
    if isinstance(a, list):
        if len(a) != len(b):
            return f"{path}: {len(a)} and {len(b)} items"
        for n, (x, y) in enumerate(zip(a, b, strict=True)):
            found = difference(x, y, f"{path}[{n}]")
            if found:
                return found
        return ""
    if a == b:
        return ""
    if isinstance(a, bytes) and len(a) == len(b):
        x, y = np.frombuffer(a, np.uint8), np.frombuffer(b, np.uint8)
        at = int(np.flatnonzero(x != y)[0])
        return (
            f"{path}: byte {at}: {x[at : at + 4].tobytes().hex()} {y[at : at + 4].tobytes().hex()}"
        )
    return f"{path}: {a!r} and {b!r}"
