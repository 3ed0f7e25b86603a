"""SULD, SUST, SURED and SUATOM: raw and formatted accesses to surfaces.

Semantics from the SURED page; bounds rule and clamps in `gpudbg.mem.surface_bounds`.  Checks of
all lanes come before any effect, so that a trap or fault leaves memory as it was.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gpudbg.dataclass import dataclass
from gpudbg.errors import ModelGap
from gpudbg.mem.faults import MemoryFault
from gpudbg.mem.lanes import U32, U64, first_lane, pack
from gpudbg.mem.surface_bounds import AXIS_NAMES, DIMS, coordinates, land
from gpudbg.regs.texheader import split_handle
from gpudbg.sm.atomics.step import SIZES, UPDATES, Update
from gpudbg.sm.faults import WarpErrorRaised
from gpudbg.sm.images import texels
from gpudbg.sm.images.access import KINDS, InvalidAccess, SurfaceAccess
from gpudbg.sm.images.pools import Image, unmodelled
from gpudbg.sm.images.vectors import RZ, read_rows, write_rows

if TYPE_CHECKING:
    from gpudbg.sm.engines.step import StepEngine
    from gpudbg.sm.images.unit import ImageUnit

PT = 7

RAW_SIZES = {
    "U8": (1, False), "S8": (1, True), "U16": (2, False), "S16": (2, True), "32": (4, False),
    "64": (8, False), "128": (16, False),
}  # fmt: skip
"""SULD and SUST .D size -> bytes, sign extension."""

_LOGIC = ("U32", "S32", "SD32", "U64")
_ORDER = (*_LOGIC, "S64", "SD64", "F16x2")
LEGAL: dict[str, tuple[str, ...]] = {
    "ADD": (*_LOGIC, "F32", "F16x2"),
    "MIN": _ORDER,
    "MAX": _ORDER,
    "INC": ("U32",),
    "DEC": ("U32",),
    "AND": _LOGIC,
    "OR": _LOGIC,
    "XOR": _LOGIC,
}
"""Operation -> sizes of the SURED table; other pairs are an illegal parameter."""

ATOMIC_ONLY: dict[str, tuple[str, ...]] = {
    "EXCH": ("U32", "S32", "SD32", "U64", "S64", "SD64"),
    "CAS": ("U32", "S32", "SD32", "U64", "S64", "SD64"),
}
"""Operations that only SUATOM has (*modelled*: as ATOM)."""

ALIGNMENT = {1: 1, 2: 2, 3: 4}
"""Coordinates -> what the register number of the first must be a multiple of."""


@dataclass(slots=True)
class _Plan:
    """One group of lanes with the same header, checked and ready to happen."""

    image: Image
    access: SurfaceAccess
    handle_lanes: int


def execute(unit: ImageUnit, engine: StepEngine, insn: Any) -> None:
    """Carry out one surface instruction."""
    _check_registers(insn)
    operation = _operation(insn)
    lanes = engine.exec
    if insn.op != "SULD":
        lanes &= unit.covered(engine.warp)
    plans = _plans(unit, engine, insn, lanes) if lanes else []
    results = _run(unit, engine, insn, plans, operation)
    predicate = insn.o.get("p")
    if predicate is not None and predicate.index != PT:
        engine.pred_write(predicate.index, 0)
    if insn.op in ("SULD", "SUATOM"):
        write_rows(engine, insn.o["d"].index, results)


# ---- checks before anything happens --------------------------------------------------------


@lru_cache(maxsize=4096)
def _check_registers(insn: Any) -> None:
    """RZ and alignment rules of the SURED page; an instruction that passes is not looked at again.

    Raises:
        WarpErrorRaised: ILLEGAL_INSTR_PARAM or MISALIGNED_REG.
    """
    base = insn.o["addr"].base
    handle = insn.o.get("c")
    for what, register in (("coordinates", base), ("the header handle", handle)):
        if register is not None and register.index == RZ:
            raise WarpErrorRaised("ILLEGAL_INSTR_PARAM", 0, f"{what} of {insn.op} cannot be RZ")
    _aligned(base.index, ALIGNMENT[len(DIMS[insn.m["dim"]])], f"{insn.m['dim']} coordinates")
    if insn.m["mode"] == "D":
        for slot in ("d", "b"):
            data = insn.o.get(slot)
            count = _data_registers(insn)
            if data is not None and data.index != RZ:
                _aligned(data.index, count, f"{32 * count} bits of data")


def _data_registers(insn: Any) -> int:
    if insn.op in ("SULD", "SUST"):
        return max(RAW_SIZES[insn.m["size"]][0] // 4, 1)
    return SIZES[_plain(_update_size(insn))] // 4


def _aligned(register: int, multiple: int, what: str) -> None:
    if register % multiple:
        text = f"R{register} cannot hold {what}: its number is no multiple of {multiple}"
        raise WarpErrorRaised("MISALIGNED_REG", 0, text)


def _plain(size: str) -> str:
    """An atomic size as `gpudbg.sm.atomics.step` calls it, SD types as unsigned."""
    word = size.split(".")[0]
    return {"SD32": "U32", "SD64": "U64"}.get(word, word)


def _update_size(insn: Any) -> str:
    """The size word of a reduction or atomic: .P has none and updates a texel of 32 bits."""
    return "SD32" if insn.m["mode"] == "P" else str(insn.m["size"])


def _operation(insn: Any) -> str:
    """The size word of a reduction or atomic, checked; "" for loads and stores."""
    if insn.op not in ("SURED", "SUATOM"):
        return ""
    op, size = insn.m["op"], _update_size(insn).split(".")[0]
    if insn.m["mode"] == "P" and op in ("INC", "DEC"):
        size = "U32"
    legal = LEGAL.get(op) or (ATOMIC_ONLY.get(op) if insn.op == "SUATOM" else None) or ()
    if size not in legal:
        text = f"{insn.op} has no {op} on {size}"
        raise WarpErrorRaised("ILLEGAL_INSTR_PARAM", 0, text)
    return size


# ---- planning ------------------------------------------------------------------------------


def _plans(unit: ImageUnit, engine: StepEngine, insn: Any, lanes: int) -> list[_Plan]:
    """The groups of lanes that reach memory."""
    handle = insn.o.get("c")
    row = None if handle is None else engine.reg(handle.index)
    plans = []
    for word, part in unit.handles(engine, insn, row, lanes):
        image = unit.pools.image(split_handle(word)[0])
        why = image.why or ("the surface is disabled" if image.index in unit.pools.disabled else "")
        if image.header is None or why:
            _note_invalid(unit, engine, insn, image, part, why)
            continue
        missing = unmodelled(image.header)
        if missing:
            raise ModelGap(f"{missing} of {image.name} is not modelled")
        plans.append(_plan(unit, engine, insn, image, part))
    if len(plans) > 1:
        for plan in plans:
            _probe(engine, plan.access)
    return plans


def _note_invalid(
    unit: ImageUnit, engine: StepEngine, insn: Any, image: Image, lanes: int, why: str
) -> None:
    warp = engine.warp
    unit.log.append(
        InvalidAccess(insn.op, engine.pc(), image, lanes, why, warp.sm, warp.slot, warp.block)
    )


def _sizes(insn: Any, image: Image) -> tuple[int, int]:
    """(bytes of the access, bytes that x counts in)."""
    if insn.m["mode"] == "P":
        texel = image.levels[0].texel
        if texel != 4 and insn.op in ("SURED", "SUATOM"):
            text = f"{insn.op}.P updates texels of 4 bytes; those of {image.name} have {texel}"
            raise WarpErrorRaised("ILLEGAL_INSTR_PARAM", 0, text)
        return texel, texel
    if insn.op in ("SULD", "SUST"):
        size = RAW_SIZES[insn.m["size"]][0]
    else:
        size = SIZES[_plain(_update_size(insn))]
    return size, 1 if insn.m["ba"] else size


def _plan(unit: ImageUnit, engine: StepEngine, insn: Any, image: Image, lanes: int) -> _Plan:
    """Bounds and address of one group.

    Raises:
        WarpErrorRaised: TRAP clamp with a lane outside, or a misaligned x.
    """
    assert image.header is not None
    layout, clamp = image.levels[0], insn.m["clamp"] or "NEAR"
    size, scale = _sizes(insn, image)
    dim = insn.m["dim"]
    base = insn.o["addr"].base.index
    rows = read_rows(engine, base, len(DIMS[dim]))
    landing = land(layout, image.header.axes, coordinates(dim, clamp, rows), size, scale)
    outside = pack(landing.outside) & lanes
    live = lanes if clamp == "NEAR" and landing.possible else lanes & ~outside
    at = landing.clamped
    offsets = np.asarray(layout.offset(at["x"], at["y"], at["z"], at["l"]), np.int64)
    addresses = offsets.astype(np.uint64) + np.uint64(image.header.address)
    warp = engine.warp
    access = SurfaceAccess(
        insn.op, KINDS[insn.op], engine.pc(), image, clamp, size, lanes, live, outside, landing,
        addresses, warp.sm, warp.slot, warp.block,
    )  # fmt: skip
    if outside and clamp == "TRAP":
        unit.note(access, warp)
        raise _trap(access)
    wrong = pack(landing.misaligned) & live
    if wrong:
        raise _misaligned(access, wrong)
    return _Plan(image, access, lanes)


def _trap(access: SurfaceAccess) -> WarpErrorRaised:
    """What TRAP raises for lanes outside (*modelled*: OOR_ADDR)."""
    found = access.lanes_outside()
    first = found[0]
    where = ", ".join(f"{n} {v}" for n, v in first.coords.items())
    header = access.image.header
    assert header is not None
    sizes = "x".join(str(getattr(access.image.levels[0], n)) for n in ("width", "height", "depth"))
    text = (
        f"{access.op}.TRAP outside {access.image.name} ({sizes} {header.format.name}): lane "
        f"{first.lane} at {where}: {', '.join(first.outside)}; {len(found)} lanes outside"
    )
    return WarpErrorRaised(
        "OOR_ADDR", access.outside, text, space="surface", access=access.kind, size=access.size
    )


def _misaligned(access: SurfaceAccess, lanes: int) -> WarpErrorRaised:
    lane = first_lane(lanes)
    x = int(access.landing.x_bytes[lane])
    text = f"{AXIS_NAMES['x']} of {access.image.name} is byte {x}, no multiple of {access.size}"
    return WarpErrorRaised(
        "MISALIGNED_ADDR", lanes, text, address=int(access.addresses[lane]), space="surface",
        access=access.kind, size=access.size,
    )  # fmt: skip


def _probe(engine: StepEngine, access: SurfaceAccess) -> None:
    """Raise the fault that the access of one of several groups would meet."""
    for address, size in texels.chunks(access):
        if access.live and engine.memory.locate(address, access.live, size) is None:
            try:
                engine.memory.split(address, access.live, size)
            except MemoryFault as fault:
                raise _fault(engine, fault, access) from None


def _fault(engine: StepEngine, fault: MemoryFault, access: SurfaceAccess) -> WarpErrorRaised:
    text = f"{access.op} on {access.image.name}: {fault.message(access.kind, access.size)}"
    return WarpErrorRaised(
        fault.code, fault.lanes, text, address=fault.address, space=fault.space,
        access=access.kind, size=access.size,
    )  # fmt: skip


# ---- execution -----------------------------------------------------------------------------


def _run(
    unit: ImageUnit, engine: StepEngine, insn: Any, plans: list[_Plan], operation: str
) -> list[U32]:
    """Carry out the plans; the destination registers, 0 where nothing was read."""
    results = [np.zeros(32, np.uint32) for _ in range(_result_count(insn))]
    for plan in plans:
        access = plan.access
        if access.live:
            _announce(engine, access)
            try:
                values = _one(engine, insn, access, operation)
            except MemoryFault as fault:
                raise _fault(engine, fault, access) from None
            for total, value in zip(results, values, strict=False):
                total |= value
        unit.note(access, engine.warp)
    return results


def _result_count(insn: Any) -> int:
    if insn.op == "SULD":
        return len(insn.m["rgba"]) if insn.m["mode"] == "P" else _data_registers(insn)
    return _data_registers(insn) if insn.op == "SUATOM" else 0


def _announce(engine: StepEngine, access: SurfaceAccess) -> None:
    """Tell observers of memory accesses: surfaces lie in global memory."""
    if engine.observers is None:
        return
    kind = {"reduction": "atomic"}.get(access.kind, access.kind)
    for address, size in texels.chunks(access):
        engine.observers.emit("access", engine.warp, "global", kind, address, access.live, size)


def _one(engine: StepEngine, insn: Any, access: SurfaceAccess, operation: str) -> list[U32]:
    if operation:
        return _reduce(engine, insn, access, operation)
    raw = insn.m["mode"] == "D"
    if insn.op == "SULD":
        if raw:
            size, signed = RAW_SIZES[insn.m["size"]]
            return engine.memory.gather(access.addresses, access.live, size, signed)
        return texels.load_components(engine.memory, access, insn.m["rgba"])
    first = insn.o["b"].index
    count = _data_registers(insn) if raw else len(insn.m["rgba"])
    rows = read_rows(engine, first, count)
    if raw:
        engine.memory.scatter(access.addresses, access.live, access.size, rows)
    else:
        texels.store_components(engine.memory, access, insn.m["rgba"], rows)
    return []


def _reduce(engine: StepEngine, insn: Any, access: SurfaceAccess, operation: str) -> list[U32]:
    """Read, modify and write, lane by lane in ascending order; the old values."""
    type_ = _resolved(operation, access.image)
    if insn.m["mode"] == "P" and insn.m["op"] == "ADD":
        type_ = _added(type_, access.image)
    update = UPDATES.get((insn.m["op"], type_))
    if "FTZ" in _update_size(insn) and type_ == "F16x2":
        update = _flushing(update)
    size = access.size
    words = size // 4
    first = insn.o["b"].index
    operands = [_lanes_of(engine, first, words)]
    if insn.m["op"] == "CAS":
        operands.append(_lanes_of(engine, first + words if first != RZ else RZ, words))
    old = [0] * 32
    for lane, (view, index) in enumerate(_places(engine, access)):
        if view is None:
            continue
        before = old[lane] = int(view[index])
        if update is not None:
            view[index] = update(before, operands[0][lane])
        elif before == operands[0][lane]:
            view[index] = operands[1][lane]
    wide = np.array(old, np.uint64)
    return [(wide >> np.uint64(32 * n)).astype(np.uint32) for n in range(words)]


def _resolved(size: str, image: Image) -> str:
    """SD32 and SD64 take their sign from the header's data type (*inferred* from PTX sured.p)."""
    if not size.startswith("SD"):
        return size
    assert image.header is not None
    return ("S" if image.header.type_name == "SINT" else "U") + size[2:]


def _added(type_: str, image: Image) -> str:
    """What .P adds: numbers of the header's format (*modelled*)."""
    assert image.header is not None
    return "F32" if image.header.type_name == "FLOAT" else type_


def _lanes_of(engine: StepEngine, first: int, words: int) -> list[int]:
    rows = read_rows(engine, first, words)
    if words == 1:
        return list(rows[0].tolist())
    return [a | b << 32 for a, b in zip(rows[0].tolist(), rows[1].tolist(), strict=True)]


def _places(engine: StepEngine, access: SurfaceAccess) -> list[tuple[Any, int]]:
    """(elements, index) of every live lane, (None, 0) of the others; all checked."""
    size = access.size
    places: list[tuple[Any, int]] = [(None, 0)] * 32
    one = engine.memory.locate(access.addresses, access.live, size)
    parts: list[Any] = (
        [(one[0], one[1], access.live)]
        if one is not None
        else list(engine.memory.split(access.addresses, access.live, size))
    )
    for store, offsets, owned in parts:
        store.writable()
        view = store.words if size == 4 else store.words.view(np.uint64)
        for lane, offset in enumerate(np.asarray(offsets, np.int64).tolist()):
            if owned >> lane & 1:
                places[lane] = (view, offset // size)
    return places


def _flush_half(bits: int) -> int:
    return bits if bits & 0x7C00 else bits & 0x8000


def _flush_pair(bits: int) -> int:
    return _flush_half(bits & 0xFFFF) | _flush_half(bits >> 16) << 16


def _flushing(update: Update | None) -> Update | None:
    """An F16x2 operation with subnormal operands and results as zero."""
    if update is None:
        return None
    return lambda old, b: _flush_pair(update(_flush_pair(old), _flush_pair(b)))


__all__ = ["ATOMIC_ONLY", "LEGAL", "RAW_SIZES", "U64", "execute"]
