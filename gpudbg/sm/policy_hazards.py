"""Named policies of hazard checks: when the model takes results to be there (sm_70 and later).

The numbers are those that `gpudbg.isa.volta.latency` checks with.
"""

from __future__ import annotations

from gpudbg.isa.volta.latency import LATENCIES, SAFE, TENSOR_EXTRA, TESTED, UNITS
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


HAZARD_POLICIES: tuple[Policy, ...] = (
    Policy(
        "hazard-stall-wide",
        "inferred",
        "From sm_70 on, a reader of a result of fixed latency stands at least so many cycles "
        f"behind: {_cycles(LATENCIES)}; where a guard or a flow instruction tests it: "
        f"{_cycles(TESTED)}. Multiplies and adds (IMAD, FFMA and their kin) read a cycle later.",
        "The smallest distances in code that ptxas made for sm_70 to sm_120, so lower bounds: no "
        "false alarm on such code, and a count one or two cycles short may pass.",
    ),
    Policy(
        "hazard-stall-scheduler",
        "inferred",
        f"Code that the assembler schedules for sm_70 and later waits longer: {_cycles(SAFE)}.",
        "The upper ends of public measurements (Jia et al., NAK).",
    ),
    Policy(
        "hazard-tensor",
        "modelled",
        f"Results of tensor instructions of fixed latency are there {TENSOR_EXTRA} cycles after "
        "those of others.",
        "Compiled code waits for 14 cycles or more; how few would do is not public.",
    ),
    Policy(
        "hazard-scoreboards",
        "inferred",
        "From sm_70 on, a form that takes no reuse marks has variable latency and needs a "
        f"scoreboard where its result is read. Units of variable latency: {_units(True)}; of "
        f"fixed latency: {_units(False)}.",
        "nvdisasm takes reuse marks in forms of fixed latency only; the compilers' barriers agree. "
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
