"""A cubin (the ELF file that ptxas, NVRTC and nvlink write for one architecture) as a `Program`.

Facts: e_machine 190; e_flags low byte is the architecture; .text.KERNEL carries registers in
sh_info bits 24..31 and barriers in sh_flags bits 20..26; entry points have st_other 0x10;
.nv.constantN[.KERNEL] are the constant banks; .nv.shared.KERNEL has the static shared size.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import field
from pathlib import Path
from types import MappingProxyType

from gpudbg.architectures import LISTED, WIDE, is_wide
from gpudbg.dataclass import dataclass
from gpudbg.errors import LoadError
from gpudbg.formats import nvinfo
from gpudbg.formats.elf import EM_CUDA, SHT_NOBITS, Elf, as_load_error, machine_name, read_elf
from gpudbg.formats.program import (
    MAX_BANK_BYTES,
    SUPPORTED_ARCHS,
    UNKNOWN_STACK,
    Function,
    Global,
    IndirectBranch,
    Kernel,
    Param,
    Program,
    Section,
    Segment,
    SharedVar,
    Symbol,
    param_base,
)
from gpudbg.formats.reading import read_bytes

TEXT = ".text."
SHARED = (".nv_debug.shared", ".nv.shared")
MAX_SEGMENT_BYTES = 24 << 30
"""Largest module-scope section: the memory of the largest supported GPU (Tesla M40 and P40)."""

_BANK = re.compile(r"\.nv\.constant(\d{1,2})(?:\.(.+))?$", re.DOTALL)
_DEVICE_FN = re.compile(r"^\$(.+?)\$(.+)$", re.DOTALL)
_IMAGE_KINDS = ("texture", "sampler", "surface")
_NO_LIMIT = 0xFF
_NEW_ABI, _NEW_SPECIAL, _SPECIAL, _FIRST_SPECIAL = 0x41, 0x8, 0x800, 90
"""EI_OSABI since sm_100, the flags of sm_100a and sm_90a, and the first architecture with one."""
_COMPAT, _ACCELERATED, _YES = ".nv.compat", 0x09, 1
"""Where CUDA 13 says instead of a flag that code is for an `a` architecture: records, their
attribute and its value (`cuobjdump -elf` calls it CUDA_ACCELERATOR_TARGET)."""


def read_cubin(
    source: str | Path | bytes,
    path: str | None = None,
    *,
    bare: bool = False,
    archs: Collection[str] = SUPPORTED_ARCHS,
) -> Program:
    """Read a cubin.

    Args:
        source: a file's path, or its bytes.
        path: the name to use in messages when `source` is bytes.
        bare: also one without kernels: device functions can be listed all the same.
        archs: architectures that will do: those that run, or all that can be listed.

    Returns:
        The program, not yet placed at addresses (`gpudbg.formats.layout.relocate` does that).

    Raises:
        LoadError: unreadable file, not a 64-bit cubin, an unsupported architecture, damaged or
            truncated contents, no kernels.
    """
    if isinstance(source, bytes):
        data, name = source, path or "<bytes>"
    else:
        data, name = read_bytes(source), str(source)
    elf = read_elf(data, name)
    arch = _arch(elf, archs)
    with as_load_error(name, "cubin"):
        program = _program(elf, arch, data)
    if not program.kernels and not bare:
        raise LoadError("contains no kernels", path=name, hint="`gpudbg dis` lists its functions")
    return program


def architecture(data: bytes, path: str) -> str:
    """The architecture of a cubin that can be listed; "" for any other file."""
    try:
        return _arch(read_elf(data, path, tables=False), LISTED)
    except LoadError:
        return ""


def _arch(elf: Elf, archs: Collection[str]) -> str:
    """The architecture, such as "sm_50".

    Raises:
        LoadError: not a CUDA ELF file, or an architecture that is not supported.
    """
    if elf.machine != EM_CUDA:
        raise LoadError(
            f"an ELF file for {machine_name(elf.machine)}, not a cubin", path=elf.path, offset=18
        )
    # The toolkits for sm_100 and later moved the architecture up by a byte (EI_OSABI 0x41).
    new = elf.abi == _NEW_ABI
    number = elf.flags >> 8 & 0xFF if new else elf.flags & 0xFF
    flagged = elf.flags & (_NEW_SPECIAL if new else _SPECIAL) or (new and _is_accelerated(elf))
    arch = f"sm_{number}a" if flagged and number >= _FIRST_SPECIAL else f"sm_{number}"
    if arch not in archs:
        listed = "; `gpudbg dis` and `gpudbg info` list it" if arch in WIDE else ""
        raise LoadError(
            f"is for {arch}, which is not supported",
            path=elf.path,
            offset=0x30,
            hint="supported: " + ", ".join(archs) + listed,
        )
    return arch


def _is_accelerated(elf: Elf) -> bool:
    """Whether the file's records say that its code is for an `a` architecture alone."""
    section = next((s for s in elf.sections if s.name == _COMPAT), None)
    records = [] if section is None else nvinfo.read_records(section.data, elf.path, section.offset)
    return any(r.attribute == _ACCELERATED and r.value == _YES for r in records)


@dataclass(slots=True)
class _Info:
    """What the .nv.info records of one function say."""

    frame: int = 0
    min_stack: int | None = None
    max_stack: int | None = None
    crs_stack: int | None = 0
    regs: int = 0
    barriers: int = 0
    params: list[Param] = field(default_factory=list)
    param_base: int | None = None
    param_bytes: int | None = None
    max_regs: int = _NO_LIMIT
    max_threads: tuple[int, int, int] | None = None
    required: tuple[int, int, int] | None = None
    cluster: tuple[int, int, int] | None = None
    max_cluster: int | None = None
    ctaid_z: bool = False
    exits: tuple[int, ...] = ()
    branches: list[IndirectBranch] = field(default_factory=list)
    externs: list[int] = field(default_factory=list)
    attributes: list[tuple[str, int | bytes | None]] = field(default_factory=list)


def _known(size: int) -> int | None:
    """A stack size, or None for the value that means unknown."""
    return None if size == UNKNOWN_STACK else size


def _apply(info: _Info, record: nvinfo.InfoRecord, path: str) -> None:
    """Take one record of `.nv.info.FUNCTION` into `info`."""
    info.attributes.append((record.name, record.value))
    value = record.value
    match record.name:
        case "CTAIDZ_USED":
            info.ctaid_z = True
        case "CBANK_PARAM_SIZE" if isinstance(value, int):
            info.param_bytes = value
        case "MAXREG_COUNT" if isinstance(value, int):
            info.max_regs = value
        case "PARAM_CBANK":
            info.param_base, size = nvinfo.param_cbank(record, path)
            info.param_bytes = size if info.param_bytes is None else info.param_bytes
        case "KPARAM_INFO":
            info.params.append(nvinfo.kparam(record, path))
        case "KPARAM_INFO_V2":
            info.params.append(nvinfo.large_kparam(record, path))
        case "MAX_THREADS":
            info.max_threads = nvinfo.threads(record, path)
        case "REQNTID":
            info.required = nvinfo.threads(record, path)
        case "CTA_PER_CLUSTER":
            given = nvinfo.threads(record, path)
            info.cluster = given if all(given) else None
        case "MAX_CLUSTER_RANK":
            info.max_cluster = nvinfo.word(record, path) or None
        case "EXIT_INSTR_OFFSETS":
            info.exits = nvinfo.words(record, path)
        case "CRS_STACK_SIZE":
            info.crs_stack = _known(nvinfo.word(record, path))
        case "INDIRECT_BRANCH_TARGETS":
            info.branches.extend(nvinfo.branches(record, path))
        case "NUM_BARRIERS" if isinstance(record.value, int):
            info.barriers = record.value & 0xFF
        case "EXTERNS":
            info.externs.extend(nvinfo.words(record, path))


_PER_SYMBOL = {
    "FRAME_SIZE": "frame",
    "MIN_STACK_SIZE": "min_stack",
    "MAX_STACK_SIZE": "max_stack",
    "REGCOUNT": "regs",
}


def _read_info(elf: Elf, symbols: tuple[Symbol, ...]) -> tuple[dict[str, _Info], str]:
    """All .nv.info records, by function name; and the toolkit's version."""
    infos: dict[str, _Info] = {}
    toolkit = ""
    for section in elf.sections:
        if section.name != ".nv.info" and not section.name.startswith(".nv.info."):
            continue
        function = section.name[len(".nv.info.") :]
        for record in nvinfo.read_records(section.data, elf.path, section.offset):
            if record.name == "CUDA_API_VERSION":
                version = nvinfo.word(record, elf.path)
                toolkit = f"{version // 10}.{version % 10}"
            if record.name in _PER_SYMBOL:
                row, value = nvinfo.symbol_word(record, elf.path)
                if row < len(symbols):
                    info = infos.setdefault(symbols[row].name, _Info())
                    known = value if record.name in ("FRAME_SIZE", "REGCOUNT") else _known(value)
                    setattr(info, _PER_SYMBOL[record.name], known)
                    info.attributes.append((record.name, value))
            elif function:
                _apply(infos.setdefault(function, _Info()), record, elf.path)
    return infos, toolkit


def _is_text(section: Section) -> bool:
    """Whether a section holds instructions."""
    return section.name.startswith(TEXT) and section.type != SHT_NOBITS


def _functions(symbols: Iterable[Symbol], texts: dict[str, Section]) -> Iterator[Function]:
    """Named code ranges that lie inside their sections."""
    for symbol in symbols:
        section = texts.get(symbol.section)
        if symbol.kind != "func" or section is None or symbol.value >= section.size:
            continue
        inner = _DEVICE_FN.match(symbol.name)
        yield Function(
            name=symbol.name,
            label=inner.group(2) if inner else symbol.name,
            section=symbol.section,
            offset=symbol.value,
            size=min(symbol.size, section.size - symbol.value),
            is_kernel=symbol.is_entry,
        )


def _segments(elf: Elf) -> Iterator[Segment]:
    """Module-wide memory: .nv.global*, and constant banks without a kernel's name.

    Raises:
        LoadError: a size no GPU has.
    """
    for section in elf.sections:
        bank = _BANK.match(section.name)
        if bank and bank.group(2) is None:
            number: int | None = int(bank.group(1))
        elif section.name.startswith(".nv.global") and section.flags & 2:
            number = None
        else:
            continue
        # Bank 4 holds addresses of globals, not data: nothing can take its own address.
        if number == 4 or section.size == 0:
            continue
        if section.size > MAX_SEGMENT_BYTES:
            raise LoadError(
                f"{section.name} claims 0x{section.size:x} bytes of memory",
                path=elf.path,
                offset=section.offset,
            )
        yield Segment(
            name=section.name,
            space="global" if number is None else "const",
            bank=number,
            size=section.size,
            align=max(1, min(section.align, 4096)),
            init=section.data,
        )


def _bank_sizes(elf: Elf) -> dict[str, dict[int, int]]:
    """Bytes of the constant banks by kernel; those of the whole module stand under ""."""
    sizes: dict[str, dict[int, int]] = {}
    for section in elf.sections:
        bank = _BANK.match(section.name)
        if bank:
            sizes.setdefault(bank.group(2) or "", {})[int(bank.group(1))] = section.size
    return sizes


def _kernel(elf: Elf, arch: str, fn: Function, text: Section, info: _Info,
            symbols: tuple[Symbol, ...], sizes: dict[str, int],
            banks: dict[str, dict[int, int]]) -> Kernel:  # fmt: skip
    """One entry point from its section, records and the sizes of its other sections and banks.

    Without parameters no record says where they would begin, above the launch words.
    """
    base = param_base(arch) if info.param_base is None else info.param_base
    params = tuple(sorted(info.params, key=lambda p: p.ordinal))
    last = max((p.offset + p.size for p in params), default=0)
    param_bytes = max(info.param_bytes or 0, last)
    if base + param_bytes > MAX_BANK_BYTES:
        raise LoadError(
            f"kernel {fn.name} claims {param_bytes} bytes of parameters at 0x{base:x}",
            path=elf.path,
        )
    externs = (symbols[row].name for row in info.externs if row < len(symbols))
    return Kernel(
        name=fn.name,
        section=text.name,
        code=text.data,
        file_offset=text.offset,
        num_regs=max(text.info >> 24 & 0xFF, info.regs & 0xFF, 1),
        num_barriers=min(max(text.flags >> 20 & 0x7F, info.barriers), 16),
        params=params,
        param_base=base,
        param_bytes=param_bytes,
        shared_static_bytes=sizes.get(f".nv.shared.{fn.name}", 0),
        frame_bytes=info.frame,
        min_stack_bytes=info.min_stack,
        max_stack_bytes=info.max_stack,
        crs_stack_bytes=info.crs_stack,
        local_bytes=max(info.min_stack or 0, info.frame, sizes.get(f".nv.local.{fn.name}", 0)),
        exit_offsets=info.exits,
        indirect_branches=tuple(info.branches),
        bank_sizes=MappingProxyType(
            dict(sorted({**banks.get("", {}), **banks.get(fn.name, {})}.items()))
        ),
        max_regs=info.max_regs,
        max_threads=info.max_threads,
        required_threads=info.required,
        uses_ctaid_z=info.ctaid_z,
        externs=tuple(externs),
        attributes=tuple(info.attributes),
        cluster=info.cluster,
        max_cluster=info.max_cluster,
    )


def _globals(symbols: Iterable[Symbol], segments: dict[str, Segment]) -> Iterator[Global]:
    """Module-scope variables inside their segments."""
    for symbol in symbols:
        segment = segments.get(symbol.section)
        if symbol.kind != "object" or segment is None:
            continue
        if symbol.value + symbol.size <= segment.size:
            place = segment.space, segment.name, symbol.value, symbol.size
            yield Global(symbol.name, *place, symbol.is_managed)


def _shared_vars(symbols: Iterable[Symbol]) -> Iterator[SharedVar]:
    """Named `__shared__` variables; debug builds keep `extern` arrays in a section of their own."""
    for symbol in symbols:
        if symbol.kind == "object" and symbol.section.startswith(SHARED):
            kernel = symbol.section.removeprefix(SHARED[1]) if symbol.section != SHARED[0] else ""
            yield SharedVar(symbol.name, kernel.lstrip("."), symbol.value, symbol.size)


def _program(elf: Elf, arch: str, data: bytes) -> Program:
    """Put the parts together.

    Raises:
        LoadError: code that is no whole number of words, damaged records.
    """
    sections: dict[str, Section] = {}
    for section in elf.sections:
        sections.setdefault(section.name, section)
    texts = {s.name: s for s in sections.values() if _is_text(s)}
    for text in texts.values():
        word_bytes = 16 if is_wide(arch) else 8
        if text.size % word_bytes:
            raise LoadError(
                f"{text.name} has {text.size} bytes, not a whole number of {word_bytes}-byte words",
                path=elf.path,
                offset=text.offset,
            )
    functions = {f.name: f for f in _functions(elf.symbols, texts)}
    infos, toolkit = _read_info(elf, elf.symbols)
    sizes = {s.name: s.size for s in sections.values()}
    banks = _bank_sizes(elf)
    kernels = {
        f.name: _kernel(
            elf, arch, f, texts[f.section], infos.get(f.name, _Info()), elf.symbols, sizes, banks
        )
        for f in sorted(
            (f for f in functions.values() if f.is_kernel),
            key=lambda f: (sections[f.section].index, f.offset),
        )
    }
    segments = {s.name: s for s in _segments(elf)}
    undefined = [s for s in elf.symbols if s.is_undefined and s.name and s.kind == "func"]
    return Program(
        path=elf.path,
        arch=arch,
        kernels=MappingProxyType(kernels),
        functions=MappingProxyType(functions),
        symbols=elf.symbols,
        sections=MappingProxyType(sections),
        code_sections=tuple(texts),
        segments=MappingProxyType(segments),
        globals=MappingProxyType({g.name: g for g in _globals(elf.symbols, segments)}),
        shared_vars=tuple(_shared_vars(elf.symbols)),
        relocations=elf.relocations,
        debug_relocations=MappingProxyType(elf.debug_relocations),
        images=MappingProxyType({s.name: s.kind for s in elf.symbols if s.kind in _IMAGE_KINDS}),
        externs=tuple(s.name for s in undefined),
        toolkit=toolkit,
        debug=".debug_info" in sections,
        raw=False,
        data=data,
    )
