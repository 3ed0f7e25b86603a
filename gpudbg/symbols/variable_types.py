"""Types of a program's module and shared variables.

A symbol gives an address and a size.  The type comes from the DWARF of a `-G` build, else from
the declaration in the source file where that is at hand (as for kernel parameters, see
`gpudbg.toolchain.signatures`), else from the PTX text of a line table for floats.  A type that does
not have the symbol's size is not believed.
"""

from __future__ import annotations

import re
from weakref import WeakKeyDictionary

from gpudbg.expr.types import F32, F64, CType
from gpudbg.formats.names import plain_name
from gpudbg.formats.program import Program
from gpudbg.symbols.declared import Declarations, vector_type
from gpudbg.symbols.dwarf_types import Enumerators, NamedTypes, read_variable_types
from gpudbg.toolchain.signatures import source_texts

_PTX_FLOAT = re.compile(r"\.(?:global|const|shared)\b[^;=\[]*\.f(32|64)\s+([\w$]+)\s*[=;]")
PTX_SECTION = ".nv_debug_ptx_txt"
_CACHE: WeakKeyDictionary[Program, VariableTypes]


class VariableTypes:
    """The types of one program's variables; sources are read when the first is asked for."""

    def __init__(self, program: Program) -> None:
        self._dwarf = read_variable_types(program)
        self._declared = Declarations(source_texts(program))
        text = program.sections[PTX_SECTION].data if PTX_SECTION in program.sections else b""
        found = _PTX_FLOAT.findall(text.replace(b"\0", b"\n").decode("latin-1"))
        self._floats: dict[str, CType] = {n: F32 if bits == "32" else F64 for bits, n in found}
        self._known: dict[tuple[str, int], CType | None] = {}
        self._types = NamedTypes(program)
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
        candidates = (
            self._dwarf.get(symbol),
            self._declared.find(source_name(symbol), size),
            self._floats.get(symbol),
        )
        return next((t for t in candidates if t is not None and t.size == size), None)


def source_name(symbol: str) -> str:
    """The name a variable was declared by: `tile` of `_ZZ1kE4tile`, `ns::lut` of `_ZN2ns3lutE`."""
    local = re.search(r"_ZZ.*E(\d+)(\w+)$", symbol)
    if local is not None:
        return local[2][: int(local[1])]
    return plain_name(symbol).rpartition("$")[2]


_CACHE = WeakKeyDictionary()


def _types_of(program: Program) -> VariableTypes:
    types = _CACHE.get(program)
    if types is None:
        types = _CACHE[program] = VariableTypes(program)
    return types


def variable_type(program: Program, symbol: str, size: int) -> CType | None:
    """The type of a module or shared variable; None where nothing tells it."""
    return _types_of(program).find(symbol, size)


def enumerator(program: Program, name: str) -> tuple[int, CType] | None:
    """Value and type of an enumerator; None where no enumeration has it."""
    return _types_of(program).enumerators.find(name)


def named_type(program: Program, name: str) -> CType | None:
    """The type of a name (`Node`, `ns::Box<int>`, `float4`); None where nothing declares it."""
    return _types_of(program).named(name)
