"""Doors of packages: the names a package offers, each loaded from its module on first use.

A package's `__init__.pyi` lists them (`from .stop import Stop as Stop`): type checkers read it, and
`door` reads the same list when the program runs.  So importing a package costs nothing, and a name
is said once.  It imports little itself: `import gpudbg` begins here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module


def offered(package: str, listing: str) -> dict[str, str]:
    """Name -> the module that defines it, as an `__init__.pyi` says."""
    import ast

    found = {}
    with open(listing, encoding="utf-8") as file:
        text = file.read()
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom):
            above = package if node.level else ""
            module = ".".join(part for part in (above, node.module) if part)
            found.update({alias.name: module for alias in node.names})
    return found


def door(package: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose `__init__.py` is `file`."""
    names = cache(lambda: offered(package, file.removesuffix("c") + "i"))

    def load(name: str) -> object:
        module = names().get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(module), name)

    return load, lambda: sorted(names())


def public(name: str) -> object:
    """A public name of gpudbg, for what is below the package that it is in."""
    return getattr(import_module("gpudbg"), name)
