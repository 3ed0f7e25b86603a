"""Host code of a CUDA C++ file: found, reported, and left out before the device compiler sees it.

A `.cu` file usually holds `main`, `kernel<<<...>>>()` and host headers beside its kernels.  NVRTC
compiles device code only and refuses the rest.  `split` finds the host functions by reading the
file's structure, not its meaning: a function at namespace level without `__global__`,
`__device__` or `constexpr` (or a macro that holds one of them) is host code.  It is overwritten
with blanks, so every line number stays.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import field

from gpudbg.dataclass import dataclass
from gpudbg.toolchain.deduction import Deduced, deduce
from gpudbg.toolchain.words import Token, closing, constants, parts, separated, spelled

_TOKEN = re.compile(
    r"""
    (?P<directive>^[ \t]*\#(?:\\\r?\n|/\*.*?\*/|[^\n])*)
  | (?P<blank>[^\S\n]+ | \n+ | //(?:\\\r?\n|[^\n])* | /\*.*?\*/)
  | (?P<string>(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)"
      | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*')
  | (?P<word>[A-Za-z_]\w* | \.?\d(?:[eEpP][+-]|'\w|[\w.])*)
  | (?P<mark><<< | .)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)

_DEVICE = frozenset({"__global__", "__device__", "constexpr", "consteval"})
"""Words that make a function one for the device compiler."""

_SCOPES = frozenset({"namespace"})
_TYPES = frozenset({"class", "struct", "union", "enum"})
_ATTRIBUTES = frozenset({"__align__", "alignas", "__attribute__", "__declspec"})
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")

_CONDITION = re.compile(r"\s*#\s*(if|elif|else|endif)")
_KEPT = re.compile(r"\s*#\s*(?:if|elif|else|endif|define|undef)")
"""Directives inside host code that stay: what lies behind it is between them, or asks for them."""

_DEFINE = re.compile(r"\s*#\s*define\s+(\w+)(.*)", re.DOTALL)
_TEMPLATE_KERNEL = re.compile(
    r"\btemplate\s*<[^;{}()]*>\s*(?:static\s+|inline\s+)*__global__[^;{}(]*?(\w+)\s*\("
)
_BOUNDS = re.compile(r"__launch_bounds__\s*\([^()]*\)")
_DEFINE_LINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:\\\r?\n|[^\n])*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class HostCode:
    """What `split` found.

    Attributes:
        device: the file's text with every host function blanked; same length, same lines.
        functions: (name, first line) of each host function.
        launches: lines with `<<<`.
        instances: template kernels the host code launches, such as "reduce<256>".
        declarations: (start, end) of what else stands at namespace level and has no word that
            makes it one for the device: types, variables, prototypes; offsets into the text.
        extents: (start, end) of each host function.
        deduced: what makes the compiler deduce the template arguments that launches leave out.
    """

    device: str
    functions: tuple[tuple[str, int], ...] = ()
    launches: tuple[int, ...] = ()
    instances: tuple[str, ...] = ()
    declarations: tuple[tuple[int, int], ...] = ()
    extents: tuple[tuple[int, int], ...] = ()
    deduced: Deduced = field(default_factory=Deduced)


@dataclass(slots=True)
class _Reader:
    """Walks the tokens statement by statement."""

    tokens: list[Token]
    device_words: set[str]
    at: int = 0
    found: list[tuple[str, int, int]] = field(default_factory=list)
    declared: list[tuple[int, int]] = field(default_factory=list)

    def read(self) -> None:
        """Collect (name, start, end) of every host function at namespace level, and (start, end)
        of every other declaration without a device word.
        """
        head: list[Token] = []
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.text == ";" or (token.text == "}" and not head):
                self._declaration(head, token)
                head = []
                self.at += 1
            elif token.text == "{":
                head = self._body(head)
            elif token.text in _OPEN:
                start = self.at
                self._skip_group()
                head += self.tokens[start : self.at]
            else:
                head.append(token)
                self.at += 1

    def _body(self, head: list[Token]) -> list[Token]:
        """Meet a `{`: enter a scope, or pass a function, type or initialiser."""
        words = [t.text for t in head]
        if _SCOPES & set(words) or (words[:1] == ["extern"] and len(words) == 2):
            self.at += 1
            return []
        self._skip_group()
        top = _outside_groups(words)
        if ("=" in top and "operator" not in top) or (_TYPES & set(top) and "(" not in top):
            return head  # goes on to its `;`
        if "(" in top and not self.device_words & set(words):
            name = words[words.index("(") - 1] if words.index("(") else "?"
            self.found.append((name, head[0].start, self.tokens[self.at - 1].end))
        return []

    def _declaration(self, head: list[Token], last: Token) -> None:
        """Keep what ends at `last`, where nothing in it is for the device."""
        if not head:
            return
        start = head[0].start
        within = bisect_left(self.tokens, start, key=lambda t: t.start)
        if not any(t.text in self.device_words for t in self.tokens[within : self.at]):
            self.declared.append((start, last.end))

    def _skip_group(self) -> None:
        """Pass a bracketed group."""
        depth = 0
        while self.at < len(self.tokens):
            text = self.tokens[self.at].text
            depth += (text in _OPEN) - (text in _CLOSE)
            self.at += 1
            if depth <= 0:
                return


def _outside_groups(words: list[str]) -> list[str]:
    """The words outside brackets, the opening brackets themselves kept, but those of attributes;
    no template arguments.
    """
    out: list[str] = []
    depth = angle = 0
    for n, word in enumerate(words):
        before = words[n - 1] if n else ""
        if depth == 0 and word == "<" and before == "template":
            angle += 1
        elif angle and word in "<>":
            angle += 1 if word == "<" else -1
        elif word in _OPEN:
            if depth == 0 and not angle and before not in _ATTRIBUTES:
                out.append(word)
            depth += 1
        elif word in _CLOSE:
            depth -= 1
        elif depth == 0 and not angle:
            out.append(word)
    return out


@dataclass(slots=True)
class _Branches:
    """Conditional text whose branches open the same brackets: the first one's are read."""

    tokens: list[Token]
    open: list[tuple[int, int | None]] = field(default_factory=list)
    """For each `#if` inside which the reader is: where its branch begins, and how many brackets
    more than it closes the first branch opened.
    """

    def meet(self, directive: str) -> None:
        """A directive: the end of a branch, or the beginning of one."""
        found = _CONDITION.match(directive)
        if found is None:
            return
        if found[1] == "if":
            self.open.append((len(self.tokens), None))
        elif self.open:
            start, first = self.open.pop()
            words = [t.text for t in self.tokens[start:]]
            depth = sum((w in _OPEN) - (w in _CLOSE) for w in words)
            if first and depth == first:
                del self.tokens[start:]
            if found[1] != "endif":
                self.open.append((len(self.tokens), depth if first is None else first))


def split(text: str, device_words: AbstractSet[str] = frozenset()) -> HostCode:
    """Find a CUDA C++ file's host functions and take them out.

    Args:
        text: the file.
        device_words: macros of other files that make a function one for the device.
    """
    tokens, macros = _tokens(text, device_words)
    reader = _Reader(tokens, set(_DEVICE) | macros)
    reader.read()
    extents = tuple((start, end) for _, start, end in reader.found)
    return HostCode(
        blanked(text, extents),
        tuple((name, _line(text, start)) for name, start, _ in reader.found),
        tuple(dict.fromkeys(_line(text, t.start) for t in tokens if t.text == "<<<")),
        _instances(tokens, reader.found),
        tuple(reader.declared),
        extents,
        deduce(text, tokens, reader.found),
    )


def blanked(text: str, extents: Iterable[tuple[int, int]]) -> str:
    """The text with blanks in place of what lies in (start, end), in order; lines stay, and so do
    conditions and macros.
    """
    pieces, at = [], 0
    for start, end in extents:
        pieces.append(text[at:start])
        at = start
        for match in _TOKEN.finditer(text, start, end):
            if match.lastgroup == "directive" and _KEPT.match(match[0]):
                pieces += [_blanks(text[at : match.start()]), match[0]]
                at = match.end()
        pieces.append(_blanks(text[at:end]))
        at = end
    return "".join((*pieces, text[at:]))


def _blanks(text: str) -> str:
    """As many blanks, on as many lines."""
    return re.sub(r"[^\n]", " ", text)


def template_kernels(text: str) -> list[str]:
    """Names of the kernels that are templates, in the file's order."""
    return list(dict.fromkeys(m[1] for m in _TEMPLATE_KERNEL.finditer(_BOUNDS.sub(" ", text))))


def device_macros(text: str, known: AbstractSet[str] = frozenset()) -> set[str]:
    """Macros that hold a device word, or one of those `known`: these, too."""
    macros = set(known)
    for match in _DEFINE_LINE.finditer(text):
        if (_DEVICE | macros) & set(re.findall(r"\w+", match[2])):
            macros.add(match[1])
    return macros


def _tokens(text: str, known: AbstractSet[str]) -> tuple[list[Token], set[str]]:
    """Tokens without blanks and directives, and the macros that make a function a device one."""
    tokens: list[Token] = []
    branches = _Branches(tokens)
    macros = set(known)
    launching: dict[str, tuple[list[str], list[str]]] = {}
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "directive":
            branches.meet(match[0])
            define = _DEFINE.match(match[0])
            if define and (_DEVICE | macros) & set(re.findall(r"\w+", define[2])):
                macros.add(define[1])
            if define and "<<<" in define[2] and define[2].startswith("("):
                launching[define[1]] = _macro(define[2])
        elif kind != "blank":
            tokens.append(Token(match[0], match.start(), match.end()))
    return (_expanded(tokens, launching) if launching else tokens), macros


def _macro(text: str) -> tuple[list[str], list[str]]:
    """The parameters and the words of a macro that launches; `...` is `__VA_ARGS__`."""
    body = text.replace("\\\r\n", " ").replace("\\\n", " ")
    words = [m[0] for m in _TOKEN.finditer(body) if m.lastgroup not in ("blank", "directive")]
    end = closing(words, 0) or 0
    names = ["".join(part) for part in parts(words[1:end])]
    return ["__VA_ARGS__" if name == "..." else name for name in names], words[end + 1 :]


def _expanded(
    tokens: list[Token], launching: Mapping[str, tuple[list[str], list[str]]]
) -> list[Token]:
    """Tokens with the words of macros that launch in the place of their uses."""
    words = [t.text for t in tokens]
    out: list[Token] = []
    at = 0
    while at < len(tokens):
        known = launching.get(words[at])
        end = closing(words, at + 1) if known and words[at + 1 : at + 2] == ["("] else None
        if known is None or end is None or len(out) > _MOST_EXPANDED:
            out.append(tokens[at])
            at += 1
            continue
        names, body = known
        passed = parts(words[at + 2 : end])
        given = dict(zip(names, passed, strict=False))
        if names[-1:] == ["__VA_ARGS__"]:
            rest = passed[len(names) - 1 :]
            given["__VA_ARGS__"] = [w for part in rest for w in (",", *part)][1:]
        start, stop = tokens[at].start, tokens[end].end
        out += [Token(w, start, stop) for word in body for w in given.get(word, [word])]
        at = end + 1
    return out


_MOST_EXPANDED = 1_000_000


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _instances(tokens: list[Token], functions: list[tuple[str, int, int]]) -> tuple[str, ...]:
    """`name<arguments>` in front of `<<<` in host code, where only a template can stand."""
    names: dict[str, None] = {}
    for n, token in enumerate(tokens):
        place = next(((f, a, b) for f, a, b in functions if a <= token.start < b), None)
        if token.text != "<<<" or place is None or n < 3 or tokens[n - 1].text != ">":
            continue
        first, depth = n - 1, 1
        while first > 0 and depth:
            first -= 1
            depth += (tokens[first].text == ">") - (tokens[first].text == "<")
        if first > 0:
            name, start, end = place
            words = [t.text for t in tokens[:n] if start <= t.start]
            for given in _given(tokens, name, words, (start, end)) or [{}]:
                known = constants(words, given)
                argument_words = [spelled(t.text, known, given) for t in tokens[first:n]]
                names[" ".join((tokens[first - 1].text, *argument_words))] = None
    return tuple(names)


def _given(
    tokens: list[Token], name: str, words: list[str], own: tuple[int, int]
) -> list[dict[str, str]]:
    """What a template host function's parameters are, each time the text says it: explicit
    instantiations (`template void run<float>(…);`) and calls that write arguments.

    Args:
        words: of the function, from its head on.
        own: where it is.
    """
    if words[:2] != ["template", "<"]:
        return []
    parts = list(separated(words[2 : _angle_end(words, 1)]))
    parameters = [next((w for w in reversed(p) if w.isidentifier()), "") for p in parts]
    found: list[dict[str, str]] = []
    for n, token in enumerate(tokens[:-1]):
        if token.text != name or tokens[n + 1].text != "<" or own[0] <= token.start < own[1]:
            continue
        near = [t.text for t in tokens[n + 1 : n + 1 + _MOST_ARGUMENT_WORDS]]
        end = _angle_end(near, 0)
        if near[end + 1 : end + 2] == ["("]:
            values = [" ".join(part) for part in separated(near[1:end])]
            made = dict(zip(parameters, values, strict=False))
            if made not in found:
                found.append(made)
    return found


_MOST_ARGUMENT_WORDS = 200


def _angle_end(words: list[str], at: int) -> int:
    """Where the `<` at a place is closed; the end of the words where it is not."""
    depth = 0
    for n in range(at, len(words)):
        depth += {"<": 1, ">": -1, ">>": -2}.get(words[n], 0)
        if depth <= 0:
            return n
    return len(words)
