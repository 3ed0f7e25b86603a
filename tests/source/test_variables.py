"""Variables of one -G build with types of every kind: text, assignment, scopes, damaged tables."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpudbg
from gpudbg.debug.session import DebugSession
from gpudbg.errors import GpudbgError
from gpudbg.symbols.debug_variables import _DAMAGE, read_variables, why_none
from tests.source.cases import ARCHS, DATA, cubin

BIG = bytes.fromhex("0000000000000840" + "010002000300040005000600" + "00000000")
END = "many_types.cu:42"


def session_of(path: Path) -> DebugSession:
    program = gpudbg.load(str(path))
    args: list[Any] = [np.zeros(32, np.float32), BIG, np.int32(5), np.int8(-4)]
    return program.launch("many_types", grid=1, block=32, args=args)


def at_end(arch: str) -> DebugSession:
    session = session_of(cubin("many_types", arch))
    session.break_at(END)
    assert session.cont().kind == "breakpoint"
    return session


LINES = """\
fl = {a = 0, b = -3, c = 1193046, on = false}
sh = {<Base> = {id = 0}, w = 1.5, h = 0}
box = {items = {0, 2, 5}}
u = {f = 1, u = 1065353216, b = {0, 0, 128, 63}}
m = {{1, 2, 3}, {4, 5, 0}}
name = "abc"
v = {x = 1, y = 2, z = 3, w = 0}
k = 11
t = 0
col = BLUE
mode = Mode::idle
wide = 1234605616436508552
sm = -7
uc = 250
tw = 22
ar = 0
sc = 340
odd = false""".splitlines()


@pytest.mark.parametrize("arch", ARCHS)
def test_locals_of_every_kind(arch: str) -> None:
    text = at_end(arch).command("info locals").text.splitlines()
    assert [line for line in LINES if line not in text] == []


@pytest.mark.parametrize("arch", ARCHS)
def test_arguments(arch: str) -> None:
    text = at_end(arch).command("info args").text
    assert "big = {x = 3, s = {{1, 2, 3}, {4, 5, 6}}}" in text
    assert "n = 5" in text
    assert "tiny = -4" in text


@pytest.mark.parametrize(
    ("asked", "value"),
    [
        ("p->next->value", 2),
        ("(*pp)->next->value", 2),
        ("fl.b", -3),
        ("fl.c + 1", 0x123457),
        ("m[1][1] * 2", 10),
        ("v.z", 3.0),
        ("sm + uc", 243),
        ("*&box.items[1]", 2),
        ("sizeof(box)", 12),
        ("odd", False),
        ("gtable[t + 1]", 8),
    ],
)
def test_expressions(asked: str, value: object) -> None:
    session = at_end("sm_52")
    assert session.execute(f"print {asked}")["value"] == value


def test_a_variable_hides_what_has_its_name_otherwise() -> None:
    session = at_end("sm_52")
    assert session.evaluate("t").values.tolist() == list(range(32))
    assert session.evaluate("$R0").place is not None


@pytest.mark.parametrize("arch", ARCHS)
def test_assignments_reach_registers_and_memory(arch: str) -> None:
    session = at_end(arch)
    for name, value in (("ar", 2.5), ("m[0][1]", 77), ("wide", 3)):
        session.execute(f"set var {name} = {value}")
        assert session.execute(f"print {name}")["value"] == value


def test_a_condition_names_variables_where_it_is_tested() -> None:
    session = session_of(cubin("many_types", "sm_52"))
    with pytest.raises(GpudbgError, match="nowhere"):
        session.break_at(END, condition="nowhere == 3")
    session.break_at(END, condition="t == 7 && k == 18")
    stop = session.cont()
    assert (stop.kind, stop.lane) == ("breakpoint", 7)


def test_a_function_stops_behind_its_prologue() -> None:
    session = session_of(cubin("many_types", "sm_52"))
    session.break_at("scale")
    assert session.cont().kind == "breakpoint"
    assert session.command("bt").text.startswith("#0  scale (d=2.5, k=136, c=65 'A', flag=false)")


def test_a_kernel_has_its_parameters_where_each_has_a_label() -> None:
    """As PTX for sm_120 is written; that of sm_52 has one label behind all of them."""
    session = gpudbg.load(str(cubin("nested_struct", "sm_120"))).launch(
        "nested_struct", grid=1, block=32, args=[np.zeros(32, np.float32), np.float32(2.5)]
    )
    session.break_at("nested_struct")
    assert session.cont().kind == "breakpoint"
    assert session.execute("print s")["value"] == 2.5


def test_a_line_of_an_inlined_function_stops_at_every_copy() -> None:
    session = gpudbg.load(str(cubin("inline_levels", "sm_52"))).launch(
        "inline_levels", grid=1, block=32, args=[np.zeros(32, np.int32)] * 2
    )
    assert len(session.break_at("inline_levels.cu:5").addresses) > 1


SECTIONS = (".debug_info", ".debug_abbrev", ".debug_loc", ".debug_frame", ".nv_debug_info_reg_sass")


def test_a_line_that_begins_in_an_inlined_call_stops_before_the_call() -> None:
    """Line 47 only holds a call; what has its number in the table lies in the midst of the copy."""
    session = gpudbg.load(str(cubin("inlined_lines", "sm_52"))).launch(
        "inlined_lines", grid=1, block=32, args=[np.zeros(64, np.int32)] * 2
    )
    called = session.break_at("inlined_lines.cu:47")
    first = session.break_at("inlined_lines.cu:9")
    assert len(called.addresses) == 1
    assert called.addresses[0] in first.addresses
    first.enabled = False
    assert session.cont().kind == "breakpoint"
    assert session.command("bt").text.endswith("inlined_lines.cu:47")
    session.execute("step")
    assert [row["line"] for row in session.execute("backtrace")] == [9, 47]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("print scale", "{double (double, u64t, char, bool)} 0x%s <scale(double, unsigned long"),
        ("print &scale", "(double (*)(double, u64t, char, bool)) 0x%s <scale(double, unsigned"),
        ("print *&scale", "{double (double, u64t, char, bool)} 0x%s <scale(double, unsigned"),
        ("whatis scale", "type = double (double, u64t, char, bool)"),
        ("ptype &ns::twist", "type = int (*)(int &, const ns::P *)"),
        ("print Box<int, 3>::sum", "{int (Box<int, 3> * const)} 0x%s <Box<int, 3>::sum()>"),
        ("print Box<int,3>::sum", "{int (Box<int, 3> * const)} 0x%s <Box<int, 3>::sum()>"),
        ("whatis many_types", "type = void (float *, ns::P, int, signed char)"),
        ("print sizeof(scale)", "1"),
    ],
)
def test_functions_have_their_types(asked: str, told: str) -> None:
    text = whole().command(asked).text.partition(" = ")
    shown = text[2] if asked.startswith("print") else "".join(text)
    assert re.match(re.escape(told).replace("%s", "[0-9a-f]+"), shown), shown


@functools.cache
def whole() -> DebugSession:
    return at_end("sm_52")


@given(st.data())
def test_damaged_tables_are_as_good_as_none(data: st.DataObject) -> None:
    """Whatever is in them: answers or errors that say what is wrong, never anything else."""
    good = cubin("many_types", "sm_52").read_bytes()
    program = gpudbg.load(str(cubin("many_types", "sm_52"))).program
    section = program.sections[data.draw(st.sampled_from(SECTIONS))]
    at = good.index(section.data[:64])
    content = bytearray(good)
    for _ in range(data.draw(st.integers(1, 8))):
        place = at + data.draw(st.integers(0, len(section.data) - 1))
        content[place] = data.draw(st.integers(0, 255))
    ask(bytes(content))


@pytest.mark.parametrize(("place", "byte"), [(299, 18), (297, 24)])
def test_a_member_that_lies_outside_of_its_structure(place: int, byte: int) -> None:
    good = cubin("many_types", "sm_52").read_bytes()
    program = gpudbg.load(str(cubin("many_types", "sm_52"))).program
    content = bytearray(good)
    content[good.index(program.sections[".debug_info"].data[:64]) + place] = byte
    ask(bytes(content))


def test_damage_behind_the_first_function_is_told() -> None:
    good = cubin("instances", "sm_52").read_bytes()
    data = gpudbg.load(good).program.sections[".debug_info"].data
    for bytes_ in (b"\xff", b"\x7f", b"\x03"):
        worn = data[: 3 * len(data) // 4] + bytes_ * (len(data) - 3 * len(data) // 4)
        program = gpudbg.load(good.replace(data, worn)).program
        assert read_variables(program) == {}
        told = why_none(program)
        assert any(told == f"its debug information is damaged: {words}" for _, words in _DAMAGE)


def ask(content: bytes) -> None:
    """What asks for variables: answers or errors that users see."""
    made = gpudbg.load(content)
    session = made.launch(
        "many_types",
        grid=1,
        block=32,
        args=[np.zeros(32, np.float32), BIG, np.int32(5), np.int8(-4)],
    )
    for line in (
        f"break {END}",
        "continue",
        "info locals",
        "info args",
        "bt",
        "print m",
        "print p->next->value",
    ):
        try:
            session.command(line)
        except GpudbgError:
            pass


def test_sources_belong_to_builds() -> None:
    names = {path.name for path in (DATA / "cubin").iterdir()}
    sources = {path.stem for path in DATA.glob("*.cu")}
    assert names - {"inline_levels.sm_90-G.cubin", "nested_struct.sm_120-G.cubin"} == {
        f"{name}.{arch}-G.cubin" for name in sources for arch in ARCHS
    }


def test_finish_tells_what_was_returned_and_info_scope_where_variables_are() -> None:
    from tests.source.cases import reach

    point = {"line": 9, "thread": [5, 0, 0], "block": [0, 0, 0], "hit": 1}
    with reach("bases", "sm_52", point) as session:
        assert (
            session.command("finish").text.splitlines()[-1] == "Value returned is $1 = 0 (consume)"
        )
        scope = session.command("info scope consume").text
        assert "Symbol d is a parameter at frame address" in scope
        assert session.execute("info scope consume") == ["r", "d", "f"]


def test_why_a_program_has_no_variables() -> None:
    program = Path(__file__).resolve().parents[2] / "sessions/first_steps/first_steps.cubin"
    with gpudbg.open(str(program)) as session:
        reason = session.command("info locals").text
        assert "no variable information (the program has" in reason
        assert "compile it with -G" in reason


def test_static_functions_have_their_names_and_outer_frames_their_variables() -> None:
    session = gpudbg.load(str(cubin("call_chain", "sm_52"))).launch(
        "call_chain", grid=1, block=32, args=[np.zeros(32, np.int32)]
    )
    session.execute("break call_chain.cu:6 if a == 9")
    session.cont()
    names = [row["function"] for row in session.execute("backtrace")]
    assert names == ["deep::leaf", "deep::middle", "outer", "call_chain"]
    assert session.command("info symbol $pc").text.startswith("deep::leaf+0x30")
    assert session.command("info symbol deep::leaf").text == "deep::leaf+0x0  (deep::leaf(int))"
    assert session.command("info symbol call_chain").text == "call_chain+0x0"
    code = session.execute("print &deep::leaf")["value"]
    assert session.command(f"info symbol {code:#x}").text.startswith("deep::leaf+0x8 ")
    with pytest.raises(GpudbgError, match=r"^deep::leaf\+0x31 is not an instruction"):
        session.command("info symbol $pc + 1")
    session.execute("frame 2")
    assert session.execute("print c")["value"] == 4
    with pytest.raises(GpudbgError, match='No symbol "a" in current context'):
        session.execute("print a")


def test_what_is_gone_is_not_extended() -> None:
    session = gpudbg.load(str(cubin("shared_tiles", "sm_52"))).launch(
        "shared_tiles", grid=1, block=(8, 4), args=[np.arange(64, dtype=np.int32)] * 2
    )
    session.break_at("shared_tiles.cu:24")
    session.cont()
    assert session.command("print *row@4").text.startswith("$1 = <optimized out>")
    assert session.command("print in[3]@2").text == "$2 = {3, 4}"


@pytest.mark.parametrize("arch", ARCHS)
def test_return_gives_a_result_in_each_lane(arch: str) -> None:
    session = gpudbg.load(str(cubin("call_chain", arch))).launch(
        "call_chain", grid=1, block=32, args=[np.zeros(32, np.int32)]
    )
    session.execute("break call_chain.cu:6 if a == 9")
    session.cont()
    session.execute("return a + 100")
    session.execute("delete")
    session.break_at("call_chain.cu:12")
    session.cont()
    assert session.execute("print r - here")["values"][:5] == [101, 103, 105, 107, 109]


def test_enumerators_in_conditions_and_assignments() -> None:
    with session_at("enumerators", 21, "c == GREEN") as session:
        assert session.execute("print c")["value"] == 5
        assert session.command("print BLUE").text.endswith("= BLUE")
        session.execute("set var c = RED")
        assert session.command("print c").text.endswith("= RED")
        with pytest.raises(GpudbgError, match='No symbol "busy"'):
            session.execute("print busy")


def test_members_that_are_references_show_what_they_are_to() -> None:
    with session_at("references", 14, "threadIdx.x == 5") as session:
        assert session.execute("print v")["value"]["first"] == 9
        assert re.search(r"first = @0x[0-9a-f]+: 9, k = @0x", session.command("print v").text)


def session_at(sample: str, line: int, condition: str) -> DebugSession:
    program = gpudbg.load(str(cubin(sample, "sm_52")))
    args: list[Any] = [np.arange(64, dtype=np.int32), np.zeros(64, np.int32)]
    args += [np.int32(3)] if sample == "enumerators" else []
    session = program.launch(sample, grid=1, block=32, args=args)
    session.execute(f"break {sample}.cu:{line} if {condition}")
    assert session.cont().kind == "breakpoint"
    return session


@pytest.mark.parametrize(
    ("asked", "same"),
    [
        ("*(int *)&c", "c"),
        ("*(float *)&k", "k"),
        ("*((int *)arr + 1)", "arr[1]"),
        ("(@local int *)&v.first == &a", "true"),
        ("@local arr", "arr"),
        ("(&v)->first", "v.first"),
    ],
)
def test_casts_of_addresses_keep_the_place(asked: str, same: str) -> None:
    with session_at("references", 56, "threadIdx.x == 5") as session:
        wanted = session.execute(f"print {same}")["value"]
        assert session.execute(f"print {asked}")["value"] == wanted
        with pytest.raises(GpudbgError, match="lies in local memory, not in shared"):
            session.execute("print @shared arr")
