"""Loads, stores, atomics, cache control and fences.

Address rules: a 64-bit base pair with `.E`, else 32 bits zero-extended; offsets are sign-extended
except with RZ, where decode gives them unsigned: absolute addresses (inferred).  Cache operators
do not change values in this coherent model.
"""

from __future__ import annotations

from typing import cast

from gpudbg.isa.operands import RZ, Reg
from gpudbg.sm.semantics.machine import Machine, Space, Value, Wide
from gpudbg.sm.semantics.operands import (
    ALL_ONES,
    Insn,
    check_aligned,
    registers,
    write_registers,
)
from gpudbg.sm.semantics.rows import register

SIZES: dict[str, tuple[int, bool]] = {
    "U8": (1, False),
    "S8": (1, True),
    "U16": (2, False),
    "S16": (2, True),
    "32": (4, False),
    "64": (8, False),
    "128": (16, False),
}
"""Access size modifier -> (bytes, sign-extended)."""

_SPACES: dict[str, Space] = {
    "LD": "generic",
    "ST": "generic",
    "LDG": "global",
    "STG": "global",
    "LDL": "local",
    "STL": "local",
    "LDS": "shared",
    "STS": "shared",
    "ATOM": "global",
    "RED": "global",
    "ATOMS": "shared",
}

_TYPES = {
    "U32": "U32",
    "S32": "S32",
    "U64": "U64",
    "S64": "S64",
    "F32.FTZ.RN": "F32",
    "F16x2.RN": "F16x2",
    "F64.RN": "F64",
}
"""Atomic size modifier -> operand type."""

_BITWISE = frozenset(("U32", "S32", "U64", "S64"))
_ATOMICS: dict[str, frozenset[str]] = {
    "ADD": frozenset(("U32", "S32", "U64", "F32", "F16x2", "F64")),
    "MIN": frozenset(("U32", "S32", "U64", "S64", "F16x2")),
    "MAX": frozenset(("U32", "S32", "U64", "S64", "F16x2")),
    "INC": frozenset(("U32",)),
    "DEC": frozenset(("U32",)),
    "AND": _BITWISE,
    "OR": _BITWISE,
    "XOR": _BITWISE,
    "EXCH": _BITWISE,
    "CAS": _BITWISE,
}
"""Operation -> types the hardware has (inferred from what compilers and translators accept)."""


def check_data(m: Machine, operand: Reg, size: int) -> None:
    """64- and 128-bit data must start at an aligned register."""
    if size > 4:
        check_aligned(m, operand, size // 4)


def address_of(m: Machine, i: Insn) -> Value | Wide:
    """The effective address: a Wide for global and generic space, a Value otherwise."""
    place = i.o["addr"]
    narrow = _SPACES[i.op] in ("local", "shared")
    if place.base.index == RZ:
        offset: int = place.offset
        return offset
    if place.wide and not narrow:
        base = m.reg_pair(place.base.index)
        return m.wadd(base, place.offset & 0xFFFFFFFFFFFFFFFF) if place.offset else base
    low = m.reg(place.base.index)
    if place.offset:
        low = m.add(low, place.offset & ALL_ONES)
    return low if narrow else m.zext(low)


@register("LD", "LDG", "LDL", "LDS")
def load(m: Machine, i: Insn) -> None:
    """Load 1 to 16 bytes; 8 and 16 bits are extended by type."""
    size, signed = SIZES[i.m["size"]]
    check_data(m, i.o["d"], size)
    values = m.load(_SPACES[i.op], address_of(m, i), size, signed)
    write_registers(m, i.o["d"], values)


@register("ST", "STG", "STL", "STS")
def store(m: Machine, i: Insn) -> None:
    """Store 1 to 16 bytes."""
    size, _ = SIZES[i.m["size"]]
    values = registers(m, i.o["b"], max(1, size // 4))
    m.store(_SPACES[i.op], address_of(m, i), size, values)


def _operand(m: Machine, operand: Reg, wide: bool, place: int = 0) -> Value | Wide:
    """The atomic's data: the register or pair `place` operands after the named one."""
    if operand.index == RZ:
        return 0
    return m.reg_pair(operand.index + 2 * place) if wide else m.reg(operand.index + place)


@register("ATOM", "ATOMS", "RED")
def atomic(m: Machine, i: Insn) -> None:
    """Read-modify-write; ATOM and ATOMS return the old value (documented: atom, red).

    CAS takes the compare value from Rb and the new one from the register (pair) after it.
    """
    op, size = i.m["op"], i.m["size"]
    if op in ("SAFEADD", "CAST", "CASTSPIN") or size == "U128":
        m.gap(f"{i.op}.{op}.{size}")
    type_ = _TYPES.get(size, "")
    if type_ not in _ATOMICS.get(op, ()):
        m.warp_error("ILLEGAL_INSTR_PARAM", detail=f"{i.op}.{op}.{size}")
    wide = type_ in ("U64", "S64", "F64")
    data: Reg = i.o["b"]
    operands = [_operand(m, data, wide)]
    if op == "CAS":
        check_aligned(m, data, 4 if wide else 2)
        operands.append(_operand(m, data, wide, 1))
    if i.op != "RED" and wide:
        check_aligned(m, i.o["d"], 2)
    old = m.atomic(_SPACES[i.op], op, type_, address_of(m, i), operands)
    if i.op == "RED":
        return
    if wide:
        m.reg_pair_write(i.o["d"].index, cast("Wide", old))
    else:
        m.reg_write(i.o["d"].index, cast("Value", old))


@register("CCTL", "CCTLL", "DEPBAR")
def no_effect(m: Machine, i: Insn) -> None:
    """Prefetch, cache control, scoreboard waits: nothing in a coherent model."""


@register("MEMBAR")
def membar(m: Machine, i: Insn) -> None:
    """A fence."""
    m.fence(i.m["level"] == "CTA")


@register("CCTLT", stops="meaning unknown")
def cctlt(m: Machine, i: Insn) -> None:
    """Texture header cache control by handle: unknown."""
    m.gap("CCTLT")
