"""Gathers of eight words, which hosts with AVX2 have."""

from __future__ import annotations

from gpudbg.sm.engines.llvm.ir.builder import LANES, Builder, signed, vector

EIGHT = "<8 x i32>"


def gather_eight(ir: Builder, base: str, words: str, chosen: str) -> str:
    """Eight words from memory, 0 in lanes that are not chosen.

    Args:
        base: host pointer.
        words: `<8 x i32>`: words from there.
        chosen: `<8 x i32>`, by the signs.
    """
    return ir.op(
        f"call {EIGHT} @llvm.x86.avx2.gather.d.d.256({EIGHT} zeroinitializer, ptr {base}, "
        f"{EIGHT} {words}, {EIGHT} {chosen}, i8 4)"
    )


def eight_of(ir: Builder, words: str, first: int) -> str:
    """Eight of 32 words."""
    picks = ", ".join(f"i32 {n}" for n in range(first, first + 8))
    kind = vector("i32")
    return ir.op(f"shufflevector {kind} {words}, {kind} poison, <8 x i32> <{picks}>")


def eight_chosen(ir: Builder, mask: str, first: int) -> str:
    """Words, all bits or none, for eight bits of an i32."""
    spread = ir.op(f"insertelement {EIGHT} poison, i32 {mask}, i64 0")
    spread = ir.op(f"shufflevector {EIGHT} {spread}, {EIGHT} poison, <8 x i32> zeroinitializer")
    own = ", ".join(f"i32 {signed(1 << n, LANES)}" for n in range(first, first + 8))
    bits = ir.op(f"and {EIGHT} {spread}, <{own}>")
    return ir.op(f"sext <8 x i1> {ir.op(f'icmp eq {EIGHT} {bits}, <{own}>')} to {EIGHT}")


def joined_eights(ir: Builder, parts: list[str]) -> str:
    """32 words out of four times eight."""

    def join(kind: str, width: int, a: str, b: str) -> str:
        order = ", ".join(f"i32 {n}" for n in range(2 * width))
        return ir.op(f"shufflevector {kind} {a}, {kind} {b}, <{2 * width} x i32> <{order}>")

    low, high = (join(EIGHT, 8, parts[n], parts[n + 1]) for n in (0, 2))
    return join("<16 x i32>", 16, low, high)
