"""Instructions of sm_75 and later on both engines: registers from memory, a few lines, and back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import gpudbg
from gpudbg.isa.volta import assemble

Words = npt.NDArray[np.uint32]

FIRST, COUNT = 8, 32
"""Registers R8 to R39 come from memory and go back there; R0 is the thread's number."""
SHARED = 8192


class Outcome(NamedTuple):
    """What a run gave.

    Attributes:
        kind: of the stop.
        registers: R8 to R39 of every thread.
        exits: instructions that the run engine left to the step engine, by name.
    """

    kind: str
    registers: Words
    exits: dict[str, int]


def program_words(lines: Sequence[str], address: int, arch: str, times: int) -> list[int]:
    """A program around some lines; `{at3}` in one is the address of the third after the first."""
    # An access whose place is not known yet leaves a whole block to the step engine: the lines have
    # one of their own.
    wide, first = ".128.SYS" if arch == "sm_75" else ".128", 7 + COUNT // 4
    carries = "PT, PT, " if int(arch[3:].rstrip("af")) >= 100 else ""
    text = [
        "S2R R0, SR_TID.X",
        f"MOV R4, {address & 0xFFFFFFFF:#x}",
        f"MOV R5, {address >> 32:#x}",
        f"MOV R6, {4 * COUNT:#x}",
        "MOV R7, RZ",
        "IMAD.WIDE.U32 R2, R0, R6, R4",
        *(f"LDG.E{wide} R{FIRST + n}, [R2+{4 * n:#x}]" for n in range(0, COUNT, 4)),
        f"BRA {16 * first:#x}",
        *lines,
        f"IADD3 R7, {carries}R7, 0x1, RZ",
        f"ISETP.LT.AND P6, PT, R7, {times:#x}, PT",
        f"@P6 BRA {16 * first:#x}",
        *(f"STG.E{wide} [R2+{4 * n:#x}], R{FIRST + n}" for n in range(0, COUNT, 4)),
        "EXIT",
    ]
    places = {f"at{n}": f"{16 * (first + n):#x}" for n in range(len(lines) + 1)}
    return [assemble(line.format_map(places), 16 * n, arch) for n, line in enumerate(text)]


def outcome(
    lines: Sequence[str], data: Words, arch: str, engine: str, folder: Path, times: int = 3
) -> Outcome:
    """Run a program on an engine; `data` has a row of `COUNT` words for each thread.

    The lines run some times: an access leaves the first time, when its place is not known yet.
    """
    path, address = folder / "forms.bin", 0
    for _ in range(2):
        words = program_words(lines, address, arch, times)
        path.write_bytes(b"".join(word.to_bytes(16, "little") for word in words))
        program = gpudbg.load(str(path), arch=arch, engine=engine)
        buffer = program.device.buffer(data)
        address = buffer.address
    session = program.launch("forms", grid=1, block=len(data), args=[], shared_bytes=SHARED)
    stop = session.run(max_instructions=100_000)
    fast = session.grid.fast
    assert fast is None or not fast.trouble
    report = fast.report() if fast is not None else None
    exits: dict[str, int] = {}
    if report is not None:
        for pc, count in report.exits.items():
            name = report.code[pc].op
            exits[name] = exits.get(name, 0) + count
    return Outcome(stop.kind, buffer.array().reshape(data.shape).copy(), exits)


def agree(
    lines: Sequence[str], data: Words, arch: str, folder: Path, times: int = 3
) -> dict[str, int]:
    """Run on both engines, which must agree; what the run engine left."""
    one, two = (outcome(lines, data, arch, e, folder, times) for e in ("step", "run"))
    assert one.kind == two.kind, (lines, one.kind, two.kind)
    different = np.argwhere(one.registers != two.registers)
    assert not len(different), (
        lines,
        [
            (int(t), f"R{FIRST + int(r)}", hex(one.registers[t, r]), hex(two.registers[t, r]))
            for t, r in different[:4]
        ],
    )
    return two.exits
