"""Masks, and NaNs chosen by them, as code for each kind of host keeps them."""

from __future__ import annotations

import ctypes
import re

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.sm.engines.llvm import build
from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.floats import NAN32, Floats
from gpudbg.sm.engines.llvm.ir.integers import Integers
from gpudbg.sm.engines.llvm.ir.values import MaskHost, Msk, Val, Values
from gpudbg.sm.engines.llvm.kernel import packs
from gpudbg.sm.engines.llvm.kernel.far_masks import far_masks
from tests.engine import test_gathers

LANES = np.arange(32, dtype=np.uint32)
HOSTS = [
    host for host in MaskHost if host is not MaskHost.PACKED or "+avx2" in build.host().features
]
FLOATS = np.array(
    [0, 1 << 31, 1, 0x80000001, 0x7F800000, 0xFF800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x3F800000,
     0x7F800001, 0xFF800001, 0x7FC00000, 0xFFC00000, 0x7FFFFFFF, 0xFFFFFFFF, 0xBF800000],
    np.uint32,
)  # fmt: skip


def _called(builder: Builder, *rows: np.ndarray, far: bool = False, more: str = "") -> None:
    """Call what was built with pointers to rows, which are named %p0 and on.

    Args:
        far: masks go from block to block as words.
        more: functions beside it.
    """
    if far:
        builder.lines = far_masks(builder.lines)
    names = [f"ptr %p{n}" for n in range(len(rows))]
    text = builder.close(f"define void @f({', '.join(names)})")
    text = text.replace("\n}", "\n  ret void\n}") + f"\n{more}\n"
    code = build.Code(build.object_of(text, 1))
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(rows))(code.address("f"))
    function(*(row.ctypes.data for row in rows))


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("far", [False, True])
def test_masks_are_what_their_lanes_are(host: MaskHost, far: bool) -> None:
    rng = np.random.default_rng(5)
    given = rng.integers(0, 2, (2, 32), np.uint32)
    word = np.array([int(rng.integers(0, 1 << 32))], np.uint32)
    ir = Builder()
    values = Values(ir, host)
    ints = Integers(ir, values)
    a, b = (ints.eq(Val(32, ir.get("<32 x i32>", f"%p{n}", 0, 4)), 1) for n in (0, 1))
    c = Msk(bits=ir.get("i32", "%p2"))
    if far:
        ir.br("on")
        ir.label("on")
    made = [ints.mand(a, b), ints.mor(b, c), ints.mxor(a, c), ints.mnot(ints.mand(c, a)), c, a]
    for n, mask in enumerate(made):
        ir.put("i32", values.mask_bits(mask), "%p3", 4 * n)
        chosen = ints.select(mask, 7, 9)
        ir.put("<32 x i32>", values.bare(chosen, 32), "%p4", 128 * n, 4)
    bits, lanes = np.zeros(len(made), np.uint32), np.zeros((len(made), 32), np.uint32)
    _called(ir, given[0], given[1], word, bits, lanes, far=far and host is MaskHost.PACKED)
    x, y, z = given[0] == 1, given[1] == 1, word >> LANES & 1 == 1
    for n, expected in enumerate((x & y, y | z, x ^ z, ~(z & x), z, x)):
        assert (bits[n] >> LANES & 1 == expected).all()
        assert (lanes[n] == np.where(expected, 7, 9)).all()


def test_opposites_of_signs_are_compared_anew() -> None:
    kind = "<32 x i32>"
    lines = ["b0:", f"  %v2 = icmp slt {kind} %v1, zeroinitializer"]
    lines.append("  %v3 = xor <32 x i1> %v2, splat (i1 true)")
    assert far_masks(lines) == [*lines[:2], f"  %v3 = icmp sgt {kind} %v1, splat (i32 -1)"]
    others = [lines[0], f"  %v2 = icmp eq {kind} %v1, zeroinitializer", lines[2]]
    assert far_masks(others) == others


@pytest.mark.parametrize("host", HOSTS)
def test_blocks_that_are_seldom_executed_call_what_packs_masks(host: MaskHost) -> None:
    given = np.random.default_rng(6).integers(0, 2, 32, np.uint32)
    ir = Builder()
    values = Values(ir, host)
    mask = Integers(ir, values).eq(Val(32, ir.get("<32 x i32>", "%p0", 0, 4)), 1)
    assert isinstance(mask, Msk)
    with values.away():
        ir.put("i32", values.mask_bits(mask), "%p1")
    calls = sum("call" in line for line in ir.lines)
    assert calls == (host is MaskHost.PACKED)
    ir.put("i32", values.bits_of(mask.lanes), "%p2")
    away, here = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    _called(ir, given, away, here, more=packs.function() if calls else "")
    assert away[0] == here[0] == sum(1 << n for n in range(32) if given[n])


@pytest.mark.parametrize("blends", [False, True])
@pytest.mark.parametrize("host", HOSTS)
def test_nans_become_the_canonical_one(host: MaskHost, blends: bool) -> None:
    ir = Builder()
    values = Values(ir, host)
    ints = Integers(ir, values)
    floats = Floats(ir, values, ints, None, blends=blends)  # type: ignore[arg-type]
    result = floats.canonical(ir.get("<32 x float>", "%p0", 0, 4))
    ir.put("<32 x i32>", values.bare(result, 32), "%p1", 0, 4)
    given, out = np.resize(FLOATS, 32), np.zeros(32, np.uint32)
    _called(ir, given, out)
    assert (out == np.where(given & NAN32 > 0x7F800000, NAN32, given)).all()


def _foreign_masks(lines: list[str]) -> set[str]:
    """Masks that a block uses and does not make."""
    found: set[str] = set()
    here: set[str] = set()
    for line in lines:
        if not line.startswith(" "):
            here = set()
        uses = re.findall(r"<32 x i1> (%v[\w.]+)", line)
        found |= set(uses) - here
        name = re.match(r"  (%v[\w.]+) = ", line)
        if name is not None:
            here.add(name[1])
    return found


@pytest.mark.parametrize("kernel", ["conv2d", "spmv"])
def test_masks_do_not_go_from_block_to_block(kernel: str) -> None:
    """The compiler library would pack them there; masks of registers may."""
    assert _foreign_masks(test_gathers.text(kernel, wide=True).splitlines())
    packed = test_gathers.text(kernel, wide=False, masks=MaskHost.PACKED)
    assert not _foreign_masks(packed.splitlines())


def test_predicates_of_whole_warps_stay_lanes() -> None:
    """What is written under a guard is not packed for it: with that it would be 55 times."""
    made = test_gathers.text("segsort", wide=False, masks=MaskHost.PACKED, full=True)
    quick = made[: made.index("\nx")]
    assert quick.count("avx2.packsswb(") <= 40


CARRIES = """\
.arch sm_50
.kernel carries
.param out 8
    S2R R0, SR_TID.X ;
    MOV32I R4, 0xfffffff0 ;
    IADD R4, R4, R0 ;
    MOV R5, R0 ;
    MOV32I R6, 0x14 ;
    MOV R8, RZ ;
    MOV R9, RZ ;
    ISETP.LT.U32.AND P0, PT, R5, 0x5, PT ;
    @!P0 IADD R8.CC, R4, R6 ;
    @!P0 IADD.X R9, R5, RZ ;
    SHL R2, R0, 0x2 ;
    MOV R7, c[0x0][out+4] ;
    IADD R6.CC, R2, c[0x0][out] ;
    IADD.X R7, R7, RZ ;
    STG.E [R6], R9 ;
    EXIT ;
"""


def test_what_is_carried_under_a_guard() -> None:
    """A flag of some lanes is read back as that flag, not as another one written with it."""
    program = gpudbg.load(assemble_file(CARRIES).cubin(), engine="run")
    out = program.device.buffer(np.zeros(64, np.uint32))
    program.launch("carries", grid=1, block=64, args=[out]).run()
    lane = np.arange(64)
    carry = (lane + 0xFFFFFFF0 & 0xFFFFFFFF) + 0x14 > 0xFFFFFFFF
    assert np.array_equal(out.array(), np.where(lane < 5, 0, lane + carry))
