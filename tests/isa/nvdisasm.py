"""nvdisasm and cuobjdump as oracles: what they say about raw words and cubins.

Needs the environment variables GPUDBG_NVDISASM and GPUDBG_CUOBJDUMP; the tests themselves read
recorded answers and never start these programs.
"""

from __future__ import annotations

import os
import re
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

NEUTRAL_GROUP = 0x7E0
NOP = 0x50B0000000070F00
_LINE = re.compile(r"^\s*/\*([0-9a-f]+)\*/\s+(.*)$", re.M)
_ERROR = re.compile(r"error\s*:\s*(.*?) ?at address (0x[0-9a-f]+)")
_INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;\s*/\* 0x([0-9a-f]{16}) \*/")
_CONTROL = re.compile(r"^\s+/\* 0x([0-9a-f]{16}) \*/$")
RESERVED = re.compile(r"INVALID|\?\?\?")
"""Marks in the text of a word whose modifier field holds a reserved value."""


def _tool(variable: str) -> str:
    path = os.environ.get(variable)
    if not path:
        raise SystemExit(f"set {variable} to the program's path")
    return path


def address_of(index: int) -> int:
    """Byte address of the index-th word of a file of bundles."""
    return index // 3 * 32 + 8 * (index % 3 + 1)


def _index_of(address: int) -> int:
    return address // 32 * 3 + address % 32 // 8 - 1


def disassemble(words: Sequence[int], arch: str, group: int = NEUTRAL_GROUP) -> list[str | None]:
    """nvdisasm's text of every word, None where it refuses it.

    One bad word suppresses the listing but all bad words are named at once, so the second or
    third run with NOPs in their place succeeds.  Word i stands at `address_of(i)`.
    """
    patched = list(words) + [NOP] * (-len(words) % 3)
    control = group | group << 21 | group << 42
    bad: set[int] = set()
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        for _ in range(6):
            data = b"".join(
                struct.pack("<4Q", control, *patched[i : i + 3]) for i in range(0, len(patched), 3)
            )
            Path(file.name).write_bytes(data)
            done = subprocess.run(
                [_tool("GPUDBG_NVDISASM"), "-b", "SM" + arch[3:], file.name],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode == 0:
                break
            found = {_index_of(int(at, 16)) for _, at in _ERROR.findall(done.stderr)}
            if not found:
                raise RuntimeError(done.stderr[:500])
            bad |= found
            for index in found:
                patched[index] = NOP
        else:
            raise RuntimeError("nvdisasm still refuses words after six runs")
    out: list[str | None] = [None] * len(patched)
    for at, text in _LINE.findall(done.stdout):
        out[_index_of(int(at, 16))] = text.strip().rstrip(";").rstrip()
    for index in bad:
        out[index] = None
    return out[: len(words)]


def cubin_words(path: Path) -> Iterator[tuple[str, int, int, int, str]]:
    """(arch, pc, word, control group, text) of every instruction cuobjdump lists in a cubin."""
    done = subprocess.run(
        [_tool("GPUDBG_CUOBJDUMP"), "-sass", str(path)], capture_output=True, text=True, check=True
    )
    arch, control = "", 0
    for line in done.stdout.splitlines():
        if "code for sm_" in line:
            arch = line.split()[-1]
        elif found := _CONTROL.match(line):
            control = int(found[1], 16)
        elif found := _INSTRUCTION.match(line):
            pc = int(found[1], 16)
            group = control >> 21 * (pc // 8 % 4 - 1) & 0x1FFFFF
            yield arch, pc, int(found[3], 16), group, found[2].rstrip()
