"""Arrays of the host that launches read and write in place."""

from __future__ import annotations

import gc
import weakref
from array import array

import numpy as np
import pytest

import gpudbg
from gpudbg.interop.cuda_sources import CudaKernel
from gpudbg.interop.in_place import byte_bounds, host_arrays, merged

TEXT = """
.kernel add
.param to 8
.param from 8
S2R R0, SR_LANEID
SHL R1, R0, 0x2
IADD R2.CC, R1, c[0x0][from]
IADD.X R3, RZ, c[0x0][from+4]
LDG.E R4, [R2]
IADD R4, R4, 0x64
IADD R2.CC, R1, c[0x0][to]
IADD.X R3, RZ, c[0x0][to+4]
STG.E [R2], R4
EXIT
"""
"""`to[lane] = from[lane] + 100`"""


@pytest.fixture
def add() -> CudaKernel:
    return CudaKernel(gpudbg.assemble_program(TEXT), "add")


def test_what_a_kernel_writes_is_in_the_array(add: CudaKernel) -> None:
    numbers, out = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    assert add[1, 32](out, numbers).kind == "exited"
    assert (out == numbers + 100).all()
    assert (numbers == np.arange(32)).all()
    assert add.program.device.gpu.memory.live == len(
        list(add.program.device.gpu.memory.allocations())
    )


def test_memory_is_given_back(add: CudaKernel) -> None:
    before = add.program.device.gpu.memory.live
    out = np.zeros(32, np.int32)
    add[1, 32](out, out)
    assert add.check()[1, 32](out, out).exit_code == 0
    assert add.program.device.gpu.memory.live == before
    assert (out == 200).all()


def test_arrays_that_share_bytes_are_one(add: CudaKernel) -> None:
    whole = np.arange(64, dtype=np.int32)
    add[1, 32](whole[1:33], whole[:32])
    assert (whole[1:33] == np.arange(32) + 100).all()
    assert (whole[33:] == np.arange(33, 64)).all()
    assert whole[0] == 0


def test_neighbours_are_apart_and_strides_keep_what_is_between() -> None:
    whole = np.arange(16, dtype=np.int32)
    assert len(merged([whole[:8], whole[8:]])) == 2
    assert len(merged([whole[:9], whole[8:]])) == 1
    assert len(merged([whole, whole])) == 1
    reverse = whole[::-2]
    low, high = byte_bounds(reverse)
    assert high - low == 4 * 15
    assert low == byte_bounds(whole)[0] + 4


def test_an_array_follows_its_session_stop_by_stop_and_backwards(add: CudaKernel) -> None:
    numbers, out = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    session = add.debug[1, 32](out, numbers)
    session.run()
    assert out[5] == 105
    session.restart()
    assert out[5] == 0
    session.step(9)
    assert out[5] == 105
    session.execute("reverse-stepi 2")
    assert out[5] == 0
    alive = weakref.ref(session)
    session.close()
    del session
    gc.collect()
    assert alive() is None


def test_a_read_only_array_is_only_read(add: CudaKernel) -> None:
    out = np.zeros(32, np.int32)
    out.flags.writeable = False
    with pytest.warns(UserWarning, match="cannot be written: what the kernel wrote"):
        add[1, 32](out, np.arange(32, dtype=np.int32))
    assert not out.any()


def test_a_fault_names_the_array_by_its_parameter(add: CudaKernel) -> None:
    out, numbers = np.zeros(32, np.int32), np.zeros(16, np.int32)
    with pytest.raises(gpudbg.KernelError, match="at the end of buffer from"):
        add[1, 32](out, numbers)
    assert add[1, 32](out, np.zeros(32, np.int32)).kind == "exited"
    report = add.check()[1, 32](out, numbers)
    assert [f.kind for f in report.findings] == ["out_of_bounds"]


class Tensor:
    """As PyTorch's tensors look: of a type that NumPy has no name for."""

    is_cuda = False
    dtype = "torch.bfloat16"
    shape = (2, 3)

    def __init__(self, storage: np.ndarray) -> None:
        self.storage = storage

    def data_ptr(self) -> int:
        return int(self.storage.ctypes.data)

    def stride(self) -> tuple[int, ...]:
        return (3, 1)

    def element_size(self) -> int:
        return 2


def test_arrays_of_other_libraries_are_their_memory() -> None:
    storage = np.arange(6, dtype=np.uint16)
    (seen,) = host_arrays([Tensor(storage)], [])
    assert isinstance(seen, np.ndarray)
    seen[1, 2] = 77
    assert storage[5] == 77
    plain = array("i", [1, 2, 3])
    (seen,) = host_arrays([plain], [])
    assert isinstance(seen, np.ndarray)
    seen[0] = 9
    assert plain[0] == 9
    with pytest.raises(gpudbg.UsageError, match="x is None"):
        host_arrays([None], ["x"])
