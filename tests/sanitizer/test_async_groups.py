"""Products of warp groups, their registers, tensor maps, launches in a chain: beside clean twins.

`python -m tests.sanitizer.test_async_more` compiles `async_groups.cu` anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.isa.family import decode
from tests.sanitizer.test_async_more import verdict

HERE = Path(__file__).parent
FILE = HERE / "async_groups.sm_90a.cubin"
MAPS = {
    "own_map": "",
    "own_map_unfenced": "race/proxy:e",
    "box": "",
    "box_between": "misaligned/:w",
    "box_odd": "misaligned/:e",
    "map_odd": "misaligned/:e",
}
PRODUCTS = {
    "product": "",
    "two_products": "",
    "product_of_registers": "",
    "some_warps": "sync/wgmma_divergent:e",
    "other_order": "sync/wgmma_divergent:e",
    "two_groups": "",
    "stage": "",
    "stage_early": "race/pending:e",
}
POOLS = {
    "regs": "",
    "regs_twice": "",
    "regs_no_meeting": "sync/setmaxnreg:e",
    "regs_some": "sync/setmaxnreg:e",
    "regs_differ": "sync/setmaxnreg:e",
    "regs_up": "sync/setmaxnreg:e",
}
CHAINS = {
    "one-x two-y three-xyz": "",
    "one-x two_no_wait-y three-xyz": "race/pending:e sync/missing_grid_wait:w",
    "one-x two-y over-xy": "race/pending:e",
    "published-x reads_published-xy": "",
    "published-x reads_rest-xy": "race/pending:e",
}
TAKEN_OUT = {
    ("product", "DEPBAR.LE gsb0", 0): "R24",
    ("two_products", "WARPGROUP.ARRIVE", 1): "wgmma.fence",
    ("product_of_registers", "WARPGROUP.ARRIVE", 0): "wgmma.fence",
}
"""(kernel, instruction, which of them) that is replaced by a NOP -> a word of the only finding."""


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("kernel", MAPS)
def test_maps_of_tensors(kernel: str) -> None:
    program = gpudbg.load(str(FILE))
    device = program.device
    data = device.buffer(np.arange(64 * 32, dtype=np.int32).reshape(64, 32))
    given = device.tensor_map(data, box=(8, 32), swizzle=128)
    words = device.buffer(np.frombuffer(bytes(given), np.uint64).copy())
    args = [words, device.buffer(np.zeros(16, np.uint64)), np.zeros(256, np.int32)]
    report = gpudbg.check(program, kernel, block=128, args=args, max_instructions=20_000)
    assert verdict(report) == set(MAPS[kernel].split()), report.lines()


def _product(kernel: str, source: str) -> Any:
    args = [np.ones(1152, np.uint16), np.zeros(1024, np.float32)]
    block = 256 if kernel == "two_groups" else 128
    return gpudbg.check(source, kernel, block=block, args=args, max_instructions=20_000)


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("kernel", PRODUCTS)
def test_products(kernel: str) -> None:
    report = _product(kernel, str(FILE))
    assert verdict(report) == set(PRODUCTS[kernel].split()), report.lines()


@pytest.mark.in_turn(1)
@pytest.mark.parametrize(("kernel", "text", "which"), TAKEN_OUT)
def test_registers_of_products_in_flight(
    kernel: str, text: str, which: int, tmp_path: Path
) -> None:
    """Compilers put the waits in themselves: they are taken out of the machine code."""
    path = tmp_path / "patched.cubin"
    path.write_bytes(_without(kernel, text, which))
    report = _product(kernel, str(path))
    assert verdict(report) == {"race/register:e"}, report.lines()
    (found,) = report.findings
    assert (found.space, found.relation) == ("register", "own")
    assert TAKEN_OUT[kernel, text, which] in found.where


def _without(kernel: str, text: str, which: int) -> bytes:
    """The file with one instruction of a kernel less."""
    body = FILE.read_bytes()
    code = bytes(gpudbg.load(str(FILE)).program.kernels[kernel].code)
    words = [code[n : n + 16] for n in range(0, len(code), 16)]
    texts = [decode(int.from_bytes(w, "little"), "sm_90a").text() for w in words]
    place = [n for n, t in enumerate(texts) if text in t][which]
    nop = next(w for w, t in zip(words, texts, strict=True) if t == "NOP")
    at = body.index(code) + 16 * place
    return body[:at] + nop + body[at + 16 :]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("kernel", POOLS)
def test_registers_given_back_and_taken(kernel: str) -> None:
    args = [np.arange(256, dtype=np.int32), np.zeros(256, np.int32)]
    report = gpudbg.check(str(FILE), kernel, block=256, args=args, max_instructions=20_000)
    assert verdict(report) == set(POOLS[kernel].split()), report.lines()


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("chain", CHAINS)
def test_launches_in_a_chain(chain: str) -> None:
    program = gpudbg.load(str(FILE))
    given = {n: program.device.buffer(np.zeros(128, np.int32), n) for n in "xyz"}
    rows = [word.split("-") for word in chain.split()]
    launches: list[dict[str, Any]] = [
        {"kernel": kernel, "block": 64, "args": [given[n] for n in names], "overlap": number > 0}
        for number, (kernel, names) in enumerate(rows)
    ]
    report = gpudbg.check(program, launches=launches)
    assert verdict(report) == set(CHAINS[chain].split()), report.lines()
    assert {f.relation for f in report.findings if f.kind == "race"} <= {"launches"}
