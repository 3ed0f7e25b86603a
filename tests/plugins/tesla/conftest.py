"""Makes the bundled plugin importable as `gpudbg_plugins.tesla`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpudbg.plugin import Registry, discover

_REGISTRY = discover()
_REGISTRY.import_module("tesla", "provenance")


@pytest.fixture(scope="session")
def registry() -> Registry:
    """The registry of one discovery."""
    return _REGISTRY


@pytest.fixture(scope="session")
def decode() -> Callable[..., Any]:
    """Run a decoder as JSON and give its data; fails on a non-zero exit code."""
    import json

    def run(name: str, *argv: object) -> Any:
        code, output = _REGISTRY.run_decoder(name, [str(word) for word in argv], json=True)
        assert code == 0, output
        return json.loads(output)

    return run


@pytest.fixture(scope="session")
def refuse() -> Callable[..., str]:
    """Run a decoder that must refuse its arguments: exit code 2 and one line, given back."""

    def run(name: str, *argv: object) -> str:
        code, output = _REGISTRY.run_decoder(name, [str(word) for word in argv])
        assert code == 2, output
        assert "\n" not in output
        assert "Traceback" not in output
        return output

    return run
