"""Named policies of hazard checks: when the model takes results to be there (sm_70 and later).

The numbers are those that `gpudbg.isa.volta.latency` checks with.
"""

from __future__ import annotations

from gpudbg.isa.volta.latency import SAFE, UNITS
from gpudbg.isa.volta.result_latency import cycles_between
from gpudbg.sm.policy_types import Policy

_FILES = {
    "R": "registers",
    "P": "predicates",
    "UR": "uniform registers",
    "UP": "uniform predicates",
}


def _cycles(latencies: dict[str, int]) -> str:
    return ", ".join(f"{_FILES[file]} {cycles}" for file, cycles in latencies.items())


def _units(variable: bool) -> str:
    return ", ".join(unit.name for unit in UNITS.values() if unit.variable is variable)


def _between(file: str, writer: str, *readers: str) -> str:
    """Cycles on sm_80."""
    return ", ".join(f"{reader} {cycles_between('80', file, writer, reader)}" for reader in readers)


HAZARD_POLICIES: tuple[Policy, ...] = (
    Policy(
        "hazard-stall-wide",
        "documented",
        "On sm_75 and later a reader of a result of fixed latency stands as many cycles behind as "
        "the grids of `isa/volta/tables/latency.tbl` say for the classes of both; sm_80 for "
        f"example: from integer logic to {_between('R', 'alu', 'alu', 'fma', 'double')}; from a "
        f"predicate to {_between('P', 'alu', 'alu', 'fma', 'guard')}; from the uniform datapath "
        f"to {_between('UR', 'uniform', 'uniform', 'vector', 'slow', 'bindless')}.",
        "NVIDIA's numbers for sm_75, sm_80 and sm_100 in Mesa's compiler (its latency tables). "
        "Code of ptxas keeps every one of them. sm_86 to sm_90 are taken to be as sm_80, sm_103 "
        "to sm_120 as sm_100, sm_70 as sm_75 (inferred).",
    ),
    Policy(
        "hazard-stall-scheduler",
        "inferred",
        "Code that the assembler schedules for sm_70 and later waits a cycle longer than the "
        f"slowest class of readers, at least: {_cycles(SAFE)}.",
        "Consumer chips want a cycle more than the numbers that are public (Mesa's compiler).",
    ),
    Policy(
        "hazard-tensor",
        "modelled",
        "What a tensor instruction adds to an earlier one's result is read "
        f"{cycles_between('80', 'R', 'tensor', 'tensor')} cycles after it on sm_80 at the "
        "earliest; the scheduler keeps twice the longest latency.",
        "Public numbers leave accumulating open; compiled code waits for 10 cycles or more.",
    ),
    Policy(
        "hazard-scoreboards",
        "inferred",
        "From sm_70 on, a form that takes no reuse marks has variable latency and needs a "
        f"scoreboard where its result is read. Units of variable latency: {_units(True)}; of "
        f"fixed latency: {_units(False)}.",
        "nvdisasm takes reuse marks in forms of fixed latency only; the compilers' barriers agree, "
        "but for doubles on sm_75 to sm_89 and tensor forms on sm_75, which set scoreboards. "
        "sm_70 takes them anywhere, so there the mnemonic decides.",
    ),
    Policy(
        "hazard-order",
        "inferred",
        "Instructions of one unit end in order, except loads, textures and moves from outside "
        "the register file; memory, shared memory, textures and surfaces read their operands in "
        "one order. The S2UR of sm_100 and later, B2R and asynchronous instructions are not "
        "checked for scoreboards.",
        "Compiled code gives each of the exceptions a barrier of its own, and those for sm_120 "
        "set none for S2UR and B2R in places.",
    ),
)
"""Rows of `gpudbg.sm.policy.POLICIES`."""
