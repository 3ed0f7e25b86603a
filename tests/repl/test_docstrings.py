"""Examples in the docstrings of the public API, run as they stand."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.errors import UsageError
from gpudbg.toolchain.installed import find_nvrtc
from tests.doc_blocks import ROOT, private_names
from tests.variants import rows

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

PUBLIC = sorted({*gpudbg.__all__, "compile", "open"} - {"__version__"})

STOPS = {name for name in PUBLIC if name.endswith("Stop") and name != "Stop"}
"""The kinds of stop: the examples of `Stop` show them."""
HANDED_OUT = STOPS | set(
    """BoundInstruction BoundWideInstruction CallSite DeviceImage Focus Global InstructionInfo
    Kernel LaneView Line Memory Output PredicateFile RegisterFile Result SpecialValue StackEntry
    StopKind Subscription Trigger WarpDetail WarpRow""".split()
)
"""Types that nobody makes: the examples of what hands them out show them."""
OF_LIBRARIES = {"cupy", "numba", "triton", "triton_driver"}
"""What needs a library that is not installed here: `tests/clients/test_python_kernels.py`."""
NO_EXAMPLE = (
    OF_LIBRARIES | HANDED_OUT | {name for name in PUBLIC if name.endswith(("Error", "Gap"))}
)
"""Public names that explain themselves."""

NEEDS_NVRTC = {
    "gpudbg.api.load.compile",
    "gpudbg.interop.cuda_sources.SourceModule",
    "gpudbg.interop.cuda_sources.load_inline",
}


def modules() -> list[Any]:
    """Modules that define public names, and those that a session is made of."""
    names = {getattr(gpudbg, name).__module__ for name in PUBLIC} - {"typing"}
    parts = {
        "gpudbg.debug.inspection", "gpudbg.debug.breakpoints.events", "gpudbg.debug.warp_view",
        "gpudbg.device.tensor_map", "gpudbg.device.views",
    }  # fmt: skip
    return [importlib.import_module(name) for name in sorted(names | parts)]


EXAMPLES = {
    test.name: test
    for module in modules()
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, module.__name__)
    if test.examples
}


def has_nvrtc() -> bool:
    try:
        return find_nvrtc() is not None
    except UsageError:
        return False


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name: str) -> None:
    """Each begins with `program`, `session` at its entry, `gpudbg` and `np`."""
    if name in NEEDS_NVRTC and not has_nvrtc():
        pytest.skip("NVRTC is not installed")
    test = EXAMPLES[name]
    session = gpudbg.open(ROOT / "sessions/first_steps/first_steps.cubin")
    test.globs = {
        "gpudbg": gpudbg,
        "np": np,
        "session": session,
        "program": session.launch.loaded,
    }
    words: list[str] = []
    with contextlib.chdir(ROOT):
        failed, _ = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=words.append)
    assert not failed, "".join(words)


@rows("name", EXAMPLES)
def test_no_private_names(name: str) -> None:
    source = "".join(example.source for example in EXAMPLES[name].examples)
    assert private_names(source) == set()


@rows("name", sorted(set(PUBLIC) - NO_EXAMPLE))
def test_every_public_name_shows_how_it_is_used(name: str) -> None:
    thing = getattr(gpudbg, name)
    place = f"{thing.__module__}.{thing.__name__}"
    assert any(example == place or example.startswith(place + ".") for example in EXAMPLES)


@rows("name", PUBLIC)
def test_public_things_are_typed_and_explained(name: str) -> None:
    thing = getattr(gpudbg, name)
    assert inspect.getdoc(thing) or name == "StopKind", "words that a Literal lists"
    members = inspect.getmembers(thing) if inspect.isclass(thing) else [(name, thing)]
    for member, value in members:
        if member.startswith("_") or not inspect.isfunction(value):
            continue
        assert inspect.getdoc(value), f"{name}.{member}"
        signature = inspect.signature(value)
        untyped = [
            p.name
            for p in signature.parameters.values()
            if p.annotation is p.empty and p.name not in ("self", "cls")
        ]
        assert not untyped, f"{name}.{member}: {untyped}"
        assert signature.return_annotation is not signature.empty, f"{name}.{member}"
