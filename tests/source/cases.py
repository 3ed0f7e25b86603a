"""Samples of `tests/data/source`: points of a run, and what a debugger answers there.

The values come from the same sources compiled for the host, asked from gdb at the same line in the
same simulated thread.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

import gpudbg
from gpudbg.debug.session import DebugSession
from gpudbg.errors import CommandError
from gpudbg.expr.evaluation import OPTIMIZED_OUT

DATA = Path(__file__).resolve().parents[1] / "data" / "source"
SAMPLES = sorted(path.stem for path in DATA.glob("*.json"))
ARCHS = ("sm_52", "sm_80")
DTYPES = {
    **{f"{kind}{bits}": f"{kind}{bits // 8}" for kind in "iu" for bits in (8, 16, 32, 64)},
    "f32": "f4",
    "f64": "f8",
}


def document(sample: str) -> Any:
    """The launch and the points of a sample."""
    return json.loads((DATA / f"{sample}.json").read_text())


def cubin(sample: str, arch: str) -> Path:
    """Its -G build."""
    return DATA / "cubin" / f"{sample}.{arch}-G.cubin"


def reach(sample: str, arch: str, point: Any) -> DebugSession:
    """A session that stands at a point."""
    doc = document(sample)
    program = gpudbg.load(str(cubin(sample, arch)))
    launch = doc["launch"]
    text = (DATA / doc["source"]).read_text()
    session = program.launch(
        launch["kernel"],
        grid=tuple([*launch.get("grid", []), 1, 1, 1][:3]),
        block=tuple([*launch["block"], 1, 1, 1][:3]),
        args=[_argument(program, row) for row in launch["args"]],
        shared_bytes=launch.get("shared", 1024 if "extern __shared__" in text else 0),
    )
    places = (("threadIdx", point["thread"]), ("blockIdx", point["block"]))
    terms = [
        f"{name}.{axis} == {value}"
        for name, values in places
        for axis, value in zip("xyz", values, strict=True)
    ]
    session.execute(f"break {doc['source']}:{point['line']} if {' && '.join(terms)}")
    for _ in range(point["hit"]):
        stop = session.cont()
        assert stop.kind == "breakpoint", stop.message
    return session


def _argument(program: Any, row: list[Any]) -> Any:
    if row[0] == "buf":
        _, kind, count, rule = row
        make = np.arange if rule == "iota" else np.zeros
        return program.device.buffer(make(count).astype(DTYPES[kind]))
    if row[0] == "hex":
        return bytes.fromhex(row[1])
    return np.dtype(DTYPES[row[0]]).type(row[1])


def wrong(session: DebugSession, asked: Any) -> str:
    """What is wrong with the answer to one question; "" where nothing is."""
    if asked["ask"] == "backtrace":
        return _wrong_frames(session, asked)
    if "skip" in asked:
        return ""
    session.execute(f"frame {asked.get('frame', 0)}")
    try:
        got = session.execute(asked["ask"])
    except CommandError as error:
        return f"{asked['ask']}: {error}"
    finally:
        session.execute("frame 0")
    if asked["ask"].startswith("print"):
        got = got["value"]
    if asked.get("optimized_out") and got == OPTIMIZED_OUT:
        return ""
    return "" if same(asked["value"], got) else f"{asked['ask']}: {got}, not {asked['value']}"


def _wrong_frames(session: DebugSession, asked: Any) -> str:
    rows = session.execute("backtrace")
    names = [_last(row["function"]) for row in rows]
    lines = [row["line"] for row in rows]
    wanted = [_last(name) for name in asked["functions"]]
    return "" if (names, lines) == (wanted, asked["lines"]) else f"frames: {names} {lines}"


def _last(name: str) -> str:
    """The last part of a function's name, without template arguments and parameters."""
    if "operator()" in name or "lambda" in name.partition("<")[0]:
        return "operator()"
    return name.partition("<")[0].partition("(")[0].rpartition("::")[2]


def same(want: Any, got: Any) -> bool:
    """Whether an answer is the one wanted: floats to their precision, enumerators by number."""
    if isinstance(want, dict):
        if "$ptr" in want:
            return bool(bool(got) == want["$ptr"])
        if "$enum" in want:
            return bool(got == want["value"])
        return isinstance(got, dict) and all(
            same(value, _part(got, key)) for key, value in want.items()
        )
    if isinstance(want, list):
        return len(want) == len(got) and all(map(same, want, got))
    if isinstance(want, float | str):
        wanted = float(want)
        return (
            bool(got == wanted)
            or math.isclose(got, wanted, rel_tol=2e-5)
            or (wanted != wanted and got != got)
        )
    return bool(want == got)


def _part(got: dict[str, Any], key: str) -> Any:
    """A member; of an anonymous union's members, too, and the union itself (`<anon0>`)."""
    inner = got.get("", {})
    if key in got:
        return got[key]
    return inner or got if key.startswith("<") else inner.get(key)
