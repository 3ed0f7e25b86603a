"""What a check reports: findings with their accesses, performance figures, the report."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from gpudbg.architectures import is_wide
from gpudbg.dataclass import dataclass
from gpudbg.html import heading, pre, table
from gpudbg.sm.policy_checks import CHECK_POLICIES

if TYPE_CHECKING:
    from gpudbg.sanitizer.schedules import ShownSchedule

Severity = Literal["error", "warning", "note"]
Status = Literal["clean", "findings", "fault", "gap"]

SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "note")
"""The most severe first."""
EXIT_CODES: Final[Mapping[Status, int]] = {"clean": 0, "findings": 1, "fault": 3, "gap": 4}

RULES: Final[Mapping[str, str]] = {
    "out_of_bounds": "access outside of what is allocated",
    "misaligned": "address is not a multiple of the access size",
    "use_after_free": "access to memory that was freed",
    "double_free": "memory freed twice",
    "invalid_free": "free of an address that malloc did not give",
    "leak": "memory that a kernel allocated and never freed",
    "race": "data race",
    "uninitialised": "value that nobody has written decides something",
    "sync": "threads do not meet as the synchronisation asks",
    "hazard": "result is read before the control words allow it",
}
"""Kinds of findings, and what each is in words."""


CHECKS: Final[Mapping[str, tuple[str, ...]]] = {
    "memory": ("out_of_bounds", "misaligned", "use_after_free", "double_free", "invalid_free"),
    "race": ("race",),
    "init": ("uninitialised",),
    "sync": ("sync",),
    "leak": ("leak",),
    "hazards": ("hazard",),
}
"""Names of the checks (the choices of `checks` in `options`), and the kinds each finds."""


@dataclass(frozen=True, slots=True)
class FindingAccess:
    """One side of a finding: who did what where.

    Attributes:
        kind: load, store, atomic, free, malloc, barrier, exchange, use; copy_read, copy_write,
            gmma_read, entry, exit, wait, arrive, init, inval.
        pc: code address; `offset`: from the begin of the kernel's section.
        function, file, line: where it is in the source, None (line, file) without a line table.
        inlined: the calls that were inlined here, as text, innermost first.
        block, thread, lane, warp: who; `warp` is the warp's number in its block.
        address, size: of the access; None where it has none.
        strong: whether the memory model calls it strong.
        value: what was stored, where it is known.
        agent: thread, or what makes the access in its stead: copy, bulk, gmma, remote.
        state: of such an access, what completes it: "group 2, committed, not waited for".
    """

    kind: str
    pc: int
    offset: int
    function: str
    file: str | None
    line: int | None
    inlined: tuple[str, ...]
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    lane: int
    warp: int
    address: int | None = None
    size: int | None = None
    strong: bool = False
    value: int | None = None
    agent: str = "thread"
    state: str = ""

    @property
    def issuer(self) -> tuple[int, int, int]:
        """The thread that issued it."""
        return self.thread

    @property
    def place(self) -> str:
        """`shift.cu:5`, or `shift+0x48` without a line table."""
        if self.file is not None and self.line is not None:
            return f"{self.file.rpartition('/')[2]}:{self.line}"
        return f"{self.function}+0x{self.offset:x}"

    @property
    def who(self) -> str:
        """`thread (3, 0, 0) of block (0, 0, 0)`"""
        return f"thread {self.thread} of block {self.block}"


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """One thing that is wrong; equal ones are merged and counted.

    Attributes:
        kind: a key of `RULES`; `cause` is the finer word.
        space: global, shared, local, const, surface, texture, register, or None.
        relation: of races: own (a thread and its own copy), lanes (of a warp), warps (of a block),
            blocks, launches.
        accesses: races and uses after a free have two.
        count: how often it was seen; `bytes`: leaked.
        allocation: which memory, and where relative to it.
        where: one sentence.
        reason: why lanes part there, how the addresses lie, as far as the code says; or "".
            "; " is between those of two accesses.
        fix: a hint, or "".
        suppressed: name of the rule that suppresses it, or None.
        fingerprint: the same across addresses, seeds and recompilation.
        launch: number of the launch in which it was first seen.
    """

    kind: str
    severity: Severity
    cause: str
    space: str | None = None
    relation: str | None = None
    accesses: tuple[FindingAccess, ...] = ()
    count: int = 1
    bytes: int = 0
    allocation: str = ""
    where: str = ""
    fix: str = ""
    suppressed: str | None = None
    launch: int = 0
    reason: str = ""

    @property
    def fingerprint(self) -> str:
        """The same across addresses, seeds and recompilation."""
        first = self.accesses[0].function if self.accesses else ""
        places = sorted(
            f"{a.function}:{a.line}" if a.line is not None else f"{a.function}+{a.offset:x}"
            for a in self.accesses
        )
        parts = (self.kind, self.space or "", first, *places, self.relation or "")
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    @property
    def function(self) -> str:
        """The function of the first access."""
        return self.accesses[0].function if self.accesses else ""

    def explain(self) -> list[str]:
        """The finding in lines: what, who, where, and what would help."""
        head = f"{self.severity}: {RULES[self.kind]}"
        if self.cause:
            head += f" ({self.cause.replace('_', ' ')})"
        if self.space:
            head += f", {self.space} memory"
        lines = [head]
        if self.where:
            lines.append(f"  {self.where}")
        for access in self.accesses:
            at = f" at 0x{access.address:x}" if access.address is not None else ""
            size = f"{access.size}-byte " if access.size else ""
            lines.append(f"  {size}{access.kind}{at}  {access.place}  by {access.who}")
            if access.state and access.state not in self.where:
                lines.append(f"      {access.state}")
            lines += [f"      inlined at {call}" for call in access.inlined]
        lines += [f"  {reason}" for reason in self.reason.split("; ") if reason]
        if self.allocation:
            lines.append(f"  {self.allocation}")
        if self.count > 1:
            lines.append(f"  seen {self.count} times")
        if self.fix:
            lines.append(f"  hint: {self.fix}")
        if self.suppressed:
            lines.append(f"  suppressed by {self.suppressed}")
        return lines

    def lines(self) -> list[str]:
        """The same as `explain`, as of other findings and reports."""
        return self.explain()

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text("\n".join(self.explain()))

    def _repr_html_(self) -> str:
        head, *rest = self.explain()
        sides = [
            (a.kind, a.place, a.who, "" if a.address is None else f"0x{a.address:x}", a.state)
            for a in self.accesses
        ]
        said = [line.strip() for line in rest if not _of_a_side(line, self.accesses)]
        return (
            heading(head)
            + (table(("access", "where", "who", "address", "state"), sides) if sides else "")
            + (pre(said) if said else "")
        )

    def to_json(self) -> dict[str, Any]:
        """The finding as data."""
        names = (
            "kind", "severity", "cause", "space", "relation", "count", "bytes", "allocation",
            "where", "reason", "fix", "suppressed", "fingerprint", "launch",
        )  # fmt: skip
        found: dict[str, Any] = {name: getattr(self, name) for name in names}
        found["accesses"] = [access_json(a) for a in self.accesses]
        return found

    def suppress(self, rule: str) -> CheckFinding:
        """The same, suppressed by a rule."""
        return replace(self, suppressed=rule)


def _of_a_side(line: str, accesses: tuple[FindingAccess, ...]) -> bool:
    """Whether a line of `explain` repeats the table of accesses."""
    return any(
        f"  {a.place}  by {a.who}" in line or (a.state and line.strip() == a.state)
        for a in accesses
    )


def access_json(access: FindingAccess) -> dict[str, Any]:
    """An access as data; addresses and pcs are hex text."""
    found = {name: getattr(access, name) for name in FindingAccess.__dataclass_fields__}
    found["pc"] = f"0x{access.pc:x}"
    found["address"] = None if access.address is None else f"0x{access.address:x}"
    for name in ("block", "thread", "inlined"):
        found[name] = list(found[name])
    return found


@dataclass(frozen=True, slots=True)
class PerfSite:
    """What an instruction costs beyond what it asks for.

    Attributes:
        kind: bank_conflict, uncoalesced, divergence.
        access: load, store, atomic; "" of branches.
        executions: how often it was executed.
        degree: accesses of the worst bank conflict that take turns.
        transactions, ideal: sums over all executions.
        sectors: of the worst request.
        divergent: whether some lanes took a branch and others did not.
        efficiency: ideal / actual; of branches, active / live lanes.
        reason: how the lanes of the address lie, or why lanes part, as far as the code says.
    """

    kind: str
    pc: int
    function: str
    file: str | None
    line: int | None
    access: str = ""
    space: str = ""
    executions: int = 0
    degree: int = 1
    transactions: int = 0
    ideal: int = 0
    sectors: int = 0
    divergent: bool = False
    efficiency: float = 1.0
    reason: str = ""

    @property
    def place(self) -> str:
        """`shift.cu:5`, or the function and its code address."""
        if self.file is not None and self.line is not None:
            return f"{self.file.rpartition('/')[2]}:{self.line}"
        return f"{self.function} at 0x{self.pc:x}"

    def to_json(self) -> dict[str, Any]:
        """The figures as data."""
        found = {name: getattr(self, name) for name in PerfSite.__dataclass_fields__}
        return found | {"pc": f"0x{self.pc:x}"}


@dataclass(frozen=True, slots=True)
class CheckResults:
    """What a check found: the data of a report.

    Attributes:
        findings: the most severe first, then by first occurrence.
        performance: figures, when asked for; they are no findings.
        stop: of the last launch that ran.
        launches_run, instructions, seconds, schedules_run: what was run.
        checks: names of the checks that looked.
        gap: what the tool lacks to judge, in words, or "".
        faults: errors that no finding explains, in words.
        launches: (kernel, grid, block) in words, by launch.
        launches_asked: how many there are; more than `launches_run` where one did not end.
        program: file, sha256 and architecture.
        unused: suppressions that matched nothing.
        schedule_numbers: which schedules were run, 0 the plain one.
        schedule: one that leaves other results than the first, where some were searched.
        counted_costs: whether performance figures were asked for.
    """

    findings: tuple[CheckFinding, ...] = ()
    performance: tuple[PerfSite, ...] = ()
    stop: Any = None
    launches_run: int = 0
    instructions: int = 0
    seconds: float = 0.0
    schedules_run: int = 1
    checks: tuple[str, ...] = ()
    gap: str = ""
    faults: tuple[str, ...] = ()
    launches: tuple[str, ...] = ()
    launches_asked: int = 0
    program: Mapping[str, str] = field(default_factory=dict)
    unused: tuple[str, ...] = ()
    schedule: ShownSchedule | None = None
    schedule_numbers: tuple[int, ...] = (0,)
    fail_on: Severity = "warning"
    counted_costs: bool = False

    @property
    def policies(self) -> tuple[str, ...]:
        """Names of the policies by which it was judged: `info policy NAME` prints each."""
        wide = is_wide(self.program.get("arch") or "sm_50")
        later = ("copy", "proxy", "mbarrier", "empty", "warpgroup", "dependent")
        earlier = ("memory-model", "lock-step")
        names = [p.name for p in CHECK_POLICIES if p.name != "check-quick"]
        skipped = earlier if wide else later
        return tuple(n for n in names if not n.removeprefix("check-").startswith(skipped))

    @property
    def launches_left(self) -> int:
        """Launches that were not run, for one before them did not end."""
        return max(0, self.launches_asked - self.launches_run)

    @property
    def counted(self) -> tuple[CheckFinding, ...]:
        """Findings that count for the exit code."""
        worst = SEVERITIES.index(self.fail_on)
        return tuple(
            f
            for f in self.findings
            if f.suppressed is None and SEVERITIES.index(f.severity) <= worst
        )

    @property
    def status(self) -> Status:
        """Findings tell more than the fault they lead to, or than what could not be judged."""
        if self.counted:
            return "findings"
        if self.gap:
            return "gap"
        return "fault" if self.faults else "clean"

    @property
    def exit_code(self) -> int:
        """0 clean, 1 findings, 3 a fault that no finding explains, 4 could not judge the rest."""
        return EXIT_CODES[self.status]
