"""Kinds of faults, each through four front ends: the same error as data in every one of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import gpudbg
from gpudbg.cli import main
from tests.dap.client import Client as Adapter
from tests.mi.client import Client as Machine

FAR = "MOV R2, 0x4\nMOV R3, 0x7f\n"
ODD = "MOV R2, c[0x0][p]\nMOV R3, c[0x0][p+4]\n"
LANE = "S2R R4, SR_TID.X\nISETP.NE.AND P0, PT, R4, 0x25, PT\n@P0 EXIT\n"
EVERY = tuple(range(32))


class Fault(NamedTuple):
    """A kernel of two warps and what its first error says."""

    name: str
    code: str
    error: str
    space: str | None = None
    access: str | None = None
    address: int | None = None
    warp: int = 0
    lanes: tuple[int, ...] = EVERY
    pointer: bool = False


FAULTS = (
    Fault("load_far", FAR + "LDG.E R0, [R2.64]", "MMU_FAULT", "global", "load", 0x7F00000004),
    Fault("store_far", FAR + "ST.E [R2.64], R0", "MMU_FAULT", "global", "store", 0x7F00000004),
    Fault(
        "atomic_far",
        FAR + "ATOMG.E.ADD.STRONG.GPU PT, R0, [R2.64], R4",
        "MMU_FAULT",
        "global",
        "atomic",
        0x7F00000004,
    ),
    Fault(
        "store_odd",
        LANE + ODD + "STG.E [R2.64+0x2], R4",
        "MISALIGNED_ADDR",
        "global",
        "store",
        2,
        1,
        (5,),
        True,
    ),
    Fault(
        "shared_far",
        ".shared 64\nS2R R4, SR_TID.X\nSHF.L.U32 R4, R4, 0x1, RZ\nLDS.U16 R0, [R4]",
        "OOR_ADDR",
        "shared",
        "load",
        64,
        1,
    ),
    Fault(
        "shared_odd",
        ".shared 64\nMOV R4, 0x2\nATOMS.ADD R0, [R4], R4",
        "MISALIGNED_ADDR",
        "shared",
        "atomic",
        2,
    ),
    Fault(
        "local_far", "MOV R4, 0x800000\nSTL [R4], R4", "STACK_OVERFLOW", "local", "store", 0x800000
    ),
    Fault(
        "constant_far",
        "MOV R4, 0x7ff0\nLDC R4, c[0x2][R4]",
        "INVALID_CONST_ADDR_LDC",
        "const",
        "load",
        0x7FF0,
    ),
    Fault("unknown", f".word 0x{'f' * 32}", "ILLEGAL_INSTR_ENCODING"),
    Fault("wild", "MOV R4, 0x900000\nMOV R5, RZ\nBRX R4 -0x10", "PC_OVERFLOW"),
)
KEYS = ("name", "space", "access", "address", "sm", "warp", "lanes", "block", "thread", "pc")


@pytest.fixture(scope="module")
def cubin(tmp_path_factory: pytest.TempPathFactory) -> str:
    """All faults, a kernel each."""
    parts = [".arch sm_80"]
    for fault in FAULTS:
        parts += [f".kernel {fault.name}", ".param p 8" * fault.pointer, fault.code, "EXIT"]
    made = tmp_path_factory.mktemp("faults") / "faults.cubin"
    source = made.with_suffix(".sass")
    source.write_text("\n".join(parts))
    assert main(["asm", str(source), "--cubin", str(made)]) == 0
    return str(made)


@pytest.fixture(scope="module")
def machine(cubin: str) -> Iterator[Machine]:
    """One MI process for all."""
    with Machine("-q", "-i=mi3", cubin) as client:
        yield client


def flags(fault: Fault) -> list[str]:
    words = ["--kernel", fault.name, "--grid", "1", "--block", "64"]
    return words + ["--arg", "i32[64]"] * fault.pointer


def expected(fault: Fault, error: gpudbg.ErrorRecord) -> None:
    """Python's record, by which the other front ends are measured."""
    where = error.address
    if fault.pointer and where is not None:
        where &= 0xFF
    assert (error.name, error.space, error.access, where) == fault[2:6]
    assert (error.warp, error.lanes, error.block) == (fault.warp, fault.lanes, (0, 0, 0))
    assert error.thread == (32 * fault.warp + fault.lanes[0], 0, 0)
    signs = (error.detail, error.nearest)
    assert any(signs) or fault.address is None


def record(fault: Fault, cubin: str) -> dict[str, Any]:
    """The error as Python has it, in plain data."""
    found: list[dict[str, Any]] = []
    for engine in ("step", "run"):
        args = [np.zeros(64, np.int32)] * fault.pointer
        session = gpudbg.load(cubin, engine=engine).launch(fault.name, grid=1, block=64, args=args)
        error = session.run().errors[0]
        expected(fault, error)
        found.append(json.loads(json.dumps(error.to_json())))
    alike(found[0], found[1], fault)
    return found[0]


def alike(told: dict[str, Any], known: dict[str, Any], fault: Fault) -> None:
    """What a front end tells is what Python has; where buffers lie is each process's own."""
    for key in KEYS:
        left, right = told[key], known[key]
        if key == "address" and fault.pointer:
            left, right = left & 0xFFF, right & 0xFFF
        assert left == right, key


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name)
def test_a_fault_is_the_same_data_everywhere(
    fault: Fault, cubin: str, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    known = record(fault, cubin)

    assert main(["run", cubin, *flags(fault), "--json"]) == 3
    told = json.loads(capsys.readouterr().out)
    alike(told["stop"]["errors"][0], known, fault)

    machine.ok(f'-interpreter-exec console "set args {" ".join(flags(fault))}"')
    alike(_numbers(machine.go("-exec-run")["errors"][0]), known, fault)

    with Adapter() as client:
        stop = client.launch(program=cubin, flags=flags(fault))
        info = client.ask("exceptionInfo", threadId=stop["threadId"])
    assert stop["errors"] == info["details"]["errors"]
    alike(stop["errors"][0], known, fault)
    assert info["details"]["typeName"] == fault.error


def _numbers(told: dict[str, Any]) -> dict[str, Any]:
    """MI's constants as numbers; a key that is absent is None."""
    out: dict[str, Any] = {key: told.get(key) for key in KEYS}
    for key in ("sm", "warp", "address", "pc"):
        out[key] = None if out[key] is None else int(out[key], 0)
    for key in ("lanes", "block", "thread"):
        out[key] = [int(text) for text in out[key]]
    return out
