"""Makes the bundled plugin importable as `gpudbg_plugins.amdgpu`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from gpudbg.plugin import Registry, discover

_REGISTRY = discover()
_REGISTRY.import_module("amdgpu", "errors")


@pytest.fixture(scope="session")
def registry() -> Registry:
    """The registry of one discovery."""
    return _REGISTRY


@pytest.fixture(scope="session")
def decode() -> Callable[..., tuple[int, Any]]:
    """Run a decoder as JSON; gives the exit code and the data."""

    def run(name: str, *argv: str) -> tuple[int, Any]:
        code, output = _REGISTRY.run_decoder(name, list(argv), json=True)
        return code, json.loads(output) if output.startswith(("{", "[")) else output

    return run
