"""Writing a cubin: the ELF layout that ptxas uses, for assembled functions.

`.text.NAME` with registers and symbol in sh_info and the barriers in sh_flags bits 20 and up;
`.nv.info` and `.nv.info.NAME` records; constant banks; `.nv.shared.NAME` without contents.  What
differs by generation stands in `_FORMATS`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from gpudbg.architectures import age
from gpudbg.assembler.family import family_of
from gpudbg.assembler.program import NO_SYMBOL
from gpudbg.code_layout import layout_of
from gpudbg.dataclass import dataclass
from gpudbg.errors import DecodeError
from gpudbg.formats.nvinfo import NAMES
from gpudbg.formats.program import param_base
from gpudbg.isa.family import decode
from gpudbg.isa.operands import SReg
from gpudbg.sm import cfg

if TYPE_CHECKING:
    from gpudbg.assembler.program import SassFunction, SassProgram

PROGBITS, SYMTAB, STRTAB, RELA, NOBITS, REL = 1, 2, 3, 4, 8, 9
DATA_ALIGN = 16
NV_INFO = 0x70000000
WRITE, ALLOC, EXEC, INFO_LINK = 1, 2, 4, 0x40
LOAD, PHDR = 1, 6
ELF_HEADER, SECTION_HEADER, PROGRAM_HEADER, SYMBOL = 64, 64, 56, 24
EM_CUDA, ET_EXEC = 190, 2
API_VERSION = 129
STO_CUDA_ENTRY = 0x10
STB_LOCAL, STB_GLOBAL = 0, 1
SHN_UNDEF = 0
STT_OBJECT, STT_FUNC, STT_SECTION = 1, 2, 3
KPARAM_ANY_BANK = 0x1F000
UNLIMITED_REGISTERS = 0xFF


class ElfFormat(NamedTuple):
    """What a generation of cubins has in its ELF header, and where counts stand.

    Attributes:
        abi, abi_version: EI_OSABI, EI_ABIVERSION.
        version: e_version.
        registers: whether sh_info of code has the registers (else only its REGCOUNT record).
        barriers: whether sh_flags of code has the CTA barriers (else a NUM_BARRIERS record).
    """

    abi: int
    abi_version: int
    version: int
    registers: bool
    barriers: bool


_FORMATS = (
    (100, ElfFormat(0x41, 8, 1, False, False)),
    (90, ElfFormat(0x33, 7, 0x81, False, True)),
    (0, ElfFormat(0x33, 7, 0x81, True, True)),
)
"""First architecture -> format."""
_ACCELERATED_90, _ACCELERATED = 0x800, 0x8
"""The flag of sm_90a, and of the `a` variants from sm_100 on."""


def format_of(arch: str) -> ElfFormat:
    """The format of an architecture's cubins."""
    return next(row for first, row in _FORMATS if age(arch)[0] >= first)


def elf_flags(arch: str) -> int:
    """e_flags: the machine, twice up to sm_90 (once as the PTX target)."""
    number, special = age(arch)[0], arch.endswith("a")
    if format_of(arch).abi == _FORMATS[0][1].abi:
        return number << 8 | 2 | special * _ACCELERATED
    return number << 16 | 0x500 | number | special * _ACCELERATED_90


_CODES = {name: code for code, name in NAMES.items()}


@dataclass(slots=True)
class _Section:
    """A section to be written."""

    name: str
    type: int
    flags: int = 0
    data: bytes = b""
    size: int = 0
    link: int = 0
    info: int = 0
    align: int = 1
    entry: int = 0
    offset: int = 0
    target: str = ""

    @property
    def length(self) -> int:
        """Bytes of memory it takes."""
        return self.size if self.type == NOBITS else len(self.data)


class _Strings:
    """A string table."""

    def __init__(self) -> None:
        self.data = bytearray(1)
        self._places: dict[str, int] = {"": 0}

    def add(self, text: str) -> int:
        """Where a string is."""
        if text not in self._places:
            self._places[text] = len(self.data)
            self.data += text.encode() + b"\0"
        return self._places[text]


def record(name: str, value: bytes | int | None = None) -> bytes:
    """One .nv.info record: no value, a 16-bit one, or bytes."""
    code = _CODES[name]
    if value is None:
        return bytes((1, code, 0, 0))
    if isinstance(value, int):
        return struct.pack("<BBH", 3, code, value)
    return struct.pack("<BBH", 4, code, len(value)) + value


def write_cubin(program: SassProgram) -> bytes:
    """The ELF file of an assembled program."""
    return _Writer(program).write()


class _Writer:
    def __init__(self, program: SassProgram) -> None:
        self._program = program
        self._format = format_of(program.arch)
        self._family = family_of(program.arch)
        self._param_base = param_base(program.arch)
        self._sections: list[_Section] = []

    def write(self) -> bytes:
        """Lay the sections out and write everything."""
        functions = self._program.functions
        self._add(_Section(".shstrtab", STRTAB))
        self._add(_Section(".strtab", STRTAB))
        self._add(_Section(".symtab", SYMTAB, entry=SYMBOL, align=8))
        self._add(_Section(".nv.info", NV_INFO, link=3, align=4))
        for f in functions:
            if f.is_kernel:
                self._add(
                    _Section(f".nv.info.{f.name}", NV_INFO, INFO_LINK, link=3, align=4,
                             target=f".text.{f.name}")
                )  # fmt: skip
        for data in self._program.sections:
            flags = ALLOC if data.name.startswith(".nv.constant") else ALLOC | WRITE
            if not data.empty:
                self._add(_Section(data.name, PROGBITS, flags, data.data, align=DATA_ALIGN))
        for f in functions:
            self._banks(f)
        for f in functions:
            flags = ALLOC | EXEC | f.barriers * self._format.barriers << 20
            align = self._family.text_align
            self._add(_Section(f".text.{f.name}", PROGBITS, flags, f.code(), link=3, align=align))
        for f in functions:
            if f.shared:
                self._add(
                    _Section(f".nv.shared.{f.name}", NOBITS, WRITE | ALLOC | INFO_LINK,
                             size=f.shared, align=4, target=f".text.{f.name}")
                )  # fmt: skip
        for data in self._program.sections:
            if data.empty:
                self._add(
                    _Section(
                        data.name, NOBITS, WRITE | ALLOC, size=len(data.data), align=DATA_ALIGN
                    )
                )
        self._symbols()
        self._infos()
        self._relocations()
        return self._emit()

    def _add(self, section: _Section) -> None:
        self._sections.append(section)

    def _index(self, name: str) -> int:
        return next(n for n, s in enumerate(self._sections, 1) if s.name == name)

    def _section(self, name: str) -> _Section:
        return self._sections[self._index(name) - 1]

    def _relocations(self) -> None:
        """`.rel.NAME` of every section with places to relocate; their fields hold the addend."""
        places = {f".text.{f.name}": f.relocations for f in self._program.functions}
        places |= {s.name: s.relocations for s in self._program.sections}
        for name, rows in places.items():
            if rows:
                explicit = any(r.addend is not None for r in rows)
                pairs = [(r, (r.offset, self._rows[r.symbol] << 32 | r.type)) for r in rows]
                data = b"".join(
                    struct.pack("<QQq", *head, r.addend or 0)
                    if explicit
                    else struct.pack("<QQ", *head)
                    for r, head in pairs
                )
                kind, prefix = (RELA, ".rela") if explicit else (REL, ".rel")
                self._add(
                    _Section(f"{prefix}{name}", kind, INFO_LINK, data, link=3, align=8,
                             entry=24 if explicit else 16, target=name)
                )  # fmt: skip

    def _banks(self, f: SassFunction) -> None:
        banks = dict(f.banks)
        if f.is_kernel:
            banks[0] = bytes(self._param_base + f.param_bytes)
        for number, data in sorted(banks.items()):
            self._add(
                _Section(f".nv.constant{number}.{f.name}", PROGBITS, ALLOC | INFO_LINK, data,
                         align=4, target=f".text.{f.name}")
            )  # fmt: skip

    # ---- symbols and records -----------------------------------------------------------
    def _symbols(self) -> None:
        strings = _Strings()
        rows = [bytes(SYMBOL)]
        self._rows: dict[str, int] = {NO_SYMBOL: 0}

        def symbol(
            name: str, kind: int, bind: int, other: int, section: str, size: int, at: int = 0
        ) -> None:
            self._rows[name] = len(rows)
            where = self._index(section) if section else SHN_UNDEF
            rows.append(
                struct.pack("<IBBHQQ", strings.add(name), bind << 4 | kind, other, where, at, size)
            )

        for s in self._sections:
            if s.flags & ALLOC:
                symbol(s.name, STT_SECTION, STB_LOCAL, 0, s.name, 0)
        for data in self._program.sections:
            for name, at, size in data.symbols:
                symbol(name, STT_OBJECT, STB_LOCAL, 0, data.name, size, at)
        locals_ = [f for f in self._program.functions if not f.is_kernel]
        kernels = [f for f in self._program.functions if f.is_kernel]
        for f in locals_:
            symbol(f.name, STT_FUNC, STB_LOCAL, 0, f".text.{f.name}", len(f.code()))
        first_global = len(rows)
        for f in kernels:
            size = len(f.code())
            symbol(f.name, STT_FUNC, STB_GLOBAL, STO_CUDA_ENTRY, f".text.{f.name}", size)
        for name in dict.fromkeys(n for f in self._program.functions for n in f.externs):
            if name not in self._rows:
                symbol(name, STT_FUNC, STB_GLOBAL, 0, "", 0)
        for name, row in self._program.undefined.items():
            if name not in self._rows:
                info, other = row.get("info", 0), row.get("other", 0)
                size, at = row.get("size", 0), row.get("value", 0)
                symbol(name, info & 15, info >> 4, other, "", size, at)
        table = self._section(".symtab")
        table.data, table.link, table.info = b"".join(rows), 2, first_global
        self._section(".strtab").data = bytes(strings.data)
        for f in self._program.functions:
            text = self._section(f".text.{f.name}")
            registers = f.registers if self._format.registers else 0
            text.info = registers << 24 | self._rows[f.name]

    def _infos(self) -> None:
        common = b""
        for f in self._program.functions:
            row = self._rows[f.name]
            common += record("REGCOUNT", struct.pack("<II", row, f.registers))
            common += record("FRAME_SIZE", struct.pack("<II", row, f.local))
            common += record("MIN_STACK_SIZE", struct.pack("<II", row, f.local))
        self._section(".nv.info").data = common
        for f in self._program.functions:
            if f.is_kernel:
                self._section(f".nv.info.{f.name}").data = b"".join(self._kernel_info(f))

    def _kernel_info(self, f: SassFunction) -> Iterator[bytes]:
        bank = self._rows[f".nv.constant0.{f.name}"]
        yield record("CUDA_API_VERSION", struct.pack("<I", API_VERSION))
        yield record("PARAM_CBANK", struct.pack("<IHH", bank, self._param_base, f.param_bytes))
        yield record("CBANK_PARAM_SIZE", f.param_bytes)
        for n in range(len(f.params) - 1, -1, -1):
            p = f.params[n]
            packed = p.size << 18 | KPARAM_ANY_BANK
            yield record("KPARAM_INFO", struct.pack("<IHHI", 0, n, p.offset, packed))
        yield record("MAXREG_COUNT", UNLIMITED_REGISTERS)
        if f.barriers and not self._format.barriers:
            yield bytes((2, _CODES["NUM_BARRIERS"], f.barriers, 0))
        if f.externs:
            rows = [self._rows[name] for name in f.externs]
            yield record("EXTERNS", struct.pack(f"<{len(rows)}I", *rows))
        exits, ids, uses_z = _places(f, self._program.arch)
        if ids:
            yield record("S2RCTAID_INSTR_OFFSETS", struct.pack(f"<{len(ids)}I", *ids))
        if exits:
            yield record("EXIT_INSTR_OFFSETS", struct.pack(f"<{len(exits)}I", *exits))
        if uses_z:
            yield record("CTAIDZ_USED")
        branches = _branches(f, self._program.arch)
        if branches:
            yield record("INDIRECT_BRANCH_TARGETS", branches)
        if f.crs is not None:
            yield record("CRS_STACK_SIZE", struct.pack("<I", f.crs))

    # ---- bytes -------------------------------------------------------------------------
    def _emit(self) -> bytes:
        names = _Strings()
        for s in self._sections:
            names.add(s.name)
        self._section(".shstrtab").data = bytes(names.data)
        at = ELF_HEADER
        for s in self._sections:
            at += -at % s.align
            s.offset = at
            at += 0 if s.type == NOBITS else len(s.data)
        at += -at % 8
        headers_at = at
        programs_at = headers_at + SECTION_HEADER * (len(self._sections) + 1)
        programs = self._program_headers(programs_at)
        out = bytearray(self._header(headers_at, programs_at, len(programs)))
        for s in self._sections:
            if s.type != NOBITS:
                out += bytes(s.offset - len(out)) + s.data
        out += bytes(headers_at - len(out))
        out += bytes(SECTION_HEADER)
        for s in self._sections:
            info = self._index(s.target) if s.target else s.info
            out += struct.pack("<IIQQQQIIQQ", names.add(s.name), s.type, s.flags, 0, s.offset,
                               s.length, s.link, info, s.align, s.entry)  # fmt: skip
        return bytes(out) + b"".join(programs)

    def _header(self, headers_at: int, programs_at: int, programs: int) -> bytes:
        ident = b"\x7fELF" + bytes((2, 1, 1, self._format.abi, self._format.abi_version)) + bytes(7)
        flags = elf_flags(self._program.arch)
        return ident + struct.pack(
            "<HHIQQQIHHHHHH", ET_EXEC, EM_CUDA, self._format.version, 0, programs_at, headers_at,
            flags, ELF_HEADER, PROGRAM_HEADER, programs, SECTION_HEADER, len(self._sections) + 1, 1,
        )  # fmt: skip

    def _program_headers(self, at: int) -> list[bytes]:
        count = 2 + any(s.type == NOBITS for s in self._sections)
        size = PROGRAM_HEADER * count

        def row(kind: int, flags: int, offset: int, in_file: int, in_memory: int) -> bytes:
            return struct.pack("<IIQQQQQQ", kind, flags, offset, 0, 0, in_file, in_memory, 8)

        held = [s for s in self._sections if s.flags & ALLOC and s.type != NOBITS]
        first = min(s.offset for s in held)
        last = max(s.offset + len(s.data) for s in held)
        rows = [row(PHDR, 5, at, size, size), row(LOAD, 5, first, last - first, last - first)]
        if count == 3:
            total = sum(s.size for s in self._sections if s.type == NOBITS)
            rows.append(row(LOAD, 6, last, 0, total))
        return rows


def _places(f: SassFunction, arch: str) -> tuple[list[int], list[int], bool]:
    """Offsets of EXITs and of S2R SR_CTAID.X, and whether SR_CTAID.Z is read."""
    exits, ids = [], []
    uses_z = False
    layout = layout_of(arch)
    for offset, word in zip(layout.offsets(len(f.code())), f.words, strict=False):
        try:
            insn = decode(word, arch)
        except DecodeError:
            continue
        if insn.op == "EXIT":
            exits.append(offset)
        register = insn.o.get("sr")
        if isinstance(register, SReg):
            uses_z |= register.name == "SR_CTAID.Z"
            if register.name == "SR_CTAID.X":
                ids.append(offset)
    return exits, ids, uses_z


def _branches(f: SassFunction, arch: str) -> bytes:
    """INDIRECT_BRANCH_TARGETS rows: what the file says, else where the token stack leads."""
    words = zip(layout_of(arch).offsets(len(f.code())), f.words, strict=False)
    flow = cfg.Flow(words, arch, f.targets)
    out = b""
    for offset, insn in flow.instructions.items():
        if insn is not None and insn.op in cfg.POPS | cfg.INDIRECT:
            targets = f.targets.get(offset) or flow.targets(offset)
            out += struct.pack(f"<III{len(targets)}I", offset, 0, len(targets), *targets)
    return out if len(out) < 0xFFFF else b""
