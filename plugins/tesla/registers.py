"""The registers of one thread and every view the instructions have of them.

Source: NV50 CUDA notes, "Available registers".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from gpudbg.bits import Field
from gpudbg.errors import UsageError

from .flags import FLAG_NAMES

GPRS = 128
HALF_GPRS = 64
LOW, HIGH = Field(15, 0), Field(31, 16)
#: View suffix -> (words, highest index, required alignment of the index).
R_VIEWS = {"": (1, 127, 1), "d": (2, 126, 2), "q": (4, 124, 4)}
A_ZERO = (0, 5, 6)
#: Special registers: number -> (name, fixed value or None).
SPECIALS = {
    0: ("physid", None),
    1: ("clock", None),
    2: ("sr2", 0),
    3: ("sr3", 0x20),
    4: ("pm0", None),
    5: ("pm1", None),
    6: ("pm2", None),
    7: ("pm3", None),
    8: ("sampleid", None),  # GT215 and later, from later documentation
}
SPECIAL_NUMBERS = {name: number for number, (name, _) in SPECIALS.items()}
PROGRAMS_WITH_OUTPUTS = ("VP", "GP")

_NAME = re.compile(r"\$?(?P<file>[roac])(?P<index>\d{1,3})(?P<view>[lhdq]?|\.[zsco])$")
_SPECIAL = re.compile(r"\$?(?:sr(?P<number>\d)|(?P<name>physid|clock|pm[0-3]|sampleid))$")


@dataclass(frozen=True, slots=True)
class RegisterView:
    """A parsed register name: file (r, o, a, c, sr), index, and view."""

    file: str
    index: int
    view: str = ""

    @property
    def name(self) -> str:
        """The canonical name."""
        if self.file == "sr":
            return f"${SPECIALS[self.index][0]}"
        return f"${self.file}{self.index}{self.view}"

    @property
    def bits(self) -> int:
        """Width of the view."""
        if self.view in ("l", "h") or self.file == "a":
            return 16
        if self.file == "c":
            return 1 if self.view else 4
        return 32 * R_VIEWS.get(self.view, (1, 0, 0))[0]


def parse(name: str) -> RegisterView:
    """A register name, with or without `$`.

    Raises:
        UsageError: no such register or view; the message says which rule it breaks.
    """
    special = _SPECIAL.match(name)
    if special:
        text = special["name"]
        number = SPECIAL_NUMBERS[text] if text else int(special["number"])
        if number in SPECIALS:
            return RegisterView("sr", number)
    found = _NAME.match(name)
    if found is None:
        raise UsageError(f"no register '{name}'", "$r5, $r5l, $r6d, $r8q, $o3, $a1, $c0, $physid")
    view = RegisterView(found["file"], int(found["index"]), found["view"])
    problem = _problem(view)
    if problem:
        raise UsageError(f"no register '{name}': {problem}")
    return view


def _problem(view: RegisterView) -> str | None:
    """Why a register does not exist, or None."""
    if view.file in "ac":
        last = 7 if view.file == "a" else 3
        if view.index > last:
            return f"${view.file}0 to ${view.file}{last} exist"
        allowed = view.view.startswith(".") if view.file == "c" else False
        return None if not view.view or allowed else f"${view.file} has no such view"
    if view.view.startswith("."):
        return "only $c has flags"
    if view.view in ("l", "h"):
        return None if view.index < HALF_GPRS else "halves exist up to index 63"
    if view.file == "o" and view.view:
        return "outputs have no pairs or quads"
    _, last, step = R_VIEWS[view.view]
    if view.index > (127 if view.file == "o" else last):
        return f"the last is ${view.file}{last}{view.view}"
    if view.index % step:
        return f"the index must be divisible by {step}"
    return None


@dataclass(slots=True)
class ThreadRegisters:
    """The registers of one thread.

    Args:
        allocated: number of $r registers (REG_ALLOC_TEMP).
        outputs: number of $o registers (REG_ALLOC_RESULT); VP and GP only.
        program: VP, GP, FP or CP.
        specials: values of physid, clock and pm0-pm3 by name.
    """

    allocated: int = GPRS
    outputs: int = 0
    program: str = "CP"
    specials: dict[str, int] = field(default_factory=dict)
    r: list[int] = field(default_factory=lambda: [0] * GPRS)
    o: list[int] = field(default_factory=lambda: [0] * GPRS)
    a: list[int] = field(default_factory=lambda: [0] * 8)
    c: list[int] = field(default_factory=lambda: [0] * 4)

    def __post_init__(self) -> None:
        for what, count in (("$r", self.allocated), ("$o", self.outputs)):
            if not 0 <= count <= GPRS:
                raise UsageError(f"{count} {what} registers cannot be allocated", "0 to 128")

    def names(self) -> Sequence[str]:
        """Every full register that can be read, in print order."""
        return (
            *(f"$r{i}" for i in range(self.allocated)),
            *(f"$a{i}" for i in range(8)),
            *(f"$c{i}" for i in range(4)),
            *(f"${name}" for name, _ in SPECIALS.values()),
        )

    def _word(self, index: int) -> int:
        return self.r[index] if index < self.allocated else 0

    def read(self, name: str) -> int:
        """The value of a register or view.

        Raises:
            UsageError: no such register, or an output, which is write-only.
        """
        view = parse(name)
        if view.file == "o":
            raise UsageError(f"{view.name} is write-only")
        if view.file == "sr":
            text, fixed = SPECIALS[view.index]
            return self.specials.get(text, 0) if fixed is None else fixed
        if view.file == "a":
            return 0 if view.index in A_ZERO else self.a[view.index]
        if view.file == "c":
            bits = {f".{flag}": bit for flag, bit, _ in FLAG_NAMES}
            held = self.c[view.index]
            return int(bool(held & bits[view.view])) if view.view else held
        if view.view in ("l", "h"):
            return (LOW if view.view == "l" else HIGH).get(self._word(view.index))
        count = R_VIEWS[view.view][0]
        return sum(self._word(view.index + i) << 32 * i for i in range(count))

    def write(self, name: str, value: int) -> None:
        """Write a register or view.

        Raises:
            UsageError: no such register, a read-only one, or a value too wide for it.
        """
        view = parse(name)
        if not 0 <= value < 1 << view.bits:
            raise UsageError(f"0x{value:x} does not fit the {view.bits} bits of {view.name}")
        if view.file == "sr":
            raise UsageError(f"{view.name} is read-only")
        writers = {"r": self._write_r, "o": self._write_o, "a": self._write_a, "c": self._write_c}
        writers[view.file](view, value)

    def _write_r(self, view: RegisterView, value: int) -> None:
        if view.view in ("l", "h"):
            half = LOW if view.view == "l" else HIGH
            words = [half.put(self._word(view.index), value)]
        else:
            words = [value >> 32 * i & 0xFFFFFFFF for i in range(R_VIEWS[view.view][0])]
        for index, word in enumerate(words, view.index):
            if index < self.allocated:
                self.r[index] = word

    def _write_o(self, view: RegisterView, value: int) -> None:
        if self.program not in PROGRAMS_WITH_OUTPUTS:
            raise UsageError(f"{self.program} programs have no outputs", "VP and GP have")
        bucket = (view.index == 127 and not view.view) or (view.index == 63 and view.view == "h")
        if bucket or view.index >= self.outputs:
            return
        self.o[view.index] = value << 16 | value if view.view else value

    def _write_a(self, view: RegisterView, value: int) -> None:
        if view.index not in A_ZERO:
            self.a[view.index] = value

    def _write_c(self, view: RegisterView, value: int) -> None:
        bits = {f".{flag}": bit for flag, bit, _ in FLAG_NAMES}
        bit = bits.get(view.view)
        if bit is None:
            self.c[view.index] = value
        else:
            self.c[view.index] = (self.c[view.index] & ~bit) | (bit if value else 0)

    def note(self, name: str) -> str | None:
        """What is special about a register here, or None."""
        view = parse(name)
        if view.file == "r":
            last = view.index + R_VIEWS.get(view.view, (1, 0, 0))[0] - 1
            if last >= self.allocated:
                return f"beyond the {self.allocated} allocated registers: reads 0"
        if view.file == "a" and view.index in A_ZERO:
            return "always 0"
        if view.file == "o":
            if (view.index, view.view) in ((127, ""), (63, "h")):
                return "bit bucket: writes are ignored"
            if view.view:
                return "a half write puts the value into both halves"
            if view.index >= self.outputs:
                return f"beyond the {self.outputs} allocated outputs: dropped"
        return None
