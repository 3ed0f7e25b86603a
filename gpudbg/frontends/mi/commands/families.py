"""The families of MI commands, and the table with all of them."""

from __future__ import annotations

from importlib import import_module

from gpudbg.frontends.mi.commands.registry import TABLE, MiCommand

FAMILIES = tuple("general breakpoints execution stack data variables files cuda provenance".split())


def load() -> dict[str, MiCommand]:
    """The table with every family entered."""
    for family in FAMILIES:
        import_module(f"gpudbg.frontends.mi.commands.{family}")
    return TABLE
