"""A case on a card and on the emulated SM: which words differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpudbg.formats.initdata import dtype_of
from tests.kernel_cases import KERNELS, Case, contents
from tests.silicon.driver import Buffer, Gpu

Arrays = Mapping[str, np.ndarray[Any, Any]]


def plain(case: Case) -> bool:
    """Whether a case needs buffers alone: images and clusters want more of the driver."""
    images = any("object" in spec for spec in case.buffers.values())
    return not images and case.error is None and not any(x.get("cluster") for x in case.launches)


def image_of(case: Case, gpu: Gpu) -> bytes | None:
    """What a card can load for a case: its cubin, else PTX that the driver compiles."""
    if gpu.runs(case.variant):
        return case.cubin.read_bytes()
    ptx = KERNELS / "ptx" / f"{case.kernel}.ptx"
    return ptx.read_bytes() + b"\0" if ptx.is_file() else None


def on_card(case: Case, gpu: Gpu, image: bytes) -> dict[str, np.ndarray[Any, Any]]:
    """The buffers of a case after its launches on a card."""
    module = gpu.module(image)
    made: dict[str, Buffer] = {}
    try:
        addresses: dict[str, int] = {}
        last = sorted(case.buffers, key=lambda n: case.buffers[n]["init"]["rule"] == "pointers")
        for name in last:
            made[name] = gpu.buffer(contents(case.buffers[name], addresses))
            addresses[name] = made[name].address
        for name, spec in case.symbols.items():
            module.write_symbol(name, contents(spec, addresses))
        for row in case.launches:
            shared = row.get("shared_by_variant", {}).get(case.variant, row.get("shared", 0))
            arguments = [_bytes(argument, addresses) for argument in row["args"]]
            module.launch(row["entry"], row["grid"], row["block"], arguments, shared)
        return {name: buffer.array() for name, buffer in made.items()}
    finally:
        for buffer in made.values():
            buffer.free()
        module.unload()


def _bytes(row: Mapping[str, Any], addresses: Mapping[str, int]) -> bytes:
    if row["kind"] != "scalar":
        return addresses[row["buffer"]].to_bytes(8, "little")
    if "hex" in row:
        return bytes.fromhex(row["hex"])
    return bytes(np.asarray(row["value"], dtype_of(row["dtype"])).tobytes())


def differences(case: Case, card: Arrays, emulated: Arrays, most: int = 4) -> list[str]:
    """Words that differ, by buffer; pointers in buffers are left out: they lie elsewhere."""
    out = []
    for name, spec in case.buffers.items():
        if spec["init"]["rule"] == "pointers":
            continue
        a, b = (_words(x[name]) for x in (card, emulated))
        where = np.flatnonzero(a != b)
        shown = ", ".join(f"[{n}] card {a[n]:x}, model {b[n]:x}" for n in where[:most])
        if len(where):
            out.append(f"{case.id}: {name}: {len(where)} of {len(a)} words differ: {shown}")
    return out


def _words(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return raw.view(np.uint32) if len(raw) % 4 == 0 else raw
