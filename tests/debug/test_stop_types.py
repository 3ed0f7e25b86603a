"""Stops are a closed set of types; `kind` and the records are what they were."""

from __future__ import annotations

import ast
import copy
import pickle
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path
from typing import Any, get_args

import pytest

import gpudbg
from gpudbg.api.opening import launch_parser, open_session
from gpudbg.debug.stops.headlines import NAMES
from gpudbg.debug.stops.maker import BY_EVENT
from gpudbg.frontends.tui.stop_words import ROLES
from gpudbg.sm import events
from tests.launching import open_story

ROOT = Path(__file__).resolve().parents[2]
SESSIONS = ROOT / "sessions"
KERNELS = ROOT / "tests" / "data" / "kernels" / "cubin" / "sm_50"


def every(of: type[gpudbg.Stop] = gpudbg.Stop) -> Iterator[type[gpudbg.Stop]]:
    for kind in of.__subclasses__():
        if kind.__module__ == gpudbg.Stop.__module__ and not hasattr(kind, "__weakref__"):
            yield kind
            yield from every(kind)


def at_a_breakpoint() -> gpudbg.Stop:
    session = open_story("first_steps")
    session.break_at("block_max+0x28")
    return session.cont()


def watched() -> gpudbg.Stop:
    session = open_story("first_steps")
    session.execute("watch $R2")
    return session.cont()


def interrupted() -> gpudbg.Stop:
    session = open_story("first_steps")
    session.interrupt()
    return session.cont()


def not_launched() -> gpudbg.Stop | None:
    flags = launch_parser().parse_args([])
    return open_session(KERNELS / "saxpy.cubin", flags, may_wait=True).stop


MET: dict[str, tuple[Callable[[], gpudbg.Stop | None], str]] = {
    "EntryStop": (lambda: open_story("first_steps").stop, "step"),
    "StepStop": (lambda: open_story("first_steps").step(3), "step"),
    "BreakpointStop": (at_a_breakpoint, "breakpoint"),
    "WatchpointStop": (watched, "breakpoint"),
    "FaultStop": (lambda: open_story("out_of_bounds").run(), "warp_error"),
    "TrapStop": (lambda: open_story("bpt_pause").run(), "trap"),
    "DeadlockStop": (lambda: open_story("barrier_count").run(), "deadlock"),
    "ExitStop": (lambda: open_story("first_steps").run(), "exited"),
    "LimitStop": (lambda: open_story("first_steps").run(max_instructions=5), "limit"),
    "InterruptStop": (interrupted, "interrupted"),
    "OpenedStop": (not_launched, "opened"),
}


def stop_of(name: str) -> gpudbg.Stop:
    found = MET[name][0]()
    assert found is not None
    return found


def test_every_type_is_public_and_met_here() -> None:
    names = {kind.__name__ for kind in every()}
    assert names == set(MET)
    assert names <= set(gpudbg.__all__)


@pytest.mark.parametrize("name", MET)
def test_a_session_stops_as(name: str) -> None:
    stop = stop_of(name)
    assert type(stop) is getattr(gpudbg, name)
    assert stop.kind == MET[name][1]
    assert repr(stop).startswith(f"<Stop {stop.kind}: ")
    assert list(stop.to_json()) == [f.name for f in fields(gpudbg.Stop)]
    assert stop.to_json()["kind"] == stop.kind
    for again in (replace(stop, message="x"), copy.copy(stop), pickle.loads(pickle.dumps(stop))):
        assert type(again) is type(stop)
        assert again.kind == stop.kind
    with pytest.raises(FrozenInstanceError):
        stop.message = ""  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "finished", "faulted", "failed", "clean"),
    [
        ("EntryStop", False, False, False, True),
        ("StepStop", False, False, False, True),
        ("BreakpointStop", False, False, False, True),
        ("WatchpointStop", False, False, False, True),
        ("FaultStop", True, True, True, False),
        ("TrapStop", False, False, True, False),
        ("DeadlockStop", True, True, True, False),
        ("ExitStop", True, False, False, True),
        ("LimitStop", False, False, False, False),
        ("InterruptStop", False, False, False, False),
        ("OpenedStop", False, False, False, False),
    ],
)
def test_what_a_stop_says_of_itself(
    name: str, finished: bool, faulted: bool, failed: bool, clean: bool
) -> None:
    stop = stop_of(name)
    assert (stop.finished, stop.faulted, stop.failed) == (finished, faulted, failed)
    if clean:
        assert stop.check() is stop
    else:
        with pytest.raises(gpudbg.KernelError):
            stop.check()


def test_a_stop_without_a_kind_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="one of its kinds"):
        gpudbg.Stop("")


def test_tables_know_every_type() -> None:
    kinds = {kind("").kind for kind in every()}
    assert kinds == set(get_args(gpudbg.StopKind))
    assert set(ROLES) == set(NAMES) == set(every())
    assert set(BY_EVENT) == set(get_args(events.StopKind))
    assert all(made("").kind == kind for kind, made in BY_EVENT.items())


def compared(tree: ast.AST) -> Iterator[int]:
    """Lines that compare the `kind` of something called a stop."""
    for node in ast.walk(tree):
        sides: list[Any] = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
        for side in sides:
            if isinstance(side, ast.Attribute) and side.attr == "kind":
                name = side.value
                last = name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")
                if last == "stop":
                    yield side.lineno


def test_nothing_compares_the_word_of_a_stop() -> None:
    found = {
        f"{file.relative_to(ROOT)}:{line}"
        for file in sorted((ROOT / "gpudbg").rglob("*.py"))
        if "stop.kind" in (text := file.read_text())
        for line in compared(ast.parse(text))
    }
    # What scripts ask `session.events` for is a word.
    assert {place.partition(":")[0] for place in found} == {"gpudbg/debug/breakpoints/events.py"}
