"""Placing a program: code addresses for its sections, relocations applied, banks filled.

All .text sections go one after another into one code address space, in the order of the file,
each at a multiple of `CODE_ALIGN`.  This serves both kinds of control transfer that ptxas
emits: within a section everything is relative to the PC (BRA, SSY, CAL, and BRX, whose
immediate is minus the next PC, so its register holds a section offset); across sections
everything is absolute (JCAL and JMX through R_CUDA_ABS32_20, R_CUDA_32 and R_CUDA_64).

Functions that the file leaves undefined (vprintf, malloc, ...) get a stub address above the
code, so that a program that never calls them runs, and a call of one can be named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeVar

from gpudbg.architectures import is_wide
from gpudbg.bits import mask
from gpudbg.errors import LoadError
from gpudbg.formats.program import (
    CODE_ALIGN,
    DEFAULT_CODE_BASE,
    EXTERN_STRIDE,
    MAX_BANK_BYTES,
    SIZES,
    BoundImage,
    CodeImage,
    Placement,
    Program,
    Relocation,
    Symbol,
)
from gpudbg.formats.relocations import TYPES, Patch, Value, type_name

CONST_PREFIX = ".nv.constant"
_IMAGES = {Value.TEXTURE: "texture", Value.SAMPLER: "sampler", Value.SURFACE: "surface"}


def place(program: Program, code_base: int = DEFAULT_CODE_BASE) -> tuple[Placement, ...]:
    """Code addresses of the program's .text sections.

    Args:
        program: the program.
        code_base: address of the first section, a multiple of `CODE_ALIGN`.
    """
    address = code_base
    places = []
    for name in program.code_sections:
        size = program.sections[name].size
        places.append(Placement(name, address, size))
        address += -(-size // CODE_ALIGN) * CODE_ALIGN
    return tuple(places)


def bank_section(name: str) -> tuple[int, str] | None:
    """(bank number, kernel or "") of a constant section's name, or None."""
    if not name.startswith(CONST_PREFIX):
        return None
    number, _, kernel = name[len(CONST_PREFIX) :].partition(".")
    return (int(number), kernel) if number.isdecimal() and len(number) <= 2 else None


def relocate(
    program: Program,
    code_base: int = DEFAULT_CODE_BASE,
    segment_addresses: Mapping[str, int] | None = None,
) -> CodeImage:
    """Place a program and apply its relocations.

    Args:
        program: the program.
        code_base: code address of the first section.
        segment_addresses: device address of each of `program.segments`.  Those that no
            relocation needs may be missing.

    Returns:
        The image; the caller writes `image.segments` to the addresses it chose.

    Raises:
        LoadError: a relocation of unknown or unsupported type, outside its section, or against
            a symbol that has no address.
    """
    return _Relocator(program, code_base, segment_addresses or {}).image()


Answer = TypeVar("Answer")


class _PerKernel(Mapping[str, Answer]):
    """What is the case for each kernel, worked out when somebody asks.

    A library has thousands of kernels, of which a launch runs one.
    """

    def __init__(self, kernels: Mapping[str, object], make: Callable[[str], Answer]) -> None:
        self._kernels = kernels
        self._make = make
        self._made: dict[str, Answer] = {}

    def __getitem__(self, kernel: str) -> Answer:
        if kernel not in self._made:
            if kernel not in self._kernels:
                raise KeyError(kernel)
            self._made[kernel] = self._make(kernel)
        return self._made[kernel]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)


class _Relocator:
    """The working state of one `relocate` call."""

    def __init__(self, program: Program, code_base: int, segments: Mapping[str, int]) -> None:
        self.program = program
        self.places = place(program, code_base)
        self.base = code_base
        self.code_at = {p.section: p.address for p in self.places}
        self.segment_at = segments
        end = max((p.address + p.size for p in self.places), default=code_base)
        self.end = -(-end // CODE_ALIGN) * CODE_ALIGN
        self.externs = {
            name: self.end + CODE_ALIGN + i * EXTERN_STRIDE
            for i, name in enumerate(dict.fromkeys(program.externs))
        }
        self.bytes: dict[str, bytearray] = {}
        self.images: dict[str, list[BoundImage]] = {}
        self.bank_sections: dict[str, list[tuple[int, str]]] = {}
        for name in program.sections:
            if (found := bank_section(name)) is not None:
                self.bank_sections.setdefault(found[1], []).append((found[0], name))

    def image(self) -> CodeImage:
        """Do all of it."""
        for relocation in self.program.relocations:
            self._apply(relocation)
        code = bytearray(self.end - self.base)
        for spot in self.places:
            start = spot.address - self.base
            code[start : start + spot.size] = self._content(spot.section)
        entries = {
            k.name: self.code_at[k.section] + self.program.functions[k.name].offset
            for k in self.program.kernels.values()
        }
        return CodeImage(
            program=self.program,
            base=self.base,
            code=bytes(code),
            placements=self.places,
            entries=MappingProxyType(entries),
            externs=MappingProxyType({a: name for name, a in self.externs.items()}),
            segments=MappingProxyType({n: self._content(n) for n in self.program.segments}),
            banks=_PerKernel(self.program.kernels, self._banks),
            bound_images=_PerKernel(self.program.kernels, self._bound_images),
        )

    def _content(self, section: str) -> bytes:
        """A section's bytes after relocation."""
        changed = self.bytes.get(section)
        return bytes(changed) if changed is not None else self.program.sections[section].data

    def _banks(self, kernel: str) -> Mapping[int, bytes]:
        """The constant banks that a kernel sees; bank 0 has room for its parameters."""
        entry = self.program.kernels[kernel]
        least = {0: entry.param_base + entry.param_bytes}
        banks: dict[int, bytes] = {0: b""}
        for owner in ("", kernel):
            for number, name in self.bank_sections.get(owner, ()):
                size = self.program.sections[name].size
                banks[number] = self._content(name)
                least[number] = max(least.get(number, 0), min(size, MAX_BANK_BYTES))
        filled = {n: data + bytes(max(least[n] - len(data), 0)) for n, data in banks.items()}
        return MappingProxyType(dict(sorted(filled.items())))

    def _bound_images(self, kernel: str) -> tuple[BoundImage, ...]:
        """The image words of the banks that a kernel sees."""
        return tuple(self.images.get("", ())) + tuple(self.images.get(kernel, ()))

    def _fail(self, relocation: Relocation, why: str, hint: str | None = None) -> LoadError:
        """An error that names the relocation."""
        return LoadError(
            f"relocation {type_name(relocation.type)} of "
            f"{relocation.section}+0x{relocation.offset:x} {why}",
            path=self.program.path,
            offset=relocation.file_offset,
            hint=hint,
        )

    def _apply(self, relocation: Relocation) -> None:
        """Patch one place."""
        kind = TYPES.get(relocation.type)
        if kind is None:
            raise self._fail(relocation, "is unknown")
        if kind.patches is None or (kind.wide and not is_wide(self.program.arch)):
            raise self._fail(relocation, f"does not exist on {self.program.arch}")
        section = self.program.sections[relocation.section]
        if relocation.offset + kind.bytes > len(section.data):
            raise self._fail(relocation, "lies outside the section")
        body = self.bytes.get(relocation.section)
        if body is None:
            body = self.bytes[relocation.section] = bytearray(section.data)
        symbol = self.program.symbols[relocation.symbol] if self.program.symbols else None
        if symbol is None and kind.patches:
            raise self._fail(relocation, "has no symbol")
        spot = slice(relocation.offset, relocation.offset + kind.bytes)
        word = int.from_bytes(body[spot], "little")
        for patch in kind.patches:
            assert symbol is not None
            word = self._patch(word, patch, relocation, symbol)
        body[spot] = word.to_bytes(kind.bytes, "little")

    def _patch(self, word: int, patch: Patch, relocation: Relocation, symbol: Symbol) -> int:
        """`word` with one field filled."""
        field = mask(patch.width) << patch.low
        if patch.value in _IMAGES:
            bank = bank_section(relocation.section)
            if bank is not None:
                image = BoundImage(bank[0], relocation.offset, _IMAGES[patch.value], symbol.name)
                self.images.setdefault(bank[1], []).append(image)
            return word
        value = self._value(patch.value, relocation, symbol)
        if patch.value not in (Value.BANK, Value.CLEAR):
            # A REL record keeps its addend where the value goes.
            implicit = (word & field) >> patch.low << patch.shift
            value += implicit if relocation.addend is None else relocation.addend
        if patch.value is Value.BANK_WORD:
            value >>= 2
        return (word & ~field) | (value >> patch.shift << patch.low & field)

    def _value(self, value: Value, relocation: Relocation, symbol: Symbol) -> int:
        """What the symbol contributes to a field of this kind."""
        if value is Value.CLEAR:
            return 0
        if value in (Value.BANK, Value.BANK_WORD, Value.BANK_BYTE):
            bank = bank_section(symbol.section)
            if bank is None:
                raise self._fail(relocation, f"needs a constant bank, not {symbol.name}")
            return bank[0] if value is Value.BANK else symbol.value
        return self._address(value, relocation, symbol)

    def _address(self, value: Value, relocation: Relocation, symbol: Symbol) -> int:
        """The address of a symbol, by where it lives."""
        if symbol.is_undefined and symbol.name in SIZES:
            return SIZES[symbol.name]
        if symbol.section in self.code_at:
            return self.code_at[symbol.section] + symbol.value
        if symbol.is_undefined and symbol.name in self.externs:
            return self.externs[symbol.name]
        if symbol.section in self.program.segments:
            if symbol.section not in self.segment_at:
                raise self._fail(relocation, f"needs the address of {symbol.section}")
            return self.segment_at[symbol.section] + symbol.value
        in_window = symbol.section.startswith((".nv.shared", ".nv_debug.shared", ".nv.local"))
        if in_window or bank_section(symbol.section) is not None:
            if value is Value.GENERIC:
                raise self._fail(relocation, f"needs a generic address of {symbol.name}")
            return symbol.value
        if symbol.is_undefined and symbol.binding == "weak":
            return 0
        raise self._fail(
            relocation,
            f"names undefined symbol {symbol.name or symbol.index}",
            "another module has to define it: link them first, or build without -rdc=true",
        )
