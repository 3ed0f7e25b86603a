"""The Python API: devices, buffers, arguments, variables, several launches."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.errors import LoadError, UsageError
from tests.sm.machine import CUBINS

SAXPY = str(CUBINS / "sm_50" / "saxpy.cubin")
CONSTANTS = str(CUBINS / "sm_50" / "constant_mem.cubin")


def arrays(count: int = 100) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    x, y = rng.random((2, count), dtype=np.float32)
    return x, y


def test_arrays_buffers_and_results() -> None:
    x, y_host = arrays()
    program = gpudbg.load(SAXPY)
    y = program.device.buffer(y_host)
    args = [np.int32(100), np.float32(2), x, y]
    session = program.launch("saxpy", grid=1, block=128, args=args)
    assert session.run().kind == "exited"
    expected = np.float32(2) * x + y_host
    assert np.allclose(y.array(), expected)
    assert np.array_equal(session.buffer(3), y.array())
    assert np.array_equal(session.buffer(2), x)
    assert y_host.tolist() == arrays()[1].tolist()


def test_later_launches_see_what_earlier_ones_wrote() -> None:
    x, y_host = arrays()
    program = gpudbg.load(SAXPY)
    y = program.device.buffer(y_host)
    for _ in range(3):
        program.launch("saxpy", 1, 128, [100, 1.0, x, y]).run()
    assert np.allclose(y.array(), y_host + 3 * x, rtol=1e-6)


def test_restart_begins_with_the_same_memory() -> None:
    x, y_host = arrays()
    program = gpudbg.load(SAXPY)
    y = program.device.buffer(y_host)
    session = program.launch("saxpy", 1, 128, [100, 1.0, x, y])
    session.run()
    once = y.array()
    session.restart()
    assert np.array_equal(y.array(), y_host)
    session.run()
    assert np.array_equal(y.array(), once)


@pytest.mark.parametrize(
    ("grid", "block"), [(1, 128), ((1,), (128,)), ([2, 1], np.array([64, 1])), ((1, 1, 1), (16, 8))]
)
def test_dimensions_of_many_kinds(grid: int | Sequence[int], block: int | Sequence[int]) -> None:
    x, y_host = arrays()
    program = gpudbg.load(SAXPY)
    session = program.launch("saxpy", grid, block, [np.int32(100), np.float32(2), x, y_host])
    assert session.run().kind == "exited"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "takes 4 parameters"),
        ([np.int32(1)] * 5, "5 argument"),
        ([np.int64(1), np.float32(1), 1, 1], "argument 0 'i64' has 8 bytes, expected 4"),
        ([np.int32(1), np.float64(1), 1, 1], "argument 1"),
        ([np.int32(1), 1.0, np.int32(5), 1], "argument 2"),
        ([np.int32(1), 1.0, "text", 1], "str"),
        ([1 << 40, 1.0, 0, 0], "does not fit"),
        ([b"12345678", 1.0, 0, 0], "argument 0"),
    ],
)
def test_arguments_that_do_not_fit(args: list[object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        gpudbg.load(SAXPY).launch("saxpy", 1, 32, args)


def test_launches_that_do_not_fit() -> None:
    program = gpudbg.load(SAXPY)
    args = [1, 1.0, 0, 0]
    one: dict[str, Any] = {"grid": 1, "block": 32, "args": args}
    for options in (
        {"grid": 0},
        {"block": 2000},
        {"block": (1, 2, 3, 4)},
        {"shared_bytes": 1 << 20},
        {"shared_bytes": 1.5},
    ):
        with pytest.raises(UsageError):
            program.launch("saxpy", **(one | options))
    with pytest.raises(UsageError, match=r"no kernel 'sacksby'.*daxpy, saxpy"):
        program.launch("sacksby", 1, 32, args)
    with pytest.raises(UsageError, match="2 kernels"):
        program.launch(None, 1, 32, args)


def test_buffers() -> None:
    device = gpudbg.Device("sm_52", num_sms=4, seed=7)
    assert device.gpu.num_sms == 4
    host = np.arange(6, dtype=np.int16).reshape(2, 3)
    buffer = device.buffer(host)
    assert (buffer.shape, buffer.dtype, buffer.nbytes) == ((2, 3), np.dtype(np.int16), 12)
    assert buffer.array().tolist() == host.tolist()
    buffer.array()[0, 0] = 99
    assert buffer.array()[0, 0] == 0
    buffer.write(host[::-1])
    assert buffer.array().tolist() == host[::-1].tolist()
    with pytest.raises(UsageError, match="bytes"):
        buffer.write(np.zeros(5))
    assert device.buffer([1, 2, 3]).array().tolist() == [1, 2, 3]
    assert device.buffer(np.zeros((0, 4))).array().shape == (0, 4)
    record = np.zeros(3, dtype=[("a", "<i4"), ("b", "<f8")])
    assert device.buffer(record).array().dtype == record.dtype
    with pytest.raises(UsageError, match="object"):
        device.buffer(np.array([object()]))
    address = buffer.address
    buffer.free()
    assert "freed" in device.gpu.memory.describe(address)


def test_variables_are_read_and_written() -> None:
    program = gpudbg.load(CONSTANTS)
    name, found = next((n, g) for n, g in program.program.globals.items() if g.space == "const")
    values = np.arange(found.size // 4, dtype=np.float32)
    program.write_symbol(name, values)
    assert program.read_symbol(name, np.float32).tolist() == values.tolist()
    assert program.read_symbol(name, np.float32, 2, offset=4).tolist() == [1.0, 2.0]
    program.write_symbol(name, np.float32(-1), offset=8)
    assert program.read_symbol(name, "f4", 3).tolist() == [0.0, 1.0, -1.0]
    with pytest.raises(UsageError, match=r"has .* bytes"):
        program.write_symbol(name, np.zeros(found.size + 1, np.uint8))
    with pytest.raises(UsageError, match=r"has .* bytes"):
        program.read_symbol(name, np.uint8, found.size + 1)
    with pytest.raises(UsageError, match=f"no variable 'nope'.*{name}"):
        program.read_symbol("nope")


def test_freed_buffers_are_named_in_faults() -> None:
    x, y_host = arrays(32)
    program = gpudbg.load(SAXPY)
    y = program.device.buffer(y_host)
    y.free()
    stop = program.launch("saxpy", 1, 32, [32, 1.0, x, y]).run()
    assert stop.kind == "warp_error"
    assert stop.errors[0].lanes == tuple(range(32))
    assert "argument 3" in stop.errors[0].nearest
    assert "which was freed" in stop.errors[0].nearest


def test_overruns_name_the_argument() -> None:
    x, _ = arrays(40)
    stop = gpudbg.load(SAXPY).launch("saxpy", 1, 64, [64, 1.0, x, np.zeros(64, "f4")]).run()
    error = stop.errors[0]
    assert (error.space, error.access, error.warp) == ("global", "load", 1)
    assert error.lanes == tuple(range(8, 32))
    assert "at the end of argument 2 (160 bytes)" in error.nearest


@pytest.mark.parametrize("path", ["/nonexistent.cubin", __file__])
def test_files_that_are_no_programs(path: str) -> None:
    with pytest.raises(LoadError):
        gpudbg.load(path)


def test_programs_for_another_architecture() -> None:
    with pytest.raises(UsageError, match="does not run on sm_60"):
        gpudbg.load(SAXPY, arch="sm_60")
    with pytest.raises(UsageError, match="unknown architecture"):
        gpudbg.Device("sm_99")
    with pytest.raises(UsageError, match="unknown engine"):
        gpudbg.Device("sm_50", engine="warp9")
    with open(SAXPY, "rb") as file:
        assert set(gpudbg.load(file.read()).kernels) == {"saxpy", "daxpy"}


def test_importing_the_package_is_light() -> None:
    code = (
        "import sys, gpudbg; print(sorted(m for m in ('numpy', 'construct') if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
