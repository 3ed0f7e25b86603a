"""Kernels with a defect beside a clean twin, of all classes, on four architectures.

`pairs/*.json` hold them: `«clean¦defect»` in a source is what the two differ in, `$` the kernel's
name, `/*@name*/` marks a line.  A finding is expected as words: kind, space (`-`: none), marks of
its lines (of a race all, of others one), relation, cause, severity; `*` is anything, `a|b` either.

`python -m tests.sanitizer.test_pairs INCLUDE` compiles them anew; INCLUDE is a folder of CUDA's
headers (cooperative groups, libcu++, cuda_fp16).
"""

from __future__ import annotations

import json
import lzma
import math
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg

FOLDER = Path(__file__).parent / "pairs"
TWINS = ("clean", "defect")
MOST = 60_000
"""Instructions of a launch."""


@dataclass(frozen=True)
class Pair:
    """A kernel and its twin."""

    file: str
    data: dict[str, Any]

    @property
    def name(self) -> str:
        name: str = self.data["name"]
        return name

    def source(self, twin: int) -> str:
        """The text of the kernel, 0 the clean one."""
        text = "\n".join(self.data["source"])
        text = re.sub(r"«(.*?)¦(.*?)»", lambda m: m.group(1 + twin), text, flags=re.DOTALL)
        return text.replace("$", self.kernel(twin))

    def kernel(self, twin: int) -> str:
        return f"{self.name}_{('ok', 'bad')[twin]}"

    def expected(self, twin: int, arch: str) -> list[str]:
        found: list[str] | dict[str, list[str]] = self.data.get(TWINS[twin], [])
        if isinstance(found, dict):
            found = found.get(arch, found.get("*", []))
        return found


def pairs() -> Iterator[Pair]:
    """All, in their order."""
    for file in sorted(FOLDER.glob("*.json")):
        for data in _contents(file.stem)["pairs"]:
            yield Pair(file.stem, data)


@cache
def _contents(file: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{file}.json").read_text())
    return found


@cache
def text_of(file: str, arch: str) -> tuple[str, dict[str, dict[int, str]]]:
    """(CUDA C++ of all kernels of an architecture, the marks of their lines by kernel)."""
    contents = _contents(file)
    text, marks = "\n".join(contents["prelude"]) + "\n", {}
    for data in contents["pairs"]:
        pair = Pair(file, data)
        for twin, what in enumerate(TWINS):
            if arch not in data["archs"] or what not in data:
                continue
            body = pair.source(twin)
            base = text.count("\n") + 1
            marks[pair.kernel(twin)] = {
                base + n: mark
                for n, line in enumerate(body.split("\n"))
                for mark in re.findall(r"/\*@(\w+)\*/", line)
            }
            text += body + "\n"
    return text, marks


@cache
def cubin(file: str, arch: str) -> bytes:
    return lzma.decompress((FOLDER / f"{file}.{arch}.cubin.xz").read_bytes())


class Exported:
    """An array as another library gives it."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


def sliced(program: Any, row: dict[str, Any], kept: dict[Any, Any]) -> Any:
    """A part of an array: NumPy's, another library's by DLPack, or of a buffer of the device."""
    shape, by = row["of"], row["by"]
    key = (by, *shape)
    if key not in kept:
        made = np.arange(math.prod(shape), dtype=row["dtype"]).reshape(shape)
        if by == "fortran":
            made = np.asfortranarray(made)
        kept[key] = program.device.buffer(made) if by == "buffer" else made
    part = kept[key][tuple(slice(*one) for one in row["slice"])]
    return Exported(part) if by == "dlpack" else part


def argument(program: Any, row: dict[str, Any], kept: dict[Any, Any]) -> Any:
    """What an argument's description is: a buffer, a view, a tensor map, an image or a number."""
    dtype = np.dtype(row["dtype"])
    if "value" in row:
        return dtype.type(row["value"])
    if "empty" in row:
        return program.device.empty(row["empty"], dtype)
    if "values" in row:
        return program.device.buffer(np.array(row["values"], dtype))
    if "counting" in row:
        return program.device.buffer(np.arange(row["counting"]).astype(dtype))
    if "map" in row:
        data = np.arange(math.prod(row["map"])).astype(dtype).reshape(row["map"])
        return program.device.tensor_map(program.device.buffer(data), box=tuple(row["box"]))
    if "surface" in row or "texture" in row:
        make = program.device.surface if "surface" in row else program.device.texture
        data = np.zeros(row.get("surface") or row["texture"], dtype)
        return make(data, row.get("dim"), layout=row.get("layout", "block_linear"))
    if "slice" in row:
        return sliced(program, row, kept)
    made = np.zeros(row["zeros"], dtype)
    if "view" in row:
        view = row["view"]
        return np.ndarray(view["shape"], dtype, made, view["offset"], view["strides"])
    return program.device.buffer(made)


def checked(pair: Pair, arch: str, twin: int) -> Any:
    """The report of one of the two."""
    program = gpudbg.load(cubin(pair.file, arch))
    return launched(program, pair, twin, arguments_of(program, pair))


def arguments_of(program: Any, pair: Pair) -> list[Any]:
    """What all its launches share."""
    kept: dict[Any, Any] = {}
    return [argument(program, row, kept) for row in pair.data["args"]]


def launched(program: Any, pair: Pair, twin: int, args: list[Any]) -> Any:
    """The report of a pair's launches."""
    data, kernel = pair.data, pair.kernel(twin)
    settings = ("portability", "volatile", "init", "schedules", "checks")
    given = {key: data[key] for key in settings if key in data}
    if "launches" not in data:
        return gpudbg.check(
            program, kernel, grid=data["grid"], block=data["block"], args=args,
            shared_bytes=data.get("shared_bytes", 0), max_instructions=MOST, **given,
        )  # fmt: skip
    launches = [
        {"block": 64}
        | row
        | {"kernel": row["kernel"].replace("$", kernel), "args": [args[n] for n in row["args"]]}
        for row in data["launches"]
    ]
    return gpudbg.check(program, launches=launches, max_instructions=MOST, **given)


def words(finding: Any, marks: dict[int, str]) -> tuple[str, ...]:
    """A finding as expectations have it."""
    lines = {marks.get(a.line, str(a.line)) for a in finding.accesses if a.line is not None}
    relation = finding.relation or "-"
    space, severity = finding.space or "-", finding.severity
    return finding.kind, space, ",".join(sorted(lines)), relation, finding.cause, severity


def fits(expected: str, found: tuple[str, ...], loosely: bool = False) -> bool:
    """Whether a finding is the expected one; `loosely`: of its kind, space and lines."""
    wanted = expected.split()
    wanted += ["*"] * (6 - len(wanted))
    for n, (want, got) in enumerate(zip(wanted, found, strict=True)):
        if want == "*" or (loosely and n > 2):
            continue
        if n == 2:
            one, other = set(want.split(",")), set(got.split(","))
            if not (one == other if found[0] == "race" else one & other):
                return False
        elif got not in want.split("|"):
            return False
    return True


def mistakes(pair: Pair, arch: str, twin: int) -> list[str]:
    """What a report lacks, and what it has without cause."""
    report = checked(pair, arch, twin)
    marks = text_of(pair.file, arch)[1][pair.kernel(twin)]
    wanted = pair.expected(twin, arch)
    found = [words(f, marks) for f in report.findings]
    # A racing reader may find what nobody has written yet.
    late = [f"uninitialised {w.split()[1]}" for w in wanted if w.startswith("race")]
    # A twin that is called clean has no warning either.
    allowed = [*wanted, *(pair.data.get("allow", ()) if wanted else ()), *late]
    notes = [f"missed {w}" for w in wanted if not any(fits(w, f) for f in found)]
    for finding in found:
        if finding[5] != "note" and not any(fits(a, finding, loosely=True) for a in allowed):
            notes.append(f"extra {' '.join(finding)}")
    severe = any(f[5] != "note" for f in found)
    if report.status != ("findings" if severe else "clean"):
        notes.append(f"{report.status} {report.gap} {report.faults}")
    return notes


ALL = [(pair, arch) for pair in pairs() for arch in pair.data["archs"]]


@pytest.mark.in_turn(6)
@pytest.mark.parametrize(("pair", "arch"), ALL, ids=[f"{p.name}-{a}" for p, a in ALL])
def test_pair(pair: Pair, arch: str) -> None:
    for twin, what in enumerate(TWINS):
        if what in pair.data:
            assert mistakes(pair, arch, twin) == [], pair.kernel(twin)


def test_an_atomic_is_the_first_to_touch_memory() -> None:
    """What it reads had been written by nobody, though it writes there: on the step engine too."""
    pair = next(pair for pair in pairs() if pair.name == "emptyatom")
    program = gpudbg.load(cubin(pair.file, "sm_80"), engine="step")
    report = launched(program, pair, 1, arguments_of(program, pair))
    assert [f.kind for f in report.findings] == ["uninitialised"]


def build(include: str) -> None:
    """Compile all."""
    from tests.kernels_own.build import nvrtc

    for file in sorted(FOLDER.glob("*.json")):
        contents = _contents(file.stem)
        for arch in sorted({a for data in contents["pairs"] for a in data["archs"]}):
            options = [f"--gpu-architecture={arch}", "--generate-line-info", *contents["options"]]
            options += [f"-I{include}"] if contents["headers"] else []
            made = nvrtc(text_of(file.stem, arch)[0], f"{file.stem}.cu", options)
            # No folder of the machine that compiled it.
            for folder in (include, os.getcwd()):
                neutral = "/home/u/source".ljust(len(folder), "_")[: len(folder)]
                made = made.replace(folder.encode(), neutral.encode())
            (FOLDER / f"{file.stem}.{arch}.cubin.xz").write_bytes(lzma.compress(made, preset=9))


if __name__ == "__main__":
    build(sys.argv[1].rstrip("/"))
