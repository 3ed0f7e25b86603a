"""Types of a program's module and shared variables.

A symbol gives an address and a size.  The type comes from the DWARF of a `-G` build, else from
the declaration in the source file where that is at hand (as for kernel parameters, see
`gpudbg.toolchain.signatures`), else from the PTX text of a line table for floats.  A type that does
not have the symbol's size is not believed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from weakref import WeakKeyDictionary

from gpudbg.expr.types import F32, F64, Array, CType
from gpudbg.formats.names import plain_name
from gpudbg.formats.program import Program
from gpudbg.symbols.declared import Declarations, vector_type
from gpudbg.symbols.dwarf_types import Enumerators, NamedTypes, read_variable_types
from gpudbg.symbols.function_names import readable, written_name
from gpudbg.toolchain.signatures import source_texts

_PTX_FLOAT = re.compile(r"\.(?:global|const|shared)\b[^;=\[]*\.f(32|64)\s+([\w$]+)\s*[=;]")
PTX_SECTION = ".nv_debug_ptx_txt"
_CACHE: WeakKeyDictionary[Program, VariableTypes]


class VariableTypes:
    """The types of one program's variables; sources are read when the first is asked for."""

    def __init__(self, program: Program) -> None:
        self._dwarf = read_variable_types(program)
        self._texts = tuple(source_texts(program))
        self._types = NamedTypes(program)
        self._declared = Declarations(self._texts, self._types.find)
        text = program.sections[PTX_SECTION].data if PTX_SECTION in program.sections else b""
        found = _PTX_FLOAT.findall(text.replace(b"\0", b"\n").decode("latin-1"))
        self._floats: dict[str, CType] = {n: F32 if bits == "32" else F64 for bits, n in found}
        self._known: dict[tuple[str, int], CType | None] = {}
        self._named: dict[str, CType | None] = {}
        self.enumerators = Enumerators(program)

    def find(self, symbol: str, size: int) -> CType | None:
        """The type of a variable of `size` bytes; None where nothing tells it."""
        key = symbol, size
        if key not in self._known:
            self._known[key] = self._find(symbol, size)
        return self._known[key]

    def named(self, name: str) -> CType | None:
        """The type of a name; None where nothing declares it."""
        plain = name.replace(" ", "")
        if plain not in self._named:
            last = plain.rpartition("::")[2] if "<" not in plain else plain
            self._named[plain] = (
                self._types.find(plain) or vector_type(last) or self._declared.named(last)
            )
        return self._named[plain]

    def _find(self, symbol: str, size: int) -> CType | None:
        declared = self._declared.find(source_name(symbol), size)
        candidates = (
            self._dwarf.get(symbol),
            declared or self._of_instance(symbol, size),
            self._floats.get(symbol),
        )
        found = (_filling(t, size) for t in candidates if t is not None)
        return next((t for t in found if t.size == size), None)

    def _of_instance(self, symbol: str, size: int) -> CType | None:
        """The type of what an instance of a template declares (`__shared__ T tile[N]`):
        its arguments are read as names of the source."""
        inside = re.match(r"_ZZ(.*)E\d+\w", symbol)
        name = written_name(readable(f"_Z{inside[1]}")) if inside is not None else None
        arguments = [
            line
            for identifier, given in (name.parts if name is not None else ())
            if given is not None
            for line in self._arguments(identifier, given)
        ]
        if not arguments:
            return None
        texts = Declarations([*arguments, *self._texts], self._types.find)
        return texts.find(source_name(symbol), size)

    def _arguments(self, template: str, given: tuple[str, ...]) -> Iterator[str]:
        """`using T = float;` for each argument of a function or class template."""
        head = re.compile(rf"template\s*<([^<>]*)>[^;{{}}]*?\b{re.escape(template)}\b")
        found = next((m for text in self._texts if (m := head.search(text))), None)
        for declared, value in zip(found[1].split(",") if found else (), given, strict=False):
            words = re.findall(r"\w+", declared.partition("=")[0])
            if len(words) < 2:
                continue
            if words[0] in ("class", "typename"):
                yield f"using {words[-1]} = {value};"
            else:
                yield f"constexpr int {words[-1]} = {value};"

    def element(self, symbol: str, room: int) -> CType | None:
        """The elements of an array that only ends with its memory; None where nothing tells."""
        found = self._dwarf.get(symbol) or self._declared.find(source_name(symbol), room)
        return found.target if isinstance(found, Array) else None


def _filling(type_: CType, size: int) -> CType:
    """An array that is declared without its extent with that of its symbol."""
    if isinstance(type_, Array) and not type_.count and type_.target.size:
        return replace(type_, count=size // type_.target.size)
    return type_


def source_name(symbol: str) -> str:
    """The name a variable was declared by: `tile` of `_ZZ1kE4tile`, `ns::lut` of `_ZN2ns3lutE`."""
    local = re.search(r"_ZZ.*E(\d+)(\w+)$", symbol)
    if local is not None:
        return local[2][: int(local[1])]
    return plain_name(symbol).rpartition("$")[2]


def local_symbol(function: str) -> str:
    """How the symbols begin of variables that a function declares: `_ZZ1kE` of `k`."""
    return f"_ZZ{function[2:]}E" if function.startswith("_Z") else f"_ZZ{len(function)}{function}E"


_CACHE = WeakKeyDictionary()


def _types_of(program: Program) -> VariableTypes:
    types = _CACHE.get(program)
    if types is None:
        types = _CACHE[program] = VariableTypes(program)
    return types


def variable_type(program: Program, symbol: str, size: int) -> CType | None:
    """The type of a module or shared variable; None where nothing tells it."""
    return _types_of(program).find(symbol, size)


def open_array(program: Program, symbol: str, room: int) -> Array | None:
    """The type of `extern __shared__ float x[]`: as many elements as there is room for, in bytes;
    None where nothing tells what they are."""
    element = _types_of(program).element(symbol, room)
    return Array(element, max(room // element.size, 1)) if element and element.size else None


def enumerator(program: Program, name: str) -> tuple[int, CType] | None:
    """Value and type of an enumerator; None where no enumeration has it."""
    return _types_of(program).enumerators.find(name)


def named_type(program: Program, name: str) -> CType | None:
    """The type of a name (`Node`, `ns::Box<int>`, `float4`); None where nothing declares it."""
    return _types_of(program).named(name)
