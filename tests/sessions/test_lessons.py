"""What each story teaches is true of its program: asked of the machine, not of the transcript.

A story that no longer teaches what it says fails here, whatever its transcript was renewed to.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import gpudbg
from gpudbg.debug.story_files import sessions_folder, stories

LESSONS: dict[str, Callable[[gpudbg.DebugSession], None]] = {}
Lesson = Callable[[gpudbg.DebugSession], None]


def lesson(check: Lesson) -> Lesson:
    """Enter a check under its story's name."""
    LESSONS[check.__name__] = check
    return check


def lanes(mask: np.ndarray) -> list[int]:
    return np.flatnonzero(mask).tolist()


def store(session: gpudbg.DebugSession, condition: str | None = None) -> gpudbg.Stop:
    """Run to the kernel's last store."""
    code = [c for c in session.symbols.listing if c.text.startswith(("STG", "@P0 STG"))]
    session.break_at(code[-1].offset, condition=condition)
    return session.cont()


@lesson
def first_steps(session: gpudbg.DebugSession) -> None:
    session.break_at("block_max+0x168", condition="$R4 > 0", ignore=3)
    assert session.cont().kind == "breakpoint"
    warp = session.warp()
    assert warp.stack[-1][0] == "SSY"
    assert 0 < warp.active.sum() < 32, "some lanes have left the digit loop"
    session.run()
    numbers = [n if i < 250 else 0 for i, n in enumerate(session.buffer("in").tolist())]
    sums = np.array([n + sum(map(int, str(n))) for n in numbers]).reshape(4, 64)
    assert (session.buffer("out") == sums.max(axis=1)).all()


@lesson
def hidden_race(session: gpudbg.DebugSession) -> None:
    session.run()
    assert (session.buffer("out")[32:] == session.buffer("in")[:-32]).all(), "the answer is right"
    found = session.check("race").findings
    assert [(f.kind, f.relation) for f in found] == [("race", "warps")]


@lesson
def stack_overflow(session: gpudbg.DebugSession) -> None:
    stop = session.cont()
    assert [error.name for error in stop.errors] == ["STACK_OVERFLOW"]
    left, right = session.buffer("left"), session.buffer("right")
    assert right[right[left[2]]] == 2, "the tree has a circle"
    session.restart()
    session.set_buffer("right", np.where(np.arange(right.size) == 12, -1, right))
    assert session.cont().kind == "exited", "without it the stack is large enough"


@lesson
def unset_shared(session: gpudbg.DebugSession) -> None:
    session.run()
    assert session.buffer("out")[0] == 0 > session.buffer("in").max()
    assert [f.cause for f in session.check("init").findings] == ["branch"]


@lesson
def until_volta(session: gpudbg.DebugSession) -> None:
    session.run()
    assert (session.buffer("out")[:-1] == 2 * np.arange(31) + 1).all()
    found = session.check("race").findings
    assert [(f.kind, f.relation) for f in found] == [("race", "lanes")]


@lesson
def divergent_branch(session: gpudbg.DebugSession) -> None:
    session.until("*0x98")
    even = session.warp().P[0]
    assert (session.evaluate("in[threadIdx.x] % 2 == 0").values.astype(bool) == even).all()
    session.step()
    warp = session.warp()
    assert (warp.active == ~even).all(), "the lanes that fall through go first"
    assert [kind for kind, _, _ in warp.stack] == ["SSY", "DIV"]
    assert warp.stack[-1][1] == sum(1 << lane for lane in lanes(even))
    session.step(over=True)
    session.step()
    assert (session.warp().active == even).all(), "SYNC changes sides"
    session.step(over=True)
    session.step()
    assert session.warp().active.all()
    assert session.warp().stack == ()
    session.run()
    n = session.buffer("in")
    assert (session.buffer("out") == np.where(n % 2, 3 * n + 1, n // 2)).all()


@lesson
def first_nan(session: gpudbg.DebugSession) -> None:
    x, y = session.buffer("x"), session.buffer("y")
    no_length = np.flatnonzero((x == 0) & (y == 0))
    session.break_at("normalize+0x108", condition="$F0 != $F0")
    found = set()
    for stop in session.events("breakpoint"):
        assert stop.lane is not None
        lane = session.warp().lane(stop.lane)
        assert lane.evaluate("$F6") == 0
        assert lane.evaluate("$F7") == np.inf
        bad = session.evaluate("$F0 != $F0").values.astype(bool)
        found |= {64 * lane.block[0] + int(t[0]) for t in session.warp().threads[bad]}
    assert found == set(no_length.tolist()) != set()
    assert set(np.flatnonzero(np.isnan(session.buffer("x")))) == found


@lesson
def stray_store(session: gpudbg.DebugSession) -> None:
    session.run()
    grades = session.buffer("grade").tolist()
    (wrong,) = (n for n, grade in enumerate(grades) if grade > 7)
    assert session.buffer("out")[8] == len(grades) + 1
    session.who_wrote("out[8]")
    last, first, _ = session.who_wrote("shared[8]", 3)
    assert (last.kind, last.thread, last.value) == ("atomic", (wrong, 0, 0), "65")
    assert (first.kind, first.value) == ("store", "64")
    assert session.who_wrote("shared[8]").thread == last.thread


@lesson
def lost_update(session: gpudbg.DebugSession) -> None:
    session.run()
    customer, amount = session.buffer("customer"), session.buffer("amount")
    booked = np.bincount(customer, amount)
    twice = np.bincount(customer) == 2
    lost = session.buffer("balance") != booked
    assert (lost == twice).all()
    for account in map(int, np.flatnonzero(lost)[:3]):
        writers = session.who_wrote(f"balance[{account}]", 2)
        readers = session.who_read(f"balance[{account}]", 2)
        assert {(t.block, t.thread) for t in writers} == {(t.block, t.thread) for t in readers}
        assert {t.value for t in readers} == {"0"}, "both read what was there at the beginning"
        assert min(t.tick for t in writers) > max(t.tick for t in readers)


@lesson
def out_of_bounds(session: gpudbg.DebugSession) -> None:
    (error,) = session.run().errors
    source = session.launch.arguments[0].buffer
    assert (error.block, error.thread, error.access) == ((3, 0, 0), (57, 0, 0), "load")
    assert error.address == source.address + source.nbytes
    assert "buffer in" in error.nearest
    assert session.evaluate("blockIdx.x * blockDim.x + threadIdx.x").values[error.lanes[0]] == 249


@lesson
def spin_lock(session: gpudbg.DebugSession) -> None:
    assert session.cont(max_instructions=2000).kind == "limit"
    warp = session.warp()
    assert lanes(warp.active) == list(range(1, 32))
    kind, waiting, target = warp.stack[-1]
    assert (kind, waiting) == ("SSY", 0xFFFFFFFF)
    assert warp.offset(target) == 0x70 == warp.lane(0).pc
    assert session.buffer("lock").tolist() == [1]
    release = [c.offset for c in session.symbols.listing if "EXCH" in c.text]
    assert min(release) > 0x70, "the lock is given back behind the point of reconvergence"
    session.set_buffer("lock", [0])
    session.cont(max_instructions=2000)
    assert session.warp().active.sum() == 30, "one more got it, and waits"


@lesson
def spin_lock_ends(session: gpudbg.DebugSession) -> None:
    session.break_at("spin_lock_ends.cu:8")
    assert session.cont().kind == "breakpoint"
    groups = session.command("info stack").data
    assert [g["kind"] for g in groups] == ["running", "yielded"]
    assert [g["mask"] for g in groups] == [1, 0xFFFFFFFE]
    assert session.buffer("lock").tolist() == [1]
    stop = session.step(6)
    assert (stop.lane, session.buffer("lock").tolist()) == (0, [0]), "it gave the lock back"
    assert session.cont().lane == 1, "the next one"
    session.command("delete")
    assert session.run().kind == "exited"
    assert session.buffer("counter").tolist() == [32]


@lesson
def tensor_tile(session: gpudbg.DebugSession) -> None:
    right = np.arange(256).reshape(16, 16)
    session.until("*0x120")
    seen = session.fragments()
    a = seen.A.values[0]
    assert (a[:8, 8:] == right[8:, :8]).all(), "two quarters are exchanged"
    assert (a[8:, :8] == right[:8, 8:]).all()
    assert seen.A.holder(0, 0, 8) == "lane 0 R10.0"
    warp = session.warp()
    kept = warp.R[9].copy()
    warp.R[9] = warp.R[10]
    warp.R[10] = kept
    assert (session.fragments().A.values[0] == right).all()
    session.step()
    sums = right.sum(axis=1)
    assert (session.fragments().D.values[0] == sums[:, None]).all()
    session.run()
    assert (session.buffer("d").reshape(16, 8) == sums[:, None]).all()


@lesson
def divergent_barrier(session: gpudbg.DebugSession) -> None:
    with session.trace("barrier") as log:
        assert session.run().kind == "exited", "it does not hang"
    assert {entry.barrier for entry in log} == {0}
    assert log[0].offset != log[2].offset
    assert [e.index for e in log[:3] if e.offset == log[2].offset] == [2]
    numbers, out = session.buffer("in"), session.buffer("out")
    sums = np.add(numbers[:64], numbers[:64].reshape(-1, 2)[:, ::-1].ravel())
    assert (out[:64] == sums).all()
    assert (out[64:] == numbers[:32]).all(), "warp 2 read the box too early"


@lesson
def trap_handler(session: gpudbg.DebugSession) -> None:
    stop = session.cont()
    assert (stop.kind, stop.thread) == ("trap", (32, 0, 0))
    assert session.sreg("SR_WARPERRORSTATUS").fields["WarpErrors"] == 0x17
    session.step(24)
    record = session.evaluate("$L2").values[0]
    session.cont()
    assert session.instruction().text.startswith("BPT.PAUSE")
    words = session.memory(int(record), 0x180).array()
    assert words[0x40 // 4] == 0x17
    assert (words[0x100 // 4 :].view(np.float32) == 2.0 * np.arange(32, 64)).all()
    assert session.cont().kind == "exited", "RTT.TERMINATE ends the warp"
    assert (session.buffer("to")[:32] == 2.0 * np.arange(32)).all()
    assert not session.buffer("to")[32:].any()


@lesson
def trap_counter(session: gpudbg.DebugSession) -> None:
    with session.trace("trap") as log:
        for _ in session.events():
            pass
    assert len(log) == 4
    turns = sum(range(9)) * np.arange(32)
    assert (session.buffer("out").reshape(2, 32) == turns).all()


@lesson
def bpt_pause(session: gpudbg.DebugSession) -> None:
    assert session.cont().kind == "trap"
    rows = {row["register"]: row for row in session.execute("info sm port")["registers"]}
    assert rows["BPT_PAUSE_MASK_LO"]["value"] == 1 << 1
    assert rows["HWW_WARP_ESR"]["value"] == 0, "an event is not an error"
    assert [w.status for w in session.warps()] == ["exited", "trap"]
    assert session.cont().kind == "exited"
    assert (session.buffer("out") == np.arange(64) ** 2 + 1).all()


@lesson
def spill_windows(session: gpudbg.DebugSession) -> None:
    session.until("*0x98")
    stored, stack = session.warp().R[2], session.warp().R[1]
    assert len(set(stack.tolist())) == 1, "the same address in every lane"
    assert len(set(stored.tolist())) == 32
    session.step()
    assert (session.evaluate("local[$R1/4]").values == stored).all()
    window = session.evaluate("*(@generic int*)(c[0x0][0x4] + $R1)").values
    assert (window == stored).all()
    session.until("*0x248")
    session.step()
    assert (session.warp().R[7] == stored).all()
    said = session.command("tesla local --addr 0x10 --tp 0 --mp 0 --warp 3 --lane 7").lines
    assert "0x00008c1c" in said[0]


@lesson
def surface_clamp(session: gpudbg.DebugSession) -> None:
    photo = session.buffer("photo").astype(int)
    session.run()
    padded = {
        "good": np.pad(photo, ((0, 0), (7, 7)), mode="edge"),
        "bad": np.pad(np.pad(photo, ((0, 0), (0, 7)), mode="edge"), ((0, 0), (7, 0))),
    }
    blur = {
        k: np.sum([p[:, d : d + 96] for d in range(15)], axis=0) // 15 for k, p in padded.items()
    }
    blurred = session.buffer("blurred")
    assert (blurred == blur["bad"]).all()
    assert (blurred[:, 7:] == blur["good"][:, 7:]).all()
    assert (blurred[:, 0] < blur["good"][:, 0]).all(), "the left edge fades"


@lesson
def surface_reduction(session: gpudbg.DebugSession) -> None:
    error = session.run().errors[0]
    cells = np.arange(8) + 2 * np.arange(4)[:, None] - 3
    inside = (cells >= 0) & (cells < 8)
    dropped, moved = np.zeros((4, 8), int), np.zeros((4, 8), int)
    rows = np.broadcast_to(np.arange(4)[:, None], cells.shape)
    np.add.at(dropped, (rows[inside], cells[inside]), 1)
    np.add.at(moved, (rows, cells.clip(0, 7)), 1)
    assert (session.buffer("dropped") == dropped).all()
    assert (session.buffer("moved") == moved).all()
    assert (dropped.sum(), moved.sum()) == (24, 32)
    assert not session.buffer("strict").any()
    assert error.name == "OOR_ADDR"
    assert error.lanes == tuple(lanes(~inside.ravel()))


@lesson
def shuffle_bug(session: gpudbg.DebugSession) -> None:
    session.until("*0x88")
    assert lanes(session.warp().active) == list(range(20))
    assert session.instruction().text.startswith("SHFL.DOWN")
    session.step()
    assert session.warp().lane(4).R[0] == 100, "read from a lane that takes no part"
    session.run()
    assert session.buffer("out")[0] == 1220


@lesson
def barrier_count(session: gpudbg.DebugSession) -> None:
    stop = session.run()
    assert stop.kind == "deadlock"
    assert "barrier 1 holds 96 of 128" in " ".join(stop.detail)
    assert [w.status for w in session.warps()] == ["exited", "exited", "barrier"]
    assert (session.memory(0, 256, "shared").array() == np.arange(64) ** 2).all()


@lesson
def ptx_registers(session: gpudbg.DebugSession) -> None:
    session.break_at("ptx_registers.cu:15", condition="%smid == 1")
    stop = session.cont()
    assert stop.sm == 1
    value = {n: session.evaluate(n).values for n in ("%tid.x", "%tid.y", "%laneid", "%smid")}
    assert (value["%tid.x"] == np.arange(32) % 16).all()
    assert (value["%laneid"] == np.arange(32)).all()
    assert set(value["%smid"]) == {1} == {session.sreg("SR_VIRTID").fields["SMId"]}
    assert (session.evaluate("%lanemask_lt").values == (1 << np.arange(32)) - 1).all()
    session.run()
    out = session.buffer("out")
    assert (out[:, 0] == np.tile(np.arange(16), 16)).all()
    assert set(out[:, 3]) == {0, 1}


@lesson
def carry_chain(session: gpudbg.DebugSession) -> None:
    def numbers(name: str) -> list[int]:
        return [int.from_bytes(row.tobytes(), "little") for row in session.buffer(name)]

    session.until("*0x70")
    carries = []
    for _ in range(3):
        session.step()
        carries.append(session.warp().CC["C"][:4].tolist())
    assert np.sum(carries, axis=0).tolist() == [0, 1, 2, 3], "lane n carries n times"
    session.run()
    both = zip(numbers("a"), numbers("b"), strict=True)
    assert numbers("sum") == [(a + b) % (1 << 128) for a, b in both]


@lesson
def misaligned_vector(session: gpudbg.DebugSession) -> None:
    (error,) = session.run().errors
    assert error.name == "MISALIGNED_ADDR"
    assert len(error.lanes) == 32
    assert (session.evaluate("$L2 % 16").values == 4).all()
    good = gpudbg.open(
        sessions_folder() / "misaligned_vector/misaligned_vector.cubin",
        args=["data", "i32:4", "f32:2"],
    )
    assert good.run().kind == "exited"


@lesson
def two_builds(session: gpudbg.DebugSession) -> None:
    """The script's claim, by exact arithmetic: one build rounds the product, the other does not."""
    prices = (90 + np.arange(2560) * 7919 % 2003 / 100).astype(np.float32).reshape(40, 64)
    alpha, results = np.float32(0.333), {}
    for build in ("two_builds", "two_builds_fma"):
        program = gpudbg.load(sessions_folder() / "two_builds" / f"{build}.cubin")
        args = [prices, np.zeros_like(prices), np.int32(40), alpha]
        again = program.launch("smooth", block=64, args=args)
        again.run()
        results[build] = again.buffer(1)
    mean = results["two_builds"][0]
    step = prices[1] - mean
    exact = (np.float64(alpha) * step.astype(np.float64) + mean).astype(np.float32)
    assert (results["two_builds"][1] == mean + alpha * step).all()
    assert (results["two_builds_fma"][1] == exact).all()
    assert (results["two_builds"] != results["two_builds_fma"]).any()


def test_every_story_has_a_lesson() -> None:
    assert set(LESSONS) == set(stories())


@pytest.mark.in_turn(6)
@pytest.mark.parametrize("name", LESSONS)
def test_lesson(name: str) -> None:
    LESSONS[name](gpudbg.open(stories()[name]))


def grows(session: gpudbg.DebugSession) -> None:
    seen = [int(s.watch[0].new) for s in session.stops if s.watch]
    assert seen == sorted(seen)
    assert len(seen) == 5
    session.run()
    assert seen[-1] == session.buffer("out")[0]


def ends(session: gpudbg.DebugSession) -> None:
    assert session.run().kind == "exited"


TRIES: dict[str, Lesson] = {
    "first_steps": grows,
    "misaligned_vector": ends,
    "out_of_bounds": ends,
    "divergent_barrier": ends,
}
"""What a reader who does as the notes say finds; commands and flags come from the notes."""


def tried(name: str) -> list[str]:
    """The commands that a story's notes tell the reader to try."""
    notes = (sessions_folder() / name / "notes.md").read_text()
    return re.findall(r"`([^`]+)`", notes.partition("Try ")[2])


def test_every_advice_is_tried() -> None:
    assert set(TRIES) == {name for name in stories() if tried(name)}


@pytest.mark.parametrize("name", TRIES)
def test_what_the_notes_tell_to_try(name: str) -> None:
    session = gpudbg.open(stories()[name])
    for line in tried(name):
        for _ in range(5 if line == "continue" else 1):
            session.command(line)
        if line.startswith("run "):
            # The lesson runs it again, from the entry and with the same arguments.
            session.restart()
    TRIES[name](session)
