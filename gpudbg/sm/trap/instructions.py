"""What BPT, RTT, IDE and the per-warp pointers do, before anything about a trap handler.

The actions raise what the machine has to act upon (`TrapRaised` and its kinds): the instruction
has then had no effect yet.  `gpudbg.sm.trap.unit.TrapUnit` adds the SM's status words and the
handler; this class alone serves a warp without an SM.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from gpudbg.errors import ModelGap
from gpudbg.mem.lanes import first_lane, pack
from gpudbg.mem.local import STACK_REACH
from gpudbg.sm import record as rec
from gpudbg.sm.convergence import step as convergence
from gpudbg.sm.faults import DeferredRaised, ReturnRaised, TrapRaised, WarpErrorRaised
from gpudbg.sm.state import WarpState

STOPPING_MODES = frozenset(("TRAP", "PAUSE", "PAUSE_QUIET", "CAL"))
"""BPT modes that the machine acts upon."""
SILENT_MODES = frozenset(("INT", "DRAIN"))
"""BPT modes that let the warp go on: a host event, and waiting for memory that is never late."""

STACK_POINTER = 1
"""R1, by the convention of every compiler for these chips."""


class TrapPolicy:
    """System instructions by name; results where the machine interface asks for one.

    Attributes:
        lanes: the executing lanes; the engine sets it before it calls `system`.
    """

    def __init__(self) -> None:
        self.lanes = 0
        self._actions: dict[str, Callable[..., Any]] = {
            "BPT": self.bpt,
            "RTT": self.rtt,
            "IDE": self.ide,
            "GETCRSPTR": lambda warp: _word(warp, "crs"),
            "SETCRSPTR": lambda warp, value: _set_word(warp, "crs", value),
            "GETLMEMBASE": lambda warp: _word(warp, "lmem"),
            "SETLMEMBASE": lambda warp, value: _set_word(warp, "lmem", value),
            "GRAPHICS": self.graphics,
        }

    def system(self, warp: WarpState, name: str, **arguments: Any) -> Any:
        """Carry out a system instruction.

        Raises:
            TrapRaised: the machine stops, or enters or leaves the trap handler.
            WarpErrorRaised: the instruction is an error here.
            ModelGap: it has no model.
        """
        action = self._actions.get(name)
        if action is None:
            raise ModelGap(f"{name} has no model")
        return action(warp, **arguments)

    def bpt(self, warp: WarpState, mode: str, imm: int) -> None:
        """Raise `TrapRaised` once; when resumed at the same instruction, let it pass."""
        if mode in SILENT_MODES:
            self.event(warp, mode, imm)
            return
        if mode == "DRAIN_ILLEGAL":
            raise WarpErrorRaised("ILLEGAL_INSTR_ENCODING", 0, "BPT.DRAIN_ILLEGAL")
        if mode not in STOPPING_MODES:
            raise ModelGap(f"BPT.{mode} has no model")
        if mode == "TRAP":
            _check_stack(warp)
        seen = warp.pc | 1
        if warp.quads[rec.TRAP_SEEN] == seen:
            warp.quads[rec.TRAP_SEEN] = 0
            return
        warp.quads[rec.TRAP_SEEN] = seen
        raise TrapRaised(mode, imm)

    def event(self, warp: WarpState, mode: str, imm: int) -> None:
        """A BPT that does not stop the warp."""

    def rtt(self, warp: WarpState, mode: str) -> None:
        """Leave the trap handler; the whole warp does, or it is an error."""
        if not warp.in_trap:
            text = f"RTT{'.' + mode if mode else ''} outside the trap handler"
            raise WarpErrorRaised("ILLEGAL_INSTR_PARAM", 0, text)
        live = convergence.handler_lanes(warp) if warp.has_groups else _live(warp)
        if self.lanes & live != live:
            whose = "the lanes that entered the handler" if warp.has_groups else "the warp's lanes"
            raise WarpErrorRaised("DIVERGENT", 0, f"RTT by some of {whose}")
        raise ReturnRaised(mode)

    def lanes_exited(self, warp: WarpState) -> bool:
        """Lanes in the trap handler have ended. Returns whether the warp left it thereby."""
        return False

    def ide(self, warp: WarpState, enable: bool, imm: int) -> None:
        """Note that the warp holds interrupts off (`IDE`) or no longer does (`IDE.EN`)."""
        flags = warp.words[rec.FLAGS]
        if enable and flags & rec.FLAG_IDE and flags & rec.FLAG_DEFERRED:
            raise DeferredRaised
        warp.words[rec.FLAGS] = flags & ~rec.FLAG_IDE if enable else flags | rec.FLAG_IDE

    def check_call(self, warp: WarpState) -> None:
        """Check before a call: no limit here."""

    def graphics(self, warp: WarpState, op: str) -> NoReturn:
        """An instruction of the graphics pipeline; a compute program may not have it."""
        raise WarpErrorRaised("ILLEGAL_SPH_INSTR_COMBO", 0, f"{op} in a compute program")


def _live(warp: WarpState) -> int:
    return warp.valid & ~warp.exited


def _check_stack(warp: WarpState) -> None:
    """Tell a stack overflow from other traps: debug code traps when R1 falls below the stack.

    The check compares R1 with SR_LMemHiOff (*inferred* from debug builds); that the trap is an
    overflow when R1 stands just below the stack is *modelled*, as debuggers report it.
    """
    if len(warp.R) <= STACK_POINTER or warp.in_trap:
        return
    pointer = warp.R[STACK_POINTER]
    start = warp.local.start
    below = pack((pointer >= STACK_REACH) & (pointer < start)) & warp.active
    if below:
        address = int(pointer[first_lane(below)])
        text = f"the thread's stack is full: its check found R1 = 0x{address:x}"
        raise WarpErrorRaised("STACK_OVERFLOW", below, text, address=address, space="local")


def _word(warp: WarpState, name: str) -> int:
    return int(warp.words[rec.FIELDS[name].offset // 4])


def _set_word(warp: WarpState, name: str, value: Any) -> None:
    """A per-warp register takes the first lane's value; some lanes alone cannot set it."""
    if warp.active != _live(warp):
        raise WarpErrorRaised("DIVERGENT", 0, "a register of the warp is set by some of its lanes")
    first = value if isinstance(value, int) else int(value[0])
    warp.words[rec.FIELDS[name].offset // 4] = first & 0xFFFF_FFFF
