"""Directives of a .sass file, applied to what is being built."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING

from gpudbg.architectures import RUN
from gpudbg.assembler.frame_reader import HANDLERS as FRAME_HANDLERS
from gpudbg.assembler.program import NO_SYMBOL, SassParam, SassRelocation
from gpudbg.assembler.reader import Reader, SassLine
from gpudbg.dataclass import dataclass
from gpudbg.errors import AssembleError
from gpudbg.formats.program import MAX_BANK_BYTES, param_base

if TYPE_CHECKING:
    from gpudbg.assembler.frame import FileFrame
    from gpudbg.assembler.reader import Piece
    from gpudbg.isa.control import Control

DEFAULT_ARCH = "sm_50"
MAX_DATA_BYTES = 1 << 24
NAME = re.compile(r"[A-Za-z_.$][\w.$@]*$")
_SIZES = {"byte": 1, "short": 2, "word": 4, "dword": 8, "quad": 8}


@dataclass(slots=True)
class Item:
    """One instruction to assemble.

    `word` is what a listing shows behind it; `known` where that is all of it.
    """

    line: int
    piece: Piece
    control: Control | None
    address: int | None = None
    word: int | None = None
    known: bool = False


@dataclass(slots=True)
class Data:
    """A data section being read: contents, labels, and words that are symbols' addresses."""

    content: bytearray = field(default_factory=bytearray)
    labels: dict[str, int] = field(default_factory=dict)
    relocations: list[SassRelocation] = field(default_factory=list)


@dataclass(slots=True)
class Draft:
    """A function being read.

    Attributes:
        labels: label -> instruction number.
        starts: labels that stand before a control word: they mean the bundle's start.
        places: parameter -> its offset in bank 0.
    """

    name: str
    line: int
    is_kernel: bool = True
    items: list[Item] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    starts: set[str] = field(default_factory=set)
    numbers: dict[str, int] = field(default_factory=dict)
    params: list[SassParam] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    banks: dict[int, Data] = field(default_factory=dict)
    relocations: list[SassRelocation] = field(default_factory=list)
    targets: dict[int, tuple[int, ...]] = field(default_factory=dict)
    externs: list[str] = field(default_factory=list)


class DirectiveFiles:
    """State of reading: functions, names, data, and where the next line belongs."""

    def __init__(self, reader: Reader, arch: str | None) -> None:
        self.reader = reader
        self.forced = arch
        self.arch = arch
        self.drafts: list[Draft] = []
        self.sections: dict[str, Data] = {}
        self.names: dict[str, int] = {}
        self.data: Data | None = None
        self.launch_bank: Data | None = None
        self.skipping = False
        self.frame: FileFrame | None = None
        self._loose: Draft | None = None

    # ---- helpers -----------------------------------------------------------------------
    def error(self, line: SassLine, message: str, expected: str | None = None) -> AssembleError:
        """An error at a directive's argument."""
        return self.reader.error(message, line.number, line.column, expected)

    def draft(self, line: SassLine) -> Draft:
        """The function lines belong to; one without a name begins when there is none."""
        if not self.drafts:
            self._loose = Draft("kernel", line.number)
            self.drafts.append(self._loose)
        return self.drafts[-1]

    def begin(self, line: SassLine, name: str, is_kernel: bool) -> Draft:
        """A function begins."""
        if not NAME.match(name):
            raise self.error(line, f"{name!r} is no name", "a function's name")
        last = self.drafts[-1] if self.drafts else None
        if last is not None and last.name == name and not last.items:
            last.is_kernel = is_kernel
            return last
        if any(d.name == name for d in self.drafts):
            raise self.error(line, f"{name} begins twice", "another name")
        if self._loose is not None and not self._loose.items:
            # Directives that came before the name belong to it.
            self._loose.name, self._loose.is_kernel = name, is_kernel
            self._loose.line = line.number
            draft, self._loose = self._loose, None
        else:
            draft = Draft(name, line.number, is_kernel)
            self.drafts.append(draft)
        self.data, self.skipping = None, False
        return draft

    def named(self, name: str, draft: Draft | None = None) -> int | None:
        """The number of a parameter of a function (the one being read), else of `.equ`."""
        draft = draft or (self.drafts[-1] if self.drafts else None)
        value = draft.places.get(name) if draft else None
        return self.names.get(name) if value is None else value

    def number(self, line: SassLine, text: str, low: int = 0, high: int = 1 << 32) -> int:
        """A number or a name that `.equ` or a parameter gave one.

        Raises:
            AssembleError: neither, or outside low..high.
        """
        value = self.named(text)
        if value is None:
            try:
                value = int(text, 0)
            except ValueError:
                raise self.error(
                    line, f"{text!r} is no number", f"a number for .{line.directive}"
                ) from None
        if not low <= value <= high:
            raise self.error(line, f"{value} does not fit .{line.directive}", f"{low} to {high}")
        return value

    @property
    def param_base(self) -> int:
        """Where parameters begin in bank 0."""
        return param_base(self.arch or DEFAULT_ARCH)

    def begin_part(self, content: bytearray) -> None:
        """What follows are the contents of a section of the frame."""
        self.skipping, self.data = True, Data(content)

    # ---- directives --------------------------------------------------------------------
    def apply(self, line: SassLine) -> None:
        """Carry out a directive.

        Raises:
            AssembleError: an unknown one, or a bad argument.
        """
        name = line.directive
        if name in _NUMBERS and (not self.skipping or name != "local"):
            low, high = _NUMBERS[name]
            key = _ALIASES.get(name, name)
            if NAME.match(line.argument) and line.argument not in self.names:
                return  # ELF's .local NAME
            self.draft(line).numbers[key] = self.number(line, line.argument, low, high)
        elif name in _SIZES or name == "zero":
            self._data(line)
        elif name in _HANDLERS:
            _HANDLERS[name](self, line)
        elif name not in _IGNORED:
            known = ", ".join(sorted("." + n for n in {*_NUMBERS, *_HANDLERS, *_SIZES}))
            raise self.reader.error(
                f"unknown directive .{name}",
                line.number,
                max(1, line.column - len(name) - 2),
                known,
            )

    def set_arch(self, line: SassLine) -> None:
        """.arch"""
        arch = line.argument.strip("\"'")
        if arch not in RUN:
            raise self.error(line, f"architecture {arch!r}", "one of " + ", ".join(RUN))
        if self.forced is None:
            self.arch = arch

    def header_flags(self, line: SassLine) -> None:
        """.headerflags of nvdisasm"""
        found = re.search(r"\bEF_CUDA_SM(\d+)\b", line.argument)
        if found and f"sm_{found[1]}" in RUN and self.forced is None and self.arch is None:
            self.arch = f"sm_{found[1]}"

    def section_info(self, line: SassLine) -> None:
        """.sectioninfo and .sectionflags of nvdisasm"""
        for key, name in (("SHI_REGISTERS", "registers"), ("SHF_BARRIERS", "barriers")):
            found = re.search(rf"{key}=(\d+)", line.argument)
            if found and self.drafts and not self.skipping:
                self.drafts[-1].numbers[name] = int(found[1])

    def other(self, line: SassLine) -> None:
        """.other of nvdisasm: what kind of function this is"""
        name, _, flags = line.argument.partition(",")
        for draft in self.drafts:
            if draft.name == name.strip():
                draft.is_kernel = "STO_CUDA_ENTRY" in flags

    def kernel(self, line: SassLine) -> None:
        """.kernel"""
        self.begin(line, line.argument, True)

    def func(self, line: SassLine) -> None:
        """.func"""
        self.begin(line, line.argument, False)

    def section(self, line: SassLine) -> None:
        """.section"""
        name = line.argument.split(",")[0].strip()
        if name.startswith(".text."):
            self.begin(line, name.removeprefix(".text."), ",@progbits" not in line.argument)
            return
        if not NAME.match(name):
            raise self.error(line, f"{name!r} is no section", "a section's name")
        self.skipping = True
        self.data = self.sections.setdefault(name, Data()) if name.startswith(_KEPT) else None
        self.launch_bank = self.data if name.startswith(".nv.constant0.") else None

    def text(self, line: SassLine) -> None:
        """.text"""
        self.skipping, self.data = False, None

    def const(self, line: SassLine) -> None:
        """.const"""
        bank = self.number(line, line.argument, 0, 17)
        if self.drafts and self._loose is None:
            self.data = self.drafts[-1].banks.setdefault(bank, Data())
        else:
            self.data = self.sections.setdefault(f".nv.constant{bank}", Data())

    def equ(self, line: SassLine) -> None:
        """.equ"""
        parts = re.split(r"[\s,=]+", line.argument)
        if len(parts) != 2 or not NAME.match(parts[0]):
            raise self.error(line, f"{line.argument!r}", "NAME, NUMBER")
        self.names[parts[0]] = self.number(line, parts[1], -(1 << 31))

    def param(self, line: SassLine) -> None:
        """.param"""
        draft = self.draft(line)
        words = [w for w in re.split(r"[\s,]+", line.argument) if w]
        if not words:
            raise self.error(line, "no size", "a size in bytes, or NAME SIZE")
        named = NAME.match(words[0]) and words[0] not in self.names
        if named and len(words) != 2:
            raise self.error(line, f"{line.argument!r}", "NAME SIZE")
        for text in words[1:] if named else words:
            size_text, _, at = text.partition("@")
            size = self.number(line, size_text, 1, 4096)
            end = max((p.offset + p.size for p in draft.params), default=0)
            align = min(size & -size, 8)
            offset = self.number(line, at, 0, 4096) if at else end + -end % align
            draft.params.append(SassParam(words[0] if named else "", offset, size))
            if self.param_base + offset + size > MAX_BANK_BYTES:
                raise self.error(line, "too many parameters")
        if named:
            draft.places[words[0]] = self.param_base + draft.params[-1].offset

    def _data(self, line: SassLine) -> None:
        if self.data is None:
            if self.skipping:
                return
            raise self.error(
                line, f".{line.directive} outside of data", ".const or .section before"
            )
        content = self.data.content
        if self.data is self.launch_bank:
            # Bank 0 is the launch's: only its size counts, and texture headers print as words.
            content += bytes(self._size(line))
        elif line.directive == "zero":
            content += bytes(self.number(line, line.argument, 0, MAX_DATA_BYTES))
        else:
            size = _SIZES[line.directive]
            for text in line.argument.split(","):
                content += self._element(line, text.strip(), size)
        if len(content) > MAX_DATA_BYTES:
            raise self.error(line, "too much data", f"at most {MAX_DATA_BYTES} bytes")

    def _size(self, line: SassLine) -> int:
        if line.directive == "zero":
            return self.number(line, line.argument, 0, MAX_DATA_BYTES)
        return _SIZES[line.directive] * (line.argument.count(",") + 1)

    def _element(self, line: SassLine, text: str, size: int) -> bytes:
        """One element of a data line: a number, or a symbol's address."""
        found = _ADDRESS_OF.match(text)
        if found and found[1] not in self.names and size in _ADDRESS_TYPES:
            assert self.data is not None
            at = len(self.data.content)
            self.data.relocations.append(SassRelocation(at, _ADDRESS_TYPES[size], found[1]))
            text = found[2] or "0"
        value = self.number(line, text, -(1 << 8 * size - 1), (1 << 8 * size) - 1)
        return (value & (1 << 8 * size) - 1).to_bytes(size, "little")

    def reloc(self, line: SassLine) -> None:
        """.reloc"""
        parts = re.split(r"[\s,]+", line.argument)
        named = len(parts) in (3, 4) and (parts[2] == _UNNAMED or NAME.match(parts[2]))
        if not named:
            raise self.error(line, f"{line.argument!r}", "OFFSET, TYPE, SYMBOL")
        addend = self.number(line, parts[3], -(1 << 63)) if len(parts) > 3 else None
        place, kind = self.number(line, parts[0]), self.number(line, parts[1])
        symbol = NO_SYMBOL if parts[2] == _UNNAMED else parts[2]
        row = SassRelocation(place, kind, symbol, addend)
        self.draft(line).relocations.append(row)

    def extern(self, line: SassLine) -> None:
        """.extern: functions the loader brings"""
        names = [name.strip() for name in line.argument.split(",")]
        for name in names:
            if not NAME.match(name):
                raise self.error(line, f"{name!r} is no name", "a function's name")
        self.draft(line).externs += names

    def targets(self, line: SassLine) -> None:
        """.targets"""
        numbers = [self.number(line, text.strip()) for text in line.argument.split(",")]
        if len(numbers) < 2:
            raise self.error(line, f"{line.argument!r}", "OFFSET, TARGET...")
        self.draft(line).targets[numbers[0]] = tuple(numbers[1:])


_KEPT = (".nv.constant", ".nv.shared", ".nv.global")
_UNNAMED = "-"
"""What stands for the symbol of a relocation that has none."""
_ADDRESS_TYPES = {4: 1, 8: 2}
"""Bytes of an address -> R_CUDA_32, R_CUDA_64."""
_ADDRESS_OF = re.compile(r"`?\(?([A-Za-z_$][\w.$@]*)\)?(?:\s*\+\s*(\w+))?$")
_NUMBERS = {
    "registers": (1, 255),
    "regs": (1, 255),
    "barriers": (0, 16),
    "shared": (0, 1 << 20),
    "local": (0, 1 << 20),
    "frame": (0, 1 << 20),
    "crs": (0, 1 << 20),
}
_ALIASES = {"regs": "registers", "frame": "local"}
_HANDLERS: dict[str, Callable[[DirectiveFiles, SassLine], None]] = {
    "arch": DirectiveFiles.set_arch,
    "target": DirectiveFiles.set_arch,
    "headerflags": DirectiveFiles.header_flags,
    "sectioninfo": DirectiveFiles.section_info,
    "sectionflags": DirectiveFiles.section_info,
    "other": DirectiveFiles.other,
    "kernel": DirectiveFiles.kernel,
    "entry": DirectiveFiles.kernel,
    "func": DirectiveFiles.func,
    "section": DirectiveFiles.section,
    "text": DirectiveFiles.text,
    "const": DirectiveFiles.const,
    "equ": DirectiveFiles.equ,
    "set": DirectiveFiles.equ,
    "param": DirectiveFiles.param,
    "reloc": DirectiveFiles.reloc,
    "targets": DirectiveFiles.targets,
    "extern": DirectiveFiles.extern,
    **FRAME_HANDLERS,
}
_IGNORED = frozenset("global weak type size align elftype file loc visible sectionentsize".split())
