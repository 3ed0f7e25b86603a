"""Masks are packed by a function in exits, in place elsewhere."""

from __future__ import annotations

from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.values import MaskHost, Msk, Values
from gpudbg.sm.engines.llvm.kernel import packs
from gpudbg.sm.engines.llvm.kernel.sink import sink

CALL = "  %v3 = call i32 @mask_bits(<32 x i32> %v2)"
STORE = "  store i32 %v3, ptr %v1"


def test_packing_is_one_statement_until_it_is_written_out() -> None:
    ir = Builder()
    values = Values(ir, MaskHost.PACKED, late=True)
    bits = values.mask_bits(Msk("%m"))
    assert [packs.CALLED in line for line in ir.lines] == [False, True]
    in_place = packs.in_place(["b8:", *ir.lines, f"  store i32 {bits}, ptr %p"])
    plain = Builder()
    assert Values(plain, MaskHost.PACKED).mask_bits(Msk("%m"))
    assert len(in_place) == len(plain.lines) + 2
    assert not any(packs.CALLED in line for line in in_place)
    assert in_place[-2].startswith(f"  {bits} = call i32 @llvm.x86.avx2.pmovmskb")


def test_exits_call_the_function() -> None:
    lines = ["x7:", CALL, STORE, "  ret i32 1", "o9:", CALL, STORE]
    found = packs.in_place(lines)
    assert found[: lines.index("o9:") + 1] == lines[:5]
    assert CALL not in found[5:]


def test_packing_that_only_an_exit_needs_is_moved_there() -> None:
    hot, tail = sink([CALL, "  br label %b8"], ["x7:", STORE, "  ret i32 1"])
    assert hot == ["  br label %b8"]
    assert [packs.CALLED in line for line in tail] == [False, True, False, False]
