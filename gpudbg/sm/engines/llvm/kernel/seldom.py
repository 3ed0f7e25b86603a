"""Heads that code for whole warps has no block for.

Whole warps begin there only where something has stopped them in the middle of a trace that is in no
loop, or where the kernel begins and its record was not filled by compiled code: the code for any
lanes goes on (`Left.ELSEWHERE`), or that for warps that begin where the record turns out to hold
zeros.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpudbg.sm.engines.llvm.layout import Left
from gpudbg.sm.record import FIELDS, HEADER_BYTES, ROW_BYTES

_WORDS = 16
"""Words that are looked at together."""
_TYPE = f"<{_WORDS} x i32>"
_BYTES = 4 * _WORDS


def cases(heads: Iterable[int], entry: int) -> list[str]:
    """Cases of the switch that looks for the block to begin with."""
    return [f"    i64 {pc}, label %{'begun' if pc == entry else 'rest'}" for pc in sorted(heads)]


def _fields(place: int, names: Iterable[str]) -> str:
    """A mask with all bits set in the words of a record behind a place that are masks of lanes, one
    for each number; the last of predicates is always true."""
    words = [0] * _WORDS
    for name in names:
        field = FIELDS[name]
        first = (field.offset - place) // 4
        count = field.length - name.endswith("pred")
        words[first : first + count] = [-1] * count
    return f"<{', '.join(f'i32 {word}' for word in words)}>"


def blocks(heads: Iterable[int], entry: int, rows: int, wide: bool) -> list[str]:
    """The blocks that those cases lead to.

    Args:
        heads: of the cases.
        entry: where the kernel begins.
        rows: registers in a record, uniform ones included.
        wide: there are uniform predicates.
    """
    heads = frozenset(heads)
    first = _begun(entry, rows, wide) if entry in heads else []
    return [*first, "rest:", f"  ret i32 {int(Left.ELSEWHERE)}"] if heads else []


def _begun(entry: int, rows: int, wide: bool) -> list[str]:
    """Where a warp whose record holds zeros is as one that begins: all of it is looked at."""
    lines = [
        "begun:",
        "  br label %blank",
        "blank:",
        f"  %blank.at = phi i64 [ {HEADER_BYTES}, %begun ], [ %blank.more, %blank ]",
        f"  %blank.some = phi {_TYPE} [ zeroinitializer, %begun ], [ %blank.all, %blank ]",
        "  %blank.place = getelementptr i8, ptr %rec, i64 %blank.at",
        f"  %blank.here = load {_TYPE}, ptr %blank.place, align {_BYTES}",
        f"  %blank.all = or {_TYPE} %blank.some, %blank.here",
        f"  %blank.more = add i64 %blank.at, {_BYTES}",
        f"  %blank.on = icmp ult i64 %blank.more, {HEADER_BYTES + ROW_BYTES * rows}",
        "  br i1 %blank.on, label %blank, label %blanks",
        "blanks:",
    ]
    held, flags = "%blank.all", [("pred", "cc"), *([("upred",)] if wide else [])]
    for n, names in enumerate(flags):
        place = FIELDS[names[0]].offset
        lines += [
            f"  %blanks.place{n} = getelementptr i8, ptr %rec, i64 {place}",
            f"  %blanks.words{n} = load {_TYPE}, ptr %blanks.place{n}, align 4",
            f"  %blanks.bits{n} = and {_TYPE} %blanks.words{n}, {_fields(place, names)}",
            f"  %blanks.all{n} = or {_TYPE} {held}, %blanks.bits{n}",
        ]
        held = f"%blanks.all{n}"
    return [
        *lines,
        f"  %blanks.lanes = icmp ne {_TYPE} {held}, zeroinitializer",
        f"  %blanks.some = bitcast <{_WORDS} x i1> %blanks.lanes to i{_WORDS}",
        f"  %blanks.none = icmp eq i{_WORDS} %blanks.some, 0",
        f"  br i1 %blanks.none, label %z{entry}, label %rest",
    ]
