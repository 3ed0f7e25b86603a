"""A method is overridden twice at most: more makes a class hard to follow."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator

from tests.house import sources
from tests.house.sources import Source, parsed

MOST = 3
"""Classes of one object that may define a method: the first, and two that override it."""

Defined = tuple[str, list[str], set[str]]
"""A class: its name, the names of its bases, its methods."""


def classes(source: Source) -> Iterator[Defined]:
    for node in source.nodes:
        if isinstance(node, ast.ClassDef):
            bases = [ast.unparse(base).partition("[")[0].split(".")[-1] for base in node.bases]
            kinds = ast.FunctionDef | ast.AsyncFunctionDef
            yield node.name, bases, {part.name for part in node.body if isinstance(part, kinds)}


CLASSES = sources.collected(classes)


def often(found: Iterable[Defined]) -> dict[str, list[str]]:
    """Classes with methods that more than `MOST` classes of their objects define."""
    known = {name: (bases, methods) for name, bases, methods in found}

    def line(name: str) -> Iterator[str]:
        yield name
        for base in known[name][0]:
            if base in known and base != name:
                yield from line(base)

    many: dict[str, list[str]] = {}
    for name in known:
        counts = Counter(m for one in dict.fromkeys(line(name)) for m in known[one][1])
        more = [m for m, n in counts.items() if n > MOST and not m.startswith("__")]
        if more:
            many[name] = more
    return many


def test_no_method_is_overridden_three_times() -> None:
    ours = [
        defined
        for file, found in CLASSES().items()
        if file.startswith("gpudbg/")
        for defined in found
    ]
    assert often(ours) == {}


def test_a_planted_chain_is_found() -> None:
    text = "\n".join(
        f"class C{n}({f'C{n - 1}' if n else ''}):\n    def run(self): ...\n" for n in range(4)
    )
    assert often(classes(parsed("planted.py", text))) == {"C3": ["run"]}
