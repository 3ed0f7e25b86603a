"""Types of variables as a CUDA C++ source declares them: scalars, arrays, pointers, structures.

    __constant__ float lut[N];      struct Cfg { float scale; int n; };  __device__ Cfg cfg;

This is a reader of declarations, not a compiler: what it does not understand has no type, and the
caller holds every type against the size of the variable's symbol.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from gpudbg.errors import CommandError
from gpudbg.expr.parser import Binary, Node, Number, parse
from gpudbg.expr.types import (
    I32,
    NOTHING,
    TYPES,
    Array,
    CType,
    Pointer,
    Scalar,
    Struct,
    StructField,
)

_SPACE = re.compile(r"\b(?:__device__|__constant__|__shared__|__managed__)\b")
_QUALIFIERS = re.compile(
    r"\b(?:__device__|__constant__|__shared__|__managed__|static|extern|const|volatile|constexpr|"
    r"inline|mutable|struct|union|enum|class|typename|register|__restrict__)\b|"
    r"\b(?:__align__|alignas|__attribute__)\s*\([^()]*\)+|\bstd::"
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_STRUCT = re.compile(
    r"(?:typedef\s+)?\b(?P<word>struct|union)\b(?P<head>[^{};()]*(?:\([^()]*\))?[^{};()]*)\{"
)
_ENUM = re.compile(r"\benum\s+(?:class\s+|struct\s+)?(\w+)\s*(?::\s*([\w\s]+?))?\s*\{")
_ALIAS = re.compile(r"\btypedef\s+([\w\s:]+?[\s*]+)(\w+)\s*;|\busing\s+(\w+)\s*=\s*([^;]+);")
_NUMBER = re.compile(
    r"#\s*define\s+(\w+)\s+\(?(\d+|0[xX][0-9a-fA-F]+)[uUlL]*\)?\s*$|"
    r"\b(?:constexpr|const)\s+[\w\s]*?\b(\w+)\s*=\s*(\d+|0[xX][0-9a-fA-F]+)[uUlL]*\s*;",
    re.MULTILINE,
)
_DECLARATOR = re.compile(
    r"(?P<stars>[\s*&]*)(?P<name>[A-Za-z_]\w*)\s*(?P<dims>(?:\[[^\]]*\]\s*)*)$"
)
_VECTOR = re.compile(r"(u?)(char|short|int|long|longlong|float|double)([1-4])$")
_VECTOR_BASES = {
    "uchar": "u8", "ushort": "u16", "uint": "u32", "ulong": "u64", "ulonglong": "u64",
    "char": "s8", "short": "s16", "int": "s32", "long": "s64", "longlong": "s64",
    "float": "f32", "double": "f64",
}  # fmt: skip
_UNNAMED = "_unnamed_member"
MAX_DEPTH = 16
"""Structures in structures, and names of names, that are followed."""
MAX_FIELDS = 4096
MAX_STATEMENT = 1 << 16
"""Characters of a declaration, its initial value included."""
_ALIGNED = re.compile(
    r"\b(?:__align__|alignas|__attribute__)\s*(?:\([^()]*\)|\(\([^()]*\([^()]*\)\)\))"
)


def vector_type(name: str) -> Struct | None:
    """CUDA's `float4`, `uint2`, `dim3` …; None for any other name."""
    m = _VECTOR.match(name) if name != "dim3" else _VECTOR.match("uint3")
    if m is None:
        return None
    base = TYPES[_VECTOR_BASES[m[1] + m[2]]]
    rows = tuple(StructField(a, base, n * base.size) for n, a in enumerate("xyzw"[: int(m[3])]))
    return Struct(name, rows, base.size * len(rows))


def alignment(type_: CType) -> int:
    """Bytes a type is aligned to; vectors of two and four to all of theirs, at most 16."""
    match type_:
        case Array(target, _):
            return alignment(target)
        case Struct(name, fields, size):
            if vector_type(name) is not None and len(fields) in (2, 4) and name != "dim3":
                return min(size, 16)
            return max((alignment(f.type) for f in fields), default=1)
    return type_.size


class Declarations:
    """What some source texts declare.

    Args:
        texts: the sources.
        known: types by name that something better than their text tells of.
    """

    def __init__(
        self, texts: Iterable[str], known: Callable[[str], CType | None] = lambda name: None
    ) -> None:
        self._better = known
        self._texts = [_COMMENT.sub(" ", text) for text in texts]
        self._numbers = {
            a or c: int(b or d, 0) for text in self._texts for a, b, c, d in _NUMBER.findall(text)
        }
        self._named: dict[str, CType | None] = {}

    def find(self, name: str, size: int) -> CType | None:
        """The type a variable is declared with; an array's unknown extent follows from the size."""
        last = name.rpartition("::")[2]
        for text in self._texts:
            for statement in _statements(text):
                if not re.search(rf"\b{re.escape(last)}\b", statement):
                    continue
                for declared, type_ in self._declarators(statement, size, MAX_DEPTH):
                    if declared == last and type_ is not None:
                        return type_
        return None

    def _declarators(
        self, statement: str, size: int, depth: int
    ) -> Iterator[tuple[str, CType | None]]:
        """(name, type) of `float a, *b, c[3]`."""
        plain = _QUALIFIERS.sub(" ", statement)
        first, *more = _commas(plain)
        m = _DECLARATOR.search(first)
        if m is None:
            return
        base = self._type(first[: m.start()], depth)
        for part in (first[m.start() :], *more):
            found = _DECLARATOR.fullmatch(part.strip())
            if found is not None:
                yield found["name"], self._shaped(base, found["stars"], found["dims"], size)

    def _shaped(self, base: CType | None, stars: str, dims: str, size: int) -> CType | None:
        for mark in stars:
            if mark in "*&":
                base = Pointer("generic", base if base is not None else NOTHING)
        counts = [self._count(d) for d in re.findall(r"\[([^\]]*)\]", dims)]
        if base is None or not counts:
            return base
        if counts.count(None) == 1:
            known = base.size
            for count in counts:
                known *= count or 1
            counts = [c if c is not None else size // max(known, 1) for c in counts]
        for count in reversed(counts):
            if not count:
                return None
            base = Array(base, count)
        return base

    def _count(self, text: str) -> int | None:
        """A constant expression of numbers, names of numbers and `* + - / <<`."""
        word = re.sub(r"\b[A-Za-z_]\w*\b", lambda m: str(self._numbers.get(m[0], "?")), text)
        if not re.fullmatch(r"[\d\s*+/()<-]{1,60}", word):
            return None
        try:
            return _constant(parse(word))
        except CommandError:
            return None

    def named(self, name: str) -> CType | None:
        """The type of a name; None for one that the texts do not declare."""
        return self._lookup(name, MAX_DEPTH)

    # ---- named types -------------------------------------------------------------------
    def _type(self, text: str, depth: int) -> CType | None:
        name = " ".join(re.sub(r"[&*]", " ", text).split())
        if name in TYPES:
            found: CType | None = TYPES[name]
        else:
            found = self._better(name) or self._lookup(name.rpartition("::")[2], depth)
        for _ in range(text.count("*")):
            found = Pointer("generic", found if found is not None else NOTHING)
        return found

    def _lookup(self, name: str, depth: int) -> CType | None:
        if depth <= 0 or not re.fullmatch(r"\w+", name):
            return None
        if name not in self._named:
            # A structure that points at itself ends here: the pointer's target stays plain.
            self._named[name] = None
            found = vector_type(name) or self._structure(name, depth)
            self._named[name] = found or self._enumeration(name) or self._alias(name, depth)
        return self._named[name]

    def _structure(self, name: str, depth: int) -> Struct | None:
        for text in self._texts:
            for m in _STRUCT.finditer(text):
                end = _closing(text, m.end())
                if end is None:
                    continue
                after = re.match(r"\s*(\w*)", text[end + 1 :])
                names = re.findall(r"\w+", re.sub(r"\([^()]*\)", " ", m["head"].partition(":")[0]))
                typedef = m[0].startswith("typedef") and after is not None and after[1]
                if name not in (names[-1:] or [""])[0:1] and name != typedef:
                    continue
                if ":" in m["head"]:
                    return None  # it has a base
                aligned = re.search(r"(?:alignas|__align__)\s*\(\s*(\d+)\s*\)", m["head"])
                return self._laid_out(
                    name, text[m.end() : end], m["word"] == "union", aligned, depth
                )
        return None

    def _laid_out(
        self, name: str, body: str, union: bool, aligned: re.Match[str] | None, depth: int
    ) -> Struct | None:
        """Members at the offsets that the host's rules give them; None where one is not known."""
        rows: list[StructField] = []
        at, widest = 0, int(aligned[1]) if aligned is not None else 1
        plain_body = _without_bodies(self._inner_named(body, depth))
        for statement in re.split(r";|\b(?:public|private|protected)\s*:", plain_body):
            plain = statement.partition("=")[0].strip()
            if not plain or "(" in plain or plain.startswith(("static", "using", "typedef")):
                continue
            if ":" in plain.replace("::", ""):
                return None  # a bit field
            for member, type_ in self._declarators(plain, 0, depth - 1):
                if type_ is None or len(rows) >= MAX_FIELDS:
                    return None
                step = alignment(type_)
                widest = max(widest, step)
                offset = 0 if union else -(-at // step) * step
                rows.append(StructField(member if member != _UNNAMED else "", type_, offset))
                at = max(at, offset + type_.size)
        if not rows:
            return None
        return Struct(name, tuple(rows), -(-at // widest) * widest)

    def _inner_named(self, body: str, depth: int) -> str:
        """A structure's members with names in the place of structures that stand among them.

        `struct { short lo, hi; } h;` becomes `_inner1 h;`; a name of its own stays.
        """
        at = 0
        while (m := _STRUCT.search(body, at)) is not None:
            end = _closing(body, m.end())
            if end is None or depth <= 0:
                break
            at = end
            if not m["head"].strip():
                name = f"_inner{len(self._named)}"
                self._named[name] = None
                inside, union = body[m.end() : end], m["word"] == "union"
                self._named[name] = self._laid_out(
                    f"{m['word']} {{...}}", inside, union, None, depth - 1
                )
                member = f" {_UNNAMED}" if body[end + 1 :].lstrip().startswith(";") else " "
                body = f"{body[: m.start()]}{name}{member}{body[end + 1 :]}"
                at = m.start() + len(name) + len(member)
            elif not body[end + 1 :].lstrip().startswith(";"):
                # `struct Pair { ... } pair;`: the type is found by its name.
                body = f"{body[: m.start()]}{m['head'].split()[-1]} {body[end + 1 :]}"
                at = m.start()
        return body

    def _enumeration(self, name: str) -> CType | None:
        for text in self._texts:
            for m in _ENUM.finditer(text):
                if m[1] == name:
                    base = TYPES.get(m[2].strip()) if m[2] else I32
                    return replace(base, name=name) if isinstance(base, Scalar) else None
        return None

    def _alias(self, name: str, depth: int) -> CType | None:
        for text in self._texts:
            for old, new, using, meant in _ALIAS.findall(text):
                if name in (new, using):
                    plain = _QUALIFIERS.sub(" ", old or meant)
                    return self._type(plain, depth - 1)
        return None


def _statements(text: str) -> Iterator[str]:
    """Declarations of device variables, without their initial values."""
    for m in _SPACE.finditer(text):
        begin = max(text.rfind(c, 0, m.start()) for c in ";{}\n") + 1
        statement = _to_semicolon(text, begin)
        outside = _ALIGNED.sub(" ", statement)
        if "#" not in statement and "(" not in outside:
            yield re.sub(r"=[^,;]*", "", outside)


def _to_semicolon(text: str, begin: int) -> str:
    """A statement up to its `;`, what stands in braces left out."""
    out: list[str] = []
    depth = 0
    for char in text[begin : begin + MAX_STATEMENT]:
        if char == "}":
            depth -= 1
            continue
        depth += char == "{"
        if not depth:
            if char == ";":
                break
            out.append(char)
    return "".join(out)


def _commas(text: str) -> list[str]:
    return [part for part in re.split(r",(?![^\[]*\])", text) if part.strip()] or [""]


def _closing(text: str, at: int) -> int | None:
    """Where the brace that was opened before `at` closes."""
    depth = 1
    for n in range(at, min(len(text), at + (1 << 16))):
        depth += {"{": 1, "}": -1}.get(text[n], 0)
        if not depth:
            return n
    return None


def _without_bodies(text: str) -> str:
    """A structure's members without function bodies and initial values in braces."""
    before = None
    while before != text:
        before, text = text, re.sub(r"\{[^{}]*\}", ";", text)
    return text


def _constant(node: Node) -> int:
    if isinstance(node, Number) and isinstance(node.value, int):
        return node.value
    if isinstance(node, Binary) and node.op in _OPERATORS:
        a, b = _constant(node.left), _constant(node.right)
        if 0 <= b < 1 << 31 and (node.op != "<<" or b <= 40) and (node.op != "/" or b):
            return _OPERATORS[node.op](a, b)
    raise CommandError("no constant extent")


_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
    "<<": operator.lshift,
}
