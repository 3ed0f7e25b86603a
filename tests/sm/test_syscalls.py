"""Device printf, malloc, free, assert: format rules on packed arguments, and compiled kernels."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpudbg
from gpudbg.sm.device_output import PIECE_CHARS, DeviceOutput
from gpudbg.sm.syscalls import _Arguments, format_printf

CUBINS = Path(__file__).resolve().parent / "data"


def printf(text: str, packed: bytes, strings: dict[int, str] | None = None) -> str:
    def read(at: int, size: int) -> bytes:
        return packed[at : at + size].ljust(size, b"\0")

    return format_printf(text, _Arguments(read), lambda a: (strings or {}).get(a, ""))


@pytest.mark.parametrize(
    ("text", "packed", "expected"),
    [
        ("%d %d", struct.pack("<ii", -5, 7), "-5 7"),
        ("%u", struct.pack("<i", -1), "4294967295"),
        ("%x|%X|%#x", struct.pack("<III", 255, 255, 255), "ff|FF|0xff"),
        ("%5d|%-5d|%05d", struct.pack("<iii", 42, 42, 42), "   42|42   |00042"),
        ("%d %lld", struct.pack("<iiq", 1, 0, -(2**40)), "1 -1099511627776"),
        ("%f %.2f %e", struct.pack("<ddd", 1.5, 2.25, 1e10), "1.500000 2.25 1.000000e+10"),
        ("%d %f", struct.pack("<iid", 3, 0, 0.5), "3 0.500000"),
        ("%c%c", struct.pack("<ii", 104, 105), "hi"),
        ("%s!", struct.pack("<Q", 16), "name!"),
        ("%5s|%-5s|", struct.pack("<QQ", 16, 16), " name|name |"),
        ("%o %#o %#o %#x", struct.pack("<IIII", 8, 8, 0, 0), "10 010 0 0"),
        (
            "%a %a %.1a %A",
            struct.pack("<dddd", 1.5, -2.0, 1.96875, 10),
            "0x1.8p+0 -0x1p+1 0x2.0p+0 0X1.4P+3",
        ),
        ("[%10a] [%-9a]", struct.pack("<dd", 0.5, float("inf")), "[    0x1p-1] [inf      ]"),
        ("%.*f|%*d", struct.pack("<iidii", -1, 0, 0.5, -4, 7), "0.500000|7   "),
        ("%p", struct.pack("<Q", 0x1234), "0x1234"),
        ("%*d|%.*f", struct.pack("<iiiid", 4, 7, 1, 0, 2.55), "   7|2.5"),
        ("100%%", b"", "100%"),
        ("%hhd %hu", struct.pack("<ii", 200, 70000), "-56 4464"),
        ("no conversion %k", b"", "no conversion %k"),
    ],
)
def test_printf_conversions(text: str, packed: bytes, expected: str) -> None:
    assert printf(text, packed, {16: "name"}) == expected


@settings(max_examples=200)
@given(st.text(max_size=40), st.binary(max_size=64))
def test_any_format_prints_something(text: str, packed: bytes) -> None:
    assert isinstance(printf(text, packed), str)


def test_output_drops_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpudbg.sm.device_output.MAX_OUTPUT_CHARS", 2 * (1 + PIECE_CHARS))
    out = DeviceOutput()
    heard: list[str] = []
    out.listeners.append(heard.append)
    for piece in "abc":
        out.write(piece)
    assert (out.text, out.dropped, heard) == ("bc", 1, ["a", "b", "c"])


@pytest.mark.parametrize("arch", ["sm_50", "sm_61"])
class TestCompiled:
    """syscalls.cu, compiled for both families."""

    def load(self, arch: str) -> gpudbg.LoadedProgram:
        return gpudbg.load(CUBINS / f"syscalls.{arch}.cubin")

    def test_printf(self, arch: str) -> None:
        session = self.load(arch).launch("hello", grid=1, block=3, args=[np.int32(3)])
        assert session.run().kind == "exited"
        expected = [f"hi {t} from 3 str {1.5 * t:5.2f} c 123456789abc|%\n" for t in range(3)]
        assert session.output.text == "".join(expected)

    def test_malloc_and_free(self, arch: str) -> None:
        program = self.load(arch)
        pointers = program.device.buffer(np.zeros(4, np.uint64))
        sums = program.device.buffer(np.zeros(4, np.int32))
        session = program.launch("mal", grid=1, block=4, args=[pointers, sums])
        assert session.run().kind == "exited"
        assert sums.array().tolist() == [6, 10, 14, 18]
        assert len(set(pointers.array().tolist())) == 4
        assert program.device.gpu.heap.used == 0

    def test_a_restart_takes_the_heap_back(self, arch: str) -> None:
        """What the launch had allocated when it was begun again, and what it counts."""
        program = self.load(arch)
        pointers, sums = np.zeros(4, np.uint64), np.zeros(4, np.int32)
        session = program.launch("mal", grid=1, block=4, args=[pointers, sums])
        heap, memory = program.device.gpu.heap, program.device.gpu.memory
        live, most = memory.live, 0
        for count in range(10, 200, 10):
            session.run(max_instructions=count)
            most = max(most, heap.used)
            session.restart()
            assert (heap.used, len(heap.blocks), memory.live) == (0, 0, live)
        assert most

    def test_malloc_gives_null_when_the_heap_is_full(self, arch: str) -> None:
        program = gpudbg.Device(arch=arch, heap_bytes=40).load(CUBINS / f"syscalls.{arch}.cubin")
        pointers = program.device.buffer(np.zeros(4, np.uint64))
        session = program.launch("mal", grid=1, block=4, args=[pointers, np.zeros(4, np.int32)])
        stop = session.run()
        assert stop.kind == "warp_error"
        assert stop.errors[0].address == 0

    def test_assert_stops_with_its_text(self, arch: str) -> None:
        session = self.load(arch).launch("asrt", grid=1, block=64, args=[np.int32(40)])
        stop = session.run()
        assert (stop.kind, stop.block, stop.thread) == ("trap", (0, 0, 0), (40, 0, 0))
        assert "Assertion `threadIdx.x < n` failed" in session.output.text
