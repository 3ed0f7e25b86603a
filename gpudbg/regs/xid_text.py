"""A decoded kernel log line as text for people: where, what, how sure, what to look at next."""

from __future__ import annotations

from collections.abc import Iterator

from gpudbg.regs.esr import HWW_WARP_ESR, GlobalErrorRow, global_error, warp_error
from gpudbg.regs.port import (
    FE_ESR,
    FE_ESR_ADDRESS,
    LAYOUTS,
    locate_broadcast,
    masks_match,
    other_unit,
)
from gpudbg.regs.words import Certainty, Family
from gpudbg.regs.xid import PLACE, LineKind, LogRecord
from gpudbg.regs.xid_fields import fault_meaning
from gpudbg.regs.xid_numbers import xid_meaning

_INDENT = "    "
_SM_KINDS = (
    LineKind.SM_WARP,
    LineKind.SM_GLOBAL,
    LineKind.SM_REGISTERS,
    LineKind.NOUVEAU_SM,
    LineKind.NVGPU_SM,
)


def families_of(record: LogRecord) -> tuple[Family, ...]:
    """Chip generations the record's masks and layout leave possible; empty when unknown."""
    by_masks = {
        family
        for row in masks_match(record.warp_report_mask, record.global_report_mask)
        for family in row.families
        if record.warp_report_mask is not None
    }
    layouts = [record.layout] if record.layout else [c.layout for c in record.candidates]
    possible = [family for layout in layouts for family in layout.families]
    return tuple(f for f in possible if f in by_masks) or tuple(possible)


def _where(record: LogRecord) -> str:
    parts = [f"{n.upper()} {v}" for n in PLACE if (v := getattr(record, n)) is not None]
    return ", ".join(parts) or "place not given"


def _header(record: LogRecord) -> str:
    parts = [str(record.kind)]
    if record.xid is not None:
        known = xid_meaning(record.xid)
        parts.insert(0, f"Xid {record.xid}" + (f" ({known[0]})" if known else ""))
    if record.device:
        parts.append(f"GPU {record.device}")
    if record.kind in _SM_KINDS or record.gpc is not None:
        parts.append(_where(record))
    return ", ".join(parts)


def _doubt(record: LogRecord, name: str) -> str:
    return " (uncertain)" if name in record.uncertain else ""


def _warp_lines(record: LogRecord) -> Iterator[str]:
    if record.warp_esr is not None:
        yield f"HWW_WARP_ESR {record.warp_esr:#x}: {', '.join(_warp_fields(record))}"
    if record.warp_error is None:
        return
    row = warp_error(record.warp_error)
    if row is None:
        yield f"{record.warp_error}: no public table names this code"
        return
    yield f"{row.name}{_doubt(record, 'warp_error')}: {row.meaning}"
    if row.code:
        yield f"look at: {row.look_at}"


def _warp_fields(record: LogRecord) -> Iterator[str]:
    """The word's fields as text, on the newest family that remains possible."""
    assert record.warp_esr is not None
    families = families_of(record)
    rows = HWW_WARP_ESR.rows_for(families[-1] if families else Family.MAXWELL)
    for row in rows:
        value = row.bits.get(record.warp_esr)
        if row.name == "ERROR":
            yield f"code {value:#04x} {record.warp_error}"
        elif row.name == "WARP_ID":
            sure = "" if row.certainty is Certainty.DOCUMENTED else " (inferred field)"
            yield f"warp {value}{sure}"
        elif value:
            name = "unnamed bits" if row.reserved else row.name
            yield f"{name} {value:#x}"


def _global_lines(record: LogRecord) -> Iterator[str]:
    if record.global_esr is not None:
        names = " | ".join(record.global_bits) or "nothing pending"
        yield f"HWW_GLOBAL_ESR {record.global_esr:#x}: {names}{_doubt(record, 'global_bits')}"
    for name in record.global_bits:
        row: GlobalErrorRow | None = global_error(name)
        yield f"{name}: {row.meaning}; {row.look_at}" if row else f"{name}: not named in public"


def _mask_lines(record: LogRecord) -> Iterator[str]:
    masks = (record.warp_report_mask, record.global_report_mask)
    if masks == (None, None):
        return
    given = [f"{m:#x}" for m in masks if m is not None]
    chips = dict.fromkeys(f"{row.who} on {row.chips}" for row in masks_match(*masks))
    known = "; ".join(chips) if chips and masks[0] is not None else "no known driver and chip"
    yield f"report masks {' '.join(given)} (what is reported, no addresses): {known} (inferred)"


def _layout_lines(record: LogRecord) -> Iterator[str]:
    if record.layout is not None and record.pairs:
        sure = "documented" if record.layout in LAYOUTS[:2] else "inferred from log lines"
        yield f"address layout {record.layout.name}, {sure}{_doubt(record, 'layout')}"
    elif record.candidates:
        yield f"place {record.layout_text}"
        yield "settle it with the text line printed beside this one, or with the chip's name"


def _unit_lines(record: LogRecord) -> Iterator[str]:
    for address, value in record.pairs:
        broadcast = locate_broadcast(address)
        unit = f"{broadcast} of every SM" if broadcast else other_unit(address)
        yield f"{address:#x}={value:#x}: {unit or 'a unit public manuals do not name'}"
        if address == FE_ESR_ADDRESS:
            names = [r.name for r in FE_ESR if not r.reserved and r.bits.get(value)]
            yield f"bits {' | '.join(names) or 'none'}"


def _fault_lines(record: LogRecord) -> Iterator[str]:
    """Who asked for which address, and why it was refused."""
    said = record.said
    words = [said.access or "", f"at {said.address}" if said.address else ""]
    units = [("engine", said.engine), ("client", said.client)]
    by = ", ".join(f"{word} {name}" for word, name in units if name)
    if any(words) or by:
        yield " ".join(filter(None, [*words, f"by {by}" if by else ""]))
    if said.fault_type:
        meaning = fault_meaning(said.fault_type)
        yield said.fault_type + (f": {meaning}" if meaning else "")


def _said_lines(record: LogRecord) -> Iterator[str]:
    """The process, and what else has a name in the line."""
    said = record.said
    words = []
    if said.pid is not None:
        words.append(f"process {said.pid}" + (f" ({said.process})" if said.process else ""))
    elif said.process:
        words.append(f"process {said.process}")
    if said.channel is not None:
        words.append(f"channel {said.channel:#x}")
    if words:
        yield ", ".join(words)
    if said.details and record.kind in (LineKind.XID, LineKind.MMU_FAULT):
        yield ", ".join(f"{name} {value}" for name, value in said.details.items())


def record_lines(record: LogRecord) -> list[str]:
    """The record for people: a header, then indented facts, advice and doubts."""
    body: list[str] = [*_fault_lines(record), *_said_lines(record)]
    if record.kind is LineKind.UNIT_REGISTERS:
        body += _unit_lines(record)
    body += _warp_lines(record)
    body += _global_lines(record)
    body += _mask_lines(record)
    body += _layout_lines(record)
    body += [f"note: {note}" for note in record.notes]
    known = xid_meaning(record.xid) if record.xid is not None else None
    if known and record.kind not in _SM_KINDS:
        body.append(f"look at: {known[1]}")
    return [_header(record), *(_INDENT + text for text in body)]
