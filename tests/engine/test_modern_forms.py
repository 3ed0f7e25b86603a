"""Forms of sm_75 and later that are compiled, on both engines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gpudbg
from tests.engine.modern_forms import Words, agree

LANES = np.arange(32, dtype=np.uint32)
INDICES = {
    "line": LANES,
    "one": LANES * 0 + 3,
    "rows": LANES % 16,
    "turned": LANES[::-1],
    "below": LANES - np.uint32(5),
    "over": LANES + np.uint32(0x7FFFFFF0),
}


def data(seed: int) -> Words:
    """Registers of a warp."""
    return np.random.default_rng(seed).integers(0, 1 << 32, (32, 32), dtype=np.uint32)


@pytest.mark.full(instead="test_spaces_of_generic_addresses")
@pytest.mark.in_turn(1)
@pytest.mark.parametrize("name", INDICES)
def test_addresses_made_from_an_index(name: str, tmp_path: Path) -> None:
    """Loads and stores whose lanes follow one another, and indices that wrap around or leave."""
    held = data(1)
    held[:, 1] = INDICES[name]
    unsigned = ".U32" * (name == "over")
    lines = [
        f"IMAD.WIDE{unsigned} R8, R9, R40, R4",
        "LDG.E R10, [R8]",
        "LDG.E R11, [R8+0x4]",
        "@P1 LDG.E R12, [R8+0x8]",
        "STG.E [R8+0x40], R13",
    ]
    exits = agree(["MOV R40, 0x4", *lines], held, "sm_80", tmp_path)
    assert sum(exits.values()) <= 2


def test_an_index_beside_uniform_registers(tmp_path: Path) -> None:
    """Lanes in a row and at one place, found out at run time, from one sum of uniform registers and
    a constant: sm_75's form."""
    lines = [
        "R2UR UR4, R4",
        "R2UR UR5, R5",
        "IMAD.WIDE R40, R8, 0x4, RZ",
        "LDG.E.SYS R10, [R40.64+UR4]",
        "LDG.E.SYS R11, [R40.64+UR4+0x40]",
        "STG.E.SYS [R40.64+UR4+0x80], R13",
        "LDG.E.SYS R12, [R40.64+UR4+0x80]",
    ]
    for index in (LANES, LANES * 0 + 3):
        held = data(4)
        held[:, 0] = index
        agree(lines, held, "sm_75", tmp_path)


def test_copies_of_fewer_bytes(tmp_path: Path) -> None:
    """`cp.async` with a size and a predicate: as many bytes as the low bits of the address leave,
    the rest zeros; all zeros where the predicate does not hold."""
    held = data(5)
    held[:, 0], held[:, 1] = LANES, LANES % 16
    lines = [
        "IMAD.SHL.U32 R40, R8, 0x10, RZ",
        "IMAD.WIDE.U32 R42, R40, 0x1, R4",
        "IADD3 R42, R42, R9, RZ",
        "ISETP.LT.U32.AND P3, PT, R9, 0xb, PT",
        "LDGSTS.E.BYPASS.128.ZFILL [R40], [R42.64], P3",
        "LDS.128 R12, [R40]",
    ]
    exits = agree(lines, held, "sm_80", tmp_path)
    assert exits.get("LDGSTS", 0) <= 1


def test_forms_that_look_at_other_lanes(tmp_path: Path) -> None:
    """MATCH, REDUX, votes, shuffles from one lane, reads of the first lane, choices by what all
    lanes share."""
    held = data(3)
    held[:, 0] = LANES % 5
    held[:, 1] = 7
    lines = [
        "MATCH.ANY R10, R8",
        "MATCH.ANY.U64 R11, R8",
        "MATCH.ALL P1, R12, R9",
        "MATCH.ALL P2, R13, R8",
        "ISETP.NE.AND P0, PT, R8, 0x2, PT",
        "@P0 MATCH.ANY R14, R8",
        "@P0 MATCH.ALL P1, R15, R9",
        "REDUX.SUM UR4, R16",
        "REDUX.MIN.S32 UR5, R17",
        "R2UR UR6, R18",
        "SHFL.IDX PT, R19, R20, 0x5, 0x1f",
        "SEL R21, R9, R10, P2",
        "UISETP.LT.AND UP0, UPT, UR4, UR5, UPT",
        "USEL UR7, UR4, UR5, UP0",
        "USEL UR8, UR4, UR5, !UP0",
        "UPOPC UR9, UR7",
        "UFLO.U32 UR10, UR8",
        "MOV R22, UR7",
        "MOV R23, UR8",
        "MOV R24, UR9",
        "MOV R25, UR10",
        "@UP0 UIADD3 UR7, UR7, UR6, URZ",
        "MOV R26, UR7",
        "SEL R27, R9, R10, P1",
    ]
    exits = agree(lines, held, "sm_80", tmp_path, times=2)
    assert not set(exits) & {"MATCH", "REDUX", "R2UR", "SHFL", "USEL", "UPOPC", "UFLO"}, exits


def test_sums_of_halves_and_of_several_words(tmp_path: Path) -> None:
    """f16 and bf16 with subnormals, overflow, infinities and NaNs; vectors of sm_90."""
    special = np.array(
        [0, 0x80008000, 0x7C007C00, 0xFC00FC00, 0x7E007E00, 0x00010001, 0x83FF03FF, 0x7BFF7BFF,
         0x7F807F80, 0xFF7F7F7F, 0x04000400, 0x3C003C00], np.uint32,
    )  # fmt: skip
    lines = [
        "IMAD.WIDE.U32 R40, R9, 0x4, R4",
        "ATOMG.E.ADD.F16x2.RN.STRONG.GPU PT, R28, [R40+0x40], R10",
        "ATOMG.E.ADD.BF16x2.RN.STRONG.GPU PT, R29, [R40+0x44], R11",
        "ATOM.E.ADD.F16x2.RN.STRONG.GPU PT, R30, [R40+0x48], R12",
        "REDG.E.ADD.F16x4.RN.STRONG.GPU desc[UR4][R40.64+0x50], R14",
        "REDG.E.ADD.F32x4.FTZ.RN.STRONG.GPU desc[UR4][R40.64+0x60], R16",
    ]
    for seed in (1, 2):
        held = data(seed)
        if seed == 2:
            held[:, 2:] = np.random.default_rng(seed).choice(special, (32, 30))
        held[:, 1] = LANES // 2 * 32
        exits = agree(lines, held, "sm_90", tmp_path)
        assert sum(n for name, n in exits.items() if name[:4] in ("ATOM", "REDG")) <= 1, exits


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("depth", [4, 8, 16])
def test_products_of_doubles_with_sixteen_rows(depth: int, tmp_path: Path) -> None:
    random = np.random.default_rng(depth)
    values = random.standard_normal((32, 16)) * np.exp2(random.integers(-30, 30, (32, 16)))
    held = np.ascontiguousarray(values).view(np.uint32)
    exits = agree([f"DMMA.16x8x{depth} R32, R8, R24, R16"], held, "sm_90", tmp_path)
    assert "DMMA" not in exits


@pytest.mark.full(instead="test_forms_that_look_at_other_lanes")
def test_conversions_of_the_uniform_datapath(tmp_path: Path) -> None:
    """UF2F and UFRND of sm_120 read what F2F and FRND read."""
    held = data(5)
    held[0] = np.float32(2.75).view(np.uint32)
    lines = [
        "R2UR UR4, R8",
        "UF2F.F16.F32 UR5, UR4",
        "UF2F.F32.F16 UR6, -UR5",
        "UFRND.FLOOR UR7, UR4",
        "UFRND.CEIL UR8, -2.5",
        *(f"MOV R{10 + n}, UR{5 + n}" for n in range(4)),
        "F2F.F16.F32 R20, R8",
        "FRND.FLOOR R21, R8",
    ]
    agree(lines, held, "sm_120", tmp_path, times=1)


@pytest.mark.full(instead="test_forms_that_look_at_other_lanes")
@pytest.mark.in_turn(1)
@pytest.mark.parametrize(
    ("arch", "loaded"), [("sm_80", None), ("sm_90", None), ("sm_90", "own"), ("sm_90", "other")]
)
def test_spaces_of_generic_addresses(arch: str, loaded: str | None, tmp_path: Path) -> None:
    """QSPC of addresses in global memory, and of others in and around the windows."""
    held = data(4)
    held[:, 1] = np.where(LANES % 3, 0, 0x7F)
    windows = gpudbg.Device(arch=arch).gpu.memory.layout
    for lane, window in enumerate((windows.shared_window, windows.local_window)):
        for n, address in enumerate((window, window + 0xFFFFFF, window + 0x1000000, window - 1)):
            held[4 * lane + n, :2] = address & 0xFFFFFFFF, address >> 32
    held[:, 31] = LANES == {None: 99, "own": 0, "other": 2}[loaded]
    lines = [
        "QSPC.E.G P0, RZ, [R2]",
        "QSPC.E.S P1, RZ, [R8]",
        "QSPC.E.L P2, RZ, [R8]",
        "SEL R10, R11, R12, P0",
        "SEL R13, R14, R15, P1",
        "SEL R16, R17, R18, P2",
        "ISETP.NE.AND P3, PT, R39, RZ, PT",
        "@P3 LD.E R20, [R8]",
    ]
    assert "QSPC" not in agree(lines, held, arch, tmp_path, times=1)


@pytest.mark.full(instead="test_forms_that_look_at_other_lanes")
@pytest.mark.in_turn(1)
@pytest.mark.parametrize("wrong", [None, 1 << 20, 8])
def test_rows_of_matrices(wrong: int | None, tmp_path: Path) -> None:
    """STSM and LDSM, and lanes that give addresses outside or between."""
    held = data(2)
    held[:, 20] = LANES * 16
    held[:, 21] = (LANES * 7 % 32) * 16
    if wrong is not None:
        held[7, 20] = wrong
    lines = [
        "STSM.16.M88.4 [R28], R8",
        "LDSM.16.M88.4 R12, [R29]",
        "STSM.16.MT88.2 [R28], R12",
        "STSM.16.M88 [R28+0x200], R9",
        "LDSM.16.MT88.4 R16, [R28+0x10]",
        "LDSM.16.MT88.2 R20, [R29]",
        "LDSM.16.M88 R22, [R29]",
    ]
    exits = agree(lines, held, "sm_90", tmp_path, times=1)
    assert wrong is not None or not set(exits) & {"LDSM", "STSM"}


ARRIVALS = (
    ".A1T0 R10",
    ".A0T1 R11",
    ".A0TR R12",
    ".A0TX R13",
    ".ART0 R14",
    " R15",
    ".RED.A1T0 R16",
)


@pytest.mark.parametrize("places", ["own", "shared"])
def test_words_of_mbarriers(places: str, tmp_path: Path) -> None:
    """Arrivals and transactions of every form, phases that end and that do not, in all lanes and in
    some, on words that lanes share: nothing is left to the step engine."""
    held = data(9)
    held[:, 1] = 8 * (LANES % 4 if places == "shared" else LANES)
    # Of few arrivals and bytes, so that phases end.
    pending, expected = held[:, 2] % 3, held[:, 3] % 4
    word = (held[:, 4].astype(np.uint64) & 1) << np.uint64(63)
    word |= (-pending.astype(np.int64) & 0xFFFFF).astype(np.uint64) << np.uint64(43)
    word |= (-expected.astype(np.int64) & 0xFFFFF).astype(np.uint64) << np.uint64(1)
    held[:, 30], held[:, 31] = word & np.uint64(0xFFFFFFFF), word >> np.uint64(32)
    held[:, 28] %= 3
    lines = ["STS.64 [R9], R38", "ISETP.GE.U32.AND P0, PT, R9, 0x80, PT"]
    for form in ARRIVALS:
        source = "RZ" if "1" in form.split()[0] else "R36"
        lines.append(f"SYNCS.ARRIVE.TRANS64{form}, [R9+URZ], {source}")
    lines += [
        "@P0 SYNCS.ARRIVE.TRANS64.OPTOUT.ART0 R18, [R9+URZ], R36",
        # What is not stored yet is stored once where the turn ends.
        "IMAD R24, R24, 0x5, R25",
        "SYNCS.PHASECHK.TRANS64 P1, [R9+URZ], R37",
        "SEL R20, R36, RZ, P1",
        "@!P0 SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R9+URZ], R35",
        "SEL R21, R36, RZ, P0",
        "LDS.64 R22, [R9]",
    ]
    assert set(agree(lines, held, "sm_90", tmp_path)) <= {"LDG", "STG"}


def test_a_warp_that_polls_ends_its_turn(tmp_path: Path) -> None:
    """Each warp waits for the next one to arrive: whoever polls lets the others run."""
    held, warps = np.zeros((128, 32), np.uint32), np.arange(128) // 32
    held[:, 1], held[:, 2] = 0x100 + 8 * warps, 0x100 + 8 * (warps - 1)
    held[:, 3] = warps == 3
    # Each waits for 32 lanes.
    word = -32 % 0x100000 << 43 | -32 % 0x100000 << 1
    held[:, 30], held[:, 31] = word & 0xFFFFFFFF, word >> 32
    lines = [
        "STS.64 [R9], R38",
        "BAR.SYNC.DEFER_BLOCKING 0x0",
        "ISETP.EQ.AND P1, PT, R11, 0x1, PT",
        "@P1 BRA {at6}",
        "SYNCS.PHASECHK.TRANS64 P2, [R9+URZ], R12",
        "@!P2 BRA {at4}",
        "SYNCS.ARRIVE.TRANS64.A1T0 R13, [R10+URZ], RZ",
        "IADD3 R20, R20, 0x1, RZ",
    ]
    exits = agree(lines, held, "sm_90", tmp_path, times=1)
    assert "SYNCS" not in exits


def test_functions_that_only_later_architectures_have(tmp_path: Path) -> None:
    """Sine and cosine of turns, the hyperbolic tangent, halves: next to the borders of the ranges,
    of numbers of any size, of what is no number."""
    borders = [
        0,
        1 << 31,
        0x7F800000,
        0xFF800000,
        0x7FC00000,
        1,
        0x3B800000,
        0x3B7FFFFF,
        0x3E800000,
    ]
    lines = [f"MUFU.{name} R{n}, R8" for n, name in enumerate(("SIN", "COS", "TANH"), 10)]
    lines += ["MUFU.EX2.F16 R14, R8", "MUFU.TANH.F16 R15, R8", "F2F.F16.F64.RZ R16, R8"]
    for seed in range(2):
        held = data(seed)
        near = np.random.default_rng(seed).standard_normal(32) * 2.0 ** (LANES % 20 - 12.0)
        held[:, 0] = near.astype(np.float32).view(np.uint32)
        held[: len(borders), 0] = borders
        if seed:
            held[:, :2] = (near * 2.0 ** (LANES % 7 * 4.0)).view(np.uint32).reshape(32, 2)
        assert "MUFU" not in agree(lines, held, "sm_80", tmp_path)


@pytest.mark.parametrize("packed", [False, True])
def test_barriers_whose_number_and_size_are_computed(packed: bool, tmp_path: Path) -> None:
    """Two warps meet at each of two barriers; others pass them by with arrivals."""
    warps = np.arange(128, dtype=np.uint32) // 32
    held = np.zeros((128, 32), np.uint32)
    held[:, 1] = 3 + warps // 2 + (64 << 16)
    held[:, 2], held[:, 3] = 64, warps
    number, size = ("R9", "R9") if packed else ("0x5", "R10")
    lines = [
        f"ISETP.LT.U32.AND P0, PT, R11, {4 if packed else 2}, PT",
        f"@P0 BAR.SYNC.DEFER_BLOCKING {number}, {size}",
        "BAR.SYNC.DEFER_BLOCKING R9, 0x40",
        "IADD3 R12, R12, 0x1, RZ",
        "BAR.RED.POPC.DEFER_BLOCKING R9, 0x40, P0",
        "B2R.RESULT R13, P1",
        "BAR.SYNC.DEFER_BLOCKING 0x0",
    ]
    assert "BAR" not in agree(lines, held, "sm_80", tmp_path)
