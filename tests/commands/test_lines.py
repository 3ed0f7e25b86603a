"""Console lines nobody would type: each is answered or refused in one line, none raises."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

import pytest

from gpudbg.debug.session import DebugSession
from gpudbg.errors import CommandError
from tests.commands.fuzz_lines import ask, lines, make_session, renewed
from tests.variants import number, rows


@pytest.fixture(scope="module")
def session() -> DebugSession:
    return make_session()


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines may name files."""
    monkeypatch.chdir(tmp_path)


REFUSED = {
    "print " + "9" * 5000: "does not fit in 64 bits",
    "print 0x" + "f" * 5000: "does not fit in 64 bits",
    "info line " + "9" * 5000: "too long",
    "print $" + "9" * 5000: "too long",
    "delete 0x" + "f" * 5000: "too long",
    "x/" + "9" * 5000 + "x 0": "too long",
    "print " + "(" * 2000 + "1" + ")" * 2000: "nested too deeply",
    "print " + "-" * 2000 + "1": "nested too deeply",
    "print " + "sizeof " * 2000 + "1": "nested too deeply",
    "print " + "1?" * 2000 + "1" + ":0" * 2000: "nested too deeply",
    "print " + "1?1:" * 2000 + "1": "nested too deeply",
    "print " + "$a=" * 2000 + "1": "nested too deeply",
    "print " + "+".join("1" * 2000): "operators deep",
    "print $R4" + "[0]" * 2000: "operators deep",
    "print (int" + "*" * 2000 + ")0": "pointers",
    "print c[0x0][0.0/0]": "must be an integer",
    "print c[1e999][0]": "must be an integer",
    "print shared[0.0/0]": "must be an integer",
    "print shared[1.5]": "must be an integer",
    "print in[0.5]": "must be an integer",
    "print (int*)1.5": "cannot convert",
    "print *1e999": "cannot be dereferenced",
    "break *-1e999": "must be an integer",
    "break *(1/($R255))": "division by zero",
    "print in[0]@1e999": "number of elements from 1",
    "print in[0]@(0.0/0)": "number of elements from 1",
    "ignore , 3": "not the number of one breakpoint",
    "condition , 1": "not the number of one breakpoint",
    "print ²": "unexpected",
    "print ٣": "unexpected",
    "info registers R²": "unexpected",
    'printf "%d\\n", 1e999': "takes an integer",
    'printf "%99999999999d\\n", 1': "width",
    "set var $R255 = 1": "always 0",
}
"""Line -> a piece of the message."""


@rows("line", REFUSED, ids=lambda line: line[:24])
def test_is_refused_in_one_line(session: DebugSession, line: str) -> None:
    with pytest.raises(CommandError) as refusal:
        session.command(line)
    text = str(refusal.value)
    assert re.search(re.escape(REFUSED[line]), text)
    assert len(text) < 300


COMPUTED = {
    "1 << 64": 0,
    "1 << 0xffffffffffffffff": 0,
    "-1 >> 0xffffffffffffffff": -1,
    "1 >> 0x7fffffffffffffff": 0,
    "0xffffffffffffffff * 0xffffffffffffffff": 1,
    "(1 ? in : out) == in": True,
    "-1 % 0x7fffffffffffffff": -1,
    "1e999 > 0": True,
    "0x8000000000000000 - 1": 0x7FFFFFFFFFFFFFFF,
    "(" * 60 + "7" + ")" * 60: 7,
    "+".join("1" * 150): 150,
}


@pytest.mark.parametrize("text", COMPUTED, ids=lambda text: text[:24])
def test_is_computed(session: DebugSession, text: str) -> None:
    assert session.execute(f"print {text}")["value"] == COMPUTED[text]


def test_shifts_by_negative_counts_have_no_value(session: DebugSession) -> None:
    assert "negative count" in session.command("print 1 << -1").text
    assert "negative count" in session.command("print (1 >> -1) + 1").text


def test_a_constant_bank_is_read_in_every_lane(session: DebugSession) -> None:
    """Lanes that ask for different words get their own, and not lane 0's."""
    each = session.evaluate("c[0x0][0x8 + 4 * $lane]").values[:4].tolist()
    assert each == [session.execute(f"print c[0x0][{8 + 4 * i}]")["value"] for i in range(4)]
    assert len(set(each)) > 1
    partly = session.evaluate("c[0x0][$lane < 4 ? 0x8 : 0x7fffffff]")
    assert partly.valid.tolist() == [True] * 4 + [False] * 28
    assert partly.why


def test_random_lines() -> None:
    current = make_session()
    for line in islice(lines(20261123), number(300, 600)):
        current = renewed(current)
        assert ask(current, line) == "", line[:200]
