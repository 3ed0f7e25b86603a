"""The step engine: the machine interface on NumPy, one warp instruction at a time.

`StepEngine.run` executes instructions of one warp until something ends it.  Fetching is by pc
from a table of bound instructions (`Bound`), made when a pc is first reached.  Register writes
take effect when the instruction's function has returned, so a fault leaves the warp as it was
and a function may compute with values that are views of registers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn

import numpy as np

from gpudbg.architectures import age
from gpudbg.bits import lanes_of
from gpudbg.code_layout import BUNDLES, layout_of
from gpudbg.dataclass import dataclass
from gpudbg.errors import DecodeError, ModelGap
from gpudbg.formats.program import CodeImage
from gpudbg.isa.family import Instruction, decode, hidden_return
from gpudbg.isa.operands import Access
from gpudbg.mem.constant import ConstantBanks
from gpudbg.mem.device import DeviceMemory
from gpudbg.mem.faults import MemoryFault
from gpudbg.mem.lanes import FULL, U32, U64, bools, first_lane
from gpudbg.sm import record as rec
from gpudbg.sm.barriers.phase import Arrival
from gpudbg.sm.barriers.step import arrive, check, warp_exited
from gpudbg.sm.convergence import step as convergence
from gpudbg.sm.convergence.waiting import WAITING, leads_to_barrier, loop_yields
from gpudbg.sm.device_output import DeviceOutput, Heap
from gpudbg.sm.divergence import step as divergence
from gpudbg.sm.engines.asynchronous import AsyncOps
from gpudbg.sm.engines.values import Mask, Value, ValueOps, Wide, const32, join, lanes32, lanes64
from gpudbg.sm.faults import TrapRaised, WarpErrorRaised
from gpudbg.sm.observer import Observer, Observers
from gpudbg.sm.on_fault import OnFault
from gpudbg.sm.record import ACTIVE, CC_INDEX, EXECUTED, PC, PRED, RETURN_PC, STATUS, UPRED
from gpudbg.sm.schedule.polling import branch_polls
from gpudbg.sm.schedule.turns import TURN_POINTS
from gpudbg.sm.semantics import registry
from gpudbg.sm.semantics.machine import WideOperations
from gpudbg.sm.semantics.operands import check_run
from gpudbg.sm.sregs import SregFile
from gpudbg.sm.state import RZ, UNIFORM_ROWS, ZERO_ROW, Sm, WarpState
from gpudbg.sm.trap.instructions import TrapPolicy
from gpudbg.sm.written import Written

if TYPE_CHECKING:
    from gpudbg.sm.fragments import Multiplication, Operand

PT = 7
ALWAYS = PRED + PT
"""Guard word of an unguarded instruction: PT, all ones."""
NO_TURN = 1 << 62
"""A turn length larger than any run."""
ZERO_WIDE: U64 = np.zeros(1, np.uint64)
ZERO_WIDE.setflags(write=False)

RunEnd = Literal["budget", "turn", "blocked", "breakpoint", "until", "fault", "trap"]
"""Why `run` returned: its count is used up, the warp waits or has exited, ..."""


Function = Callable[[Any, Any], None]
"""The function that executes an instruction, given the machine and the instruction."""


@dataclass(frozen=True, slots=True)
class SystemCall:
    """Stands where an instruction would: its text is what a debugger shows."""

    name: str
    word: int = 0
    op: str = "SYSCALL"

    def text(self, pc: int = 0, control: int = 0) -> str:
        """The name, as a pseudo instruction."""
        return f"(system call {self.name})"

    def reads(self) -> Access:
        """Nothing: what a function reads is its caller's to say."""
        return _NOTHING

    def writes(self) -> Access:
        """Nothing: results are the caller's to declare."""
        return _NOTHING


_NOTHING = Access(frozenset(), frozenset())


class Bound(NamedTuple):
    """An instruction bound to its address: what the fetch table holds.

    `guard` is the word of the record that holds the guard's mask.
    """

    pc: int
    next_pc: int
    guard: int
    negated: bool
    insn: Any
    function: Callable[[Any, Any], None]
    flow: bool = False


def _fault(code: str, detail: str) -> Callable[[Any, Any], None]:
    """A function for an instruction that cannot execute: raises its error before any effect."""

    def raise_it(m: StepEngine, i: Any) -> None:
        raise WarpErrorRaised(code, 0, detail)

    return raise_it


def _yielding(function: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """Wrap an instruction after which warps of other blocks get a turn."""

    def yields(m: StepEngine, i: Any) -> None:
        m.yielded = True
        function(m, i)

    return yields


def _waiting(function: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """Wrap an instruction of lanes for which others may wait (`gpudbg.sm.convergence.waiting`)."""

    def waits(m: StepEngine, i: Any) -> None:
        m.waits = True
        try:
            function(m, i)
        finally:
            m.waits = False

    return waits


class StepEngine(ValueOps, AsyncOps):
    """Executes one launch's warps; see the module text.

    Attributes:
        code: the program at its code addresses.
        sregs: special registers.
        traps: what system instructions do.
        warp, exec, fault: the warp that runs, its executing lanes, and the error that ended
            the last `run`.
        turn_over: the last `run` ended where the warp's turn does.
        polled: it did so because the warp polls: warps of other CTAs go first, too.
        yielded: there was a YIELD or NANOSLEEP, or the branch of a loop that polls
            (`gpudbg.sm.schedule.polling`): when the turn is over, the same.
        waits: the instruction is the branch of a loop that polls for other lanes, or a WARPSYNC
            that a BAR follows (`gpudbg.sm.convergence.waiting`).
        written: marks of what has been stored, while only this engine has run the launch.
    """

    __slots__ = (
        "_bound",
        "_functions",
        "_layout",
        "_pc",
        "_system_function",
        "_turn_points",
        "_writes",
        "code",
        "constants",
        "exec",
        "fault",
        "heap",
        "images",
        "memory",
        "observers",
        "on_fault",
        "output",
        "sm",
        "sregs",
        "traps",
        "waits",
        "warp",
        "written",
        "yielded",
    )

    def __init__(
        self,
        code: CodeImage,
        memory: DeviceMemory,
        constants: ConstantBanks,
        sregs: SregFile,
        traps: TrapPolicy,
        output: DeviceOutput | None = None,
        heap: Heap | None = None,
        system_function: Callable[[str], Function | None] = lambda name: None,
        fetched: dict[int, Bound] | None = None,
    ) -> None:
        """Args: fetched: instructions that launches of the same code, whose warps have as many
        registers, have bound already; more are added."""
        self.output = output or DeviceOutput()
        self.heap = heap or Heap(0)
        self._system_function = system_function
        self.waits = False
        self.code = code
        self.memory = memory
        self.constants = constants
        self.sregs = sregs
        self.traps = traps
        self.observers: Observers | None = None
        self.on_fault: OnFault | None = None
        self.written: Written | None = Written()
        self.images: Callable[[StepEngine, str, Any], None] | None = None
        self.fault: WarpErrorRaised | TrapRaised | None = None
        self._layout = layout_of(code.program.arch)
        self._turn_points = TURN_POINTS[self._layout.has_control_words]
        self._functions = registry.table(code.program.arch)
        self._bound: dict[int, Bound] = {} if fetched is None else fetched
        self._writes: list[tuple[int, U32]] = []
        self._pc = self._next = self.exec = 0
        self.turn_over = self.polled = self.yielded = False

    def replace_code(self, code: CodeImage) -> None:
        """Execute other code from now on, at the same addresses."""
        self.code, self._bound = code, {}

    def let_go(self) -> None:
        """Release references to the last warp and to the error with its frames."""
        self.fault = self.observers = self.written = None
        for name in ("warp", "sm"):
            if hasattr(self, name):
                delattr(self, name)

    @contextmanager
    def trial(self, warp: WarpState, sm: Sm, observer: Observer | None = None) -> Iterator[None]:
        """Execute instructions of a warp on trial: only `observer` hears of them, no store is
        marked, and the warp's state and the engine's are put back at the end.  Memory is the
        caller's to put back."""
        saved = warp.saved()
        groups = warp.groups.copy() if warp.has_groups else None
        kept = self.observers, self.fault, self.written, sm.issued, sm.clock_base
        self.observers = None if observer is None else Observers([observer])
        self.written = None
        try:
            yield
        finally:
            warp.put_back(saved)
            if groups is not None:
                warp.groups = groups
            self.observers, self.fault, self.written, sm.issued, sm.clock_base = kept

    # ---- running -----------------------------------------------------------------------

    def run(
        self,
        warp: WarpState,
        sm: Sm,
        count: int,
        breakpoints: Collection[int] | None = None,
        until: Callable[[WarpState], bool] | None = None,
        turn: int = NO_TURN,
    ) -> RunEnd:
        """Execute up to `count` instructions of a ready warp.

        Args:
            breakpoints: pcs to stop before, or None; the first instruction is not looked up.
            until: called after each instruction; true ends the run.
            turn: instructions left of the warp's turn: it ends at the first turn point at or
                after them (`gpudbg.sm.schedule.turns`).
        """
        self.warp, self.sm = warp, sm
        self.turn_over = self.polled = self.yielded = False
        self._writes.clear()
        start = warp.quads[EXECUTED]
        sm.clock_base = sm.issued - start
        try:
            with np.errstate(all="ignore"):
                return self._loop(warp, start + count, breakpoints, until, start + turn)
        except (WarpErrorRaised, TrapRaised) as error:
            # Drop the traceback: its frames would keep the engine's callers alive.
            error.__traceback__ = error.__context__ = None
            self.fault = error
            return "trap" if isinstance(error, TrapRaised) else "fault"
        except ModelGap as gap:
            raise self._located(gap) from gap
        finally:
            sm.issued += warp.quads[EXECUTED] - start

    def _loop(
        self,
        warp: WarpState,
        end: int,
        breakpoints: Collection[int] | None,
        until: Callable[[WarpState], bool] | None,
        turn_end: int,
    ) -> RunEnd:
        words, quads, bound, writes = warp.words, warp.quads, self._bound, self._writes
        first, starts_piece = self._layout.first, self._turn_points.starts_piece
        observe = self.observers is not None and bool(self.observers.hooks["instruction"])
        done = quads[EXECUTED]
        while done < end:
            pc = quads[PC]
            entry = bound.get(pc) or self._fetch(pc)
            pc, next_pc, guard, negated, insn, function, flow = entry
            lanes = words[ACTIVE]
            if guard != ALWAYS or negated:
                held = words[guard]
                lanes &= ~held if negated else held
            if observe:
                self.observers.emit("instruction", warp, pc, insn, lanes)  # type: ignore[union-attr]
            if lanes:
                self.exec, self._pc, self._next = lanes, pc, next_pc
                function(self, insn)
                if writes:
                    self._commit(warp, lanes)
                target = self._next
                if target != next_pc:
                    quads[rec.CAME_FROM] = pc
                    next_pc = first(target)
            done += 1
            quads[EXECUTED] = done
            if words[STATUS]:
                # An exited warp's pc stays at its EXIT; a waiting one's is past its BAR.
                quads[PC] = pc if words[STATUS] == rec.DONE else next_pc
                return "until" if until is not None and until(warp) else "blocked"
            quads[PC] = next_pc
            if done >= turn_end and (flow or starts_piece(next_pc)):
                self.turn_over = True
            if until is not None and until(warp):
                return "until"
            if self.turn_over:
                return "turn"
            if breakpoints is not None and next_pc in breakpoints:
                return "breakpoint"
        return "budget"

    def _commit(self, warp: WarpState, lanes: int) -> None:
        """Carry out the register writes of one instruction."""
        rows, writes = warp.rows, self._writes
        if len(writes) > 1:
            # A value may be a view of a register that an earlier write of the list replaces.
            for n, (index, value) in enumerate(writes):
                if value.base is not None:
                    writes[n] = (index, value.copy())
        if lanes == FULL:
            for index, value in writes:
                rows[index][:] = value  # type: ignore[index]
        else:
            chosen = bools(lanes)
            for index, value in writes:
                np.copyto(rows[index], value, where=chosen)  # type: ignore[arg-type]
        writes.clear()

    def _fetch(self, pc: int) -> Bound:
        """The instruction at a pc, bound.

        Raises:
            WarpErrorRaised: the pc or the word is no good.
            ModelGap: the pc is a function outside the program, or no semantics exist.
        """
        # A fetch error concerns all active lanes; nothing executes.
        self._pc = self._next = pc
        self.exec = self.warp.active
        layout = self._layout
        place = layout.first(pc)
        where = self.code.placement_at(place)
        if where is None:
            return self._system_call(pc)
        if pc % layout.word_bytes:
            text = f"pc 0x{pc:x} is not a multiple of {layout.word_bytes}"
            raise self._bad_pc("MISALIGNED_PC", text)
        word = layout.word_at(self.code.code, place - self.code.base)
        arch = self.code.program.arch
        try:
            insn = decode(word, arch)
        except DecodeError as error:
            hidden = self._hidden(word)
            if hidden is None:
                text = f"word 0x{word:0{2 * layout.word_bytes}x}: {error.reason}"
                raise WarpErrorRaised("ILLEGAL_INSTR_ENCODING", 0, text) from None
            insn = hidden
        function = self._functions.get(insn.op)
        if function is None:
            raise ModelGap(f"{insn.op} has no semantics")
        if layout is not BUNDLES and registry.reserved(insn):
            raise ModelGap(f"{insn.text(pc)}: a reserved value has no semantics")
        missing = self._missing_registers(insn)
        if missing:
            function = _fault("OOR_REG", missing)
        guard, negated = (PT, False) if insn.tests_guard else insn.guard
        guard += UPRED if insn.uniform_guard and guard != PT else PRED
        if branch_polls(place, insn, self._decoded, layout):
            function = _yielding(function)
        elif layout is not BUNDLES and insn.op in WAITING:
            if loop_yields(place, insn, self._decoded) or leads_to_barrier(
                place, insn, self._decoded
            ):
                function = _waiting(function)
        flow = insn.op in self._turn_points.flow
        found = Bound(place, layout.next(place), guard, negated, insn, function, flow)
        self._bound[pc] = found
        return found

    def _hidden(self, word: int) -> Instruction | None:
        """The return from a trap handler where public tools print nothing for its word."""
        inside = self.warp.has_groups and self.warp.in_trap
        return hidden_return(word, self.code.program.arch) if inside else None

    def _decoded(self, pc: int) -> Instruction | None:
        """The instruction at a pc; None where there is none."""
        if self.code.placement_at(pc) is None:
            return None
        try:
            word = self._layout.word_at(self.code.code, pc - self.code.base)
            return decode(word, self.code.program.arch)
        except DecodeError:
            return None

    def mnemonic(self, pc: int) -> str:
        """The mnemonic at a pc; an empty string where there is no instruction."""
        try:
            entry = self._bound.get(pc) or self._fetch(pc)
        except (WarpErrorRaised, ModelGap):
            return ""
        return str(entry.insn.op)

    def _missing_registers(self, insn: Instruction) -> str:
        """What is wrong with registers that an instruction names and the warp does not have."""
        return registry.missing_registers(insn, len(self.warp.R), len(self.warp.UR))

    def _system_call(self, pc: int) -> Bound:
        """A function of the driver's at a stub address, bound as if it were an instruction."""
        name = self.code.externs.get(pc & ~31)
        if name is not None:
            function = self._system_function(name)
            if function is None:
                raise ModelGap(f"the program calls {name}, which it does not contain")
            found = Bound(pc, self._layout.next(pc), ALWAYS, False, SystemCall(name), function)
            self._bound[pc] = found
            return found
        raise self._bad_pc("PC_OVERFLOW", f"pc 0x{pc:x} is outside the program's code")

    def _bad_pc(self, code: str, text: str) -> WarpErrorRaised:
        origin = self.warp.quads[rec.CAME_FROM]
        if origin:
            text += f"; it was reached from {self.code.describe(origin)}"
        return WarpErrorRaised(code, 0, text)

    def _located(self, gap: ModelGap) -> ModelGap:
        """The gap with the place it was met."""
        pc = self.warp.pc
        entry = self._bound.get(pc)
        text, digits = "", 2 * self._layout.word_bytes
        if entry:
            text = f"{entry.insn.text(entry.pc)}, word 0x{entry.insn.word:0{digits}x}: "
        return ModelGap(f"{self.code.describe(pc)}: {text}{gap.message}", gap.hint)

    # ---- state -------------------------------------------------------------------------

    def reg(self, index: int) -> U32:
        row = self.warp.rows[index]
        if row is None:
            self._no_register(index)
        return row

    def _no_register(self, index: int) -> NoReturn:
        count = len(self.warp.R)
        raise WarpErrorRaised("OOR_REG", 0, f"R{index} is not one of the warp's {count}")

    def reg_pair(self, index: int) -> U64:
        if index == RZ:
            return ZERO_WIDE
        if index & 1:
            raise WarpErrorRaised("MISALIGNED_REG", 0, f"R{index} cannot hold 64 bits")
        return join(self.reg(index), self.reg(index + 1))

    def reg_write(self, index: int, value: Value) -> None:
        if index != RZ:
            if self.warp.rows[index] is None:
                self._no_register(index)
            self._writes.append((index, const32(value) if value.__class__ is int else value))  # type: ignore[arg-type]

    def reg_pair_write(self, index: int, value: Wide) -> None:
        if index != RZ:
            if index & 1:
                raise WarpErrorRaised("MISALIGNED_REG", 0, f"R{index} cannot hold 64 bits")
            self.reg_write(index, self.lo(value))
            self.reg_write(index + 1, self.hi(value))

    def pred(self, index: int) -> Mask:
        return self.warp.words[PRED + index]

    def pred_write(self, index: int, value: Mask) -> None:
        if index != PT:
            words, lanes = self.warp.words, self.exec
            words[PRED + index] = (words[PRED + index] & ~lanes) | (value & lanes)

    # Uniform registers are stored per lane; a group's copies are written together.

    def ureg(self, index: int) -> U32:
        if index >= RZ:
            # The register behind the one that reads as zero does not exist: reads zero, too.
            return const32(0)
        row = self.warp.rows[UNIFORM_ROWS + index]
        return const32(int(row[first_lane(self.exec)]))  # type: ignore[index]

    def ureg_pair(self, index: int) -> U64:
        return ZERO_WIDE if index == RZ else join(self.ureg(index), self.ureg(index + 1))

    def ureg_write(self, index: int, value: Value) -> None:
        if index != RZ:
            shared = const32(int(lanes32(value)[first_lane(self.exec)]))
            row: U32 = self.warp.rows[UNIFORM_ROWS + index]  # type: ignore[assignment]
            np.copyto(row, shared, where=bools(self.warp.words[ACTIVE]))

    def upred(self, index: int) -> Mask:
        held = self.warp.words[UPRED + index]
        return FULL if held >> first_lane(self.exec) & 1 else 0

    def upred_write(self, index: int, value: Mask) -> None:
        if index != PT:
            words, lanes = self.warp.words, self.warp.words[ACTIVE]
            shared = lanes if value >> first_lane(self.exec) & 1 else 0
            words[UPRED + index] = words[UPRED + index] & ~lanes | shared

    def cc_read(self, flag: str) -> Mask:
        return self.warp.words[CC_INDEX[flag]]

    def cc_write(self, flag: str, value: Mask) -> None:
        words, lanes, place = self.warp.words, self.exec, CC_INDEX[flag]
        words[place] = (words[place] & ~lanes) | (value & lanes)

    def sreg(self, index: int) -> U32:
        return self.sregs.read(self.warp, self.sm, index)

    def sreg_coupled(self, index: int) -> U32:
        return self.sregs.read_coupled(self.warp, self.sm, index)

    def lanes(self) -> Mask:
        return self.exec

    def active(self) -> Mask:
        return self.warp.words[ACTIVE]

    # ---- control -----------------------------------------------------------------------

    def pc(self) -> int:
        return self._pc

    def next_pc(self) -> int:
        return self._next

    def branch(self, mask: Mask, target: int | Value | Wide) -> None:
        if mask:
            if self.warp.has_groups:
                self._branch_groups(mask, target)
            elif isinstance(target, int):
                self._next = divergence.branch(self.warp, self._next, mask, target)
            else:
                self._next = self._spread(mask, target)  # type: ignore[arg-type]

    def _spread(self, mask: Mask, target: U32) -> int:
        """A branch whose target is in a register."""
        return divergence.branch_each(self.warp, self._next, _goals(mask, target))

    def _branch_groups(self, mask: Mask, target: int | Value | Wide) -> None:
        """A branch of lanes that have pcs of their own."""
        goals = {target: mask} if isinstance(target, int) else _goals(mask, target)
        warp = self.warp
        places = convergence.goals(warp, self._next, goals)
        self._next = convergence.branch_each(warp, self._next, places)
        if len(places) == 1 and self._next <= self._pc and warp.groups.backward(self.waits):
            if self.waits:
                self.yield_turn(warp.words[ACTIVE])
            else:
                self._next = convergence.give_turn(warp, self._next)

    def open_barrier(self, number: int) -> None:
        self.warp.groups.open(number, self.exec)

    def converge(self, number: int, mask: Mask) -> None:
        if mask:
            self._next = convergence.converge(self.warp, self._next, number, mask)

    def leave_barrier(self, number: int, mask: Mask) -> None:
        self.warp.groups.leave(number, mask)

    def barrier_mask(self, number: int, clear: bool, keep: bool) -> U32:
        groups = self.warp.groups
        masks = np.array([groups.mask_of_lane(number, lane) for lane in range(32)], np.uint32)
        if clear:
            groups.save(number, self.exec, keep)
        return masks

    def set_barrier(self, number: int, value: Value) -> None:
        self.warp.groups.restore(number, self.exec, lanes32(value).tolist())

    def _return_pc(self, half: int) -> U32:
        words = self.warp.record.view(np.uint32)
        return words[RETURN_PC + 32 * half : RETURN_PC + 32 * half + 32]

    def return_pc(self, half: int) -> U32:
        return self._return_pc(half).copy()

    def return_pc_write(self, half: int, value: Value) -> None:
        np.copyto(self._return_pc(half), lanes32(value), where=bools(self.exec))

    def synchronize(self, value: Value, mask: Mask, exclusive: bool) -> None:
        if mask:
            masks = lanes32(value).tolist()
            if not all(masks[lane] for lane in lanes_of(mask)):
                self.warp_error("ILLEGAL_INSTR_PARAM", mask, "a WARPSYNC of no lanes")
            self._next = convergence.synchronize(
                self.warp, self._next, mask, masks, exclusive, self.waits
            )

    def yield_turn(self, mask: Mask) -> None:
        if mask:
            self.yielded = True
            if self.warp.groups.only_polls:
                self.turn_over = self.polled = True
            self._next = convergence.yield_turn(self.warp, self._next, mask)

    def push(self, kind: str, target: int | Value) -> None:
        goal = target if isinstance(target, int) else int(lanes32(target)[first_lane(self.exec)])
        divergence.push(self.warp, kind, goal)

    def pop(self, kind: str, mask: Mask) -> None:
        if mask:
            self._next = divergence.pop(self.warp, self._next, kind, mask)

    def call(self, target: int | Value) -> None:
        self.traps.check_call(self.warp)
        if isinstance(target, int) and target < 0:
            # Check before the push: the branch would raise the error only after it.
            divergence.branch(self.warp, self._next, self.exec, target)
        divergence.push(self.warp, "RET", self._next)
        self.branch(self.exec, target)

    def exit(self, mask: Mask) -> None:
        if mask and self.warp.has_groups:
            self._next = convergence.exit_lanes(self.warp, self._next, mask)
            if self.warp.in_trap and self.traps.lanes_exited(self.warp):
                # Constants are others now: they are chosen before a run.
                self.turn_over = True
            warp_exited(self.warp.cta)
        elif mask:
            self._next = divergence.exit_lanes(self.warp, self._next, mask)

    def quad_activate(self, on: bool) -> None:
        divergence.activate_quads(self.warp, on)

    def barrier(
        self, mode: str, barrier_id: Value, count: Value | None, reduce_op: str, pred: Mask | None
    ) -> None:
        first = first_lane(self.exec)
        arrival = Arrival(
            mode,
            int(lanes32(barrier_id)[first]),
            None if count is None else int(lanes32(count)[first]) or None,
            reduce_op,
            self.exec,
            FULL if pred is None else pred,
        )
        warp = self.warp
        check(warp, arrival)
        if warp.has_groups and mode != "ARV":
            self._next = convergence.wait_at_barrier(warp, self._next, arrival.barrier, self.exec)
        waits = warp.has_groups and not warp.groups.running
        released = arrive(warp, arrival)
        if waits and warp.groups.running:
            self._next = warp.pc
        if self.observers is not None:
            self.observers.emit("barrier", self.warp, arrival, released)

    def barrier_result(self) -> tuple[U32, Mask]:
        words = self.warp.words
        return const32(words[rec.BAR_COUNT]), words[rec.BAR_PRED]

    @contextmanager
    def only(self, mask: Mask) -> Iterator[None]:
        kept = self.exec
        self.exec = kept & mask
        try:
            yield
        finally:
            self.exec = kept

    # ---- tensor cores ------------------------------------------------------------------

    def _whole_warp(self, what: str) -> None:
        if self.exec != FULL:
            self.gap(f"{what} in part of a warp")

    def load_rows(self, address: Value, count: int) -> list[Value]:
        self._whole_warp("LDSM")
        self.exec = FULL >> (32 - count)
        try:
            return list(self.load("shared", address, 16, False))
        finally:
            self.exec = FULL

    def load_matrices(self, address: Value, count: int) -> list[Value]:
        words = np.stack([lanes32(word) for word in self.load_rows(address, 8 * count)], axis=1)
        return [words[8 * n : 8 * n + 8].reshape(32) for n in range(count)]

    def store_matrices(self, address: Value, registers: Sequence[Value]) -> None:
        self._whole_warp("STSM")
        words = np.zeros((32, 4), np.uint32)
        for n, register in enumerate(registers):
            words[8 * n : 8 * n + 8] = lanes32(register).reshape(8, 4)
        with self.only(FULL >> (32 - 8 * len(registers))):
            self.store("shared", address, 16, [words[:, n].copy() for n in range(4)])

    def matrix_multiply(self, i: Any, shape: Multiplication, accumulates: Mask) -> None:
        from gpudbg.sm.engines import tensor_product

        self._whole_warp(i.op)
        fragments = [self._fragment(operand) for operand in (shape.a, shape.b, shape.c)]
        if not accumulates:
            fragments[2] = [ZERO_ROW] * len(fragments[2])
        metadata = scales = None
        if shape.sparse:
            metadata = self.reg(i.o["e"].index)
        if "SF" in i.m:
            # Sparse forms have the factors of A in the register after the metadata.
            of_a = self.reg(i.o["e"].index + shape.sparse)
            chosen = int(self.ureg(i.o["g"].index)[0])
            words = of_a, self.reg(i.o["f"].index)
            scales = tensor_product.scales_of(i.op, i.m, words, chosen)
        results = tensor_product.product(i.op, i.m, i.arch, shape, fragments, metadata, scales)
        self._write_fragment(shape.d, results)

    def warpgroup_multiply(
        self, i: Any, descriptors: tuple[Wide, Wide], negative: tuple[bool, bool],
        across: tuple[bool, bool], accumulates: Mask,
    ) -> None:  # fmt: skip
        from gpudbg.sm.asynchronous.events import MatricesRead
        from gpudbg.sm.engines import wgmma
        from gpudbg.sm.fragments import multiplication

        self._whole_warp(i.op)
        warp = self.warp
        shape = multiplication(i, warp.index)
        if shape is None or (shape.sparse and not shape.selects):
            self.gap(f"{i.op}.{'.'.join(i.m)}")
        words = int(lanes64(descriptors[0])[0]), int(lanes64(descriptors[1])[0])
        given = wgmma.WgmmaInputs(
            warp.cta.shared,
            words,
            negative,
            across,
            self._fragment(shape.a) if shape.a.layout is not None else None,
            self._fragment(shape.c) if accumulates else None,
            self.reg(i.o["e"].index) if shape.sparse else None,
        )
        try:
            made = wgmma.product(i.op, i.m, age(i.arch)[0], shape, given, warp.index)
            if self._observed:
                extents = wgmma.extents(warp.cta, shape, given)
                self._tell(MatricesRead(extents, words, across))
        except MemoryFault as fault:
            raise self._error(fault, "load", 1) from None
        self._write_fragment(shape.d, made)

    def _write_fragment(self, operand: Operand, values: Sequence[Value]) -> None:
        if operand.register != RZ:
            check_run(self.warp_error, operand.register, len(values))
            for n, value in enumerate(values):
                self.reg_write(operand.register + n, value)

    def _fragment(self, operand: Operand) -> list[U32]:
        assert operand.layout is not None
        count = operand.layout.registers
        if operand.register == RZ:
            return [ZERO_ROW] * count
        check_run(self.warp_error, operand.register, count)
        return [self.reg(operand.register + n) for n in range(count)]

    # ---- system ------------------------------------------------------------------------

    def system(self, name: str, **arguments: Any) -> Any:
        self.traps.lanes = self.exec
        return self.traps.system(self.warp, name, **arguments)

    def surface(self, name: str, i: Any) -> None:
        if self.images is None:
            self.gap("textures and surfaces have no model")
        else:
            self.images(self, name, i)

    def gap(self, what: str) -> NoReturn:
        raise ModelGap(f"{what} has no semantics")

    def warp_error(self, code: str, lanes: Mask | None = None, detail: str = "") -> NoReturn:
        raise WarpErrorRaised(code, lanes or 0, detail)


def _goals(mask: Mask, target: U32 | U64) -> dict[int, int]:
    """Target -> lanes of a branch whose target is in a register."""
    goals: dict[int, int] = {}
    for lane, goal in enumerate(np.broadcast_to(target, 32).tolist()):
        if mask >> lane & 1:
            goals[goal] = goals.get(goal, 0) | 1 << lane
    return goals


AS_MACHINE: type[WideOperations[Value, Wide, Mask]] = StepEngine
"""Says to the type checker that the engine has every operation of the machine interface."""
