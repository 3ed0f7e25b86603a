"""Trap path, per-warp system registers, and what the texture and surface unit executes."""

from __future__ import annotations

from gpudbg.sm.semantics.machine import Machine
from gpudbg.sm.semantics.operands import Insn, raw, write
from gpudbg.sm.semantics.rows import register


@register("BPT")
def bpt(m: Machine, i: Insn) -> None:
    """Breakpoint or trap by mode: PAUSE TRAP INT CAL DRAIN DRAIN_ILLEGAL."""
    operand = i.o.get("imm")
    m.system("BPT", mode=i.m["mode"], imm=0 if operand is None else operand.value)


@register("RTT")
def rtt(m: Machine, i: Insn) -> None:
    """Leave the trap handler: "", TERMINATE, FALLTHROUGH or PREEMPTED."""
    m.system("RTT", mode=i.m["mode"])


@register("IDE")
def ide(m: Machine, i: Insn) -> None:
    """Enter or (`.EN`) leave a section that holds the debugger's interrupts off (modelled)."""
    operand = i.o.get("imm")
    m.system("IDE", enable=bool(i.m["en"]), imm=0 if operand is None else operand.value)


@register("GETCRSPTR", "GETLMEMBASE")
def read_pointer(m: Machine, i: Insn) -> None:
    """Call-stack spill base, or local-memory base, of the warp (modelled)."""
    value = m.system(i.op)
    write(m, i, 0 if value is None else value)


@register("SETCRSPTR", "SETLMEMBASE")
def write_pointer(m: Machine, i: Insn) -> None:
    """Counterpart of GETCRSPTR and GETLMEMBASE."""
    m.system(i.op, value=raw(m, i.o["a"]))


@register("STP", stops="meaning unknown")
def stp(m: Machine, i: Insn) -> None:
    """Unknown."""
    m.gap("STP")


@register(
    *("AL2P", "ALD", "AST", "IPA", "ISBERD", "OUT", "PIXLD"),
    stops="graphics pipeline, which a compute program may not use",
)
def graphics(m: Machine, i: Insn) -> None:
    """Attributes and pixels: an error in a compute program."""
    m.system("GRAPHICS", op=i.op)


@register(
    "TEX",
    "TEXS",
    "TLD",
    "TLDS",
    "TLD4",
    "TLD4S",
    "TXD",
    "TXQ",
    "TMML",
    "SULD",
    "SUST",
    "SURED",
    "SUATOM",
)
def texture_or_surface(m: Machine, i: Insn) -> None:
    """Handed whole to the texture and surface unit."""
    m.surface(i.op, i)
