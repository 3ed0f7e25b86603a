"""mbarriers (SYNCS, ARRIVES), bulk and tensor copies, clusters, remote stores."""

from __future__ import annotations

from typing import cast

from gpudbg.architectures import age
from gpudbg.isa.operands import Address
from gpudbg.sm.semantics.machine import Value, Wide, WideMachine
from gpudbg.sm.semantics.rows import register_wide
from gpudbg.sm.semantics.wide.memory import narrow_address, wide_address
from gpudbg.sm.semantics.wide.operands import (
    WideInsn,
    chosen,
    raw,
    raw_pair,
    read_registers,
    write_pair,
    write_predicate,
    write_registers,
)


# ---- mbarriers ---------------------------------------------------------------------------
@register_wide("SYNCS")
def syncs(m: WideMachine, i: WideInsn) -> None:
    """An operation on an mbarrier, by its first modifier."""
    for name, function in _SYNCS.items():
        if name in i.m:
            function(m, i)
            return
    m.gap(f"SYNCS.{'.'.join(i.m)}")


def _exchange(m: WideMachine, i: WideInsn) -> None:
    """EXCH: an mbarrier begins; once for the group, its operands are uniform."""
    with m.only(m.eq(m.lane_id(), _first(m))):
        old = m.mbarrier_begin(narrow_address(m, i, i.o["addr"]), raw_pair(m, i.o["a"]))
    write_pair(m, i, _leaders(m, old))


def _compare(m: WideMachine, i: WideInsn) -> None:
    """CAS of 64 bits; compare and swap stand in four registers."""
    first = i.o["a"].index
    operands = [m.ureg_pair(first), m.ureg_pair(first + 2)]
    with m.only(m.eq(m.lane_id(), _first(m))):
        found = m.atomic("shared", "CAS", "U64", narrow_address(m, i, i.o["addr"]), operands)
    write_pair(m, i, _leaders(m, cast("Wide", found)))


def _leaders(m: WideMachine, value: Wide) -> Wide:
    """The lowest executing lane's value in all lanes."""
    return m.wide(m.lane_read(m.lo(value), _first(m)), m.lane_read(m.hi(value), _first(m)))


def _first(m: WideMachine) -> Value:
    """The lowest executing lane."""
    here = m.ballot(m.lanes())
    return m.sub(31, m.clz(m.and_(here, m.sub(0, here))))


def _load(m: WideMachine, i: WideInsn) -> None:
    """LD: the word."""
    write_registers(m, i.o["d"], m.load("shared", narrow_address(m, i, i.o["addr"]), 8, False))


def _control(m: WideMachine, i: WideInsn) -> None:
    """CCTL: `.IV` ends an mbarrier; the others write caches back."""
    if "IV" in i.m:
        m.mbarrier_end(narrow_address(m, i, i.o["addr"]))


def _phase(m: WideMachine, i: WideInsn) -> None:
    """PHASECHK: whether the phase of a state (or parity) in bit 31 of a register is over."""
    address = narrow_address(m, i, i.o["addr"])
    passed = m.mbarrier_passed(address, raw(m, i.o["a"]))
    m.poll(passed, lambda found: write_predicate(m, i, "p", found))


_COUNTED = {
    # Suffix: arrivals, transactions; "R" is the register, "-R" minus it.
    "A1T0": ("1", "0"), "A0T1": ("0", "1"), "A0TR": ("0", "R"), "A0TX": ("0", "-R"),
    "ART0": ("R", "0"), "": ("1", "R"),
}  # fmt: skip


def _arrive(m: WideMachine, i: WideInsn) -> None:
    """ARRIVE: arrivals and transactions by the suffix; `.RED` acts on any CTA of the cluster."""
    suffix = chosen(i, tuple(filter(None, _COUNTED)))
    if any(name.startswith(("???", "INVALID")) for name in i.m):
        m.gap(f"SYNCS.{'.'.join(i.m)}")
    value = raw(m, i.o["a"])
    table = {"0": 0, "1": 1, "R": value, "-R": m.sub(0, value)}
    arrivals, transactions = (table[word] for word in _COUNTED[suffix])
    low, high = m.mbarrier_arrive(
        narrow_address(m, i, i.o["addr"]),
        arrivals,
        transactions,
        drops="OPTOUT" in i.m,
        remote="RED" in i.m,
        together="TMASK" in i.m,
    )
    write_registers(m, i.o["d"], [low, high])


_SYNCS = {
    "EXCH": _exchange, "CAS": _compare, "LD": _load, "CCTL": _control, "PHASECHK": _phase,
    "ARRIVE": _arrive,
}  # fmt: skip


@register_wide("ARRIVES")
def arrives(m: WideMachine, i: WideInsn) -> None:
    """Arrive when the lane's earlier copies to shared memory are done, which they are."""
    address = narrow_address(m, i, i.o["addr"])
    if age(i.arch)[0] < 90:
        m.atomic("shared", "ARRIVE", "U64", address, [0])
    elif "TRANSCNT" in i.m:
        m.mbarrier_arrive(address, 0, -1)
    else:
        m.mbarrier_arrive(address, 1, 0)


# ---- bulk copies -------------------------------------------------------------------------
_TYPES = {"S32": "S32", "U64": "U64", "S64": "S64", "F16": "F16x2", "BF16": "BF16x2", "F64": "F64"}
_OPERATIONS = ("ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR")


def _ureg(place: Address) -> int:
    """The uniform register in brackets."""
    assert place.index is not None
    return place.index.index


_ROUTES = {"GS": ("G", "S"), "SG": ("S", "G"), "SS": ("S", "S")}
"""Where a bulk copy goes to and comes from, as it is printed."""


def _bulk(m: WideMachine, i: WideInsn, reduce: tuple[str, str] | None) -> None:
    route = _ROUTES.get("".join(name for name in i.m if name in ("G", "S")))
    masked = "DST_G_BYTE_MASK" in i.m
    if route is None or (masked and route[0] != "G"):
        m.gap(f"{i.op}.{'.'.join(i.m)}")
    to, source = _ureg(i.o["addr"]), _ureg(i.o["addr2"])
    target: Wide = m.ureg_pair(to) if route[0] == "G" else m.zext(m.ureg(to))
    barrier: Value = 0 if route[0] == "G" else m.ureg(to + 1)
    origin: Wide = m.ureg_pair(source) if route[1] == "G" else m.zext(m.ureg(source))
    many = "MULTICAST" in i.m
    m.bulk_copy(route, target, barrier, origin, raw(m, i.o["a"]), many, reduce, masked)


@register_wide("UBLKCP")
def bulk_copy(m: WideMachine, i: WideInsn) -> None:
    """Bytes from global to shared memory, back, or to another CTA of the cluster."""
    _bulk(m, i, None)


@register_wide("UBLKRED")
def bulk_reduce(m: WideMachine, i: WideInsn) -> None:
    """The same, combining elements."""
    type_ = _TYPES.get(chosen(i, tuple(_TYPES)), "U32")
    if "F32" in i.m:
        type_ = "F32" if "FTZ" in i.m else "F32_DENORMAL"
    _bulk(m, i, (chosen(i, _OPERATIONS), type_))


@register_wide(
    "UBLKPF", "UTMAPF", "UTMACCTL", "UTMACMDFLUSH", "WARPGROUP", "ACQSHMINIT", "USETSHMSZ",
    "UVIRTCOUNT",
)  # fmt: skip
def no_effect(m: WideMachine, i: WideInsn) -> None:
    """Prefetches, caches of tensor maps, groups of copies and of products, which are complete;
    sizes of shared memory, which is as large as the launch says."""


@register_wide("UMEMSETS")
def fill(m: WideMachine, i: WideInsn) -> None:
    """Zeros in shared memory, some times eight bytes."""
    place = i.o["addr"]
    address = m.add(m.ureg(_ureg(place)), place.offset & 0xFFFF_FFFF)
    if i.o["name"].text != "URZ":
        m.gap(f"UMEMSETS of {i.o['name'].text}")
    m.shared_zeros(address, m.shl(raw(m, i.o["a"]), 3))


@register_wide("UGETNEXTWORKID")
def next_work(m: WideMachine, i: WideInsn) -> None:
    """Ask for the work of a block that has not begun: there is never any (*modelled*: policy
    `work-stealing`)."""
    m.refuse_work(m.ureg(_ureg(i.o["addr"])), m.ureg(_ureg(i.o["addr2"])))


# ---- copies of tensors -------------------------------------------------------------------
ROWS = 4
"""Rows of `.GATHER4` and `.SCATTER4`."""
_SHIFTS = {3: (16,), 4: (8, 8), 5: (5, 5, 5)}
"""Dimensions -> bits of each im2col offset."""


def _dimensions(m: WideMachine, i: WideInsn) -> int:
    name = chosen(i, ("1D", "2D", "3D", "4D", "5D"))
    odd = {"W", "W128", "2CTA"} & set(i.m)
    if not name or odd or any("INVALID" in n for n in i.m):
        m.gap(f"{i.op}.{'.'.join(i.m)}")
    return int(name[0])


@register_wide("UTMALDG")
def tensor_load(m: WideMachine, i: WideInsn) -> None:
    """A box of a tensor to shared memory of one or several CTAs; `.GATHER4`: parts of four rows."""
    count, to = _dimensions(m, i), _ureg(i.o["addr"])
    more = raw(m, i.o["a"]) if "a" in i.o else 0
    shift = _shift(m, count, more) if "IM2COL" in i.m else None
    corner = _corner(m, i, to + 2, count)
    place = m.ureg_pair(_ureg(i.o["addr2"]))
    mask = more if "MULTICAST" in i.m else None
    m.tensor_load(place, m.ureg(to), m.ureg(to + 1), corner, shift, mask, "GATHER4" in i.m)


def _corner(m: WideMachine, i: WideInsn, first: int, count: int) -> list[Value]:
    """Coordinates; of `.GATHER4` and `.SCATTER4` a column and four rows (documented)."""
    if {"GATHER4", "SCATTER4"} & set(i.m):
        if count != 2:
            m.gap(f"{i.op}.{'.'.join(i.m)}")
        count = 1 + ROWS
    return [m.ureg(first + n) for n in range(count)]


def _shift(m: WideMachine, dimensions: int, packed: Value) -> list[Value]:
    """The offsets of an im2col copy."""
    out, at = [], 0
    for bits in _SHIFTS.get(dimensions, ()):
        out.append(m.and_(m.shr(packed, at), (1 << bits) - 1))
        at += bits
    return out


@register_wide("UTMASTG", "UTMAREDG")
def tensor_store(m: WideMachine, i: WideInsn) -> None:
    """A box of a tensor from shared memory, stored or combined with what is there."""
    count, source = _dimensions(m, i), _ureg(i.o["addr"])
    corner = _corner(m, i, source + 1, count)
    reduce = chosen(i, _OPERATIONS) if i.op == "UTMAREDG" else None
    place = m.ureg_pair(_ureg(i.o["addr2"]))
    m.tensor_store(place, m.ureg(source), corner, "IM2COL" in i.m, reduce, "SCATTER4" in i.m)


# ---- stores to other CTAs ----------------------------------------------------------------
@register_wide("STAS")
def remote_store(m: WideMachine, i: WideInsn) -> None:
    """A store to the cluster's shared memory that counts on an mbarrier there."""
    count = 4 if "128" in i.m else 2 if "64" in i.m else 1
    address, barrier = _pair_place(m, i)
    m.remote_store(address, barrier, read_registers(m, i.o["a"], count))


@register_wide("REDAS")
def remote_reduce(m: WideMachine, i: WideInsn) -> None:
    """The same, combining."""
    address, barrier = _pair_place(m, i)
    wide = "64" in i.m or "U64" in i.m or "S64" in i.m
    type_ = ("S" if "S32" in i.m or "S64" in i.m else "U") + ("64" if wide else "32")
    op = chosen(i, _OPERATIONS)
    if op not in ("MIN", "MAX"):
        type_ = "U" + type_[1:]
    source = i.o["a"]
    value = raw_pair(m, source) if wide else raw(m, source)
    m.remote_reduce(address, barrier, op, type_, value)


def _pair_place(m: WideMachine, i: WideInsn) -> tuple[Value, Value]:
    """Address and mbarrier: two registers that follow one another."""
    place = i.o["addr"]
    if place.base.part != "64":
        m.gap(f"{i.op} with an address in one register")
    offset = place.offset
    first, second = m.reg(place.base.index), m.reg(place.base.index + 1)
    if place.index is not None and not place.index.is_zero:
        first = m.add(first, m.ureg(place.index.index))
    return m.add(first, offset & 0xFFFF_FFFF) if offset else first, second


# ---- clusters ----------------------------------------------------------------------------
@register_wide("UCGABAR_ARV")
def cluster_arrive(m: WideMachine, i: WideInsn) -> None:
    """The warp arrives at the barrier of its cluster."""
    m.cluster_arrive()


@register_wide("UCGABAR_WAIT")
def cluster_wait(m: WideMachine, i: WideInsn) -> None:
    """Wait until all warps of the cluster have arrived."""
    m.cluster_wait()


@register_wide("USETMAXREG")
def set_registers(m: WideMachine, i: WideInsn) -> None:
    """More registers are always there (*modelled*: policy `setmaxnreg`)."""
    write_predicate(m, i, "p", m.true())


@register_wide("LDGMC")
def multimem_load(m: WideMachine, i: WideInsn) -> None:
    """A reduction over the copies of several devices, of which there is one: a load."""
    count = 4 if "128" in i.m else 2 if "64" in i.m else 1
    values = m.load("global", wide_address(m, i, i.o["addr"]), 4 * count, False)
    write_registers(m, i.o["d"], values)
