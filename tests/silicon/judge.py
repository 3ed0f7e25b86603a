"""What a card said about a pack, against the emulated SM.

    python -m tests.silicon.judge PACK.pyz results.zip [--engine run] [--only TEXT] [--list]

Every case of the pack runs on the emulated SM; words that differ are shown with the case's name.
Where a case ended with an error on the card the model has to end with an error, too.
"""

from __future__ import annotations

import argparse
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import gpudbg
from gpudbg.errors import GpudbgError
from gpudbg.formats.tensor_map import Im2col, TensorMap, encode
from tests.silicon.runner import digest

Array = npt.NDArray[Any]
LIMIT = 4_000_000
"""Warp instructions after which a launch counts as endless."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a case ended on the emulated SM.

    Attributes:
        kind: the last stop's kind, or "gap" where something has no semantics.
        message: the stop's.
        buffers: contents after the launches.
        places: addresses of the buffers.
    """

    kind: str
    message: str
    buffers: dict[str, bytes]
    places: dict[str, int]


class Model:
    """Runs cases on the emulated SM; programs that several cases share are loaded once."""

    def __init__(self, blobs: Mapping[str, bytes], engine: str = "step") -> None:
        self._blobs, self._engine = blobs, engine
        self._image, self._program = "", None

    def _loaded(self, case: Mapping[str, Any]) -> Any:
        if case.get("reload") or self._image != case["image"]:
            raw = self._blobs[case["image"]]
            self._program = _program(raw, self._engine)
            self._image = case["image"]
        return self._program

    def run(self, case: Mapping[str, Any]) -> Outcome:
        """A case's buffers after its launches."""
        program = self._loaded(case)
        device = program.device
        made: dict[str, Any] = {}
        places: dict[str, int] = {}
        for name in sorted(case["buffers"], key=lambda n: "addresses" in case["buffers"][n]):
            made[name] = device.buffer(self._contents(case["buffers"][name], places))
            places[name] = made[name].address
        for name, blob in case.get("symbols", {}).items():
            program.write_symbol(name, np.frombuffer(self._blobs[blob], np.uint8))
        kind = message = ""
        try:
            for launch in case["launches"]:
                session = program.launch(
                    launch["entry"],
                    grid=tuple(launch["grid"]),
                    block=tuple(launch["block"]),
                    args=[_argument(row, made, device) for row in launch["args"]],
                    shared_bytes=launch.get("shared", 0),
                    cluster=launch.get("cluster"),
                )
                stop = session.run(max_instructions=case.get("limit", LIMIT))
                kind, message = stop.kind, stop.message
                session.close()
                if kind != "exited":
                    break
        except GpudbgError as error:
            kind, message = "gap", str(error)
        found = {n: np.ascontiguousarray(b.array()).tobytes() for n, b in made.items()}
        for buffer in made.values():
            buffer.free()
        if kind != "exited":
            self._image = ""
        return Outcome(kind, message, found, places)

    def _contents(self, row: Mapping[str, Any], places: Mapping[str, int]) -> Array:
        raw = self._blobs[row["blob"]] if "blob" in row else bytes([row["fill"]]) * row["size"]
        data = bytearray(raw)
        for offset, name, more in row.get("addresses", ()):
            data[offset : offset + 8] = (places[name] + more).to_bytes(8, "little")
        return np.frombuffer(bytes(data), np.uint8)


def _program(raw: bytes, engine: str) -> Any:
    if raw[:4] == b"\x7fELF":
        return gpudbg.load(raw, engine=engine)
    return gpudbg.compile(raw.decode(), engine=engine)


def _argument(row: Mapping[str, Any], made: Mapping[str, Any], device: Any) -> Any:
    if "buffer" in row:
        buffer = made[row["buffer"]]
        if "offset" in row:
            return (buffer.address + row["offset"]).to_bytes(8, "little")
        return buffer
    if "tensor_map" in row:
        return _map(row["tensor_map"], made)
    return bytes.fromhex(row["bytes"])


def _map(row: Mapping[str, Any], made: Mapping[str, Any]) -> bytes:
    """A tensor map as the model encodes it."""
    given = dict(row["model"])
    column = given.pop("im2col", None)
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
    if column is not None:
        fields["im2col"] = Im2col(
            tuple(column["lower"]), tuple(column["upper"]), column["channels"], column["pixels"]
        )
    fields["address"] = made[row["buffer"]].address + row["offset"]
    return encode(TensorMap(**fields))


def expect(cases: list[dict[str, Any]], blobs: Mapping[str, bytes], engine: str = "step") -> None:
    """Write into cases the digests of what the model leaves in their buffers."""
    model = Model(blobs, engine)
    for case in cases:
        try:
            outcome = model.run(case)
        except Exception as error:
            print(f"{case['id']}: {type(error).__name__}: {error}")
            continue
        case["model"] = outcome.kind
        if outcome.kind == "exited":
            case["expect"] = {n: digest(raw) for n, raw in outcome.buffers.items()}
        else:
            print(f"{case['id']}: {outcome.kind}: {outcome.message}")


class Results:
    """What came back from a card."""

    def __init__(self, pack: Path, results: Path) -> None:
        with zipfile.ZipFile(pack) as archive:
            self.cases: list[dict[str, Any]] = json.loads(archive.read("pack.json"))["cases"]
            names = [n for n in archive.namelist() if n.startswith("blob/")]
            self.blobs = {n.removeprefix("blob/"): archive.read(n) for n in names}
        with zipfile.ZipFile(results) as archive:
            self.about: dict[str, Any] = json.loads(archive.read("results.json"))
            self._data = archive.read("data.bin")
        self.rows: dict[str, dict[str, Any]] = self.about.pop("cases")

    def buffer(self, case: Mapping[str, Any], name: str) -> bytes | None:
        """A buffer that came back, or was left as it was; None: as the model left it."""
        row = self.rows[case["id"]]["buffers"][name]
        if row == "same":
            return None
        if row == "before":
            return self.blobs[case["buffers"][name]["blob"]]
        return self._data[row[0] : row[0] + row[1]]


def differences(
    case: Mapping[str, Any], results: Results, outcome: Outcome, most: int = 4
) -> Iterator[str]:
    """Lines about a case that went otherwise on the card."""
    row = results.rows[case["id"]]
    if row["status"] != "ok":
        if outcome.kind in ("exited", "gap", "broken"):
            how = row.get("error", row["status"])
            yield f"{case['id']}: card {how}, model {outcome.kind} {outcome.message}"
        return
    if outcome.kind != "exited":
        yield f"{case['id']}: card ended, model {outcome.kind}: {outcome.message}"
        return
    for name, spec in case["buffers"].items():
        if "addresses" in spec:
            continue
        raw = results.buffer(case, name)
        want = outcome.buffers[name]
        if raw is None:
            if digest(want) != case["expect"][name]:
                yield f"{case['id']}: {name}: not what the card and the pack have"
            continue
        if raw == want:
            continue
        kind = np.uint32 if len(raw) % 4 == 0 else np.uint8
        a, b = np.frombuffer(raw, kind), np.frombuffer(want, kind)
        where = np.flatnonzero(a != b)
        shown = ", ".join(f"[{n}] card {a[n]:x}, model {b[n]:x}" for n in where[:most])
        yield f"{case['id']}: {name}: {len(where)} of {len(a)} words differ: {shown}"


class Saved:
    """Results to be kept: of cases that differ whole, of others digests."""

    def __init__(self) -> None:
        self.rows: dict[str, Any] = {}
        self._arrays: dict[str, Array] = {}

    def add(
        self, case: Mapping[str, Any], results: Results, outcome: Outcome, lines: list[str]
    ) -> None:
        """One case."""
        row = results.rows[case["id"]]
        kept: dict[str, Any] = {"card": row["status"], "model": outcome.kind}
        if row["status"] == "error":
            kept["error"] = row["error"]
        if lines:
            kept["lines"] = lines
        if row["status"] == "ok":
            raw = {name: results.buffer(case, name) for name in case["buffers"]}
            kept["digests"] = {n: digest(r)[:12] for n, r in raw.items() if r is not None}
            if lines and outcome.kind == "exited":
                for name, data in raw.items():
                    if data is not None and data != outcome.buffers[name]:
                        at = kept.setdefault("arrays", {})[name] = len(self._arrays)
                        self._arrays[f"c{at}"] = np.frombuffer(data, np.uint8)
        self.rows[case["id"]] = kept

    def write(self, path: Path) -> None:
        """PATH.json and PATH.npz."""
        path.with_suffix(".json").write_text(json.dumps(self.rows))
        np.savez_compressed(path.with_suffix(".npz"), allow_pickle=True, **self._arrays)


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="hold a card's results against the model")
    parser.add_argument("pack", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--engine", default="step")
    parser.add_argument("--only", default="")
    parser.add_argument("--most", type=int, default=4)
    parser.add_argument("--all", action="store_true", help="also cases that came back the same")
    parser.add_argument("--share", default="0/1", help="K/N: each Nth case from the Kth on")
    parser.add_argument("--save", type=Path, help="write what differs, and digests of all, there")
    options = parser.parse_args()
    try:
        results = Results(options.pack, options.results)
    except (OSError, zipfile.BadZipFile, KeyError, ValueError) as error:
        parser.error(f"cannot read {options.pack} and {options.results}: {error}")
    model = Model(results.blobs, options.engine)
    bad = good = 0
    first, step = map(int, options.share.split("/"))
    saved = Saved()
    for case in results.cases[first::step]:
        row = results.rows.get(case["id"])
        if options.only not in case["id"] or row is None:
            continue
        if (
            row["status"] == "ok"
            and not options.all
            and "same" in row["buffers"].values()
            and all(b in ("same", "before") for b in row["buffers"].values())
        ):
            good += 1
            continue
        try:
            outcome = model.run(case)
        except Exception as error:
            outcome = Outcome("broken", f"{type(error).__name__}: {error}", {}, {})
        lines = list(differences(case, results, outcome, options.most))
        good, bad = good + (not lines), bad + bool(lines)
        saved.add(case, results, outcome, lines)
        if lines:
            print("\n".join(lines), flush=True)
    if options.save:
        saved.write(options.save)
    print(f"{results.about['card']}: {good} cases the same, {bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
