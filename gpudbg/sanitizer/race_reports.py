"""Makes findings of races: who did what, and what would have ordered the two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gpudbg.bits import lanes_of
from gpudbg.dataclass import dataclass
from gpudbg.sanitizer.findings import CheckFinding, FindingAccess, Severity
from gpudbg.sanitizer.race_records import AccessRecord

if TYPE_CHECKING:
    from gpudbg.mem.device import DeviceMemory
    from gpudbg.sanitizer.collector import FindingCollector
    from gpudbg.sanitizer.places import AccessPlaces
    from gpudbg.sanitizer.race_window import RaceWindow

RELATIONS: Final = ("own", "lanes", "warps", "blocks", "launches")
"""The widest last."""
_BEYOND = ("pending", "proxy", "entry", "exit")
"""Causes of races with asynchronous operations: one finding for each pair of places."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of a racing pair: cause, severity, hint."""

    cause: str
    severity: Severity = "error"
    fix: str = ""
    state: str = ""
    relation: str = ""

    @classmethod
    def of(cls, old: AccessRecord, made: AccessRecord) -> Verdict:
        """The verdict for two accesses without any order."""
        if old.strong and made.strong:
            if old.size != made.size or old.bytes != made.bytes:
                both = old.kind == made.kind == "atomic"
                return cls("mixed_size", "warning" if both else "error")
            return cls("scope")
        if "atomic" in (old.kind, made.kind):
            return cls("atomic_plain")
        if old.writes and made.writes:
            both_bytes = old.bytes & made.bytes
            mask = sum(0xFF << 8 * n for n in range(4) if both_bytes >> n & 1)
            known = old.value is not None and made.value is not None
            if old is not made and known and not (old.value ^ made.value) & mask:  # type: ignore[operator]
                return cls("same_value", "warning")
            return cls("write_write")
        return cls("read_write")


class RaceReports:
    """Makes findings of races, equal ones once.

    Args:
        window: which granules are examined in this pass.
        portable_only: findings are notes of what only lock-step orders.

    Attributes:
        silent: races are not reported.
    """

    def __init__(
        self,
        findings: FindingCollector,
        places: AccessPlaces,
        memory: DeviceMemory,
        window: RaceWindow,
        *,
        portable_only: bool = False,
    ) -> None:
        self._findings, self._places, self._memory = findings, places, memory
        self._window = window
        self._portable_only = portable_only
        self.silent = False

    def same_instruction(self, made: AccessRecord, space: str, number: int, same: bool) -> None:
        """Report lanes of one instruction that write different data to the same bytes."""
        verdict = Verdict("same_value", "warning") if same else Verdict.of(made, made)
        self.add(made, made, verdict, space, number, of_granule=True)

    def add(
        self, old: AccessRecord, made: AccessRecord, verdict: Verdict, space: str, number: int,
        *, of_granule: bool = False,
    ) -> None:  # fmt: skip
        """Report two accesses of which the later is not ordered after the earlier.

        Args:
            of_granule: records of the granule tell it, else what all passes have.
        """
        if self.silent or not (of_granule or self._window.first):
            return
        relation = verdict.relation or _relation(old, made)
        severity, cause = verdict.severity, verdict.cause
        if self._portable_only:
            severity, cause = "note", "warp_synchronous"
        pcs = frozenset((old.pc, made.pc))
        beside = old.agent is not None or made.agent is not None or cause in _BEYOND
        key: Any = ("race", space, pcs, relation, severity == "note")
        if beside:
            key = ("race", space, pcs)
        if of_granule and not self._window.counts(key, space == "shared", number):
            return
        held = self._findings.get(key)
        if held is not None and beside:
            cause, severity, relation = _worse(held, cause, severity, relation)
        changed = held is not None and (held.cause, held.severity, held.relation) != (
            cause, severity, relation,
        )  # fmt: skip

        def make() -> CheckFinding:
            # Keep the hint that belongs to the recorded cause.
            fix = held.fix if held is not None and held.cause == cause else verdict.fix
            given = Verdict(cause, severity, fix, verdict.state)
            return self._finding(old, made, space, number, relation, given)

        if held is not None and (
            changed if beside else held.severity == "warning" and severity == "error"
        ):
            self._findings.worsen(key, make)
        self._findings.add(key, make)

    def _finding(
        self, old: AccessRecord, made: AccessRecord, space: str, number: int, relation: str,
        verdict: Verdict,
    ) -> CheckFinding:  # fmt: skip
        # Two lanes of one instruction are two sides as well.
        lane = next(iter(lanes_of(old.lanes)))
        others = [n for n in lanes_of(made.lanes) if relation != "lanes" or n != lane]
        if relation == "own" and made.lanes >> lane & 1:
            others = [lane]
        sides = (
            self._side(old, lane, number, verdict.state),
            self._side(made, others[0] if others else lane, number, ""),
        )
        text = _sentence(sides, relation, verdict)
        fix = verdict.fix or _fix(space, relation, verdict.cause)
        allocation = self._memory.describe(4 * number) if space == "global" else ""
        return CheckFinding(
            "race", verdict.severity, verdict.cause, space, relation, sides,
            allocation=allocation, where=text, fix=fix,
            reason=self._reason(sides) if relation == "lanes" else "",
        )  # fmt: skip

    def _reason(self, sides: tuple[FindingAccess, FindingAccess]) -> str:
        """How the lanes of a warp lie that race: their addresses, and what parts them."""
        found = {side.offset: self._places.lanes(side.pc) for side in sides}
        return "; ".join(f"at {offset:#x} {text}" for offset, text in found.items() if text)

    def _side(self, record: AccessRecord, lane: int, number: int, state: str) -> FindingAccess:
        low = (record.bytes & -record.bytes).bit_length() - 1 if record.bytes else 0
        agent, kind = record.agent, side_kind(record)
        return self._places.access(
            kind, record.pc, record.state, lane,
            address=4 * number + low, size=record.bytes.bit_count() or record.size,
            strong=bool(record.strong), value=record.value,
            agent="thread" if agent is None else agent.kind,
            state=state if state else "" if agent is None else agent.what,
        )  # fmt: skip


def _fix(space: str, relation: str, cause: str) -> str:
    if cause == "scope":
        return _WIDER
    return _IN_CLUSTER if (space, relation) == ("shared", "blocks") else _FIXES.get(relation, "")


def side_kind(record: AccessRecord) -> str:
    """The kind of an access as findings name it."""
    if record.agent is None:
        return record.kind
    return "gmma_read" if record.agent.kind == "gmma" else _COPIED.get(record.kind, record.kind)


def _relation(old: AccessRecord, made: AccessRecord) -> str:
    if old.block != made.block:
        return "blocks"
    if old.warp != made.warp:
        return "warps"
    beside = old.agent is not None or made.agent is not None
    same = old.lanes == made.lanes and not old.lanes & old.lanes - 1
    return "own" if beside and same else "lanes"


def _worse(
    held: CheckFinding, cause: str, severity: Severity, relation: str
) -> tuple[str, Severity, str]:
    """Combine (cause, severity, relation) of two racing pairs at the same places."""
    # Name the first missing edge: a pending end before a missing order before a missing proxy
    # fence.
    if "pending" in (held.cause, cause):
        cause = "pending"
    elif held.cause and held.cause != "proxy":
        cause = held.cause
    if held.severity == "error":
        severity = "error"
    if held.relation and RELATIONS.index(held.relation) > RELATIONS.index(relation):
        relation = held.relation
    return cause, severity, relation


_COPIED: Final = {"load": "copy_read", "store": "copy_write"}
_FIXES: Final = {
    "lanes": "__syncwarp() between the two, or an atomic",
    "warps": "__syncthreads() between the two, or an atomic",
    "blocks": "two launches, an atomic, or a flag with fences (__threadfence) on both sides",
}
_WIDER: Final = "a scope that both threads are in, for each of the two (gpu: of the device)"
_IN_CLUSTER: Final = "barrier.cluster between the two, or an atomic"
_VERBS: Final = {
    "load": "reads", "store": "writes", "atomic": "atomically updates", "copy_read": "copies from",
    "copy_write": "copies to", "gmma_read": "multiplies", "init": "initialises",
    "arrive": "arrives at", "wait": "tests", "exit": "ends with",
}  # fmt: skip
_WHO: Final = {
    "own": "the same thread", "lanes": "another thread of its warp",
    "warps": "a thread of another warp", "blocks": "a thread of another block",
    "launches": "the next launch",
}  # fmt: skip
_ENDS: Final = {
    "same_value": " (both the same value)",
    "mixed_size": ", accesses of different sizes",
    "read_only_path": ", through the path of memory that nobody writes",
}


def _sentence(sides: tuple[FindingAccess, FindingAccess], relation: str, verdict: Verdict) -> str:
    a, b = sides
    if verdict.cause == "proxy":
        return (
            f"{a.place} {_VERBS[a.kind]} what {_WHO[relation]} {_VERBS[b.kind]} at {b.place}: the "
            "two are ordered, but no proxy fence brings the first to the async proxy"
        )
    if verdict.cause == "entry":
        return f"{b.place} reaches into a block that may not have begun"
    if verdict.cause == "exit":
        return f"{a.place} reaches into a block that may have ended at {b.place}"
    text = f"{a.place} {_VERBS[a.kind]} what {_WHO[relation]} {_VERBS[b.kind]} at {b.place}"
    if verdict.cause == "pending":
        which = "latter" if a.agent == "thread" and b.agent != "thread" else "first"
        return f"{text}, and nothing says that the {which} is complete"
    if verdict.cause == "scope":
        return f"{text}, ordered for too small a scope"
    return f"{text}, in no order" + _ENDS.get(verdict.cause, "")
