"""Words of CUDA C++: brackets, parameters, arguments, constants, declared types.

What is read is a file's tokens as a list of texts; a place is an index into it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpudbg.dataclass import dataclass


@dataclass(slots=True)
class Token:
    """A word or mark of a source, and where it stands."""

    text: str
    start: int
    end: int


_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
_ENDS = frozenset(";{}")
LAMBDA = "gpudbg_lambda_"
"""Begins the name of a function that returns a lambda of the host code."""
_MOST_WORDS = 60
"""Of an initialiser whose type is asked for."""
MARKS = frozenset("*&")
NO_NAMES = frozenset(
    "sizeof static_cast reinterpret_cast const_cast const unsigned signed int long short char "
    "float double bool true false nullptr NULL struct typename void".split()
)


_JOINED = frozenset(":: -> && || == != <= >= << >> += -= *= /= ...".split())
"""Marks of two characters: tokens are single ones."""


def spelled_out(words: list[str]) -> str:
    """Text of words, on one line."""
    out: list[str] = []
    for n, word in enumerate(words):
        before = words[n - 1] if n else ""
        joined = before + word in _JOINED or (before == word == ".")
        out.append(word if joined or not out else f" {word}")
    return "".join(out)


def parameters(words: list[str], at: int) -> int | None:
    """Where a function's parameters open, its attributes passed."""
    while at < len(words) and words[at] not in _ENDS:
        if words[at] == "(":
            if words[at - 1] not in ("__launch_bounds__", "__attribute__", "__align__"):
                return at
            at = closing(words, at) or len(words)
        at += 1
    return None


def parameter_name(part: list[str]) -> str:
    """`T` of `typename T = float`, `Ts...` of `class... Ts`."""
    head = part[: part.index("=")] if "=" in part else part
    if len(head) < 2 or not head[-1].isidentifier():
        return ""
    return head[-1] + ("..." if "." in head else "")


def closing(words: list[str], opening: int) -> int | None:
    """The bracket that closes the one at a place."""
    depth = 0
    for at in range(opening, len(words)):
        depth += (words[at] in _OPEN) - (words[at] in _CLOSE)
        if not depth:
            return at
    return None


def closing_angle(words: list[str], opening: int) -> int | None:
    """The `>` of template parameters or arguments; None where it is a comparison."""
    depth, at = 0, opening
    while at < len(words) and words[at] not in _ENDS:
        if words[at] in "([":
            at = closing(words, at) or len(words)
        elif words[at] in "<>":
            depth += 1 if words[at] == "<" else -1
            if not depth:
                return at
        at += 1
    return None


def parts(words: list[str]) -> list[list[str]]:
    """The parts between commas, outside of brackets and template arguments."""
    out: list[list[str]] = [[]]
    at = 0
    while at < len(words):
        word, end = words[at], None
        if word in _OPEN:
            end = closing(words, at)
        elif word == "<" and at and words[at - 1].isidentifier():
            end = closing_angle(words, at)
        if word == "," and end is None:
            out.append([])
        else:
            end = at if end is None else end
            out[-1] += words[at : end + 1]
            at = end
        at += 1
    return out if out != [[]] else []


def called(words: list[str], at: int) -> tuple[str, list[list[str]]]:
    """The function before `<<<`, and its written template arguments."""
    if words[at - 1] != ">":
        return words[at - 1], []
    first, depth = at - 1, 1
    while first > 0 and depth:
        first -= 1
        depth += (words[first] == ">") - (words[first] == "<")
    return words[first - 1], parts(words[first + 1 : at - 1])


def arguments(words: list[str], at: int) -> list[list[str]] | None:
    """The arguments behind `<<<…>>>`."""
    while at < len(words) and words[at] not in _ENDS:
        if words[at] in _OPEN:
            at = closing(words, at) or len(words)
        elif words[at : at + 4] == [">", ">", ">", "("]:
            end = closing(words, at + 3)
            return parts(words[at + 4 : end]) if end is not None else None
        at += 1
    return None


def value(before: list[str], part: list[str]) -> str:
    """A value of an argument's type; empty where a name's type is not known."""
    if len(part) == 1 and part[0].isidentifier():
        given = _initialiser(before, part[0])
        part = given if given[:1] and given[0].startswith(LAMBDA) else part
    if part[:1] and part[0].startswith(LAMBDA):
        captured = [value(before, one) for one in parts(part[2:-1])]
        return f"{part[0]}({', '.join(captured)})" if all(captured) else ""
    if part in (["0"], ["nullptr"], ["NULL"]):
        return "0" if part == ["0"] else "nullptr"  # any pointer's
    if part[:2] in (["static_cast", "<"], ["reinterpret_cast", "<"]):
        end = closing_angle(part, 1)
        if end is not None and closing(part, end + 1) == len(part) - 1:
            return f"gpudbg_value<{spelled_out(part[2:end])}>()"
    made = []
    for n, word in enumerate(part):
        previous, following = part[n - 1] if n else "", part[n + 1] if n + 1 < len(part) else ""
        plain = word.isidentifier() and word not in NO_NAMES and previous not in (".", ":", ">")
        if word == "[" and not (previous.isidentifier() or previous in (")", "]")):
            return ""  # a lambda that `lambdas.py` has left
        if not plain or following in ("(", "<", ":", "{"):
            made.append(word)
            continue
        kind = declared(before, word)
        if not kind and _is_type_word(part, n):
            made.append(word)
        elif not kind:
            return ""
        else:
            made.append(f"gpudbg_lvalue<{kind}>()")
    type_ = f"typename gpudbg_bare<decltype({spelled_out(made)})>::type"
    return f"gpudbg_value<{type_}>()" if made else ""


def _is_type_word(part: list[str], at: int) -> bool:
    """Whether a word stands in template arguments or in a cast: it may be a type."""
    before = part[:at]
    return before.count("<") > before.count(">") or (at > 0 and part[at - 1] == "(")


def declared(words: list[str], name: str) -> str:
    """The type that a variable was declared with last."""
    for at in range(len(words) - 1, 0, -1):
        if words[at] != name or at + 1 >= len(words) or words[at + 1] not in ",;=)[({":
            continue
        kind = _type_before(words, at)
        if not kind and _is_auto(words, at):
            given = value(words[: at - 1], _initialiser(words, name))
            kind = f"decltype({given})" if given else ""
        if kind:
            return kind + (" *" if words[at + 1] == "[" else "")
    return ""


def _is_auto(words: list[str], at: int) -> bool:
    """Whether `auto NAME =` or `auto *NAME =` stands there."""
    first = at - 2 if words[at - 1] in MARKS else at - 1
    return words[first] == "auto" and words[at + 1] == "="


def _initialiser(words: list[str], name: str) -> list[str]:
    """What stands behind `auto NAME =`, where it was declared last."""
    for at in range(len(words) - 2, 0, -1):
        if words[at] == name and _is_auto(words, at):
            end = next((k for k in range(at, len(words)) if words[k] == ";"), len(words))
            return words[at + 2 : end] if end - at < _MOST_WORDS else []
    return []


def _type_before(words: list[str], at: int) -> str:
    """The type before a declared name; empty where no declaration stands there."""
    marks = at
    while marks > 0 and words[marks - 1] in MARKS:
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
    return spelled_out([*base, *stars])


def _leading_type(words: list[str]) -> list[str]:
    """The type at a declaration's begin: what stands before its first name."""
    end = 0
    while end < len(words) and (words[end].isidentifier() or words[end] in "<>:"):
        end += 1
    return words[:end] if end < len(words) and words[end] in MARKS else words[: end - 1]


def constants(words: list[str], given: Mapping[str, str]) -> dict[str, str]:
    """Constants that a function declares, `const int N = 2 * M, K{4};`: what each of them is.

    Args:
        given: what its template parameters are.
    """
    known: dict[str, str] = {}
    for n, word in enumerate(words):
        if word not in ("const", "constexpr"):
            continue
        end = next((k for k in range(n, len(words)) if words[k] in (";", "{", "}")), len(words))
        if words[end : end + 1] == ["{"] and "(" not in words[n:end] and end > n + 1:
            close = next((k for k in range(end, len(words)) if words[k] in (";", "}")), end)
            value = [spelled(w, known, given) for w in words[end + 1 : close]]
            if value and words[close : close + 2] == ["}", ";"]:
                known[words[end - 1]] = " ".join(value)
            continue
        for part in separated(words[n:end]):
            if "=" in part[1:]:
                at = part.index("=")
                known[part[at - 1]] = " ".join(spelled(w, known, given) for w in part[at + 1 :])
    return known


def separated(words: list[str]) -> Iterator[list[str]]:
    """The parts between commas outside of brackets."""
    part: list[str] = []
    depth = 0
    for word in words:
        depth += (word in _OPEN) - (word in _CLOSE)
        if word == "," and not depth:
            yield part
            part = []
        else:
            part.append(word)
    yield part


_LONGEST_CONSTANT = 4000
"""Characters: constants that are made of one another may double with every line."""


def spelled(word: str, known: Mapping[str, str], given: Mapping[str, str]) -> str:
    """What a constant of the host function is, where the word is one."""
    if word in given:
        return given[word]
    value = known.get(word)
    return f"({value})" if value and len(value) < _LONGEST_CONSTANT else word
