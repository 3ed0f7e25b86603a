"""How types and values are written: as cuda-gdb does, where gdb says nothing of address spaces."""

from __future__ import annotations

import numpy as np
import pytest

import gpudbg
from gpudbg.debug.session import DebugSession
from gpudbg.errors import CommandError
from gpudbg.expr.types import Scalar
from tests.source.cases import ARCHS, DATA, cubin

AT_END = 45
"""The line of `*p +=`."""


def at(line: int, arch: str = "sm_52", lane: int = 5) -> DebugSession:
    program = gpudbg.load(str(cubin("spellings", arch)))
    args = [np.arange(32, dtype=np.int32), np.zeros(32, np.int32)]
    session = program.launch("spellings", grid=1, block=32, args=args)
    session.execute(f"directory {DATA}")
    session.break_at(f"spellings.cu:{line}", condition=f"threadIdx.x == {lane}")
    assert session.cont().kind == "breakpoint"
    return session


def texts(session: DebugSession, *commands: str) -> list[str]:
    return [session.command(command).text for command in commands]


@pytest.mark.parametrize("arch", ARCHS)
def test_types_and_values(arch: str) -> None:
    with at(AT_END, arch) as session:
        asked = {
            "pp": "@generic int * @generic *",
            "path": "const @generic geo::Node * const @generic *",
            "pair": "@generic int (*)[2]",
            "raw": "@generic void *",
            "text": "const @generic char *",
            "op": "int (*)(int, int)",
            "&node.arr": "@local short (*)[3]",
            "n": "float",
        }
        for expression, words in asked.items():
            assert texts(session, f"whatis {expression}") == [f"type = {words}"]
        assert texts(session, "ptype node", "ptype Two") == [
            "type = struct geo::Node : public geo::Base {\n"
            "    const @generic geo::Node *next;\n    short arr[3];\n}",
            "type = struct Two {\n    int a;\n    float b;\n}",
        ]
        shown = texts(session, "print node", "print *pair", "print node.arr[1]@2", "print *pp")
        assert [text.partition(" = ")[2] for text in shown[:3]] == [
            "{<geo::Base> = {id = 6}, next = 0x0, arr = {5, 7, 7}}",
            "{6, 0}  bytes 4-7 never written",
            "{7, 7}",
        ]
        pointer = session.execute("print p")["value"]
        assert shown[3].endswith(f" = (@generic int *) 0x{pointer:x}")
        assert texts(session, "print op")[0].endswith("<add(int, int)>")


def test_lists_of_variables_show_pointers_alone() -> None:
    """As gdb has it: types are what `whatis` tells."""
    with at(AT_END) as session:
        known = dict(
            line.split(" = ", 1) for line in session.command("info locals").text.splitlines()
        )
        for name in ("p", "pp", "pair", "raw"):
            assert int(known[name], 16) == session.execute(f"print {name}")["value"]
        assert known["text"].endswith(' "seven"')
        assert "(in=0x" in session.command("backtrace").text


@pytest.mark.parametrize("arch", ARCHS)
def test_structured_bindings_have_their_names(arch: str) -> None:
    """The debug information knows the object alone, as `__T0`; the source names its parts."""
    with at(AT_END, arch) as session:
        names = list(session.execute("info locals"))
        assert {"m", "n", "ra", "rb"} <= set(names)
        assert not [name for name in names if name.startswith("__T")]
        values = [session.execute(f"print {name}")["value"] for name in ("m", "n", "ra", "rb")]
        assert values == [6, 1.25, 12, 1.5]
        session.execute("set var ra = 3")
        assert session.execute("print two")["value"] == {"a": 3, "b": 1.5}


def test_structured_bindings_without_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    with at(AT_END) as session:
        monkeypatch.setattr(type(session.sources), "lines", lambda *_: None)
        known = session.command("info locals").text
        assert " = {a = 6, b = 1.25}" in known
        assert "\nm = " not in known


@pytest.mark.parametrize("arch", ARCHS)
def test_a_base_class_is_constructed_by_who_says_so(arch: str) -> None:
    """The compiler's own way from one variant of a constructor to the other is no frame."""
    with at(6, arch) as session:
        rows = session.execute("backtrace")
        assert [row["function"] for row in rows] == [
            "geo::Base::Base",
            "geo::Node::Node",
            "spellings",
        ]
        assert session.execute("print k")["value"] == 6
        session.execute("up")
        assert session.execute("print k")["value"] == 5
        session.execute("up")
        assert session.execute("print t")["value"] == 5
        session.execute("frame 0")
        session.execute("finish")
        assert session.execute("backtrace")[0]["function"] == "geo::Node::Node"


def test_what_lies_where_an_unknown_pointer_leads_is_not_read() -> None:
    with at(31) as session:
        assert "<optimized out>" in session.command("print *path").text
        assert "<optimized out>" in session.command("print **path").text


def test_casts_in_cuda_gdbs_words() -> None:
    with at(AT_END) as session:
        for words in ("(@generic int * @generic *) pp", "(const @generic void *) raw", "float(t)"):
            assert (
                session.execute(f"print {words}")["value"]
                == session.execute(f"print {words.split(')')[-1].strip() or 't'}")["value"]
            )
        with pytest.raises(CommandError, match="non-pointer"):
            session.execute("print *raw")
        with pytest.raises(CommandError, match="call no functions"):
            session.execute("print add(1, 2)")


def test_where_variables_are() -> None:
    with at(AT_END) as session:
        assert texts(session, "info address t")[0].startswith('Symbol "t" is a variable in PTX')
        assert "-G" in session.command("info source").text


def test_flags_are_named_as_gdb_does() -> None:
    flags = Scalar("Flags", "u", 4, ((0, "none"), (1, "hot"), (2, "cold"), (4, "wet")))
    values = (0, 2, 5, 8, 9)
    words = ("none", "cold", "(hot | wet)", "(unknown: 0x8)", "(hot | unknown: 0x8)")
    assert tuple(map(flags.enumerator, values)) == words
    shapes = Scalar("Shape", "u", 1, ((1, "dot"), (2, "line"), (3, "both")))
    assert shapes.enumerator(7) is None
    doubled = Scalar("Twice", "u", 4, ((1, "one"), (1, "uno"), (2, "two")))
    assert doubled.enumerator(3) == "(one | two)"


@pytest.mark.parametrize("arch", ARCHS)
def test_a_call_through_a_pointer(arch: str) -> None:
    """Up to sm_62 the return address is there one instruction before the jump into the function."""
    with at(AT_END, arch) as session:
        assert session.execute("whatis op") == "int (*)(int, int)"
        session.execute("delete")
        session.execute("step")
        rows = session.execute("backtrace")
        assert [(row["function"], row["line"]) for row in rows] == [("add", 26), ("spellings", 45)]
        session.execute("reverse-stepi")
        while session.execute("backtrace")[0]["function"] == "add":
            session.execute("reverse-stepi")
        assert len(session.execute("backtrace")) == 1
