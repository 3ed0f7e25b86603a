"""Random programs and special values on both engines; `fuzz_random` has thousands of them."""

from __future__ import annotations

import pytest

from gpudbg import assemble
from gpudbg.assembler import assemble_file
from tests.engine import fuzz_random, machines, random_modern, tiers
from tests.engine.random_programs import RandomProgram, source

NANS = (
    # A NaN keeps its sign and payload: its sign as the operand's modifiers left it.
    ("DADD R0, R2, -R4", "DADD R6, -R2, R4", "DADD R8, |R2|, -|R4|", "DADD R10, -R4, -R2",
     "DMUL R12, R2, -R4", "DMUL R14, R4, -R2", "DFMA R16, R2, -R4, R18", "DFMA R20, R2, R4, -R18"),
    ("DFMA R0, R2, -R4, -R18", "DFMA R6, RZ, R2, -R4", "DFMA R8, R4, RZ, -R2",
     "DADD.RM R10, R2, -R4", "DMUL.RP R12, R2, -R4", "DFMA.RZ R14, R2, -R4, -R18",
     "DMNMX R16, -|R2|, -R4, PT", "F2F.F64.F32 R20, -R3"),
    # What a compiler would leave out or compute beforehand.
    ("DMUL R0, R2, 1", "DMUL R6, R2, -1", "DADD R8, R2, -RZ", "DADD R10, -R2, RZ",
     "DFMA R12, R2, 1, R4", "DFMA R14, R2, R4, -RZ", "DMUL R16, RZ, +INF ", "DMUL R20, R2, -2"),
    ("MOV32I R0, 0x0", "MOV32I R1, 0xfff00000", "DADD R6, R0, +INF ", "DMUL R8, R0, RZ",
     "MOV32I R11, 0x7ff40000", "MOV32I R10, 0x5", "DADD R12, R10, 1", "DADD R14, RZ, -R10",
     "LOP32I.XOR R17, R3, 0x80000000", "MOV R16, R2", "DADD R18, R4, R16", "DMUL R20, R16, R10"),
    # f32 and f16 have one NaN, whatever its sign was.
    ("FADD R0, R2, -R4", "FMUL R6, R2, -R4", "FFMA R8, R2, -R4, R3", "FMNMX R10, -R2, -|R4|, PT",
     "FADD.SAT R12, -R2, R4", "FFMA.RM R14, R2, R4, -R3", "F2F.F32.F32 R16, -R2",
     "F2F.F16.F32 R18, -R2", "MUFU.RCP R20, -R2", "FMUL32I R22, R2, -1"),
    # Where a NaN's bits matter after its sign was changed: .FTZ keeps them.
    ("FADD R0, R2, R4", "RRO.SINCOS R6, -R0", "F2F.FTZ.F64.F32 R8, -R0", "RRO.EX2 R10, -|R0|",
     "FMUL.FTZ R12, R2, R4", "F2F.FTZ.F64.F32 R14, -R12", "FCMP.LT.FTZ R16, R12, R0, R2",
     "HADD2.F32.FTZ R18, -R0.F32, R4.F32", "DADD R20, R8, -R14", "FADD.FTZ R22, -R0, -R12"),
)  # fmt: skip
"""Straight code on registers full of special values."""

ONCE_WRONG = ((101, 30), (70, 80, 85))
"""Programs on which the engines differed."""


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("number", range(len(NANS)))
def test_nan_results_follow_one_rule(number: int) -> None:
    words = [f".word 0x{assemble(line, arch='sm_53'):016x}" for line in NANS[number]]
    text = [".kernel nans", ".registers 40", ".param 8, 8, 8, 8", *words, "LEND:", "BRA `(LEND)"]
    program = RandomProgram("nans", "\n".join(text), 1, (32, 1, 1))
    cubin = assemble_file(source([program], "sm_53"), path="nans.sass").cubin()
    for seed in range(2, 5):
        assert fuzz_random.compare(cubin, program, seed) == ("limit", "")
        assert fuzz_random.by_rule(cubin, program, seed, "sm_53") == ""


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("seeds", ONCE_WRONG)
def test_floating_point_programs(seeds: tuple[int, ...]) -> None:
    for _, _, found in fuzz_random.campaign(seeds, "sm_53", floats=True):
        assert not found, found


@pytest.mark.in_turn(1)
@pytest.mark.parametrize(("arch", "seeds"), [("sm_50", (1, 7034, 7075)), ("sm_61", (2233, 8145))])
def test_random_programs(arch: str, seeds: tuple[int, ...]) -> None:
    for _, _, found in fuzz_random.campaign(seeds, arch):
        assert not found, found


def test_error_of_fetching_names_all_lanes_there() -> None:
    """What another instruction executed in before says nothing of lanes that jump nowhere."""
    lines = [
        ".kernel far", ".registers 40", ".param 8, 8, 8, 8",
        # The first is the step engine's, and the next goes with it: some lanes.
        "MOV32I R36, 0x3", "@P0 F2F.F16.F32.RM R2, R3", "@P0 MOV R4, R5",
        "L:", "IADD R36, R36, -0x1", "ISETP.GT.AND P6, PT, R36, RZ, PT", "@P6 BRA `(L)",
        "JMX R10 0x0", "EXIT",
    ]  # fmt: skip
    program = RandomProgram("far", "\n".join(lines), 1, (64, 1, 1))
    cubin = assemble_file(source([program], "sm_50"), path="far.sass").cubin()
    ends = []
    for engine in ("step", "run"):
        session = fuzz_random.launched(cubin, program, engine, 1)
        for warp in session.grid.warps():
            warp.predicates[0] = 0x10
            warp.R[10] = 0x7FF0000
        ends.append(fuzz_random.outcome(session))
        error = session.stop.errors[0]
        assert (error.name, error.lanes) == ("PC_OVERFLOW", tuple(range(32))), engine
    assert ends[0] == ends[1]
    assert not machines.difference(ends[0], ends[1])


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("arch", random_modern.ARCHS)
def test_random_programs_of_modern_instructions(arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Straight code and code with groups of lanes; most seeds run to the limit."""
    ends = set()
    # One of them is stopped on the way, where both engines must have come to the same state.
    for seeds, way, effort in (
        ((8,), None, "least"),
        ((9,), None, "plain"),
        ((10,), fuzz_random.compare_stops, ("least", "plain")[arch > "sm_8"]),
    ):
        tiers.use(effort, monkeypatch)
        for _, end, found in fuzz_random.campaign(seeds, arch, way=way):
            assert not found, found
            ends.add(end)
    assert ends
