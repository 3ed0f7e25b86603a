"""Packs of cases for a machine with a GPU, where gpudbg need not be installed.

    python -m tests.silicon.pack kernels ptx words --to sm_90.pyz [--no-model]
    python sm_90.pyz results.zip            there: Python, NumPy and a driver are enough
    python -m tests.silicon.judge sm_90.pyz results.zip

A pack is a zip that runs (`runner.py` in it is its `__main__`).  A case has an image (a cubin, or
PTX that the driver compiles), buffers, launches, and, unless `--no-model` is given, SHA-256 sums of
what the emulated SM left in the buffers: only buffers that differ come back whole.
"""

from __future__ import annotations

import argparse
import importlib
import json
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpudbg.formats.initdata import dtype_of
from tests.kernel_cases import KERNELS, Case, cases, contents
from tests.silicon.compare import plain
from tests.silicon.runner import digest

HERE = Path(__file__).resolve().parent
Array = npt.NDArray[Any]
Row = dict[str, Any]


class Pack:
    """A pack being made.

    Attributes:
        cases: rows of pack.json.
        blobs: contents by their digest.
    """

    def __init__(self) -> None:
        self.cases: list[Row] = []
        self.blobs: dict[str, bytes] = {}

    def blob(self, data: bytes) -> str:
        """The name of contents; equal ones are kept once."""
        name = digest(data)
        self.blobs[name] = data
        return name

    def buffer(self, array: Array | bytes) -> Row:
        """A buffer's row."""
        data = array if isinstance(array, bytes) else np.ascontiguousarray(array).tobytes()
        if data and data == data[:1] * len(data):
            return {"fill": data[0], "size": len(data)}
        return {"blob": self.blob(data), "size": len(data)}

    def add(self, name: str, image: bytes, launches: list[Row], **more: Any) -> Row:
        """A case; `buffers` and others are its further keys."""
        row = {"id": name, "image": self.blob(image), "launches": launches, "buffers": {}, **more}
        self.cases.append(row)
        return row

    def write(self, path: Path) -> None:
        """The file."""
        names = [row["id"] for row in self.cases]
        assert len(set(names)) == len(names), "a case's name stands twice"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            archive.write(HERE / "runner.py", "__main__.py")
            archive.write(HERE / "driver.py", "driver.py")
            archive.writestr("pack.json", json.dumps({"format": 1, "cases": self.cases}))
            for name, data in self.blobs.items():
                archive.writestr(f"blob/{name}", data)


def one_launch(
    entry: str, grid: Iterable[int], block: Iterable[int], args: list[Row], **more: Any
) -> list[Row]:
    """A case's only launch."""
    return [{"entry": entry, "grid": list(grid), "block": list(block), "args": args, **more}]


# ---- what packs are made of --------------------------------------------------------------


def kernel_case(pack: Pack, case: Case, image: bytes) -> None:
    """A case of tests/data/kernels."""
    buffers: dict[str, Row] = {}
    for name, spec in case.buffers.items():
        if spec["init"]["rule"] == "pointers":
            buffers[name] = _pointers(spec)
        else:
            buffers[name] = pack.buffer(contents(spec))
    launches = []
    for launch in case.launches:
        shared = launch.get("shared_by_variant", {}).get(case.variant, launch.get("shared", 0))
        row = {
            "entry": launch["entry"],
            "grid": launch["grid"],
            "block": launch["block"],
            "args": [_argument(a) for a in launch["args"]],
            "shared": shared,
        }
        launches.append(row | ({"cluster": launch["cluster"]} if launch.get("cluster") else {}))
    symbols = {name: pack.blob(contents(spec).tobytes()) for name, spec in case.symbols.items()}
    pack.add(case.id, image, launches, buffers=buffers, symbols=symbols, reload=True)


def _pointers(spec: Mapping[str, Any]) -> Row:
    """A buffer with addresses of others."""
    known = _Marks()
    marks = contents(spec, known)
    found = []
    for n, value in enumerate(marks.view(np.uint64).tolist()):
        if value:
            found.append([8 * n, known.names[value >> 32], value & 0xFFFFFFFF])
    return {"fill": 0, "size": marks.nbytes, "addresses": found}


class _Marks(dict[str, int]):
    """Addresses that say of which buffer they are."""

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[int, str] = {}

    def __missing__(self, name: str) -> int:
        number = len(self.names) + 1
        self.names[number] = name
        self[name] = number << 32
        return self[name]


def _argument(row: Mapping[str, Any]) -> Row:
    if row["kind"] != "scalar":
        return {"buffer": row["buffer"]}
    if "hex" in row:
        return {"bytes": row["hex"]}
    return {"bytes": np.asarray(row["value"], dtype_of(row["dtype"])).tobytes().hex()}


def kernels(pack: Pack, arch: str) -> None:
    """The cases of tests/data/kernels that need buffers alone, and those PTX is there for."""
    for case in cases(arch, faults=False):
        if plain(case) or (case.error is None and any("cluster" in x for x in case.launches)):
            kernel_case(pack, case, case.cubin.read_bytes())
    for case in cases("sm_80", faults=False):
        ptx = KERNELS / "ptx" / f"{case.kernel}.ptx"
        if plain(case) and ptx.is_file():
            kernel_case(pack, case, ptx.read_bytes())


def ptx(pack: Pack, arch: str, folder: Path | None = None) -> None:
    """The PTX variants: those recorded for the architecture, or all of a folder of suites."""
    from tests.ptxgen.runner import DATA, Suite

    for path in sorted((folder or DATA).glob("*.zip")):
        suite = Suite(path)
        for case in suite.cases(arch):
            entry = case.entry
            buffers = {name: pack.buffer(case.buffer(name)) for name in entry["buffers"]}
            args = [
                {"buffer": a} if isinstance(a, str) else {"bytes": _scalar(a)}
                for a in entry["args"]
            ]
            image = (suite.root / entry["cubin"][arch]).read_bytes()
            launches = one_launch(
                entry["entry"], entry["grid"], entry["block"], args, shared=entry.get("shared", 0)
            )
            pack.add(f"{path.stem}:{entry['name']}", image, launches, buffers=buffers)


def _scalar(argument: Mapping[str, Any]) -> str:
    from tests.ptxgen.runner import scalar

    raw: str = scalar(argument).tobytes().hex()
    return raw


PARTS = {"kernels": kernels, "ptx": ptx}
MODULES = ("words", "programs", "latencies", "probes", "library", "benches")
"""Further parts: modules here, with a function `fill(pack, arch)`."""


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="make a pack of cases for a GPU machine")
    parser.add_argument("parts", nargs="+", choices=[*PARTS, *MODULES])
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--suites", type=Path, help="folder of PTX suites instead of tests/ptxgen")
    parser.add_argument("--no-model", action="store_true", help="leave the model's results out")
    parser.add_argument("--engine", default="run", help="whose results they are (%(default)s)")
    options = parser.parse_args()
    pack = Pack()
    for name in options.parts:
        if name == "ptx":
            ptx(pack, options.arch, options.suites)
        elif name in PARTS:
            PARTS[name](pack, options.arch)
        else:
            importlib.import_module(f"tests.silicon.{name}").fill(pack, options.arch)
    if not options.no_model:
        from tests.silicon.judge import expect

        expect(pack.cases, pack.blobs, options.engine)
    pack.write(options.to)
    print(f"{options.to}: {len(pack.cases)} cases, {options.to.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
