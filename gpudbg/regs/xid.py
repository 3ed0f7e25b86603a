"""Kernel log lines about SM errors: NVRM Xid, nouveau MP/SM traps, nvgpu, one record per line.

Lines come from real machines with any prefix, so every shape is searched for, none anchored.
Here each line by itself; what other lines of a log add is in `xid_log`.  What stays open is
named `uncertain`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import StrEnum

from gpudbg.dataclass import dataclass
from gpudbg.regs.esr import (
    GLOBAL_ERRORS,
    WarpErrorRow,
    error_of_field,
    global_bit_names,
    global_error,
    global_error_of_text,
    warp_error,
    warp_error_name,
    warp_error_of_text,
)
from gpudbg.regs.esr import warp_error as error_row
from gpudbg.regs.port import LAYOUTS, PortAddressLayout, SmRegister, layout_of_masks, locate_all
from gpudbg.regs.words import Certainty, Json
from gpudbg.regs.xid_fields import NOTHING, XidFields, fault_meaning, read_fields
from gpudbg.regs.xid_numbers import xid_meaning

PLACE = ("gpc", "tpc", "sm")
_WORDS = ("warp_esr", "warp_error", "global_esr", "global_bits")
_FIELD_ORDER = (*PLACE, *_WORDS, "warp_report_mask", "global_report_mask", "layout")


class LineKind(StrEnum):
    """Shape of a log line."""

    SM_WARP = "SM warp exception"
    SM_GLOBAL = "SM global exception"
    SM_REGISTERS = "SM error registers"
    UNIT_REGISTERS = "error registers of another unit"
    NOUVEAU_SM = "nouveau SM trap"
    NOUVEAU_UNIT = "nouveau trap of another unit"
    NVGPU_SM = "nvgpu SM error"
    GPC = "graphics exception of a GPC"
    MMU_FAULT = "MMU fault"
    XID = "other Xid"
    UNIT_TEXT = "graphics exception of another unit"
    WRAPPED = "the line before goes on here"
    UNKNOWN = "not about the GPU's error registers"


@dataclass(frozen=True, slots=True)
class LogRecord:
    """What one log line says.

    Attributes:
        line: the line, without its ending.
        kind: its shape.
        device: PCI address as printed.
        xid: Xid number.
        gpc, tpc, sm: the place, None where the line leaves it open.
        warp_esr: HWW_WARP_ESR.
        warp_error: name of the warp error.
        global_esr: HWW_GLOBAL_ESR.
        global_bits: names of its set bits.
        warp_report_mask, global_report_mask: the report masks.
        layout: the address layout assumed; None without an SM register address.
        candidates: every reading of the line's SM register address.
        pairs: (address, value) of every register printed.
        certain, uncertain: names of the filled or contested JSON fields.
        notes: remarks for people.
        said: process, channel, faulting address and the like, in the line's words.
    """

    line: str
    kind: LineKind = LineKind.UNKNOWN
    device: str | None = None
    xid: int | None = None
    gpc: int | None = None
    tpc: int | None = None
    sm: int | None = None
    warp_esr: int | None = None
    warp_error: str | None = None
    global_esr: int | None = None
    global_bits: tuple[str, ...] = ()
    warp_report_mask: int | None = None
    global_report_mask: int | None = None
    layout: PortAddressLayout | None = None
    candidates: tuple[SmRegister, ...] = ()
    pairs: tuple[tuple[int, int], ...] = ()
    certain: tuple[str, ...] = ()
    uncertain: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    said: XidFields = NOTHING

    @property
    def layout_text(self) -> str | None:
        """The layout's name, or all readings when it is open."""
        if self.layout is not None:
            return self.layout.name
        if not self.candidates:
            return None
        readings = " or ".join(f"{c.layout.name} ({c.place()})" for c in self.candidates)
        return f"ambiguous: {readings}"

    def to_json(self) -> Json:
        """The record as one JSON object of plain values."""
        return {
            "line": self.line,
            "gpc": self.gpc,
            "tpc": self.tpc,
            "sm": self.sm,
            "warp_esr": self.warp_esr,
            "warp_error": self.warp_error,
            "global_esr": self.global_esr,
            "global_bits": list(self.global_bits),
            "warp_report_mask": self.warp_report_mask,
            "global_report_mask": self.global_report_mask,
            "layout": self.layout_text,
            "certain": [name for name in _FIELD_ORDER if name in self.certain],
            "uncertain": [name for name in _FIELD_ORDER if name in self.uncertain],
            "kind": str(self.kind),
            "xid": self.xid,
            "gpu": self.device,
            **self.said.to_json(),
            "hints": self.hints(),
        }

    def hints(self) -> list[str]:
        """What the error is and what to look at next, by the tables of errors and Xid numbers."""
        out = []
        row = error_row(self.warp_error) if self.warp_error else None
        if row is not None and row.code:
            out += [row.meaning, f"look at: {row.look_at}"]
        meaning = fault_meaning(self.said.fault_type) if self.said.fault_type else None
        if meaning:
            out.append(meaning)
        known = xid_meaning(self.xid) if self.xid is not None else None
        if known is not None:
            out += [known[0], f"look at: {known[1]}"]
        return out


# --- values ----------------------------------------------------------------------------------

_SM_WORDS = {
    "HWW_WARP_ESR": "warp_esr",
    "HWW_GLOBAL_ESR": "global_esr",
    "HWW_WARP_ESR_REPORT_MASK": "warp_report_mask",
    "HWW_GLOBAL_ESR_REPORT_MASK": "global_report_mask",
}
_SETTLED_GLOBAL = {row.name for row in GLOBAL_ERRORS if row.certainty is Certainty.DOCUMENTED}


def mark(record: LogRecord, certain: Iterable[str] = (), open_: Iterable[str] = ()) -> LogRecord:
    """`record` with fields named certain or uncertain; a name stays only in the latest list."""
    sure, unsure = dict.fromkeys(record.certain), dict.fromkeys(record.uncertain)
    for name in certain:
        unsure.pop(name, None)
        sure[name] = None
    for name in open_:
        sure.pop(name, None)
        unsure[name] = None
    return replace(record, certain=tuple(sure), uncertain=tuple(unsure))


def remark(record: LogRecord, text: str) -> LogRecord:
    """`record` with one more note."""
    return replace(record, notes=(*record.notes, text))


def _known_on(row: WarpErrorRow | None, layout: PortAddressLayout | None) -> bool:
    """Whether the code's name is settled for the chips of `layout`."""
    if row is None:
        return False
    if layout is None:
        return row.certainty is Certainty.DOCUMENTED
    shared = set(row.families) & set(layout.families)
    return bool(shared) and (layout.two_sms or row.certainty is Certainty.DOCUMENTED)


def _with_warp(record: LogRecord, word: int, printed: str | None = None) -> LogRecord:
    """Adds HWW_WARP_ESR; `printed` is the name the log gives beside it."""
    code = word & 0xFFFF
    row, whole = error_of_field(code)
    name = row.name if row is not None else warp_error_name(code)
    record = mark(replace(record, warp_esr=word, warp_error=name), certain=("warp_esr",))
    if row is not None and not whole:
        text = f"named by the low byte; the upper byte {code >> 8:#04x} of ERROR has no public name"
        return mark(remark(record, text), open_=("warp_error",))
    said = warp_error_of_text(printed) if printed else None
    if said is not None and said.code != code:
        text = f"the log calls it {said.name}, its number 0x{code:02x} is {name}"
        return mark(remark(record, text), open_=("warp_error",))
    if said is not None or _known_on(row, record.layout):
        return mark(record, certain=("warp_error",))
    return mark(record, open_=("warp_error",))


def _with_global(record: LogRecord, word: int) -> LogRecord:
    names = tuple(global_bit_names(word))
    record = replace(record, global_esr=word, global_bits=names)
    settled = all(name in _SETTLED_GLOBAL for name in names)
    record = mark(record, certain=("global_esr",))
    return mark(record, ("global_bits",), ()) if settled else mark(record, (), ("global_bits",))


def _with_place(record: LogRecord, gpc: str, tpc: str | None, sm: str | None) -> LogRecord:
    """Adds a place the line prints."""
    given = {"gpc": gpc, "tpc": tpc, "sm": sm}
    numbers = {name: int(text) for name, text in given.items() if text is not None}
    record = replace(record, gpc=numbers.get("gpc"), tpc=numbers.get("tpc"), sm=numbers.get("sm"))
    return mark(record, certain=numbers)


Place = tuple[int | None, int | None, int | None]
"""GPC, TPC, SM."""


def place_of(record: LogRecord) -> Place:
    """GPC, TPC and SM, None where open."""
    return record.gpc, record.tpc, record.sm


def agrees(candidate: SmRegister, said: Place) -> bool:
    """Whether a printed place is the candidate's; a text without SM, or SM 0 of one, agrees."""
    gpc, tpc, sm = said
    same_sm = sm in (None, candidate.sm) or (sm == 0 and not candidate.layout.two_sms)
    return (candidate.gpc, candidate.tpc) == (gpc, tpc) and same_sm


# --- shapes ----------------------------------------------------------------------------------

# Repeats are bounded or over disjoint sets, so matching stays linear on hostile lines.
_ESCAPES = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_HEX = r"(?:0x)?([0-9a-f]{1,8})\b"
_NUM = r"(\d{1,4})(?!\d)"
_NAMES = r"\s*(?:\[([^\]]{0,200})\]?\s*)?"
_PLACE_RE = (
    rf"[\s(]*GPC\s*{_NUM}(?:[\s,]*CPC\s*\d{{1,4}})?"
    rf"(?:[\s,]*TPC\s*{_NUM})?(?:[\s,]*SM\s*{_NUM})?([\s):]*)"
)
_FLAGS = re.IGNORECASE
_SM_TEXT = re.compile(rf"SM\s+(Warp|Global)\s+Exception\s+on{_PLACE_RE}(.*)", _FLAGS)
_UNIT_TEXT = re.compile(rf"Graphics\s+(?!SM\b)\w{{1,16}}\s+Exception\s+on{_PLACE_RE}", _FLAGS)
_PAIR = re.compile(r"\b0x([0-9a-f]{5,8})\s*=\s*0x([0-9a-f]{1,8})\b", _FLAGS)
_ESR = re.compile(r"\bESR\b", _FLAGS)
_NOUVEAU = re.compile(
    rf"GPC{_NUM}/(?:TPC{_NUM}/)?([A-Z_]{{1,16}})(?:{_NUM})?\s*(trap)?\s*:\s*(.*)", _FLAGS
)
_NOUVEAU_WORDS = re.compile(rf"global\s+{_HEX}{_NAMES}warp\s+{_HEX}{_NAMES}", _FLAGS)
_NVGPU_WORDS = re.compile(rf"sm\s+hww\s+global\s+{_HEX}\s+warp\s+{_HEX}", _FLAGS)
_NVGPU_PLACE = re.compile(rf"gpc_id\(?\s*{_NUM}\)?[\s,]+tpc_id\(?\s*{_NUM}\)?", _FLAGS)
_NVGPU_WARP = re.compile(
    rf"hww_warp_esr[\s:=(]{{0,8}}{_HEX}\)?\s*(?:\(([A-Za-z_ ]{{1,60}})\))?", _FLAGS
)
_NVGPU_GLOBAL = re.compile(rf"hww_global_esr[\s:=(]{{0,8}}{_HEX}", _FLAGS)
_GPC_TEXT = re.compile(rf"Graphics\s+Exception\s+on[\s(]*GPC\s*{_NUM}", _FLAGS)
_MMU = re.compile(
    r"MMU\s+Fault\s*:|faulted\s*@|mmu\s+fault\s+on\s+engine\s|\b(?:read|write)\s+fault\s+at\s"
    r"|\bfault\s+\w{1,8}\s+\[\w{0,32}\]\s+at\s",
    _FLAGS,
)
_MMU_GPC = re.compile(rf"\bGPC{_NUM}(?=[ /]|$)", _FLAGS)
_XID = re.compile(r"\bXid[\s:]*(?:\([^)]{0,80}\)[\s:]*)?(\d{1,4})\b", _FLAGS)
_PCI = re.compile(r"\b([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2})(?:\.[0-7])?\b", _FLAGS)
_UNKNOWN_ENUM = re.compile(r"unknown enum 0x([0-9a-f]{1,8})", _FLAGS)


def _sm_text(record: LogRecord) -> LogRecord | None:
    found = _SM_TEXT.search(record.line)
    if found is None:
        return None
    which, gpc, tpc, sm, end, text = found.groups()
    registers = _registers(record)
    if registers is not None and registers.candidates and tpc:
        return _with_own_text(registers, (int(gpc), int(tpc), int(sm) if sm else None))
    record = _with_place(record, gpc, tpc, sm)
    if not (end or text):
        last = "sm" if sm else "tpc" if tpc else "gpc"
        record = mark(remark(record, "the line ends inside the place"), open_=(last,))
    if which.lower() == "global":
        record = replace(record, kind=LineKind.SM_GLOBAL)
        bit = global_error_of_text(text)
        if bit is None:
            return record
        return mark(replace(record, global_bits=(bit.name,)), certain=("global_bits",))
    record = replace(record, kind=LineKind.SM_WARP)
    error = warp_error_of_text(text)
    if error is None:
        return record
    return mark(replace(record, warp_error=error.name), certain=("warp_error",))


def _registers(record: LogRecord) -> LogRecord | None:
    pairs = tuple((int(a, 16), int(v, 16)) for a, v in _PAIR.findall(record.line))
    if not pairs or not (record.xid or _ESR.search(record.line)):
        return None
    record = replace(record, kind=LineKind.UNIT_REGISTERS, pairs=pairs)
    places = [(locate_all(address), value) for address, value in pairs]
    values = {
        _SM_WORDS[where[0].register]: value
        for where, value in reversed(places)
        if where and where[0].register in _SM_WORDS
    }
    first = next((where for where, _ in places if where), ())
    if not first:
        return record
    record = replace(record, kind=LineKind.SM_REGISTERS, candidates=first)
    record = _with_masks(record, values)
    record = _settle_alone(record)
    if "warp_esr" in values:
        record = _with_warp(record, values["warp_esr"])
    if "global_esr" in values:
        record = _with_global(record, values["global_esr"])
    return record


def _with_own_text(record: LogRecord, said: Place) -> LogRecord:
    """A register line that prints the place, too: the text settles or contradicts the address."""
    for candidate in record.candidates:
        if agrees(candidate, said):
            return choose(replace(record, notes=()), candidate, True)
    gpc, tpc, sm = said
    readings = " or ".join(f"{c.place()} ({c.layout.name})" for c in record.candidates)
    record = remark(record, f"text and address disagree: the address says {readings}")
    record = replace(record, gpc=gpc, tpc=tpc, sm=sm)
    return mark(record, (), [n for n in PLACE if getattr(record, n) is not None])


def _with_masks(record: LogRecord, values: dict[str, int]) -> LogRecord:
    names = [n for n in ("warp_report_mask", "global_report_mask") if n in values]
    record = replace(
        record,
        warp_report_mask=values.get("warp_report_mask"),
        global_report_mask=values.get("global_report_mask"),
    )
    return mark(record, certain=names)


def _nouveau(record: LogRecord) -> LogRecord | None:
    found = _NOUVEAU.search(record.line)
    if found is None:
        return None
    gpc, tpc, unit, number, trap, rest = found.groups()
    is_sm = bool(trap) and tpc is not None and unit.upper() in ("MP", "SM")
    sm = number if is_sm and unit.upper() == "SM" and number else None
    record = _with_place(record, gpc, tpc, sm)
    if not is_sm:
        return replace(record, kind=LineKind.NOUVEAU_UNIT)
    layout = LAYOUTS[1] if sm is not None else LAYOUTS[0]
    record = replace(record, kind=LineKind.NOUVEAU_SM, layout=layout)
    record = mark(record, certain=("layout",))
    words = _NOUVEAU_WORDS.search(rest)
    if words is None:
        return _nouveau_names(record, rest)
    global_word, _, warp_word, warp_name = words.groups()
    record = _with_global(record, int(global_word, 16))
    return _with_warp(record, int(warp_word, 16), warp_name)


def _nouveau_names(record: LogRecord, text: str) -> LogRecord:
    """Kernels before 4.3 print names only, no numbers."""
    bits = tuple(row.name for row in map(global_error, text.split()) if row is not None)
    errors = [row for row in map(warp_error, text.split()) if row is not None]
    number = _UNKNOWN_ENUM.search(text)
    if number is not None:
        record = mark(
            replace(record, warp_error=warp_error_name(int(number[1], 16))), (), ("warp_error",)
        )
    if errors:
        record = mark(replace(record, warp_error=errors[0].name), certain=("warp_error",))
    if bits:
        record = mark(replace(record, global_bits=bits), certain=("global_bits",))
    return record


def _nvgpu(record: LogRecord) -> LogRecord | None:
    place = _NVGPU_PLACE.search(record.line)
    both = _NVGPU_WORDS.search(record.line)
    warp = _NVGPU_WARP.search(record.line)
    globals_ = _NVGPU_GLOBAL.search(record.line)
    if not (place or both or warp or globals_):
        return None
    record = replace(record, kind=LineKind.NVGPU_SM)
    if place:
        record = _with_place(record, place[1], place[2], None)
    if both:
        record = _with_global(record, int(both[1], 16))
        return _with_warp(record, int(both[2], 16))
    if globals_:
        record = _with_global(record, int(globals_[1], 16))
    return _with_warp(record, int(warp[1], 16), warp[2]) if warp else record


def _unit_text(record: LogRecord) -> LogRecord | None:
    found = _UNIT_TEXT.search(record.line)
    if found is None:
        return None
    record = _with_place(record, found[1], found[2], found[3])
    return replace(record, kind=LineKind.UNIT_TEXT)


def _gpc_text(record: LogRecord) -> LogRecord | None:
    found = _GPC_TEXT.search(record.line)
    if found is None:
        return None
    return replace(_with_place(record, found[1], None, None), kind=LineKind.GPC)


def _mmu_fault(record: LogRecord) -> LogRecord | None:
    if _MMU.search(record.line) is None:
        return None
    place = _MMU_GPC.search(record.line)
    if place is not None:
        record = _with_place(record, place[1], None, None)
    return replace(record, kind=LineKind.MMU_FAULT)


_SHAPES: tuple[Callable[[LogRecord], LogRecord | None], ...] = (
    _sm_text,
    _registers,
    _nouveau,
    _nvgpu,
    _unit_text,
    _gpc_text,
    _mmu_fault,
)


def decode_line(line: str) -> LogRecord:
    """One line by itself, colour codes aside; never raises."""
    plain = _ESCAPES.sub("", line)
    xid, pci = _XID.search(plain), _PCI.search(plain)
    record = LogRecord(
        plain, device=pci[1].lower() if pci else None, xid=int(xid[1]) if xid else None
    )
    shaped = (found for shape in _SHAPES if (found := shape(record)) is not None)
    found = next(shaped, replace(record, kind=LineKind.XID) if xid else record)
    return replace(found, line=line, said=read_fields(plain, xid.end() if xid else None))


# --- which layout ----------------------------------------------------------------------------


def choose(record: LogRecord, place: SmRegister, sure: bool, note: str = "") -> LogRecord:
    """`record` with one candidate taken."""
    record = replace(record, layout=place.layout, gpc=place.gpc, tpc=place.tpc, sm=place.sm)
    names = ["layout", "gpc", "tpc"] + (["sm"] if place.sm is not None else [])
    record = mark(record, names, ()) if sure else mark(record, (), names)
    return remark(record, note) if note else record


def _settle_alone(record: LogRecord) -> LogRecord:
    """Chooses the layout from the line alone: one fits, or the masks name the generation."""
    if len(record.candidates) == 1:
        only = record.candidates[0]
        sure = only.layout.certainty is Certainty.DOCUMENTED
        note = "" if sure else f"only the {only.layout.name} layout fits; it is inferred"
        return choose(record, only, sure, note)
    named = layout_of_masks(record.warp_report_mask, record.global_report_mask)
    for place in record.candidates:
        if place.layout is named:
            return choose(record, place, False, "layout chosen by the report masks (inferred)")
    common = {
        name: getattr(record.candidates[0], name)
        for name in PLACE
        if len({getattr(c, name) for c in record.candidates}) == 1
    }
    record = replace(record, gpc=common.get("gpc"), tpc=common.get("tpc"), sm=common.get("sm"))
    return mark(record, common, ("layout", *(n for n in PLACE if n not in common)))
