"""The state of one launch, which the kernel run and the engines share."""

from __future__ import annotations

from dataclasses import field

from gpudbg.dataclass import dataclass
from gpudbg.formats.program import CodeImage
from gpudbg.mem.constant import ConstantBanks
from gpudbg.mem.device import DeviceMemory
from gpudbg.sm.hang_checks import HangChecks
from gpudbg.sm.launch import LaunchConfig
from gpudbg.sm.observer import Observers
from gpudbg.sm.residency.step import Residency
from gpudbg.sm.schedule.step import Schedule
from gpudbg.sm.sregs import SregFile
from gpudbg.sm.state import Sm
from gpudbg.sm.trace import Trace
from gpudbg.sm.trap.unit import TrapUnit


@dataclass(slots=True, eq=False)
class Launched:
    """A launch: what it runs, where its CTAs are, and who watches it.

    Attributes:
        config: kernel, dimensions and sizes.
        code: the program at its code addresses; pcs are addresses in it.
        memory: device memory.
        jobs: host threads that may run it.
        residency: CTAs on SMs.
        schedule: who runs next.
        constants: the kernel's constant banks.
        sregs: special registers.
        traps: status words, and the trap handler if there is one.
        observers: who receives events.
        handler_banks: constant banks of warps in the trap handler.
        total: warp instructions issued so far.
        trace: instructions and accesses not yet handed to observers, where they take them in
            batches.
        marking: compiled code marks what it stores to memory without contents (`sm.written`).
        hang_checks: when it is asked whether it hangs.
    """

    config: LaunchConfig
    code: CodeImage
    memory: DeviceMemory
    jobs: int
    residency: Residency
    schedule: Schedule
    constants: ConstantBanks
    sregs: SregFile
    traps: TrapUnit
    observers: Observers
    handler_banks: ConstantBanks | None = None
    total: int = 0
    trace: Trace | None = None
    marking: bool = False
    hang_checks: HangChecks = field(default_factory=HangChecks)

    @property
    def sms(self) -> list[Sm]:
        """The SMs."""
        return self.residency.sms

    @property
    def finished(self) -> bool:
        """Every CTA has ended."""
        return self.residency.finished_ctas == self.config.ctas

    def observed(self, event: str | None = None) -> bool:
        """Whether there are observers: at all, or of one event."""
        found = self.observers
        return bool(found.members if event is None else found.hooks[event])
