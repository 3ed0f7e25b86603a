"""A loaded program as frozen data: what every layer above `formats` knows of a cubin.

`Program` is the file's content; `CodeImage` (made by `gpudbg.formats.layout.relocate`) is that
content placed at addresses: the code bytes the SM fetches and the constant banks it reads.

Address spaces used here:

* A *code address* is what the SM's PC holds: `CodeImage.base` plus a position in
  `CodeImage.code`.  All `.text.*` sections of a program share ONE code address space, so
  absolute jumps (JCAL, JMX, function pointers) and section-relative ones (BRA, CAL, BRX with
  `-next_pc`) both work, whichever section the warp is in.  The default base is not 0, so a
  null function pointer is an invalid PC.
* An *offset* is relative to the start of a `.text` section: what nvdisasm prints, what
  `kernel+0x48` means, and what .nv.info attributes list.
  Line tables are read on demand: `gpudbg.formats.lines`.
* A *segment* is a memory section with device addresses: `.nv.global`, `.nv.global.init`
  and the module-wide constant banks (`.nv.constant3`), whose address can be taken too.

`Kernel`, `Program` and `CodeImage` compare and hash by identity, so they can be cache keys.

Facts: ELF gABI; the records of `.nv.info*` as ptxas 12 writes them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import field
from weakref import WeakKeyDictionary

from gpudbg.architectures import RUN, age
from gpudbg.code_layout import CodeLayout, layout_of
from gpudbg.dataclass import dataclass
from gpudbg.formats.names import shown_names

PARAM_BASE = 0x140
"""Byte offset of the first kernel parameter in constant bank 0, on sm_50 to sm_62."""

_PARAM_BASES = ((100, 0x380), (90, 0x210), (70, 0x160), (0, PARAM_BASE))
"""First architecture -> offset of the first parameter, as compilers place it."""


def param_base(arch: str) -> int:
    """Byte offset of the first kernel parameter in constant bank 0 on an architecture."""
    number, _ = age(arch)
    return next(base for first, base in _PARAM_BASES if number >= first)


MAX_BANK_BYTES = 0x10000
"""Largest constant bank."""

SUPPORTED_ARCHS = RUN
"""Architectures whose code can be run."""

DEFAULT_CODE_BASE = 0x1000
"""Code address of the first section unless the loader chooses another."""

CODE_ALIGN = 128
"""Every section starts at a multiple of this code address (an instruction cache line)."""

EXTERN_STRIDE = 32
"""Bytes between the stub addresses of undefined functions."""

IMAGE_DESCRIPTOR_BYTES = 64
"""Stride of the driver's texture and surface descriptors, which code takes from `SIZES`."""
SIZES = {
    ".nv.surfrefDescSize": IMAGE_DESCRIPTOR_BYTES,
    ".nv.unified.texrefDescSize": IMAGE_DESCRIPTOR_BYTES,
    ".nv.texrefDescSize": IMAGE_DESCRIPTOR_BYTES,
    ".nv.samplerrefDescSize": IMAGE_DESCRIPTOR_BYTES,
}
"""Symbols that the driver defines, and their values."""

UNKNOWN_STACK = 0xFFFFFFFF
"""What ptxas writes for a stack size that recursion or indirect calls leave open."""


def runs_on(code: str, arch: str) -> bool:
    """Whether code for one architecture runs on a GPU of another: same major version, no newer
    minor; `sm_90a` on a GPU of that very version alone, which `sm_90` and `sm_90a` both name
    (*documented*)."""
    (made, _), (there, _) = age(code), age(arch)
    if code.endswith("a"):
        return made == there
    return made // 10 == there // 10 and made <= there


@dataclass(frozen=True, slots=True)
class Param:
    """One kernel parameter.

    Attributes:
        ordinal: position in the parameter list, from 0.
        offset: bytes from `Kernel.param_base` in constant bank 0.
        size: bytes.
    """

    ordinal: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class IndirectBranch:
    """Possible targets of one SYNC, BRK, RET, BRX or indirect call, as ptxas computed them.

    Attributes:
        offset: the instruction's offset in its section.
        is_call: an indirect call (its targets are not listed).
        targets: section offsets control can go to.
    """

    offset: int
    is_call: bool
    targets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Symbol:
    """One row of the symbol table.

    Attributes:
        name: as in the file (mangled); "" for section symbols without a name.
        kind: "func", "object", "section", "texture", "sampler", "surface", "notype" or "other".
        binding: "local", "global" or "weak".
        section: name of the section it lives in; "" when undefined or absolute.
        value: offset within the section.
        size: bytes, 0 when unknown.
        is_entry: a kernel's entry (st_other 0x10).
        index: row in the symbol table.
        is_managed: host and device share it (st_other 0x4).
    """

    name: str
    kind: str
    binding: str
    section: str
    value: int
    size: int
    is_entry: bool
    index: int
    is_managed: bool = False

    @property
    def is_undefined(self) -> bool:
        """Whether another module (or the system) was to provide it."""
        return self.section == ""


@dataclass(frozen=True, slots=True)
class Section:
    """One ELF section.

    Attributes:
        name: such as ".text.saxpy".
        index: row in the section table.
        type: sh_type; 8 (NOBITS) has no bytes in the file.
        flags: sh_flags; bits 20..26 of a .text section count barriers.
        link: sh_link.
        info: sh_info; of a .text section (registers << 24) | symbol index.
        offset: position in the file.
        size: bytes in memory.
        align: sh_addralign.
        data: the bytes, empty for NOBITS.
    """

    name: str
    index: int
    type: int
    flags: int
    link: int
    info: int
    offset: int
    size: int
    align: int
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Relocation:
    """A place that needs an address.

    Attributes:
        section: name of the section to patch.
        offset: byte position in that section.
        type: the R_CUDA_* number.
        symbol: row of `Program.symbols`.
        addend: explicit addend (RELA); None when the patched field holds it (REL).
        file_offset: where the relocation itself stands in the file, for messages.
    """

    section: str
    offset: int
    type: int
    symbol: int
    addend: int | None
    file_offset: int


@dataclass(frozen=True, slots=True)
class Function:
    """A named range of code: a kernel, or a device function.

    Attributes:
        name: the symbol as in the file, such as "$func_ptr$_Z6op_addii".
        label: a short name for display ("_Z6op_addii"); equals `name` for kernels.
        section: its .text section.
        offset: start within the section.
        size: bytes.
        is_kernel: whether it can be launched.
    """

    name: str
    label: str
    section: str
    offset: int
    size: int
    is_kernel: bool


@dataclass(frozen=True, slots=True)
class Global:
    """A module-scope variable: `__device__`, `__managed__`, `__constant__` or a string literal.

    Attributes:
        name: the symbol (mangled as in the file).
        space: "global" or "const".
        segment: the section that holds it, a key of `Program.segments`.
        offset: bytes from the segment's start.
        size: bytes.
        managed: host and device have it at one address (`__managed__`).
    """

    name: str
    space: str
    segment: str
    offset: int
    size: int
    managed: bool = False


@dataclass(frozen=True, slots=True)
class SharedVar:
    """A `__shared__` variable named in the symbol table.

    Attributes:
        name: the symbol.
        kernel: the kernel whose shared memory holds it; "" when the file does not say.
        offset: byte offset in the CTA's shared memory.
        size: bytes; 0 for `extern __shared__`.
    """

    name: str
    kernel: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A memory section that needs device addresses before the program can run.

    Attributes:
        name: the section, such as ".nv.global.init" or ".nv.constant3".
        space: "global" or "const".
        bank: constant bank number, or None in global memory.
        size: bytes.
        align: required alignment of its address.
        init: initial bytes before relocation; shorter than `size` where zeros follow.
    """

    name: str
    space: str
    bank: int | None
    size: int
    align: int
    init: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Kernel:
    """One entry point and what a launch of it needs.

    Attributes:
        name: the entry's symbol.
        section: its .text section, such as ".text.saxpy".
        code: that section's bytes before relocation: 32-byte bundles of four 8-byte words,
            the first word of each the control word.
        file_offset: where `code` starts in the file.
        num_regs: registers a thread needs (sh_info and EIATTR_REGCOUNT).
        num_barriers: CTA barriers it uses (0 to 16).
        params: parameters by ordinal.
        param_base: offset of the parameters in constant bank 0 (0x140).
        param_bytes: bytes of all parameters with padding.
        shared_static_bytes: bytes of static shared memory; dynamic shared memory follows.
        frame_bytes: the entry's own stack frame.
        min_stack_bytes: local stack that it and its callees need; None when unknown
            (recursion, indirect calls, debug builds).
        max_stack_bytes: upper bound where ptxas gives one, else None.
        crs_stack_bytes: call/return (divergence) stack bytes of a warp; None when unknown,
            0 when the file says nothing.
        local_bytes: local memory of a thread that can be known: `min_stack_bytes`, else
            `frame_bytes`.
        exit_offsets: offsets of its EXIT instructions.
        indirect_branches: targets of stack and indirect branches.
        bank_sizes: bytes of each constant bank of this kernel {0: ..., 2: ..., 3: ..., 4: ...}.
        max_regs: MAXREG_COUNT; 255 = no limit was asked.
        max_threads: threads in a CTA by `__launch_bounds__`/.maxntid as (x, y, z), or None.
        required_threads: .reqntid as (x, y, z), or None.
        cluster: `__cluster_dims__` as (x, y, z), or None.
        max_cluster: most CTAs of a cluster that it was compiled for, or None.
        uses_ctaid_z: whether it reads %ctaid.z (CTAIDZ_USED).
        externs: names of undefined functions it may call (vprintf, malloc, ...).
        attributes: every .nv.info record as (attribute name, value), in file order; a value
            is None, an int or bytes.
    """

    name: str
    section: str
    code: bytes = field(repr=False)
    file_offset: int
    num_regs: int
    num_barriers: int
    params: tuple[Param, ...]
    param_base: int
    param_bytes: int
    shared_static_bytes: int
    frame_bytes: int
    min_stack_bytes: int | None
    max_stack_bytes: int | None
    crs_stack_bytes: int | None
    local_bytes: int
    exit_offsets: tuple[int, ...]
    indirect_branches: tuple[IndirectBranch, ...]
    bank_sizes: Mapping[int, int]
    max_regs: int
    max_threads: tuple[int, int, int] | None
    required_threads: tuple[int, int, int] | None
    uses_ctaid_z: bool
    externs: tuple[str, ...]
    attributes: tuple[tuple[str, int | bytes | None], ...] = field(repr=False)
    cluster: tuple[int, int, int] | None = None
    max_cluster: int | None = None


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Program:
    """Everything read from one cubin (or one file of raw words).

    Attributes:
        path: where it came from; "<bytes>" when it had no file.
        arch: "sm_50", "sm_52", ...
        kernels: entry points by name, in the order of their sections.
        functions: all named code ranges, kernels included, by name.
        symbols: the symbol table by row.
        sections: all sections by name (a repeated name keeps the first).
        code_sections: names of the .text sections, in layout order.
        segments: memory sections that need device addresses, by name.
        globals: module-scope variables by name.
        shared_vars: named `__shared__` variables.
        relocations: what `layout.relocate` applies.
        debug_relocations: those of debug sections, by section name.
        images: names of bound texture and surface references: name -> "texture"/"surface".
        externs: undefined functions, by name, in symbol order.
        toolkit: CUDA API version that wrote it, such as "12.9", or "".
        debug: a -G build (has .debug_info).
        raw: made from raw instruction words, not from an ELF file.
        data: the whole file, for debug information readers.
        sources: texts that the program was made from, by the name the line table has or ends
            with; empty for what was read from a file of machine code.
        marks: source lines of what was assembled from the first of `sources`: section ->
            (offset, line) of its instructions; `formats.lines` reads them as a line table.
        elsewhere: names of the kernels in other cubins of the same file.
    """

    path: str
    arch: str
    kernels: Mapping[str, Kernel]
    functions: Mapping[str, Function]
    symbols: tuple[Symbol, ...] = field(repr=False)
    sections: Mapping[str, Section] = field(repr=False)
    code_sections: tuple[str, ...]
    segments: Mapping[str, Segment]
    globals: Mapping[str, Global]
    shared_vars: tuple[SharedVar, ...]
    relocations: tuple[Relocation, ...] = field(repr=False)
    debug_relocations: Mapping[str, tuple[Relocation, ...]] = field(repr=False)
    images: Mapping[str, str]
    externs: tuple[str, ...]
    toolkit: str
    debug: bool
    raw: bool
    data: bytes = field(repr=False)
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)
    marks: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict, repr=False)
    elsewhere: tuple[str, ...] = field(default=(), repr=False)

    @property
    def layout(self) -> CodeLayout:
        """Where instructions stand in its code."""
        return layout_of(self.arch)

    def shown(self, label: str) -> str:
        """A function's name for people: without C++ mangling where that says which one it is."""
        return _shown(self).get(label, label)


_SHOWN: WeakKeyDictionary[Program, dict[str, str]] = WeakKeyDictionary()


def _shown(program: Program) -> dict[str, str]:
    found = _SHOWN.get(program)
    if found is None:
        found = _SHOWN[program] = shown_names((*program.kernels, *program.functions))
    return found


@dataclass(frozen=True, slots=True)
class Placement:
    """Where one .text section lies in the code address space.

    Attributes:
        section: the section's name.
        address: code address of its first byte.
        size: bytes.
    """

    section: str
    address: int
    size: int


@dataclass(frozen=True, slots=True)
class BoundImage:
    """A constant word that must hold a texture or surface header index before a launch.

    Attributes:
        bank: number of the constant bank (0).
        offset: byte offset of the 32-bit word in the bank.
        kind: "texture", "sampler" or "surface".
        symbol: the reference's name.
    """

    bank: int
    offset: int
    kind: str
    symbol: str


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class CodeImage:
    """A program placed at addresses, ready for the SM.

    Attributes:
        program: what was placed.
        base: code address of `code[0]`.
        code: all .text sections, relocated; gaps are zero (an illegal word).
        placements: the sections by ascending address.
        entries: code address of each kernel's first word.
        externs: stub addresses of undefined functions -> name.  They lie above `code`; a warp
            whose PC gets there called something this program does not contain.
        segments: relocated initial bytes of each segment, to be written to the device address
            it was given; zeros follow up to `Segment.size` (all of it for `.nv.global`).
        banks: constant banks of each kernel: kernel -> bank -> bytes.  Bank 0 is zero below
            `param_base` and where the parameters go.  A bank that is also a segment
            (bank 3) is given here with its initial contents; its live contents are in memory.
        bound_images: words of a kernel's `banks` that wait for texture and surface header
            indices, by kernel.
    """

    program: Program
    base: int
    code: bytes = field(repr=False)
    placements: tuple[Placement, ...]
    entries: Mapping[str, int]
    externs: Mapping[int, str]
    segments: Mapping[str, bytes] = field(repr=False)
    banks: Mapping[str, Mapping[int, bytes]] = field(repr=False)
    bound_images: Mapping[str, tuple[BoundImage, ...]] = field(repr=False)

    @property
    def end(self) -> int:
        """Code address after the last byte of `code`."""
        return self.base + len(self.code)

    def placement_at(self, address: int) -> Placement | None:
        """The section that holds a code address, or None."""
        at = bisect_right(self.placements, address, key=lambda place: place.address) - 1
        # Of empty sections at one address, the last one counts.
        place = self.placements[at] if at >= 0 else None
        return place if place and address < place.address + place.size else None

    def section_offset(self, address: int) -> tuple[str, int] | None:
        """(section, offset) of a code address, or None outside every section."""
        place = self.placement_at(address)
        return (place.section, address - place.address) if place else None

    def address_in(self, section: str, offset: int) -> int:
        """Code address of an offset in a section.

        Raises:
            KeyError: no such section.
        """
        for place in self.placements:
            if place.section == section:
                return place.address + offset
        raise KeyError(section)

    def function_at(self, address: int) -> tuple[Function, int] | None:
        """(function, offset from its start) of a code address, the innermost one, or None."""
        where = self.section_offset(address)
        if where is None:
            return None
        section, offset = where
        best: Function | None = None
        for fn in self.program.functions.values():
            if fn.section != section or not fn.offset <= offset:
                continue
            inside = offset < fn.offset + fn.size or fn.is_kernel
            if inside and (best is None or fn.offset >= best.offset):
                best = fn
        return (best, offset - best.offset) if best else None

    def describe(self, address: int) -> str:
        """A code address as users read it: "saxpy+0x48", or "0x1048" outside every function.

        The stub of an undefined function is shown as its name.  A device function inside a
        kernel's section is shown from that kernel's start, as nvdisasm numbers its words.
        """
        where = self.section_offset(address)
        if where is None:
            return self.externs.get(address & -EXTERN_STRIDE, f"0x{address:x}")
        section, offset = where
        return f"{self.program.shown(section.removeprefix('.text.'))}+0x{offset:x}"
