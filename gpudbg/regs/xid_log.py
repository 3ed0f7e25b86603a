"""A whole kernel log: wrapped entries joined, ambiguous places settled by the lines around them.

One record per input line.  Lines whose register address fits two chip generations are settled
by what other lines of the same device say.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from gpudbg.dataclass import dataclass
from gpudbg.regs.xid import (
    PLACE,
    LineKind,
    LogRecord,
    agrees,
    choose,
    decode_line,
    mark,
    place_of,
    remark,
)
from gpudbg.textlines import lines_of

_TEXT_KINDS = (LineKind.SM_WARP, LineKind.SM_GLOBAL)


@dataclass(slots=True)
class _Beside:
    """Text lines of a register line's device: after the previous register line, before the next.

    Linux drivers print the text first, the Windows log shows it after the registers.
    """

    run: int
    before: list[LogRecord]
    after: list[LogRecord]

    def confirmed(self, record: LogRecord) -> set[str]:
        """Names of the layouts under which one of the text lines names the same place."""
        places = {place_of(text) for text in (*self.before, *self.after)}
        return {c.layout.name for c in record.candidates for p in places if agrees(c, p)}


def _neighbours(records: Sequence[LogRecord]) -> dict[int, _Beside]:
    """By index of every register line; a run ends where a line of another device comes."""
    beside: dict[int, _Beside] = {}
    pending: dict[str | None, list[LogRecord]] = {}
    last: dict[str | None, _Beside] = {}
    run, device = 0, None
    for index, record in enumerate(records):
        if record.device is not None and record.device != device:
            run, device = run + 1, record.device
        if record.kind in _TEXT_KINDS:
            pending.setdefault(record.device, []).append(record)
            if record.device in last:
                last[record.device].after.append(record)
        elif record.kind is LineKind.SM_REGISTERS:
            beside[index] = _Beside(run, pending.pop(record.device, []), [])
            last[record.device] = beside[index]
    return beside


def _run_layouts(records: Sequence[LogRecord], beside: dict[int, _Beside]) -> dict[int, str]:
    """The layout of each run: the one most text lines agree with, else what the masks say."""
    votes: dict[int, Counter[str]] = {}
    for index, texts in beside.items():
        record = records[index]
        count = votes.setdefault(texts.run, Counter())
        for name in texts.confirmed(record):
            count[name] += 2 * len(records)
        if record.layout is not None:
            count[record.layout.name] += 1
    winners: dict[int, str] = {}
    for run, count in votes.items():
        ranked = [*count.most_common(2), ("", 0), ("", 0)]
        if ranked[0][1] > ranked[1][1]:
            winners[run] = ranked[0][0]
    return winners


def _settle(record: LogRecord, texts: _Beside, run_layout: str | None) -> LogRecord:
    """A register line, settled by the text beside it and by the other lines of its run."""
    confirmed = texts.confirmed(record)
    wanted = run_layout if run_layout in confirmed or len(confirmed) != 1 else min(confirmed)
    place = next((c for c in record.candidates if c.layout.name == wanted), None)
    if place is not None and wanted in confirmed:
        note = f"{place.place()}: the text line beside it says the same"
        return choose(replace(record, notes=()), place, True, note)
    if place is not None and record.device is not None and record.layout is not place.layout:
        note = "layout as in the lines around it of the same device"
        record = choose(replace(record, notes=()), place, False, note)
    if record.layout is not None and len({place_of(text) for text in texts.before}) == 1:
        return _disagree(record, texts.before[-1])
    return record


def _disagree(record: LogRecord, text: LogRecord) -> LogRecord:
    """Reports a text line that names another place than the register address."""
    said = f"GPC {text.gpc}, TPC {text.tpc}" + (f", SM {text.sm}" if text.sm is not None else "")
    note = f"the text line before it says {said}: text and address disagree"
    return mark(remark(record, note), (), [n for n in PLACE if getattr(record, n) is not None])


# --- entries wrapped over several lines ------------------------------------------------------

_GRAPHICS = re.compile(r"Graphics\s+(?:SM|Exception)", re.IGNORECASE)
_STARTS = re.compile(
    r"\b(?:Xid|NVRM|nouveau|nvgpu|gk20a|kernel)\b"
    r"|^\s*(?:<\d+>|\[\s*\d+\.\d+\]|\w{3}\s+\d+\s+\d\d:\d\d|\d{4}-\d\d-\d\d)",
    re.IGNORECASE,
)
_NUMBER_LAST = re.compile(r"(?:[\s=]|0x)[0-9a-f]{1,8}\Z|\b0x\Z", re.IGNORECASE)
_CUT_NUMBER = re.compile(r"(?!0x)(?:x|[0-9a-f]{1,8}(?![0-9a-z]))", re.IGNORECASE)
_REST_OF_NUMBERS = re.compile(r"[\s0-9a-fx=.*]+|[0-9a-f]{1,7}\s*\[\w+\]\s*", re.IGNORECASE)
_LONGEST_WRAP, _MOST_LINES = 400, 6
_LONGEST_STRETCH, _QUIET_LINES = 10_000, 100
_ABOUT_GPU = re.compile(r"NVRM|Xid|nouveau|nvgpu|gk20a|ESR|Graphics|TPC", re.IGNORECASE)


def _worth(record: LogRecord) -> int:
    """How much a reading says: fields first, then certainty."""
    return 4 * (len(_values(record)) + record.said.filled) + len(record.certain)


def _values(record: LogRecord) -> list[str]:
    filled = set(record.certain) | set(record.uncertain) | {"xid", "device"}
    return [name for name in filled if getattr(record, name) not in (None, ())]


def _joined(head: str, rest: str) -> LogRecord:
    """The better reading of `head` and the line after it: cut in a word, or between two."""
    inside, between = (decode_line(head + gap + rest.lstrip()) for gap in ("", " "))
    cut = bool(_NUMBER_LAST.search(head) and _CUT_NUMBER.match(rest))
    return inside if cut or _worth(inside) > _worth(between) else between


def _unwrapped(lines: Sequence[str]) -> list[LogRecord]:
    """Every line decoded; what a terminal or a mail wrapped is read as one, at its first line."""
    records = [decode_line(line) for line in lines]
    at = 0
    while at < len(records):
        whole, end = _longest(records, at)
        if end > at + 1:
            text = f"read together with what follows, to line {end}"
            records[at] = remark(replace(whole, line=lines[at]), text)
            for index in range(at + 1, end):
                records[index] = LogRecord(lines[index], LineKind.WRAPPED)
        at = end
    return records


def _longest(records: Sequence[LogRecord], at: int) -> tuple[LogRecord, int]:
    """The entry that begins at `at`, and the index after its last line."""
    best, best_end = records[at], at + 1
    whole, apart = best, _worth(best)
    for end in range(at + 1, min(at + 1 + _MOST_LINES, len(records))):
        rest = records[end].line
        if not _goes_on(whole, records[at].line, rest):
            break
        number = bool(_values(whole)) and _REST_OF_NUMBERS.fullmatch(rest)
        due = _unfinished(whole) and _worth(records[end])
        whole, apart = _joined(whole.line, rest), apart + _worth(records[end])
        if _worth(whole) > apart or number or (due and _worth(whole) == apart):
            best, best_end, apart = whole, end + 1, _worth(whole)
    return best, best_end


def _goes_on(head: LogRecord, first: str, line: str) -> bool:
    """Whether `line` can be the rest of an entry that begins with `first`."""
    if len(head.line) + len(line) > _LONGEST_WRAP or not line.strip() or _STARTS.search(line):
        return False
    if _GRAPHICS.search(line):
        return _unfinished(head)
    return bool(head.certain or head.uncertain or _STARTS.search(first) or _GRAPHICS.search(first))


def _unfinished(head: LogRecord) -> bool:
    """Whether an entry says what it is about, and not yet what happened."""
    text = head.line.rstrip()
    graphics = head.xid == 13 and not _GRAPHICS.search(text)
    return graphics or (text.endswith((",", ":")) and bool(head.xid or head.device))


def decode_lines(lines: Iterable[str]) -> list[LogRecord]:
    """One record per line, using neighbouring lines where one alone is ambiguous."""
    records = _unwrapped(list(lines))
    beside = _neighbours(records)
    layouts = _run_layouts(records, beside)
    for index, texts in beside.items():
        records[index] = _settle(records[index], texts, layouts.get(texts.run))
    return records


def decode_stretches(lines: Iterable[str]) -> Iterator[list[LogRecord]]:
    """`decode_lines` of stretches that have nothing to do with one another.

    A stretch ends after some lines that say nothing of a GPU, or when it has `_LONGEST_STRETCH`.
    """
    stretch: list[str] = []
    quiet = 0
    for line in lines:
        stretch.append(line)
        quiet = 0 if _ABOUT_GPU.search(line) else quiet + 1
        if quiet >= _QUIET_LINES or len(stretch) >= _LONGEST_STRETCH:
            yield decode_lines(stretch)
            stretch, quiet = [], 0
    if stretch:
        yield decode_lines(stretch)


def split_log(data: bytes) -> list[str]:
    """Lines of a log file: LF or CRLF, UTF-8 or UTF-16 with a mark; other bytes become U+FFFD."""
    return list(lines_of(io.BytesIO(data), "<log>"))
