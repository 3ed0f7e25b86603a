"""A kernel's parameters as its source names them, where the source is at hand.

A cubin gives sizes only.  The source file of its line table (or the .cu file itself) gives names
and C types; they fill in a launch table and name arguments in expressions.  Nothing depends on
them: without a source, or with one that does not fit the sizes, parameters are `arg0`, `arg1`, …
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np

from gpudbg.dataclass import dataclass
from gpudbg.errors import LoadError
from gpudbg.expr.types import TYPE_WORDS, TYPES
from gpudbg.formats.lines import read_lines
from gpudbg.formats.names import parameter_types, plain_name
from gpudbg.formats.program import Kernel, Program
from gpudbg.textlines import MAX_SOURCE_BYTES, is_text_file, read_text
from gpudbg.toolchain.options import looks_like_ptx

_QUALIFIERS = re.compile(
    r"\b(const|volatile|restrict|__restrict__|__restrict|__grid_constant__|struct|std::)\b"
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ATTRIBUTE = re.compile(r"__launch_bounds__\s*\([^()]*\)|\[\[.*?\]\]")
_PTX_PARAM = re.compile(r"\.param\s+([^,]*?)([\w$%]+)\s*((?:\[\s*\d*\s*\])?)\s*(?:,|$)")
MOST_FILES = 1000
"""Files of a line table that are looked into."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a kernel.

    Attributes:
        name: as the source names it, or `arg` and its number.
        size: bytes.
        pointer: whether it is a pointer.
        type: `float`, `unsigned int`, … of the value or of what it points at; "" is unknown.
    """

    name: str
    size: int
    pointer: bool = False
    type: str = ""

    @property
    def declaration(self) -> str:
        """As its source declares it: `float *x`, `int n`; the name and size of an unknown type."""
        star = " *" if self.pointer else " "
        if self.type or self.pointer:
            return f"{self.type or 'void'}{star}{self.name}"
        return f"{self.name} of {self.size} byte{'s'[: self.size > 1]}"

    @property
    def short(self) -> str:
        """The type as launch tables name it: `f32`, `u8`; "" where it is none of those."""
        found = TYPES.get(self.type)
        if found is not None and found.kind == "b":
            return "u8"
        return f"{found.kind}{found.size * 8}" if found is not None and found.kind in "iuf" else ""

    @property
    def element(self) -> np.dtype[np.generic] | None:
        """Of what a pointer points at, where it is a number; None: that is not known."""
        short = self.short if self.pointer else ""
        return np.dtype(f"{short[0]}{int(short[1:]) // 8}") if short else None


def parameters(program: Program, kernel: Kernel, sources: Sequence[Path] = ()) -> list[Parameter]:
    """The kernel's parameters, named and typed where a source tells them.

    Args:
        program: whose kernel it is.
        kernel: the kernel.
        sources: files to look in; the program's own and those of its line table by default.
    """
    for text in source_texts(program, sources):
        if looks_like_ptx(text):
            found = from_ptx(text, kernel)
        else:
            found = from_text(text, kernel) or from_sass(text, kernel)
        if found is not None:
            return _with_types(found, kernel)
    rows = [Parameter(f"arg{p.ordinal}", p.size, p.size == 8) for p in kernel.params]
    return _with_types(rows, kernel)


def _with_types(rows: list[Parameter], kernel: Kernel) -> list[Parameter]:
    """Parameters with the types of the kernel's mangled name, where the source tells none."""
    types = parameter_types(kernel.name)
    if types is None or len(types) != len(rows) or any(row.type for row in rows):
        return rows
    made = [
        _parameter(f"{t} {row.name}", n, row.size)
        for n, (t, row) in enumerate(zip(types, rows, strict=True))
    ]
    known_ = [row for row in made if row is not None]
    return known_ if len(known_) == len(rows) else rows


_KNOWN: WeakKeyDictionary[Kernel, tuple[Parameter, ...]] = WeakKeyDictionary()


def known(program: Program, kernel: Kernel) -> tuple[Parameter, ...]:
    """The kernel's parameters, in order; looked up once."""
    if kernel not in _KNOWN:
        _KNOWN[kernel] = tuple(parameters(program, kernel))
    return _KNOWN[kernel]


def declare(kernel: Kernel, names: Sequence[str], pointers: Sequence[bool]) -> None:
    """Say how the parameters of a kernel are called that no source is read for."""
    held = _KNOWN.get(kernel)
    if held is not None and len(held) == len(names) == len(pointers):
        said = zip(held, names, pointers, strict=True)
        if all([(p.name, p.pointer, p.type) == (name, star, "") for p, name, star in said]):
            return
    rows = zip(sorted(kernel.params, key=lambda p: p.ordinal), names, pointers, strict=False)
    made = tuple(Parameter(name, p.size, pointer) for p, name, pointer in rows)
    if len(made) == len(kernel.params):
        _KNOWN[kernel] = made


def names_of(program: Program, kernel: Kernel) -> tuple[str, ...]:
    """The names of the kernel's parameters, in order."""
    return tuple(p.name for p in known(program, kernel))


def signature(declared: Sequence[Parameter]) -> str:
    """Parameters as a message lists them: `int n, float *x`; "" where no source tells a type."""
    if not any(p.type for p in declared):
        return ""
    return ", ".join(p.declaration for p in declared)


def from_text(text: str, kernel: Kernel) -> list[Parameter] | None:
    """The parameters of the kernel as a C++ source declares them; None where that does not fit."""
    name = re.sub(r"<.*", "", plain_name(kernel.name)).rpartition("::")[2]
    plain = _ATTRIBUTE.sub(" ", _COMMENT.sub(" ", text))
    for match in re.finditer(rf"\b{re.escape(name)}\s*\(", plain):
        before = re.split(r"[;{}]", plain[: match.start()])[-1]
        if "__global__" not in before:
            continue
        words = [_instantiated(w, before, kernel.name) for w in _split(plain, match.end())]
        if len(words) != len(kernel.params):
            continue
        sizes = [p.size for p in sorted(kernel.params, key=lambda p: p.ordinal)]
        rows = [_parameter(w, n, sizes[n]) for n, w in enumerate(words)]
        if all(row is not None for row in rows):
            return [row for row in rows if row is not None]
    return None


def _instantiated(text: str, before: str, kernel: str) -> str:
    """A declaration of a template with its parameters' names replaced by the kernel's arguments."""
    declared = re.search(r"\btemplate\s*<(.*)>", before, re.DOTALL)
    given = re.search(r"<(.*?)>\s*(?:\(|$)", plain_name(kernel))
    if declared is None or given is None:
        return text
    names = [w.partition("=")[0].split()[-1:] for w in _split(declared[1] + ")", 0)]
    for name, argument in zip(names, _split(given[1] + ")", 0), strict=False):
        if name:
            text = re.sub(rf"\b{re.escape(name[0])}\b", argument.strip(), text)
    return text


def source_texts(program: Program, sources: Sequence[Path] = ()) -> Iterator[str]:
    """Texts that may declare the kernel: those the program was made from, then files."""
    if not sources:
        yield from program.sources.values()
    for path in sources or dict.fromkeys(_sources(program)):
        if is_text_file(path, MAX_SOURCE_BYTES):
            with suppress(LoadError):
                yield read_text(path, MAX_SOURCE_BYTES)


def from_ptx(text: str, kernel: Kernel) -> list[Parameter] | None:
    """The parameters of the kernel as a PTX source declares them; None where that does not fit."""
    plain = _COMMENT.sub(" ", text)
    found = re.search(rf"\.entry\s+{re.escape(kernel.name)}\s*\(([^)]*)\)", plain)
    rows = _PTX_PARAM.findall(found[1] if found else "")
    if len(rows) != len(kernel.params):
        return None
    sizes = [p.size for p in sorted(kernel.params, key=lambda p: p.ordinal)]
    return [
        _ptx_parameter(kernel.name, n, words, name, size, bool(array))
        for n, ((words, name, array), size) in enumerate(zip(rows, sizes, strict=True))
    ]


def _ptx_parameter(
    kernel: str, number: int, words: str, name: str, size: int, array: bool
) -> Parameter:
    """One `.param`: what PTX calls `.u64` may be a pointer, so it is one until used otherwise."""
    kind = re.search(r"\.([usfb])(\d+)\b", words)
    # The compiler's own names say no more than the number.
    name = f"arg{number}" if name == f"{kernel}_param_{number}" else name
    if array or kind is None:
        return Parameter(name, size)
    pointer = ".ptr" in words or (kind[1] in "ub" and kind[2] == "64")
    if pointer or kind[1] == "b":
        return Parameter(name, size, pointer)
    type_ = TYPES.get({"u": "u", "s": "i", "f": "f"}[kind[1]] + kind[2])
    return Parameter(name, size, False, type_.name if type_ is not None else "")


def from_sass(text: str, kernel: Kernel) -> list[Parameter] | None:
    """The parameters of the kernel as `.param` directives name them; None where none does."""
    parts = re.split(r"^\s*\.(?:kernel|entry|func)\s+(\S+)", _COMMENT.sub(" ", text), flags=re.M)
    named = dict(zip(parts[1::2], parts[2::2], strict=True))
    # Directives before the first name belong to it.
    body = parts[0] + named.get(kernel.name, "") if len(parts) < 4 else named.get(kernel.name, "")
    names: list[str] = []
    for row in re.findall(r"^\s*\.param\s+(.+)$", body, flags=re.M):
        words = re.split(r"[\s,]+", row.strip())
        names += words[:1] if re.match(r"[A-Za-z_]", words[0]) else [""] * len(words)
    if len(names) != len(kernel.params) or not any(names):
        return None
    sizes = [p.size for p in sorted(kernel.params, key=lambda p: p.ordinal)]
    pairs = enumerate(zip(names, sizes, strict=True))
    return [Parameter(name or f"arg{n}", size, size == 8) for n, (name, size) in pairs]


def _sources(program: Program) -> Iterator[Path]:
    own = Path(program.path)
    if own.suffix in (".cu", ".cuh", ".cpp", ".ptx"):
        yield own
    for file in read_lines(program).files[:MOST_FILES]:
        path = Path(file)
        yield path if path.is_absolute() else own.parent / path
        yield own.parent / path.name
        # Builds often have a folder of their own beside the sources.
        yield own.parent.parent / path.name


def _split(text: str, start: int) -> Iterator[str]:
    """The comma-separated words of a parameter list that begins at `start`."""
    depth, at = 0, start
    for n in range(start, len(text)):
        char = text[n]
        if char in "([<{":
            depth += 1
        elif char in ")]>}" and depth:
            depth -= 1
        elif char == ")" or (char == "," and not depth):
            if text[at:n].strip():
                yield text[at:n]
            at = n + 1
            if char == ")":
                return


def _parameter(text: str, number: int, size: int) -> Parameter | None:
    """One declaration; None where its type cannot have `size` bytes."""
    plain = _QUALIFIERS.sub(" ", text.partition("=")[0])
    words = re.findall(r"[\w:]+|[*&\[]", plain)
    names = [w for w in words if re.fullmatch(r"[A-Za-z_]\w*", w)]
    pointer = any(w in ("*", "&", "[") for w in words)
    named = len(names) > 1 and names[-1] not in TYPE_WORDS and names[-1] not in TYPES
    type_words = names[:-1] if named else names
    name = names[-1] if named else f"arg{number}"
    # What a pointer to pointers points at is no number.
    type_ = TYPES.get(" ".join(type_words)) if plain.count("*") + plain.count("[") < 2 else None
    if pointer != (size == 8) and (pointer or (type_ is not None and type_.size != size)):
        return None
    if not pointer and type_ is not None and type_.size != size:
        return None
    return Parameter(name, size, pointer, type_.name if type_ is not None else "")
