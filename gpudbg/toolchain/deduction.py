"""Template arguments that a launch leaves to the compiler: `apply<<<1, 32>>>(out, in, n, f)`.

Host code is not compiled, so that nobody deduces them.  For each template kernel a function with
its parameters is added that returns the kernel's address; a call of it, with a value of each
argument's type, is a name expression that makes the compiler deduce and instantiate.  Types of
variables are those that the host function declares.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from gpudbg.dataclass import dataclass


class Token(Protocol):
    """A word or mark of a source, and where it stands."""

    text: str
    start: int
    end: int


HELPERS = """
template <class T> __host__ __device__ T& gpudbg_lvalue();
template <class T> struct gpudbg_bare { using type = T; };
template <class T> struct gpudbg_bare<const T> { using type = T; };
template <class T> struct gpudbg_bare<T&> { using type = typename gpudbg_bare<T>::type; };
template <class T> struct gpudbg_bare<T&&> { using type = typename gpudbg_bare<T>::type; };
template <class T> __host__ __device__ constexpr T gpudbg_value() { return T(); }
"""
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
_ENDS = frozenset(";{}")
_MARKS = frozenset("*&")
_NO_NAMES = frozenset(
    "sizeof static_cast reinterpret_cast const_cast const unsigned signed int long short char "
    "float double bool true false nullptr NULL struct typename void".split()
)
_MOST_LAUNCHES = 200


@dataclass(frozen=True, slots=True)
class Deduced:
    """What makes the compiler deduce: text for the end of the file, and name expressions."""

    helpers: str = ""
    instances: tuple[str, ...] = ()


def deduce(
    text: str, tokens: Sequence[Token], functions: Sequence[tuple[str, int, int]]
) -> Deduced:
    """Launches of template kernels whose arguments are not all written."""
    words = [t.text for t in tokens]
    kernels = {k.name: k for k in _kernels(text, tokens, words)}
    if not kernels:
        return Deduced()
    found: dict[str, None] = {}
    launches = [n for n, word in enumerate(words) if word == "<<<"]
    for n in launches[:_MOST_LAUNCHES]:
        inside = next((a for _, a, b in functions if a <= tokens[n].start < b), None)
        if inside is None:
            continue
        name, written = _called(words, n)
        arguments = _arguments(words, n)
        if name not in kernels or arguments is None or len(written) >= kernels[name].given:
            continue
        begin = next(k for k, t in enumerate(tokens) if t.start >= inside)
        values = [_value(words[begin:n], part) for part in arguments]
        if all(values):
            first = f"<{', '.join(' '.join(part) for part in written)}>" if written else ""
            found[f"gpudbg_launch_{name}{first}({', '.join(values)})"] = None
    if not found:
        return Deduced()
    return Deduced(HELPERS + "".join(k.helper for k in kernels.values()), tuple(found))


class _Template(NamedTuple):
    """A template kernel: its name, how many parameters it has, and its helper function."""

    name: str
    given: float
    helper: str


def _kernels(text: str, tokens: Sequence[Token], words: list[str]) -> Iterator[_Template]:
    """The template kernels outside of namespaces."""
    depth = 0
    for n, word in enumerate(words):
        depth += (word == "{") - (word == "}")
        if word != "template" or depth or words[n + 1 : n + 2] != ["<"]:
            continue
        close = _closing_angle(words, n + 1)
        opening = _parameters(words, close + 1) if close else None
        end = _closing(words, opening) if opening else None
        if not close or opening is None or end is None or "__global__" not in words[close:opening]:
            continue
        names = [_parameter_name(part) for part in _parts(words[n + 2 : close])]
        if all(names):
            name = words[opening - 1]
            head = text[tokens[n].start : tokens[close].end]
            given = text[tokens[opening].start : tokens[end].end]
            most = float("inf") if "..." in "".join(names) else len(names)
            helper = (
                f"{head} __host__ __device__ constexpr auto gpudbg_launch_{name}{given} "
                f"{{ return &{name}<{', '.join(names)}>; }}\n"
            )
            yield _Template(name, most, helper)


def _parameters(words: list[str], at: int) -> int | None:
    """Where a function's parameters open, its attributes passed."""
    while at < len(words) and words[at] not in _ENDS:
        if words[at] == "(":
            if words[at - 1] not in ("__launch_bounds__", "__attribute__", "__align__"):
                return at
            at = _closing(words, at) or len(words)
        at += 1
    return None


def _parameter_name(part: list[str]) -> str:
    """`T` of `typename T = float`, `Ts...` of `class... Ts`."""
    head = part[: part.index("=")] if "=" in part else part
    if len(head) < 2 or not head[-1].isidentifier():
        return ""
    return head[-1] + ("..." if "." in head else "")


def _closing(words: list[str], opening: int) -> int | None:
    """The bracket that closes the one at a place."""
    depth = 0
    for at in range(opening, len(words)):
        depth += (words[at] in _OPEN) - (words[at] in _CLOSE)
        if not depth:
            return at
    return None


def _closing_angle(words: list[str], opening: int) -> int | None:
    """The `>` of template parameters or arguments; None where it is a comparison."""
    depth, at = 0, opening
    while at < len(words) and words[at] not in _ENDS:
        if words[at] in "([":
            at = _closing(words, at) or len(words)
        elif words[at] in "<>":
            depth += 1 if words[at] == "<" else -1
            if not depth:
                return at
        at += 1
    return None


def _parts(words: list[str]) -> list[list[str]]:
    """The parts between commas, outside of brackets and template arguments."""
    out: list[list[str]] = [[]]
    at = 0
    while at < len(words):
        word, end = words[at], None
        if word in _OPEN:
            end = _closing(words, at)
        elif word == "<" and at and words[at - 1].isidentifier():
            end = _closing_angle(words, at)
        if word == "," and end is None:
            out.append([])
        else:
            end = at if end is None else end
            out[-1] += words[at : end + 1]
            at = end
        at += 1
    return out if out != [[]] else []


def _called(words: list[str], at: int) -> tuple[str, list[list[str]]]:
    """The function before `<<<`, and its written template arguments."""
    if words[at - 1] != ">":
        return words[at - 1], []
    first, depth = at - 1, 1
    while first > 0 and depth:
        first -= 1
        depth += (words[first] == ">") - (words[first] == "<")
    return words[first - 1], _parts(words[first + 1 : at - 1])


def _arguments(words: list[str], at: int) -> list[list[str]] | None:
    """The arguments behind `<<<…>>>`."""
    while at < len(words) and words[at] not in _ENDS:
        if words[at] in _OPEN:
            at = _closing(words, at) or len(words)
        elif words[at : at + 4] == [">", ">", ">", "("]:
            end = _closing(words, at + 3)
            return _parts(words[at + 4 : end]) if end is not None else None
        at += 1
    return None


def _value(before: list[str], part: list[str]) -> str:
    """A value of an argument's type; empty where a name's type is not known."""
    made = []
    for n, word in enumerate(part):
        previous, following = part[n - 1] if n else "", part[n + 1] if n + 1 < len(part) else ""
        plain = word.isidentifier() and word not in _NO_NAMES and previous not in (".", ":", ">")
        if word in ("[", "{") and previous != "" and not previous.isidentifier():
            return ""  # a lambda
        if not plain or following in ("(", "<", ":", "{"):
            made.append(word)
            continue
        kind = _declared(before, word)
        if not kind and _is_type_word(part, n):
            made.append(word)
        elif not kind:
            return ""
        else:
            made.append(f"gpudbg_lvalue<{kind}>()")
    return f"gpudbg_value<gpudbg_bare<decltype({' '.join(made)})>::type>()" if made else ""


def _is_type_word(part: list[str], at: int) -> bool:
    """Whether a word stands in template arguments or in a cast: it may be a type."""
    before = part[:at]
    return before.count("<") > before.count(">") or (at > 0 and part[at - 1] == "(")


def _declared(words: list[str], name: str) -> str:
    """The type that a variable was declared with last."""
    for at in range(len(words) - 1, 0, -1):
        if words[at] != name or at + 1 >= len(words) or words[at + 1] not in ",;=)[({":
            continue
        kind = _type_before(words, at)
        if kind:
            return kind + (" *" if words[at + 1] == "[" else "")
    return ""


def _type_before(words: list[str], at: int) -> str:
    """The type before a declared name; empty where no declaration stands there."""
    marks = at
    while marks > 0 and words[marks - 1] in _MARKS:
        marks -= 1
    stars = [w for w in words[marks:at] if w == "*"]
    if words[marks - 1] == ",":
        # `float *a, *b`: the type stands at the statement's begin.
        start = marks
        while start > 0 and words[start - 1] not in _ENDS and words[start - 1] not in "()":
            start -= 1
        base = _leading_type(words[start:marks])
    else:
        start = marks
        while start > 0 and (words[start - 1].isidentifier() or words[start - 1] in "<>:"):
            start -= 1
        base = words[start:marks]
    base = [w for w in base if w not in ("static", "const", "constexpr", "register")]
    if not base or not base[0].isidentifier() or base[0] in ("return", "auto", "delete", "new"):
        return ""
    return " ".join([*base, *stars])


def _leading_type(words: list[str]) -> list[str]:
    """The type at a declaration's begin: what stands before its first name."""
    end = 0
    while end < len(words) and (words[end].isidentifier() or words[end] in "<>:"):
        end += 1
    return words[:end] if end < len(words) and words[end] in _MARKS else words[: end - 1]
