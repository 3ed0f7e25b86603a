"""What debug information alone does not tell: variables that outlast a call, copies of a call in
one line, where a function's parameters have come."""

from __future__ import annotations

import numpy as np
import pytest

import gpudbg
from gpudbg.debug.session import DebugSession
from tests.source.cases import ARCHS, DATA, cubin


def session_of(arch: str) -> DebugSession:
    args = [np.zeros(64, np.int32)] * 2
    program = gpudbg.load(str(cubin("lasting", arch)))
    return program.launch("lasting", grid=1, block=32, args=args, shared_bytes=128)


def at(line: int, arch: str = "sm_52", lane: int = 3) -> DebugSession:
    session = session_of(arch)
    session.break_at(f"lasting.cu:{line}", condition=f"threadIdx.x == {lane}")
    assert session.cont().kind == "breakpoint"
    return session


def lines_of(session: DebugSession, command: str) -> dict[str, str]:
    rows = (line.partition(" = ") for line in session.command(command).text.splitlines())
    return {name: text for name, _, text in rows}


@pytest.mark.parametrize("arch", ARCHS)
def test_shared_and_static_variables_of_an_instance(arch: str) -> None:
    """Each instance of a template has its own, of the types that its arguments say."""
    with at(9, arch) as session:
        known = lines_of(session, "info locals")
        assert known["buf"].startswith("{0, 1, 2, 3, 4,")
        assert known["calls"] == "3"
        session.cont()
        assert lines_of(session, "info locals")["buf"].startswith("{0, 0.5, 1, 1.5,")
        assert session.command("whatis buf").text == "type = float [32]"
        session.execute("up")
        known = lines_of(session, "info locals")
        assert known["tiles"].startswith("{{v = {0, 1, 2, 3}, id = 0}, {v = {0.25,")
        assert "buf" not in known


def test_dynamic_shared_memory_has_its_type() -> None:
    with at(46) as session:
        assert session.command("whatis dynamic").text == "type = float [32]"
        assert session.execute("print dynamic[3]")["value"] == -1.5


def test_what_cannot_be_read_hides_no_other_variable() -> None:
    """`mine` refers to nothing before its declaration has run."""
    with at(46) as session:
        known = lines_of(session, "info locals")
        assert known["mine"] == "<optimized out>"
        assert known["t"] == "3"


@pytest.mark.parametrize("arch", ARCHS)
def test_copies_of_one_line_are_told_apart(arch: str) -> None:
    with at(15, arch) as session:
        assert session.execute("print v")["value"] == 3
        assert session.cont().kind == "breakpoint"
        assert session.execute("print v")["value"] == 4
        session.execute("delete")
        assert session.command("finish").text
        assert [row["line"] for row in session.execute("backtrace")] == [50]


def test_next_leaves_a_copy_for_the_line_that_calls_it() -> None:
    with at(20) as session:
        session.execute("delete")
        session.execute("next")
        assert [row["line"] for row in session.execute("backtrace")] == [50]
        session.execute("next")
        assert session.execute("backtrace")[0]["line"] == 51


def test_variables_that_a_copy_has_lost_are_named() -> None:
    with at(26) as session:
        assert lines_of(session, "info locals").keys() >= {"above", "below"}


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize(
    ("line", "asked", "value"),
    [(28, "b", {"x": 2, "y": 17}), (29, "tile.v[1]", 1.75), (29, "by", 2)],
)
def test_parameters_have_come_where_a_header_stops(
    arch: str, line: int, asked: str, value: object
) -> None:
    """A function in one line, and one whose header is two: as gdb, behind the prologue."""
    with at(line, arch) as session:
        assert session.execute(f"print {asked}")["value"] == value
        assert session.execute("backtrace")[0]["line"] == (28 if line == 28 else 32)


@pytest.mark.parametrize("arch", ARCHS)
def test_a_place_without_an_end_holds_until_the_next_one(arch: str) -> None:
    """ptxas writes 0 where it has lost a label; the variable of the loop lives on."""
    program = gpudbg.load(str(cubin("lost_ends", arch)))
    with program.launch(
        "lost_ends", grid=1, block=32, args=[np.zeros(64, np.int32)] * 2
    ) as session:
        session.break_at("lost_ends.cu:20", condition="threadIdx.x == 5")
        found = []
        for _ in range(3):
            assert session.cont().kind == "breakpoint"
            found.append(session.execute("print at")["value"])
        assert found == [5, 10, 12]


@pytest.mark.parametrize("arch", ARCHS)
def test_a_register_that_another_value_has_taken_is_no_variable(arch: str) -> None:
    """The compiler lets a variable's row go on to the end of its basic block."""
    program = gpudbg.load(str(cubin("switches", arch)))
    args = [np.arange(32, dtype=np.int32), np.zeros(32, np.int32)]
    with program.launch("switches", grid=1, block=32, args=args) as session:
        session.break_at("switches.cu:25", condition="threadIdx.x == 5")
        session.cont()
        assert session.execute("print value")["value"] == 5
        session.execute("delete")
        session.execute("next")
        assert session.execute("backtrace")[0]["line"] == 26
        assert "another value has taken its register" in session.command("print value").text
        assert session.execute("print m.acc")["value"] == 10


def test_types_of_shared_variables_have_structures_in_structures() -> None:
    program = gpudbg.load(str(cubin("switches", "sm_52")))
    args = [np.arange(32, dtype=np.int32), np.zeros(32, np.int32)]
    with program.launch("switches", grid=1, block=32, args=args) as session:
        session.execute(f"directory {DATA}")
        session.break_at("switches.cu:56")
        session.cont()
        assert session.command("whatis words").text == "type = Word [32]"
        assert session.execute("print words[3].h.hi")["value"] == -3
        found = session.execute("print words[3]")["value"]
        assert found == {"i": -196605, "b": [3, 0, 253, 255], "h": {"lo": 3, "hi": -3}}
