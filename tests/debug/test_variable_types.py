"""Variables by their types, and a launch's arguments in the kernel's own frame."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import gpudbg
from gpudbg.debug.session import DebugSession
from gpudbg.errors import CommandError
from gpudbg.symbols.declared import Declarations
from tests.mi.client import KERNELS
from tests.variants import rows

VALUES = {
    "counter": "-5",
    "ucount": "7",
    "lut": "{1.5, 2.5, -1, 0.25}",
    "cfg": "{scale = 1.5, n = -3, v = {1, 2, 3}}",
    "cfg.scale": "1.5",
    "cfg.v[1] + 1": "3",
    "(&cfg)->n": "-3",
    "table": "{{1, 2, 3}, {4, 5, 6}}",
    "table[1][2]": "6",
    "quad": "{x = 1, y = 2, z = 3, w = 4}",
    "head": "{value = 4, next = 0x0}",
    "mode": "5",
    "text": '"hello"',
    "flag": "true",
    "wide": "-9",
    "dd": "3.25",
    "bytes": "{1, 2, 3, 200}",
    "sizeof(cfg)": "20",
    "sizeof(struct Cfg)": "20",
    "sizeof(Cfg[2])": "40",
    "*(Cfg *)&cfg": "{scale = 1.5, n = -3, v = {1, 2, 3}}",
    "((struct Cfg *)&cfg)->n": "-3",
    "(struct Cfg)cfg": "{scale = 1.5, n = -3, v = {1, 2, 3}}",
    "{int}&cfg.n": "-3",
    "'variables.cu'::counter": "-5",
    "'/src/variables.cu'::cfg.n - 1": "-4",
    "'a' + 1": "98",
    "*(float4 *)&lut": "{x = 1.5, y = 2.5, z = -1, w = 0.25}",
}
DEBUG = {"mode": "B"}
"""What debug information knows better: the names of an enumeration."""


@pytest.fixture(scope="module", params=["variables", "variables_debug"])
def session(request: pytest.FixtureRequest) -> Iterator[DebugSession]:
    with gpudbg.open(KERNELS / f"{request.param}.cubin") as made:
        yield made


def shown(session: DebugSession, text: str) -> str:
    return session.command(f"output {text}").text


@rows("text", VALUES)
def test_module_variables_have_their_types(session: DebugSession, text: str) -> None:
    wanted = DEBUG.get(text) if session.program.debug else None
    assert shown(session, text) == (wanted or VALUES[text])


def test_members_are_assigned_and_told_apart(session: DebugSession) -> None:
    session.command("set cfg.n = 44")
    assert shown(session, "cfg.n") == "44"
    session.command("set cfg.n = -3")
    for text in ("cfg = 1", "cfg + 1", "(int)cfg", "cfg.nothing", "counter.x", "lut->x"):
        with pytest.raises(CommandError):
            session.command(f"print {text}")
    assert session.command("ptype cfg").lines == (
        "type = struct Cfg {", "    float scale;", "    int n;", "    float v[3];", "}",
    )  # fmt: skip


def test_without_a_source_or_dwarf_floats_are_known_from_the_ptx(tmp_path: Path) -> None:
    alone = shutil.copy(KERNELS / "variables.cubin", tmp_path / "alone.cubin")
    shutil.copy(KERNELS / "variables.toml", tmp_path / "alone.toml")
    with gpudbg.open(alone) as session:
        assert shown(session, "dd") == "3.25"
        assert shown(session, "cfg").startswith("{1069547520, ")


def test_arguments_belong_to_the_kernels_frame() -> None:
    with gpudbg.open(KERNELS / "variables.cubin") as session:
        assert (shown(session, "n@entry"), shown(session, "a@entry")) == ("6", "0.5")
        assert shown(session, "data[3]") == "0  never written"
        # `n = n / 2` follows: the launch's value would be a false one.
        with pytest.raises(CommandError, match="n@entry is what the launch passed"):
            session.command("print n")
        session.break_at("fib")
        session.cont()
        for name in ("n", "data", "n@entry", "data[0]"):
            with pytest.raises(CommandError, match=r"arg[01] is the launch's in every frame"):
                session.command(f"print {name}")
        assert shown(session, "arg1") == "6"
        assert "No symbol table info" in session.command("info args").text
        stack = session.command("backtrace").lines
        assert stack[0] == "#0  fib () at variables.cu:20"
        assert "variables (data@entry=0x" in stack[1]
        inner = session.evaluate("$pc").values[0]
        session.command("up")
        assert shown(session, "n@entry") == "6"
        assert session.evaluate("$pc").values[0] == session.symbols.offset(
            session.command("frame 1").data["pc"]
        )
        assert session.evaluate("$pc").values[0] != inner
        with pytest.raises(CommandError):
            session.command("set $pc = 8")


def test_conditions_look_from_the_frame_that_arrives() -> None:
    """The frame a user has selected says nothing about a warp that arrives at a breakpoint."""
    with gpudbg.open(KERNELS / "variables.cubin") as session:
        session.break_at("fib")
        session.cont()
        session.command("up")
        session.break_at("fib", condition="$pc > 0x1000000")
        session.breakpoints.remove(1)
        assert session.cont().kind == "exited"


@pytest.mark.parametrize(
    ("text", "size", "wanted"),
    [
        ("__device__ float x[N];", 64, "float [16]"),
        ("#define N 4\n__device__ int x[N][N + 1];", 80, "int [4][5]"),
        ("constexpr int N = 1 << 3; __constant__ short x[N * 2];", 32, "short [16]"),
        ("__device__ int a = 3, *x, y[2];", 8, "(@generic int *)"),
        ("__device__ __align__(16) float4 x;", 16, "float4"),
        ("typedef unsigned long long word;\n__device__ word x = 1;", 8, "unsigned long"),
        ("using real = double; static __device__ real x{1.0};", 8, "double"),
        ("struct P { char c; double d; }; __device__ P x[2] = {{1, 2}, {3, 4}};", 32, "P [2]"),
        ("union U { int i; float f; }; __device__ U x;", 4, "U"),
        ("struct B { int a : 3; }; __device__ B x;", 4, None),
        ("struct D : P { int a; }; __device__ D x;", 4, None),
        ("__device__ float x(int n) { return n; }", 4, None),
        ("__device__ int other;", 4, None),
        ("// __device__ float x;\n__device__ int x;", 4, "int"),
        ("__device__ Unknown x[3];", 12, None),
        ("__device__ int x[", 4, None),
        ("struct S { S *next; int n; }; __device__ S x;", 16, "S"),
    ],
)
def test_declarations(text: str, size: int, wanted: str | None) -> None:
    found = Declarations([text]).find("x", size)
    assert (str(found) if found is not None else None) == wanted
    if found is not None:
        assert found.size == size


def test_variables_of_a_callers_function() -> None:
    """`variables::n` from the frame of a function that it called; a file that is none."""
    with gpudbg.open(KERNELS / "variables_debug.cubin") as session:
        session.break_at("fib")
        session.cont()
        assert shown(session, "variables::n") == "3"
        assert shown(session, "'variables'::i + 1") == "1"
        for text, wanted in {
            "helper::n": "No frame is currently executing in block helper.",
            "variables::none": 'No symbol "none" in function "variables".',
            "'none.cu'::counter": "No source file named none.cu.",
            "'variables.cu'::none": 'No symbol "none" in current context.',
        }.items():
            with pytest.raises(CommandError) as error:
                shown(session, text)
            assert wanted in str(error.value)


def test_pcs_in_another_section_have_a_name() -> None:
    """Functions of a -G build lie in sections of their own: no offset from the kernel, below 0."""
    with gpudbg.open(KERNELS / "variables_debug.cubin") as session:
        session.break_at("fib")
        pc = session.symbols.pc(session.cont().pc or 0)
        assert not session.symbols.in_kernel(pc)
        assert " fib+0x88 " in session.command("info warps").text
        assert session.evaluate("$pc").values[0] == pc
        session.command("set $pc = $pc + 8")
        assert session.warp().state.pc == pc + 8
        assert session.command("until *$pc + 0x10").data["kind"] == "step"


@pytest.mark.parametrize("engine", ["step", "run"])
def test_an_argument_is_assigned_for_every_warp(engine: str) -> None:
    """A launch's arguments lie in a constant bank: what is written there the kernel reads."""
    with gpudbg.open(KERNELS / "variables.cubin", engine=engine) as session:
        before = session.run().kind, session.buffer("data").tolist()
        session.restart()
        session.command("set var a@entry = 100.5")
        assert shown(session, "a@entry") == "100.5"
        assert "a@entry=100.5)" in session.command("backtrace").text
        assert "n@entry=6" in session.command("backtrace").text
        session.command("set var arg1 = 0")
        session.run()
        assert session.buffer("data").tolist() != before[1]
        session.restart()
        assert shown(session, "a@entry") == "0.5"
        assert (session.run().kind, session.buffer("data").tolist()) == before
