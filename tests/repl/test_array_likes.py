"""Arrays of other libraries as arguments, and what becomes of the caller's own."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
import pytest

import gpudbg

ADD = """\
.kernel add
.param x 8
S2R R0, SR_TID.X
SHL R1, R0, 0x2
IADD R2.CC, R1, c[0x0][x]
IADD.X R3, RZ, c[0x0][x+4]
LDG.E R4, [R2]
IADD R4, R4, 0x1
STG.E [R2], R4
EXIT
"""
VALUES = np.arange(32, dtype=np.int32)


class Tensor:
    """What PyTorch's tensors offer: DLPack, and `__array__`; neither where they need gradients."""

    def __init__(self, values: np.ndarray[Any, Any], device: int = 1, grad: bool = False) -> None:
        self._values, self._device, self._grad = values, device, grad

    def __dlpack__(self, **words: Any) -> Any:
        if self._grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        return self._values.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device, 0


def foreign(array: Any) -> Any:
    """An array that NumPy's own types do not know."""
    return array


class Column:
    """What pandas' columns offer."""

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self._values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return self._values


class Interface:
    """The older protocol alone."""

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self._values = values
        self.__array_interface__ = values.__array_interface__


class OnDevice:
    """CuPy's and Numba's arrays."""

    __cuda_array_interface__ = {"shape": (32,), "typestr": "<i4", "data": (1, False), "version": 3}  # noqa: RUF012


def array_module(values: np.ndarray[Any, Any]) -> array[int]:
    return array("i", values.tolist())


@pytest.fixture(scope="module")
def program() -> gpudbg.LoadedProgram:
    return gpudbg.assemble_program(ADD)


@pytest.mark.parametrize("kind", [np.array, Tensor, Column, Interface, array_module, memoryview])
def test_array_likes_are_arguments(program: gpudbg.LoadedProgram, kind: Any) -> None:
    session = program.launch("add", args=[kind(VALUES.copy())])
    session.run().check()
    assert session.buffer("x").tolist() == list(range(1, 33))
    assert session.buffer("x").dtype == np.int32


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (OnDevice(), r"argument 0, void \*x, a [^,]*OnDevice, lies in a GPU's memory .*cpu"),
        (
            Tensor(VALUES, device=2),
            r"void \*x, a [^,]*Tensor, lies in memory of DLPack device 2",
        ),
        (
            Tensor(VALUES, grad=True),
            r"void \*x, a .*: Can't export .* tensor.detach\(\)",
        ),
        (
            VALUES.tolist(),
            r"void \*x, is a list, whose elements have no size .*np.array",
        ),
        (range(32), r"argument 0, void \*x, is a range"),
        (None, r"argument 0, void \*x, is None .*null pointer is 0"),
        (np.ma.masked_array(VALUES, VALUES > 3), r"argument 0, void \*x, is a masked array"),
        (np.array([object()]), "Python objects"),
        ("x", r"argument 0, void \*x, is a str"),
        (np.ndarray, r"argument 0, void \*x, is a type"),
    ],
)
def test_what_is_no_argument(program: gpudbg.LoadedProgram, value: Any, words: str) -> None:
    with pytest.raises(gpudbg.UsageError, match=words):
        program.launch("add", args=[value])


@pytest.mark.parametrize(
    "given",
    [
        np.arange(64, dtype=np.int32)[::2],
        np.arange(63, -1, -1, dtype=np.int32)[::-2],
        np.arange(64, dtype=np.int32).reshape(32, 2).T[0],
        np.asfortranarray(np.arange(32, dtype=np.int32).reshape(4, 8)),
        np.arange(32, dtype=">i4"),
        np.broadcast_to(np.int32(7), (32,)),
    ],
    ids=["every second", "backwards", "a column", "fortran", "big-endian", "broadcast"],
)
def test_any_layout_is_copied_and_the_caller_s_array_stays(
    program: gpudbg.LoadedProgram, given: np.ndarray[Any, Any]
) -> None:
    before = given.copy()
    session = program.launch("add", args=[given])
    session.run().check()
    result = session.buffer(0)
    assert result.shape == given.shape
    assert (result == before + 1).all()
    assert (given == before).all()
    result[:] = 0
    assert session.buffer(0).any(), "what is read is a copy"


def test_read_only_arrays_are_arguments(program: gpudbg.LoadedProgram) -> None:
    given = VALUES.copy()
    given.flags.writeable = False
    session = program.launch("add", args=[given])
    session.run().check()
    assert session.buffer(0)[0] == 1


def test_buffers_take_and_are_array_likes(program: gpudbg.LoadedProgram) -> None:
    tensor, elsewhere = foreign(Tensor(VALUES)), foreign(OnDevice())
    buffer = program.device.buffer(tensor)
    program.launch("add", args=[buffer]).run().check()
    np.testing.assert_array_equal(buffer, VALUES + 1)
    assert (len(buffer), np.asarray(buffer, np.float64).dtype) == (32, np.dtype(np.float64))
    buffer.write(Column(VALUES))
    assert buffer.array().sum() == VALUES.sum()
    with pytest.raises(gpudbg.UsageError, match="GPU's memory"):
        buffer.write(elsewhere)
    with pytest.raises(gpudbg.UsageError, match="GPU's memory"):
        program.device.buffer(elsewhere)
    with pytest.raises(gpudbg.UsageError, match="no array"):
        program.device.buffer([[1], [2, 3]])
    image = program.device.texture(foreign(Tensor(np.eye(4, dtype=np.float32))))
    assert (image.array() == np.eye(4)).all()
