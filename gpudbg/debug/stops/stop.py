"""Why a program stopped: frozen records every frontend shows and scripts compare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Literal

from gpudbg import html
from gpudbg.errors import EXIT_FAULT, EXIT_FINDINGS, GpudbgError

StopKind = Literal[
    "exited",
    "breakpoint",
    "step",
    "warp_error",
    "trap",
    "deadlock",
    "limit",
    "interrupted",
    "opened",
]


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call that the compiler inlined.

    Attributes:
        function: the function that calls.
        file, line: of the call.
    """

    function: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.function} at {PurePath(self.file).name}:{self.line}"


@dataclass(frozen=True, slots=True, repr=False)
class ErrorRecord:
    """One warp error as the SM reports it.

    `name` and `code` are a row of the warp error table (`gpudbg.regs.esr`); `lanes` are the
    guilty lanes; `address`, `space`, `access` are None where the error is not about memory.
    `nearest` says in words where the address lies relative to the nearest allocation.
    `file`, `line`, `function` and `inlined_at` are the instruction's, as in `Stop`.

    >>> session = gpudbg.open("sessions/out_of_bounds/out_of_bounds.cubin")
    >>> error = session.run().errors[0]
    >>> error.name, error.thread, error.access, error.nearest
    ('MMU_FAULT', (57, 0, 0), 'load', 'at the end of buffer in (argument 0) (1000 bytes)')
    >>> error.file.endswith("out_of_bounds.cu"), error.line, error.function
    (True, 8, 'smooth')
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
    file: str | None = None
    line: int | None = None
    function: str | None = None
    inlined_at: tuple[CallSite, ...] = ()

    def __repr__(self) -> str:
        who = f"block {dim(self.block)} thread {dim(self.thread)}"
        return f"<{self.name} at {self.kernel}+0x{self.pc:x}, {who}: {self.detail or self.name}>"


@dataclass(frozen=True, slots=True)
class Trigger:
    """What a watchpoint saw.

    `number`, `expression` and `kind` (write, read, access) are the watchpoint's; `old` and `new`
    are the value's text before and after the access; `pc` is the instruction's, as `Stop.pc`;
    `sm`, `warp`, `lane` name who touched the place; `file`, `line`, `function` and `inlined_at` are
    the instruction's, as in `Stop`.
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
    file: str | None = None
    line: int | None = None
    function: str | None = None
    inlined_at: tuple[CallSite, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Stop:
    """A stop of the machine.

    Coordinates name the warp and lane the stop is about (the guilty lane of a fault, the lane
    that met a condition, otherwise the focus); None after `exited` where no warp is left.
    `pc` is relative to the kernel's code; `instructions` counts warp instructions since launch.
    `watch` is what watchpoints saw, where one of them stopped the machine.  `arrived_warps` and
    `arrived_threads` stand at the breakpoint that was met: several warps under `set gather on`.
    The kind "opened" is that of a program that is there, while nothing has been launched.

    `file` and `line` are the source's, None without a line table; `function` is the function that
    the source line is in, an inlined one included, and `inlined_at` the calls through which it came
    into the code, innermost first.  `card` is what a fault, trap or deadlock shows, line by line.
    `hang` tells a deadlock of warps that run in circles, none of which can change anything, from
    one of warps that all wait; after it the launch can go on, once memory has been changed.

    >>> session.stop.kind, session.stop.pc, session.stop.thread, session.stop.finished
    ('step', 8, (0, 0, 0), False)
    >>> print(session.stop)
    at the entry of block_max
    >>> stop = session.step(3)
    >>> stop.file.endswith("first_steps.cu"), stop.line, stop.function
    (True, 10, 'block_max')
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
    file: str | None = None
    line: int | None = None
    function: str | None = None
    inlined_at: tuple[CallSite, ...] = ()
    card: tuple[str, ...] = field(default=(), repr=False)
    arrived_warps: int = 0
    arrived_threads: int = 0
    hang: bool = False

    @property
    def finished(self) -> bool:
        """Nothing is left to run."""
        return self.kind in ("exited", "deadlock") or bool(self.errors)

    @property
    def faulted(self) -> bool:
        """A warp error or a deadlock ended the launch."""
        return self.kind == "deadlock" or bool(self.errors)

    def check(self) -> Stop:
        """The stop itself where nothing is wrong, so that a test can say `session.run().check()`.

        The end of the launch, a breakpoint, a step: the stop is returned.

        Raises:
            KernelError: a fault, a deadlock or a trap; the message is the fault card.  Or the run
                was ended before it could tell (a limit of instructions, an interrupt).

        >>> session.run().check().kind
        'exited'
        """
        if self.kind in _CLEAN and not self.errors:
            return self
        raise KernelError(self)

    def __str__(self) -> str:
        return self.message

    def __repr__(self) -> str:
        return f"<Stop {self.kind}: {self.message}>"

    def _repr_html_(self) -> str:
        return stop_html(self)

    def to_json(self) -> dict[str, Any]:
        """Plain data for `--json`."""
        from dataclasses import asdict

        return asdict(self)


_CLEAN = frozenset(("exited", "breakpoint", "step"))
_UNTOLD = frozenset(("limit", "interrupted"))
"""Kinds of stop that say nothing about how the kernel would end."""


class KernelError(GpudbgError):
    """A launch that did not run clean: `Stop.check` raises it.

    Attributes:
        stop: the stop, with `errors`, `thread`, `file`, `line` and the rest.

    The message is the fault card; the first line alone is `stop.message`.

    >>> session = gpudbg.open("sessions/out_of_bounds/out_of_bounds.cubin")
    >>> try:
    ...     session.run().check()
    ... except gpudbg.KernelError as error:
    ...     print(error.stop.line, error.stop.errors[0].name, error.stop.thread)
    8 MMU_FAULT (57, 0, 0)
    """

    exit_code = EXIT_FAULT

    def __init__(self, stop: Stop) -> None:
        super().__init__("\n".join(stop.card or (stop.message, *stop.detail)))
        self.stop = stop
        if stop.kind in _UNTOLD and not stop.errors:
            self.exit_code = EXIT_FINDINGS


EVERY_STOP: list[Callable[[Stop], None]] = []
"""Called at every stop of every session."""


def dim(value: tuple[int, int, int] | None) -> str:
    """CUDA coordinates as cuda-gdb prints them: (1,0,0)."""
    return "(" + ",".join(map(str, value)) + ")" if value is not None else "?"


def stop_html(shown: Stop) -> str:
    """A stop: what, where and who; the card of a fault, trap or deadlock."""
    rows: list[tuple[str, str]] = []
    if shown.file is not None:
        rows.append(("source", f"{shown.file}:{shown.line}"))
    if shown.function:
        rows.append(("function", shown.function))
    rows += [("inlined at", str(site)) for site in shown.inlined_at]
    if shown.block is not None:
        who = f"block {dim(shown.block)} thread {dim(shown.thread)}"
        rows.append(("thread", f"{who}, sm {shown.sm} warp {shown.warp} lane {shown.lane}"))
    rows.append(("instructions", f"{shown.instructions:,}"))
    more = shown.card[1:] or shown.detail
    return (
        html.heading(f"{shown.kind}: {shown.message}")
        + html.table(("", ""), rows)
        + (html.pre(more) if more else "")
    )


def arrival_words(stop: Stop) -> str:
    """`128 warps, 4,096 threads are there`; nothing of a stop that gathered no others."""
    if stop.arrived_warps < 2:
        return ""
    return f"{stop.arrived_warps:,} warps, {stop.arrived_threads:,} threads are there"
