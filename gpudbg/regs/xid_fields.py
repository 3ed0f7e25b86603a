"""What a kernel log line says beside error registers: process, channel, faulting address, and more.

Every field is what the line prints, in its own words: nothing is worked out, and what it does not
print stays None.  The MMU fault shapes are those of NVRM (`MMU Fault: ENGINE … faulted @ …`),
nouveau (`fault 00 [READ] at …`) and nvgpu (`mmu fault on engine …`).
"""

from __future__ import annotations

import re
from dataclasses import field, fields
from typing import Any

from gpudbg.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class XidFields:
    """What a line says of who and where.

    Attributes:
        pid, process: the process; None where the driver did not know it either.
        channel: number of the channel.
        engine, client: units that asked for the address.
        address: hexadecimal text, as printed but for a `_` in the middle.
        fault_type, access: the log's words, such as FAULT_PDE and ACCESS_TYPE_VIRT_READ.
        message: what follows the Xid's number, without process and channel.
        details: other values that have a name in the line, as printed.
    """

    pid: int | None = None
    process: str | None = None
    channel: int | None = None
    engine: str | None = None
    client: str | None = None
    address: str | None = None
    fault_type: str | None = None
    access: str | None = None
    message: str | None = None
    details: dict[str, str] = field(default_factory=dict)

    @property
    def filled(self) -> int:
        """How many fields the line fills, the message aside."""
        named = [f.name for f in fields(self) if f.name not in ("message", "details")]
        return sum(getattr(self, name) is not None for name in named) + len(self.details)

    def to_json(self) -> dict[str, Any]:
        """Plain values by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


NOTHING = XidFields()

# Repeats are bounded or over disjoint sets, so matching stays linear on hostile lines.
_FLAGS = re.IGNORECASE
_WORD = r"([A-Za-z0-9_]{1,60})"
_PID = re.compile(r"\bpid='?(?:(\d{1,10})(?!\d)|<[^>,]{0,20}>|\w{0,20})'?", _FLAGS)
_NAME = re.compile(r"\bname=([^,\r\n]{0,64})", _FLAGS)
_CHANNEL = re.compile(
    r"\b(?:channel(?:\s+ID)?|Ch(?:ID)?)\s+(?:0x)?([0-9a-f]{4,8})\b(?!\s*\[)", _FLAGS
)
_NVRM = re.compile(
    rf"\bENGINE\s+{_WORD}(?:\s+GPC\d{{1,4}}\b)?(?:\s+(?!faulted\b){_WORD})?"
    r"(?:\s+faulted\s*@\s*(0x[0-9a-f_]{1,20}))?",
    _FLAGS,
)
_TYPE = re.compile(r"\b(FAULT_\w{1,60})(?:\s+(ACCESS_TYPE_\w{1,60}))?")
_UNIT = r"(?:\s+[0-9a-f]{1,4})?\s+\[([^\]]{0,60})\]"
_NOUVEAU = re.compile(
    r"\b(?:fault\s+[0-9a-f]{1,4}\s+\[(?P<new>[^\]]{0,40})\]|(?P<old>\w{4,16})\s+fault)\s+at\s+"
    rf"(?:0x)?(?P<at>[0-9a-f]{{1,16}})\s+engine{_UNIT}\s+client{_UNIT}"
    rf"(?:\s+reason{_UNIT})?"
    r"(?:\s+on\s+channel\s+(?P<channel>\d{1,6})"
    r"(?:\s+\[[0-9a-f]{1,16}\s+(?P<process>[^\[\]\r\n]{1,40})\[(?P<pid>\d{1,10})\])?)?",
    _FLAGS,
)
_NVGPU = re.compile(
    r"mmu\s+fault\s+on\s+engine\s+(\d{1,4}),\s*engine\s+subid\s+\d{1,4}\s+\(([^)]{0,20})\),\s*"
    r"client\s+\d{1,4}\s+\(([^)]{0,30})\),\s*addr\s+(0x[0-9a-f:x]{1,24}),\s*"
    r"type\s+\d{1,4}\s+\(([^)]{0,40})\)(?:,\s*access_type\s+(0x[0-9a-f]{1,8}))?",
    _FLAGS,
)
_TRAP_CHANNEL = re.compile(
    r"\bch\s+(\d{1,6})\s+\[[0-9a-f]{1,16}\s+([^\[\]\r\n]{1,40})\[(\d{1,10})\]", _FLAGS
)

_HEX = r"((?:0x)?[0-9a-f]{1,16})\b"
_NAMED: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = tuple(
    (tuple(names.split()), re.compile(pattern, _FLAGS))
    for names, pattern in (
        ("intr", rf"\bintr\s+{_HEX}"),
        ("engmask", rf"\bengmask\s+{_HEX}"),
        ("class", rf"\bClass\s+{_HEX}"),
        ("subchannel", rf"\bSubchannel\s+{_HEX}"),
        ("offset", rf"\bOffset\s+{_HEX}"),
        ("data", rf"\bData\s+{_HEX}"),
        ("error_code", rf"\bErrorCode\s+{_HEX}"),
        ("error", r"\berrorString\s+([^,\r\n]{1,80})"),
        ("info", rf"\bInfo\s+{_HEX}"),
        ("previous_xid", r"\bcaused\s+by\s+previous\s+Xid\s+(\d{1,4})"),
        (
            "action_from action_to",
            r"\brecovery\s+action\s+changed\s+from\s+(0x[0-9a-f]{1,8}\s+\([^)]{0,60}\))"
            r"\s+to\s+(0x[0-9a-f]{1,8}\s+\([^)]{0,60}\))",
        ),
        ("link", r"\bon\s+link\s+(\d{1,3})"),
        ("page", r"\bpage\s+retired[^(\r\n]{0,60}\((0x[0-9a-f]{1,16})\)"),
        ("partition", r"(?<!sub)\bpartition\s+(\d{1,4})"),
        ("subpartition", r"\bsubpartition\s+(\d{1,4})"),
        ("location", r"\b(?:un)?contained:\s*([^.\r\n]{1,80})"),
        ("reset", r"(?<!D-)\bRST:\s*(\w{1,8})"),
        ("drain_reset", r"\bD-RST:\s*(\w{1,8})"),
        ("timeout", r"\bTimeout\s+after\s+(\d{1,6}s)"),
        ("gsp_function", r"\bExpected\s+function\s+(\d{1,6}\s+\([^)]{0,60}\))"),
    )
)
"""Names of details, and what they stand in.  Public logs and driver texts have these."""

FAULT_TYPES: dict[str, str] = {
    "PDE": "no page directory entry: nothing is mapped anywhere near the address",
    "PDE_SIZE": "the page directory entry's size is too small",
    "PTE": "no page table entry: the page is not mapped, what lies around it may be",
    "VA_LIMIT_VIOLATION": "the address is above the address space's limit",
    "UNBOUND_INST_BLOCK": "the channel had no address space",
    "PRIV_VIOLATION": "the page is for privileged accesses only",
    "RO_VIOLATION": "a write to a page that may only be read",
    "WO_VIOLATION": "a read of a page that may only be written",
    "PITCH_MASK_VIOLATION": "a surface's pitch does not fit its mapping",
    "WORK_CREATION": "work was submitted through this mapping, which may not",
    "UNSUPPORTED_APERTURE": "the page lies in memory that the unit cannot reach",
    "COMPRESSION_FAILURE": "the page's compression cannot be resolved",
    "UNSUPPORTED_KIND": "the page's kind is not one this unit can read",
    "REGION_VIOLATION": "the memory behind the page is protected",
    "POISONED": "the memory behind the page has an uncorrectable error",
    "ATOMIC_VIOLATION": "an atomic on a page that allows none",
}
"""NVIDIA's MMU fault types (NV_PFAULT_FAULT_TYPE of the published manuals) in words."""


def fault_meaning(text: str) -> str | None:
    """What a log's word for a fault type means; None for words that no table has."""
    name = re.sub(r"^FAULT_(?:INFO_TYPE_)?", "", text.upper())
    return FAULT_TYPES.get(name)


def _clean(address: str) -> str:
    plain = address.lower().replace("_", "")
    high, colon, low = plain.partition(":")
    if colon:
        plain = high + low.removeprefix("0x")
    return plain if plain.startswith("0x") else f"0x{plain}"


def _process(text: str) -> str | None:
    name = text.strip().strip("'\"")
    return None if not name or name.startswith("<") else name


def _fault(line: str) -> dict[str, Any]:
    """The MMU fault in a line, by the names of `XidFields`."""
    if found := _NOUVEAU.search(line):
        units = [u or None for u in (found[4], found[5], found[6])]
        out: dict[str, Any] = {
            "engine": units[0],
            "client": units[1],
            "fault_type": units[2],
            "address": _clean(found["at"]),
            "access": found["new"] or found["old"],
        }
        if found["channel"]:
            out["channel"] = int(found["channel"])
        if found["pid"]:
            out |= {"pid": int(found["pid"]), "process": _process(found["process"])}
        return out
    if found := _NVGPU.search(line):
        engine, _, client, address, type_, access = found.groups()
        return {
            "engine": engine,
            "client": client,
            "address": _clean(address),
            "fault_type": type_,
            "access": access,
        }
    out = {}
    if found := _NVRM.search(line):
        out = {"engine": found[1], "client": found[2]}
        if found[3]:
            out["address"] = _clean(found[3])
    if out and (found := _TYPE.search(line)):
        out |= {"fault_type": found[1], "access": found[2]}
    return out


def read_fields(line: str, after: int | None) -> XidFields:
    """The fields of a log line.

    Args:
        line: without colour codes.
        after: where the Xid's number ends; None in a line without one.
    """
    out = _fault(line)
    if after is None:
        if (trap := _TRAP_CHANNEL.search(line)) and "pid" not in out:
            out |= {"channel": int(trap[1]), "process": _process(trap[2]), "pid": int(trap[3])}
        return XidFields(**out) if out else NOTHING
    rest = line[after:]
    pid, name, channel = _PID.search(rest), _NAME.search(rest), _CHANNEL.search(rest)
    if pid is not None and pid[1]:
        out["pid"] = int(pid[1])
    if name is not None:
        out["process"] = _process(name[1])
    if channel is not None:
        out["channel"] = int(channel[1], 16)
    details: dict[str, str] = {}
    for names, pattern in _NAMED:
        if found := pattern.search(rest):
            details |= dict(zip(names, (g.strip() for g in found.groups()), strict=True))
    ends = [m.end() for m in (pid, name) if m is not None]
    if channel is not None and re.match(r"[\s,]*$", rest[max([0, *ends]) : channel.start()]):
        ends.append(channel.end())
    message = " ".join(rest[max([0, *ends]) :].strip(" ,").split())
    return XidFields(**out, message=message or None, details=details)
