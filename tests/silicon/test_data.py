"""What an H100 said (`data/`), held against the model: no card is needed here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.isa.volta.latency import SAFE, TIMING
from tests.silicon.judge import Model, Results, differences

DATA = Path(__file__).resolve().parent / "data"
FLOATS = Results(DATA / "h100_float.pyz", DATA / "h100_float.zip")
WORDS = Results(DATA / "h100_words.pyz", DATA / "h100_words.zip")


def recorded(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / f"h100_{name}.json").read_text())
    assert found["card"] == "NVIDIA H100 80GB HBM3"
    return found


@pytest.mark.parametrize("case", FLOATS.cases, ids=lambda case: str(case["id"]))
def test_nans_and_halves_are_the_card_s(case: dict[str, Any]) -> None:
    """Signs and payloads of f64 NaNs, conversions, f64 atomics, results that MUFU cuts."""
    assert not list(differences(case, FLOATS, Model(FLOATS.blobs).run(case)))


@pytest.mark.parametrize("case", WORDS.cases, ids=lambda case: str(case["id"]))
def test_single_instructions_are_the_card_s(case: dict[str, Any]) -> None:
    """RELU under a predicate, LEA.HI negated, carries of VABSDIFF, I2IP, `.FTZ`, IS_A."""
    assert not list(differences(case, WORDS, Model(WORDS.blobs).run(case)))


def test_a_shuffle_from_a_lane_that_is_away_is_0() -> None:
    facts = recorded("facts")["facts"]
    down = facts["lanes exited"][0][:20]
    text = """.arch sm_90
.kernel away
.param 8
S2R R0, SR_LANEID
ULDC.64 UR4, c[0x0][0x208]
MOV R2, c[0x0][0x210]
MOV R3, c[0x0][0x214]
IMAD.WIDE.U32 R2, R0, 0x4, R2
IMAD R4, R0, 0xa, RZ
ISETP.GT.U32.AND P0, PT, R0, 0x13, PT
@P0 EXIT
SHFL.DOWN PT, R5, R4, 0x1, 0x1f
STG.E desc[UR4][R2.64], R5
EXIT
"""
    for engine in ("step", "run"):
        program = gpudbg.assemble_program(text, engine=engine)
        session = program.launch("away", args=[np.zeros(32, np.uint32)])
        assert session.run().kind == "exited"
        assert session.buffer(0)[:20].tolist() == down


@pytest.mark.parametrize("engine", ["step", "run"])
def test_bf16_products_and_sums_are_rounded_once(engine: str) -> None:
    """A product half way between two numbers, with a sum far below it: 64 words of an H200."""
    rows = json.loads((DATA / "h200_bf16.json").read_text())["hfma2.bf16_v2 a, b, a"]
    a, b, card = np.array(rows, np.uint32).T
    text = """.arch sm_90
.kernel fused
.param 8, 8
S2R R0, SR_TID.X
ULDC.64 UR4, c[0x0][0x208]
MOV R2, c[0x0][0x210]
MOV R3, c[0x0][0x214]
MOV R4, c[0x0][0x218]
MOV R5, c[0x0][0x21c]
IMAD.WIDE.U32 R2, R0, 0x4, R2
IMAD.WIDE.U32 R4, R0, 0x4, R4
LDG.E R6, desc[UR4][R2.64]
LDG.E R7, desc[UR4][R4.64]
HFMA2.BF16_V2 R8, R6, R7, R6
STG.E desc[UR4][R2.64], R8
EXIT
"""
    program = gpudbg.assemble_program(text, engine=engine)
    session = program.launch("fused", block=len(rows), args=[a.copy(), b.copy()])
    assert session.run().kind == "exited"
    assert session.buffer(0).tolist() == card.tolist()


def test_the_assembler_waits_as_long_as_the_card_needs() -> None:
    """Fixed latencies by the kind of what is read; scoreboards hold from the second cycle on."""
    rows = recorded("latencies")["least"]
    assert len(rows) > 200
    for name, (least, first, last) in rows.items():
        if first != 1 or name.startswith(("CS2R->", "MUFU", "SHFL", "STS", "STG")):
            continue
        if "barrier" in name:
            assert least == (1 if last > 4 or "read" in name else TIMING.scoreboard_latency), name
            continue
        assert least <= max(SAFE.values()), name
        if name.startswith(("IADD3=>", "IMAD=>", "FFMA=>", "HFMA2=>", "DFMA", "DADD", "MOV R40")):
            assert least <= SAFE["R"], name
        assert name.split("->")[-1] not in ("guard", "BRA") or least <= SAFE["P"], name


def test_faults_were_recorded_with_their_error_status() -> None:
    """The low bits of a warp's error status name the error as on earlier architectures."""
    names = {
        "Illegal Instruction Encoding": 0x9, "Misaligned Register": 0x8, "Misaligned PC": 0x5,
        "Illegal Instruction Parameter": 0xB, "Out Of Range Register": 0xD,
        "Out Of Range Address": 0xE, "Misaligned Address": 0xF,
    }  # fmt: skip
    seen = set()
    for row in recorded("faults")["faults"].values():
        if row["warp"]:
            seen.add(row["warp"])
            assert int(row["warp_esr"], 16) & 0xFFFF == names[row["warp"]]
    assert seen == set(names)
