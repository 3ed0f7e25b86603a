"""State in names: work moved into exits, warps that begin, loops."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.isa.spa5.decode import decode
from gpudbg.sm.engines.llvm.kernel.emitter import Emitter
from gpudbg.sm.engines.llvm.kernel.listing import KernelListing
from gpudbg.sm.engines.llvm.kernel.options import EmitterOptions
from gpudbg.sm.engines.llvm.kernel.sink import sink
from tests.engine import machines

BENCH = Path(__file__).resolve().parents[1] / "data" / "bench" / "cubin"


def test_what_only_exits_need_is_done_there() -> None:
    hot, cold = sink(
        [
            "b8:",
            "  %v1 = load i32, ptr %rec",
            "  %v2 = add i32 %v1, 1",
            "  %v3 = mul i32 %v2, 3",
            "  %v4 = xor i32 %v1, 7",
            "  store i32 %v4, ptr %rec",
            "  br label %x1",
        ],
        ["x1:", "  store i32 %v3, ptr %rec", "  ret i32 0", "x2:", "  store i32 %v2, ptr %rec"],
    )
    assert hot == [
        "b8:",
        "  %v1 = load i32, ptr %rec",
        "  %v4 = xor i32 %v1, 7",
        "  store i32 %v4, ptr %rec",
        "  br label %x1",
    ]
    assert cold == [
        "x1:",
        "  %v2.1 = add i32 %v1, 1",
        "  %v3.2 = mul i32 %v2.1, 3",
        "  store i32 %v3.2, ptr %rec",
        "  ret i32 0",
        "x2:",
        "  %v2.3 = add i32 %v1, 1",
        "  store i32 %v2.3, ptr %rec",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "  %v2 = load i32, ptr %v1",
        "  %v2 = call i1 %v1(ptr %rec)",
        "  %v2 = call <8 x i32> @llvm.x86.avx2.gather.d.d.256(<8 x i32> %v1, ptr %v3)",
        "  %v2 = call <32 x i32> @strided.load.132(ptr %v1, i32 %v3)",
        "  %v2 = atomicrmw add ptr %rec, i64 1 monotonic",
        "  call void @llvm.prefetch.p0(ptr %v1, i32 0, i32 3, i32 1)",
    ],
)
def test_what_has_effects_stays(line: str) -> None:
    lines = ["b8:", line, "  br label %x1"]
    assert sink(lines, ["x1:", "  store i32 %v2, ptr %rec"])[0] == lines


def test_what_comes_round_a_loop_stays() -> None:
    lines = [
        "l8:",
        "  %v1 = phi i32 [ 0, %b8 ], [ %v2, %k1 ]",
        "  br i1 %v9, label %k1, label %x1",
        "k1:",
        "  %v2 = add i32 %v1, 1",
        "  br label %l8",
    ]
    assert sink(lines, ["x1:", "  store i32 %v1, ptr %rec"])[0] == lines


def test_what_the_record_holds_is_read_before_anything_is_stored() -> None:
    held = "  %v1 = load <32 x i32>, ptr %v0, align 64, !held !2"
    hot, cold = sink(
        ["b8:", held, "  %v2 = add <32 x i32> %v1, %v9", "  br label %x1"],
        ["x1:", "  store <32 x i32> %v9, ptr %v0", "  store <32 x i32> %v2, ptr %v8"],
    )
    assert hot == ["b8:", "  br label %x1"]
    assert cold == [
        "x1:",
        held.replace("%v1 =", "%v1.1 ="),
        "  %v2.2 = add <32 x i32> %v1.1, %v9",
        "  store <32 x i32> %v9, ptr %v0",
        "  store <32 x i32> %v2.2, ptr %v8",
    ]


def test_turns_end_only_where_the_step_engine_ends_them() -> None:
    """Not before a block that only begins behind an instruction of the step engine."""
    listing = KernelListing("sm_50", 0, 8)
    add = decode(0x5C1000000007_0000, "sm_50")
    listing.code = dict.fromkeys((488, 496, 504, 520, 528, 536), add)
    listing.heads = {488, 504, 520}
    text = Emitter(listing, EmitterOptions(True, 8, {})).text("warp")
    assert "j504:" not in text
    assert "%c504" not in text
    assert "%b504" in text
    assert "\nb520:" in text


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("kernel", ["saxpy", "mandelbrot", "histogram"])
def test_warps_in_the_place_of_others_begin_with_zeros(kernel: str) -> None:
    """More CTAs than fit: those that have not begun hold nothing of the ones before."""
    arguments: dict[str, list[object]] = {
        "saxpy": [np.arange(6400, dtype=np.float32), np.ones(6400, np.float32), 6390, 1.5],
        "mandelbrot": [np.zeros(32 * 200, np.int32), 32, 200, 7],
        "histogram": [np.arange(6400, dtype=np.uint8), np.zeros(256, np.uint32), 6400],
    }
    sessions = []
    for engine in ("step", "run"):
        program = gpudbg.load(str(BENCH / f"{kernel}.sm_50.cubin"), engine=engine, num_sms=1)
        values = [
            program.device.buffer(v) if isinstance(v, np.ndarray) else v for v in arguments[kernel]
        ]
        grid, block = ((1, 100), (32, 2)) if kernel == "mandelbrot" else ((100,), (64,))
        if kernel == "histogram":
            block = (256,)
        sessions.append(program.launch(grid=grid, block=block, args=values))
    rng = random.Random(kernel)
    stops = 0
    while True:
        count = rng.choice((1, 3, 250, 400))
        first, second = (s.run(max_instructions=count) for s in sessions)
        assert first.kind == second.kind
        states = [machines.grid_state(s.grid) for s in sessions]
        assert machines.difference(states[0], states[1]) == ""
        stops += 1
        if first.kind != "limit" or stops > 30:
            break
    assert stops > 9


ROUND = """
.arch sm_50
.kernel round
.shared 64
    MOV R6, RZ ;
    MOV32I R8, 0xff812345 ;
    MOV32I R10, 0x7f812345 ;
    MOV32I R9, 0x7f800000 ;
    MOV R5, RZ ;
    LOP.AND.NZ P1, RZ, R9, 0x1 ;
    BRA loop ;
loop:
    IADD32I R5, R5, 0x1 ;
    ISETP.LT.AND P0, PT, R5, 0x6, PT ;
    {uses}
    FADD R8, R9, -R9 ;
    FMUL R10, R10, R5 ;
    FADD R11, R9, R9 ;
    @P0 BRA loop ;
    EXIT ;
"""


FAULT = "LDS.U.32 R7, [R6] ;\n    IADD32I R6, R6, 0x10 ;"
"""In the fifth turn."""


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    "uses",
    ["", "IADD R12, R10, R8 ;", "FADD R13, R8, R10 ;", "@P1 FADD R8, R9, R9 ;", "MOV R14, R8 ;"],
)
@pytest.mark.parametrize("fault", ["", FAULT])
def test_floats_go_round_a_loop(uses: str, fault: str) -> None:
    """What they were before it may be a NaN that is not canonical; what comes round is not."""
    source = assemble_file(ROUND.replace("{uses}", f"{uses}\n    {fault}")).cubin()
    for stops_behind in (False, True):
        programs = [gpudbg.load(source, engine=engine) for engine in ("step", "run")]
        sessions = [program.launch("round", grid=1, block=64) for program in programs]
        grids = [session.grid for session in sessions]
        behind: list[int] = []
        if stops_behind:
            # The word behind BRA.
            behind = [next(iter(grids[0].warps())).pc + 0x48]
        for _ in range(20):
            events = [grid.run(breakpoints=behind) for grid in grids]
            assert events[0].kind == events[1].kind
            states = [machines.grid_state(grid) for grid in grids]
            assert machines.difference(states[0], states[1]) == ""
            if events[0].kind != "breakpoint":
                break
        assert events[0].kind == ("warp_error" if fault else "exited")


def test_long_chains_are_not_repeated() -> None:
    """A sum of a sum and so on: the first exits have it to themselves, the others do not repeat
    all of it."""
    lines = ["  %v0 = load i32, ptr %rec"]
    tail = []
    for n in range(3000):
        lines.append(f"  %v{n + 1} = add i32 %v{n}, 1")
        tail += [f"x{n}:", f"  store i32 %v{n + 1}, ptr %rec", "  ret i32 0"]
    hot, cold = sink(lines, tail)
    assert 2900 < len(hot) <= len(lines)
    assert len(cold) < len(tail) + 3000
