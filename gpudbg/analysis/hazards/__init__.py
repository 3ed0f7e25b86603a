"""Hazards: control words checked as the hardware relies on them.

The emulated SM gives exact results whatever the control words say; silicon does not.  The checks
find what would go wrong there:

    stall       a result is read before its fixed latency has passed
    unwaited    a result of variable latency is read without a wait for its scoreboard
    overwrite   a register is written while such a result for it is still on its way
    war         a register is written before an instruction of variable latency has read it
    early-wait  a wait comes less than 2 cycles after the scoreboard was set
    dual        the two instructions of a dual-issue pair depend on each other
    zero-stall  stall 0 on an executed instruction that does not pair with the next
    barrier     a barrier on an instruction that cannot signal it, or a scoreboard that is none
    never-set   (static only) a wait for a scoreboard that the function never sets

`HazardObserver` follows the warps of a run (what is executed, with the lanes it happens in);
`check_code` walks all paths of a section without running it.  Both issue instructions into the
same `Pipeline`.  Latencies and their certainty: `gpudbg.isa.spa5.latency`.
"""

from __future__ import annotations

from .finding import KINDS, Finding, HazardSite
from .observer import HazardObserver
from .static import check_code, check_program

__all__ = ["KINDS", "Finding", "HazardObserver", "HazardSite", "check_code", "check_program"]
