"""Compiled code touches nothing but its memory, whatever the addresses; in child processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.mem.faults import MemoryFault
from gpudbg.mem.local import LocalMemory
from gpudbg.sm.engines.llvm.kernel.emitter import Emitter
from gpudbg.sm.engines.llvm.kernel.options import EmitterOptions
from gpudbg.sm.engines.llvm.start import FastEngine
from tests import kernel_cases as kc
from tests.engine import access_forms, guarded, machines, test_addresses
from tests.levels import has
from tests.narrowing import a, there
from tests.variants import full, number

ROOT = Path(__file__).resolve().parents[2]


def _child(*arguments: str) -> str:
    """What a module printed; a signal fails the test."""
    done = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert not done.returncode, f"exit {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.full(instead="test_hostile_addresses")
def test_the_kernel_that_ended_the_process() -> None:
    """Its lane 0 does not execute and points below shared memory; and a kernel whose blocks the
    compiler copies more often than it has instructions."""
    assert _child("tests.engine.guarded").count("blocks exited") == 2


@pytest.mark.parametrize(
    ("host", "first", "batches"),
    [("", 0, 3), ("x86-64-v3", 7, 1), ("znver1", 9, 1), ("x86-64-v2", 8, 1)]
    if full()
    else [("x86-64-v2", 8, 1)],
)
def test_hostile_addresses(host: str, first: int, batches: int) -> None:
    """Hundreds of cases, on an old host alone in the first tier: the tests beside this one run on
    the host itself; `make fuzz` runs tens of thousands, on all."""
    options = [f"--first={first}", f"--batches={batches}", "--cases=3", f"--host={host}"]
    if batches == 1:
        options.append("--at-begin")
    rows = [json.loads(line) for line in _child("tests.engine.hostile", *options).splitlines()]
    if "skipped" not in rows[-1]:
        assert rows[-1]["total"] >= 100 * batches
        assert sum(row.get("reached", 0) for row in rows) > rows[-1]["total"] // 5


def test_elements_in_a_row_near_the_ends_of_memory() -> None:
    """The functions of hosts with AVX2, with and without gather instructions."""
    if not has("x86-64-v3"):
        pytest.skip("the host cannot run them")
    row = json.loads(_child("tests.engine.hostile_lines", f"--count={number(200, 4000)}"))
    assert row["loaded"] > number(500, 10000)
    assert not row["differ"]


def test_hostile_addresses_of_later_sets() -> None:
    """A few launches; `make fuzz` runs hundreds, of five architectures."""
    rows = [
        json.loads(row)
        for row in _child(
            "tests.engine.hostile_modern", f"--count={number(1, 2)}", "--arch=sm_80"
        ).splitlines()
    ]
    assert [sum(row["ended"].values()) for row in rows] == [number(2, 4)]


@pytest.mark.parametrize("host", ["", "x86-64-v3", "x86-64-v2"] if full() else ["x86-64-v3"])
def test_hostile_addresses_of_threads(host: str) -> None:
    """Addresses that code computes from threads; `make fuzz` runs thousands, on all hosts."""
    archs = ("sm_50", "sm_61", "sm_80", "sm_120") if full() else ("sm_50", "sm_80")
    options = [f"--count={number(4, 20)}", f"--host={host}", "--arch", *archs]
    rows = [json.loads(row) for row in _child("tests.engine.hostile_affine", *options).splitlines()]
    if "skipped" not in rows[-1]:
        assert [sum(row["ended"].values()) for row in rows] == [number(4, 20)] * len(archs)
        assert any(row["ended"].get("exited") for row in rows)


def test_hostile_descriptors_of_matrices() -> None:
    """Rows of matrices in shared memory lie inside of it, or are not read."""
    found = json.loads(_child("tests.engine.hostile_rows"))
    assert found["total"] == 8000
    assert 500 < found["inside"] < 7500


NEVER_CALLED = {
    "atomic.global.ADD.S64", "atomic.global.CAS.S32", "atomic.global.CAS.S64",
    "atomic.shared.ADD.F32", "atomic.shared.ADD.F64", "atomic.shared.ADD.S64",
    "atomic.shared.CAS.S32", "atomic.shared.CAS.S64", "load.const.16", "sum.shared.F32",
}  # fmt: skip
"""Functions of the library that no instruction needs: it has no such form, or that is illegal."""


@pytest.mark.full(instead="test_forms_of_a_kernel_have_cases")
def test_every_form_of_access_has_a_case() -> None:
    """The list, what the cases' code consists of, and the functions that emit are the same."""
    found, calls = access_forms.with_cases()
    assert found == access_forms.listed(), "python -m tests.engine.access_forms --write"
    assert access_forms.emitting_functions() <= {row[0] for row in found}
    assert set(access_forms.never_called(calls)) == NEVER_CALLED


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("kernel", ["matmul_tiled", "memory_widths", "nbody"])
def test_forms_of_a_kernel_have_cases(kernel: str) -> None:
    case = next(iter(kc.load(kernel, "sm_50")))
    session = machines.launch(case, "run")
    session.run(max_instructions=1)
    made = session.grid.fast.engine.program
    with access_forms.noting() as notes:
        for whole in (True, False):
            about = whole, made.registers, made.banks, made.sregs
            Emitter(made.listing, EmitterOptions(*about, patterns=made.patterns)).text("warp")
    assert notes.rows
    assert notes.rows <= access_forms.listed()


@pytest.mark.full(instead="test_hostile_addresses")
def test_entries_for_accesses_do_not_outnumber_instructions() -> None:
    """Copies of a block share them."""
    source = guarded.many_blocks()
    program = gpudbg.load(assemble_file(source).cubin(), engine="run")
    out = program.device.buffer(np.zeros(64, np.uint32))
    session = program.launch("blocks", grid=1, block=32, args=[out])
    assert session.run().kind == "exited"
    made = there(a(FastEngine, session.grid.fast).engine).program
    for whole in (True, False):
        options = EmitterOptions(whole, made.registers, made.banks, made.sregs)
        emitter = Emitter(made.listing, options)
        text = emitter.text("warp")
        # Code for any lanes calls the library, once for each copy.
        copies = text.count("masked") + text.count("<16 x i32>, ptr") + text.count("call i1")
        assert copies > made.sites // 2
        assert 0 < len(emitter.sites.numbers) <= made.sites // 2


@pytest.mark.in_turn(2, each="constant")
@pytest.mark.parametrize("access", ["LDG.E R16", "STG.E", "LDG.E.128 R16", "LDG.E.64 R16"])
@pytest.mark.parametrize("constant", ["-0x400", "0x400"])
def test_low_words_that_wrap_around_without_a_carry(access: str, constant: str) -> None:
    """With a constant the addresses of all lanes seem to lie in a row, but are 4 GiB apart."""
    step = 16 if "128" in access else 8 if "64" in access else 4
    name, _, data = access.partition(" ")
    place = f"[R6+{constant}]"
    text = f"{name} {data}, {place} ;" if data else f"{name} {place}, R12 ;"
    source = test_addresses.PROGRAM.replace("{body}", f"    {text}")
    source = source.replace("IADD.X R7, R7, R5", "IADD R7, R7, R5")
    middle = test_addresses.BYTES // 2
    base = (11 << 32) - middle
    for place_of_wrap in (1, 8, 31):
        start = middle - step * place_of_wrap
        offsets = [2048 + step * n for n in range(32)] + [start + step * n for n in range(32)]
        one, two = (
            test_addresses.outcome(source, engine, offsets, 64, base) for engine in ("step", "run")
        )
        assert one[0] == two[0] == "warp_error"
        assert machines.difference(one[1], two[1]) == ""


@pytest.mark.parametrize("address", [64, 68, 0x8000, (1 << 24) - 512 - 64, (1 << 24) - 512 - 4])
def test_local_addresses_between_the_ranges(address: int) -> None:
    """Just below the high range there is nothing, whatever lies in the low one."""
    local = LocalMemory(512, 64)
    places = np.full(32, address, np.uint32)
    with pytest.raises(MemoryFault):
        local.place(places, 1, 4)
