"""Arguments arrive as the numbers and buffers they were given as, or are refused by name."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.debug.session import DebugSession
from gpudbg.errors import UsageError
from gpudbg.formats.names import parameter_types
from tests.variants import rows


def launch(code: str, size: int, value: Any) -> DebugSession:
    """A kernel with one parameter `x` of a mangled type, launched with a value."""
    program = gpudbg.assemble_program(f".kernel _Z1k{code}\n.param x {size}\nEXIT\n")
    return program.launch(args=[value])


def bits(code: str, size: int, value: Any) -> bytes:
    """What the kernel gets."""
    session = launch(code, size, value)
    made: bytes = session.launch.params[:size]  # type: ignore[attr-defined]
    return made


TAKEN = [
    ("f", 4, 2, np.float32(2)),
    ("f", 4, 0.1, np.float32(0.1)),
    ("f", 4, np.float64(0.1), np.float32(0.1)),
    ("f", 4, np.int64(7), np.float32(7)),
    ("f", 4, 1 << 24, np.float32(1 << 24)),
    ("f", 4, float("inf"), np.float32("inf")),
    ("f", 4, True, np.float32(1)),
    ("d", 8, 3, np.float64(3)),
    ("d", 8, np.float32(0.5), np.float64(0.5)),
    ("i", 4, np.int64(-5), np.int32(-5)),
    ("i", 4, np.uint8(200), np.int32(200)),
    ("i", 4, 0xFFFFFFFF, np.int32(-1)),
    ("j", 4, -1, np.uint32(0xFFFFFFFF)),
    ("i", 4, np.bool_(True), np.int32(1)),
    ("l", 8, 1 << 40, np.int64(1 << 40)),
    ("m", 8, (1 << 64) - 1, np.uint64((1 << 64) - 1)),
    ("s", 2, -3, np.int16(-3)),
    ("h", 1, 255, np.uint8(255)),
    ("b", 1, True, np.uint8(1)),
    ("b", 1, np.int32(0), np.uint8(0)),
    ("f", 4, b"\x00\x00\x80\x3f", np.float32(1)),
    ("PKf", 8, 0, np.uint64(0)),
    ("PKf", 8, np.int32(0), np.uint64(0)),
    ("Pv", 8, 0x1000, np.uint64(0x1000)),
]


@rows(("code", "size", "value", "wanted"), TAKEN)
def test_numbers_become_the_parameters_type(code: str, size: int, value: Any, wanted: Any) -> None:
    assert bits(code, size, value) == wanted.tobytes()


REFUSED = [
    ("i", 4, 3.7, "int", "a float"),
    ("i", 4, 3.0, "int", "a float"),
    ("i", 4, np.float32(3), "int", "an f32"),
    ("i", 4, float("nan"), "int", "a float"),
    ("i", 4, 1 << 32, "int", "an integer"),
    ("i", 4, np.int64(1 << 40), "int", "an i64"),
    ("j", 4, -(1 << 31) - 1, "unsigned int", "an integer"),
    ("s", 2, 70_000, "short", "an integer"),
    ("m", 8, 1 << 64, "unsigned long", "an integer"),
    ("m", 8, 2.0, "unsigned long", "a float"),
    ("b", 1, 2, "bool", "an integer"),
    ("f", 4, (1 << 24) + 1, "float", "an integer"),
    ("f", 4, 10**400, "float", "an integer"),
    ("f", 4, 1e39, "float", "a float"),
    ("d", 8, np.zeros(4), "double", "a float64 array"),
    ("d", 8, (1 << 53) + 1, "double", "an integer"),
    ("i", 4, np.zeros(4, np.int32), "int", "an int32 array"),
    ("Pf", 8, 2.5, "float *", "a float"),
    ("Pf", 8, np.zeros(4), "float *", "a float64 array"),
    ("PKf", 8, np.zeros(4, np.int32), "float *", "an int32 array"),
    ("Pf", 8, np.zeros(4, np.float16), "float *", "a float16 array"),
    ("Pi", 8, np.zeros(4, np.float32), "int *", "a float32 array"),
    ("Pi", 8, np.zeros(4, bool), "int *", "a bool array"),
    ("Pi", 8, np.zeros(4, np.int64), "int *", "an int64 array"),
    ("Pd", 8, np.zeros(4, np.float32), "double *", "a float32 array"),
    ("Py", 8, np.zeros(4, np.float64), "unsigned long *", "a float64 array"),
]


@rows(("code", "size", "value", "wanted", "given"), REFUSED)
def test_what_does_not_fit_is_refused_by_name(
    code: str, size: int, value: Any, wanted: str, given: str
) -> None:
    message = rf"argument 0, x=.*: {re.escape(wanted)} is wanted, {re.escape(given)} is given"
    with pytest.raises(UsageError, match=message):
        launch(code, size, value)


POINTED = [
    ("Pf", np.float32),
    ("Pi", np.uint32),
    ("Pj", np.int32),
    ("Py", np.int64),
    ("Pb", np.uint8),
    ("Pb", bool),
    ("Pv", np.float64),
    ("PKc", np.float32),
    ("Ph", np.int64),
    ("P6float4", np.float32),
    ("PPf", np.uint64),
    ("Pf", np.complex64),
    ("Pf", np.dtype([("x", "f4"), ("n", "i4")])),
]


@pytest.mark.parametrize(("code", "dtype"), POINTED)
def test_arrays_of_the_element_type_and_bytes_are_taken(code: str, dtype: Any) -> None:
    launch(code, 8, np.zeros(4, dtype))


def test_buffers_made_before_are_checked() -> None:
    program = gpudbg.assemble_program(".kernel _Z1kPf\n.param x 8\nEXIT\n")
    program.launch(args=[program.device.buffer(np.zeros(4, np.float32))])
    with pytest.raises(UsageError, match=r"x=…: float \* is wanted, a float64 buffer is given"):
        program.launch(args=[program.device.buffer(np.zeros(4))])


def test_only_sizes_are_checked_where_types_are_not_known() -> None:
    program = gpudbg.assemble_program(".kernel plain\n.param x 4\n.param y 8\nEXIT\n")
    program.launch(args=[2.5, 2.5])
    program.launch(args=[7, np.zeros(4)])
    with pytest.raises(UsageError, match="argument 0, x 'i64' has 8 bytes, expected 4"):
        program.launch(args=[np.int64(7), 0])


def test_launch_tables_and_flags_too(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    program = gpudbg.assemble_program(".kernel _Z1kfPi\n.param a 4\n.param x 8\nEXIT\n")
    path = tmp_path / "k.sass"
    path.write_text(".kernel _Z1kfPi\n.param a 4\n.param x 8\nEXIT\n")
    from gpudbg.cli import main

    assert main(["run", str(path), "--arg", "2", "--arg", "i32[4]"]) == 0
    assert main(["run", str(path), "--arg", "2", "--arg", "f32[4]"]) == 2
    assert "argument 1, x=…: int * is wanted, an f32 buffer is given" in capsys.readouterr().err
    assert list(program.kernels) == ["_Z1kfPi"]


def test_mangled_names_tell_types() -> None:
    assert parameter_types("_Z5saxpyifPKfPf") == ("int", "float", "const float *", "float *")
    assert parameter_types("_Z5scalePfS_") == ("float *", "float *")
    assert parameter_types("_Z1kP6float4S0_") == ("float4 *", "float4 *")
    assert parameter_types("_Z1kv") == ()
    for name in ("k", "_Z1kILi4EEvPf", "_ZN1a1kEi", "_Z9k", "_Z1kS_", "_Z1kP", "_Z1k6floa"):
        assert parameter_types(name) is None


@pytest.mark.parametrize("value", ["7", 2 + 3j, None, [1, 2], {"a": 1}, object()])
def test_what_is_no_argument_names_its_parameter(value: Any) -> None:
    with pytest.raises(UsageError, match=r"kernel _Z1kf: argument 0, float x, is "):
        launch("f", 4, value)


def test_counts_are_told_with_the_declaration() -> None:
    program = gpudbg.assemble_program(".kernel _Z1kfPi\n.param a 4\n.param x 8\nEXIT\n")
    with pytest.raises(UsageError, match=r"2 parameters \(float a, int \*x\); 1 argument is given"):
        program.launch(args=[1])
    program = gpudbg.assemble_program(".kernel _Z1k6float4\n.param v 16\nEXIT\n")
    with pytest.raises(UsageError, match="pass its 16 bytes"):
        program.launch(args=[np.zeros(4, np.float32)])
