"""Detects stack growth beyond a kernel's fixed frame: PTX `alloca`."""

from __future__ import annotations

from gpudbg.architectures import is_wide
from gpudbg.code_layout import layout_of
from gpudbg.errors import DecodeError
from gpudbg.isa.family import decode as decode_any
from gpudbg.isa.operands import RZ, Const, Imm, Pred, Reg
from gpudbg.isa.spa5.decode import decode

STACK_POINTER = 1
_ADDS = ("IADD", "IADD32I")
_WIDE_ADDS = ("IADD3", "VIADD", "IADD")
_SIGN = 0x8000_0000


def grows_stack(code: bytes, arch: str, frame_bytes: int) -> bool:
    """True when R1 goes down by more than the frame, or by an amount known only at run time.

    Kernels set R1 to the top of the stack once and take their frame off it (*inferred*: compiled
    code); only dynamic allocation does more.

    Args:
        code: the kernel's instructions, control words included.
        frame_bytes: its frame as the file states it.
    """
    if is_wide(arch):
        return _grows_wide(code, arch, frame_bytes)
    taken, layout = 0, layout_of(arch)
    for offset in layout.offsets(len(code)):
        # Only words whose destination field is R1; the byte is cheaper than decoding them all.
        if code[offset] != STACK_POINTER:
            continue
        try:
            insn = decode(layout.word_at(code, offset), arch)
        except DecodeError:
            continue
        step = insn.o.get("b")
        if insn.op not in _ADDS or insn.o.get("d") != Reg(STACK_POINTER, reuse=-1):
            continue
        if not isinstance(step, Imm):
            return True
        value = -step.value & 0xFFFF_FFFF if step.neg else step.value
        taken += 0x1_0000_0000 - value if value & _SIGN else 0
    return taken > frame_bytes


def _grows_wide(code: bytes, arch: str, frame_bytes: int) -> bool:
    """`grows_stack` for 128-bit words, whose third byte is the number of the destination."""
    taken, layout = 0, layout_of(arch)
    for offset in layout.offsets(len(code)):
        if code[offset + 2] != STACK_POINTER:
            continue
        try:
            insn = decode_any(layout.word_at(code, offset), arch)
        except DecodeError:
            continue
        if STACK_POINTER not in insn.writes().registers:
            continue
        sources = [o for o in insn.operands[1:] if not (isinstance(o, Reg) and o.index == RZ)]
        sources = [o for o in sources if not isinstance(o, Pred)]
        if any(isinstance(o, Const) for o in sources) and not any(
            isinstance(o, Reg) for o in sources
        ):
            # R1 is set to the top of the stack: no growth.
            continue
        steps = [o for o in sources if isinstance(o, Imm)]
        own = [o for o in sources if isinstance(o, Reg) and o.index == STACK_POINTER]
        if insn.op not in _WIDE_ADDS or len(steps) + len(own) != len(sources) or len(own) != 1:
            return True
        for step in steps:
            value = (-step.value if step.neg else step.value) & 0xFFFF_FFFF
            taken += 0x1_0000_0000 - value if value & _SIGN else 0
    return taken > frame_bytes
