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
_AMBIGUOUS = "More than one pattern matched"
_RUNS = 60
_ONLY_13 = ("sm_88",)
_FIRST_13 = 100
"""The first architecture of those that only the newer program knows, but for `_ONLY_13`."""


def _tool(arch: str) -> str:
    newer = int(re.sub(r"\D", "", arch)) >= _FIRST_13 or arch in _ONLY_13
    variable = "GPUDBG_NVDISASM13" if newer else "GPUDBG_NVDISASM"
    path = os.environ.get(variable)
    if not path:
        raise SystemExit(f"set {variable} to the program's path")
    return path


def disassemble(words: Sequence[int], arch: str) -> list[str | None]:
    """nvdisasm's text of every word, None where it refuses it or prints nothing.

    Word i stands at byte 16 * i.

    Raises:
        RuntimeError: nvdisasm fails for another reason.
    """
    # Opcode 0 makes nvdisasm fail without an address.
    out: list[str | None] = [None] * len(words)
    _fill(out, {n: word for n, word in enumerate(words) if word & 0xFFF}, arch)
    return out


def _fill(out: list[str | None], words: dict[int, int], arch: str) -> None:
    """Put the texts of `words` (number to word) in their places.

    A bad word suppresses the listing but all bad words are named at once, so a later run with NOPs
    in their place succeeds.  A word that matches two forms is not named: halves find it.
    """
    left = dict(words)
    for _ in range(_RUNS):
        done = _run([left.get(n, NOP) for n in range(len(out))], arch)
        if done.returncode == 0:
            for at, text in _LINE.findall(done.stdout):
                number = int(at, 16) // WORD_BYTES
                if number in left:
                    out[number] = _NOTE.sub("", text).strip()
            return
        if _AMBIGUOUS in done.stderr:
            numbers = sorted(left)
            middle = len(numbers) // 2
            for half in (numbers[:middle], numbers[middle:]) if middle else ():
                _fill(out, {n: left[n] for n in half}, arch)
            return
        found = {int(at, 16) // WORD_BYTES for at in _ERROR.findall(done.stderr)}
        if not found:
            raise RuntimeError(done.stderr[:500])
        left = {n: word for n, word in left.items() if n not in found}
    raise RuntimeError(f"nvdisasm still refuses words after {_RUNS} runs")


def _run(words: Sequence[int], arch: str) -> subprocess.CompletedProcess[str]:
    """Disassemble words, whatever they are."""
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        Path(file.name).write_bytes(b"".join(w.to_bytes(WORD_BYTES, "little") for w in words))
        return subprocess.run(
            [_tool(arch), "-b", "SM" + arch[3:], file.name],
            capture_output=True,
            text=True,
            check=False,
        )
