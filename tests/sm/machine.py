"""Small helpers of the SM tests: sample programs launched without the debugger."""

from __future__ import annotations

import struct
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from gpudbg.formats.cubin import read_cubin
from gpudbg.formats.launch import Launch as Table
from gpudbg.formats.launch import RawSpec
from gpudbg.formats.program import Program
from gpudbg.formats.raw import read_raw
from gpudbg.mem.device import Allocation
from gpudbg.sm.gpu import Gpu
from gpudbg.sm.grid import Grid

CUBINS = Path(__file__).resolve().parents[1] / "data" / "kernels" / "cubin"

CONTROL = 0x001F8000FC0007E0
NOP = 0x50B0000000070F00
EXIT = 0xE30000000007000F
BAR_SYNC = 0xF0A81B8000070000
PT_GUARD = 7 << 16


@cache
def sample(name: str, variant: str = "sm_50") -> Program:
    """A sample program, read once."""
    return read_cubin(CUBINS / variant / f"{name}.cubin")


def raw_program(words: list[int], *, regs: int = 16, shared: int = 0, local: int = 0) -> Program:
    """A program of bare words: instruction n lies at `address(n)` from the section's start."""
    padded = words + [NOP] * (-len(words) % 3)
    data = b""
    for n in range(0, len(padded), 3):
        data += struct.pack("<4Q", CONTROL, *padded[n : n + 3])
    spec = RawSpec(
        num_regs=regs, num_barriers=16, params=(), shared_bytes=shared, local_bytes=local
    )
    return read_raw(data, "test.bin", Table(raw=spec), "sm_50")


def address(n: int) -> int:
    """Section offset of instruction n of a raw program."""
    return n // 3 * 32 + 8 + n % 3 * 8


def relative(opcode: int, at: int, target: int, guard: int = 7, low: int = 0xF) -> int:
    """A relative flow word at instruction `at` that goes to instruction `target`."""
    distance = (address(target) - address(at) - 8) & 0xFFFFFF
    return opcode << 48 | distance << 20 | guard << 16 | low


def bra(at: int, target: int, guard: int = 7) -> int:
    """BRA; guard 7 is PT, 8 + n is !Pn."""
    return relative(0xE240, at, target, guard)


def ssy(at: int, target: int) -> int:
    """SSY."""
    return relative(0xE290, at, target, low=0)


def sync(guard: int = 7) -> int:
    """SYNC."""
    return 0xF0F8 << 48 | guard << 16 | 0xF


def mov32i(register: int, value: int, guard: int = 7) -> int:
    """MOV32I with all quad lanes."""
    return 0x0100 << 48 | value << 20 | guard << 16 | 0xF << 12 | register


def launch(
    program: Program, *, block: int = 32, grid: int = 1, params: bytes = b"", **gpu: Any
) -> Grid:
    """The program's first kernel on a fresh GPU."""
    machine = Gpu(program.arch, **{"num_sms": 1, **gpu})
    return machine.load(program).launch(
        next(iter(program.kernels)), (grid, 1, 1), (block, 1, 1), params
    )


def buffer_of(gpu: Gpu, array: np.ndarray, name: str = "buffer") -> Allocation:
    """A copy of an array in device memory."""
    made = gpu.memory.allocate(array.nbytes, name)
    made.writable()[:] = array.reshape(-1).view(np.uint8)
    return made
