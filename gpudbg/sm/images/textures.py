"""TEX, TLD, TLD4, TXD, TXQ, TMML and their short forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gpudbg.mem.faults import MemoryFault
from gpudbg.mem.lanes import U32, bools
from gpudbg.regs.texformats import TEXTURE_TYPES
from gpudbg.regs.texheader import Sampler, split_handle
from gpudbg.sm.engines import numeric
from gpudbg.sm.faults import WarpErrorRaised
from gpudbg.sm.images import requests, sampling, texels
from gpudbg.sm.images.access import InvalidAccess
from gpudbg.sm.images.pools import Image, unmodelled
from gpudbg.sm.images.requests import ImageRequest
from gpudbg.sm.images.sampling import Bools, TexelPosition
from gpudbg.sm.images.vectors import read_rows, write_rows

if TYPE_CHECKING:
    from gpudbg.sm.engines.step import StepEngine
    from gpudbg.sm.images.unit import ImageUnit

PT = 7
LETTERS = "RGBA"
Values = list[Any]

# Face of a cube by major axis and sign -> (face, s axis, s sign, t axis, t sign).
_FACES = {
    ("x", 1): (0, "z", -1, "y", -1), ("x", -1): (1, "z", 1, "y", -1),
    ("y", 1): (2, "x", 1, "z", 1), ("y", -1): (3, "x", 1, "z", -1),
    ("z", 1): (4, "x", 1, "y", -1), ("z", -1): (5, "x", -1, "y", -1),
}  # fmt: skip

_COMPARES: dict[int, Callable[[Any, Any], Any]] = {
    0: lambda r, t: np.zeros(r.shape, np.bool_),
    1: lambda r, t: r < t,
    2: lambda r, t: r == t,
    3: lambda r, t: r <= t,
    4: lambda r, t: r > t,
    5: lambda r, t: r != t,
    6: lambda r, t: r >= t,
    7: lambda r, t: np.ones(r.shape, np.bool_),
}
"""DEPTH_COMPARE_FUNC -> reference against texel."""


# ---- the instructions ----------------------------------------------------------------------


def fetch(unit: ImageUnit, engine: StepEngine, insn: Any) -> None:
    """TEX, TEXS and TXD: a filtered fetch."""
    request = requests.read(engine, insn)
    _each(unit, engine, insn, request, lambda image, sampler, lanes: _sample(
        engine, image, sampler, request, lanes))  # fmt: skip


def load(unit: ImageUnit, engine: StepEngine, insn: Any) -> None:
    """TLD and TLDS: one texel by integer coordinates, 0 outside (*modelled*)."""
    request = requests.read(engine, insn)
    if insn.m["ms"]:
        engine.gap(f"{insn.op}.MS (multisampled textures)")
    _each(unit, engine, insn, request, lambda image, sampler, lanes: _texel(
        engine, image, request, lanes))  # fmt: skip


def gather(unit: ImageUnit, engine: StepEngine, insn: Any) -> None:
    """TLD4 and TLD4S: one component of the four texels of a linear filter."""
    request = requests.read(engine, insn)
    component = LETTERS.index(insn.m["comp"])
    _each(unit, engine, insn, request, lambda image, sampler, lanes: _four(
        engine, image, sampler, request, component, lanes))  # fmt: skip


def query(unit: ImageUnit, engine: StepEngine, insn: Any) -> None:
    """TXQ: sizes, texture type."""
    operand = insn.o["a"]
    bindless = bool(insn.m["b"])
    rows = read_rows(engine, operand.index, 1 + bindless)
    handle, level_row = rows[0] if bindless else None, rows[-1]
    what = insn.o["query"].text
    totals: Values = [np.zeros(32, np.uint32) for _ in range(4)]
    for word, lanes in unit.handles(engine, insn, handle, engine.exec):
        image = _image(unit, engine, insn, word, lanes)
        if image is None:
            continue
        for n, value in enumerate(_answers(engine, image, what, level_row)):
            totals[n] = np.where(bools(lanes), value, totals[n])
    _write_masked(engine, insn, totals)


def level(unit: ImageUnit, engine: StepEngine, insn: Any) -> None:
    """TMML: the level of detail, clamped and not, in 1/256 levels (*modelled*)."""
    rows = read_rows(engine, insn.o["a"].index, insn.o["a"].count)
    dim = insn.m["dim"]
    array = dim.startswith("ARRAY_")
    axes = requests.AXES[dim.removeprefix("ARRAY_")]
    request = ImageRequest(dim.removeprefix("ARRAY_"), dict(zip(axes, rows[array:], strict=False)))
    if insn.m["b"]:
        request.handle = read_rows(engine, insn.o["b"].index, 1)[0]
    _each(unit, engine, insn, request, lambda image, sampler, lanes: _levels_of(
        image, sampler, request))  # fmt: skip


def _levels_of(image: Image, sampler: Sampler, request: ImageRequest) -> Values:
    raw = _derived_level(image, request)
    clamped = np.clip(raw, 0.0, float(len(image.levels) - 1))
    zero = np.zeros(32, np.uint32)
    fixed = [(np.rint(v * 256).astype(np.int64) & 0xFFFF_FFFF) for v in (clamped, raw)]
    return [fixed[0].astype(np.uint32), fixed[1].astype(np.uint32), zero, zero]


def _answers(engine: StepEngine, image: Image, what: str, lod: Any) -> Values:
    header = image.header
    assert header is not None
    if what == "TEX_HEADER_TEXTURE_TYPE":
        kind = np.full(32, TEXTURE_TYPES.index(header.texture_type), np.uint32)
        return [kind]
    if what != "TEX_HEADER_DIMENSION":
        engine.gap(f"TXQ {what}")
    shift = np.minimum(lod.astype(np.int64), 31)
    levels = header.max_mip_level + 1
    deep = header.slices if "z" in header.axes else 0
    sizes = [np.maximum(n >> shift, 1) for n in (header.width, header.height)]
    last = np.maximum(deep >> shift, 1) if deep else np.full(32, header.depth)
    found = [*sizes, last, np.full(32, levels)]
    return [np.asarray(v).astype(np.uint32) for v in found]


# ---- handles and results -------------------------------------------------------------------


def _image(unit: ImageUnit, engine: StepEngine, insn: Any, word: int, lanes: int) -> Image | None:
    """The image of a handle; None, and a note, where the header is no good."""
    image = unit.pools.image(split_handle(word)[0])
    if image.header is None:
        warp = engine.warp
        unit.log.append(
            InvalidAccess(
                insn.op, engine.pc(), image, lanes, image.why, warp.sm, warp.slot, warp.block
            )
        )
        return None
    missing = unmodelled(image.header)
    if missing:
        engine.gap(f"{missing} of {image.name}")
    return image


def _each(unit: ImageUnit, engine: StepEngine, insn: Any, request: ImageRequest, work: Any) -> None:
    """Call `work(image, sampler, lanes)` for each handle and write X Y Z W."""
    totals: Values = [np.zeros(32, np.uint32) for _ in range(4)]
    for word, lanes in unit.handles(engine, insn, request.handle, engine.exec):
        image = _image(unit, engine, insn, word, lanes)
        if image is None:
            continue
        sampler = unit.pools.sampler(split_handle(word)[1])
        try:
            values = work(image, sampler, bools(lanes))
        except MemoryFault as fault:
            text = f"{insn.op} of {image.name}: {fault.detail}"
            raise WarpErrorRaised(
                fault.code, fault.lanes, text, address=fault.address, space=fault.space,
                access="load",
            ) from None  # fmt: skip
        totals = [np.where(bools(lanes), v, t) for v, t in zip(values, totals, strict=True)]
    if insn.op in requests.SHORT:
        _write_short(engine, insn, totals)
    else:
        _write_masked(engine, insn, totals)


def _write_masked(engine: StepEngine, insn: Any, values: Values) -> None:
    """Component i goes to the next register where bit i of the mask is set."""
    predicate = insn.o.get("p")
    if predicate is not None and predicate.index != PT:
        engine.pred_write(predicate.index, 0)
    chosen = [values[n] for n in range(4) if insn.m["mask"] >> n & 1]
    if "d2" in insn.o:
        write_rows(engine, insn.o["d2"].index, chosen[2:])
        chosen = chosen[:2]
    write_rows(engine, insn.o["d"].index, chosen)


def _write_short(engine: StepEngine, insn: Any, values: Values) -> None:
    """The first two components go to d, the others to d2; halves share registers."""
    comps = LETTERS if insn.op == "TLD4S" else insn.m["comps"]
    chosen = [values[LETTERS.index(c)] for c in comps]
    mode = requests.half_mode(insn)
    for slot, part in (("d", chosen[:2]), ("d2", chosen[2:])):
        write_rows(engine, insn.o[slot].index, _halves(part, mode) if mode else part)


def _halves(values: Values, mode: str) -> Values:
    """Up to two f32 patterns as one register of f16 halves."""
    if not values:
        return []
    packed = [
        numeric.f64_to_f16(texels.floats_of(np.asarray(v, np.uint32)).view(np.uint64), mode)
        for v in values
    ]
    word = np.asarray(packed[0]).astype(np.uint32) & np.uint32(0xFFFF)
    if len(packed) > 1:
        word = word | np.asarray(packed[1]).astype(np.uint32) << np.uint32(16)
    return [word]


# ---- coordinates ---------------------------------------------------------------------------


def _float_coords(image: Image, request: ImageRequest) -> tuple[dict[str, Any], Any]:
    """(coordinates as f64 by axis, layer) with cube directions turned into face and position."""
    given = {axis: texels.floats_of(row) for axis, row in request.coords.items()}
    layer = np.zeros(32, np.int64)
    if request.layer is not None:
        layer = (request.layer & np.uint32(0xFFFF)).astype(np.int64)
    header = image.header
    assert header is not None
    if request.dim == "CUBE":
        face, s, t = _cube(given)
        cubes = max(header.layers // 6, 1)
        return {"x": s, "y": t}, np.minimum(layer, cubes - 1) * 6 + face
    return given, np.minimum(layer, header.layers - 1)


def _cube(given: dict[str, Any]) -> tuple[Any, Any, Any]:
    """(face, s, t) of directions; s and t from 0 to 1."""
    size = {axis: np.abs(np.nan_to_num(v)) for axis, v in given.items()}
    face = np.zeros(32, np.int64)
    s, t = np.zeros(32), np.zeros(32)
    is_z = (size["z"] >= size["x"]) & (size["z"] >= size["y"])
    is_y = ~is_z & (size["y"] >= size["x"])
    major = {"z": is_z, "y": is_y, "x": ~is_z & ~is_y}
    for (axis, sign), (number, s_axis, s_sign, t_axis, t_sign) in _FACES.items():
        chosen = major[axis] & ((given[axis] >= 0) == (sign > 0))
        scale = np.where(size[axis] > 0, size[axis], 1.0)
        face = np.where(chosen, number, face)
        s = np.where(chosen, (s_sign * given[s_axis] / scale + 1) / 2, s)
        t = np.where(chosen, (t_sign * given[t_axis] / scale + 1) / 2, t)
    return face, s, t


def _normalized(image: Image, sampler: Sampler, request: ImageRequest) -> bool:
    assert image.header is not None
    return request.dim == "CUBE" or (image.header.normalized and not sampler.force_unnormalized)


def _modes(sampler: Sampler, request: ImageRequest) -> dict[str, int]:
    if request.dim == "CUBE":
        return dict.fromkeys("xyz", sampling.EDGE)
    return dict(zip("xyz", sampler.address, strict=True))


# ---- level of detail -----------------------------------------------------------------------


def _derived_level(image: Image, request: ImageRequest) -> Any:
    """log2 of the texels stepped over from pixel to pixel: gradients, or the quad's differences."""
    header = image.header
    assert header is not None
    sizes = {"x": header.width, "y": header.height, "z": header.slices}
    lengths = []
    for n, (low, high) in enumerate(((1, 1), (2, 2))):
        total = np.zeros(32)
        for axis, row in request.coords.items():
            if request.gradients:
                step = texels.floats_of(request.gradients[axis][n])
            else:
                lane = np.arange(32)
                value = texels.floats_of(row)
                step = value[lane | high] - value[lane & ~low]
            total += (step * (sizes[axis] if header.normalized else 1)) ** 2
        lengths.append(np.sqrt(total))
    most = np.maximum(*lengths)
    with np.errstate(all="ignore"):
        return np.nan_to_num(np.log2(np.maximum(most, 1e-30)), nan=0.0)


def _level(image: Image, sampler: Sampler, request: ImageRequest) -> Any:
    """The level of detail of each lane, within the levels that exist."""
    header = image.header
    assert header is not None
    low, high = header.view_mip_levels
    high = min(max(high, low), header.max_mip_level)
    if header.max_mip_level == 0:
        return np.zeros(32)
    if request.lod == "LZ":
        number = np.zeros(32)
    elif request.lod in ("LL", "LLA"):
        assert request.level is not None
        number = texels.floats_of(request.level)
    else:
        number = _derived_level(image, request) + sampler.lod_bias
        if request.level is not None:
            number = number + texels.floats_of(request.level)
    number = np.clip(np.nan_to_num(number), *sampler.lod_range)
    return np.clip(number + low, low, high)


def _level_weights(image: Image, sampler: Sampler, number: Any) -> list[tuple[int, Any]]:
    """(mip level, weight of each lane)."""
    if len(image.levels) == 1 or sampler.mip_filter == 1:
        return [(0, np.ones(32))]
    if sampler.mip_filter == 2:
        nearest = np.floor(number + 0.5).astype(int)
        return [(int(n), (nearest == n).astype(float)) for n in np.unique(nearest)]
    base = np.floor(number).astype(int)
    part = np.rint((number - base) * sampling.FRACTION_STEPS) / sampling.FRACTION_STEPS
    found: dict[int, Any] = {}
    for n in np.unique(base).tolist():
        found[n] = found.get(n, 0) + np.where(base == n, 1 - part, 0.0)
        above = min(n + 1, len(image.levels) - 1)
        found[above] = found.get(above, 0) + np.where(base == n, part, 0.0)
    return list(found.items())


# ---- sampling ------------------------------------------------------------------------------


def _sample(
    engine: StepEngine, image: Image, sampler: Sampler, request: ImageRequest, lanes: Bools
) -> Values:
    """X Y Z W of a filtered fetch."""
    number = _level(image, sampler, request)
    weights = _level_weights(image, sampler, number)
    linear = sampling.is_linear(image.header, sampler)  # type: ignore[arg-type]
    taps = []
    for n, weight in weights:
        used = lanes & (weight > 0)
        if used.any():
            for values, part in _taps(engine, image, sampler, request, n, linear, used):
                taps.append((values, np.where(used, weight * part, 0.0)))
    if request.reference is not None:
        return _compared(sampler, request, taps)
    if len(taps) == 1:
        return list(taps[0][0])
    # Skip texels of weight 0: an infinity in one must not become a NaN.
    out = []
    for n in range(4):
        total = np.zeros(32)
        for values, weight in taps:
            total += np.where(weight > 0, texels.floats_of(values[n]) * weight, 0.0)
        out.append(texels.bits_of(total))
    integer = image.header is not None and image.header.type_name in texels.INTEGERS
    return _picked(taps) if integer else out


def _picked(taps: list[tuple[Values, Any]]) -> Values:
    """Integer texels of lanes on different levels: the one tap whose weight is not 0."""
    out = [np.zeros(32, np.uint32) for _ in range(4)]
    for values, weight in taps:
        out = [np.where(weight > 0, v, o) for v, o in zip(values, out, strict=True)]
    return out


def _compared(sampler: Sampler, request: ImageRequest, taps: list[tuple[Values, Any]]) -> Values:
    """Depth compare: the weighted fraction of texels that pass, in R G B; A is 1."""
    assert request.reference is not None
    reference = texels.floats_of(request.reference)
    total = np.zeros(32)
    for values, weight in taps:
        passed = _COMPARES[sampler.depth_function](reference, texels.floats_of(values[0]))
        total += np.where(passed, weight, 0.0)
    bits = texels.bits_of(total)
    return [bits, bits, bits, np.full(32, texels.ONE_F32, np.uint32)]


def _axes_of(image: Image, request: ImageRequest) -> str:
    """The axes that are filtered: those both the instruction and the header have."""
    assert image.header is not None
    return "".join(a for a in "xyz" if a in request.coords and a in image.header.axes)


def _taps(
    engine: StepEngine, image: Image, sampler: Sampler, request: ImageRequest, level_: int,
    linear: bool, lanes: Bools,
) -> list[tuple[Values, Any]]:  # fmt: skip
    """(texel values, weight) of one level's filter."""
    coords, layer = _float_coords(image, request)
    layout = image.levels[level_]
    sizes = {"x": layout.width, "y": layout.height, "z": layout.depth}
    modes, normalized = _modes(sampler, request), _normalized(image, sampler, request)
    corners: list[tuple[dict[str, Any], Any]] = [({}, np.ones(32))]
    for axis in _axes_of(image, request):
        if axis not in coords:
            continue
        number = sampling.scaled(coords[axis], sizes[axis], modes[axis], normalized)
        steps = sampling.neighbours(number, linear)
        offset = request.offsets.get(axis, 0)
        corners = [
            ({**at, axis: index + offset}, weight * part)
            for at, weight in corners
            for index, part in steps
        ]
    return [
        (_at(engine, image, sampler, level_, at, layer, modes, lanes), weight)
        for at, weight in corners
    ]


def _at(
    engine: StepEngine, image: Image, sampler: Sampler, level_: int, at: dict[str, Any], layer: Any,
    modes: dict[str, int], lanes: Bools,
) -> Values:  # fmt: skip
    """The texels at indices along each axis, by address mode."""
    layout = image.levels[level_]
    sizes = {"x": layout.width, "y": layout.height, "z": layout.depth}
    places = {axis: np.zeros(32, np.int64) for axis in "xyz"}
    border = np.zeros(32, np.bool_)
    for axis, index in at.items():
        places[axis], outside = sampling.address(index, sizes[axis], modes[axis])
        border |= outside
    spot = TexelPosition(places["x"], places["y"], places["z"], layer, border)
    values = sampling.read(engine.memory, image, level_, spot, lanes, _texel_listener(engine))
    if not border.any():
        return values
    return [np.where(border, np.uint32(c), v) for c, v in zip(sampler.border, values, strict=True)]


def _texel_listener(engine: StepEngine) -> sampling.TexelListener | None:
    """Tells observers of a read: texels lie in global memory."""
    observers, warp = engine.observers, engine.warp
    if observers is None:
        return None
    return lambda where, lanes, size: observers.emit(
        "access", warp, "global", "load", where, lanes, size
    )


def _texel(engine: StepEngine, image: Image, request: ImageRequest, lanes: Bools) -> Values:
    """TLD: texels by integer coordinates; 0 outside the texture or its levels."""
    header = image.header
    assert header is not None
    axes = _axes_of(image, request)
    index = {a: request.coords[a].view(np.int32).astype(np.int64) for a in axes}
    index = {a: v + request.offsets.get(a, 0) for a, v in index.items()}
    layer = np.zeros(32, np.int64)
    if request.layer is not None:
        wanted = (request.layer & np.uint32(0xFFFF)).astype(np.int64)
        layer = np.minimum(wanted, header.layers - 1)
    chosen = np.zeros(32, np.int64)
    if request.level is not None:
        chosen = request.level.view(np.int32).astype(np.int64)
    totals: Values = [np.zeros(32, np.uint32) for _ in range(4)]
    for n in np.unique(chosen[lanes]).tolist():
        if not 0 <= n < len(image.levels):
            continue
        layout = image.levels[n]
        sizes = {"x": layout.width, "y": layout.height, "z": layout.depth}
        inside = lanes & (chosen == n)
        for axis, value in index.items():
            inside = inside & (value >= 0) & (value < sizes[axis])
        zero = np.zeros(32, np.int64)
        at = {a: np.where(inside, index[a], 0) if a in index else zero for a in "xyz"}
        spot = TexelPosition(at["x"], at["y"], at["z"], layer, np.zeros(32, np.bool_))
        values = sampling.read(engine.memory, image, n, spot, inside, _texel_listener(engine))
        totals = [np.where(inside, v, t) for v, t in zip(values, totals, strict=True)]
    return totals


def _four(
    engine: StepEngine, image: Image, sampler: Sampler, request: ImageRequest, component: int,
    lanes: Bools,
) -> Values:  # fmt: skip
    """TLD4: (i0,j1) (i1,j1) (i1,j0) (i0,j0) of one component, or of each of four offsets."""
    coords, layer = _float_coords(image, request)
    layout = image.levels[0]
    modes, normalized = _modes(sampler, request), _normalized(image, sampler, request)
    low: dict[str, U32 | Any] = {}
    for axis, size in (("x", layout.width), ("y", layout.height)):
        if axis not in coords or axis not in _axes_of(image, request):
            low[axis] = np.zeros(32, np.int64)
            continue
        number = sampling.scaled(coords[axis], size, modes[axis], normalized)
        low[axis] = np.floor(number - 0.5).astype(np.int64)
    order = ((0, 1), (1, 1), (1, 0), (0, 0))
    out: Values = []
    for n, (dx, dy) in enumerate(order):
        if request.points:
            ox, oy = request.points[n]
            dx = dy = 0
        else:
            ox, oy = request.offsets.get("x", 0), request.offsets.get("y", 0)
        at = {"x": low["x"] + dx + ox, "y": low["y"] + dy + oy}
        values = _at(engine, image, sampler, 0, at, layer, modes, lanes)
        if request.reference is None:
            out.append(values[component])
            continue
        reference = texels.floats_of(request.reference)
        passed = _COMPARES[sampler.depth_function](reference, texels.floats_of(values[0]))
        out.append(np.where(passed, np.uint32(texels.ONE_F32), np.uint32(0)))
    return out
