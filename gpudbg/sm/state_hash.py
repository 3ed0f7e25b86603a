"""A launch's state as one number: equal states have equal ones, on every engine.

All that is architectural is in it: registers, predicates, flags, masks, how lanes diverged, where
warps wait, shared, local, device and constant memory, special, error and port registers, counters,
and who runs next.  What only this machine has (host addresses, how often a breakpoint was shown,
which engine runs) is not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from gpudbg.regs.port import DbgrControl0
from gpudbg.sm import record as rec

if TYPE_CHECKING:
    from gpudbg.sm.convergence.groups import Groups
    from gpudbg.sm.grid import Grid
    from gpudbg.sm.state import Cta, WarpState
    from gpudbg.sm.trap.handler import Installed

_HOST: Final = frozenset(
    """active apart backward budget capacity depth held activations lowest opened pointers ready
    second self stack stack_step trap_seen uniform virtual_id""".split()
)
"""Record fields that locate things on the host, or repeat other words."""
RUN_CONTROL: Final = int(
    DbgrControl0.STOP_TRIGGER | DbgrControl0.RUN_TRIGGER | DbgrControl0.SINGLE_STEP_MODE
)
"""Bits of DBGR_CONTROL0 that a driver's sequence around a stop sets and clears."""
_COUNTING: Final = frozenset(("total", "issued", "counters"))
"""Parts that count instructions."""
_COUNTED: Final = (rec.FIELDS["executed"], rec.FIELDS["came_from"])
"""Fields of a record that do, and one that nothing depends on."""
_FIELDS: Final = tuple(slot for name, slot in rec.FIELDS.items() if name not in _HOST)

_FIELDS_LASTING: Final = tuple(slot for slot in _FIELDS if slot not in _COUNTED)


def state_hash(grid: Grid) -> str:
    """The state of a launch between two runs, as 32 hexadecimal digits."""
    digest = hashlib.blake2b(digest_size=16)
    for name, content in parts(grid):
        data = content if isinstance(content, bytes | memoryview) else repr(content).encode()
        digest.update(f"{name} {len(data)}\n".encode())
        digest.update(data)
    return digest.hexdigest()


def parts(grid: Grid) -> Iterator[tuple[str, Any]]:
    """Each part of the state by name: bytes, or plain values."""
    for name, make in _PARTS.items():
        yield name, make(grid)
    for warp in grid.warps():
        place = f"warp {warp.sm}.{warp.slot}"
        for name, content in _warp(warp):
            yield f"{place} {name}", content
    for cta in grid.ctas():
        yield f"block {cta.number} shared", cta.shared.data.tobytes()
        yield f"block {cta.number} barriers", _barriers(cta)
    for number, store in sorted(grid.launched.constants.banks.items()):
        yield f"bank {number}", store.data.tobytes()
    for allocation in grid.gpu.memory.allocations():
        yield f"memory 0x{allocation.base:x}", allocation.data.data


def lasting_parts(grid: Grid) -> Iterator[tuple[str, Any]]:
    """The parts without what counts instructions: a launch in which all of these come back goes
    on as before, unless it reads clocks or counters.
    """
    for name, content in parts(grid):
        if name in _COUNTING:
            continue
        yield name, content if not name.endswith(" header") else _uncounted(content)


def warp_header(warp: WarpState) -> bytes:
    """A warp's place, masks, predicates and registers: equal wherever `lasting_parts` are."""
    header = [warp.record[s.offset : s.offset + s.width * s.length] for s in _FIELDS_LASTING]
    return b"".join(part.tobytes() for part in header) + warp.R.tobytes()


def _uncounted(header: bytes) -> bytes:
    """A warp's header without its instructions so far."""
    out, at = bytearray(header), 0
    for slot in _FIELDS:
        size = slot.width * slot.length
        if slot in _COUNTED:
            out[at : at + size] = bytes(size)
        at += size
    return bytes(out)


def _port(grid: Grid) -> Any:
    """The SMs' debugger registers without those that a driver's stop sequence writes."""
    rows = [asdict(sm.trap) for sm in grid.sms]
    for row in rows:
        row["control"] &= ~RUN_CONTROL
        del row["frozen"], row["pause"]
    return rows


_PARTS: Final[dict[str, Callable[[Any], Any]]] = {
    "total": lambda grid: grid.total,
    "blocks": lambda grid: (grid.ctas_done, grid.ctas_waiting),
    "schedule": lambda grid: grid.schedule.following(list(grid.warps())),
    "issued": lambda grid: [sm.issued for sm in grid.sms],
    "port": _port,
    "counters": lambda grid: None if grid.counters is None else grid.counters.state(),
    "heap": lambda grid: (grid.gpu.heap.used, sorted(b.base for b in grid.gpu.heap.blocks)),
    "handler": lambda grid: _handler(grid.traps.handler),
}


def _handler(placed: Installed | None) -> Any:
    """The trap handler's code, and its constants, which `trap argument` changes."""
    if placed is None:
        return None
    code = hashlib.blake2b(placed.handler.program.data, digest_size=16).hexdigest()
    banks = [(number, store.data.tobytes()) for number, store in sorted(placed.banks.items())]
    return code, placed.handler.name, placed.entry, banks


def _warp(warp: WarpState) -> Iterator[tuple[str, Any]]:
    done = warp.words[rec.STATUS] == rec.DONE
    header = [warp.record[s.offset : s.offset + s.width * s.length].tobytes() for s in _FIELDS]
    yield "header", b"".join(header)
    # The mask of an exited warp has no meaning.
    yield "active", 0 if done else warp.active
    yield "place", (warp.index, warp.cta.number)
    yield "registers", warp.R.tobytes()
    yield "local", warp.local.words.tobytes()
    if warp.outer is not None:
        # Local memory of the code that the trap handler interrupts.
        yield "outer local", warp.outer.words.tobytes()
    if warp.has_groups:
        yield "uniform", warp.UR.tobytes()
        yield "groups", _groups(warp)
    else:
        yield "stack", tuple(warp.stack)


def _groups(warp: WarpState) -> Any:
    groups = warp.shown_groups
    if groups.interrupted is not None:
        return _state_of(groups), groups.inside, _state_of(groups.interrupted)
    return _state_of(groups)


def _state_of(groups: Groups) -> Any:
    held = sorted((n, lanes, a.members, a.waiting) for n, lanes, a in groups.activations())
    parked = [
        (g.state, g.pc, g.lanes, g.place, g.exclusive, g.passes, g.waited) for g in groups.parked
    ]
    count = groups.backward_count if parked else 0
    return parked, held, groups.running, groups.exclusive, count, groups.saves


def _barriers(cta: Cta) -> Any:
    cluster = cta.shared_cluster
    return [
        (n, b.arrived, b.count, sorted(b.waiting.items()), b.total, b.all_true, b.any_true)
        for n, b in enumerate(cta.barriers.slots)
        if b.arrived or b.waiting
    ], None if cluster is None else (cluster.phase, cluster.came())
