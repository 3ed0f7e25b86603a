"""Every claim of the lane analysis holds at random stops of random programs and of the benchmark's
kernels, on the step engine."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.sm.lane_patterns import LANE_IDS, ZEROS, normal, thread_offsets
from gpudbg.sm.lanes import values as lane_values
from tests import kernel_cases as kc
from tests.engine import fuzz_lanes, fuzz_random, lane_guards, machines
from tests.engine.random_programs import RandomProgram
from tests.kernels_own import kit
from tests.variants import number

PROGRAMS = [(arch, range(number(few, 40))) for arch, few in (("sm_50", 5), ("sm_80", 3))]
PROGRAMS += [(arch, range(number(1, 20))) for arch in ("sm_61", "sm_120")]


@pytest.mark.parametrize(("arch", "seeds"), PROGRAMS)
def test_claims_hold_in_random_programs(arch: str, seeds: range) -> None:
    counts: Counter[str] = Counter()
    seed, wrong = fuzz_lanes.campaign(seeds, arch, counts, stops=number(20, 60))
    assert not wrong, f"{arch} {seed}: {wrong}"
    assert counts.total() > 20 * len(seeds), counts


@pytest.mark.full(instead="test_claims_hold_in_random_programs")
@pytest.mark.parametrize("arch", ["sm_50", "sm_80"])
def test_claims_hold_in_programs_of_any_instructions(arch: str) -> None:
    counts: Counter[str] = Counter()
    seed, wrong = fuzz_lanes.campaign(range(16), arch, counts, anything=True)
    assert not wrong, f"{arch} {seed}: {wrong}"
    assert counts.total() > 20, counts


CASES = kc.cases("sm_50")[::9] + kc.cases("sm_80")[::12]


def test_claims_hold_in_kernels() -> None:
    counts: Counter[str] = Counter()
    for case in CASES:
        session = machines.launch(case, "step")
        wrong = fuzz_lanes.walk(session, 8, random.Random(case.id), counts)
        assert not wrong, f"{case.id}: {wrong}"
    assert counts.total() > 20 * len(CASES)
    assert counts[fuzz_lanes.HELD] > 2 * len(CASES)
    assert not counts[fuzz_lanes.WRAPPED], counts
    assert counts["tests of these"] > len(CASES), counts


WITH_CALLS = ("printf_mixed", "heap_lists", "indirect_calls", "spin_locks", "ticket_lock")


def test_claims_hold_in_kernels_with_calls_and_locks() -> None:
    """Functions of the driver, pointers to functions, and lanes that wait for one another."""
    counts: Counter[str] = Counter()
    known = 0
    for kernel in kit.all_kernels():
        for variant in kernel.variants if kernel.name in WITH_CALLS else ():
            session = kit.begun(kernel.make(), kernel.cubin(variant), "step")
            wrong = fuzz_lanes.walk(session, 8, random.Random(variant), counts)
            assert not wrong, f"{kernel.name} {variant}: {wrong}"
            known += len(fuzz_lanes.analysis(session).before) > 0
    assert known > len(WITH_CALLS), "nothing was claimed of most"
    assert counts.total() > 200


def test_a_guess_that_fails_does_not_pass_its_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that wraps in its high word, rows of 16 and what is one number; then a test that looks
    at too few lanes is noticed."""
    line = lane_values.ValueShape(1, LANE_IDS, given=True)
    rows = lane_values.ValueShape(2, tuple(n % 16 for n in LANE_IDS), given=True)
    flat = lane_values.ValueShape(1, ZEROS, given=True)
    wraps = [0xFFFF_FFF0 + n & 0xFFFF_FFFF for n in LANE_IDS]
    apart = [7] * 16 + [8] * 16
    passed = [lane_guards.passes(shape, wraps) for shape in (line, rows, flat)]
    assert passed == [True, True, False]
    for shape in (line, rows, flat):
        for values in (wraps, apart, [5] * 32):
            assert not lane_guards.wrong_guard(shape, values)
    monkeypatch.setattr(lane_guards, "passes", lambda shape, values: shape.holds(values, 0xFFFF))
    assert "passes" in lane_guards.wrong_guard(flat, apart)


def test_lanes_meet_at_a_barrier_in_a_loop() -> None:
    """They came to it one group after the other, each with a vote of its own."""
    text = (Path(__file__).parents[1] / "data" / "lanes" / "votes_in_a_loop.sass").read_text()
    cubin = assemble_file(text, path="votes_in_a_loop.sass").cubin()
    program = RandomProgram("k304054", text, 1, (24, 4, 1))
    session = fuzz_random.launched(cubin, program, "step", 304054)
    counts: Counter[str] = Counter()
    assert not fuzz_lanes.walk(session, fuzz_lanes.MOST_STOPS, random.Random(304054), counts)
    assert counts["uniform registers"] > 0


@pytest.mark.parametrize("seed", [703967, 710926], ids=["tokens pile up", "a jump to an address"])
def test_nothing_is_claimed_where_lanes_may_come_from_anywhere(seed: int) -> None:
    """A loop leaves tokens behind that are popped later; JMP goes into the kernel by its address,
    which a section does not know."""
    counts: Counter[str] = Counter()
    assert fuzz_lanes.campaign(range(seed, seed + 1), "sm_50", counts) == (-1, "")


PROGRAM = """
.arch sm_50
.kernel probe
.param out 8
    S2R R0, SR_TID.X ;
    S2R R1, SR_TID.Y ;
    SHL R2, R0, 0x2 ;
    MOV R3, c[0x0][0x140] ;
    XMAD R4, R1, c[0x0][0x8], R0 ;
    LOP32I.AND R5, R0, 0x7 ;
    SSY `(MEET) ;
    ISETP.GT.AND P0, PT, R0, 0x3, PT ;
    MOV32I R6, 0x1 ;
    MOV32I R7, 0x5 ;
    @P0 BRA `(THERE) ;
    MOV32I R6, 0x2 ;
    SYNC ;
THERE:
    SYNC ;
MEET:
    IADD R8, R6, R7 ;
    EXIT ;
"""


def test_shapes_of_a_program() -> None:
    program = gpudbg.load(assemble_file(PROGRAM, path="p.sass").cubin(), engine="step")
    session = program.launch(grid=(1, 1), block=(16, 4), args=[0])
    known = fuzz_lanes.analysis(session)
    words = {}
    for offset in known.flow.instructions:
        for index, shape in known.results(offset).items():
            words[index] = "varying" if shape is None else shape.words()
    assert words[0] == "(lane % 16)"
    assert words[1] == "base + (lane / 16)"
    assert words[2] == "4*(lane % 16)"
    assert words[3] == "uniform"
    assert words[4] == "base of each 16 lanes + (lane % 16)"
    assert words[5] == "(lane % 8)"
    # Lanes that went different ways meet with different numbers in R6, and the same in R7.
    assert words[8] == "varying"
    assert words[7] == "uniform 0x5"
    assert len(known.divergent) == 1
    found = next(iter(known.divergent.values()))
    assert found.predicate == "P0"
    assert known.flow.instructions[found.setter or 0].op == "ISETP"  # type: ignore[union-attr]


APART = """
.arch sm_80
.kernel apart
.param out 8
    S2R R0, SR_TID.X ;
    MOV R4, RZ ;
    MOV R2, RZ ;
TURN:
    IADD3 R4, R4, 0x1, RZ ;
    ISETP.GT.AND P0, PT, R0, R4, PT ;
    {before}
    BSSY B0, `(MEET) ;
    @P0 BRA `(THERE) ;
    MOV R2, R4 ;
    {apart}
THERE:
    {last}
    BSYNC B0 ;
MEET:
    ISETP.GE.AND P1, PT, R4, 0x20, PT ;
    {leave}
    BRA `(TURN) ;
DONE:
    IADD3 R3, R2, R4, RZ ;
    EXIT ;
{sub}
"""
SUB = """
SUB:
    {own}
    MOV R11, RZ ;
    MOV R10, R20 ;
    RET.REL.NODEC R10 0x0 ;
"""
JUMP = "@P1 CALL.REL.NOINC `(DONE) ;"
CALLED = "MOV R20, 0xa0 ;\n    CALL.REL.NOINC `(SUB) ;"
BRANCH = "@P1 BRA `(DONE) ;"


def shapes_apart(**parts: str) -> tuple[str, int]:
    """What the counter of a loop is whose turns have lanes that part, and branches that diverge."""
    texts = {"before": "", "apart": "", "last": "", "leave": JUMP, "own": "", **parts}
    texts["sub"] = SUB.format(own=texts["own"]) if "CALL" in texts["apart"] else ""
    text = APART.format(**texts)
    program = gpudbg.load(assemble_file(text, path="p.sass").cubin(), engine="step")
    known = fuzz_lanes.analysis(program.launch(grid=1, block=32, args=[0]))
    counter = next(
        o for o, i in known.flow.instructions.items() if i is not None and i.op == "IADD3"
    )
    shape = known.results(counter)[4]
    return "varying" if shape is None else shape.words(), len(known.divergent)


@pytest.mark.parametrize("leave", [JUMP, BRANCH], ids=["CALL", "BRA"])
def test_lanes_that_part_before_a_bsync_are_together_behind_it(leave: str) -> None:
    """Each turn's counter is the same in all lanes, although some of them took another way."""
    assert shapes_apart(leave=leave) == ("uniform", 1)
    assert shapes_apart(leave=leave, apart=CALLED) == ("uniform", 1)
    assert shapes_apart(leave=leave, apart="EXIT ;") == ("uniform", 1)
    assert shapes_apart(leave=leave, apart="BSSY B1, `(THERE) ;\n    BSYNC B1 ;") == ("uniform", 1)


@pytest.mark.parametrize(
    "parts",
    [
        {"apart": "YIELD ;"},
        {"apart": "WARPSYNC 0xf ;"},
        {"apart": "@P2 BREAK B0 ;"},
        {"apart": "BMOV.32.CLEAR R9, B0 ;"},
        {"apart": "BSSY B0, `(THERE) ;"},
        {"apart": CALLED.replace("0xa0", "0xb0")},
        {"apart": CALLED, "own": "BREAK B0 ;"},
        {"apart": CALLED, "own": "MOV R20, R2 ;"},
        {"before": "@P0 BRA `(THERE) ;"},
        {"last": "@P2 BSYNC B0 ;"},
        {"last": "@P2 BRA `(MEET) ;"},
        {"before": "@P0 WARPSYNC 0xf ;"},
    ],
    ids=str,
)
def test_lanes_that_a_bsync_may_not_wait_for_are_apart(parts: dict[str, str]) -> None:
    """They may be a turn behind the others."""
    found, _ = shapes_apart(**parts)
    assert found == "varying"


ASSERTED = """
.arch sm_50
.kernel asserted
.param out 8
    MOV R16, RZ ;
    MOV R4, RZ ;
TURN:
    S2R R17, SR_TID.X ;
    MOV R0, RZ ;
    ISETP.GT.AND P0, PT, R17, R16, PT ;
    SSY `(MEET) ;
    @P0 SYNC ;
    LDC R0, c[{bank}][R0] ;
    PRET `(BACK) ;
    {between}
    JMX R0 ;
BACK:
    SYNC ;
MEET:
    IADD32I R16, R16, 0x1 ;
    IADD32I R4, R4, 0x1 ;
    ISETP.LT.AND P1, PT, R16, 0x20, PT ;
    @P1 BRA `(TURN) ;
    EXIT ;
"""


@pytest.mark.parametrize(
    ("parts", "kept", "given_up"),
    [
        ({"bank": "0x4", "between": ""}, "uniform", None),
        ({"bank": "0x0", "between": ""}, "varying", None),
        ({"bank": "0x4", "between": "SSY `(MEET) ;"}, "varying", "JMX"),
    ],
)
def test_what_functions_of_the_driver_leave_alone(
    parts: dict[str, str], kept: str, given_up: str | None
) -> None:
    """R16 is one of the registers that they keep, R4 is none; other functions may write all."""
    program = gpudbg.load(
        assemble_file(ASSERTED.format(**parts), path="p.sass").cubin(), engine="step"
    )
    known = fuzz_lanes.analysis(program.launch(grid=1, block=32, args=[0]))
    insns = known.flow.instructions
    if given_up is not None:
        assert known.leads_anywhere is not None
        assert insns[known.leads_anywhere].op == given_up  # type: ignore[union-attr]
        return
    first, second = (o for o, insn in insns.items() if insn is not None and insn.op == "IADD32I")
    shapes = [known.results(first)[16], known.results(second)[4]]
    words = ["varying" if shape is None else shape.words() for shape in shapes]
    assert words == [kept, "varying"]


CALLED_IN_A_LOOP = """
.arch sm_50
.kernel called
.param out 8
    S2R R0, SR_TID.X ;
    MOV R4, RZ ;
TURN:
    SSY `(MEET) ;
    ISETP.GT.AND P0, PT, R0, R4, PT ;
    @P0 SYNC ;
    CAL `(SUB) ;
    SYNC ;
MEET:
    IADD32I R4, R4, 0x1 ;
    ISETP.LT.AND P1, PT, R4, 0x20, PT ;
    @P1 BRA `(TURN) ;
    EXIT ;
SUB:
    {own}
    IADD R5, R0, R4 ;
    RET ;
"""


@pytest.mark.parametrize(
    ("own", "counter"),
    [
        ("@P0 RET ;", "uniform"),
        ("IADD R4, R4, R0 ;", "varying"),
        ("PRET `(SUB) ;\n    RET ;", "varying"),
        ("PRET `(SUB) ;", "varying"),
    ],
)
def test_what_a_called_function_leaves_alone(own: str, counter: str) -> None:
    """A loop pushes a token in each turn and takes it in the same turn; its function comes back."""
    text = CALLED_IN_A_LOOP.format(own=own)
    program = gpudbg.load(assemble_file(text, path="p.sass").cubin(), engine="step")
    known = fuzz_lanes.analysis(program.launch(grid=1, block=32, args=[0]))
    insns = known.flow.instructions.items()
    place = next(o for o, insn in insns if insn is not None and insn.op == "IADD32I")
    shape = known.results(place)[4]
    assert ("varying" if shape is None else shape.words()) == counter


CARRIES = """
.arch sm_50
.kernel carries
.param out 8
    S2R R0, SR_TID.X ;
    MOV R4, c[0x0][0x140] ;
    MOV R5, c[0x0][0x144] ;
    LDG.E R2, [R4] ;
    ISETP.GT.AND P1, PT, R4, 0x3, PT ;
    IADD RZ.CC, R2, 0x1 ;
    IADD.X R1, R0, RZ ;
    ISETP.GT.AND P0, P1, R2, 0x3, PT ;
    EXIT ;
"""


def test_a_carry_and_a_second_predicate_of_loaded_words_vary() -> None:
    program = gpudbg.load(assemble_file(CARRIES, path="c.sass").cubin(), engine="step")
    known = fuzz_lanes.analysis(program.launch(grid=1, block=32, args=[0]))
    ops = {insn.op: at for at, insn in known.flow.instructions.items() if insn is not None}
    assert 1 in known.before[ops["IADD"]].preds
    assert known.results(ops["IADD"]) == {1: None}
    assert 1 not in known.before[ops["EXIT"]].preds


ADDRESSES = """
.arch sm_90
.kernel addresses
.param out 8
    ULEPC UR4 ;
    LEPC R20 ;
    IADD3 R22, R20, 0x10, RZ ;
    @P0 LEPC R24 ;
    EXIT ;
"""


def test_code_addresses_are_uniform_and_not_known() -> None:
    """Offsets in a section were taken for them."""
    program = gpudbg.load(assemble_file(ADDRESSES, path="a.sass").cubin(), engine="step")
    session = program.launch(grid=1, block=32, args=[0])
    state = fuzz_lanes.analysis(session).before[0x40]
    written = [*(lane_values.UNIFORM_BASE + n for n in (4, 5)), 20, 21, 22]
    assert {n: state.regs.get(n) for n in written} == dict.fromkeys(written, lane_values.SAME)
    assert 24 not in state.regs
    counts: Counter[str] = Counter()
    assert not fuzz_lanes.walk(session, 8, random.Random(0), counts, 2)
    assert counts["uniform registers"] > 4


def test_patterns() -> None:
    assert thread_offsets((64, 2, 1), 0) == (LANE_IDS, None)
    assert thread_offsets((64, 2, 1), 2) == (ZEROS, 0)
    assert thread_offsets((12, 4, 1), 0) is None
    assert normal(tuple(range(5, 37)), 2) == ((5, 21), tuple(n % 16 for n in range(32)))
    shape = lane_values.ValueShape(2, ZEROS)
    assert shape.holds([1] * 16 + [2] * 16, 0xFFFFFFFF)
    assert not shape.holds([1] * 15 + [2] * 17, 0xFFFFFFFF)
    assert shape.holds([1] * 15 + [2] * 17, 0xFFFF7FFF)
