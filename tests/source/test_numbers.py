"""Half precision, bit-fields, and what pointers lead to, as `print` has them."""

from __future__ import annotations

import numpy as np
import pytest

import gpudbg
from gpudbg.debug.session import DebugSession
from gpudbg.errors import CommandError
from tests.source.cases import ARCHS, cubin


@pytest.fixture(scope="module", params=ARCHS)
def lane5(request: pytest.FixtureRequest) -> DebugSession:
    """A session that stands behind all declarations, in lane 5."""
    program = gpudbg.load(str(cubin("numbers", request.param)))
    session = program.launch("numbers", grid=1, block=32, args=[np.arange(32, dtype="f4"), 3])
    session.execute("break numbers.cu:20 if threadIdx.x == 5")
    session.cont()
    return session


def shown(session: DebugSession, expression: str) -> str:
    return session.command(f"print {expression}").text.partition(" = ")[2]


def test_halves_are_numbers(lane5: DebugSession) -> None:
    words = {
        text: shown(lane5, text) for text in ("h", "h2", "b", "-h", "(int)h", "h2.y*2", "/x h")
    }
    assert words == {
        "h": "2.5",
        "h2": "{x = 1.5, y = -2.25}",
        "b": "5",
        "-h": "-2.5",
        "(int)h": "2",
        "h2.y*2": "-4.5",
        "/x h": "{__x = 0x4100}",
    }
    assert shown(lane5, "h == 2.5 && b > h") == "true"
    lane5.execute("set var h = 0.1")
    lane5.execute("set var b = 1.1")
    assert (shown(lane5, "h.__x"), shown(lane5, "b.__x")) == ("11878", "16269")
    assert (shown(lane5, "h"), shown(lane5, "b")) == ("0.099975586", "1.1015625")


def test_bit_fields_are_read_and_written(lane5: DebugSession) -> None:
    assert shown(lane5, "bits") == "{a = 5, b = -3, c = true}"
    for assignment in ("bits.b = 7", "bits.a = 9", "bits.c = 0"):
        lane5.execute(f"set var {assignment}")
    assert shown(lane5, "bits") == "{a = 1, b = 7, c = false}"
    with pytest.raises(CommandError, match="no bit-field"):
        lane5.execute("print &bits.a")


def test_pointers_say_where_they_lead(lane5: DebugSession) -> None:
    assert "<vtable for Der+16>, id = 5}, k = 7}" in shown(lane5, "d")
    row = shown(lane5, "row")
    assert row.startswith("{name = 0x")
    assert ' "hi", fn = 0x' in row
    assert row.endswith("<twice(int, float)>, word = {i = 3, f = 4e-45}}")
    assert lane5.command("whatis row.fn").text == "type = int (*)(int, float)"
    assert lane5.command("ptype row.word").text.startswith("type = union Word {")
    assert "    int (*fn)(int, float);" in lane5.command("ptype row").text


def test_a_line_table_alone_says_why_names_are_unknown() -> None:
    program = gpudbg.load("sessions/out_of_bounds/out_of_bounds.cubin")
    arrays = [np.zeros(32, "f4"), np.zeros(32, "f4"), 32]
    session = program.launch("smooth", grid=1, block=32, args=arrays)
    with pytest.raises(CommandError, match="compile it with -G"):
        session.execute("print total")


def test_a_half_in_all_lanes(lane5: DebugSession) -> None:
    values = lane5.execute("print all h")["values"]
    # Lane 5 is the one that tests write.
    others = [n for n in range(32) if n != 5]
    assert [float(values[n]) for n in others] == [0.5 * n for n in others]
    assert "15.5" in lane5.command("print all h").text
