"""Expressions after the last warp: what is left has values, what has gone says so."""

from __future__ import annotations

from typing import Any

import pytest

from gpudbg.errors import CommandError
from tests.tui.helpers import open_first


@pytest.fixture
def ended() -> Any:
    session = open_first()
    assert session.run().kind == "exited"
    return session


def test_buffers_and_values_that_were_shown_stay(ended: Any) -> None:
    out = ended.buffer("out")
    assert ended.command("print out[2]").lines == (f"$1 = {out[2]}",)
    assert ended.command("print $1 * 2 + in[1]").lines == (
        f"$2 = {2 * out[2] + ended.buffer('in')[1]}",
    )
    assert f"0x{ended.launch.arguments[1].value:x}" in ended.command("print out@entry").text
    assert ended.command("print out").data["values"] == out.tolist()
    assert ended.command("output/x *(unsigned char *)out").text == f"0x{int(out[0]) & 255:x}"
    assert "no value" in ended.command("print out[999999]").text


@pytest.mark.parametrize(
    "text",
    ["$R4", "$P0", "$CC", "threadIdx.x", "shared[0]", "%laneid", "n", "nosuch", "c[0x0][0x20]"],
)
def test_what_a_warp_had_has_gone(ended: Any, text: str) -> None:
    with pytest.raises(CommandError, match="the kernel has ended: no warp has"):
        ended.command(f"print {text}")


def test_nothing_is_written_and_a_killed_launch_has_nothing(ended: Any) -> None:
    before = ended.buffer("out").copy()
    with pytest.raises(CommandError, match="has ended"):
        ended.command("print out[0] = 7")
    assert (ended.buffer("out") == before).all()
    session = open_first()
    session.kill()
    with pytest.raises(CommandError, match="no warp has the focus"):
        session.command("print out[0]")
