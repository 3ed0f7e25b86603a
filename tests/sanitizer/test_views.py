"""Views as arguments: slices of buffers of the device, parts of arrays of other libraries."""

from __future__ import annotations

import pickle

import numpy as np

import gpudbg
from tests.sanitizer.test_pairs import Exported, cubin

I32 = np.int32


def test_a_slice_of_a_buffer_is_that_part_of_it() -> None:
    program = gpudbg.load(cubin("images", "sm_80"))
    buffer, out = program.device.buffer(np.zeros(64, I32)), np.zeros(64, I32)
    report = gpudbg.check(program, "vwbuf_ok", block=32, args=[buffer[4:20], out])
    assert report.status == "clean"
    assert buffer.array()[:21].tolist() == [0] * 4 + list(range(16)) + [0]
    with program.launch("vwbuf_ok", block=32, args=[buffer[40:56], out]) as session:
        session.run()
    assert buffer.array()[40:56].tolist() == list(range(16))


def test_a_slice_of_a_buffer_reads_as_an_array() -> None:
    buffer = gpudbg.Device("sm_80").buffer(np.arange(8, dtype=I32))
    part = buffer[2:][::2]
    assert repr(part) == "array([2, 4, 6], dtype=int32)"
    assert part.device_view.strides == (8,)
    assert part.device_view.address == buffer.address + 8
    assert (part + 1).device_view is None
    assert buffer[[1, 2]].tolist() == [1, 2]
    assert pickle.loads(pickle.dumps(part)).tolist() == [2, 4, 6]
    assert not part.flags.writeable
    assert buffer[3] == 3


def test_what_kernels_wrote_is_copied_back_between_the_elements_of_another_library() -> None:
    program = gpudbg.load(cubin("images", "sm_80"))
    data, out = np.full(64, -1, I32), np.zeros(64, I32)
    part = Exported(data[0:64:2])
    assert gpudbg.check(program, "vwstep_ok", block=32, args=[part, out]).status == "clean"
    assert data[:6].tolist() == [0, -1, 1, -1, 2, -1]
    report = gpudbg.check(program, "vwstep_bad", block=32, args=[part, out])
    assert report.findings[0].cause == "outside_view"
    assert data[11] == 5
