"""Variants of 128-bit instructions that `gpudbg info isa` lists as stopping by name do so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gpudbg
from gpudbg.cli import main
from gpudbg.isa.volta import assemble
from gpudbg.sm.semantics.variants import VARIANTS, Variant


def loaded(path: Path, arch: str, *lines: str) -> gpudbg.LoadedProgram:
    """A program of a few lines."""
    words = [assemble(line, 16 * n, arch) for n, line in enumerate((*lines, "EXIT"))]
    path.write_bytes(b"".join(word.to_bytes(16, "little") for word in words))
    return gpudbg.load(str(path), arch=arch, engine="step")


def program(path: Path, arch: str, *lines: str) -> gpudbg.DebugSession:
    """A launch of one."""
    return loaded(path, arch, *lines).launch(path.stem, grid=1, block=32, args=[])


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: f"{v.ops[0]} {v.what}")
def test_listed_variants_stop(variant: Variant, tmp_path: Path) -> None:
    session = program(tmp_path / "v.bin", variant.arch, variant.sample)
    with pytest.raises(gpudbg.ModelGap, match=r"v\+0x0: "):
        session.run(max_instructions=3)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("UTMALDG.5D [UR61], [UR4], desc[UR26]", "UR64, UR65, UR66, UR67: a warp has 63"),
        ("LDSM.16.M88.4 R253, [RZ]", "R253 and 3 more reach beyond R254"),
        ("HMMA.16816.F32 R253, R4, R8, RZ", "R253 and 3 more reach beyond R254"),
        ("HGMMA.64x216x16.F32 R152, gdesc[UR4], RZ, !UPT, gsb0", "R152 and 107 more"),
    ],
)
def test_registers_that_no_warp_has(line: str, words: str, tmp_path: Path) -> None:
    """Of several that follow one another the last ones: nothing else lies behind R254."""
    given = loaded(tmp_path / "v.bin", "sm_90", line)
    session = given.launch("v", grid=1, block=128, args=[], shared_bytes=32768)
    stop = session.run(max_instructions=9)
    assert [error.name for error in stop.errors] == ["OOR_REG"]
    assert words in stop.message


def test_pairs_behind_urz_are_zero(tmp_path: Path) -> None:
    session = program(tmp_path / "v.bin", "sm_90", "UBLKCP.S.G [URZ], [UR8], UR39")
    assert session.run(max_instructions=3).kind in ("warp_error", "exited")


def test_the_least_number_is_subtracted(tmp_path: Path) -> None:
    """Saturating: 0x80000000 - 0x80000000 is 0, and 5 - 0x80000000 the greatest number."""
    session = program(
        tmp_path / "v.bin",
        "sm_120",
        "MOV R4, 0x80000000",
        "VIADD.S32.ISAT R5, R4, -R4",
        "VIADD.S32.ISAT R6, -R4, 0x5",
        "VIADD.S32.ISAT R7, R4, 0xffffffff",
    )
    for _ in range(4):
        session.step()
    held = session.warp(0).state.R
    assert [int(held[n][9]) for n in (5, 6, 7)] == [0, 0x7FFFFFFF, 0x80000000]


def test_an_accumulator_of_zeros_needs_no_predicate(tmp_path: Path) -> None:
    """`RZ, !UPT`: it adds nothing either way."""
    found = []
    for tail in ("", ", !UPT"):
        session = program(
            tmp_path / "v.bin",
            "sm_90",
            "MOV R4, 0x3c003c00",
            "MOV R5, 0x40003c00",
            "MOV R6, 0x3c004000",
            "MOV R7, R4",
            f"HMMA.16816.F32 R8, R4, R6, RZ{tail}",
        )
        for _ in range(5):
            session.step()
        found.append([session.warp(0).state.R[8 + n].tolist() for n in range(4)])
    assert found[0] == found[1]
    assert any(found[0][0])


def test_accesses_of_32_bytes(tmp_path: Path) -> None:
    """The first 16 bytes belong to what is printed second of a load, and first of a store; of what
    a mask leaves out there are no gaps (seen in compiled code)."""
    path, arch, numbers = tmp_path / "v.bin", "sm_120", np.arange(16, dtype=np.uint32) + 7
    place = loaded(path, arch, "NOP").device.buffer(numbers).address
    lines = [
        f"MOV R2, 0x{place & 0xFFFFFFFF:x}",
        f"MOV R3, 0x{place >> 32:x}",
        "LDG.E.ENL2.256 R12, R8, desc[UR4][R2.64]",
        "LDG.E.ENL2.256.CONSTANT R20, R16, desc[UR4][R2.64], 0x5a",
        "STG.E.ENL2.256 desc[UR4][R2.64+0x20], R12, R8",
    ]
    whole = loaded(path, arch, *lines)
    buffer = whole.device.buffer(numbers)
    assert buffer.address == place
    session = whole.launch(path.stem, grid=1, block=32, args=[])
    for _ in range(5):
        session.step()
    found = [int(session.warp(0).state.R[n][3]) - 7 for n in range(8, 23)]
    assert found[:8] == list(range(8))
    assert found[8:10] == [1, 3]
    assert found[12:14] == [4, 6]
    assert buffer.array()[8:].tolist() == [n + 7 for n in (4, 5, 6, 7, 0, 1, 2, 3)]


LONG = """\
.arch sm_120
.kernel k
.param p 8
.param stride 4
LDC R2, c[0x0][p]
LDC R3, c[0x0][p+4]
LDC R7, c[0x0][stride]
S2R R4, SR_TID.X
IMAD.WIDE.U32 R2, R4, R7, R2
MOV R8, R4
ACCESS
EXIT
"""


@pytest.mark.parametrize("engine", ["step", "run"])
@pytest.mark.parametrize("access", ["load", "store"])
def test_accesses_of_32_bytes_fault_as_a_whole(engine: str, access: str, tmp_path: Path) -> None:
    """16 mod 32 is misaligned; of one that ends outside nothing is stored."""
    line = "STG.E.ENL2.256 desc[UR4][R2.64], R12, R8"
    if access == "load":
        line = "LDG.E.ENL2.256 R12, R8, desc[UR4][R2.64]"
    made = tmp_path / "long.cubin"
    source = made.with_suffix(".sass")
    source.write_text(LONG.replace("ACCESS", line))
    assert main(["asm", str(source), "--cubin", str(made)]) == 0
    loaded = gpudbg.load(str(made), engine=engine)
    for stride, words, error, lanes in (
        (32, 256, "", ()),
        (16, 256, "MISALIGNED_ADDR", tuple(range(1, 32, 2))),
        (32, 252, "MMU_FAULT", (31,)),
    ):
        numbers = np.full(words, 77, np.uint32)
        session = loaded.launch("k", args=[numbers, stride], grid=1, block=32)
        errors = session.run().errors
        assert [(e.name, e.size, e.access, e.lanes) for e in errors] == [
            (error, 32, access, lanes)
        ] * bool(error)
        kept = bool((np.asarray(session.buffer(0)) == 77).all())
        assert kept == (access == "load" or error == "MISALIGNED_ADDR" or words < 256)


def bank_descriptor(arch: str, place: int, size: int) -> int:
    """What cx[UR] finds a bank of constants by."""
    bits, unit = (45, 4) if arch == "sm_80" else (51, 6)
    return place >> unit | size >> 4 << bits


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_120"])
def test_constants_of_a_bindless_bank(arch: str, tmp_path: Path) -> None:
    """The descriptor: where the bank lies, and its size in sixteens (Mesa's NVK writes it so)."""
    path, size = tmp_path / "v.bin", 256
    numbers = np.arange(64, dtype=np.uint32) * 3
    place = loaded(path, arch, "NOP").device.buffer(numbers).address
    word = bank_descriptor(arch, place, size)
    wide, narrow = ("LDC.64", "IADD3 R4, RZ, cx[UR4][0x14], RZ")
    if arch == "sm_120":
        narrow = "LDC R4, cx[UR4][0x14]"
    lines = [
        f"UMOV UR4, 0x{word & 0xFFFFFFFF:x}",
        f"UMOV UR5, 0x{word >> 32:x}",
        narrow,
        f"{wide} R6, cx[UR4][0xf8]",
        f"{wide} R8, cx[UR4][0x100]",
    ]
    banked = loaded(path, arch, *lines)
    assert banked.device.buffer(numbers).address == place
    session = banked.launch(path.stem, grid=1, block=32, args=[])
    for _ in range(4):
        session.step()
    assert [session.warp(0).state.R[n][7] for n in (4, 6, 7)] == [15, 186, 189]
    stop = session.run(max_instructions=5)
    assert stop.kind == "warp_error"
    assert "constant 0x100 of a bank of 256 bytes" in stop.message


@pytest.mark.parametrize("kept", [True, False])
def test_a_predicate_says_whether_an_accumulator_counts(kept: bool, tmp_path: Path) -> None:
    guard = "UP1" if kept else "!UP1"
    setting = "UISETP.NE.AND UP1, UPT, UR4, 0x7fff, UPT"
    lines = ["MOV R4, 0x3c003c00", "MOV R5, R4", "MOV R6, R4", "MOV R7, R4", "UMOV UR4, 0x1"]
    lines += [f"MOV R{8 + n}, 0x40e00000" for n in range(4)] + [setting]
    lines += [f"HMMA.16816.F32 R12, R4, R6, R8, {guard}"]
    session = program(tmp_path / "v.bin", "sm_90", *lines)
    for _ in lines:
        session.step()
    expected = 16.0 + (7.0 if kept else 0.0)
    found = session.warp(0).state.R[12:16].view(np.float32)
    np.testing.assert_array_equal(found, np.full((4, 32), expected, np.float32))


def test_products_that_stay_finite(tmp_path: Path) -> None:
    """`.SATFINITE`: the largest halves for infinities, zero for NaN."""
    lines = ["MOV R4, 0x78007800", "MOV R5, 0x78007800", "MOV R6, 0x78007800"]
    lines += ["MOV R8, 0x3c007e00", "MOV R9, 0xfc00fc00"]
    lines += ["HMMA.1688.F16.SATFINITE R10, R4, R6, R8"]
    session = program(tmp_path / "v.bin", "sm_75", *lines)
    for _ in lines:
        session.step()
    low, high = (int(session.warp(0).state.R[n][0]) for n in (10, 11))
    assert (low, high) == (0x7BFF0000, 0xFBFFFBFF)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_120"])
def test_values_kept_in_the_return_pc(arch: str, tmp_path: Path) -> None:
    """ptxas' -G code for mbarrier.arrive does so; a lane that does not execute keeps its own."""
    lines = ["S2R R4, SR_LANEID", "ISETP.LT.AND P0, PT, R4, 0x8, PT", "LEA R5, R4, 0x64, 0x0"]
    lines += ["RPCMOV.32 Rpc.LO, R4", "RPCMOV.32 Rpc.HI, R5", "@P0 RPCMOV.32 Rpc.LO, 0x7"]
    lines += ["RPCMOV.32 R6, Rpc.LO", "RPCMOV.32 R7, Rpc.HI"]
    session = program(tmp_path / "v.bin", arch, *lines)
    for _ in lines:
        session.step()
    lanes = np.arange(32)
    np.testing.assert_array_equal(session.warp(0).state.R[6], np.where(lanes < 8, 7, lanes))
    np.testing.assert_array_equal(session.warp(0).state.R[7], lanes + 100)
