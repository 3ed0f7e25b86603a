"""Template arguments that a launch leaves to the compiler: `apply<<<1, 32>>>(out, in, n, f)`.

Host code is not compiled, so that nobody deduces them.  For each template kernel a function with
its parameters is added that returns the kernel's address; a call of it, with a value of each
argument's type, is a name expression that makes the compiler deduce and instantiate.  A template
function of the host that launches (`wrap(T *p) { k<<<1, 32>>>(p); }`) gets such a function for
each of its launches, which calls the kernel's.  Types of variables are those that the host
function declares.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import islice

from gpudbg.dataclass import dataclass
from gpudbg.toolchain.lambdas import lambdas
from gpudbg.toolchain.members import launching_classes
from gpudbg.toolchain.words import (
    LAMBDA,
    MARKS,
    NO_NAMES,
    Token,
    arguments,
    called,
    closing,
    closing_angle,
    constants,
    parameter_name,
    parameters,
    parts,
    spelled,
    spelled_out,
    value,
)

HELPERS = """
template <class T> __host__ __device__ T& gpudbg_lvalue();
template <class T> struct gpudbg_bare { using type = T; };
template <class T> struct gpudbg_bare<const T> { using type = T; };
template <class T> struct gpudbg_bare<T&> { using type = typename gpudbg_bare<T>::type; };
template <class T> struct gpudbg_bare<T&&> { using type = typename gpudbg_bare<T>::type; };
template <class T> __host__ __device__ constexpr T gpudbg_value() { return T(); }
"""
FIXED = HELPERS.count("\n")
"""Lines of them."""
_VECTOR = (
    "namespace {space} {{ template <class T, class A = void> struct {name} {{ "
    "__host__ __device__ constexpr {name}() {{}} "
    "__host__ __device__ T *data() const; __host__ __device__ unsigned long size() const; "
    "__host__ __device__ T &operator[](unsigned long) const; }}; }}\n"
)
_STAND_INS = {
    "vector": _VECTOR.format(space="std", name="vector"),
    "device_vector": _VECTOR.format(space="thrust", name="device_vector"),
    "host_vector": _VECTOR.format(space="thrust", name="host_vector"),
    "raw_pointer_cast": (
        "namespace thrust { template <class T> __host__ __device__ T *raw_pointer_cast(T *); }\n"
    ),
}
"""Host types whose members have the types of arguments: `v.data()`, `v.size()`."""
_MOST_LAUNCHES = 200
_MOST_PATHS = 16
"""Launches that one call of a host function leads to."""


@dataclass(frozen=True, slots=True)
class Deduced:
    """What makes the compiler deduce.

    Attributes:
        helpers: a function a line, for the end of the file.
        instances: name expressions.
        lambdas: functions that return lambdas of the host code, for the file's very end.
    """

    helpers: str = ""
    instances: tuple[str, ...] = ()
    lambdas: str = ""

    def without_lambdas(self) -> Deduced:
        """Without what a lambda is part of."""
        kept = tuple(name for name in self.instances if LAMBDA not in name)
        return Deduced(self.helpers, kept)


@dataclass(slots=True)
class _Template:
    """A template kernel, or a template function of the host.

    Attributes:
        name, space: its name, and the namespaces it is in.
        head: `template <…>`.
        names: of its template parameters.
        given: its parameters, in brackets.
        body: where a host function's body is; empty for a kernel.
        launchers: functions that return the kernels it comes to.
    """

    name: str
    space: tuple[str, ...]
    head: str
    names: list[str]
    given: str
    body: range
    launchers: list[str] = field(default_factory=list)

    @property
    def most(self) -> float:
        """How many template arguments can be written."""
        return float("inf") if "..." in "".join(self.names) else len(self.names)

    @property
    def qualified(self) -> str:
        """Its name from outside of all namespaces."""
        return "::".join([*filter(None, self.space), self.name])

    def helper(self, result: str) -> str:
        """A line with one more function of its parameters."""
        name = f"gpudbg_launch_{self.name}" + (f"_{len(self.launchers)}" if self.body else "")
        self.launchers.append("::".join([*filter(None, self.space), name]))
        opened = "".join(f"namespace {part} {{ " for part in self.space)
        return (
            f"{opened}{self.head} __host__ __device__ constexpr auto {name}{self.given} "
            f"{{ return {result}; }}{' }' * len(self.space)}\n"
        )


@dataclass(frozen=True, slots=True)
class _Site:
    """A launch, a kernel that is named with its arguments, or a call of a template function: what
    is named, and with what."""

    name: str
    qualifier: tuple[str, ...]
    written: list[list[str]]
    arguments: list[list[str]] | None
    launch: bool
    named: bool = False


def deduce(
    text: str, tokens: Sequence[Token], functions: Sequence[tuple[str, int, int]]
) -> Deduced:
    """Launches of template kernels whose arguments are not all written."""
    found = {t.text for t in tokens}
    if "template" not in found or found.isdisjoint({"<<<", "__global__"}):
        return Deduced()
    read = lambdas(text, tokens, functions)
    tokens = read.tokens
    words = [t.text for t in tokens]
    reader = _Launches(words)
    starts = {t.start: n for n, t in enumerate(tokens)}
    ends = {t.end: n for n, t in enumerate(tokens)}
    reader.read([range(starts[a], ends[b] + 1) for _, a, b in functions])
    if not reader.found:
        return Deduced()
    spaces = {"::".join(filter(None, space)) for space in reader.spaces.values() if space}
    using = "".join(f"using namespace {space};\n" for space in sorted(filter(None, spaces)))
    known = {name: line for name, line in _STAND_INS.items() if name in words}
    if known and re.search(r"\busing\s+namespace\s+std\b", text):
        using += "using namespace std;\n"
    lines = HELPERS + "".join((*known.values(), *reader.helpers, using))
    return Deduced(lines, tuple(reader.found), read.helpers)


class _Launches:
    """What a file's host functions launch."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.spaces = dict(_namespaces(words))
        self.templates: defaultdict[str, list[_Template]] = defaultdict(list)
        self.helpers: list[str] = []
        self.found: dict[str, None] = {}

    def read(self, functions: list[range]) -> None:
        """Find kernels, functions that launch them, and calls of these."""
        for kernel in self._templates(range(len(self.words)), kernels=True):
            names = ", ".join(kernel.names)
            self.helpers.append(kernel.helper(f"&{kernel.name}<{names}>"))
            self.templates[kernel.name].append(kernel)
        if not self.templates:
            return
        hosts = [t for f in functions for t in self._templates(f, kernels=False)]
        waiting = hosts
        while waiting:
            made = [host for host in waiting if self._launchers(host)]
            for host in made:
                self.templates[host.name].append(host)
            waiting = [host for host in waiting if host not in made] if made else []
        own = [range(host.body.start, host.body.stop) for host in hosts]
        for function in functions:
            if not any(o.stop == function.stop for o in own):
                space = self.spaces.get(function.start, ())
                for result in self._results(function, space, typed=False):
                    self.found[result] = None
        for result in self._explicit(functions):
            self.found[result] = None
        self._members(functions)

    def _members(self, functions: list[range]) -> None:
        """What member functions of the host launch."""
        launching = frozenset(self.templates)
        for found in list(launching_classes(self.words, self.spaces, functions, launching)):
            start = len(self.words)
            self.words += found.words
            within = range(start, len(self.words))
            for result in self._results(within, found.space, typed=False, alone=True):
                self.found[result] = None

    def _templates(self, within: range, kernels: bool) -> Iterator[_Template]:
        """Template kernels at namespace level, or the host's template function that is there."""
        words = self.words
        for n in within if kernels else within[:1]:
            if words[n] != "template" or n not in self.spaces or words[n + 1 : n + 2] != ["<"]:
                continue
            close = closing_angle(words, n + 1)
            opening = parameters(words, close + 1) if close else None
            end = closing(words, opening) if opening else None
            if not close or opening is None or end is None:
                continue
            if kernels and "__global__" not in words[close:opening]:
                continue
            names = [parameter_name(part) for part in parts(words[n + 2 : close])]
            if all(names):
                head, given = words[n : close + 1], words[opening : end + 1]
                body = range(0) if kernels else range(opening, within.stop)
                yield _Template(
                    words[opening - 1],
                    self.spaces[n],
                    spelled_out(head),
                    names,
                    spelled_out(given),
                    body,
                )

    def _launchers(self, host: _Template) -> bool:
        """Add a function for each launch of a host function; whether there is any."""
        results = list(self._results(host.body, host.space, typed=True))
        self.helpers += [host.helper(result) for result in results]
        return bool(results)

    def _results(
        self, within: range, space: tuple[str, ...], typed: bool, alone: bool = False
    ) -> Iterator[str]:
        """Expressions of the kernels that a function comes to.

        Args:
            space: the namespaces it is in.
            typed: the function is a template: its own parameters may be named.
            alone: nothing else reads its launches.
        """
        for at, site in islice(self._sites(within), _MOST_LAUNCHES):
            before = self.words[within.start : at]
            known = constants(before, {})
            written = [spelled_out([spelled(w, known, {}) for w in part]) for part in site.written]
            first = f"<{', '.join(written)}>" if written else ""
            values = [
                "".join(part)
                if typed and self._is_parameter(within.start, part)
                else value(before, part)
                for part in site.arguments or ()
            ]
            for template in self._meant(site, space):
                if not template.body and len(written) >= template.most:
                    # Launches outside of templates are read as name expressions elsewhere.
                    if typed or template.space or alone or site.named:
                        yield f"{'&' if typed else ''}{template.qualified}{first}"
                elif site.arguments is not None and all(values):
                    for launcher in template.launchers[:_MOST_PATHS]:
                        yield f"{launcher}{first}({', '.join(values)})"

    def _is_parameter(self, opening: int, part: list[str]) -> bool:
        """Whether an argument is a parameter, of those in the brackets at a place, as it is."""
        end = closing(self.words, opening) or opening
        names = [
            one[-1] for one in map(_without_default, parts(self.words[opening + 1 : end])) if one
        ]
        return part[0] in names and part[1:] in ([], [".", ".", "."])

    def _sites(self, within: range) -> Iterator[tuple[int, _Site]]:
        """Launches, and calls of functions that launch."""
        words = self.words
        for n in within:
            word = words[n]
            if word == "<<<":
                name, written = called(words, n)
                start = n - 1
                while words[start] != name:
                    start -= 1
                yield n, _Site(name, self._qualifier(start), written, arguments(words, n), True)
            elif word in self.templates and words[n - 1] != "." and words[n - 2 : n] != ["-", ">"]:
                opening, given = n + 1, list[list[str]]()
                if words[opening : opening + 1] == ["<"]:
                    end = closing_angle(words, opening)
                    given = parts(words[opening + 1 : end]) if end else []
                    opening = (end or n) + 1
                close = closing(words, opening) if words[opening : opening + 1] == ["("] else None
                if close is not None:
                    passed = parts(words[opening + 1 : close])
                    yield n, _Site(word, self._qualifier(n), given, passed, False)
                elif given and words[opening : opening + 1] != ["<<<"]:
                    # `return k<4>;`, `cudaLaunchKernelEx(&config, k<4>, x)`
                    yield n, _Site(word, self._qualifier(n), given, None, True, named=True)

    def _qualifier(self, at: int) -> tuple[str, ...]:
        """`a::b` before a name."""
        words, out = self.words, list[str]()
        while words[max(at - 2, 0) : at] == [":", ":"] and at > 2 and words[at - 3].isidentifier():
            out.insert(0, words[at - 3])
            at -= 3
        return tuple(out)

    def _meant(self, site: _Site, here: tuple[str, ...]) -> list[_Template]:
        """Templates that a name may mean, overloads included: the nearest of that name."""
        known = [t for t in self.templates[site.name] if bool(t.body) != site.launch]
        if site.qualifier:
            count = len(site.qualifier)
            return [t for t in known if tuple(filter(None, t.space))[-count:] == site.qualifier]
        for depth in range(len(here), -1, -1):
            near = [t for t in known if t.space == here[:depth]]
            if near:
                return near
        return known

    def _explicit(self, functions: list[range]) -> Iterator[str]:
        """`template void wrap<float>(float *);`: an instance that is asked for."""
        words = self.words
        for n in range(len(words) - 1):
            if words[n] != "template" or words[n + 1] == "<" or n not in self.spaces:
                continue
            opening = parameters(words, n + 1)
            end = closing(words, opening) if opening else None
            if opening is None or end is None or words[end + 1 : end + 2] != [";"]:
                continue
            name, written = called(words, opening)
            types = [_unnamed(part) for part in parts(words[opening + 1 : end])]
            values = ", ".join(f"gpudbg_value<gpudbg_bare<{t}>::type>()" for t in types)
            first = ", ".join(map(spelled_out, written))
            for template in self._meant(_Site(name, (), [], None, False), self.spaces[n]):
                for launcher in template.launchers if all(types) else ():
                    yield f"{launcher}<{first}>({values})" if first else f"{launcher}({values})"


def _without_default(part: list[str]) -> list[str]:
    """`int n` of `int n = 3`."""
    return part[: part.index("=")] if "=" in part else part


def _unnamed(part: list[str]) -> str:
    """A parameter's type without its name."""
    named = len(part) > 1 and part[-1].isidentifier() and part[-1] not in NO_NAMES
    if named and (part[-2] in MARKS or part[-2].isidentifier() or part[-2] == ">"):
        part = part[:-1]
    return spelled_out(part)


def _namespaces(words: list[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Places at namespace level, and the namespaces there: an empty name is that of nobody."""
    open_: list[tuple[str, ...] | None] = []
    space: tuple[str, ...] | None = ()
    head = 0
    for n, word in enumerate(words):
        if word in "([{":
            open_.append(space)
            given = words[head:n]
            if space is None or word != "{" or not ("namespace" in given or "extern" in given):
                space = None
            elif "namespace" in given and len(given) < 20:
                named = given[given.index("namespace") + 1 :]
                space = (*space, *([w for w in named if w.isidentifier()] or [""]))
            head = n + 1
        elif word in ")]}" and open_:
            space = open_.pop()
        if word in (";", "}"):
            head = n + 1
        if space is not None:
            yield n, space
