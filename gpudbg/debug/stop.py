"""Why a program stopped: frozen records every frontend shows and scripts compare."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

StopKind = Literal[
    "exited",
    "breakpoint",
    "step",
    "warp_error",
    "trap",
    "deadlock",
    "limit",
    "interrupted",
]


@dataclass(frozen=True, slots=True)
class ErrorRecord:
    """One warp error as the SM reports it.

    `name` and `code` are a row of the warp error table (`gpudbg.regs.esr`); `lanes` are the
    guilty lanes; `address`, `space`, `access` are None where the error is not about memory.
    `nearest` says in words where the address lies relative to the nearest allocation.

    >>> session = gpudbg.open("sessions/out_of_bounds/out_of_bounds.cubin")
    >>> error = session.run().errors[0]
    >>> error.name, error.thread, error.access, error.nearest
    ('MMU_FAULT', (57, 0, 0), 'load', 'at the end of buffer in (argument 0) (1000 bytes)')
    """

    name: str
    code: int
    sm: int
    warp: int
    lanes: tuple[int, ...]
    pc: int
    kernel: str
    address: int | None = None
    space: str | None = None
    access: str | None = None
    size: int | None = None
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    nearest: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Trigger:
    """What a watchpoint saw.

    `number`, `expression` and `kind` (write, read, access) are the watchpoint's; `old` and `new`
    are the value's text before and after the access; `pc` is the instruction's, as `Stop.pc`;
    `sm`, `warp`, `lane` name who touched the place.
    """

    number: int
    expression: str
    kind: str
    old: str
    new: str
    pc: int
    sm: int
    warp: int
    lane: int


@dataclass(frozen=True, slots=True)
class Stop:
    """A stop of the machine.

    Coordinates name the warp and lane the stop is about (the guilty lane of a fault, the lane
    that met a condition, otherwise the focus); None after `exited` where no warp is left.
    `pc` is relative to the kernel's code; `instructions` counts warp instructions since launch.
    `watch` is what watchpoints saw, where one of them stopped the machine.

    >>> session.stop.kind, session.stop.pc, session.stop.thread, session.stop.finished
    ('step', 8, (0, 0, 0), False)
    >>> print(session.stop)
    at the entry of block_max
    """

    kind: StopKind
    message: str
    sm: int | None = None
    warp: int | None = None
    lane: int | None = None
    pc: int | None = None
    kernel: str | None = None
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    errors: tuple[ErrorRecord, ...] = ()
    breakpoints: tuple[int, ...] = ()
    instructions: int = 0
    detail: tuple[str, ...] = field(default=())
    watch: tuple[Trigger, ...] = ()

    @property
    def finished(self) -> bool:
        """Nothing is left to run."""
        return self.kind in ("exited", "deadlock") or bool(self.errors)

    @property
    def faulted(self) -> bool:
        """A warp error or a deadlock ended the launch."""
        return self.kind == "deadlock" or bool(self.errors)

    def __str__(self) -> str:
        return self.message

    def to_json(self) -> dict[str, Any]:
        """Plain data for `--json`."""
        from dataclasses import asdict

        return asdict(self)


def dim(value: tuple[int, int, int] | None) -> str:
    """CUDA coordinates as cuda-gdb prints them: (1,0,0)."""
    return "(" + ",".join(map(str, value)) + ")" if value is not None else "?"
