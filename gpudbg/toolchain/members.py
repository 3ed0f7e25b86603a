"""Member functions of the host that launch: `void Solver<T>::step(int n) { k<<<1, 32>>>(p, n); }`.

Arguments may be members of the class, whose types its body declares, and types may be parameters
of a class template, which the places that name the class say (`Solver<float> s;`).  Each class is
given as words that are read like a function: its body, then the bodies of its members outside,
with its template arguments in the place of its parameters.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Sequence

from gpudbg.dataclass import dataclass
from gpudbg.toolchain.words import closing, closing_angle, parameter_name, parts

_MOST_INSTANCES = 32
_MOST_HEAD = 60
_ACCESS = frozenset({"public", "private", "protected"})


@dataclass(frozen=True, slots=True)
class MemberWords:
    """A class with arguments for its parameters, as words.

    Attributes:
        space: the namespaces it is in.
        words: its members.
    """

    space: tuple[str, ...]
    words: list[str]


@dataclass(frozen=True, slots=True)
class _Class:
    """A class at namespace level: its template parameters with their defaults, its body."""

    name: str
    space: tuple[str, ...]
    parameters: list[str]
    defaults: list[list[str]]
    body: list[str]


def launching_classes(
    words: list[str],
    spaces: dict[int, tuple[str, ...]],
    functions: Sequence[range],
    launching: Container[str],
) -> Iterator[MemberWords]:
    """Classes with members that launch.

    Args:
        words: of a file.
        spaces: its places at namespace level, and the namespaces there.
        functions: its host functions.
        launching: template functions of the host that launch.
    """
    outside: defaultdict[str, list[tuple[list[str], list[str]]]] = defaultdict(list)
    for function in functions:
        member = _member(words[function.start : function.stop])
        if member is not None:
            outside[member[0]].append(member[1:])
    for found in _classes(words, spaces):
        members = outside[found.name]
        everything = [found.body, *(body for _, body in members)]
        if not any(w == "<<<" or w in launching for one in everything for w in one):
            continue
        for arguments in _instances(words, found):
            out = _replaced(found.body, found.parameters, arguments)
            for names, body in members:
                out += [";", *_replaced(body, names, arguments)]
            yield MemberWords(found.space, out)


def _classes(words: list[str], spaces: dict[int, tuple[str, ...]]) -> Iterator[_Class]:
    for n, word in enumerate(words[:-2]):
        if word not in ("class", "struct") or n not in spaces:
            continue
        name = words[n + 1]
        brace = next((k for k in range(n, min(n + _MOST_HEAD, len(words))) if words[k] in "{;("), n)
        end = closing(words, brace) if words[brace] == "{" else None
        if end is None or not name.isidentifier() or words[n - 1] in ("<", ",", "enum"):
            continue
        given = _template_before(words, n)
        body = words[brace + 1 : end]
        body = [
            w
            for k, w in enumerate(body)
            if not (w in _ACCESS and body[k + 1 : k + 2] == [":"])
            and not (w == ":" and k and body[k - 1] in _ACCESS)
        ]
        names = [parameter_name(part) for part in given]
        defaults = [part[part.index("=") + 1 :] if "=" in part else [] for part in given]
        if all(names) and not any("." in name for name in names):
            yield _Class(name, spaces[n], names, defaults, ["{", *body, "}"])


def _template_before(words: list[str], at: int) -> list[list[str]]:
    """The parameters of the `template <…>` that ends before a place."""
    for start in range(at - 2, max(at - _MOST_HEAD, -1), -1):
        if words[start] in ";{}":
            return []
        if words[start] == "template" and closing_angle(words, start + 1) == at - 1:
            return parts(words[start + 2 : at - 1])
    return []


def _member(words: list[str]) -> tuple[str, list[str], list[str]] | None:
    """Class, names of its template parameters and parameters with body of `X<T>::f(…) {…}`."""
    opening = words.index("(") if "(" in words else 0
    names: list[str] = []
    if words[:2] == ["template", "<"]:
        close = closing_angle(words, 1)
        if close is None:
            return None
        names = [parameter_name(part) for part in parts(words[2:close])]
        opening = next((k for k in range(close, len(words)) if words[k] == "("), 0)
    colons = opening - 2 if words[opening - 2 : opening - 1] != ["~"] else opening - 3
    if opening < 4 or words[colons - 1 : colons + 1] != [":", ":"]:
        return None
    at = colons - 2
    if words[at] == ">":
        depth = 0
        while at > 0:
            depth += (words[at] == ">") - (words[at] == "<")
            if not depth:
                break
            at -= 1
        at -= 1
    return words[at], names, words[opening:]


def _instances(words: list[str], found: _Class) -> list[list[list[str]]]:
    """Arguments with which a class template is named; one empty list for a class."""
    if not found.parameters:
        return [[]]
    out: list[list[list[str]]] = []
    for n in range(len(words) - 1):
        if words[n] != found.name or words[n + 1] != "<":
            continue
        close = closing_angle(words, n + 1)
        given = parts(words[n + 2 : close]) if close else []
        given = [*given, *found.defaults[len(given) :]]
        known = len(given) == len(found.parameters) and all(given)
        if known and not any(w in found.parameters for part in given for w in part):
            out += [given] if given not in out else []
    return out[:_MOST_INSTANCES]


def _replaced(words: list[str], names: list[str], arguments: list[list[str]]) -> list[str]:
    given = dict(zip(names, arguments, strict=False))
    return [w for word in words for w in given.get(word, (word,))]
