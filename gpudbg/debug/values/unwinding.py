"""Return addresses of a lane of sm_70 and later: which calls led to where it stands.

`gpudbg.analysis.call_frames` says where each function keeps what its caller left; here the lane's
registers and local memory are read, from the innermost call outwards.  The walk ends at the
kernel, and where an address is not found any more or does not stand behind a call.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from gpudbg.errors import UsageError
from gpudbg.formats.program import EXTERN_STRIDE
from gpudbg.isa.calling_convention import RETURN_PAIR, STACK_POINTER
from gpudbg.sm.cfg import CALLS

if TYPE_CHECKING:
    from gpudbg.analysis.call_frames import FunctionFacts, Return
    from gpudbg.debug.symbols import Symbols
    from gpudbg.sm.state import WarpState

MOST_FRAMES: Final = 256
Register = Callable[[int], int | None]
"""A register's value in one frame, or None where it is not known any more."""


def return_addresses(symbols: Symbols, warp: WarpState, lane: int, pc: int) -> list[int]:
    """Code addresses at which the lane goes on after the calls it is in, the innermost first.

    Args:
        pc: where the lane stands.
    """
    register: Register = _registers(warp, lane)
    out: list[int] = []
    while len(out) < MOST_FRAMES:
        found = _caller(symbols, warp, lane, pc, register)
        if found is None:
            break
        pc, register = found
        out.append(pc)
    return out


def _registers(warp: WarpState, lane: int) -> Register:
    return lambda n: int(warp.R[n][lane]) if n < len(warp.R) else None


def _caller(
    symbols: Symbols, warp: WarpState, lane: int, pc: int, register: Register
) -> tuple[int, Register] | None:
    """(return address, the caller's registers) of the function at a pc."""
    if pc & -EXTERN_STRIDE in symbols.image.externs:
        # The machine carries it out: everything is as the call left it.
        address = _pair(register, RETURN_PAIR)
        return None if address is None else (address, register)
    function = symbols.image.function_at(pc)
    if function is None or function[0].is_kernel:
        return None
    facts = symbols.call_frames.facts(pc)
    if facts is None or facts.returns is None:
        return None
    before = _of_caller(facts, pc, warp, lane, register)
    held = _held(before, facts.returns)
    if held is None:
        return None
    address = (facts.returns.base + held) & 0xFFFFFFFFFFFFFFFF
    call = symbols.call_frames.instruction(symbols.layout.before(address))
    return (address, before) if call is not None and call.op in CALLS else None


def _pair(register: Register, low: int) -> int | None:
    first, second = register(low), register(low + 1)
    return None if first is None or second is None else first | second << 32


def _held(register: Register, returns: Return) -> int | None:
    """The return address that the call left in registers, or None where one is unknown."""
    if returns.high is None:
        return _pair(register, returns.register)
    low = register(returns.register)
    return None if low is None else low | returns.high << 32


def _of_caller(
    facts: FunctionFacts, pc: int, warp: WarpState, lane: int, register: Register
) -> Register:
    """The registers that the function at a pc was called with."""
    below, moved = register(STACK_POINTER), facts.stack_at(pc)
    first = None if below is None or moved is None else (below - moved) & 0xFFFFFFFF

    def value(n: int) -> int | None:
        if n == STACK_POINTER:
            return first
        place = facts.place_of(pc, n)
        if place is None:
            return None
        kind, number = place
        if kind == "R":
            return register(number)
        if first is None:
            return None
        with suppress(UsageError):
            raw = warp.local.read(lane, (first + number) & 0xFFFFFFFF, 4)
            return int.from_bytes(raw, "little")
        return None

    return value
