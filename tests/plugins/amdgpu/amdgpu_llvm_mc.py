"""llvm-mc as an oracle: what it answers to one source, or to many lines at once."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

_NAMES = ("llvm-mc-19", "llvm-mc")
_ERROR = re.compile(r"^<stdin>:(\d+):(\d+): error: (.*)$", re.MULTILINE)
_ENCODING = re.compile(r"^\s*(\S.*?)\s*; encoding: \[(.*)\]$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the assembler said: bytes and text of an instruction, or its first error."""

    encoding: str = ""
    text: str = ""
    error: str = ""
    line: int = 0
    column: int = 0


def find() -> str | None:
    """An llvm-mc of version 19 with the AMDGPU target, or None (`GPUDBG_LLVM_MC` names one)."""
    for name in (os.environ.get("GPUDBG_LLVM_MC", ""), *_NAMES):
        path = shutil.which(name) if name else None
        if path is None:
            continue
        version = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
        if "LLVM version 19." in version.stdout and "amdgcn" in version.stdout:
            return path
    return None


def run(llvm_mc: str, text: str, mcpu: str, timeout: float = 20.0) -> tuple[str, str]:
    """Output and errors of one run; both empty when it hangs or crashes, as it does on some text.

    Args:
        llvm_mc: path of the program.
        text: the source.
        mcpu: processor.
        timeout: seconds.
    """
    command = [llvm_mc, "-arch=amdgcn", f"-mcpu={mcpu}", "-show-encoding"]
    try:
        done = subprocess.run(
            command, input=text.encode(), capture_output=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        return "", ""
    if done.returncode < 0:
        return "", ""
    return done.stdout.decode("latin-1"), done.stderr.decode("latin-1")


def _answers(out: str, err: str) -> tuple[list[Answer], dict[int, Answer]]:
    good = []
    for match in _ENCODING.finditer(out):
        encoding = "".join(byte.strip()[2:] for byte in match[2].split(","))
        good.append(Answer(encoding, match[1].replace("\t", " ")))
    bad: dict[int, Answer] = {}
    for line, column, error in _ERROR.findall(err):
        bad.setdefault(int(line), Answer("", "", error, int(line), int(column)))
    return good, bad


def ask(llvm_mc: str, text: str, mcpu: str) -> Answer | None:
    """The answer to one source: its first error, or its last instruction; None when it failed."""
    out, err = run(llvm_mc, text + "\n", mcpu, 3.0)
    good, bad = _answers(out, err)
    if bad:
        return next(iter(bad.values()))
    return good[-1] if good else None


def ask_lines(llvm_mc: str, lines: Sequence[str], mcpu: str) -> list[Answer]:
    """The answer to each line of a source of independent lines, all instructions."""
    good, bad = _answers(*run(llvm_mc, "\n".join(lines) + "\n", mcpu))
    if len(good) + len(bad) != len(lines):
        raise ValueError(f"{len(lines)} lines, {len(good)} instructions, {len(bad)} errors")
    rest = iter(good)
    return [bad.get(number) or next(rest) for number in range(1, len(lines) + 1)]
