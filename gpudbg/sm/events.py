"""What a run of the machine ends with: plain frozen records."""

from __future__ import annotations

from typing import Literal

from gpudbg.dataclass import dataclass

StopKind = Literal[
    "exited", "breakpoint", "step", "warp_error", "trap", "deadlock", "limit", "interrupted"
]


@dataclass(frozen=True, slots=True)
class WarpFault:
    """One warp error: precise, the instruction at `pc` had no effect.

    Attributes:
        name, code: a row of `gpudbg.regs.esr.WARP_ERRORS`.
        sm, warp: SM index and warp slot on it.
        lanes: guilty lanes, ascending.
        pc: the instruction, a code address.
        block: CTA coordinates.
        address, space, access, size: first guilty lane's access; None if not about memory.
        nearest: where `address` lies relative to the nearest allocation, in words.
        detail: what exactly was wrong, one line.
        precise: `pc` is the guilty instruction; else a later one, and `detail` names it.
    """

    name: str
    code: int
    sm: int
    warp: int
    lanes: tuple[int, ...]
    pc: int
    block: tuple[int, int, int]
    address: int | None = None
    space: str | None = None
    access: str | None = None
    size: int | None = None
    nearest: str = ""
    detail: str = ""
    precise: bool = True


@dataclass(frozen=True, slots=True)
class StopEvent:
    """Why a run ended.

    `sm`, `warp`, `lane`, `pc` name the warp the stop is about (None when no warp is left);
    `lane` is the first guilty or active lane.  `executed` counts the warp instructions of this
    call, `total` those of the grid since launch.  `detail` has a line per warp and barrier for
    `deadlock`, and the instruction for `trap`.  `hang`: a deadlock of warps that run in circles.
    `counted`: the last instruction counted is the one that ended the run.
    """

    kind: StopKind
    sm: int | None = None
    warp: int | None = None
    lane: int | None = None
    pc: int | None = None
    faults: tuple[WarpFault, ...] = ()
    executed: int = 0
    total: int = 0
    detail: tuple[str, ...] = ()
    hang: bool = False
    counted: bool = False
