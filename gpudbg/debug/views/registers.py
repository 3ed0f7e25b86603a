"""The registers of the focused lane as a position-indexed list, the way register panes read them.

R0 … of the launched kernel, P0 … P6, CC, and the pc; from sm_70 on UR0 …, UP0 … UP6 and the
convergence barriers B0 … B15 in place of CC.  The list is the same during a launch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.architectures import is_wide
from gpudbg.debug.values import shared_registers
from gpudbg.debug.views.format import format_bits
from gpudbg.sm.convergence.groups import BARRIERS
from gpudbg.sm.launch import uniform_registers

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession

PREDICATES = tuple(f"P{n}" for n in range(7))
SPECIAL = ("CC", "pc")


def shared_names(session: DebugSession) -> list[str]:
    """Registers that the lanes of a warp share, from sm_70 on."""
    arch = session.program.arch
    if not is_wide(arch):
        return []
    count = max(uniform_registers(arch) - 1, 0)
    names = [f"UR{n}" for n in range(count)]
    names += [f"UP{n}" for n in range(shared_registers.PREDICATES if count else 0)]
    return [*names, *(f"B{n}" for n in range(BARRIERS))]


def predicate_names(session: DebugSession) -> tuple[str, ...]:
    """Predicates, and what else says how a warp goes on."""
    if not is_wide(session.program.arch):
        return (*PREDICATES, "CC")
    return (*PREDICATES, *(name for name in shared_names(session) if not name.startswith("UR")))


def register_names(session: DebugSession) -> list[str]:
    """Names by position."""
    count = max(session.kernel.num_regs, 1)
    if session.focus is not None and not session.finished:
        count = int(session.warp().state.R.shape[0])
    special = (*shared_names(session), "pc") if is_wide(session.program.arch) else SPECIAL
    return [*(f"R{n}" for n in range(count)), *PREDICATES, *special]


def register_bits(session: DebugSession, name: str) -> tuple[int, int]:
    """(bits, bytes) of a register in the focused lane; predicates have one byte."""
    assert session.focus is not None
    lane = session.focus.lane
    state = session.warp().state
    if name == "pc":
        return session.symbols.code_address(session.shown_pc(session.context().frame.pc)), 8
    if name == "CC":
        return sum((int(state.cc[n]) >> lane & 1) << n for n in range(4)), 4
    register = shared_registers.parse(state, name)
    if register is not None:
        size = 1 if register.file == shared_registers.PREDICATE else 4
        return int(shared_registers.read(state, register)[lane]), size
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
