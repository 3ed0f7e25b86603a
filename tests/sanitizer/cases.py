"""Kernels with known verdicts: `tests/data/checks/NAME.json`, a check of each case."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import gpudbg
from gpudbg.formats.initdata import dtype_of
from tests.kernel_cases import DATA, contents

FOLDER = DATA / "checks"
BESIDE = DATA / "checks-async"
"""Cases of code of sm_80 and later, and of views."""
SEVERE = ("error", "warning")
SAME_SPACE = {"register": ("register", "local"), "surface": ("surface", "global", "texture")}


@dataclass(frozen=True)
class Case:
    """One call of `gpudbg.check` and what it must find."""

    kernel: str
    data: dict[str, Any]
    arch: str = "sm_52"
    folder: Path = FOLDER

    @property
    def id(self) -> str:
        name = f"{self.kernel}-{self.data['name']}"
        return name if self.folder is FOLDER else f"{name}-{self.arch}"

    @property
    def checks(self) -> dict[str, Any]:
        found: dict[str, Any] = self.data["checks"]
        return found


def cases() -> Iterator[Case]:
    """All, by kernel."""
    for file in sorted(FOLDER.glob("*.json")):
        spec = json.loads(file.read_text())
        for data in spec["cases"]:
            yield Case(spec["kernel"], data)


def cases_beside() -> Iterator[Case]:
    """All of `BESIDE`, by kernel and architecture."""
    for file in sorted(BESIDE.glob("*.json")):
        spec = json.loads(file.read_text())
        for arch in spec["archs"]:
            for data in spec["cases"]:
                yield Case(spec["kernel"], data, arch, BESIDE)


def prepare(case: Case) -> tuple[Any, dict[str, Any], list[dict[str, Any]]]:
    """(program, buffers, launches) on a fresh device."""
    program = gpudbg.load(str(case.folder / "cubin" / case.arch / f"{case.checks['cubin']}.cubin"))
    made: dict[str, Any] = {}
    for name, row in case.data["buffers"].items():
        if "view" in row:
            continue
        if row["init"]["rule"] == "none":
            made[name] = program.device.empty(row["count"], dtype_of(row["dtype"]), name)
        else:
            made[name] = program.device.buffer(contents(row), name)
    for name, row in case.data["buffers"].items():
        if "view" in row:
            dtype, view = dtype_of(row["dtype"]), row["view"]
            made[name] = made[view["base"]].view(
                tuple(view["shape"]), strides=tuple(s * dtype.itemsize for s in view["strides"]),
                offset=view["offset"] * dtype.itemsize, dtype=dtype,
            )  # fmt: skip
    for name, row in case.data.get("symbols", {}).items():
        program.write_symbol(name, contents(row))
    for name in case.checks.get("free_before_launch", []):
        made[name].free()
    launches = [
        {
            "kernel": row["entry"],
            "grid": tuple(row["grid"]),
            "block": tuple(row["block"]),
            "shared_bytes": row["shared"],
            "args": [
                dtype_of(a["dtype"]).type(a["value"]) if a["kind"] == "scalar"
                else made[a["buffer"]]
                for a in row["args"]
            ],
        }
        for row in case.data["launches"]
    ]  # fmt: skip
    return program, made, launches


def fits(expected: dict[str, Any], finding: Any, strict: bool = True) -> bool:
    """Whether a finding answers an expectation; `strict`: its relation and cause, too."""
    space = expected["space"]
    if finding.kind != expected["kind"]:
        return False
    if space and finding.space not in SAME_SPACE.get(space, (space,)):
        return False
    got = {a.line for a in finding.accesses if a.line is not None}
    want = set(expected["lines"])
    some = expected.get("match") == "any" or expected["kind"] != "race"
    if want and not (got & want if some else got == want):
        return False
    keys = ("relation", "cause", "severity", "count", "bytes") if strict else ()
    return all(getattr(finding, key) == expected[key] for key in keys if key in expected)


def wrong(case: Case, report: Any, made: dict[str, Any]) -> list[str]:
    """What is missing, and what is there without cause."""
    want, notes = case.checks["expect"], []
    for expected in want:
        if not any(fits(expected, f) for f in report.findings):
            notes.append(f"missed {expected}")
    racy = {e["space"] for e in want if e["kind"] == "race"}
    for finding in report.findings:
        # A racing reader may find what nobody has written yet.
        late = finding.kind == "uninitialised" and finding.space in racy
        allowed = want + (case.checks.get("allow") or [])
        if finding.severity in SEVERE and not late:
            if not any(fits(e, finding, strict=False) for e in allowed):
                notes.append(f"extra {finding.where}")
    if report.exit_code != (1 if any(f.severity in SEVERE for f in report.findings) else 0):
        notes.append(f"exit code {report.exit_code}")
    for row in case.checks.get("performance") or ():
        notes += _figures(row, report)
    for name, row in case.data.get("expect", {}).items() if not want else ():
        head = made[name].array().reshape(-1)[: len(row["first8"])]
        if not np.array_equal(head, np.array(row["first8"], head.dtype)):
            notes.append(f"{name} is {head}")
    return notes


def _figures(row: dict[str, Any], report: Any) -> list[str]:
    sites = [s for s in report.performance if (s.kind, s.line) == (row["kind"], row["line"])]
    if row["kind"] == "bank_conflict":
        degree = max((s.degree for s in sites), default=1)
        return [] if degree == row["degree"] else [f"degree {degree}, not {row['degree']}"]
    loads = [s for s in sites if s.access == "load"]
    sectors = max((s.sectors for s in loads), default=0)
    return [] if sectors == row["sectors"] else [f"{sectors} sectors, not {row['sectors']}"]
