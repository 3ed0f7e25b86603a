"""Ctrl-C in a script stops the machine, not the script."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import gpudbg

LOOP = """
.kernel endless
.registers 4
again:
    IADD32I R0, R0, 0x1 ;
    BRA `(again) ;
"""


@pytest.fixture
def endless(tmp_path: Path) -> gpudbg.DebugSession:
    from gpudbg import cli

    source, made = tmp_path / "endless.sass", tmp_path / "endless.cubin"
    source.write_text(LOOP)
    assert cli.main(["asm", str(source), "--cubin", str(made)]) == 0
    return gpudbg.load(made).launch("endless", block=int(np.int64(32)))


@contextmanager
def pressed_soon() -> Iterator[None]:
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def test_run_and_cont(endless: gpudbg.DebugSession) -> None:
    before = signal.getsignal(signal.SIGINT)
    for go in (endless.run, endless.cont):
        with pressed_soon():
            assert go().kind == "interrupted"
        assert signal.getsignal(signal.SIGINT) is before
    assert endless.step().kind == "step"
    assert endless.run(max_instructions=10).kind == "limit"


def test_a_handler_of_the_callers_own_stays(endless: gpudbg.DebugSession) -> None:
    seen = []

    def mine(*_: object) -> None:
        seen.append(1)
        endless.interrupt()

    before = signal.signal(signal.SIGINT, mine)
    try:
        with pressed_soon():
            assert endless.run().kind == "interrupted"
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [1]


@pytest.mark.full(instead="test_run_and_cont")
def test_tests_heed_interrupts_that_their_parent_ignores() -> None:
    """A shell's background job ignores the signal: these tests would wait for ever."""
    this = f"{__file__}::test_run_and_cont"
    words = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", this]
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        assert child.communicate(timeout=60)[0].splitlines()[-1].endswith("[100%]")
    finally:
        child.kill()
    assert child.returncode == 0
