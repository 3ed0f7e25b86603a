"""Import cycles stay small, and classes are made of parts: the numbers held here cannot grow.

Every import counts: at the top of a module, in a function, for types only, by name (a text that is
a module's name, or the beginning of one in an f-string), and what a package's door lists.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.house import sources
from tests.house.sources import Source, parsed
from tests.variants import rows

ROOT = Path(__file__).resolve().parents[2]

Graph = dict[str, set[str]]

MOST = 5
"""Modules of the largest cycle that any package may have."""
LARGEST = {
    "answers": 1,
    "debug": 2,
    "sanitizer": 1,
    "frontends.tui": 2,
    "frontends.dap": 1,
    "frontends.mcp": 1,
    "frontends.mi": 1,
    "frontends.console": 1,
    "frontends.repl": 1,
    "frontends.verbs": 1,
    "frontends.web": 1,
    "interop": 1,
    "hosting": 1,
    "launch": 1,
    "listing": 1,
    "manual": 1,
    "loading": 1,
    "options": 1,
    "reference": 1,
    "symbols": 1,
    "toolchain": 1,
    "expr": 1,
    "formats": 1,
    "regs": 1,
    "api": 2,
    "assembler": 2,
    "analysis": 2,
    "plugin": 2,
    "isa": 2,
    "mem": 2,
    "device": 3,
    "sm": 4,
}
"""Modules of the largest cycle that a module of the package is in; 1 is none."""
BASES = 2
"""Classes of ours that a class may inherit from."""


def modules(root: Path) -> dict[str, Path]:
    found = {}
    for file in sorted((root / "gpudbg").rglob("*.py")):
        name = ".".join(file.relative_to(root).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = file
    return found


def named(node: ast.AST, known: dict[str, Path]) -> Iterator[str]:
    """Modules that a node names in a text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from {node.value} & known.keys() if node.value != "gpudbg" else ()
    elif isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
        begin = str(node.values[0].value)
        if begin.startswith("gpudbg.") and begin != "gpudbg.":
            yield from (name for name in known if name.startswith(begin))


def imported(node: ast.AST, package: list[str], known: dict[str, Path]) -> Iterator[str]:
    """Modules that a node imports; `package` is what relative imports begin at."""
    if isinstance(node, ast.Import):
        yield from (a.name for a in node.names if a.name in known)
    elif isinstance(node, ast.ImportFrom):
        above = package[: len(package) - node.level + 1] if node.level else []
        base = ".".join([*above, *([node.module] if node.module else [])])
        for a in node.names:
            whole = f"{base}.{a.name}"
            yield from (whole,) if whole in known else {base} & known.keys()


def graph(root: Path) -> Graph:
    """Module -> the modules it imports, however it does."""
    known = modules(root)
    return {
        name: mentioned(parsed(name, file.read_text()), file, known) for name, file in known.items()
    }


def mentioned(source: Source, file: Path, known: dict[str, Path]) -> set[str]:
    """Modules that a source and its stub import or name."""
    name = next(name for name, of in known.items() if of == file)
    parts = name.split(".")
    package = parts if file.name == "__init__.py" else parts[:-1]
    found: set[str] = set()
    for node in source.nodes:
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            found.update(named(node, known))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update(imported(node, package, known))
    if (door := file.with_suffix(".pyi")).exists():
        for node in ast.parse(door.read_text()).body:
            found.update(imported(node, package, known))
    return found - {name}


def cycles(graph: Graph) -> list[set[str]]:
    """Modules that import one another around, by Kosaraju: those that reach each other."""
    order: list[str] = []
    seen: set[str] = set()
    for start in graph:
        stack = [(start, iter(graph[start]))] if start not in seen else []
        seen.add(start)
        while stack:
            name, rest = stack[-1]
            following = next((n for n in rest if n not in seen), None)
            if following is None:
                order.append(name)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(graph[following])))
    back: Graph = {name: set() for name in graph}
    for name, found in graph.items():
        for other in found:
            back[other].add(name)
    out, left = [], set(graph)
    for root in reversed(order):
        group, waiting = set(), [root] if root in left else []
        left.discard(root)
        while waiting:
            name = waiting.pop()
            group.add(name)
            more = back[name] & left
            left -= more
            waiting += more
        if len(group) > 1:
            out.append(group)
    return out


OURS = modules(ROOT)


def of_ours(source: Source) -> set[str]:
    if not source.name.startswith("gpudbg/"):
        return set()
    return mentioned(source, ROOT / source.name, OURS)


MENTIONED = sources.collected(of_ours)


@cache
def ours() -> list[set[str]]:
    found = MENTIONED()
    return cycles(
        {name: set(found.get(file.relative_to(ROOT).as_posix(), ())) for name, file in OURS.items()}
    )


def package_of(module: str) -> str:
    parts = module.split(".")[1:]
    return ".".join(parts[: 2 if parts[:1] == ["frontends"] else 1])


def test_every_package_is_held() -> None:
    folders = {
        package_of(name)
        for name, file in modules(ROOT).items()
        if file.name == "__init__.py" and name.count(".") <= 2
    }
    assert folders - {"", "frontends"} == set(LARGEST)


@rows("package", LARGEST)
def test_the_largest_cycle_does_not_grow(package: str) -> None:
    found = [group for group in ours() if any(package_of(name) == package for name in group)]
    largest = max(found, key=len, default=set())
    assert max(len(largest), 1) <= LARGEST[package] <= MOST, sorted(largest)


def test_no_cycle_anywhere_is_larger() -> None:
    assert [sorted(group) for group in ours() if len(group) > MOST] == []


def test_every_way_to_import_counts(tmp_path: Path) -> None:
    made = {
        "__init__.py": "",
        "a.py": "from gpudbg import b\n",
        "b.py": "def f():\n    from gpudbg.c import x\n",
        "c.py": "if TYPE_CHECKING:\n    from gpudbg.d import X\n",
        "d.py": "from . import e\n",
        "e.py": 'KIND = "gpudbg.family.one"\n',
        "family/__init__.py": "",
        "family/one.py": "from ..g import x\n",
        "g.py": 'import_module(f"gpudbg.family.t{name}")\n',
        "family/two.py": "import gpudbg.a\n",
        "apart.py": "import gpudbg.a, gpudbg.b\n",
    }
    for name, text in made.items():
        file = tmp_path / "gpudbg" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert cycles(graph(tmp_path)) == [
        {f"gpudbg.{name}" for name in ("a", "b", "c", "d", "e", "g", "family.one", "family.two")}
    ]


# ---- classes ---------------------------------------------------------------------------
def name_of(base: ast.expr) -> str:
    """`Base` of `Base`, `module.Base` and `Base[Of]`."""
    if isinstance(base, ast.Subscript):
        base = base.value
    return base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")


def classes(source: Source) -> Iterator[tuple[str, list[str]]]:
    """(Name, names of its bases) of each class."""
    for node in source.nodes:
        if isinstance(node, ast.ClassDef):
            yield node.name, [name_of(base) for base in node.bases]


CLASSES = sources.collected(classes)


def test_classes_are_made_of_parts() -> None:
    every = [(file, *found) for file, classes in CLASSES().items() for found in classes]
    names = {name for _, name, _ in every}
    many = {
        f"{file}: {name}": ours
        for file, name, bases in every
        if len(ours := [base for base in bases if base in names]) > BASES
    }
    assert len(names) > 1000
    assert many == {}
