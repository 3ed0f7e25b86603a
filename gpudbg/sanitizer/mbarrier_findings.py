"""Mistakes with mbarriers as findings of the kind `sync`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpudbg.bits import lanes_of
from gpudbg.sanitizer.findings import CheckFinding, Severity
from gpudbg.sanitizer.mbarriers import MOST_TX, Mbarrier
from gpudbg.sanitizer.race_reports import side_kind
from gpudbg.sm.asynchronous import mbarrier

if TYPE_CHECKING:
    from gpudbg.sanitizer.collector import FindingCollector
    from gpudbg.sanitizer.places import AccessPlaces
    from gpudbg.sanitizer.race_records import AccessRecord
    from gpudbg.sm.asynchronous.events import MbarrierChanged, TensorMapUsed

_FIXES: Final = {
    "mbarrier_uninitialised": "mbarrier.init before it, and a barrier or fence between the two",
    "mbarrier_reinit": "mbarrier.inval before it is initialised again",
    "mbarrier_access": "mbarrier.inval before its bytes are used for something else",
    "mbarrier_underflow": "as many arrivals as mbarrier.init says",
    "ambiguous_phase": "let who ends the next phase come after this test: by a barrier, or by an "
    "arrival on another mbarrier",
    "phase_skipped": "wait for each phase before anybody arrives at the next one",
    "ignored_wait": "repeat the test until it is true",
    "mixed_groups": "wait for both kinds apart, with none left",
    "bad_operand": "an address that the operation can have",
    "": "align the buffer to the swizzle's pattern: 256, 512 or 1024 bytes",
    "missing_grid_wait": "griddepcontrol.wait before the end",
    "pending_at_exit": "wait for the copy before the block ends",
}


class MbarrierFindings:
    """Reports what is wrong with mbarriers."""

    def __init__(self, findings: FindingCollector, places: AccessPlaces) -> None:
        self._findings, self._places = findings, places

    def _add(
        self,
        cause: str,
        severity: Severity,
        text: str,
        *records: AccessRecord | None,
        kind: str = "sync",
        space: str | None = None,
    ) -> None:
        given = [r for r in records if r is not None]
        key = (kind, cause, *(r.pc for r in given))

        def make() -> CheckFinding:
            sides = tuple(
                self._places.access(
                    side_kind(r), r.pc, r.state, next(iter(lanes_of(r.lanes))), size=r.size or None,
                    agent="thread" if r.agent is None else r.agent.kind,
                    state="" if r.agent is None else r.agent.what,
                )
                for r in given
            )  # fmt: skip
            place = sides[-1].place if sides else ""
            return CheckFinding(
                kind, severity, cause, space, None, sides,
                where=f"{place}: {text}" if place else text, fix=_FIXES.get(cause, ""),
            )  # fmt: skip

        self._findings.add(key, make)

    def uninitialised(self, one: Mbarrier, use: AccessRecord) -> None:
        """Report a use before initialisation or after invalidation."""
        text = f"the mbarrier at shared 0x{one.offset:x} has not been initialised"
        self._add("mbarrier_uninitialised", "error", text, use)

    def begun_again(self, one: Mbarrier, begin: AccessRecord) -> None:
        """Report an initialisation of a live mbarrier."""
        text = f"the mbarrier at shared 0x{one.offset:x} is initialised while it lives"
        self._add("mbarrier_reinit", "error", text, one.begun, begin)

    def touched(self, one: Mbarrier, access: AccessRecord) -> None:
        """Report an ordinary access, a copy or a product on its bytes."""
        verb = "written" if access.writes else "read"
        text = f"the mbarrier at shared 0x{one.offset:x} is {verb} as ordinary memory"
        severity: Severity = "error" if access.writes else "warning"
        self._add("mbarrier_access", severity, text, one.begun, access)

    def arrives(self, one: Mbarrier, event: MbarrierChanged, arrival: AccessRecord) -> None:
        """Report arrivals that are too many, out of range, or of a phase whose predecessor no
        thread waited for.
        """
        if one.modern and one.begun is None:
            # Never initialised, which is reported elsewhere: its word has no meaning.
            return
        state = (mbarrier.read if one.modern else mbarrier.read_early)(event.before)
        where = f"the mbarrier at shared 0x{one.offset:x}"
        if one.modern and event.arrivals > state.pending:
            text = (
                f"{event.arrivals} more arrival{'s'[: event.arrivals > 1]} at {where}, which waits "
                f"for {state.pending} of {state.expected}"
            )
            self._add("mbarrier_underflow", "error", text, one.begun, arrival)
        if one.modern and abs(state.bytes + event.bytes) > MOST_TX:
            text = f"{where} would count {state.bytes + event.bytes} bytes: at most {MOST_TX}"
            self._add("mbarrier_range", "error", text, one.begun, arrival)
        if event.drops and event.arrivals > state.expected:
            text = f"{where} expects {state.expected} arrivals, of which {event.arrivals} drop out"
            self._add("mbarrier_range", "error", text, one.begun, arrival)
        first = one.present().arrived == 0
        if event.arrivals and first and one.phase and one.phase - 1 not in one.waited:
            text = f"an arrival at {where} in a phase before which nobody waited"
            self._add("phase_skipped", "warning", text, arrival)

    def ambiguous(self, one: Mbarrier, test: AccessRecord) -> None:
        """Report a test that may run after the following phase is complete as well."""
        text = (
            f"the test of the mbarrier at shared 0x{one.offset:x} may come after the next phase, "
            "too: then it seems incomplete again"
        )
        self._add("ambiguous_phase", "warning", text, test)

    def ignored(self, one: Mbarrier, test: AccessRecord) -> None:
        """Report a test whose result is unused."""
        text = f"nothing takes the result of the test of the mbarrier at shared 0x{one.offset:x}"
        self._add("ignored_wait", "note", text, test)

    def bad_operand(self, record: AccessRecord, what: str) -> None:
        """Report a place that the operation does not allow."""
        self._add("bad_operand", "error", what, record)

    def mixed_groups(self, wait: AccessRecord) -> None:
        """Report a wait with both thread copies and bulk copies pending, which PTX counts
        separately.
        """
        text = "cp.async groups and bulk groups are pending: the machine has one count for both"
        self._add("mixed_groups", "note", text, wait)

    def swizzle(self, copy: AccessRecord, event: TensorMapUsed) -> None:
        """Report a box that does not begin at a repetition of its swizzle pattern."""
        text = (
            f"the box at shared 0x{event.offset:x} is swizzled by a pattern of {event.boundary} "
            f"bytes, which begins at multiples of that"
        )
        self._add("", "warning", text, copy, kind="misaligned", space="shared")

    def no_grid_wait(self, end: AccessRecord | None) -> None:
        """Report a dependent launch that never waits for the one before it."""
        text = "the launch may overlap the one before it, and never waits for that: launches that "
        text += "depend on this one cannot rely on it"
        self._add("missing_grid_wait", "warning", text, end)

    def left(self, one: Mbarrier, end: AccessRecord | None) -> None:
        """Report bytes still expected when the CTA ends."""
        if not one.modern or not one.word:
            return
        state = mbarrier.read(one.word)
        if state.bytes > 0:
            text = f"{state.bytes} bytes of the mbarrier at shared 0x{one.offset:x} never came"
            self._add("pending_at_exit", "warning", text, one.begun, end)

    def pending_copy(self, copy: AccessRecord) -> None:
        """Report a copy into a CTA's memory of whose completion no thread knew when the CTA
        ended.
        """
        bulk = copy.agent is not None and copy.agent.kind != "copy"
        text = "the block may end while the copy still reads or writes its shared memory"
        self._add("pending_at_exit", "error" if bulk else "note", text, copy)
