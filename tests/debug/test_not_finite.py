"""NaN and infinities stand out in lanes and buffers, wherever they are and however many."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.analysis.contents import not_finite
from gpudbg.analysis.lane_shape import as_kind, guess_kind, shape
from gpudbg.debug.pictures import MemoryTaker, OutputTaker
from gpudbg.debug.views.text import array_words, shape_words
from tests.variants import rows

ALL = (1 << 32) - 1
LINE = np.linspace(-1, 1, 32)


def odd_lanes(values: np.ndarray[Any, Any], active: int = ALL) -> list[int]:
    found = shape(values, active, ALL, "f")
    return [n for n in range(32) if found.odd >> n & 1]


@rows("dtype", [np.float16, np.float32, np.float64])
@rows("strange", [np.nan, np.inf, -np.inf])
@rows("lanes", [[28], [0], [3, 4, 5], list(range(20)), list(range(31))])
def test_lanes_without_a_number_are_outliers(dtype: type, strange: float, lanes: list[int]) -> None:
    values: np.ndarray[Any, Any] = LINE.astype(dtype)
    values[lanes] = strange
    assert set(lanes) <= set(odd_lanes(values))
    words = shape(values, ALL, ALL, "f").words
    assert "×" in words
    assert "nan" not in words
    assert "inf" not in words


def test_the_range_is_that_of_the_others() -> None:
    values = LINE.copy()
    values[28] = np.nan
    found = shape(values, ALL, ALL, "f")
    assert (found.words, odd_lanes(values)) == ("-1..1  × 28", [28])
    assert found.levels[0] == 0
    assert found.levels[31] == 6
    assert odd_lanes(values, ALL & ~(1 << 28)) == []


def test_nothing_but_strange_values() -> None:
    assert shape(np.full(32, np.nan), ALL, ALL, "f").words == "all NaN"
    assert odd_lanes(np.full(32, np.nan)) == list(range(32))
    mixed = np.where(np.arange(32) % 2, np.nan, np.inf)
    assert shape(mixed, ALL, ALL, "f").words == "all NaN, inf"


def test_registers_with_nan_are_read_as_floats() -> None:
    bits = LINE.astype(np.float32).view(np.uint32)
    bits[4:20] = 0x7FC00000
    bits[20:24] = 0x7FFFFFFF
    assert guess_kind(bits) == "f"
    assert odd_lanes(as_kind(bits, "f")) == list(range(4, 24))
    assert guess_kind(np.full(32, 0x7FFFFFFF, np.uint32)) == "u"


def test_values_are_compared_exactly() -> None:
    wide = np.full(32, 1 << 60, np.uint64)
    wide[3] += 1
    assert shape(wide, ALL, ALL, "u").words == "2 values"
    zeros = np.zeros(32)
    zeros[1] = -0.0
    assert shape(zeros, ALL, ALL, "f").words == "2 values"
    line = np.arange(32, dtype=np.uint64) + np.uint64(1 << 63)
    assert shape(line, ALL, ALL, "u").words == "base+lane"
    assert shape_words(line, ALL, "u") == f"{1 << 63}+lane"
    huge = np.array([(-1.7e308, 1.7e308)[n % 2] for n in range(32)])
    assert shape(huge, ALL, ALL, "f").levels[:2] == (0, 6)


def test_print_all_names_them() -> None:
    values = LINE.astype(np.float32)
    values[[7, 9]] = np.nan
    values[30] = -np.inf
    assert shape_words(values, ALL, "f") == "31 values, NaN in lanes 7, 9, -inf in lane 30"
    assert shape_words(np.full(32, np.nan), ALL, "f") == "uniform, NaN in lanes 0-31"


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_buffers_are_looked_at_whole(dtype: type) -> None:
    values: np.ndarray[Any, Any] = np.zeros((3, 1 << 20), dtype)
    values[0, 100_000] = values[2, 5] = np.nan
    values[1, 7] = -np.inf
    found = not_finite(values)
    assert found.to_json() == {
        "nan": 2,
        "first_nan": 100_000,
        "inf": 1,
        "first_inf": (1 << 20) + 7,
    }
    assert "(2 NaN, first 100,000  1 inf, first 1,048,583)" in array_words(values)
    assert not not_finite(np.zeros(4, np.int32))


def test_panes_agree_on_what_a_buffer_holds() -> None:
    """The elements are the parameter's: the launch gave words without a sign for `int *`."""
    program = gpudbg.load("sessions/first_steps/first_steps.cubin", num_sms=1)
    values = np.full(256, -5, np.int32).view(np.uint32)
    session = program.launch(
        "block_max", grid=4, block=64, args=[values, np.zeros(4, np.int32), np.int32(250)]
    )
    row = next(r for r in OutputTaker(session).take() if r.values.size == 256)
    window = SimpleNamespace(space="global", bank=0, address=row.address, page_rows=1)
    page = MemoryTaker(session, window).page()
    assert (row.dtype, row.values[0], page.element) == ("i32", -5, "i32")
    assert f"i32[{row.count}]" in page.label


@pytest.mark.parametrize("elements", [1 << 17, 9 << 20])
def test_what_changed_is_counted_in_the_whole_buffer(elements: int) -> None:
    """Also of a buffer so large that it is kept page by page; and a NaN far behind is seen."""
    program = gpudbg.load("sessions/first_steps/first_steps.cubin", num_sms=1)
    host = np.zeros(elements, np.float32)
    host[7] = np.nan
    data = program.device.buffer(host, "data")
    values = (np.arange(256, dtype=np.int32) * 37) % 5000
    session = program.launch(
        "block_max", grid=4, block=64, args=[values, np.zeros(4, np.int32), np.int32(250)]
    )
    given = session.launch.arguments
    held: Any = session
    held.launch = type("Given", (), {"arguments": (*given, _argument(data))})()
    taker = OutputTaker(session)
    (row,) = [r for r in taker.take() if r.name == "data"]
    assert (row.changed, row.strange, row.count) == (0, "1 NaN, first 7", elements)
    later = host.copy()
    later[100_000:100_010] = 2
    later[-1] = np.nan
    taker.new_stop()
    data.write(later)
    (row,) = [r for r in taker.take() if r.name == "data"]
    assert (row.changed, row.strange) == (11, "2 NaN, first 7")
    assert [n for n, mean in enumerate(row.means) if mean != mean] == [0, 39]
    taker.new_stop()
    (row,) = [r for r in taker.take() if r.name == "data"]
    assert row.changed == 0
    taker.new_stop()
    data.write(host)
    (row,) = [r for r in taker.take() if r.name == "data"]
    assert (row.changed, row.strange) == (11, "1 NaN, first 7")


def _argument(buffer: object) -> object:
    return type("Argument", (), {"name": "data", "buffer": buffer, "output": False})()


def test_a_signalling_nan_is_drawn_without_a_warning() -> None:
    """NumPy warns of one that becomes a wider number."""
    values = np.arange(32, dtype=np.float32)
    values.view(np.uint32)[9] = 0x7F80_0001
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = shape(values, 0xFFFF_FFFF, 0xFFFF_FFFF, "f")
    assert found.odd == 1 << 9
