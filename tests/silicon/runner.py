"""Run a pack of cases on a GPU: what `python PACK.pyz OUT.zip` starts.

Needs Python, NumPy and a CUDA driver, nothing of gpudbg.  Every case runs in one of several child
processes: an error ends a context for good, so the child that met one is replaced, and a case that
does not end is killed after its time.

    python PACK.pyz OUT.zip [--jobs N] [--only TEXT] [--keep all|differing]

A pack (`tests.silicon.pack`) is a zip with this file as its `__main__`, `driver.py`, `pack.json`
and blobs.  OUT.zip has `results.json` (the card, how each case ended, where its buffers lay) and
`data.bin`, from which a row `[offset, length]` of a case's `buffers` takes a buffer's contents;
"same" means the contents whose SHA-256 the pack gives as `expect`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import queue
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

if __package__:
    from tests.silicon import driver
else:
    import driver  # type: ignore[no-redef, import-not-found]

PATIENCE = 20.0
"""Seconds a case may take, beside the first of a child."""
FIRST = 40.0


class Pack:
    """An opened pack."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._zip = zipfile.ZipFile(path)
        self.cases: list[dict[str, Any]] = json.loads(self._zip.read("pack.json"))["cases"]

    def blob(self, name: str) -> bytes:
        """Contents by their name."""
        return self._zip.read(f"blob/{name}")


def digest(data: bytes) -> str:
    """How contents are named."""
    return hashlib.sha256(data).hexdigest()[:20]


# ---- one case on the card ----------------------------------------------------------------


class Card:
    """The GPU with what was loaded last."""

    def __init__(self) -> None:
        self.gpu = driver.Gpu()
        self._image = ""
        self._module: Any = None
        self.maps: list[str] = []

    def module(self, pack: Pack, image: str, anew: bool) -> Any:
        """Loaded code; the last one stays loaded, unless its variables are to be as at first."""
        if anew or self._image != image:
            if self._module is not None:
                self._module.unload()
            self._image, self._module = "", None
            self._module = self.gpu.module(pack.blob(image) + b"\0")
            self._image = image
        return self._module

    def run(self, pack: Pack, case: dict[str, Any]) -> dict[str, Any]:
        """A case's buffers after its launches, and where they lay."""
        module = self.module(pack, case["image"], case.get("reload", False))
        made: dict[str, Any] = {}
        places: dict[str, int] = {}
        try:
            # Those with addresses of others inside come last.
            for name in sorted(case["buffers"], key=lambda n: "addresses" in case["buffers"][n]):
                data = contents(pack, case["buffers"][name], places)
                made[name] = self.gpu.buffer(np.frombuffer(data, np.uint8))
                places[name] = made[name].address
            for name, blob in case.get("symbols", {}).items():
                module.write_symbol(name, np.frombuffer(pack.blob(blob), np.uint8))
            for launch in case["launches"]:
                module.launch(
                    launch["entry"],
                    launch["grid"],
                    launch["block"],
                    [self.argument(row, places) for row in launch["args"]],
                    launch.get("shared", 0),
                    launch.get("cluster"),
                    launch.get("cooperative", False),
                )
            return {"places": places, "buffers": {n: b.array().tobytes() for n, b in made.items()}}
        finally:
            for buffer in made.values():
                buffer.free()

    def argument(self, row: dict[str, Any], places: dict[str, int]) -> bytes:
        """The bytes of an argument."""
        if "buffer" in row:
            return (places[row["buffer"]] + int(row.get("offset", 0))).to_bytes(8, "little")
        if "tensor_map" in row:
            given = row["tensor_map"]
            address = places[given["buffer"]] + given["offset"]
            made = bytes(self.gpu.tensor_map(address, given))
            self.maps.append(made.hex())
            return made
        return bytes.fromhex(str(row["bytes"]))


def contents(pack: Pack, row: dict[str, Any], places: dict[str, int]) -> bytes:
    """First contents of a buffer."""
    data = bytearray(
        pack.blob(row["blob"]) if "blob" in row else bytes([row["fill"]]) * row["size"]
    )
    for offset, name, more in row.get("addresses", ()):
        data[offset : offset + 8] = (places[name] + more).to_bytes(8, "little")
    return bytes(data)


# ---- a child -----------------------------------------------------------------------------


def child(path: Path) -> None:
    """Run the cases whose numbers come in by lines; answer each with a line and raw bytes."""
    pack, card = Pack(path), None
    out = sys.stdout.buffer
    for line in sys.stdin:
        case = pack.cases[int(line)]
        row: dict[str, Any] = {"status": "ok"}
        data: dict[str, bytes] = {}
        try:
            card = card or Card()
            found = card.run(pack, case)
            row["places"], data = found["places"], found["buffers"]
            row["maps"], card.maps = card.maps, []
        except driver.DriverError as error:
            row = {"status": "error", "error": error.name, "call": str(error)}
        except Exception as error:  # whatever it is, the other cases are to run
            row = {"status": "broken", "error": f"{type(error).__name__}: {error}"}
        row["sizes"] = {name: len(raw) for name, raw in data.items()}
        out.write(json.dumps(row).encode() + b"\n")
        for raw in data.values():
            out.write(raw)
        out.flush()
        if row["status"] == "error" and row["error"] != "CUDA_ERROR_NOT_FOUND":
            return


class Worker(threading.Thread):
    """A thread that feeds a child, and starts another where that dies or hangs."""

    def __init__(self, path: Path, wanted: queue.Queue[int], done: Any, pack: Pack) -> None:
        super().__init__(daemon=True)
        self._path, self._wanted, self._done, self._pack = path, wanted, done, pack
        self._child: subprocess.Popen[bytes] | None = None

    def run(self) -> None:
        """Cases until none is left."""
        while True:
            try:
                number = self._wanted.get_nowait()
            except queue.Empty:
                break
            self._done(number, *self._one(number))
        self._end()

    def _end(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            self._child = None

    def _one(self, number: int) -> tuple[dict[str, Any], dict[str, bytes]]:
        limit = self._pack.cases[number].get("seconds", PATIENCE)
        if self._child is None:
            words = [sys.executable, str(self._path), "--child"]
            self._child = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
            limit += FIRST
        process = self._child
        timer = threading.Timer(limit, process.kill)
        timer.start()
        began = time.monotonic()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(b"%d\n" % number)
            process.stdin.flush()
            line = process.stdout.readline()
            row: dict[str, Any] = json.loads(line)
            data = {name: process.stdout.read(n) for name, n in row.pop("sizes").items()}
        except (OSError, ValueError):
            late = time.monotonic() - began >= limit
            row, data = {"status": "hang" if late else "died"}, {}
        finally:
            timer.cancel()
        if row["status"] in ("hang", "died", "error"):
            self._end()
        return row, data


# ---- all of them -------------------------------------------------------------------------


class Results:
    """What came back, written as a zip."""

    def __init__(self, pack: Pack, keep: str) -> None:
        self._pack, self._keep = pack, keep
        self._lock = threading.Lock()
        self.rows: dict[str, dict[str, Any]] = {}
        self._data = bytearray()

    def add(self, number: int, row: dict[str, Any], data: dict[str, bytes]) -> None:
        """One case's end."""
        case = self._pack.cases[number]
        expect = case.get("expect", {})
        row["buffers"] = {}
        with self._lock:
            for name, raw in data.items():
                row["buffers"][name] = self._stored(raw, name, case, expect)
            self.rows[case["id"]] = row

    def _stored(self, raw: bytes, name: str, case: dict[str, Any], expect: dict[str, str]) -> Any:
        if self._keep == "differing" and expect.get(name) == digest(raw):
            return "same"
        before = case["buffers"][name]
        if self._keep == "differing" and before.get("blob") == digest(raw):
            return "before"
        self._data += raw
        return [len(self._data) - len(raw), len(raw)]

    def write(self, path: Path, about: dict[str, Any]) -> None:
        """The zip."""
        with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
            archive.writestr("results.json", json.dumps({**about, "cases": self.rows}))
            archive.writestr("data.bin", bytes(self._data))

    def counts(self) -> dict[str, int]:
        """Cases by how they ended; "same" are those whose buffers are as expected."""
        out: dict[str, int] = {}
        for row in self.rows.values():
            kind = row["status"]
            if kind == "ok" and all(isinstance(b, str) for b in row["buffers"].values()):
                kind = "same"
            out[kind] = out.get(kind, 0) + 1
        return out


def about() -> dict[str, Any]:
    """The card, its driver, the date."""
    probe = "import driver, json; print(json.dumps(driver.about()))"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {sys.argv[0]!r}); {probe}"],
        capture_output=True,
        text=True,
        check=False,
    )
    found: dict[str, Any] = (
        json.loads(done.stdout)
        if done.returncode == 0
        else {"card": "unknown", "why": done.stderr[-500:]}
    )
    return {**found, "date": time.strftime("%Y-%m-%d")}


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="run a pack of cases on a GPU")
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--only", default="", help="cases whose name has this")
    parser.add_argument("--keep", choices=("all", "differing"), default="differing")
    parser.add_argument("--limit", type=float, default=1e9, help="seconds after which to end")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    path = Path(sys.argv[0]).resolve()
    if options.child:
        child(path)
        return 0
    if options.out is None:
        parser.error("where to write results: OUT.zip")
    facts = about()
    if facts["card"] == "unknown":
        print(f"{path.name}: {facts['why'].strip().splitlines()[-1]}", file=sys.stderr)
        return 2
    pack = Pack(path)
    results = Results(pack, options.keep)
    wanted: queue.Queue[int] = queue.Queue()
    for number, case in enumerate(pack.cases):
        if options.only in case["id"]:
            wanted.put(number)
    end = time.monotonic() + options.limit
    total = wanted.qsize()
    workers = [Worker(path, wanted, results.add, pack) for _ in range(options.jobs)]
    for worker in workers:
        worker.start()
    while any(w.is_alive() for w in workers) and time.monotonic() < end:
        time.sleep(0.2)
    results.write(options.out, facts)
    print(f"{facts.get('card')}: {len(results.rows)} of {total} cases: {results.counts()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
