"""Run recorded PTX variants and compare: manifests in the `ptxconf 1` format.

A suite is a zip (or a folder) with manifest.json, cubin/TARGET/GROUP.cubin and data/GROUP.npz.

    suite = Suite(path)
    for case in suite.cases("sm_50"):
        assert not failures(case, run(case))
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gpudbg.formats.cubin import read_cubin
from gpudbg.formats.program import Kernel
from gpudbg.mem.device import Allocation
from gpudbg.sm.gpu import Gpu, Module

DATA = Path(__file__).resolve().parent / "data"
Arrays = Mapping[str, np.ndarray]

PATTERNS = {"f16": np.uint16, "bf16": np.uint16, "f32": np.uint32, "f64": np.uint64}
FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
LIMIT = 2_000_000
"""Warp instructions after which a launch counts as endless."""


class Suite:
    """A recorded suite; files are read when first asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.root: Any = zipfile.Path(path) if path.suffix == ".zip" else path
        self.manifest = json.loads((self.root / "manifest.json").read_text())
        self._data: dict[str, dict[str, np.ndarray]] = {}
        self._modules: dict[str, Module] = {}

    def module(self, name: str) -> Module:
        """The cubin of that name, loaded on a GPU of its architecture."""
        if name not in self._modules:
            program = read_cubin((self.root / name).read_bytes(), name)
            self._modules[name] = Gpu(program.arch).load(program)
        return self._modules[name]

    def data(self, group: str) -> dict[str, np.ndarray]:
        """The arrays of a group."""
        if group not in self._data:
            packed = io.BytesIO((self.root / f"data/{group}.npz").read_bytes())
            with np.load(packed) as stored:
                self._data[group] = dict(stored)
        return self._data[group]

    def cases(self, *targets: str) -> Iterator[Case]:
        """All entries, for each of the targets they have a cubin for."""
        for entry in self.manifest["entries"]:
            for target in targets or entry["cubin"]:
                if target in entry["cubin"]:
                    yield Case(self, entry, target)

    def groups(self) -> list[str]:
        """Group names."""
        return list(dict.fromkeys(e["name"].split("/")[0] for e in self.manifest["entries"]))


@dataclass(frozen=True, slots=True)
class Case:
    """One entry on one target."""

    suite: Suite
    entry: Mapping[str, Any]
    target: str

    @property
    def group(self) -> str:
        return str(self.entry["name"].split("/")[0])

    @property
    def id(self) -> str:
        """What a report shows."""
        return f"{self.entry['name']} ({self.target})"

    def buffer(self, name: str) -> np.ndarray:
        """Initial contents of a buffer."""
        rule = self.entry["buffers"][name]
        dtype = dtype_of(rule["dtype"])
        if "npz" in rule:
            return self.suite.data(self.group)[rule["npz"]].view(dtype).copy()
        return np.frombuffer(bytes([rule["fill"]]) * (rule["count"] * dtype.itemsize), dtype).copy()


def is_nan(patterns: np.ndarray, fmt: str) -> Any:
    """NaN patterns of a format."""
    return np.isnan(_numbers(patterns, fmt))


def holds(rule: Mapping[str, Any], got: np.ndarray, stored: Arrays) -> np.ndarray:
    """For each element whether it is as the rule says."""
    if rule["compare"] == "multiset":
        same: np.ndarray = np.sort(got) == np.sort(stored[rule["npz"]].view(got.dtype))
        return same
    if rule["compare"] == "range":
        good = _in_range(rule, got, stored)
    else:
        want = stored[rule["npz"]].view(got.dtype)
        good = np.asarray(got == want, bool)
        if rule["compare"] == "nan_any":
            good = _same_or_nan(rule, got, want)
    if "where" in rule:
        good |= ~np.unpackbits(stored[rule["where"]], count=len(good)).astype(bool)
    return good


def _same_or_nan(rule: Mapping[str, Any], got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Equal patterns, or NaN against NaN; packed halves element by element."""
    fmt = rule["float"]
    x, y = (v.view(PATTERNS[fmt]) for v in (got, want))
    good: np.ndarray = (x == y) | (is_nan(x, fmt) & is_nan(y, fmt))
    if rule.get("zero_any"):
        good = good | (_numbers(x, fmt) == 0) & (_numbers(y, fmt) == 0)
    result: np.ndarray = np.all(good.reshape(len(got), -1), axis=1)
    return result


def _in_range(rule: Mapping[str, Any], got: np.ndarray, stored: Arrays) -> np.ndarray:
    fmt = rule["float"].removesuffix("x2")
    low, high = (stored[rule[end]].view(got.dtype) for end in ("lo", "hi"))
    raw, first, last = (v.view(PATTERNS[fmt]) for v in (got, low, high))
    x, lo, hi = (_numbers(v, fmt) for v in (raw, first, last))
    good: np.ndarray = (lo <= x) & (x <= hi)
    # A range of one zero asks for its sign; a NaN limit asks for a NaN.
    good &= ~((lo == 0) & (hi == 0)) | (raw == first) | (raw == last)
    good = good | np.isnan(lo) & np.isnan(x)
    result: np.ndarray = np.all(good.reshape(len(got), -1), axis=1)
    return result


def _numbers(patterns: np.ndarray, fmt: str) -> np.ndarray:
    """Patterns of a format as NumPy floats."""
    if fmt == "bf16":
        return (patterns.astype(np.uint32) << np.uint32(16)).view(np.float32)
    values: np.ndarray = patterns.view(FLOATS[fmt])
    return values


def failures(case: Case, got: Arrays, most: int = 3) -> list[str]:
    """What is wrong in the final buffers, one line an element."""
    stored = case.suite.data(case.group)
    lines = []
    for name, rule in case.entry["expect"].items():
        array = got[name]
        wrong = np.flatnonzero(~holds(rule, array, stored))
        if len(wrong):
            lines.append(f"{case.id}: {name}: {len(wrong)} of {len(array)} wrong")
        for at in wrong[:most].tolist():
            lines.append("  " + _element(case, name, array, at))
    return lines


def _element(case: Case, name: str, got: np.ndarray, at: int) -> str:
    """Operands, result and expectation of one element."""
    stored, rule = case.suite.data(case.group), case.entry["expect"][name]
    digits = got.itemsize * 2
    operands = [
        f"{b}={int(case.buffer(b)[at]):x}"
        for b, r in case.entry["buffers"].items()
        if "npz" in r and len(case.buffer(b)) == len(got)
    ]
    limits = [stored[rule[k]].view(got.dtype) for k in ("npz", "lo", "hi") if k in rule]
    want = " .. ".join(f"{int(x[at]):0{digits}x}" for x in limits)
    return f"[{at}] {' '.join(operands)}: {int(got[at]):0{digits}x}, expected {want}"


def run(case: Case) -> dict[str, np.ndarray]:
    """Launch the entry on the emulated GPU; the final contents of its buffers.

    Raises:
        AssertionError: the launch did not end by itself.
    """
    entry = case.entry
    module = case.suite.module(entry["cubin"][case.target])
    memory = module.gpu.memory
    arrays = {name: case.buffer(name) for name in entry["buffers"]}
    places = {name: memory.allocate(array.nbytes, name) for name, array in arrays.items()}
    for name, place in places.items():
        memory.write(place.base, arrays[name].tobytes())
    params = parameters(module.kernel(entry["entry"]), entry["args"], places)
    grid = module.launch(
        entry["entry"], tuple(entry["grid"]), tuple(entry["block"]), params, entry.get("shared", 0)
    )
    stop = grid.run(max_instructions=LIMIT)
    assert stop.kind == "exited", f"{case.id}: {stop}"
    assert grid.fast is None or not grid.fast.trouble, f"{case.id}: {grid.fast.trouble}"
    for name, place in places.items():
        result = memory.read(place.base, arrays[name].nbytes)
        arrays[name] = np.frombuffer(result, arrays[name].dtype)
        memory.free(place)
    return arrays


def parameters(kernel: Kernel, args: Sequence[Any], places: Mapping[str, Allocation]) -> bytes:
    """The parameter bytes: buffers by address, scalars by value."""
    content = bytearray(kernel.param_bytes)
    for param, arg in zip(kernel.params, args, strict=True):
        value = (
            places[arg].base.to_bytes(8, "little")
            if isinstance(arg, str)
            else scalar(arg).tobytes()
        )
        content[param.offset : param.offset + param.size] = value
    return bytes(content)


def scalar(argument: Mapping[str, Any]) -> Any:
    """A scalar argument of the manifest."""
    return np.array(argument["value"], dtype_of(argument["dtype"]))[()]


def dtype_of(name: str) -> np.dtype[Any]:
    """`u32`, `s8`, `f64` as a NumPy type."""
    kind = {"u": "uint", "s": "int", "i": "int", "f": "float"}[name[0]]
    return np.dtype(f"{kind}{name[1:]}")
