"""Whether a kernel moves its stack pointer further than its fixed frame: PTX `alloca`."""

from __future__ import annotations

from gpudbg.architectures import is_wide
from gpudbg.code_layout import layout_of
from gpudbg.errors import DecodeError
from gpudbg.isa.operands import Imm, Reg
from gpudbg.isa.spa5.decode import decode

STACK_POINTER = 1
_ADDS = ("IADD", "IADD32I")
_SIGN = 0x8000_0000


def grows_stack(code: bytes, arch: str, frame_bytes: int) -> bool:
    """True when R1 goes down by more than the frame, or by an amount known only at run time.

    From sm_70 on it is taken that it does (*modelled*).  Older kernels set R1 to the top of the
    stack once and take their frame off it (*inferred*: compiled code); only dynamic allocation
    does more.

    Args:
        code: the kernel's instructions, control words included.
        frame_bytes: its frame as the file states it.
    """
    if is_wide(arch):
        return True
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
