"""Register values as people paste them: one `NAME = VALUE` a line.

Between name and value stands `=`, `:` or space; comments begin with `#`, `;` or `//`; what a
debugger prints after the value (its decimal form, its fields in braces) is passed over.  Names
are those of hardware registers (with or without `HW_REG_`, or `hwreg(id)`), scalar registers,
`pc`, `exec`, `vcc`, `doorbell`; a line `mcpu = gfx1010` chooses the processor.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from gpudbg.errors import UsageError
from gpudbg.plugin import parse_int

from .registers import Processor, processor
from .scalars import scalar_names

_Key = TypeVar("_Key", int, str)

MAX_DUMP = 1 << 20
"""Characters that are read; more is refused."""

WIDE = ("pc", "exec", "vcc", "doorbell")
"""Names of 64-bit values."""

_LINE = re.compile(
    r"(?P<name>hwreg\(\s*\w+\s*\)|[A-Za-z_]\w*|[0-9]+)\s*(?:[=:]\s*|\s)(?P<value>\S+)(?P<rest>.*)$"
)
_REST = re.compile(r"\s*(?:$|[\[{(]|-?(?:0[xX])?[0-9a-fA-F]+\b)")
_COMMENT = re.compile(r"\s*(?:#|;|//).*$")
_HWREG = re.compile(r"hwreg\(\s*(\w+)\s*\)")


@dataclass(frozen=True, slots=True)
class Dump:
    """Values of one wave.

    Args:
        processor: whose registers these are.
        hardware: register id -> 32-bit value.
        scalars: scalar register name -> 32-bit value.
        wide: `WIDE` name -> 64-bit value.
    """

    processor: Processor
    hardware: Mapping[int, int]
    scalars: Mapping[str, int]
    wide: Mapping[str, int]

    def get(self, register: str, field: str) -> int | None:
        """A field's value; None when the register is not known or has no such field."""
        found = self.processor.by_name(register)
        if found is None or found.id not in self.hardware:
            return None
        return found.get(field, self.hardware[found.id])


def parse_dump(text: str, mcpu: str) -> Dump:
    """Read a dump.

    Args:
        text: the lines.
        mcpu: the processor where no line names one.

    Raises:
        UsageError: names the line and what is wrong with it.
    """
    if len(text) > MAX_DUMP:
        raise UsageError(f"a dump of more than {MAX_DUMP} characters is not read")
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        content = _COMMENT.sub("", line).strip()
        if content:
            rows.append((number, *_split(content, number)))
    for number, name, value in rows:
        if name.lower() == "mcpu":
            try:
                processor(value)
            except UsageError as error:
                raise UsageError(f"line {number}: {error.message}", error.hint) from None
            mcpu = value
    return _collect(rows, processor(mcpu))


def _split(content: str, number: int) -> tuple[str, str]:
    match = _LINE.match(content)
    shown = content if len(content) <= 60 else content[:60] + "..."
    if match is None:
        raise UsageError(f"line {number}: '{shown}' is not NAME = VALUE")
    if not _REST.match(match["rest"]):
        raise UsageError(f"line {number}: '{match['rest'].strip()[:40]}' after the value")
    return match["name"], match["value"].rstrip(",")


def _collect(rows: list[tuple[int, str, str]], chosen: Processor) -> Dump:
    hardware: dict[int, int] = {}
    scalars: dict[str, int] = {}
    wide: dict[str, int] = {}
    known = set(scalar_names(chosen))
    for number, name, text in rows:
        lower = name.lower()
        if lower == "mcpu":
            continue
        try:
            if lower in WIDE:
                _put(wide, lower, name, parse_int(text, name, 64))
            elif lower in known:
                _put(scalars, lower, name, parse_int(text, name, 32))
            else:
                _put(hardware, _register_id(name, chosen), name, parse_int(text, name, 32))
        except UsageError as error:
            raise UsageError(f"line {number}: {error.message}", error.hint) from None
    return Dump(chosen, hardware, scalars, wide)


def _put(table: dict[_Key, int], key: _Key, name: str, value: int) -> None:
    if key in table:
        raise UsageError(f"{name} is given twice")
    table[key] = value


def _register_id(name: str, chosen: Processor) -> int:
    inner = _HWREG.match(name)
    word = inner[1] if inner else name
    if word.isdigit() and len(word) <= 2 and int(word) < 64:
        return int(word)
    register = chosen.by_name(word)
    if register is None:
        raise UsageError(f"{chosen.name} has no register '{name}'")
    return register.id
