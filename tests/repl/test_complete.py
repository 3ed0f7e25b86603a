"""Completion at the prompt."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudbg.frontends.repl.complete import Completer
from tests.launching import open_story
from tests.repl.conftest import Spoken

SHELL = Spoken(open_story("first_steps")).shell
FINDER = Completer(SHELL)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("info wa", "info warps"),
        ("info regi", "info registers"),
        ("!info wa", "!info warps"),
        ("break block", "break block_max"),
        ("print $R1", "print $R12"),
        ("print SR_VIRT", "print SR_VIRTID"),
        ("info special SR_LANE", "info special SR_LANEID"),
        ("set step-al", "set step-along"),
        ("cont", "continue"),
        ("disas", "disassemble"),
        ("dbg.snap", "dbg.snapshot"),
        ("a = dbg.snap", "a = dbg.snapshot"),
        ("dbg.warp(", "dbg.warp(3"),
        ("dbg.warp(0).la", "dbg.warp(0).lane"),
        ("dbg.warp().lane(3", "dbg.warp().lane(31"),
        ("dbg.warp(0).R[1", "dbg.warp(0).R[14"),
        ("dbg.warp(0).P[", "dbg.warp(0).P[7"),
        ("dbg.warp(0).lane(3).thr", "dbg.warp(0).lane(3).thread"),
        ("dbg.stop.ker", "dbg.stop.kernel"),
        ("dbg.break_at('blo", "dbg.break_at('block_max"),
        ('dbg.sreg("SR_TID', 'dbg.sreg("SR_TID.X'),
        ("dbg.buffer('o", "dbg.buffer('out"),
        ("program.launch('", "program.launch('block_max"),
        ("dbg.execute('info wa", "dbg.execute('info warps"),
        ("dbg.evaluate('$P", "dbg.evaluate('$P6"),
        ("program.ker", "program.kernels"),
        ("program.kernels['", "program.kernels['block_max"),
        ('dbg.program.kernels["blo', 'dbg.program.kernels["block_max'),
        ("device.arc", "device.arch"),
        ("np.aran", "np.arange"),
        ("pri", "print"),
        ("devi", "device"),
        ("if devi", "if device"),
    ],
)
def test_completion(text: str, whole: str) -> None:
    count, found = FINDER.matches(text)
    assert whole in {text[: len(text) - count] + f for f in found}


@pytest.mark.parametrize("text", ["", "   ", "unknown_name.", "1 + ", "dbg.nothing.", "f().x."])
def test_nothing_to_complete(text: str) -> None:
    assert FINDER.matches(text)[1] == []


def test_private_names_only_when_asked() -> None:
    assert not [n for n in FINDER.matches("dbg.")[1] if n.startswith("_")]
    assert FINDER.matches("dbg._")[1]


def test_looking_for_completions_runs_nothing() -> None:
    class Trap:
        @property
        def value(self) -> int:
            raise AssertionError("a property was read")

        def method(self) -> None:
            raise AssertionError("a method was called")

    SHELL.names["trap"] = Trap()
    assert FINDER.matches("trap.value.") == (0, [])
    assert FINDER.matches("trap.method().") == (0, [])
    assert "value" in FINDER.matches("trap.")[1]
    del SHELL.names["trap"]


@given(st.text(alphabet="dbgwarpinfo.()[]'\"0123456789 !$_/=", max_size=40))
@settings(max_examples=60)
def test_any_text(text: str) -> None:
    count, found = FINDER.matches(text)
    assert 0 <= count <= len(text)
    assert all(isinstance(f, str) for f in found)
