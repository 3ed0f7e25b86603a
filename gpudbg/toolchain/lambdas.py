"""Lambdas that host code passes to kernels: `k<<<1, 32>>>(p, [=] __device__ (float x) { … })`.

Each becomes a device function that returns it, with what it captures as parameters; in the words
that are read for launches a call of that function stands in its place.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpudbg.dataclass import dataclass
from gpudbg.toolchain.words import (
    LAMBDA,
    Token,
    closing,
    declared,
    parameter_name,
    parts,
)

_QUALIFIERS = frozenset({"__device__", "__host__"})


@dataclass(frozen=True, slots=True)
class Lambdas:
    """The tokens with calls in the place of lambdas, and the functions called."""

    tokens: Sequence[Token]
    helpers: str = ""


def lambdas(
    text: str, tokens: Sequence[Token], functions: Sequence[tuple[str, int, int]]
) -> Lambdas:
    """Those of host functions that are no templates, with the word `__device__`."""
    words = [t.text for t in tokens]
    out: list[Token] = []
    helpers: list[str] = []
    extents = iter(sorted((a, b) for _, a, b in functions))
    begin, end = next(extents, (len(text), len(text)))
    first = at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.start == begin:
            first = at
        found = None
        if begin < token.start < end and words[at] == "[" and words[first] != "template":
            found = _lambda(text, tokens, words, range(first, at), len(helpers))
        if found is None:
            out.append(token)
            at += 1
        else:
            last, helper, call = found
            helpers.append(helper)
            out += [Token(word, token.start, tokens[last].end) for word in call]
            at = last + 1
        while at < len(tokens) and tokens[at].start >= end:
            begin, end = next(extents, (len(text), len(text)))
            if tokens[at].start <= begin:
                break
    return Lambdas(out, "".join(helpers))


def _lambda(
    text: str, tokens: Sequence[Token], words: list[str], before: range, number: int
) -> tuple[int, str, list[str]] | None:
    """The last token of the lambda that begins behind `before`, its function and a call of it."""
    start = before.stop
    close = closing(words, start)
    if close is None:
        return None
    opening = close + 1
    while words[opening : opening + 1] and words[opening] in _QUALIFIERS:
        opening += 1
    end = closing(words, opening) if words[opening : opening + 1] == ["("] else None
    if end is None or "__device__" not in words[close:opening]:
        return None
    brace = next((n for n in range(end, min(end + 20, len(words))) if words[n] == "{"), None)
    last = closing(words, brace) if brace is not None else None
    captures = parts(words[start + 1 : close])
    if brace is None or last is None or any(len(one) != 1 for one in captures):
        return None
    own = {parameter_name(part) for part in parts(words[opening + 1 : end])}
    known = [words[n] for n in before]
    names = [one[0] for one in captures if one[0].isidentifier()]
    if ["="] in captures:
        names += [w for w in words[brace:last] if w.isidentifier() and w not in own]
    types = {name: declared(known, name) for name in dict.fromkeys(names)}
    types = {name: type_ for name, type_ in types.items() if type_}
    given = ", ".join(f"{type_} {name}" for name, type_ in types.items())
    made = _without_qualifiers(text, tokens[start : last + 1], (close - start, opening - start))
    line = text.count("\n", 0, tokens[start].start) + 1
    name = f"{LAMBDA}{number}"
    helper = f"__device__ constexpr auto {name}({given}) {{ return\n#line {line}\n{made}; }}\n"
    passed = [word for one in types for word in (",", one)][1:]
    return last, helper, [name, "(", *passed, ")"]


def _without_qualifiers(text: str, tokens: Sequence[Token], within: tuple[int, int]) -> str:
    """A lambda's text, on as many lines, for a compiler that takes every lambda for its own."""
    start, end = tokens[0].start, tokens[-1].end
    out = text[start:end]
    for token in tokens[slice(*within)]:
        if token.text in _QUALIFIERS:
            length = token.end - token.start
            out = out[: token.start - start] + " " * length + out[token.end - start :]
    return out
