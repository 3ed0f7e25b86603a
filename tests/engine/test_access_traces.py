"""Traces of accesses: compiled code notes them as the step engine does, entry by entry."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.debug.trace.addresses import AddressTrace
from gpudbg.errors import UsageError
from gpudbg.sm import trace
from gpudbg.sm.engines.step import StepEngine
from gpudbg.sm.observer import Observer
from tests import kernel_cases as kc
from tests.engine import fuzz_random, machines

KERNELS = (
    "fault_misaligned", "fault_oob_global", "fault_shared_oob",
    "generic_ptr", "histogram", "memory_widths", "predicates", "reduce_sum", "surface_red",
)  # fmt: skip


def launched(kernel: str, engine: str, jobs: int = 1) -> Any:
    case = next(iter(kc.load(kernel, "sm_50")))
    return machines.launch_of(gpudbg.load(str(case.cubin), engine=engine, jobs=jobs), case)


def traced(session: Any, *events: str, most: int | None = None, **where: Any) -> gpudbg.TraceLog:
    """The log of a run, in parts of `most` instructions."""
    with session.trace(*events or ("access",), **where) as taken:
        log: gpudbg.TraceLog = taken
        while session.run(max_instructions=most).kind in ("limit", "breakpoint"):
            pass
    return log


def both(kernel: str, *events: str, **about: Any) -> list[gpudbg.TraceLog]:
    return [traced(launched(kernel, engine), *events, **about) for engine in ("step", "run")]


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("kernel", KERNELS)
def test_both_engines_log_the_same(kernel: str) -> None:
    step, run = both(kernel)
    assert len(run) >= 2
    assert run == step
    first, second = step.arrays(), run.arrays()
    assert all((first[name] == second[name]).all() for name in first)


def test_compiled_code_notes_accesses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The step engine executes next to nothing of a traced run, and no entry calls Python."""
    wanted = traced(launched("reduce_sum", "step"))
    calls: list[int] = []
    notes: list[int] = []
    inner, note = StepEngine.load, gpudbg.TraceLog.note_accesses

    def load(engine: StepEngine, *given: Any) -> Any:
        calls.append(1)
        return inner(engine, *given)

    def note_accesses(log: gpudbg.TraceLog, batch: Any) -> None:
        notes.append(len(batch))
        note(log, batch)

    monkeypatch.setattr(StepEngine, "load", load)
    monkeypatch.setattr(gpudbg.TraceLog, "note_accesses", note_accesses)
    log = traced(launched("reduce_sum", "run"))
    assert log == wanted
    assert len(calls) < len(log) / 50
    assert sum(notes) == len(log)
    assert len(notes) < 20


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("most", [37, 150])
def test_in_parts(most: int) -> None:
    step, run = both("reduce_sum", most=most)
    assert step == run == traced(launched("reduce_sum", "run"))


@pytest.mark.parametrize("kernel", ["fault_shared_oob", "reduce_sum"])
def test_among_other_events(kernel: str) -> None:
    """In order with events that are told one by one."""
    events = "access", "barrier", "fault", "warp_begin", "warp_end"
    step, run = both(kernel, *events)
    assert {entry.event for entry in run} > {"access", "barrier"}
    assert run == step


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("kernel", ["fault_misaligned", "predicates"])
def test_instructions_alone(kernel: str) -> None:
    """With what guards leave out, and in order with barriers, faults and the ends of warps."""
    events = "instruction", "barrier", "fault", "warp_end"
    step, run = both(kernel, *events)
    assert run == step
    first, second = step.arrays(), run.arrays()
    assert all((first[name] == second[name]).all() for name in first)


@pytest.mark.full(instead="test_compiled_code_notes_accesses")
def test_compiled_code_notes_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = traced(launched("reduce_sum", "step"), "instruction", block=(1, 0, 0))
    notes: list[int] = []
    note = gpudbg.TraceLog.note_instructions

    def note_instructions(log: gpudbg.TraceLog, batch: Any) -> None:
        notes.append(len(batch))
        note(log, batch)

    monkeypatch.setattr(gpudbg.TraceLog, "note_instructions", note_instructions)
    log = traced(launched("reduce_sum", "run"), "instruction", block=(1, 0, 0))
    assert log == wanted
    assert sum(notes) == len(log) > 100 * len(notes)


def test_next_to_instructions() -> None:
    """An instruction comes before its accesses."""
    step, run = both("predicates", "instruction", "access")
    assert run == step
    assert next(n for n, e in enumerate(run) if e.event == "access") > 0
    assert all(a.offset == b.offset for a, b in itertools.pairwise(run) if b.kind)


def test_one_place_and_one_block() -> None:
    whole = traced(launched("reduce_sum", "step"))
    place = next(e.offset for e in whole if (e.kind, e.space) == ("store", "shared"))
    session = launched("reduce_sum", "run")
    wanted = [e for e in whole if e.offset == place and e.block == (1, 0, 0)]
    start = session.launch.kernel.name
    assert traced(session, at=f"{start}+{place:#x}", block=(1, 0, 0)) == wanted != []
    outside = launched("reduce_sum", "run")
    assert traced(outside, block=(0, 1, 0)) == []


@pytest.mark.full(instead="test_among_other_events")
@pytest.mark.in_turn(1)
@pytest.mark.parametrize("condition", ["", "%warpid % 2 == 1", "c[0x0][0x140] != 0"])
def test_with_a_breakpoint(condition: str) -> None:
    """At each stop all that came before is there."""
    seen = []
    for engine in ("step", "run"):
        session = launched("reduce_sum", engine)
        place = traced(launched("reduce_sum", "step"))[5].offset
        with session.trace("access") as log:
            where = f"{session.launch.kernel.name}+{place:#x}"
            session.break_at(where, condition=condition or None)
            counts = []
            while session.run_to_stop().kind == "breakpoint":
                counts.append((len(log), log[-1]))
        seen.append((counts, list(log)))
    assert seen[0] == seen[1]
    assert len(seen[0][0]) > 1


def test_host_threads_keep_the_order() -> None:
    assert traced(launched("histogram", "run", jobs=2)) == traced(launched("histogram", "step"))


def test_observers_of_both_batches() -> None:
    """Instructions and accesses have buffers of their own."""

    class Both(Observer):
        def __init__(self) -> None:
            self.pcs: list[list[int]] = [[], []]

        def instructions(self, batch: trace.Batch) -> None:
            self.pcs[0] += batch.pc.tolist()

        def accesses(self, batch: trace.AccessBatch) -> None:
            self.pcs[1] += batch.pc.tolist()

    found = []
    for engine in ("step", "run"):
        session = launched("barriers", engine)
        with session.subscribe(Both()) as observer:
            session.run(max_instructions=100)
            session.run()
        found.append(observer.pcs)
    assert found[0] == found[1]
    assert len(found[0][0]) > len(found[0][1]) > 0


LOADS = """
.kernel loads
.registers 16
.param 8
    MOV R2, c[0x0][0x140] ;
    MOV R3, c[0x0][0x144] ;
    MOV R4, 0x28 ;
loop:
BODY
    IADD32I R4, R4, -0x1 ;
    ISETP.NE.AND P0, PT, R4, RZ, PT ;
    @P0 BRA loop ;
    EXIT ;
"""


def test_rows_stay_in_the_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written behind the last row, whatever the lengths of blocks."""
    kept = []
    made = trace.Buffer.__init__

    def guarded(self: trace.Buffer, rows: int, words: int) -> None:
        made(self, rows, words)
        whole = np.full((1 + rows + 128, words), -7, np.int64)
        whole[0] = 0
        self.words = whole[: 1 + rows]
        kept.append(whole[1 + rows :])

    monkeypatch.setattr(trace.Buffer, "__init__", guarded)
    body = "    LDG.E R5, [R2] ;\n    STS [RZ+0x4], R5 ;\n" * 90
    text = LOADS.replace(".param 8", ".param 8\n.shared 64").replace("BODY\n", body)
    program = gpudbg.load(assemble_file(text).cubin(), engine="run")
    session = program.launch(grid=1, block=40, args=[program.device.buffer(np.zeros(4))])
    log = traced(session)
    assert len(log) == 2 * 180 * 40 > trace.ACCESSES
    assert len(kept) == 1
    assert (kept[0] == -7).all()
    assert {entry.lanes[-1] for entry in log[-1000:]} == {7, 31}


@pytest.mark.full(instead="test_both_engines_log_the_same")
@pytest.mark.in_turn(1)
@pytest.mark.parametrize(("arch", "seeds"), [("sm_50", (1, 7034)), ("sm_61", (2233, 8145))])
def test_random_programs(arch: str, seeds: tuple[int, ...]) -> None:
    for _, _, found in fuzz_random.campaign(seeds, arch, way=fuzz_random.compare_traces):
        assert not found, found


def test_batches_cannot_be_traced_by_name() -> None:
    session = launched("predicates", "run")
    with pytest.raises(UsageError, match="no event 'accesses'"), session.trace("accesses"):
        pass


# ---- addresses in little memory ----------------------------------------------------------
def test_addresses_come_back() -> None:
    """Lines, what is no line, single lanes, one for all, and what wraps around."""
    rng = random.Random(5)
    rows, masks = [], []
    for _ in range(5000):
        base, step = rng.getrandbits(64), rng.choice((0, 1, 4, -8, 1 << 40, rng.getrandbits(64)))
        near = rng.random() < 0.5
        spread = rng.choice((0, 0, 1 << 8, 1 << 31, 1 << 63))
        row = [base + step * k + (rng.randrange(spread) if spread else 0) for k in range(32)]
        rows.append([value & (1 << 64) - 1 for value in row])
        masks.append(rng.choice((0xFFFF_FFFF, 1 << rng.randrange(32), rng.getrandbits(32) | near)))
    masks = [mask or 1 for mask in masks]
    kept = AddressTrace()
    whole, lanes = np.array(rows, np.uint64), np.array(masks, np.uint32)
    at = 0
    while at < len(rows):
        count = rng.choice((1, 7, 900))
        if count == 1:
            kept.add(whole[at], masks[at])
        else:
            kept.extend(whole[at : at + count], lanes[at : at + count])
        at += count
    assert len(kept) == len(rows)
    table = kept.all()
    for n, (row, mask) in enumerate(zip(rows, masks, strict=True)):
        got = kept[n]
        there = [k for k in range(32) if mask >> k & 1]
        assert [got[k] for k in there] == [row[k] for k in there]
        assert table[n, there].tolist() == [row[k] for k in there]


def test_regular_addresses_take_little_memory() -> None:
    kept = AddressTrace()
    lanes = np.full(2048, 0xFFFF_FFFF, np.uint32)
    line = np.arange(32, dtype=np.uint64) * np.uint64(4) + np.uint64(1 << 40)
    before = 2048 * 260
    kept.extend(np.tile(line, (2048, 1)), lanes)
    assert kept.nbytes - before == 20 * 2048
    kept.extend(np.tile(line * line, (2048, 1)) % np.uint64(1 << 20), lanes)
    assert kept.nbytes - before == (20 + 148) * 2048
