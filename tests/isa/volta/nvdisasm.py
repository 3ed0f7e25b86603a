"""nvdisasm as an oracle for 128-bit words.

Needs GPUDBG_NVDISASM (12.4: sm_70 .. sm_90) and GPUDBG_NVDISASM13 (13.x: sm_100 and later); the
tests themselves read recorded answers and never start these programs.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

WORD_BYTES = 16
NOP = 0x000FC000000000000000000000007918
_LINE = re.compile(r"^\s*/\*([0-9a-f]+)\*/\s+(.*?)\s*;", re.M)
_ERROR = re.compile(r"at address (0x[0-9a-f]+)")
_NOTE = re.compile(r"\s*\?PM[123]\b")
_RUNS = 6
_FIRST_13 = 100
"""The first architecture that only the newer program knows."""


def _tool(arch: str) -> str:
    newer = int(re.sub(r"\D", "", arch)) >= _FIRST_13
    variable = "GPUDBG_NVDISASM13" if newer else "GPUDBG_NVDISASM"
    path = os.environ.get(variable)
    if not path:
        raise SystemExit(f"set {variable} to the program's path")
    return path


def disassemble(words: Sequence[int], arch: str) -> list[str | None]:
    """nvdisasm's text of every word, None where it refuses it or prints nothing.

    Word i stands at byte 16 * i.  A bad word suppresses the listing but all bad words are named at
    once, so a later run with NOPs in their place succeeds.

    Raises:
        RuntimeError: nvdisasm fails for another reason.
    """
    # Opcode 0 makes nvdisasm fail without an address.
    patched = [NOP if word & 0xFFF == 0 else word for word in words]
    bad = {n for n, word in enumerate(words) if word & 0xFFF == 0}
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        for _ in range(_RUNS):
            Path(file.name).write_bytes(b"".join(w.to_bytes(WORD_BYTES, "little") for w in patched))
            done = subprocess.run(
                [_tool(arch), "-b", "SM" + arch[3:], file.name],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode == 0:
                break
            found = {int(at, 16) // WORD_BYTES for at in _ERROR.findall(done.stderr)}
            if not found:
                raise RuntimeError(done.stderr[:500])
            bad |= found
            for index in found:
                patched[index] = NOP
        else:
            raise RuntimeError(f"nvdisasm still refuses words after {_RUNS} runs")
    out: list[str | None] = [None] * len(patched)
    for at, text in _LINE.findall(done.stdout):
        out[int(at, 16) // WORD_BYTES] = _NOTE.sub("", text).strip()
    for index in bad:
        out[index] = None
    return out
