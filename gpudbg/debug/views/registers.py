"""The registers of the focused lane as a position-indexed list, the way register panes read them.

R0 … of the launched kernel, P0 … P6, CC, and the pc.  The list is the same during a launch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.debug.views.format import format_bits

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession

PREDICATES = tuple(f"P{n}" for n in range(7))
SPECIAL = ("CC", "pc")


def register_names(session: DebugSession) -> list[str]:
    """Names by position."""
    count = max(session.kernel.num_regs, 1)
    if session.focus is not None and not session.finished:
        count = int(session.warp().state.R.shape[0])
    return [*(f"R{n}" for n in range(count)), *PREDICATES, *SPECIAL]


def register_bits(session: DebugSession, name: str) -> tuple[int, int]:
    """(bits, bytes) of a register in the focused lane; predicates have one byte."""
    assert session.focus is not None
    lane = session.focus.lane
    state = session.warp().state
    if name == "pc":
        return session.symbols.code_address(session.shown_pc(session.context().frame.pc)), 8
    if name == "CC":
        return sum((int(state.cc[n]) >> lane & 1) << n for n in range(4)), 4
    if name[0] == "P":
        return int(state.predicates[int(name[1:])]) >> lane & 1, 1
    return int(state.R[int(name[1:])][lane]), 4


def register_text(session: DebugSession, name: str, letter: str) -> str:
    """A register in a format: x d t o r, or N for its natural one."""
    bits, size = register_bits(session, name)
    if letter == "N":
        if name == "pc":
            name, offset = session.symbols.function_offset(bits)
            return f"0x{bits:x} <{name}+{offset}>"
        return str(bits)
    return format_bits(bits, size, letter)
