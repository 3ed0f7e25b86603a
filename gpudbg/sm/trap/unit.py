"""The trap unit of one launch: status words, and warps entering and leaving the trap handler.

On entry a warp's pc, masks and cause go to the record and to the handler's save area, a TRAP token
closes off its divergence stack, all its live lanes become active, and its pc is the handler's.
From sm_70 on only the group of lanes that runs enters; the warp's other groups stand meanwhile.
RTT undoes that.  Which of this is documented and which modelled is in `gpudbg.sm.policy`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from gpudbg.architectures import is_wide
from gpudbg.errors import ModelGap
from gpudbg.mem.local import LocalMemory
from gpudbg.regs.esr import GlobalErrorStatus, GlobalEsr
from gpudbg.regs.families import port_layout, report_masks
from gpudbg.regs.port import DbgrControl0, TpcException
from gpudbg.regs.warp_errors import warp_error
from gpudbg.sm import record as rec
from gpudbg.sm.convergence import step as convergence
from gpudbg.sm.divergence import step as divergence
from gpudbg.sm.faults import WarpErrorRaised
from gpudbg.sm.state import Sm, WarpState
from gpudbg.sm.trap.handler import NO_BARRIER, SCRATCH_BYTES, Installed
from gpudbg.sm.trap.instructions import TrapPolicy
from gpudbg.sm.trap.options import TrapOptions
from gpudbg.sm.trap.state import STEP_OR_STOP, Cause, SmTrap

ADDR_VALID = 1 << 24
"""HWW_WARP_ESR of Pascal: the error has an address."""

Event = Callable[[int, str], None]

WHY_OTHERS = (
    GlobalErrorStatus.MULTIPLE_WARP_ERRORS
    | GlobalErrorStatus.SINGLE_WARP_ERROR
    | GlobalErrorStatus.WARP_TRAP_1
    | GlobalErrorStatus.WARP_TRAP_2_PLUS
)
"""Status bits of a warp that takes others into the handler; these read them until they have left
it, even where that warp leaves first.
"""


class TrapUnit(TrapPolicy):
    """Traps of one launch.

    Attributes:
        sms: its SMs; `sm.trap` holds the words.
        options: readings of what is not public.
        handler: the placed trap handler, or None.
        pascal: sm_60 to sm_62, whose HWW_WARP_ESR says whether an error has an address.
        errors_in_trap: the SM has a bit for errors in the handler.
        stack_bit: it has one for the memory of stacks.
        shader: the shader type the launch declares.
        on_event: reported of (SM, text) when the hardware does something a host could see.
    """

    def __init__(
        self,
        arch: str,
        sms: Sequence[Sm],
        options: TrapOptions,
        shader: str = "compute",
        places: Sequence[int] = (),
    ) -> None:
        super().__init__()
        self.sms = sms
        self.options = options
        self.handler: Installed | None = None
        self.pascal = arch.startswith("sm_6")
        self.errors_in_trap = not arch.startswith("sm_5")
        self.stack_bit = not is_wide(arch)
        self.shader = shader
        self.on_event: Event = lambda sm, text: None
        warp_report, global_report = report_masks(arch)
        each = 2 if port_layout(arch).two_sms else 1
        for sm in sms:
            sm.trap = SmTrap(warp_report=warp_report, global_report=global_report)
            sm.trap.exception_enable = int(TpcException.SM)
            place = sm.index // each
            sm.trap.physical = places[place] if place < len(places) else place
            sm.trap.in_tpc = sm.index % each if each > 1 else None

    @property
    def needs_step_engine(self) -> bool:
        """Whether a mode is on that compiled code does not look at."""
        if self.options.precision != "precise" or self.options.call_limit:
            return True
        return any([sm.trap.control & STEP_OR_STOP for sm in self.sms])

    # ---- status words ------------------------------------------------------------------

    def global_status(self, sm: Sm) -> int:
        """What SR_GlobalErrorStatus reads on an SM."""
        trap = sm.trap
        status = GlobalErrorStatus(0)
        if trap.stepping:
            status |= GlobalErrorStatus.SINGLE_STEP_ENABLED
        if trap.stop_requested and not trap.frozen:
            status |= GlobalErrorStatus.STOP_REQUEST
        erring, traps, ide, reported = 0, [], False, 0
        for warp in sm.resident():
            cause = warp.words[rec.TRAP_CAUSE] if warp.in_trap else Cause.NONE
            if cause == Cause.STOP_REQUEST:
                status |= GlobalErrorStatus.STOP_REQUEST
            elif cause == Cause.OTHER_WARP:
                reported = trap.reported
            word = warp.words[rec.TRAP_STATUS]
            erring += bool(word & 0xFF)
            ide = ide or bool(warp.words[rec.FLAGS] & rec.FLAG_IDE)
            if trap.trapped >> warp.slot & 1:
                traps.append(word >> 24 & 7)
        if ide:
            status |= GlobalErrorStatus.IDE_CRITICAL_SECTION
        found = self._errors(erring) | self._traps(traps) or reported
        return int(status) | trap.preemption << 1 | found

    def _errors(self, erring: int) -> int:
        word = GlobalErrorStatus(0)
        if erring >= 2:
            word |= GlobalErrorStatus.MULTIPLE_WARP_ERRORS
        if erring == 1 or (erring and self.options.error_bits == "both"):
            word |= GlobalErrorStatus.SINGLE_WARP_ERROR
        return int(word)

    def _traps(self, immediates: list[int]) -> int:
        word = GlobalErrorStatus(0)
        if self.options.warp_trap_bits == "count":
            if len(immediates) == 1:
                word |= GlobalErrorStatus.WARP_TRAP_1
            elif immediates:
                word |= GlobalErrorStatus.WARP_TRAP_2_PLUS
            return int(word)
        if 1 in immediates:
            word |= GlobalErrorStatus.WARP_TRAP_1
        if any(n != 1 for n in immediates):
            word |= GlobalErrorStatus.WARP_TRAP_2_PLUS
        return int(word)

    def warp_status(self, warp: WarpState) -> int:
        """What SR_WarpErrorStatus reads in a warp."""
        return int(warp.words[rec.TRAP_STATUS])

    def clear_status(self, warp: WarpState) -> int:
        """SR67 under the option `status_clear`: the status, which is zero afterwards."""
        if self.options.status_clear != "clear":
            return 0
        word = self.warp_status(warp)
        warp.words[rec.TRAP_STATUS] = 0
        return word

    def note_error(self, warp: WarpState, error: WarpErrorRaised, pc: int) -> None:
        """Put a warp error into the warp's and the SM's status words."""
        row = warp_error(error.code)
        assert row is not None
        words, trap = warp.words, self.sms[warp.sm].trap
        words[rec.TRAP_STATUS] = (words[rec.TRAP_STATUS] & ~0xFF) | (row.code & 0xFF)
        if not trap.warp_esr & 0xFFFF:
            with_address = self.pascal and error.address is not None
            trap.warp_esr = row.code | warp.slot << 16 | (ADDR_VALID if with_address else 0)
            trap.warp_esr_pc = pc & 0xFFFF_FFFF
        elif trap.warp_esr >> 16 & 0xFF != warp.slot:
            trap.global_esr |= int(GlobalEsr.MULTIPLE_WARP_ERRORS)
        if error.code == "STACK_OVERFLOW" and error.space is None and self.stack_bit:
            trap.global_esr |= int(GlobalEsr.PHYSICAL_STACK_OVERFLOW)
        if warp.in_trap and self.errors_in_trap:
            trap.global_esr |= int(GlobalEsr.ERROR_IN_TRAP)
        self.on_event(warp.sm, f"warp {warp.slot}: {error.code} at pc 0x{pc:x}")

    def note_bpt(self, warp: WarpState, mode: str, imm: int) -> None:
        """Put a BPT into the status words."""
        words, trap = warp.words, self.sms[warp.sm].trap
        bit = 1 << warp.slot
        if mode == "TRAP":
            words[rec.TRAP_STATUS] = (words[rec.TRAP_STATUS] & 0xFF) | (imm & 7) << 24
            trap.trapped |= bit
            if warp.in_trap and self.errors_in_trap:
                trap.global_esr |= int(GlobalEsr.ERROR_IN_TRAP)
        elif mode in ("PAUSE", "PAUSE_QUIET"):
            trap.pause |= bit
            if mode == "PAUSE":
                trap.global_esr |= int(GlobalEsr.BPT_PAUSE)
        elif mode == "INT":
            trap.global_esr |= int(GlobalEsr.BPT_INT)
        number = f" 0x{imm:x}" if imm else ""
        self.on_event(warp.sm, f"warp {warp.slot}: BPT.{mode}{number}")

    def event(self, warp: WarpState, mode: str, imm: int) -> None:
        """Record BPT.INT and BPT.DRAIN, which do not stop the warp."""
        self.note_bpt(warp, mode, imm)

    def check_call(self, warp: WarpState) -> None:
        """Before a call: the option `call_limit`.

        Raises:
            WarpErrorRaised: API_STACK_ERROR.
        """
        limit = self.options.call_limit
        if limit and sum(1 for entry in warp.stack if entry.kind == "RET") >= limit:
            raise WarpErrorRaised("API_STACK_ERROR", 0, f"more than {limit} calls at once")

    def graphics(self, warp: WarpState, op: str) -> NoReturn:
        """An instruction of the graphics pipeline, by the shader type the launch declares."""
        if self.shader == "compute":
            super().graphics(warp, op)
        if op == "OUT" and self.shader == "geometry":
            raise WarpErrorRaised("GEOMETRY_SM_ERROR", 0, "OUT: no output stage is bound")
        if op in ("OUT", "ISBERD") or (op in ("IPA", "PIXLD") and self.shader != "pixel"):
            text = f"{op} in a shader of type {self.shader}"
            raise WarpErrorRaised("ILLEGAL_SPH_INSTR_COMBO", 0, text)
        raise ModelGap(f"{op}: the graphics pipeline is not emulated")

    # ---- the handler -------------------------------------------------------------------

    def enter(self, warp: WarpState, pc: int, cause: Cause) -> None:
        """Move a warp into the handler; `pc` is where the interrupted code goes on."""
        assert self.handler is not None
        sm = self.sms[warp.sm]
        words, quads = warp.words, warp.quads
        flags = words[rec.FLAGS] | rec.FLAG_TRAP
        barrier = warp.barrier
        if barrier is not None:
            flags |= rec.FLAG_BARRIER
        words[rec.FLAGS] = flags & ~rec.FLAG_DEFERRED
        words[rec.TRAP_CAUSE] = cause
        quads[rec.TRAP_PC] = pc
        words[rec.TRAP_ACTIVE] = words[rec.ACTIVE]
        if warp.has_groups:
            words[rec.TRAP_DEPTH] = convergence.enter_handler(warp)
        else:
            divergence.close_for_trap(warp, pc)
            words[rec.ACTIVE] = words[rec.VALID] & ~words[rec.EXITED]
        words[rec.TRAP_QUAD] = words[rec.QUAD]
        words[rec.QUAD] = 0
        words[rec.STATUS] = rec.READY
        quads[rec.PC] = self.handler.entry
        quads[rec.TRAP_SEEN] = 0
        warp.outer, warp.local = warp.local, LocalMemory(0, SCRATCH_BYTES)
        sm.trap.entries += 1
        self._write_record(warp, sm, pc, cause, barrier)
        self.on_event(warp.sm, f"warp {warp.slot} enters the trap handler: {cause.words}")

    def _write_record(
        self, warp: WarpState, sm: Sm, pc: int, cause: Cause, barrier: int | None
    ) -> None:
        assert self.handler is not None
        words = warp.words
        self.handler.write(
            warp.sm,
            warp.slot,
            {
                "pc": pc,
                "active": words[rec.TRAP_ACTIVE],
                "exited": words[rec.EXITED],
                "valid": words[rec.VALID],
                "depth": words[rec.TRAP_DEPTH],
                "warp_status": words[rec.TRAP_STATUS],
                "global_status": self.global_status(sm),
                "cause": int(cause),
                "count": sm.trap.entries,
                "barrier": NO_BARRIER if barrier is None else barrier,
                "sr_virtid": warp.slot << 8 | warp.sm << 20,
            },
        )

    def leave(self, warp: WarpState, mode: str, following: int) -> None:
        """Carry out RTT; `following` is the pc after it.

        Raises:
            WarpErrorRaised: the record's active mask names no live lane.
        """
        assert self.handler is not None
        words, quads = warp.words, warp.quads
        live = words[rec.VALID] & ~words[rec.EXITED]
        if mode == "TERMINATE":
            words[rec.EXITED] |= live
            words[rec.STATUS] = rec.DONE
            if warp.has_groups:
                convergence.end_warp(warp)
            else:
                divergence.clear(warp)
            words[rec.ACTIVE] = 0
            self._forget(warp, "ends in")
            return
        active = self.handler.read(warp.sm, warp.slot, "active") & live
        if warp.has_groups:
            self._leave_group(warp, active)
            return
        if not active:
            raise WarpErrorRaised("STACK_ERROR", live, "RTT with no lane to go on with")
        words[rec.ACTIVE] = active
        divergence.reopen_after_trap(warp)
        words[rec.QUAD] = words[rec.TRAP_QUAD]
        if mode == "FALLTHROUGH":
            quads[rec.PC] = following
        else:
            quads[rec.PC] = self.handler.read(warp.sm, warp.slot, "pc")
        quads[rec.TRAP_SEEN] = 0
        number = words[rec.BAR_WAIT]
        waits = words[rec.FLAGS] & rec.FLAG_BARRIER and mode != "FALLTHROUGH"
        if waits and warp.index in warp.cta.barriers.slots[number].waiting:
            words[rec.STATUS] = rec.AT_BARRIER
        self._forget(warp, "returns from")

    def _leave_group(self, warp: WarpState, active: int) -> None:
        """RTT from sm_70 on: the lanes that entered go on, all of them.

        Raises:
            WarpErrorRaised: the record's active mask says that other lanes should.
        """
        assert self.handler is not None
        lanes = convergence.handler_lanes(warp)
        if active != lanes:
            text = (
                f"RTT with lanes 0x{active:08x} in the record; those in the handler, "
                f"0x{lanes:08x}, go on"
            )
            raise WarpErrorRaised("STACK_ERROR", lanes, text)
        warp.words[rec.QUAD] = warp.words[rec.TRAP_QUAD]
        convergence.leave_handler(warp, self.handler.read(warp.sm, warp.slot, "pc"))
        self._forget(warp, "returns from")

    def lanes_exited(self, warp: WarpState) -> bool:
        """EXIT in the handler: when its last lanes have ended, the warp's others go on."""
        if warp.groups.interrupted is not None:
            return False
        self._forget(warp, "has lanes end in")
        return True

    def _forget(self, warp: WarpState, how: str) -> None:
        """Clear the status words and bits of a warp that has left the handler."""
        words, trap = warp.words, self.sms[warp.sm].trap
        words[rec.FLAGS] &= ~(rec.FLAG_TRAP | rec.FLAG_BARRIER)
        words[rec.TRAP_STATUS] = 0
        words[rec.TRAP_CAUSE] = Cause.NONE
        if warp.outer is not None:
            warp.local, warp.outer = warp.outer, None
        bit = 1 << warp.slot
        trap.pause &= ~bit
        trap.trapped &= ~bit
        trap.returns += 1
        self.on_event(warp.sm, f"warp {warp.slot} {how} the trap handler")

    def resumed(self, warp: WarpState) -> None:
        """Clear the words of a warp that the debugger stopped without a handler and that
        continues.
        """
        if not warp.in_trap:
            warp.words[rec.TRAP_STATUS] = 0
            self.sms[warp.sm].trap.trapped &= ~(1 << warp.slot)
        self.sms[warp.sm].trap.pause &= ~(1 << warp.slot)

    # ---- causes that come from outside a warp --------------------------------------------

    def may_enter(self, warp: WarpState) -> bool:
        """Whether an outside cause can take the warp into the handler now; else it waits."""
        if self.handler is None or warp.in_trap:
            return False
        if warp.words[rec.STATUS] in (rec.DONE, rec.FAULTED):
            return False
        if warp.words[rec.FLAGS] & rec.FLAG_IDE:
            warp.words[rec.FLAGS] |= rec.FLAG_DEFERRED
            return False
        return True

    def enter_all(self, sm: Sm, cause: Cause) -> int:
        """Have every warp of an SM that can enter the handler do so. Returns how many did."""
        entered = 0
        for warp in list(sm.resident()):
            if self.may_enter(warp):
                self.enter(warp, warp.pc, cause)
                entered += 1
        return entered

    def follow(self, warp: WarpState) -> None:
        """After a warp has entered the handler, let the others enter as the stop-on-any modes
        say.
        """
        own = self.sms[warp.sm]
        if own.trap.control & DbgrControl0.STOP_ON_ANY_WARP:
            own.trap.reported = self.global_status(own) & int(WHY_OTHERS)
            self.enter_all(own, Cause.OTHER_WARP)
        for sm in self.sms:
            if sm.index != warp.sm and sm.trap.control & DbgrControl0.STOP_ON_ANY_SM:
                self.enter_all(sm, Cause.OTHER_WARP)

    def request_stop(self, sm: Sm) -> None:
        """The host has set STOP_TRIGGER on a running SM."""
        if self.handler is not None:
            self.enter_all(sm, Cause.STOP_REQUEST)

    def request_preemption(self, sm: Sm, state: int) -> None:
        """Preemption: 1 context save, 2 context restore, 0 over."""
        sm.trap.preemption = state
        if state and self.handler is not None:
            self.enter_all(sm, Cause.PREEMPTION)

    def state(self, warp: WarpState) -> dict[str, Any]:
        """A warp's trap state as plain data."""
        words = warp.words
        saved = warp.in_trap
        return {
            "sm": warp.sm,
            "warp": warp.slot,
            "in_handler": saved,
            "status": self.warp_status(warp),
            "cause": Cause(words[rec.TRAP_CAUSE]).words if saved else "",
            "saved_pc": int(warp.quads[rec.TRAP_PC]) if saved else None,
            "saved_active": int(words[rec.TRAP_ACTIVE]) if saved else None,
            "paused": bool(self.sms[warp.sm].trap.pause >> warp.slot & 1),
            "trapped": bool(self.sms[warp.sm].trap.trapped >> warp.slot & 1),
            "critical": bool(words[rec.FLAGS] & rec.FLAG_IDE),
        }
