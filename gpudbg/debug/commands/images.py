"""Textures and surfaces: info surfaces, info textures, info outside, picture, export surface."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpudbg.debug.commands.table import command
from gpudbg.debug.registry import Output
from gpudbg.debug.values.images import image_named, images_of, last_writer, unit_of
from gpudbg.debug.views import image as views_image
from gpudbg.debug.views import text as views
from gpudbg.device.export_image import export_image
from gpudbg.device.images import DeviceImage, texel_place
from gpudbg.device.picture import decoded_words, pixels_of, shades_of, slice_of
from gpudbg.errors import CommandError
from gpudbg.mem.surface_bounds import CLAMPS
from gpudbg.mem.surface_text import layout_data, steps
from gpudbg.regs.texheader_text import header_data, sampler_data, summary
from gpudbg.sm.images.access import Access, InvalidAccess

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession

PICTURE_COLUMNS, PICTURE_ROWS = 78, 24
DEFAULT_ACCESSES = 8


def _names(kind: str) -> Any:
    def complete(session: DebugSession, text: str) -> list[str]:
        found = [i.name for i in images_of(session) if not kind or i.kind == kind]
        return [n for n in found if n.startswith(text)]

    return complete


def _words(argument: str) -> list[str]:
    try:
        return shlex.split(argument)
    except ValueError as error:
        raise CommandError(f"{argument}: {error}") from None


def _integers(words: Sequence[str]) -> list[int]:
    try:
        return [int(w.strip("(),"), 0) for w in words]
    except ValueError:
        raise CommandError(f"{' '.join(words)!r} is no list of numbers") from None


def image_data(session: DebugSession, image: DeviceImage) -> dict[str, Any]:
    """An image as plain data."""
    data: dict[str, Any] = {
        "name": image.name,
        "kind": image.kind,
        "dim": image.options.dim,
        "handle": image.handle,
        "header_index": image.index,
        "bytes": image.nbytes,
        "channels": image.channels,
        "dtype": str(image.dtype),
        "shape": list(image.shape),
        "header": header_data(image.header),
        "header_words": [f"0x{w:08x}" for w in image.header.words()],
        "layout": layout_data(image.layout()),
    }
    if image.kind == "texture":
        pools = session.grid.gpu.images
        data["sampler"] = sampler_data(pools.sampler(image.handle >> 20))
    else:
        data["disabled"] = image.index in session.grid.gpu.images.disabled
    return data


def _list(session: DebugSession, kind: str) -> Output:
    found = [i for i in images_of(session) if i.kind == kind]
    if not found:
        return Output((f"no {kind}s",), [])
    rows = []
    for image in found:
        header = image.header
        block = f"{1 << header.block_height_log2}x{1 << header.block_depth_log2}"
        rows.append(
            (
                image.name,
                image.options.dim,
                "x".join(str(n) for n in _sizes(image)),
                f"{header.format.name} {header.type_name}",
                header.version,
                block if header.layout == "BLOCKLINEAR" else "-",
                f"0x{image.handle:x}",
                f"0x{header.address:x}",
            )
        )
    names = ("Name", "Dim", "Size", "Format", "Layout", "Block", "Handle", "Address")
    return Output(tuple(views.table(names, rows)), [image_data(session, i) for i in found])


def _sizes(image: DeviceImage) -> list[int]:
    header = image.header
    sizes = {"x": header.width, "y": header.height, "z": header.slices, "l": header.layers}
    return [sizes[axis] for axis in header.axes]


def _describe(session: DebugSession, kind: str, argument: str) -> Output:
    """The list, one image, or one texel."""
    words = _words(argument.replace(",", " "))
    if not words:
        return _list(session, kind)
    image = image_named(session, words[0], kind)
    if len(words) > 1:
        return _texel(session, image, _integers(words[1:]))
    data = image_data(session, image)
    lines = [f"{image.name}: {summary(image.header)}", f"  handle 0x{image.handle:x}"]
    if data["layout"]:
        lines.append("  " + ", ".join(f"{k} {v}" for k, v in data["layout"].items()))
    if "sampler" in data:
        s = data["sampler"]
        lines.append(f"  {'/'.join(s['address'])}, {s['mag_filter']}, {s['mip_filter']}")
    if data.get("disabled"):
        lines.append("  disabled: updates are dropped")
    lines.append(f"  {views.array_words(image.array())}")
    return Output(tuple(lines), data)


def _texel(session: DebugSession, image: DeviceImage, coords: list[int]) -> Output:
    at = texel_place(image, coords)
    values = slice_of(image, at["z"] or at["layer"])
    layout = image.layout()
    offset = int(layout.offset(at["x"] * layout.texel, at["y"], at["z"], at["layer"]))
    place = layout.place(offset)
    writer = last_writer(session, image, at["x"], at["y"], at["z"], at["layer"])
    texel = np.ascontiguousarray(values[at["y"], at["x"]])
    data = {
        "coords": at,
        "value": texel.tolist(),
        "hex": "0x" + texel.tobytes()[::-1].hex(),
        "offset": offset,
        "address": image.header.address + offset,
        "writer": None if writer is None else {
            "pc": writer.pc, "where": writer.where, "block": list(writer.block),
            "thread": list(writer.thread), "count": writer.count,
        },
    }  # fmt: skip
    lines = [views_image.texel_words(values, at["x"], at["y"])]
    if image.options.format:
        lines[0] += "  " + decoded_words(image, values, at["x"], at["y"])
    lines.append(f"  offset {offset}, address 0x{image.header.address + offset:x}")
    lines += [f"    {step}" for step in (steps(layout, place) if place is not None else ())]
    if image.kind == "surface":
        lines.append(f"  written by {writer.words()}" if writer else "  not written in this run")
    return Output(tuple(lines), data)


@command(
    "info surfaces",
    "info surface",
    usage="info surfaces [NAME [X Y [Z]]]",
    help="surfaces: layout and format; one in full; one texel, its address and who wrote it last",
    group="status",
    completer=_names("surface"),
)
def info_surfaces(session: DebugSession, argument: str) -> Output:
    """List surfaces, or explain one."""
    return _describe(session, "surface", argument)


@command(
    "info textures",
    "info texture",
    usage="info textures [NAME [X Y [Z]]]",
    help="textures: layout, format and sampler; one in full; one texel",
    group="status",
    completer=_names("texture"),
)
def info_textures(session: DebugSession, argument: str) -> Output:
    """List textures, or explain one."""
    return _describe(session, "texture", argument)


@command(
    "info outside",
    "info clamps",
    usage="info outside [COUNT] [IGN|NEAR|TRAP]",
    help="surface accesses outside their surface: every lane, and what the clamp did to it",
    group="status",
)
def info_outside(session: DebugSession, argument: str) -> Output:
    """The last accesses outside a surface or through an invalid header."""
    unit = unit_of(session)
    words = argument.upper().split()
    clamps = [w for w in words if w in CLAMPS]
    numbers = _integers([w for w in words if w not in CLAMPS])
    count = numbers[0] if numbers else DEFAULT_ACCESSES
    if unit is None or not unit.log:
        return Output(("no surface access was outside its surface",), {"totals": [], "last": []})
    lines = []
    totals = []
    for (pc, clamp), lanes in unit.outside.items():
        where = session.symbols.describe_line(pc)
        lines.append(f"{lanes} lanes outside at {where}, clamp {clamp}")
        totals.append({"pc": pc, "where": where, "clamp": clamp, "lanes": lanes})
    rows = []
    chosen = [a for a in unit.log if not clamps or getattr(a, "clamp", "") in clamps]
    for access in chosen[-count:] if count > 0 else ():
        text, data = _access(session, access)
        lines += text
        rows.append(data)
    return Output(tuple(lines), {"totals": totals, "last": rows})


def _access(
    session: DebugSession, access: Access | InvalidAccess
) -> tuple[list[str], dict[str, Any]]:
    where = session.symbols.describe_line(access.pc)
    head = f"{access.op} on {access.image.name} at {where}, block {access.block} warp {access.warp}"
    data: dict[str, Any] = {
        "op": access.op, "image": access.image.name, "pc": access.pc, "where": where,
        "sm": access.sm, "warp": access.warp, "block": list(access.block),
    }  # fmt: skip
    if isinstance(access, InvalidAccess):
        words = f"{access.lanes.bit_count()} lanes did nothing: {access.why}"
        return [head, f"  {words}"], data | {"lanes": access.lanes, "why": access.why}
    lines, rows = [f"{head}, clamp {access.clamp}"], []
    for lane in access.lanes_outside():
        coords = " ".join(f"{k} {v}" for k, v in lane.coords.items())
        lines.append(f"  lane {lane.lane:2}  {coords}: {', '.join(lane.outside)}: {lane.did}")
        rows.append(
            {
                "lane": lane.lane,
                "coords": lane.coords,
                "outside": list(lane.outside),
                "did": lane.did,
            }
        )
    return lines, data | {"clamp": access.clamp, "size": access.size, "outside": rows}


def _option(words: list[str], name: str, usual: int) -> int:
    """Take `name N` out of the words."""
    if name not in words:
        return usual
    at = words.index(name)
    value = _integers(words[at + 1 : at + 2])
    if not value:
        raise CommandError(f"{name} needs a number")
    del words[at : at + 2]
    return value[0]


@command(
    "picture",
    usage="picture NAME [X Y] [zoom N] [slice N]",
    help="a surface or texture as a picture in the terminal: half blocks in true colour",
    group="data",
    completer=_names(""),
)
def picture(session: DebugSession, argument: str) -> Output:
    """Show an image from texel X Y on; a zoom below 0 shows every Nth texel."""
    words = _words(argument)
    zoom, number = _option(words, "zoom", 0), _option(words, "slice", 0)
    if not words:
        raise CommandError("picture needs a surface or texture")
    image = image_named(session, words[0])
    values = slice_of(image, number)
    height, width = values.shape[:2]
    start = _integers(words[1:3]) if len(words) > 1 else [0, 0]
    if len(start) != 2 or min(start) < 0:
        raise CommandError("picture takes X and Y of a corner")
    if zoom == 0:
        zoom = views_image.fitting_zoom(width, height, PICTURE_COLUMNS, PICTURE_ROWS)
    window = views_image.Window(start[0], start[1], PICTURE_COLUMNS, PICTURE_ROWS, zoom)
    shades = shades_of(values)
    cells = views_image.pixel_cells(pixels_of(values, shades), window)
    head = f"{image.name} {width}x{height}, {shades.low:g} black to {shades.high:g} white"
    data = {"name": image.name, "width": width, "height": height, "zoom": zoom}
    return Output((head, *views_image.ansi(cells)), data)


@command(
    "export surface",
    "export texture",
    usage="export surface NAME FILE.png|FILE.npy [zoom N] [slice N]",
    help="write a surface or texture to a file",
    group="data",
    completer=_names(""),
)
def export_command(session: DebugSession, argument: str) -> Output:
    """Write a file."""
    words = _words(argument)
    zoom, number = _option(words, "zoom", 1), _option(words, "slice", 0)
    if len(words) != 2:
        raise CommandError("export surface needs a name and a file")
    line = export_image(image_named(session, words[0]), words[1], number, zoom)
    return Output((line,), {"file": words[1], "name": words[0]})
