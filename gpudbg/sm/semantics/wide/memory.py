"""Loads, stores, atomics, asynchronous copies to shared memory, fences."""

from __future__ import annotations

from typing import cast

from gpudbg.isa.operands import BANK_OFFSETS, PT, RZ, Address, CBankAddress, Const, Imm, Reg
from gpudbg.sm.semantics.machine import Mask, Space, Value, Wide, WideMachine
from gpudbg.sm.semantics.operands import ALL_ONES, check_aligned
from gpudbg.sm.semantics.rows import register_wide
from gpudbg.sm.semantics.wide.operands import (
    WideInsn,
    chosen,
    predicate,
    raw,
    read_registers,
    write,
    write_pair,
    write_predicate,
    write_registers,
)

SIZES: dict[str, tuple[int, bool]] = {
    "U8": (1, False), "S8": (1, True), "U16": (2, False), "S16": (2, True), "64": (8, False),
    "128": (16, False),
}  # fmt: skip
"""Access size -> (bytes, sign-extended); 32 bits where none is named."""
SPACES: dict[str, Space] = {
    "LD": "generic", "ST": "generic", "LDG": "global", "STG": "global", "LDL": "local",
    "STL": "local", "LDS": "shared", "STS": "shared", "ATOM": "generic", "ATOMG": "global",
    "ATOMS": "shared", "RED": "generic", "REDG": "global",
}  # fmt: skip
OPERATIONS = (
    "ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR", "EXCH", "CAS", "CAST", "ARRIVE",
)  # fmt: skip
_SCALES = {"X4": 2, "X8": 3, "X16": 4}
ALL_64 = 0xFFFF_FFFF_FFFF_FFFF


def size_of(i: WideInsn) -> tuple[int, bool]:
    """(bytes, sign-extended) of an access."""
    return SIZES[name] if (name := chosen(i, tuple(SIZES))) else (4, False)


def wide_address(m: WideMachine, i: WideInsn, place: Address) -> Wide:
    """An address in global or generic memory; a descriptor adds nothing to it."""
    base = place.base
    if base.index == RZ:
        address: Wide = 0
    elif base.part == "64" or ("E" in i.m and base.part != "U32"):
        address = m.reg_pair(base.index)
    else:
        address = m.zext(m.reg(base.index))
    if place.index is not None and place.index.index != RZ:
        address = m.wadd(address, m.ureg_pair(place.index.index))
    return m.wadd(address, place.offset & ALL_64) if place.offset else address


def narrow_address(m: WideMachine, i: WideInsn, place: Address) -> Value:
    """An address in shared or local memory."""
    address: Value = 0 if place.base.index == RZ else m.reg(place.base.index)
    if place.base.part in _SCALES:
        address = m.shl(address, _SCALES[place.base.part])
    if place.index is not None:
        address = m.add(address, m.ureg(place.index.index))
    return m.add(address, place.offset & ALL_ONES) if place.offset else address


def address_of(m: WideMachine, i: WideInsn, slot: str = "addr") -> Wide | Value:
    """Where an access goes."""
    space, place = SPACES[i.op], i.o[slot]
    return (
        narrow_address(m, i, place) if space in ("shared", "local") else wide_address(m, i, place)
    )


def _check(m: WideMachine, operand: object, size: int) -> None:
    if size > 4 and isinstance(operand, Reg) and operand.file == "R":
        check_aligned(m, operand, size // 4)


@register_wide("LD", "LDG", "LDL", "LDS")
def load(m: WideMachine, i: WideInsn) -> None:
    """Load 1 to 32 bytes; 8 and 16 bits are extended by type."""
    if "256" in i.m:
        _load_256(m, i)
        return
    size, signed = size_of(i)
    _check(m, i.o["d"], size)
    values = _where_held(m, i, SPACES[i.op], address_of(m, i), size, signed)
    write_registers(m, i.o["d"], values)
    write_predicate(m, i, "p", m.true())


def _load_256(m: WideMachine, i: WideInsn) -> None:
    """32 bytes to two groups of registers: the first 16 to those named second; a mask says which of
    the eight words are kept, in registers without gaps (*inferred* from compiled code)."""
    address, mask, space = wide_address(m, i, i.o["addr"]), i.o["imm"].value, SPACES[i.op]
    loaded = _where_held(m, i, space, address, 32, False)
    halves = (loaded[:4], loaded[4:])
    for n, (slot, words) in enumerate(zip(("d", "d2"), halves, strict=True)):
        kept = [word for k, word in enumerate(words) if mask >> (4 * n + k) & 1]
        if kept:
            write_registers(m, i.o[slot], kept)
    write_predicate(m, i, "p", m.true())


def _where_held(
    m: WideMachine, i: WideInsn, space: Space, address: Wide | Value, size: int, signed: bool
) -> list[Value]:
    """A load of the lanes in which the instruction's predicate holds; 0 in the others."""
    held = i.o.get("pa")
    if held is None or held.is_true:
        return list(m.load(space, address, size, signed))
    there = predicate(m, held)
    with m.only(there):
        values = m.load(space, address, size, signed)
    return [m.select(there, v, 0) for v in values]


@register_wide("ST", "STG", "STL", "STS")
def store(m: WideMachine, i: WideInsn) -> None:
    """Store 1 to 32 bytes."""
    if "256" in i.m:
        address = wide_address(m, i, i.o["addr"])
        if i.o["imm"].value != 0xFF:
            m.gap(f"{i.op}.256 of some words")
        words = [*read_registers(m, i.o["a"], 4), *read_registers(m, i.o["b"], 4)]
        m.store(SPACES[i.op], address, 32, words)
        return
    size, _ = size_of(i)
    data = i.o["a"]
    _check(m, data, size)
    m.store(SPACES[i.op], address_of(m, i), size, read_registers(m, data, max(1, size // 4)))


def _offset(m: WideMachine, place: Const | CBankAddress) -> Value:
    """Where in a bank: the highest of an offset's 16 bits is printed as a sign, and is one only if
    the sum with a register is not below 0."""
    if isinstance(place, Const) and place.handle is not None:
        return place.offset & ALL_ONES
    base = place.base if isinstance(place, CBankAddress) else None
    if base is None or base.index == RZ:
        return place.offset & BANK_OFFSETS
    total = m.add(raw(m, base), place.offset & ALL_ONES)
    if place.offset >= 0:
        return total
    return m.select(m.ult(total, ALL_ONES - BANK_OFFSETS // 2), total, m.and_(total, BANK_OFFSETS))


@register_wide("LDC", "ULDC", "LDCU")
def ldc(m: WideMachine, i: WideInsn) -> None:
    """A constant."""
    size, signed = size_of(i)
    place = i.o.get("cbank") or i.o.get("a")
    if not isinstance(place, Const | CBankAddress):
        m.gap(f"{i.op} of an address without a bank")
    offset = _offset(m, place)
    if isinstance(place, Const) and place.handle is not None:
        values = m.bindless_load(m.ureg_pair(place.handle.index), offset, size, signed)
    else:
        values = m.const_load(place.bank, offset, size, signed)
    write_registers(m, i.o["d"], values)


# ---- atomics -----------------------------------------------------------------------------
_VECTORS = {
    "F32x2": ("F32", 2), "F32x4": ("F32", 4), "F16x4": ("F16x2", 2), "F16x8": ("F16x2", 4),
    "BF16x4": ("BF16x2", 2), "BF16x8": ("BF16x2", 4),
}  # fmt: skip
"""Vector type -> type of each 32-bit word, words."""
_SHARED_OPERATIONS = frozenset(
    {(op, type_) for op in OPERATIONS[:9] for type_ in ("U32", "S32")}
    | {(op, type_) for op in ("EXCH", "CAS") for type_ in ("U32", "U64")}
)
"""What atomics do on shared memory; code does anything else there with a compare-and-swap loop."""


def _type(i: WideInsn) -> str:
    for name in ("F64", "S64", "F32", "S32", "F16x2", "BF16x2"):
        if name in i.m:
            return "F32_DENORMAL" if name == "F32" and "FTZ" not in i.m else name
    return "U64" if "64" in i.m else "U32"


def _data(m: WideMachine, operand: Reg | Const | Imm, wide: bool) -> Value | Wide:
    if wide and isinstance(operand, Reg):
        return m.reg_pair(operand.index)
    return raw(m, operand)


def _operation(m: WideMachine, i: WideInsn) -> str:
    """What an atomic does: a name of `Machine.atomic`, or CAST."""
    if "POPC" in i.m:
        return "ADD"
    op = chosen(i, OPERATIONS)
    if not op and i.op == "ATOMS" and "d" not in i.o:
        return "CAST"
    if not op or (op == "ARRIVE" and "64" not in i.m):
        m.gap(f"{i.op}.{'.'.join(i.m)}")
    return op


def _done(m: WideMachine, i: WideInsn, op: str, type_: str, address: Wide | Value) -> Mask:
    """The lanes in which an atomic can do its work.

    With a result predicate a generic atomic says where it cannot: on local memory, and on shared
    memory where that lacks the operation; the code that follows does it then (*inferred* from
    ptxas' output).
    """
    place = i.o.get("p")
    if i.op != "ATOM" or place is None or place.index == PT:
        return m.true()
    generic = cast("Wide", address)
    inside = m.in_window(generic)
    if (op, type_) in _SHARED_OPERATIONS:
        inside = m.mand(inside, m.mnot(m.in_shared(generic)))
    return m.mnot(inside)


@register_wide("ATOM", "ATOMG", "ATOMS", "RED", "REDG")
def atomic(m: WideMachine, i: WideInsn) -> None:
    """Read-modify-write; the old value is the result.  `.CAST`: 1 where it stored, else 0."""
    op, type_ = _operation(m, i), _type(i)
    address = address_of(m, i)
    kind = "CAS" if op == "CAST" else op
    vector = chosen(i, ("128", *_VECTORS))
    done = _done(m, i, kind, vector or type_, address)
    if vector:
        _vector(m, i, op, vector, address, done)
        return
    wide = type_ in ("U64", "S64", "F64")
    operands: list[Value | Wide] = [_data(m, i.o["a"], wide) if "a" in i.o else 1]
    if kind == "CAS":
        operands.append(_data(m, i.o["b"], wide))
    if type_ in ("S32", "S64") and kind not in ("MIN", "MAX"):
        type_ = "U" + type_[1:]
    with m.only(done):
        old = m.atomic(SPACES[i.op], kind, type_, address, operands)
    if op == "CAST":
        compare = operands[0]
        if wide:
            done = m.weq(cast("Wide", old), cast("Wide", compare))
        else:
            done = m.eq(cast("Value", old), cast("Value", compare))
        stored = m.from_mask(done)
        old = m.zext(stored) if wide else stored
    if "d" in i.o:
        if wide:
            write_pair(m, i, cast("Wide", old))
        else:
            write(m, i, cast("Value", old))
    write_predicate(m, i, "p", done)


def _vector(
    m: WideMachine, i: WideInsn, op: str, name: str, address: Wide | Value, done: Mask
) -> None:
    """Elements beside one another, each atomic on its own; 128 bits are one."""
    type_, count = _VECTORS.get(name, ("U32", 4))
    if type_ == "F32" and "FTZ" not in i.m:
        type_ = "F32_DENORMAL"
    swaps = op in ("CAS", "CAST")
    words, compare = read_registers(m, i.o["a"], count), list[Value]()
    if swaps:
        compare, words = words, read_registers(m, i.o["b"], count)
    with m.only(done):
        kind = "CAS" if swaps else op
        old = m.vector_atomic(SPACES[i.op], kind, type_, address, words, compare)
    if op == "CAST":
        for before, wanted in zip(old, compare, strict=True):
            done = m.mand(done, m.eq(before, wanted))
        old = [m.from_mask(done), 0, 0, 0]
    if "d" in i.o:
        write_registers(m, i.o["d"], old)
    write_predicate(m, i, "p", done)


@register_wide("QSPC")
def qspc(m: WideMachine, i: WideInsn) -> None:
    """P: a generic address lies in global or local memory, in shared memory of the CTA or (`.D`)
    of the cluster."""
    address = wide_address(m, i, i.o["addr"])
    inside, shared = m.in_window(address), m.in_shared(address)
    test = {
        "G": m.mnot(inside), "L": m.mand(inside, m.mnot(shared)), "D": shared,
        "S": m.in_own_shared(address),
    }  # fmt: skip
    write(m, i, 0)
    name = chosen(i, tuple(test))
    if not name:
        m.gap(f"QSPC.{'.'.join(i.m)}")
    write_predicate(m, i, "p", test[name])


# ---- asynchronous copies -----------------------------------------------------------------
@register_wide("LDGSTS")
def ldgsts(m: WideMachine, i: WideInsn) -> None:
    """Global memory to shared, at once (*modelled*: groups are complete when they are waited for).

    Where the predicate does not hold zeros are stored.
    """
    size = 16 if "128" in i.m else 8 if "64" in i.m else 4
    if "ZFILL" in i.m:
        _fill(m, i, size)
        return
    target = narrow_address(m, i, i.o["addr"])
    values = _where_held(m, i, "global", wide_address(m, i, i.o["addr2"]), size, False)
    m.store("shared", target, size, values)


def _fill(m: WideMachine, i: WideInsn, size: int) -> None:
    """A copy of fewer bytes, the rest zeros: how many are missing stands in the low bits of the
    address (*inferred* from compiled code)."""
    address = wide_address(m, i, i.o["addr2"])
    missing = m.and_(m.lo(address), size - 1)
    base, count = m.wsub(address, m.zext(missing)), m.sub(size, missing)
    there = predicate(m, i.o.get("pa"))
    words, rest = [], m.and_(count, 3)
    for n in range(size // 4):
        whole = m.mand(there, m.mnot(m.ult(count, 4 * n + 4)))
        with m.only(whole):
            word = m.load("global", m.wadd(base, 4 * n), 4, False)[0]
        words.append(m.select(whole, word, 0))
    last = m.wadd(base, m.zext(m.sub(count, rest)))
    part: Value = 0
    for n in range(3):
        wanted = m.mand(there, m.ult(n, rest))
        with m.only(wanted):
            byte = m.load("global", m.wadd(last, n), 1, False)[0]
        part = m.or_(part, m.select(wanted, m.shl(byte, 8 * n), 0))
    index = m.shr(count, 2)
    words = [m.or_(w, m.select(m.eq(index, n), part, 0)) for n, w in enumerate(words)]
    m.store("shared", narrow_address(m, i, i.o["addr"]), size, words)


@register_wide(
    "CCTL", "CCTLL", "CCTLT", "DEPBAR", "LDGDEPBAR", "ERRBAR", "CGAERRBAR", "FENCE", "UFENCE",
    "PMTRIG", "ACQBULK", "PREEXIT", "ENDCOLLECTIVE", "NOP",
)  # fmt: skip
def no_effect(m: WideMachine, i: WideInsn) -> None:
    """Caches, scoreboards, launches that follow: nothing in a coherent model of one launch."""


@register_wide("MEMBAR")
def membar(m: WideMachine, i: WideInsn) -> None:
    """A fence."""
    m.fence("CTA" in i.m)
