"""How programs that fail end on the emulated SM, held against what an H100 said."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from tests.variants import rows

DATA = Path(__file__).resolve().parent / "data"
RECORDED: dict[str, dict[str, Any]] = json.loads((DATA / "h100_faults.json").read_text())["faults"]
OTHERWISE = {
    "stack_1000": 0x16,
    "mbar_over_2": "none",
    "mbar_tx_100000": "none",
    "mbar_garbage": "none",
    "sass_ur62": "none",
    "sass_jmp_0": 6,
    "sass_ret_mis": 6,
    "sass_stl": 0xF,
    "sass_setmaxreg_dealloc": "none",
    "sass_exit_past": 6,
}
"""Cases that the model ends otherwise, and how: docs/silicon.md lists them."""


def of_card(row: dict[str, Any]) -> int | str:
    """The low 16 bits of the warp's error status, or what there is instead of one."""
    if row["warp_esr"] is not None:
        return int(row["warp_esr"], 16) & 0xFFFF
    if 31 in row["xid"]:
        return "mmu"
    return "trap" if 43 in row["xid"] else "none"


def of_model(row: dict[str, Any], engine: str = "step") -> int | str:
    """The same of the emulated SM."""
    kernel = row["kernel"]
    with zipfile.ZipFile(DATA / "h100_faults.zip") as archive:
        own = f"{kernel}.cubin"
        image = archive.read(own if own in archive.namelist() else "faults.cubin")
    program = gpudbg.load(image, engine=engine)
    buffer = program.device.buffer(np.zeros(1024, np.uint32))
    size = program.kernels[kernel].params[1].size
    argument = int(row["argument"], 16).to_bytes(8, "little")[:size]
    threads = 64 if kernel.startswith("bar_") else 32
    session = program.launch(kernel, grid=(1, 1, 1), block=(threads, 1, 1), args=[buffer, argument])
    stop = session.run(max_instructions=200_000)
    if stop.kind != "warp_error":
        return {"exited": "none"}.get(stop.kind, stop.kind)
    error = stop.errors[0]
    return "mmu" if error.name == "MMU_FAULT" else error.code


@rows("name", RECORDED)
def test_faults_end_as_on_the_card(name: str) -> None:
    """The same error status, MMU fault, trap or end; what goes otherwise is named."""
    found, card = of_model(RECORDED[name]), of_card(RECORDED[name])
    if name in OTHERWISE:
        assert (found, found != card) == (OTHERWISE[name], True)
    else:
        assert found == card


@pytest.mark.parametrize("name", ["bar_count_33", "sass_warpsync_none", "generic_local_atom"])
def test_compiled_code_ends_as_on_the_card(name: str) -> None:
    assert of_model(RECORDED[name], "auto") == of_card(RECORDED[name])
