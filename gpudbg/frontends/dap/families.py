"""The families of requests, and the table with all of them."""

from __future__ import annotations

from importlib import import_module

from gpudbg.frontends.dap.registry import TABLE, RequestRow

FAMILIES = ("lifecycle", "breakpoints", "execution", "stack", "data", "code", "cuda")


def load() -> dict[str, RequestRow]:
    """The table with every family entered."""
    for family in FAMILIES:
        import_module(f"gpudbg.frontends.dap.requests.{family}")
    return TABLE
