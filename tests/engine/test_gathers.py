"""Code for any lanes: gathers and scatters in place, and loops whose state stays in names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.sm import begin
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.values import AccessHost, MaskHost
from gpudbg.sm.engines.llvm.kernel.emitter import Emitter
from gpudbg.sm.engines.llvm.kernel.listing import KernelListing
from gpudbg.sm.engines.llvm.kernel.options import EmitterOptions
from gpudbg.sm.engines.llvm.kernel.patterns import patterns_of, well_founded
from gpudbg.sm.engines.llvm.runtime.library import module_with
from gpudbg.sm.written import SMALL_WARPS
from tests.engine import machines
from tests.levels import has, standing_for

CUBINS = Path(__file__).resolve().parents[1] / "data" / "bench" / "cubin"


def text(
    name: str,
    wide: bool,
    masks: MaskHost = MaskHost.REGISTERS,
    full: bool = False,
    row: int | None = None,
) -> str:
    """IR of a kernel's code for any lanes, or for full warps, for a host with or without
    AVX-512.

    Args:
        row: threads of a block in x, for which patterns of accesses are guessed.
    """
    program = gpudbg.load(str(CUBINS / f"{name}.sm_50.cubin"), engine="step")
    image = program.module.image
    entry = image.entries[name]
    listing = KernelListing.of(image, entry, (entry,))
    banks = dict.fromkeys(range(4), 0x1000)
    found = {} if row is None else patterns_of(listing, row)
    options = EmitterOptions(full, 64, banks, wide_vectors=wide, masks=masks, patterns=found)
    return Emitter(listing, options).text("warp")


@pytest.mark.parametrize(
    ("name", "loads", "stores"), [("bfs", 5, 1), ("lu", 60, 20), ("queens", 4, 8)]
)
def test_accesses_of_kernels_with_loops_are_in_place(name: str, loads: int, stores: int) -> None:
    """Global, shared and local memory."""
    made = text(name, wide=True)
    assert made.count("@llvm.masked.gather") >= loads
    assert made.count("@llvm.masked.scatter") >= stores
    # Scatters are many branches on another host.
    assert "@llvm.masked.scatter" not in text(name, wide=False)


def test_code_without_loops_calls_the_library() -> None:
    assert "@llvm.masked" not in text("transpose", wide=True)


def test_the_state_of_a_short_loop_stays_in_names() -> None:
    assert re.search(r"^l\d+:$", text("mandelbrot", wide=True), re.MULTILINE)


def test_hosts_that_gather_eight_words_do_so() -> None:
    """In loops and in the library: the compiler library makes a branch for each lane of what it
    calls a masked gather, and of a scatter."""
    made = text("lu", wide=False, masks=MaskHost.PACKED)
    assert made.count("@llvm.x86.avx2.gather") >= 100
    assert "@llvm.masked.gather" not in made
    assert "@llvm.masked.scatter" not in made
    assert "@llvm.x86.avx2.gather" not in text("lu", wide=False, masks=MaskHost.VECTORS)
    packed = AccessHost(MaskHost.PACKED)
    for name in (
        "load.shared.4", "load.shared.1", "store.shared.8", "store.shared.2", "load.global.4",
        "load.local.8", "load.global.2", "store.local.4", "mark.local.4", "store.global.16",
    ):  # fmt: skip
        function = module_with(layout.symbol(name), packed, True, True).text
        assert ("avx2.gather" in function) == name.startswith("load")
        assert "@llvm.masked" not in function


def test_lanes_at_one_distance_have_functions() -> None:
    """A guess, for hosts with AVX2: a thread of lu has a row of 33 words."""
    made = text("lu", wide=False, masks=MaskHost.PACKED, row=32)
    assert made.count("call <32 x i32> @strided.load.132") >= 30
    assert made.count("call void @strided.store.132") >= 20
    assert made.count("define internal <32 x i32> @strided.load.132") == 1
    assert made.count("define internal void @strided.store.132") == 1
    assert "@strided" not in text("lu", wide=True, row=32)
    assert "@strided" not in text("lu", wide=False, masks=MaskHost.PACKED, full=True, row=32)


STRIDED = """
.arch sm_50
.kernel probe
.shared 2048
    S2R R1, SR_TID.X ;
    XMAD R2, R1, STRIDE, RZ ;
    STS [R2], R1 ;
    MOV R3, RZ ;
again:
    SSY meet ;
    ISETP.GT.AND P0, PT, R1, R3, PT ;
@!P0 SYNC ;
    LDS.U.32 R4, [R2] ;
    LDS.U.32 R5, [RZ+0x10] ;
    IADD R4, R4, R5 ;
    STS [R2], R4 ;
    LDS.U.32 R6, [R2+NEAR] ;
    IADD32I R2, R2, AHEAD ;
    SYNC ;
meet:
    IADD32I R3, R3, 0x9 ;
    ISETP.LT.AND P1, PT, R3, 0x20, PT ;
@P1 BRA again ;
    EXIT ;
"""
"""Accesses of lanes at one distance, fewer from round to round, which goes on or does not."""


@pytest.mark.parametrize("stride", [0x4, 0x14, 0x3C])
@pytest.mark.parametrize("near", ["0x4", "-0x8"])
@pytest.mark.parametrize("ahead", ["0x0", "0x4", "0x40"])
@pytest.mark.parametrize("small", [0, SMALL_WARPS])
def test_lanes_at_one_distance(
    stride: int, near: str, ahead: str, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inside, beyond the end, before the beginning, and where lanes have walked on apart; with
    stores in place, and with marks, which the library writes."""
    monkeypatch.setattr(begin, "SMALL_WARPS", small)
    source = STRIDED.replace("STRIDE", hex(stride)).replace("NEAR", near).replace("AHEAD", ahead)
    found = []
    for engine in ("step", "run"):
        program = gpudbg.load(assemble_file(source).cubin(), engine=engine, num_sms=1)
        session = program.launch("probe", grid=2, block=32, args=[])
        found.append((str(session.run()), machines.grid_state(session.grid)))
        if not small:
            del found[-1][1]["marks"]
    assert found[0][0] == found[1][0]
    assert machines.difference(found[0][1], found[1][1]) == ""


BYTES = """
.arch sm_50
.kernel probe
.registers 32
.param in 8
.param out 8
    S2R R1, SR_TID.X ;
    S2R R8, SR_CTAID.X ;
    XMAD R1, R8, 0x20, R1 ;
    XMAD R2, R1, SIZE, RZ ;
    MOV R3, c[0x0][in+4] ;
    IADD R2.CC, R2, c[0x0][in] ;
    IADD.X R3, R3, RZ ;
    MOV R5, RZ ;
    MOV R6, c[0x0][in] ;
    MOV R7, c[0x0][in+4] ;
    LOP.AND R9, R1, 0x5 ;
again:
    LDG.E.KIND R10, [R2+AHEAD] ;
    LDG.E.KIND R11, [R6+0x8] ;
    IADD R12, R10, R11 ;
    IADD R13, R13, R12 ;
    IADD32I R5, R5, 0x1 ;
    ISETP.GT.AND P0, PT, R5, R9, PT ;
@P0 EXIT ;
    BRA again ;
"""
"""Loads of lanes beside one another, and of one number for all, by fewer and fewer lanes."""


@pytest.mark.parametrize(("kind", "size"), [("U8", 1), ("S8", 1), ("S16", 2), ("32", 4)])
@pytest.mark.parametrize("ahead", ["0x0", "0x4", "-0x4"])
@pytest.mark.parametrize("lanes", [64, 60])
def test_elements_of_lanes_beside_one_another(kind: str, size: int, ahead: str, lanes: int) -> None:
    """Inside, beyond the end of memory, and before its beginning."""
    source = BYTES.replace("SIZE", hex(size)).replace("AHEAD", ahead)
    source = source.replace(".KIND", f".{kind}" * (kind != "32"))
    found = []
    for engine in ("step", "run"):
        program = gpudbg.load(assemble_file(source).cubin(), engine=engine, num_sms=1)
        data = np.arange(3, 3 + 37 * lanes * size, 37) & 0xFF
        given = program.device.buffer(data.astype(np.uint8))
        session = program.launch("probe", grid=2, block=32, args=[given, given])
        found.append((str(session.run()), machines.grid_state(session.grid)))
    assert found[0][0] == found[1][0]
    assert machines.difference(found[0][1], found[1][1]) == ""


def test_bytes_of_lanes_beside_one_another_are_a_vector() -> None:
    """Of a text, of which lanes leave the others one after the other."""
    made = text("search", wide=False, masks=MaskHost.PACKED, row=32)
    assert made.count("load <32 x i8>") >= 8
    assert "load <32 x i8>" not in text("search", wide=True, row=32)


def test_guesses_about_what_is_loaded_are_left_out() -> None:
    """Rows of spmv begin where memory says."""
    image = gpudbg.load(str(CUBINS / "spmv.sm_50.cubin"), engine="step").module.image
    listing = KernelListing.of(image, image.entries["spmv"], (image.entries["spmv"],))
    guessed, sure = patterns_of(listing, 32), well_founded(listing)
    assert len(guessed) > 60
    assert len(sure & guessed.keys()) == 3


STORED = """
.arch sm_80
.kernel probe
.shared 8192
    S2R R1, SR_TID.X ;
    IMAD R2, R1, 0x84, RZ ;
    LDS R4, [R2] ;
    STS [R2+0x4], R4 ;
    STS [R4], R2 ;
    EXIT ;
"""


def test_what_is_stored_is_no_part_of_an_address() -> None:
    """Of a store of a loaded word the address may be known, of one to a loaded place not."""
    image = gpudbg.load(assemble_file(STORED).cubin(), engine="step").module.image
    listing = KernelListing.of(image, image.entries["probe"], (image.entries["probe"],))
    sure = well_founded(listing)
    accesses = [pc for pc, insn in sorted(listing.code.items()) if insn.op in ("LDS", "STS")]
    assert [pc in sure for pc in accesses] == [True, True, False]


def test_words_that_follow_one_another_are_loaded_together() -> None:
    """Of the unrolled loop of spmv, columns and values; x is gathered."""
    made = text("spmv", wide=False, masks=MaskHost.PACKED)
    assert made.count("load <4 x i32>") >= 8 * 32
    assert "load <4 x i32>" not in text("spmv", wide=True)
    assert "load <4 x i32>" not in text("spmv", wide=False, masks=MaskHost.PACKED, full=True)


ROWS = """
.arch sm_50
.kernel probe
.registers 32
.param in 8
    S2R R1, SR_TID.X ;
    XMAD R2, R1, STEP, RZ ;
    MOV R3, c[0x0][in+4] ;
    IADD R2.CC, R2, c[0x0][in] ;
    IADD.X R3, R3, RZ ;
    LOP.AND R4, R1, 0x7 ;
    MOV R5, RZ ;
again:
    SSY meet ;
    ISETP.GT.AND P0, PT, R4, R5, PT ;
    ISETP.GT.AND P1, PT, R4, 0x4, PT ;
@!P0 SYNC ;
    LDG.E R8, [R2+FIRST] ;
    LDG.E R9, [R2+0x8] ;
    FADD R12, R8, R9 ;
    LDG.E R10, [R2+0x4] ;
    STG.E [R2+0x4], R12 ;
    LDG.E R11, [R2+0x4] ;
@P1 LDG.E R13, [R2+0x10] ;
@P1 LDG.E R14, [R2+0x18] ;
@P1 LDG.E R15, [R2+0x1c] ;
@P1 LDG.E R2, [R2+0x14] ;
    MOV R16, R2 ;
@P1 IADD R2, R2, 0x4 ;
    SYNC ;
meet:
    IADD32I R5, R5, 0x1 ;
    ISETP.LT.AND P2, PT, R5, 0x3, PT ;
@P2 BRA again ;
    EXIT ;
"""
"""Loads of rows, of which a store changes one, and of which the last one changes the address."""


@pytest.mark.parametrize("step", ["0x10", "0x24", "0x34"])
@pytest.mark.parametrize("first", ["0x0", "0xc", "-0x4"])
@pytest.mark.parametrize("words", [16, 280, 300, 448])
def test_rows_of_words(step: str, first: str, words: int) -> None:
    """Inside, and beyond the end of memory in some lanes."""
    source = ROWS.replace("STEP", step).replace("FIRST", first)
    found = []
    for engine in ("step", "run"):
        program = gpudbg.load(assemble_file(source).cubin(), engine=engine, num_sms=1)
        given = program.device.buffer(np.arange(words, dtype=np.uint32) << 20)
        session = program.launch("probe", grid=1, block=32, args=[given])
        found.append((str(session.run()), machines.grid_state(session.grid)))
    assert found[0][0] == found[1][0]
    assert machines.difference(found[0][1], found[1][1]) == ""


SHARED = """
.arch sm_50
.kernel probe
.shared 256
    S2R R1, SR_TID.X ;
    SHL R2, R1, 0x2 ;
    STS [R2], R1 ;
    MOV R3, RZ ;
again:
    SSY meet ;
    ISETP.GT.AND P0, PT, R1, R3, PT ;
@!P0 SYNC ;
    LDS.U.32 R4, [R2] ;
    LDS.U.32 R5, [R2+FAR] ;
    IADD R4, R4, R5 ;
    STS [R2+0x40], R4 ;
    LDS.U.32 R6, [R2+NEAR] ;
    SYNC ;
meet:
    IADD32I R3, R3, 0x1 ;
    ISETP.LT.AND P1, PT, R3, 0x4, PT ;
@P1 BRA again ;
    EXIT ;
"""
"""Accesses from one register, under a mask that changes from round to round."""


@pytest.mark.parametrize("far", [0x80, 0x84, 0x82])
@pytest.mark.parametrize("near", ["0x4", "-0x8", "-0x10"])
def test_accesses_from_one_register_share_a_test(far: int, near: str) -> None:
    """Inside, behind the end, misaligned; before the beginning, in lanes that execute and not."""
    source = SHARED.replace("FAR", hex(far)).replace("NEAR", near)
    found = []
    for engine in ("step", "run"):
        program = gpudbg.load(assemble_file(source).cubin(), engine=engine, num_sms=1)
        session = program.launch("probe", grid=2, block=32, args=[])
        found.append((str(session.run()), machines.grid_state(session.grid)))
    assert found[0][0] == found[1][0]
    assert machines.difference(found[0][1], found[1][1]) == ""


def test_tests_are_shared() -> None:
    made = text("lu", wide=True)
    assert 2 * made.count("@llvm.usub.sat.i32(") < made.count("@llvm.masked.gather")


LOCAL = """\
.arch sm_50
.kernel probe
.local 256
.param out 8
    S2R R0, SR_TID.X ;
    LOP32I.AND R1, R0, 0x7 ;
    SHL R2, R1, 0x4 ;
    ISETP.GT.AND P0, PT, R0, 0x9, PT ;
    IADD32I R4, R0, 0x55 ;
    IADD32I R5, R4, 0x1 ;
    IADD32I R6, R4, 0x2 ;
    IADD32I R7, R4, 0x3 ;
    @P0 STL.64 [R2+0x8], R4 ;
    SHL R3, R1, 0x3 ;
    STL [R3], R5 ;
    EXIT ;
"""


@pytest.mark.parametrize(("masks", "marked"), [(MaskHost.PACKED, True), (MaskHost.VECTORS, False)])
def test_local_words_are_marked_in_passing(masks: MaskHost, marked: bool) -> None:
    """By a function that writes both, where the host stores words of lanes one by one."""
    program = gpudbg.load(assemble_file(LOCAL).cubin(), engine="step")
    image = program.module.image
    entry = image.entries["probe"]
    listing = KernelListing.of(image, entry, (entry,))
    spaces = frozenset(("local",))
    emitter = Emitter(listing, EmitterOptions(True, 16, {0: 512}, masks=masks, marking=spaces))
    emitter.text("warp")
    called = emitter.runtime.called
    assert ("store_marked.local.8" in called) == marked
    assert ("mark.local.8" in called) != marked
    assert ("store.local.8" in called) != marked


@pytest.mark.full(instead="test_local_words_are_marked_in_passing")
def test_local_marks_are_those_of_the_step_engine() -> None:
    """What has been written, after stores of some lanes."""
    if not has("x86-64-v3"):
        pytest.skip("the host has less")
    states: list[dict[str, Any]] = []
    with standing_for("x86-64-v3"):
        for engine in ("step", "run"):
            program = gpudbg.load(assemble_file(LOCAL).cubin(), engine=engine)
            out = program.device.buffer(np.zeros(64, np.uint32))
            session = program.launch("probe", grid=1, block=(48, 1, 1), args=[out])
            session.run()
            states.append(machines.grid_state(session.grid))
    assert machines.difference(states[0], states[1]) == ""
