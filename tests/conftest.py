"""What all tests share: sessions, a cache of compiled code of their own, Ctrl-C, hypothesis."""

from __future__ import annotations

import gc
import math
import os
import signal
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from _pytest.assertion import rewrite
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from gpudbg.debug.session import DebugSession
from gpudbg.sm.engines.llvm import build, cache, program
from tests import launching, variants
from tests.processor_time import ProcessorTime

LEFT = "left out"
"""What a worker calls its numbers."""
SETTINGS = "_hypothesis_internal_use_settings"
"""Where hypothesis keeps a test's settings."""

# How long an example takes says something about the machine's load, not about the code.
settings.register_profile("full", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The same examples in each run: what failed once fails again.
settings.register_profile("tests", settings.get_profile("full"), derandomize=True, database=None)


@pytest.fixture
def make_session() -> Callable[[], DebugSession]:
    """A function that launches the first program's kernel on fresh memory."""
    return launching.launch_block_max


@pytest.fixture
def session(make_session: Callable[[], DebugSession]) -> DebugSession:
    """A session at the entry of the first program's kernel."""
    return make_session()


@pytest.fixture
def first_steps() -> DebugSession:
    """The shipped first story with its launch table."""
    return launching.open_story("first_steps")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="all variants: see tests/variants.py")


def pytest_configure(config: pytest.Config) -> None:
    """What holds before the first test, in each process that runs tests."""
    if config.getoption("full"):
        os.environ[variants.ASKED] = "1"
    settings.load_profile("full" if variants.full() else "tests")
    for marker in variants.MARKERS:
        config.addinivalue_line("markers", marker)
    heed_interrupts()
    rewrite_a_share(config)
    draw_without_reading_sources()
    # Whether better code is made beside a run depends on how loaded the machine is.
    vars(program)["_LASTING"] = math.inf
    config.pluginmanager.register(ProcessorTime())
    config.pluginmanager.register(LeftOut())
    if not os.environ.get("PYTEST_XDIST_WORKER"):
        use_own_cache(config)
        # The code generator is not ours: tests/engine/test_effort.py has what it does at its best.
        os.environ[build.LEAST_EFFORT] = "least"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave what is redundant to the second tier."""
    if variants.full() or any("::" in word for word in config.args):
        return
    items[:], others = variants.choose(items)
    config.hook.pytest_deselected(items=others)
    for item in items:
        draw_few_examples(item)


def draw_few_examples(item: pytest.Item) -> None:
    """Of a property that asks for more than is drawn in the first tier."""
    function = getattr(getattr(item, "obj", None), "__func__", getattr(item, "obj", None))
    asked = getattr(function, SETTINGS, None)
    if asked is not None and asked.max_examples > variants.EXAMPLES:
        variants.left["examples of properties"] += asked.max_examples - variants.EXAMPLES
        setattr(function, SETTINGS, settings(asked, max_examples=variants.EXAMPLES))


class LeftOut:
    """Says after a run what it left to `make test-all`: workers tell, the first process prints."""

    def __init__(self) -> None:
        self.found: Counter[str] = Counter()
        self.met: Counter[str] = Counter()

    def pytest_collection_finish(self) -> None:
        self.found = Counter(variants.left)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.met += variants.left - self.found
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[LEFT] = dict(self.found), dict(self.met)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        # Each worker has found all tests; what it met while it ran them, no other has.
        found, met = getattr(node, "workeroutput", {}).get(LEFT, ({}, {}))
        self.found |= Counter(found)
        self.met += Counter(met)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        kinds = sorted((self.found + self.met).items())
        if kinds:
            told = ", ".join(f"{count:,} {kind}" for kind, count in kinds)
            terminalreporter.write_line(f"left to `make test-all`: {told}")


def pytest_collection_finish() -> None:
    """Leave ten thousand tests out of each search for garbage: it takes 0.3 s with them."""
    gc.freeze()


def draw_without_reading_sources() -> None:
    """Have hypothesis draw special values from its own list, and not from our code.

    It would read 700 modules for their constants in each process that runs tests, 3 to 10 s of
    each; a campaign does.
    """
    if not variants.full():
        vars(providers)["_get_local_constants"] = lambda: providers._local_constants


def rewrite_a_share(config: pytest.Config) -> None:
    """Rewrite the assertions of a worker's share of the files before all of them are imported.

    Each worker would rewrite them all, in the same order at the same time, and none would find what
    another has done: 15 s of each.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if not worker or sys.dont_write_bytecode:
        return
    count = int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    files = sorted(Path(__file__).parent.rglob("test_*.py"), key=lambda file: file.stat().st_size)
    state = config.stash[rewrite.assertstate_key]
    for file in files[int(worker.removeprefix("gw")) :: count]:
        kept = rewrite.get_cache_dir(file) / f"{file.stem}{rewrite.PYC_TAIL}"
        if rewrite._read_pyc(file, kept) is None and rewrite.try_makedirs(kept.parent):
            stat, code = rewrite._rewrite_test(file, config)
            rewrite._write_pyc(state, code, stat, kept)


def heed_interrupts() -> None:
    """Have Ctrl-C do what it does in a terminal.

    A shell's background job and what nohup starts ignore the signal, and so do their children:
    a test that interrupts a kernel would wait for ever.
    """
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if ignored and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


def use_own_cache(config: pytest.Config) -> None:
    """Processes that tests begin have the same one; the user's is left alone.

    It is in pytest's own cache, so that the next run need not compile everything again.
    """
    kept = getattr(config, "cache", None)
    if os.environ.get("PYTEST_CURRENT_TEST") and os.environ.get(cache.FOLDER):
        return  # a run that a test has begun
    if kept is not None:
        folder = str(kept.mkdir("gpudbg-code"))
    else:
        folder = tempfile.mkdtemp(prefix="gpudbg-code-")
    os.environ[cache.FOLDER] = folder
    os.environ.pop(cache.SIZE, None)
