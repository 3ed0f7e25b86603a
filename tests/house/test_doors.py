"""Doors of packages: what they list is there, and frontends come in through them."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import gpudbg
from gpudbg.doors import offered
from tests.variants import rows

ROOT = Path(gpudbg.__file__).parent
DOORS = sorted(ROOT.rglob("__init__.pyi"))


def package_of(listing: Path) -> str:
    return ".".join(listing.parent.relative_to(ROOT.parent).parts)


@rows("listing", DOORS, ids=package_of)
def test_what_a_door_lists_is_there(listing: Path) -> None:
    """Each name comes from the module that is said to define it, and hides no module."""
    package = package_of(listing)
    for name, module in offered(package, str(listing)).items():
        assert getattr(import_module(package), name) is getattr(import_module(module), name)
        # A module that is offered itself (`from . import errors`) hides nothing.
        assert module == package or not (listing.parent / f"{name}.py").exists(), name


def test_other_names_are_refused_by_a_door() -> None:
    with pytest.raises(AttributeError, match=r"module 'gpudbg\.debug' has no attribute 'Grid'"):
        import_module("gpudbg.debug").Grid  # noqa: B018 - asked for the error


def test_the_contract_lists_every_module_behind_the_doors() -> None:
    config = tomllib.loads((ROOT.parent / "pyproject.toml").read_text())
    contracts = config["tool"]["importlinter"]["contracts"]
    (doors,) = (c for c in contracts if c["name"].startswith("Frontends import the doors"))
    behind = set(doors["forbidden_modules"])
    debug = {f.stem for f in (ROOT / "debug").glob("*.py")} - {"__init__"}
    assert {f"gpudbg.debug.{name}" for name in debug} <= behind
    for listing in DOORS:
        package = package_of(listing)
        # Frontends import nothing of `isa`, its door included: another contract.
        assert package in ("gpudbg", "gpudbg.isa", "gpudbg.debug") or f"{package}.*" in behind
