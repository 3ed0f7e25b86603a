"""Kernels for sm_75, sm_80, sm_90 and sm_120 against NumPy's results, and engine against engine."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import gpudbg
from gpudbg.isa.volta import assemble
from tests.engine import fuzz_stops, tiers
from tests.kernel_cases import DATA, Case, argument, cases, check, make_objects, run, some
from tests.variants import full, in_turn

ARCHS = ("sm_75", "sm_80", "sm_90", "sm_120")
MODERN = cases(*ARCHS)
COSTLY = ("atomics_global", "recursion", "triton_matmul")
"""Of the second tier alone: test_kernels.py has the first two, `triton_softmax`, `wmma_gemm` and
`matmul_tiled` stand for the third."""
CHOSEN: list[Case] = [
    case
    for case in in_turn(some(*ARCHS), lambda case: case.kernel)
    if full() or case.kernel not in COSTLY
]
TENSOR_WORDS = {
    # (C; products) of public measurements: what tells the generations apart.
    "sm_75": (0x3F800008, 0x3F800000),
    "sm_80": (0x3F800008, 0x3F800000),
    "sm_90": (0x3F800008, 0x3F800004),
}


def test_there_are_kernels_for_every_architecture() -> None:
    """A missing folder would leave nothing to run."""
    found = Counter(case.variant for case in MODERN)
    assert set(found) == set(ARCHS)
    assert min(found.values()) > 20


@pytest.mark.in_turn(6)
@pytest.mark.parametrize("case", CHOSEN, ids=lambda case: case.id)
def test_results(case: Case) -> None:
    """Every buffer is as NumPy computes it; faults are those of the older architectures."""
    outcome = run(case)
    assert not check(case, outcome)


@pytest.mark.in_turn(take="sm_75-barriers sm_90-cluster_dsmem")
@pytest.mark.parametrize(
    ("arch", "kernel"),
    [
        ("sm_75", "barriers"),
        ("sm_80", "divergence"),
        ("sm_80", "atomics_shared"),
        ("sm_90", "warp_ops"),
        ("sm_90", "mbarrier_pipe"),
        ("sm_90", "cluster_dsmem"),
        ("sm_120", "matmul_tiled"),
    ],
)
def test_engines_agree_at_random_stops(
    arch: str, kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole state of a launch is the same on both engines wherever it stops: registers of both
    files, groups of lanes and what they wait for, barriers, memory and the schedule."""
    tiers.use("plain" if arch < "sm_86" else "least", monkeypatch)
    case = next(iter(cases(arch, names=[kernel])))
    count, difference = fuzz_stops.compare(case, 12, random.Random(f"{arch}/{kernel}"))
    assert not difference
    assert count > 1


@pytest.mark.full(instead="test_engines_agree_at_random_stops, and tests/engine/test_products.py")
def test_products_of_matrices_are_the_same_on_both_engines() -> None:
    """f16 elements of any exponent, subnormal ones and zeros among them; an infinity leaves
    compiled code and gives what it gives there."""
    path = DATA / "bench" / "cubin" / "gemm_f16.sm_80.cubin"
    random = np.random.default_rng(7)
    raw = random.integers(0, 1 << 16, (2, 64, 64), dtype=np.uint16)
    raw[(raw & 0x7C00) == 0x7C00] &= 0x83FF
    raw[0, 3, 5] = 0x7C00
    found = []
    for engine in ("step", "run"):
        program = gpudbg.load(str(path), engine=engine)
        buffers = [program.device.buffer(m) for m in (*raw, np.zeros((64, 64), np.float32))]
        program.launch(grid=1, block=128, args=[*buffers, np.int32(64)]).run()
        found.append(buffers[2].array().view(np.uint32))
    assert np.array_equal(found[0], found[1])
    assert np.isinf(found[0].view(np.float32)).any()


@pytest.mark.parametrize("kernel", ["tcgemm", "gemm_f16"])
def test_code_for_any_lanes_multiplies_matrices(
    kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code that is made first learns when it runs that all lanes execute."""
    tiers.use("plain", monkeypatch)
    path = DATA / "bench" / "cubin" / f"{kernel}.sm_80.cubin"
    random = np.random.default_rng(7)
    left, right = random.integers(0, 4, (2, 64, 64)).astype(np.float16)
    program = gpudbg.load(str(path), engine="run")
    buffers = [program.device.buffer(m) for m in (left, right, np.zeros((64, 64), np.float32))]
    session = program.launch(grid=(1, 1), block=128, args=[*buffers, np.int32(64)])
    session.run()
    fast = session.grid.fast
    report = None if fast is None else fast.report()
    assert report is not None
    assert not [report.code[pc].op for pc in report.exits if report.code[pc].op == "HMMA"]
    assert not report.slow


def test_what_lacks_semantics_stops_by_name(tmp_path: Path) -> None:
    """A texture instruction says what it is and where."""
    words = [assemble(text, 16 * n, "sm_80") for n, text in enumerate(("NOP", "AL2P R0, R2, 0x4"))]
    path = tmp_path / "graphics.bin"
    path.write_bytes(b"".join(word.to_bytes(16, "little") for word in words))
    program = gpudbg.load(str(path), arch="sm_80")
    session = program.launch("graphics", grid=1, block=32, args=[])
    with pytest.raises(gpudbg.ModelGap, match=r"graphics\+0x10: AL2P has no semantics"):
        session.run()


def test_groups_of_lanes_are_shown() -> None:
    """Stepping a diverged warp shows where its other lanes wait, each with its own pc."""
    case = next(iter(cases("sm_80", names=["divergence"])))
    program = gpudbg.load(str(case.cubin))
    objects = make_objects(case, program.device)
    launch = case.launches[0]
    args = [argument(row, objects) for row in launch["args"]]
    session = program.launch(
        launch["entry"], grid=tuple(launch["grid"]), block=tuple(launch["block"]), args=args
    )
    waiting: set[str] = set()
    for _ in range(400):
        if session.step().kind != "step":
            break
        warp = session.warp().state
        lanes = warp.active | warp.exited
        for entry in warp.stack:
            assert not lanes & entry.mask, "a lane is in one group"
            assert entry.target % 16 == 0
            lanes |= entry.mask
            waiting.add(entry.kind)
        assert lanes == warp.valid, "no lane is lost"
    assert {"READY", "CONVERGING"} <= waiting


def test_names_of_shared_registers() -> None:
    """UR, UP and B stand in expressions; out of range and on older code they are refused."""
    case = next(iter(cases("sm_80", names=["divergence"])))
    program = gpudbg.load(str(case.cubin))
    objects = make_objects(case, program.device)
    launch = case.launches[0]
    args = [argument(row, objects) for row in launch["args"]]
    session = program.launch(
        launch["entry"], grid=tuple(launch["grid"]), block=tuple(launch["block"]), args=args
    )
    while not session.command("disassemble $pc,+0x10").text.count("BSSY B0"):
        session.step()
    session.step()
    lanes = session.warp().state.active
    assert session.command("print /x $B0").text.split()[-1] == f"0x{lanes:x}"
    assert "=" in session.command("print $UR4").text
    assert "=" in session.command("print $UP0").text
    with pytest.raises(gpudbg.CommandError, match="no uniform register UR63"):
        session.command("print $UR63")
    with pytest.raises(gpudbg.CommandError, match="no convergence barrier B16"):
        session.command("print $B16")


def test_tensor_core_rounding_by_generation() -> None:
    """Sixteen products of 2**-24, and of 2**-25, beside an accumulator of 1."""
    from gpudbg.sm.engines import tensor

    one = np.full((16, 8), 0x3F800000, np.uint32)
    for arch, expected in TENSOR_WORDS.items():
        for exponent, word in zip((-24, -25), expected, strict=True):
            a = np.full((16, 16), np.float16(2.0**-12).view(np.uint16), np.uint32)
            b = np.full((16, 8), np.float16(2.0 ** (exponent + 12)).view(np.uint16), np.uint32)
            unit = tensor.unit_of(int(arch[3:]))
            found = tensor.multiply(a, b, one, ("F16", "F16"), False, False, unit)
            assert set(found.reshape(-1).tolist()) == {word}, (arch, exponent)


REDUCE_FLOATS = Path(__file__).parent / "data/reduce_floats.sm_100a.cubin"
"""`ptxas -arch=sm_100a` of the .ptx beside it."""


@pytest.mark.parametrize("block", [32, 20])
@pytest.mark.parametrize("nans", [0, 3, 32])
def test_reductions_of_floats_by_nan_rule(block: int, nans: int) -> None:
    """`redux.sync` of sm_100a: a NaN counts with `.NaN` alone; lanes that are not there do not."""
    rng = np.random.default_rng(block + nans)
    x = rng.normal(size=block).astype(np.float32)
    x[rng.permutation(block)[:nans]] = np.nan
    program = gpudbg.load(REDUCE_FLOATS)
    session = program.launch("k", block=block, args=[np.zeros((block, 5), np.float32), x])
    session.run().check()
    numbers = x[~np.isnan(x)] if nans < block else np.array([np.nan], np.float32)
    either = x if nans else numbers
    wanted = [
        numbers.min(),
        numbers.max(),
        either.min(),
        np.abs(numbers).max(),
        np.abs(either).min(),
    ]
    assert np.array_equal(
        session.buffer(0), np.tile(np.array(wanted, np.float32), (block, 1)), True
    )
