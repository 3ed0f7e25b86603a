"""Why a program stopped: frozen records every frontend shows and scripts compare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any, ClassVar, Final, Literal

from gpudbg import html
from gpudbg.answers.words import dim
from gpudbg.dataclass import dataclass
from gpudbg.debug.stops.records import CallSite, ErrorRecord, Trigger
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
"""Words for the kinds of stops, as `Stop.kind` and every `--json` answer have them: the launch
ended ("exited"), came to a breakpoint or watchpoint ("breakpoint"), has executed what it was asked
to ("step"), met a warp error ("warp_error"), a trap instruction or a gap of the model ("trap"), can
never go on ("deadlock"), reached a limit of instructions ("limit"), was interrupted
("interrupted"), or has not begun ("opened")."""

LIVELOCK: Final = "  livelock"
"""What the first line about a livelock begins with."""


@dataclass(frozen=True, slots=True, repr=False)
class Stop:
    """A stop of the machine: one of the classes below, each of them one reason to stop.

    `isinstance` and `match` tell them apart: `EntryStop` and other `StepStop`, `BreakpointStop`
    and among these `WatchpointStop`, `FaultStop`, `TrapStop`, `DeadlockStop`, `ExitStop`,
    `LimitStop`, `InterruptStop`, `OpenedStop`.  `kind` is the word for each in records.

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
    `dropped` are accesses that must not have happened and that the launch went on without
    (`on-fault continue`), the first of each instruction.  `recorded` says which recording was
    written (`record-on-fault`).

    >>> session.stop.kind, session.stop.pc, session.stop.thread, session.stop.finished
    ('step', 8, (0, 0, 0), False)
    >>> print(session.stop)
    at the entry of block_max
    >>> stop = session.step(3)
    >>> stop.file.endswith("first_steps.cu"), stop.line, stop.function
    (True, 10, 'block_max')
    >>> match session.run():
    ...     case gpudbg.BreakpointStop(breakpoints=met):
    ...         print("breakpoints", met)
    ...     case gpudbg.ExitStop(instructions=count):
    ...         print("ended after", count)
    ended after 1258
    """

    kind: StopKind = field(init=False)
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
    dropped: tuple[ErrorRecord, ...] = ()
    recorded: str = ""

    clean: ClassVar[bool] = False
    """Whether nothing is wrong where a launch stops like this without errors."""

    def __post_init__(self) -> None:
        if type(self) is Stop:
            raise TypeError("a stop is made as one of its kinds, such as StepStop")

    @property
    def finished(self) -> bool:
        """Nothing is left to run."""
        return bool(self.errors)

    @property
    def faulted(self) -> bool:
        """A warp error or a deadlock ended the launch."""
        return bool(self.errors)

    @property
    def failed(self) -> bool:
        """A warp error, a trap or a deadlock: what `gpudbg run` leaves with exit code 3."""
        return bool(self.errors)

    def check(self) -> Stop:
        """The stop itself where nothing is wrong, so that a test can say `session.run().check()`.

        The end of the launch, a breakpoint, a step: the stop is returned.

        Raises:
            KernelError: a fault, a deadlock or a trap; the message is the fault card.  Or the run
                was ended before it could tell (a limit of instructions, an interrupt).

        >>> session.run().check().kind
        'exited'
        """
        if self.clean and not self.errors and not self.dropped:
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


# ---- the kinds ---------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, repr=False)
class StepStop(Stop):
    """As many instructions or lines were executed as were asked for."""

    kind: Literal["step"] = field(default="step", init=False)
    clean: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, repr=False)
class EntryStop(StepStop):
    """The launch is there, and nothing of it has been executed."""


AT_ENTRY: Final = "at the entry of"
"""How the message of a launch's first stop begins; coming back there adds the place."""


@dataclass(frozen=True, slots=True, repr=False)
class BreakpointStop(Stop):
    """A warp has come to breakpoints: `breakpoints` has their numbers."""

    kind: Literal["breakpoint"] = field(default="breakpoint", init=False)
    clean: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, repr=False)
class WatchpointStop(BreakpointStop):
    """Watchpoints saw what they watch: `watch` has it, `breakpoints` their numbers."""


@dataclass(frozen=True, slots=True, repr=False)
class FaultStop(Stop):
    """Warps met errors: `errors` has them."""

    kind: Literal["warp_error"] = field(default="warp_error", init=False)

    @property
    def failed(self) -> bool:
        """Always True: a warp error ended the launch."""
        return True


@dataclass(frozen=True, slots=True, repr=False)
class TrapStop(Stop):
    """A warp has executed BPT, is in the trap handler, or the model ends here: see `detail`."""

    kind: Literal["trap"] = field(default="trap", init=False)

    @property
    def failed(self) -> bool:
        """Always True: it is none of the stops that a session expects."""
        return True


@dataclass(frozen=True, slots=True, repr=False)
class DeadlockStop(Stop):
    """No warp will ever go on; `hang`: because they run in circles."""

    kind: Literal["deadlock"] = field(default="deadlock", init=False)

    @property
    def livelock(self) -> bool:
        """Whether the warps change memory for each other, and all comes back again and again."""
        return bool(self.detail) and self.detail[0].startswith(LIVELOCK)

    @property
    def finished(self) -> bool:
        """Always True: nothing can run any more, unless memory is changed."""
        return True

    @property
    def faulted(self) -> bool:
        """Always True: a deadlock is an error of the kernel."""
        return True

    @property
    def failed(self) -> bool:
        """Always True: `gpudbg run` leaves with exit code 3."""
        return True


@dataclass(frozen=True, slots=True, repr=False)
class ExitStop(Stop):
    """Every block has ended."""

    kind: Literal["exited"] = field(default="exited", init=False)
    clean: ClassVar[bool] = True

    @property
    def finished(self) -> bool:
        """Always True: nothing is left to run."""
        return True


@dataclass(frozen=True, slots=True, repr=False)
class LimitStop(Stop):
    """The limit of instructions came before anything else."""

    kind: Literal["limit"] = field(default="limit", init=False)


@dataclass(frozen=True, slots=True, repr=False)
class InterruptStop(Stop):
    """The run was interrupted."""

    kind: Literal["interrupted"] = field(default="interrupted", init=False)


@dataclass(frozen=True, slots=True, repr=False)
class OpenedStop(Stop):
    """The program is open, and nothing has been launched."""

    kind: Literal["opened"] = field(default="opened", init=False)


CUT_SHORT: Final = (LimitStop, InterruptStop)
"""Stops in the middle of a run: they say nothing about how the kernel would end."""


class KernelError(GpudbgError):
    """A launch that did not run clean: `Stop.check` raises it.

    Attributes:
        stop: the stop, with `errors`, `thread` and the rest.
        file, line, function: where it was, as the stop has them.

    The message is the fault card; the first line alone is `stop.message`.

    >>> session = gpudbg.open("sessions/out_of_bounds/out_of_bounds.cubin")
    >>> try:
    ...     session.run().check()
    ... except gpudbg.KernelError as error:
    ...     print(error.line, error.function, error.stop.errors[0].name, error.stop.thread)
    8 smooth MMU_FAULT (57, 0, 0)
    """

    exit_code = EXIT_FAULT

    def __init__(self, stop: Stop) -> None:
        super().__init__("\n".join(stop.card or (stop.message, *stop.detail)))
        self.stop = stop
        self.file, self.line, self.function = stop.file, stop.line, stop.function
        if isinstance(stop, (*CUT_SHORT, ExitStop)) and not stop.errors:
            self.exit_code = EXIT_FINDINGS


EVERY_STOP: list[Callable[[Stop], None]] = []
"""Called at every stop of every session."""


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
