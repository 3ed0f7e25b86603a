"""Which functions a person means: `f`, `ns::f`, `f(int)` and `f<4>`, as gdb matches them.

A name without its namespaces means the function in each of them, one without template arguments
every instantiation, one without parameters every overload.
"""

from __future__ import annotations

import re
from functools import lru_cache

from gpudbg.dataclass import dataclass
from gpudbg.formats.names import plain_name
from gpudbg.symbols.mangled import MAX_LENGTH, function_name

_CLOSING = {"(": ")", "<": ">", "[": "]", "{": "}"}
_SPELLINGS = {
    "unsigned": "int unsigned",
    "short int": "short",
    "int long": "long",
    "int long long": "long long",
    "int signed": "int",
    "signed": "int",
    "int long unsigned": "long unsigned",
    "int long long unsigned": "long long unsigned",
    "int short": "short",
    "int short unsigned": "short unsigned",
}
"""Sorted words of an integer's type -> the words that name it here."""
_INTEGER_WORDS = {"int", "long", "short", "signed", "unsigned", "char"}
_QUALIFIERS = ("const", "volatile")


@dataclass(frozen=True, slots=True)
class FunctionName:
    """A function's name in parts.

    Attributes:
        parts: (identifier, template arguments) of each part between `::`; None without `<…>`.
        parameters: types of its parameters; None where they are not recorded.
    """

    parts: tuple[tuple[str, tuple[str, ...] | None], ...]
    parameters: tuple[str, ...] | None

    def means(self, other: FunctionName, qualified: bool = False) -> bool:
        """Whether this name, as a person wrote it, means a function.

        Args:
            other: the function's own name.
            qualified: whether the first part has to be the function's outermost one.
        """
        skipped = len(other.parts) - len(self.parts)
        if skipped < 0 or (qualified and skipped):
            return False
        for mine, its in zip(self.parts, other.parts[skipped:], strict=True):
            if mine[0] != its[0] or mine[1] not in (None, its[1]):
                return False
        return None in (self.parameters, other.parameters) or self.parameters == other.parameters


def _outside(text: str) -> list[tuple[int, str]]:
    """(place, letter) of what stands outside of brackets; brackets that open count."""
    out, open_ = list[tuple[int, str]](), list[str]()
    for at, letter in enumerate(text):
        if open_ and letter == open_[-1]:
            open_.pop()
            continue
        if not open_:
            out.append((at, letter))
        if letter in _CLOSING:
            open_.append(_CLOSING[letter])
    return out


def _split(text: str, separator: str) -> list[str]:
    """The pieces of a text between separators that stand outside of brackets."""
    out, begin = list[str](), 0
    for at, _ in _outside(text):
        if at >= begin and text.startswith(separator, at):
            out.append(text[begin:at])
            begin = at + len(separator)
    return [*out, text[begin:]]


def _type_words(text: str) -> str:
    """A type without the freedom of spelling: `const float *` and `float const*` are the same."""
    text = re.sub(r"\b(\d+)[uUlL]+\b", r"\1", text.strip())
    end = next((at for at, _ in _outside(text) if text[at] in "*&("), len(text))
    head, tail = text[:end], re.sub(r"\s+", "", text[end:])
    words = [w for w in _split(head, " ") if w]
    qualifiers = sorted(w for w in words if w in _QUALIFIERS)
    base = [w for w in words if w not in _QUALIFIERS]
    if set(base) <= _INTEGER_WORDS:
        base = [_SPELLINGS.get(" ".join(sorted(base)), " ".join(sorted(base)))]
    name, open_, arguments = " ".join(base).partition("<")
    if open_ and arguments.endswith(">"):
        name = f"{name}<{','.join(_types(arguments[:-1]))}>"
    return " ".join([name, *qualifiers]) + tail


def _types(text: str) -> tuple[str, ...]:
    inner = text.strip()
    return () if inner in ("", "void") else tuple(_type_words(w) for w in _split(inner, ","))


@lru_cache(maxsize=8192)
def written_name(text: str) -> FunctionName | None:
    """A name as a person writes it; None where it is not one of a function."""
    text = text.strip().strip("'").strip().removeprefix("::")
    if len(text) > MAX_LENGTH:
        return None  # as labels so long are not read: looking at brackets takes the square of it
    parameters = None
    m = re.fullmatch(r"(.*[^\s:])\s*(\(.*\))\s*(const)?\s*", text, re.DOTALL)
    if m is not None and not m[1].endswith("operator"):
        opening = _opening(text, m.end(2) - 1)
        if opening > 0:
            parameters = _types(text[opening + 1 : m.end(2) - 1])
            text = text[:opening]
    parts = []
    for piece in _split(text, "::"):
        name, open_, rest = piece.strip().partition("<")
        if not name.strip() or (open_ and not rest.endswith(">")):
            return None
        parts.append((name.strip(), _types(rest[:-1]) if open_ else None))
    return FunctionName(tuple(parts), parameters)


def _opening(text: str, end: int) -> int:
    """Where the bracket opens that closes at `end`; -1 where none does."""
    depth = 0
    for at in range(end, -1, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if not depth:
            return at
    return -1


def readable(label: str) -> str:
    """A function's name with its parameters where the label tells them."""
    return function_name(label) or plain_name(label)


def named_by(label: str, text: str, qualified: bool = False) -> bool:
    """Whether a person who wrote `text` means the function with this label."""
    if text in (label, plain_name(label)):
        return True
    mine, its = written_name(text), written_name(readable(label))
    return mine is not None and its is not None and mine.means(its, qualified)
