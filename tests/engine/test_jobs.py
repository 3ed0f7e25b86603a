"""Several host threads: atomics under contention, equal results, and stops that stop everyone."""

from __future__ import annotations

import functools
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.errors import CommandError, UsageError
from gpudbg.sm import record as rec
from gpudbg.sm.engines.llvm import threads, workers
from gpudbg.sm.engines.llvm.threads import ThreadPool
from gpudbg.sm.residency.step import Residency
from tests import kernel_cases as kc
from tests.narrowing import there

KERNELS = (
    "atomics_global", "barriers", "crc32", "generic_ptr", "jump_table",
    "matmul_tiled", "nbody", "reduce_sum", "scan_block", "transpose", "warp_ops",
)  # fmt: skip

ROUNDS = 40
BLOCKS, THREADS = 48, 64

CONTEND = """
.arch sm_50
.kernel contend
.param at 8
.param rounds 4
    MOV R2, c[0x0][at] ;
    MOV R3, c[0x0][at+4] ;
    S2R R8, SR_TID.X ;
    S2R R9, SR_CTAID.X ;
    XMAD R9, R9, 0x40, R8 ;
    MOV R10, c[0x0][rounds] ;
    MOV32I R4, 0x1 ;
    MOV32I R12, 0x3f800000 ;
    MOV R5, RZ ;
    MOV32I R13, 0xffffffff ;
    BFE.U32 R14, R9, 0x500 ;
    SHL R14, R4, R14 ;
    LOP.PASS_B R15, RZ, ~R14 ;
again:
    RED.E.ADD [R2], R4 ;
    RED.E.ADD.F32.FTZ.RN [R2+0x4], R12 ;
    RED.E.MAX [R2+0x8], R9 ;
    RED.E.MIN [R2+0xc], R9 ;
    RED.E.OR [R2+0x10], R14 ;
    RED.E.AND [R2+0x14], R15 ;
    RED.E.XOR [R2+0x18], R14 ;
    RED.E.INC [R2+0x1c], R13 ;
    RED.E.DEC [R2+0x20], R13 ;
    ATOM.E.ADD.U64 R6, [R2+0x28], R4 ;
    SSY done ;
retry:
    LD.E R18, [R2+0x30] ;
    IADD R19, R18, 0x1 ;
    ATOM.E.CAS R20, [R2+0x30], R18, R19 ;
    ISETP.EQ.U32.AND P0, PT, R20, R18, PT ;
    @P0 SYNC ;
    BRA retry ;
done:
    ATOM.E.EXCH R21, [R2+0x34], R9 ;
    RED.E.ADD [R2+0x38], R21 ;
    RED.E.ADD [R2+0x3c], R9 ;
    IADD32I R10, R10, -0x1 ;
    ISETP.NE.U32.AND P0, PT, R10, RZ, PT ;
    @P0 BRA again ;
    EXIT ;
"""

OWN_WORD = """S2R R9, SR_CTAID.X ;
    MOV R2, c[0x0][at] ;
    MOV R3, c[0x0][at+4] ;
    SHL R8, R9, 0x2 ;
    IADD R2.CC, R2, R8 ;
    IADD.X R3, R3, RZ ;"""
"""R2, R3: where the word of a block is, whose number is R9."""

COUNT = f"""
.arch sm_50
.kernel count
.param at 8
    {OWN_WORD}
    MOV32I R4, 0x1 ;
    RED.E.ADD [R2], R4 ;
    EXIT ;
"""

UNEVEN = f"""
.arch sm_50
.kernel uneven
.param at 8
.param rounds 4
    {OWN_WORD}
    MOV R10, c[0x0][rounds] ;
    XMAD R10, R9, R10, RZ ;
    MOV32I R4, 0x1 ;
    MOV R5, RZ ;
again:
    IADD R5, R5, R4 ;
    BAR.SYNC 0x0 ;
    IADD32I R10, R10, -0x1 ;
    ISETP.GT.AND P0, PT, R10, RZ, PT ;
    @P0 BRA again ;
    RED.E.ADD [R2], R5 ;
    EXIT ;
"""

CHAIN = f"""
.arch sm_50
.kernel chain
.param at 8
    {OWN_WORD}
wait:
    LDG.E R4, [R2] ;
    ISETP.EQ.AND P0, PT, R4, RZ, PT ;
    @P0 BRA wait ;
    IADD R4, R4, 0x1 ;
    STG.E [R2+0x4], R4 ;
    EXIT ;
"""

SPIN = """
.arch sm_50
.kernel spin
again:
    IADD32I R0, R0, 0x1 ;
    BRA again ;
"""


def _load(text: str, **options: Any) -> Any:
    return gpudbg.load(assemble_file(text).cubin(), engine="run", **options)


def _contend(rounds: int, **options: Any) -> tuple[Any, np.ndarray]:
    """A session of all threads at the same sixteen words, run to its end, and the words."""
    program = _load(CONTEND, **options)
    start = np.zeros(16, np.uint32)
    start[[3, 5]] = 0xFFFF_FFFF
    words = program.device.buffer(start)
    session = program.launch(grid=BLOCKS, block=THREADS, args=[words, np.int32(rounds)])
    assert session.run().kind == "exited"
    return session, words.array()


def test_atomics_lose_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    together: list[int] = []
    real = ThreadPool.run

    def run(pool: ThreadPool, work: Any) -> Any:
        together.append(len(work))
        return real(pool, work)

    monkeypatch.setattr(ThreadPool, "run", run)
    threads = BLOCKS * THREADS
    _, words = _contend(ROUNDS, jobs=2)
    assert max(together) == 2
    count = threads * ROUNDS
    assert words[0] == count
    assert words[1:2].view(np.float32)[0] == count
    assert (words[2], words[3]) == (threads - 1, 0)
    assert (words[4], words[5], words[6]) == (0xFFFF_FFFF, 0, 0)
    assert (words[7], words[8]) == (count, (1 << 32) - count)
    assert words[10:12].view(np.uint64)[0] == count
    assert words[12] == count
    # What was taken out and what is still there are all the numbers that were put in.
    assert (int(words[14]) + int(words[13])) & 0xFFFF_FFFF == words[15]
    _, alone = _contend(ROUNDS, jobs=1)
    assert [w for n, w in enumerate(words) if n not in (13, 14)] == [
        w for n, w in enumerate(alone) if n not in (13, 14)
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells what threads do")
def test_threads_sleep_between_runs() -> None:
    """Who helped in a run costs nothing afterwards, and helps again."""
    _contend(ROUNDS, jobs=3)
    _contend(ROUNDS, jobs=3)
    helpers = [t.native_id for t in threading.enumerate() if t.name == "gpudbg-run"]
    assert len(helpers) >= 2
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        stats = [Path(f"/proc/self/task/{n}/stat").read_text() for n in helpers]
        if all(stat.rpartition(")")[2].split()[0] == "S" for stat in stats):
            return
        time.sleep(0.01)
    raise AssertionError(stats)


@pytest.mark.in_turn(take="barriers")
@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels(kernel: str) -> None:
    """Programs without races give the same results, after as many instructions."""
    for case in kc.load(kernel, "sm_50"):
        totals = []
        for jobs in (1, 3):
            load = functools.partial(gpudbg.load, engine="run", jobs=jobs, num_sms=4)
            outcome = kc.run(case, load, 1 << 40)
            assert not kc.check(case, outcome)
            totals.append([s.grid.total for s in outcome.sessions])
        if kernel != "atomics_global":
            assert totals[0] == totals[1]


def test_a_fault_stops_all() -> None:
    """The state after a fault in one thread is whole: every warp stands between instructions."""
    case = next(iter(kc.load("fault_oob_global", "sm_50")))
    load = functools.partial(gpudbg.load, engine="run", jobs=2)
    outcome = kc.run(case, load, 1 << 40)
    assert not kc.check(case, outcome)
    grid = outcome.sessions[-1].grid
    executed = sum(warp.executed for warp in grid.warps())
    assert grid.total == sum(sm.issued for sm in grid.sms)
    assert grid.total >= executed
    assert [w for w in grid.warps() if w.words[rec.STATUS] == rec.FAULTED]


def test_breakpoints_and_a_change_of_threads() -> None:
    """Every warp meets a breakpoint once, also when the threads change on the way."""
    case = next(iter(kc.load("saxpy", "sm_50")))
    program = gpudbg.load(str(case.cubin), engine="run", jobs=2)
    objects = kc.make_objects(case, program.device)
    first = case.launches[0]
    session = program.launch(
        first["entry"],
        grid=tuple(first["grid"]),
        block=tuple(first["block"]),
        args=[kc.argument(row, objects) for row in first["args"]],
    )
    session.break_at("*0x30")
    met = []
    while (stop := session.cont()).kind == "breakpoint":
        warp = session.grid.schedule.warp
        met.append((there(warp).cta.number, there(warp).index))
        session.execute(f"set jobs {1 + len(met) % 3}")
    assert stop.kind == "exited"
    config = session.grid.config
    assert sorted(met) == [(c, w) for c in range(config.ctas) for w in range(config.warps)]


@pytest.mark.parametrize("jobs", [1, 2])
def test_interrupt_in_compiled_code(jobs: int) -> None:
    """Another thread's interrupt ends an endless run at once; and again after going on."""
    session = _load(SPIN, jobs=jobs).launch(grid=jobs, block=32)
    for _ in range(2):
        before = session.grid.total
        timer = threading.Thread(target=_interrupt_later, args=(session, before))
        timer.start()
        assert session.run().kind == "interrupted"
        timer.join()
        assert session.grid.total > before
        assert session.grid.total == sum(warp.executed for warp in session.grid.warps())


def _interrupt_later(session: Any, before: int) -> None:
    """Interrupt when it has run for a while, as far as can be seen from outside."""
    deadline = time.monotonic() + 60
    while session.grid.total == before and time.monotonic() < deadline:
        time.sleep(0.01)
    session.interrupt()


def test_budget_is_exact() -> None:
    session = _load(SPIN, jobs=2).launch(grid=8, block=32)
    for count in (5_000_123, 7):
        before = session.grid.total
        assert session.run(max_instructions=count).kind == "limit"
        assert session.grid.total == before + count


def test_option() -> None:
    device = gpudbg.Device("sm_50", jobs=3)
    assert device.gpu.jobs == 3
    with pytest.raises(UsageError, match="jobs 0: between 1 and 256"):
        gpudbg.Device("sm_50", jobs=0)
    session = _load(SPIN, jobs=2).launch()
    assert session.settings.shown("jobs") == "2"
    session.execute("set jobs 4")
    assert session.grid.gpu.jobs == 4
    with pytest.raises(CommandError, match="between 1 and 256"):
        session.execute("set jobs 1000")
    assert session.settings.shown("jobs") == "4"


def test_blocks_taken_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads take several blocks at a time; stops and other numbers of threads lose none."""
    monkeypatch.setattr(workers, "WORTH", 2000)
    blocks = 12_000
    program = _load(COUNT, jobs=2)
    out = program.device.buffer(np.zeros(blocks, np.int32))
    session = program.launch(grid=blocks, block=32, args=[out])
    grid = session.grid
    back: list[range] = []
    real = Residency.hand_back

    def hand_back(residency: Residency, numbers: range) -> None:
        back.append(numbers)
        real(residency, numbers)

    monkeypatch.setattr(Residency, "hand_back", hand_back)
    for jobs in (2, 3, 1, 2):
        session.execute(f"set jobs {jobs}")
        assert session.run(max_instructions=20_000).kind == "limit"
        resident = sum(1 for _ in grid.ctas())
        assert grid.ctas_done + grid.ctas_waiting + resident == blocks
        assert {cta.number for cta in grid.ctas()}.isdisjoint(grid._residency.returned)
    assert back
    assert session.run().kind == "exited"
    assert (out.array() == 32).all()


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each run of several threads, whether blocks went from one to another."""
    found: list[bool] = []
    real = ThreadPool.run

    def run(pool: ThreadPool, work: Any) -> None:
        real(pool, work)
        found.append(pool.moved)

    monkeypatch.setattr(ThreadPool, "run", run)
    return found


def test_blocks_handed_over(monkeypatch: pytest.MonkeyPatch, moved: list[bool]) -> None:
    """Threads without work take blocks of others: each block runs once, stops and counts hold."""
    monkeypatch.setattr(workers, "WORTH", 2000)
    blocks, rounds = 40, 150
    program = _load(UNEVEN, jobs=4)
    deadline = time.monotonic() + 60
    while not any(moved) and time.monotonic() < deadline:
        out = program.device.buffer(np.zeros(blocks, np.int32))
        session = program.launch(grid=blocks, block=64, args=[out, np.int32(rounds)])
        grid, met = session.grid, []
        session.break_at("*0xa8")
        while (stop := session.run_to_stop(max_instructions=20_000)).kind != "exited":
            assert grid.total == sum(sm.issued for sm in grid.sms)
            here = [cta.number for cta in grid.ctas()]
            assert grid.ctas_done + grid.ctas_waiting + len(set(here)) == blocks
            if stop.kind == "breakpoint":
                warp = grid.schedule.warp
                met.append((warp.cta.number, warp.index))
        assert sorted(met) == [(block, warp) for block in range(blocks) for warp in (0, 1)]
        turns = np.maximum(1, np.arange(blocks) * rounds)
        assert np.array_equal(out.array(), 64 * turns)
        assert grid.total == sum(2 * (12 + 5 * int(count)) for count in turns)
    assert any(moved)


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("slice_", [700, 20_000])
def test_blocks_that_wait_for_the_one_before(monkeypatch: pytest.MonkeyPatch, slice_: int) -> None:
    """As in a scan with look-back: a later block must not keep an earlier one from its place."""
    monkeypatch.setattr(workers, "WORTH", 2000)
    blocks = 300
    program = _load(CHAIN, jobs=2)
    flags = program.device.buffer(np.array([1] + [0] * blocks, np.int32))
    session = program.launch(grid=blocks, block=32, args=[flags])
    for jobs in (2, 3, 1, 2, 4, 1, 3):
        session.execute(f"set jobs {jobs}")
        if session.run(max_instructions=slice_).kind == "exited":
            break
    session.execute("set jobs 2")
    assert session.run(max_instructions=2_000_000_000).kind == "exited"
    assert np.array_equal(flags.array(), np.arange(1, blocks + 2))


def test_later_blocks_leave_room_for_those_given_back() -> None:
    """All places full of blocks that wait for one that was given back would be the end."""
    blocks, done = 200, [*range(64, 70), *range(80, 90)]
    program = _load(CHAIN)
    flags = program.device.buffer(np.isin(np.arange(blocks + 1) - 1, [-1, *done]).astype(np.int32))
    session = program.launch(grid=blocks, block=32, args=[flags])
    grid = session.grid
    residency = grid._residency
    assert residency.started == 64
    for numbers in (range(70, 80), range(90, 100)):
        residency.hand_back(numbers)
    residency.started, residency.finished_ctas = 100, len(done)
    assert grid.run(max_instructions=1_000_000_000).kind == "exited"
    assert flags.array().all()


def test_numbers_handed_over(monkeypatch: pytest.MonkeyPatch, moved: list[bool]) -> None:
    """A thread has taken blocks that would keep it busy long after the others are done."""
    monkeypatch.setattr(workers, "WORTH", 2000)
    monkeypatch.setattr(workers, "EVEN", 1)
    blocks, rounds = 400, 20
    backwards = "S2R R9, SR_CTAID.X ;\n    IADD R9, -R9, c[0x0][last] ;"
    source = UNEVEN.replace("S2R R9, SR_CTAID.X ;", backwards)
    program = _load(source.replace(".param rounds 4", ".param rounds 4\n.param last 4"), jobs=3)
    deadline = time.monotonic() + 60
    while not any(moved) and time.monotonic() < deadline:
        out = program.device.buffer(np.zeros(blocks, np.int32))
        arguments = [out, np.int32(rounds), np.int32(blocks - 1)]
        session = program.launch(grid=blocks, block=64, args=arguments)
        assert session.run().kind == "exited"
        assert np.array_equal(out.array(), 64 * np.maximum(1, np.arange(blocks) * rounds))
        assert session.grid.ctas_done == blocks
    assert any(moved)


def test_numbers_of_a_thread_that_never_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others run its blocks, and those that it was to begin."""
    monkeypatch.setattr(threads, "_idle", {})
    monkeypatch.setattr(threading.Thread, "start", lambda _: None)
    program = _load(COUNT, jobs=2)
    out = program.device.buffer(np.zeros(200, np.int32))
    session = program.launch(grid=200, block=32, args=[out])
    grid = session.grid
    residency = grid._residency
    taken = [*range(100, 103), *range(110, 114)]
    for numbers in (range(110, 114), range(100, 103)):
        residency.hand_back(numbers)
    resident = residency.started
    residency.started, residency.finished_ctas = 200, 200 - resident - len(taken)
    assert grid.run().kind == "exited"
    assert np.flatnonzero(out.array()).tolist() == [*range(resident), *taken]
    assert (out.array()[taken] == 32).all()


def test_returned_blocks_begin_where_there_is_room() -> None:
    """Without a resident block left, what a thread gave back still runs."""
    program = _load(COUNT)
    out = program.device.buffer(np.zeros(200, np.int32))
    session = program.launch(grid=200, block=32, args=[out])
    grid = session.grid
    residency = grid._residency
    resident = residency.started
    taken = [*range(100, 103), *range(110, 114)]
    for numbers in (range(110, 114), range(100, 103)):
        residency.hand_back(numbers)
    residency.started, residency.finished_ctas = 200, 200 - resident - len(taken)
    assert grid.ctas_waiting == len(taken)
    assert grid.run().kind == "exited"
    assert np.flatnonzero(out.array()).tolist() == [*range(resident), *taken]
    assert (out.array()[taken] == 32).all()


UNEQUAL = """
.arch sm_50
.kernel unequal
.param rounds 4
.param half 4
    S2R R9, SR_CTAID.X ;
    MOV R10, c[0x0][rounds] ;
    ISETP.LT.U32.AND P1, PT, R9, c[0x0][half], PT ;
    @P1 BRA quick ;
slow:
""" + "    DFMA.RP R4, R4, R6, R4 ;\n" * 8 + """
    IADD32I R10, R10, -0x1 ;
    ISETP.NE.U32.AND P0, PT, R10, RZ, PT ;
    @P0 BRA slow ;
    EXIT ;
quick:
""" + "    IADD R4, R4, R10 ;\n" * 8 + """
    IADD32I R10, R10, -0x1 ;
    ISETP.NE.U32.AND P0, PT, R10, RZ, PT ;
    @P0 BRA quick ;
    EXIT ;
"""  # fmt: skip


def test_a_thread_at_its_limit_stops_those_that_are_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call does not wait for the others to execute as many instructions."""
    calls: list[list[int]] = []
    plain = ThreadPool.run

    def run(pool: ThreadPool, those: Any) -> None:
        plain(pool, those)
        calls.append([worker.field("total") for worker in those])

    monkeypatch.setattr(ThreadPool, "run", run)
    program = gpudbg.load(assemble_file(UNEQUAL).cubin(), engine="run", jobs=2)
    session = program.launch("unequal", grid=16, block=32, args=[np.int32(200_000), np.int32(8)])
    session.run(max_instructions=12_000_000)
    assert all(min(each) < 0.7 * max(each) for each in calls if max(each) > 3_000_000), calls
