"""Cycles from an instruction of fixed latency to a reader of its result, by classes of both.

`tables/latency.tbl` holds grids: a line `FILE ARCHS CLASS...` names the readers' classes, each line
below it a writer's class and the cycles.  The numbers are those that NVIDIA gave the authors of
Mesa's compiler for sm_75, sm_80 and sm_100 (documented); sm_70 reads as sm_75, sm_86 to sm_90 as
sm_80, sm_103 to sm_120 as sm_100 (inferred).  Where compiled code stands nearer, the smaller
number is here (inferred): tensor results that a tensor instruction adds to.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from ..operands import Const, Reg
from .insn import WideInstruction
from .rows import parse_archs, table_lines

_FILES = {
    "R": "registers", "P": "predicates", "UR": "uniforms", "UP": "uniform_predicates"
}  # fmt: skip
_CLASSES = {
    "fma": "IMAD IMUL FFMA FADD FMUL FSWZADD IDP FADD2 FMUL2 FFMA2 VIADD",
    "half": "HFMA2 HADD2 HMUL2 HSET2 HSETP2 HMNMX2 VHMNMX",
    "double": "DADD DMUL DFMA DSETP CLMAD",
    "tensor": "HMMA DMMA QMMA OMMA",
    "integer": "IMMA BMMA",
    "dispatch": "LEPC NOP PMTRIG",
    "vote": "VOTE",
    "move": "UMOV VOTEU",
    "load": "ULDC LDCU",
}
_CLASS_OF = {op: name for name, ops in _CLASSES.items() for op in ops.split()}
_VECTOR = ("fma", "half", "double", "tensor", "integer", "dispatch", "vote")


def file_of(resource: str) -> str:
    """ "R", "P", "UR" or "UP" of a resource's name."""
    return resource.rstrip("0123456789")


@cache
def _grid(tables: str, file: str) -> dict[str, dict[str, int]]:
    out: dict[str, dict[str, int]] = {}
    readers: list[str] = []
    wanted = False
    for line in table_lines("latency"):
        head, *words = line.split()
        if head in _FILES.values():
            wanted = head == _FILES[file] and tables in parse_archs(words[0])
            readers = words[1:]
        elif wanted:
            out[head] = dict(zip(readers, map(int, words), strict=True))
    return out


def cycles_between(tables: str, file: str, writer: str, reader: str) -> int:
    """Cycles between two classes: `file` is "R", "P", "UR" or "UP"."""
    return _grid(tables, file)[writer][reader]


def _class(insn: WideInstruction) -> str:
    """The class of a vector instruction, as a writer and mostly as a reader."""
    name = _CLASS_OF.get(insn.op, "alu")
    if insn.op == "IMAD" and ("WIDE" in insn.m or "HI" in insn.m):
        return "wide"
    if insn.op == "CS2R" and "32" not in insn.m:
        return "dispatch"
    if name == "half" and "MMA" in insn.m:
        return "double"
    if name == "half" and "F32" in insn.m:
        return "half32"
    return name


def result_cycles(insn: WideInstruction, resource: str) -> Mapping[str, int]:
    """Cycles to each class of readers of a result, by the name of a resource it writes."""
    file = file_of(resource)
    grid = _grid(insn.tables, file)
    name = _class(insn)
    if name == "wide" and "WIDE" in insn.m and file == "R" and _is_first(insn, resource):
        name = "lower"
    if insn.op == "VOTEU" and file == "UP":
        name = "vote"
    fallback = "uniform" if file in ("UR", "UP") else "alu"
    return grid.get(name) or grid.get(name.removesuffix("32")) or grid.get(fallback, {})


def _is_first(insn: WideInstruction, resource: str) -> bool:
    d = insn.o.get("d")
    return isinstance(d, Reg) and resource == f"R{d.index}"


def reader_class(insn: WideInstruction, resource: str, unit: str, guard: bool) -> str:
    """The class of an instruction as a reader of a resource.

    Args:
        unit: "flow", "memory", "slow" for other forms of variable latency, "" for fixed latency.
        guard: the resource is its guard.
    """
    file = file_of(resource)
    if file in ("UR", "UP"):
        return _uniform_reader(insn, resource, unit, guard)
    if file == "P":
        if guard:
            return "guard"
        return "slow" if unit else _class(insn).removesuffix("32")
    if unit:
        return "memory" if unit == "memory" else "slow"
    name = _class(insn)
    if name == "wide":
        return _wide_reader(insn, resource)
    return name if name in _VECTOR or name == "half32" else "alu"


def _wide_reader(insn: WideInstruction, resource: str) -> str:
    """Which part of the sum of IMAD.WIDE a register is: the least demanding of its uses."""
    c = insn.o.get("c")
    held = c.registers() if isinstance(c, Reg) else ()
    number = int(resource[1:])
    if number in held[1:]:
        return "upper"
    return "fma" if number in held[:1] else "factor"


def _uniform_reader(insn: WideInstruction, resource: str, unit: str, guard: bool) -> str:
    name = _CLASS_OF.get(insn.op, "")
    if unit == "flow":
        return "branch"
    if guard:
        return "guard"
    if name in ("move", "load"):
        return name
    if insn.uniform_guard:
        return "uniform"
    if file_of(resource) == "UP":
        return "load" if name in ("tensor", "integer") else "vector"
    handles = [o.handle for o in insn.o.values() if isinstance(o, Const) and o.handle]
    if any(resource in (f"UR{h.index}", f"UR{h.index + 1}") for h in handles):
        return "bindless"
    return "slow" if unit else "vector"
