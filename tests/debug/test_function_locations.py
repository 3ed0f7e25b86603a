"""Breakpoints by name: namespaces, overloads, files; one breakpoint with several locations.

`data/names.cubin` is `data/names.cu`, compiled by NVRTC 12.9 for sm_50 with -lineinfo.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpudbg
from gpudbg.cli import main
from gpudbg.errors import CommandError
from gpudbg.symbols.function_names import named_by, readable, written_name
from tests.narrowing import there

CUBIN = Path(__file__).parent / "data" / "names.cubin"
ALL = {"a::f(int)", "b::f(int)", "b::f(float)"}


def session() -> gpudbg.DebugSession:
    """The kernel, launched with one warp."""
    program = gpudbg.load(str(CUBIN))
    out = program.device.buffer(np.zeros(32, np.int32))
    return program.launch("names", grid=1, block=32, args=[out, np.float32(2.5)])


@pytest.mark.parametrize(
    ("name", "functions"),
    [
        ("f", ALL),
        ("b::f", {"b::f(int)", "b::f(float)"}),
        ("f(int)", {"a::f(int)", "b::f(int)"}),
        ("b::f(float)", {"b::f(float)"}),
        ("names.cu:a::f", {"a::f(int)"}),
        ("'names.cu'::a::f", {"a::f(int)"}),
        ("-function a::f", {"a::f(int)"}),
        ("-source names.cu -function b::f", {"b::f(int)", "b::f(float)"}),
    ],
)
def test_a_name_means_every_function_that_bears_it(name: str, functions: set[str]) -> None:
    """One breakpoint; the run stops in each of its functions."""
    with session() as live:
        point = live.break_at(name)
        assert set(point.functions) == functions
        assert len(point.addresses) == len(functions)
        met = set()
        while (stop := live.cont()).kind == "breakpoint":
            met.add(live.symbols.pc(there(stop.pc)))
        assert stop.kind == "exited"
        assert met == set(point.addresses)


def test_names_that_mean_nothing() -> None:
    """What there is stands in the message."""
    with session() as live:
        for name in ("nosuch::f", "c::f", "b::f(double)", "other.cu:f", "-function"):
            with pytest.raises(CommandError):
                live.break_at(name)
        with pytest.raises(CommandError, match=r"b::f\(double\).* not defined.*b::f\(float\)"):
            live.break_at("b::f(double)")
        with pytest.raises(CommandError, match="is 3 functions"):
            live.break_at("f+0x8")


def test_info_breakpoints_lists_the_locations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As gdb numbers them."""
    words = ["--block", "32", "--arg", "i32[32]", "--arg", "2.5", "--batch"]
    told = ["-ex", "break b::f", "-ex", "info breakpoints"]
    assert main([str(CUBIN), *words, *told]) == 0
    out = capsys.readouterr().out
    assert "Breakpoint 1 at b::f(float) (names+0xa8), b::f(int) (names+0xd0): b::f" in out
    assert "<MULTIPLE>" in out
    assert "1.1" in out
    assert "1.2" in out


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("_ZN1a1fEi", "a::f(int)"),
        ("_Z1gPKfj", "g(float const*, unsigned int)"),
        ("_Z1hIiLi4EEvT_", "h<int, 4>(int)"),
        ("saxpy", "saxpy"),
    ],
)
def test_names_as_people_write_them(label: str, shown: str) -> None:
    """Mangled names and what they mean."""
    assert readable(label).replace(" ", "") == shown.replace(" ", "")


def test_matching() -> None:
    """Namespaces, template arguments and parameters may be left out, not told wrong."""
    label = "_ZN1a1hIiLi4EEEvT_"
    assert all(named_by(label, name) for name in ("h", "a::h", "h<int, 4>", "a::h<int,4>(int)"))
    assert not any(named_by(label, name) for name in ("b::h", "h<float, 4>", "h(float)", "hh"))
    assert not named_by(label, "h", qualified=True)
    assert named_by(label, "a::h", qualified=True)


@given(st.text(max_size=40), st.text("_ZN1a2fEIiLjPKvST0_", max_size=60))
def test_any_name_and_label_can_be_compared(name: str, tail: str) -> None:
    """Labels come from files: nothing comes out but an answer."""
    assert named_by(f"_Z{tail}", name) in (True, False)
    assert isinstance(readable(f"_Z{tail}"), str)


@pytest.mark.parametrize("piece", ["P", "N", "I", "K", "S_", "Li", "1a", "T_", "F", "("])
def test_very_deep_labels_end(piece: str) -> None:
    """A file's label of thousands of nested types is no recursion without end."""
    assert isinstance(readable("_Z1f" + piece * 20_000), str)
    assert named_by("_Z1f" + piece * 20_000, "zz") in (True, False)
    assert named_by("_Z1fv", piece * 20_000) in (True, False)


def test_a_long_text_is_no_name() -> None:
    """Looking for its brackets would take the square of its length: 47 s for this one."""
    assert written_name("(" * 20_000 + "c[$F4][c[1]]" + ")" * 20_000) is None
    assert written_name("f(" + "int, " * 100 + "int)") is not None


def test_commands_without_a_place_mean_the_selected_frame() -> None:
    """`up`, then what `$pc` is, what is listed, disassembled and where `break` goes are one."""
    with session() as live:
        live.command("break a::f")
        live.cont()
        inner = int(live.evaluate("$pc").values[0])
        live.command("up")
        outer = int(live.evaluate("$pc").values[0])
        assert outer != inner
        place = f"names+0x{outer:x}"
        assert f"#1  {place} in " in live.command("bt").text
        assert f"pc = 0x{outer:x} <{place}>" in live.command("info frame").text
        assert live.command("x/i $pc").text.startswith(f"=>  {outer:04x}  ")
        assert live.command("display/i $pc").text.splitlines()[1].startswith(f"=>  {outer:04x}")
        assert re.search(rf"^=>  {outer:04x} ", live.command("disassemble").text, re.MULTILINE)
        assert live.command("break").text == f"Breakpoint 2 at {place}"
        number = re.search(r"at names.cu:(\d+)", live.command("frame").text)
        assert number is not None
        assert f"Line {number[1]} of " in live.command("info line").text
        assert re.search(rf"^=> +{number[1]}  ", live.command("list").text, re.MULTILINE)


def test_the_end_of_the_code_is_named() -> None:
    """A line's instructions may end where the kernel's code does."""
    with session() as live:
        ends = {live.command(f"info line names.cu:{n}").text.split()[-1] for n in (2, 5, 6, 9, 10)}
        assert all(end.startswith("names+0x") for end in ends), ends
