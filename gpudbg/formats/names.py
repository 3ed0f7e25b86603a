"""C++ names as people write them, from the Itanium ABI's mangled ones.

Read are plain and nested names, with template arguments that are builtin types, classes or
literals: `_ZN2ns3fibEi` is `ns::fib`, `_Z6reduceILi256EfEvPT0_` is `reduce<256, float>`.
Everything else stays mangled: a wrong name would be worse.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

_FILE_SCOPE = re.compile(r"\b_INTERNAL_\w+::")
"""The namespace that compilers put static functions of a file into."""
_NAME = re.compile(r"_Z(?P<nested>N?K?)(?=\d)")
_LITERAL = re.compile(r"L(?P<type>[a-z])(?P<minus>n?)(?P<digits>\d+)E")
TYPES = {
    "v": "void",
    "b": "bool",
    "c": "char",
    "a": "signed char",
    "h": "unsigned char",
    "s": "short",
    "t": "unsigned short",
    "i": "int",
    "j": "unsigned int",
    "l": "long",
    "m": "unsigned long",
    "x": "long long",
    "y": "unsigned long long",
    "f": "float",
    "d": "double",
}
"""<builtin-type> of the ABI, section 5.1.5.2."""
SUFFIXES = {"j": "u", "l": "l", "m": "ul", "x": "ll", "y": "ull"}
_ABI_TAG = re.compile(r"B(\d+)")
NUMBA = "cudapy::"
"""What names of Numba's kernels begin with; behind it are Python's module, scopes and function."""
MAX_LENGTH = 1000


@lru_cache(maxsize=4096)
def plain_name(label: str) -> str:
    """A C++ function's name without its parameters; the label itself where it is not read."""
    m = _NAME.match(label)
    if m is None or len(label) > MAX_LENGTH:
        return label
    found = _path(label, m.end(), bool(m["nested"]))
    if found is None:
        return label
    name = found[0].rpartition("::")[2] if found[0].startswith(NUMBA) else found[0]
    return _FILE_SCOPE.sub("", name)


def written_as(label: str, text: str) -> bool:
    """Whether a person may mean a symbol: its plain name, or that of its template."""
    return plain_name(label) == text or label.startswith(f"_Z{len(text)}{text}I")


def shown_names(labels: Iterable[str]) -> dict[str, str]:
    """Label -> the name to show: the plain one where no other label has the same."""
    plain = {label: plain_name(label) for label in labels}
    count = Counter(plain.values())
    return {label: name if count[name] == 1 else label for label, name in plain.items()}


@lru_cache(maxsize=1024)
def parameter_types(label: str) -> tuple[str, ...] | None:
    """The types of a function's parameters by its mangled name, as C++ writes them.

    None where it is not a plain function of builtin types, classes and pointers to them.
    """
    m = re.match(r"_Z(\d+)", label)
    if m is None or len(label) > MAX_LENGTH:
        return None
    at, seen, out = m.end() + int(m[1]), list[str](), list[str]()
    if at >= len(label):
        return None
    while at < len(label):
        found = _parameter_type(label, at, seen)
        if found is None:
            return None
        out.append(found[0])
        at = found[1]
    return () if out == ["void"] else tuple(out)


def _parameter_type(text: str, at: int, seen: list[str]) -> tuple[str, int] | None:
    """(type, where it ends) of a mangled type; `seen` are those that `S_`, `S0_`, … stand for."""
    letter = text[at : at + 1]
    if letter in TYPES:
        return TYPES[letter], at + 1
    if letter and letter in "PRKVr":
        inner = _parameter_type(text, at + 1, seen)
        if inner is None:
            return None
        made = {"P": "{} *", "R": "{} &", "K": "const {}"}.get(letter, "{}").format(inner[0])
        seen.append(made)
        return made, inner[1]
    if m := re.compile(r"S([0-9A-Z]*)_").match(text, at):
        number = int(m[1], 36) + 1 if m[1] else 0
        return (seen[number], m.end()) if number < len(seen) else None
    if m := re.compile(r"\d+").match(text, at):
        end = m.end() + int(m[0])
        if end > len(text) or m[0][0] == "0":
            return None
        seen.append(text[m.end() : end])
        return seen[-1], end
    return None


def _path(text: str, at: int, nested: bool) -> tuple[str, int] | None:
    """(`ns::name<…>`, where it ends) of a name that begins at `at`."""
    parts: list[str] = []
    while m := re.compile(r"\d+").match(text, at):
        end = m.end() + int(m[0])
        if end > len(text) or end == m.end():
            return None
        part, at = text[m.end() : end], end
        while tag := _ABI_TAG.match(text, at):
            # Numba has its versions and options in them.
            at = tag.end() + int(tag[1])
            if at > len(text):
                return None
        if text[at : at + 1] == "I":
            arguments = _arguments(text, at + 1)
            if arguments is None:
                return None
            part, at = part + arguments[0], arguments[1]
        parts.append(part)
        if not nested:
            break
    if not parts:
        return None
    if nested:
        if text[at : at + 1] != "E":
            return None
        at += 1
    return "::".join(parts), at


def _arguments(text: str, at: int) -> tuple[str, int] | None:
    """(`<256, float>`, where it ends) of template arguments after their `I`."""
    words: list[str] = []
    while text[at : at + 1] != "E":
        if literal := _LITERAL.match(text, at):
            words.append(_literal(literal))
            at = literal.end()
            continue
        found = _type(text, at)
        if found is None:
            return None
        words.append(found[0])
        at = found[1]
    return f"<{', '.join(words)}>", at + 1


def _literal(m: re.Match[str]) -> str:
    value = ("-" if m["minus"] else "") + m["digits"]
    if m["type"] == "b":
        return "true" if m["digits"] != "0" else "false"
    return value + SUFFIXES.get(m["type"], "")


def _type(text: str, at: int) -> tuple[str, int] | None:
    """A builtin type, a class, or a pointer to one."""
    code = text[at : at + 1]
    if code == "P":
        found = _type(text, at + 1)
        return (found[0] + "*", found[1]) if found else None
    if code in TYPES:
        return TYPES[code], at + 1
    if code == "N":
        return _path(text, at + 1, True)
    return _path(text, at, False) if code.isdigit() else None
