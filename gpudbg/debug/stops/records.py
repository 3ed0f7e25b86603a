"""Records inside a stop: inlined calls, warp errors, watchpoint triggers."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import PurePath
from typing import Any

from gpudbg.answers.words import dim
from gpudbg.dataclass import dataclass


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

    def to_json(self) -> dict[str, Any]:
        """Plain data: the same keys in `--json` and in what debug adapters tell."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Trigger:
    """What a watchpoint saw.

    `number`, `expression` and `kind` (write, read, access) are the watchpoint's; `old` and `new`
    are the value's text before and after the access; `pc` is the instruction's, as `Stop.pc`;
    `sm`, `warp`, `lane` name who touched the place; `file`, `line`, `function` and `inlined_at` are
    the instruction's, as in `Stop`.  `over`: nothing was touched; the lane has left the function
    whose variables the expression names, and the watchpoint is deleted.
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
    over: bool = False
