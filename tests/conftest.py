"""What all tests share: a cache of compiled code of their own, Ctrl-C, and how hypothesis runs."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
import threading

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from gpudbg.sm.engines.llvm import build, cache
from tests.processor_time import ProcessorTime
from tests.variants import ALL

# How long an example takes says something about the machine's load, not about the code.
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")


def pytest_configure(config: pytest.Config) -> None:
    """What holds before the first test, in each process that runs tests."""
    heed_interrupts()
    draw_without_reading_sources()
    config.pluginmanager.register(ProcessorTime())
    if not os.environ.get("PYTEST_XDIST_WORKER"):
        use_own_cache(config)
        # The code generator is not ours: tests/engine/test_effort.py has what it does at its best.
        os.environ[build.LEAST_EFFORT] = "least"


def pytest_collection_finish() -> None:
    """Leave ten thousand tests out of each search for garbage: it takes 0.3 s with them."""
    gc.freeze()


def draw_without_reading_sources() -> None:
    """Have hypothesis draw special values from its own list, and not from our code.

    It would read 700 modules for their constants in each process that runs tests, 3 to 10 s of
    each; a campaign does.
    """
    if not ALL:
        vars(providers)["_get_local_constants"] = lambda: providers._local_constants


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
