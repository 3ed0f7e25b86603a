"""Launches of any tests as a pack: a plugin of pytest.

    pytest -p tests.silicon.recording --silicon-pack FILE.pyz --silicon-arch sm_90 tests/hopper

Every launch that ends becomes a case: the device's buffers before it, the program's file, the
parameters with addresses and tensor maps found in them, and what the model left in the buffers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpudbg.debug.session import DebugSession
from gpudbg.formats import tensor_map
from tests.silicon.pack import Pack, Row, one_launch
from tests.silicon.runner import digest

DRIVER_TYPES = (0, 1, 2, 3, 4, 5, 6, 7, 10, 8, 9, 11, 12)
"""CUtensorMapDataType of PTX' element types."""
MOST_BYTES = 1 << 22


class Recorder:
    """What is being recorded."""

    def __init__(self, arch: str) -> None:
        self.arch = arch
        self.pack = Pack()
        self.test = ""
        self._plain = DebugSession.run

    def install(self) -> None:
        """From now on runs are recorded."""
        recorder = self

        def run(session: DebugSession, max_instructions: int | None = None) -> Any:
            before = recorder.before(session)
            stop = recorder._plain(session, max_instructions)
            if before is not None and stop.kind == "exited":
                recorder.after(session, before)
            return stop

        DebugSession.run = run  # type: ignore[method-assign]

    def before(self, session: DebugSession) -> Row | None:
        """A case without its outcome; None for what a card cannot do alike."""
        launch: Any = session.launch
        program = launch.program
        if not program.arch.startswith(self.arch) or program.data[:4] != b"\x7fELF":
            return None
        memory = launch.loaded.device.gpu.memory
        found = [a for a in memory.allocations() if a.tag == "buffer" and a.size]
        if sum(a.size for a in found) > MOST_BYTES:
            return None
        buffers = {f"b{n}": self.pack.buffer(bytes(a.data)) for n, a in enumerate(found)}
        places = {f"b{n}": (a.base, a.size) for n, a in enumerate(found)}
        kernel, table = launch.kernel, launch.table
        args = [
            self._argument(launch.params[p.offset : p.offset + p.size], places)
            for p in kernel.params
        ]
        launches = one_launch(kernel.name, table.grid, table.block, args)
        launches[0]["shared"] = table.shared_bytes
        cluster = getattr(table, "cluster", None)
        if cluster and kernel.cluster is None:
            launches[0]["cluster"] = list(cluster)
        return {
            "image": self.pack.blob(bytes(program.data)),
            "launches": launches,
            "buffers": buffers,
            "reload": True,
        }

    def _argument(self, raw: bytes, places: dict[str, tuple[int, int]]) -> Row:
        if len(raw) == tensor_map.SIZE and int.from_bytes(raw[-4:], "little") == tensor_map.OWN:
            return {"tensor_map": self._map(tensor_map.decode(raw), places)}
        if len(raw) == 8:
            address = int.from_bytes(raw, "little")
            for name, (base, size) in places.items():
                if base <= address <= base + size and address:
                    return {"buffer": name, "offset": address - base}
        return {"bytes": bytes(raw).hex()}

    def _map(self, found: tensor_map.TensorMap, places: dict[str, tuple[int, int]]) -> Row:
        row = {
            "type": DRIVER_TYPES[found.type],
            "sizes": found.sizes,
            "strides": found.strides,
            "box": found.box,
            "steps": found.steps,
            "swizzle": found.swizzle,
            "interleave": found.interleave,
            "fill": found.fill,
            "model": _fields(found),
        }
        for name, (base, size) in places.items():
            if base <= found.address < base + size:
                row["buffer"], row["offset"] = name, found.address - base
        if found.im2col is not None:
            column = found.im2col
            row |= {
                "lower": column.lower,
                "upper": column.upper,
                "channels": column.channels,
                "pixels": column.pixels,
            }
        return row

    def after(self, session: DebugSession, case: Row) -> None:
        """The outcome."""
        launch: Any = session.launch
        memory = launch.loaded.device.gpu.memory
        found = [a for a in memory.allocations() if a.tag == "buffer" and a.size]
        case["expect"] = {
            name: digest(bytes(a.data)) for name, a in zip(case["buffers"], found, strict=False)
        }
        case["id"] = f"{self.test} #{len(self.pack.cases)}"
        self.pack.cases.append(case)


def _fields(found: tensor_map.TensorMap) -> Row:
    names = ("address", "type", "sizes", "strides", "box", "steps", "swizzle", "interleave", "fill")
    row: Row = {name: getattr(found, name) for name in names}
    if found.im2col is not None:
        row["im2col"] = {
            n: getattr(found.im2col, n) for n in ("lower", "upper", "channels", "pixels")
        }
    return row


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where to."""
    parser.addoption("--silicon-pack", type=Path)
    parser.addoption("--silicon-arch", default="sm_90")


def pytest_configure(config: pytest.Config) -> None:
    """Begin."""
    recorder = Recorder(config.getoption("--silicon-arch"))
    recorder.install()
    config.stash[KEY] = recorder


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Names cases after their test."""
    item.config.stash[KEY].test = item.nodeid.split("/")[-1]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """The file."""
    path = session.config.getoption("--silicon-pack")
    if path is not None:
        session.config.stash[KEY].pack.write(path)


KEY = pytest.StashKey[Recorder]()
