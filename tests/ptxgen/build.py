"""Compile variants with ptxas and record them: cubins, operands and expectations in one zip.

    python -m tests.ptxgen.build float half convert
    python -m tests.ptxgen.build --target sm_80 --target sm_90 --to FOLDER float half

Needs ptxas (path in GPUDBG_PTXAS).  A variant that ptxas refuses is listed in the manifest and left
out.  The zip is what the tests read; ptxas is not needed to run them.
"""

from __future__ import annotations

import argparse
import importlib
import io
import json
import os
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tests.ptxgen.case import DTYPES, Variant, module, width
from tests.ptxgen.nvrtc import compile_cuda

DATA = Path(__file__).parent / "data"
BLOCK = 128


def compile_variants(variants: list[Variant], target: str, folder: Path) -> bytes | str:
    """The cubin of PTX variants, or of CUDA C++ ones, or the compiler's complaint."""
    if variants[0].language == "cuda":
        return compile_cuda("\n".join(v.text for v in variants), target)
    return compile_ptx(module(variants, target), target, folder)


def compile_ptx(text: str, target: str, folder: Path) -> bytes | str:
    """The cubin, or ptxas' complaint."""
    source, result = folder / "in.ptx", folder / "out.cubin"
    source.write_text(text)
    done = subprocess.run(
        [os.environ["GPUDBG_PTXAS"], f"-arch={target}", str(source), "-o", str(result)],
        capture_output=True,
        text=True,
        check=False,
    )
    return result.read_bytes() if done.returncode == 0 else done.stderr + done.stdout


def accepted(
    variants: list[Variant], target: str, folder: Path, refused: list[str]
) -> list[Variant]:
    """Variants that ptxas takes: halving the set until the refused ones are found."""
    if not variants:
        return []
    answer = compile_variants(variants, target, folder)
    if isinstance(answer, bytes):
        return variants
    if len(variants) == 1:
        lines = [x for x in answer.splitlines() if "error" in x]
        refused.append(f"{variants[0].name} ({target}): {lines[0] if lines else answer}")
        return []
    half = len(variants) // 2
    first = accepted(variants[:half], target, folder, refused)
    return first + accepted(variants[half:], target, folder, refused)


class Store:
    """Arrays of one group: equal contents are stored once."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._keys: dict[tuple[str, bytes], str] = {}

    def key(self, array: np.ndarray) -> str:
        """The name under which the array is stored."""
        content = (array.dtype.str, array.tobytes())
        if content not in self._keys:
            self._keys[content] = f"v{len(self.arrays)}"
            self.arrays[self._keys[content]] = array
        return self._keys[content]


def _typed(values: np.ndarray, type_: str) -> np.ndarray:
    return values.astype(DTYPES[width(type_)])


def entry(variant: Variant, targets: dict[str, str], store: Store) -> dict[str, Any]:
    """Manifest entry of a variant."""
    count = variant.count
    args: list[Any] = []
    buffers: dict[str, Any] = {}
    for name, operand in variant.inputs.items():
        values = _typed(operand.values, operand.type)
        if operand.param:
            args.append({"dtype": f"u{values.itemsize * 8}", "value": int(values[0])})
            continue
        args.append(name)
        dtype = f"u{values.itemsize * 8}"
        buffers[name] = {"dtype": dtype, "count": len(values), "npz": store.key(values)}
    expect: dict[str, Any] = {}
    for name, result in variant.outputs.items():
        values = _typed(result.values, result.type)
        args.append(name)
        buffers[name] = {"dtype": f"u{values.itemsize * 8}", "count": len(values), "fill": 205}
        if result.before is not None:
            del buffers[name]["fill"]
            buffers[name]["npz"] = store.key(_typed(result.before, result.type))
        rule: dict[str, Any] = {"compare": result.compare}
        if result.float:
            rule["float"] = result.float
        if result.zero_any:
            rule["zero_any"] = True
        if result.high is None:
            rule["npz"] = store.key(values)
        else:
            rule["lo"], rule["hi"] = store.key(values), store.key(_typed(result.high, result.type))
        if result.where is not None:
            rule["where"] = store.key(np.packbits(result.where))
        expect[name] = rule
    out: dict[str, Any] = {
        "name": f"{variant.group}/{variant.name}",
        "ptx": variant.ptx,
        "cubin": targets,
        "entry": variant.entry,
        "grid": [-(-count // BLOCK), 1, 1],
        "block": [BLOCK, 1, 1],
        "args": args,
        "buffers": buffers,
        "expect": expect,
    }
    if variant.note:
        out["note"] = variant.note
    return out | variant.extra


def groups(variants: list[Variant]) -> Iterator[tuple[str, list[Variant]]]:
    """Variants by group, in order of first appearance."""
    for name in dict.fromkeys(v.group for v in variants):
        yield name, [v for v in variants if v.group == name]


def variants_of(suite: str, targets: tuple[str, ...] = ()) -> list[Variant]:
    """The variants of the module SUITE_cases, for other targets than their own if asked."""
    found: list[Variant] = list(importlib.import_module(f"tests.ptxgen.{suite}_cases").variants())
    return [replace(v, targets=targets) for v in found] if targets else found


def build(suite: str, targets: tuple[str, ...] = (), to: Path = DATA) -> None:
    """Write TO/SUITE.zip from the module SUITE_cases, for other targets than its own if asked."""
    record(variants_of(suite, targets), to / f"{suite}.zip")


def record(variants: list[Variant], path: Path) -> None:
    """Compile variants and write them with their expectations."""
    names = [(v.group, v.entry) for v in variants]
    twice = {n for n in names if names.count(n) > 1}
    assert not twice, f"named twice: {sorted(twice)[:5]}"
    assert all(v.count % BLOCK == 0 for v in variants if not v.text)
    path.parent.mkdir(exist_ok=True, parents=True)
    refused: list[str] = []
    entries: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as temporary, zipfile.ZipFile(path, "w") as archive:
        folder = Path(temporary)
        for group, members in groups(variants):
            store = Store()
            cubins: dict[str, dict[str, str]] = {v.name: {} for v in members}
            for target in dict.fromkeys(t for v in members for t in v.targets):
                wanted = [v for v in members if target in v.targets]
                good = accepted(wanted, target, folder, refused)
                if not good:
                    continue
                cubin = compile_variants(good, target, folder)
                assert isinstance(cubin, bytes), cubin
                where = f"cubin/{target}/{group}.cubin"
                _put(archive, where, cubin)
                for v in good:
                    cubins[v.name][target] = where
            entries += [entry(v, cubins[v.name], store) for v in members if cubins[v.name]]
            packed = io.BytesIO()
            np.savez(packed, allow_pickle=True, **store.arrays)
            _put(archive, f"data/{group}.npz", packed.getvalue())
        manifest = {"format": "ptxconf 1", "refused_by_ptxas": refused, "entries": entries}
        _put(archive, "manifest.json", json.dumps(manifest, indent=0).encode())
    print(
        f"{path.name}: {len(entries)} variants, {len(refused)} refused, {path.stat().st_size} bytes"
    )
    for line in refused:
        print("  refused", line)


def _put(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    """Add a member with a fixed date, so that equal contents give an equal archive."""
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    info.compress_type = zipfile.ZIP_LZMA
    archive.writestr(info, data)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("suites", nargs="+")
    parser.add_argument("--target", action="append", default=[])
    parser.add_argument("--to", type=Path, default=DATA)
    given = parser.parse_args()
    for suite_name in given.suites:
        build(suite_name, tuple(given.target), given.to)
