"""One defect, one finding: what follows from another finding, and what compilers repeat."""

from __future__ import annotations

from typing import Any

from gpudbg.sanitizer.findings import CheckFinding, FindingAccess
from gpudbg.sanitizer.merging import one_per_defect


def access(kind: str, pc: int, line: int | None = None, **more: Any) -> FindingAccess:
    file = None if line is None else "k.cu"
    where = (0, 0, 0), (0, 0, 0), 0, 0
    return FindingAccess(kind, pc, pc, "k", file, line, (), *where, **more)


def race(cause: str, *sides: FindingAccess, relation: str = "blocks") -> CheckFinding:
    return CheckFinding("race", "error", cause, "shared", relation, sides)


def sync(cause: str, *sides: FindingAccess, where: str = "") -> CheckFinding:
    return CheckFinding("sync", "error", cause, None, None, sides, where=where)


COPY = access("copy_write", 0x40, agent="bulk")
READ = access("load", 0x80)
END = access("exit", 0xF0)
BEGIN = access("entry", 0x40)
WAIT = access("wait", 0x60)


def test_lines_of_a_loop_taken_apart_are_one_finding() -> None:
    found = [
        CheckFinding(
            "out_of_bounds", "error", "past_end", "global", None, (access("load", pc, 7),), count=3
        )
        for pc in (0x10, 0x20, 0x30)
    ]
    (one,) = one_per_defect(found)
    assert (one.count, one.accesses[0].pc) == (9, 0x10)


def test_without_lines_each_instruction_is_a_place() -> None:
    found = [sync("mask", access("barrier", pc)) for pc in (0x10, 0x20)]
    assert one_per_defect(found) == tuple(found)


def test_sides_of_a_race_are_the_same_in_either_order() -> None:
    one, other = access("load", 0x10, 4), access("store", 0x20, 5)
    again = access("load", 0x30, 4), access("store", 0x40, 5)
    assert len(one_per_defect([race("read_write", one, other), race("read_write", *again)])) == 1
    assert len(one_per_defect([race("read_write", one, other), race("pending", *again)])) == 2


def test_a_copy_nobody_waits_for_is_no_second_finding_at_the_end() -> None:
    unordered = race("read_write", COPY, READ)
    assert one_per_defect([unordered, race("exit", COPY, END)]) == (unordered,)
    # An access of a thread may be in order with reads and still come too late.
    stored = access("store", 0x40)
    late = race("exit", stored, END)
    assert len(one_per_defect([race("read_write", stored, READ), late])) == 2


def test_an_early_access_is_one_finding() -> None:
    early = race("entry", BEGIN, access("store", 0x40))
    assert one_per_defect([early]) == (early,)
    unordered = race("read_write", access("store", 0x40), READ)
    assert one_per_defect([early, unordered]) == (unordered,)


def test_a_deadlock_says_that_its_test_is_ambiguous() -> None:
    test = sync("ambiguous_phase", WAIT, where="may come after the next phase")
    hang = sync("deadlock", access("wait", 0x68), where="waits")
    (one,) = one_per_defect([test, hang])
    assert (one.cause, one.where) == ("deadlock", "waits; may come after the next phase")
    elsewhere = sync("deadlock", access("wait", 0x800), where="waits")
    assert len(one_per_defect([test, elsewhere])) == 2
