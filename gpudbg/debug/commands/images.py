"""Textures and surfaces: info surfaces, info textures, info outside, picture, export surface."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpudbg.answers import Card, Notice, Table, column, typed_row
from gpudbg.answers.formats import ABSENT, ADDRESS, COORDINATES, LIST, ROWS, Format
from gpudbg.answers.words import extents
from gpudbg.debug.commands.table import command
from gpudbg.debug.focus.focus import Dim3
from gpudbg.debug.values.images import image_named, images_of, last_writer, unit_of
from gpudbg.debug.views import image as views_image
from gpudbg.debug.views import text as views
from gpudbg.device.image_files import export_image
from gpudbg.device.images import DeviceImage, texel_place
from gpudbg.device.picture import decoded_words, pixels_of, shades_of, slice_of
from gpudbg.errors import CommandError
from gpudbg.mem.surface_bounds import CLAMPS
from gpudbg.mem.surface_text import layout_data, steps
from gpudbg.regs.texheader_text import header_data, sampler_data, summary
from gpudbg.sm.images.access import InvalidAccess, OutsideLane, SurfaceAccess

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


@typed_row
class ImageRecord:
    """A surface or texture: how it lies in memory, and the words of its header."""

    name: str = column("Name")
    kind: str = column()
    dim: str = column("Dim")
    sizes: Sequence[int] = column("Size", Format(extents), key="")
    format: str = column("Format", key="")
    version: str = column("Layout", key="")
    block: str = column("Block", key="")
    handle: int = column("Handle", ADDRESS)
    at: int = column("Address", ADDRESS, key="")
    header_index: int = column()
    bytes: int = column()
    channels: int = column()
    dtype: str = column()
    shape: tuple[int, ...] = column(None, LIST)
    header: dict[str, Any] = column()
    header_words: list[str] = column()
    layout: dict[str, Any] = column()
    sampler: dict[str, Any] = column(default=ABSENT)
    disabled: bool = column(default=ABSENT)


def image_row(session: DebugSession, image: DeviceImage) -> ImageRecord:
    """An image as a record."""
    header, pools = image.header, session.grid.gpu.images
    block = f"{1 << header.block_height_log2}x{1 << header.block_depth_log2}"
    texture = image.kind == "texture"
    return ImageRecord(
        name=image.name,
        kind=image.kind,
        dim=image.options.dim,
        sizes=_sizes(image),
        format=f"{header.format.name} {header.type_name}",
        version=header.version,
        block=block if header.layout == "BLOCKLINEAR" else "-",
        handle=image.handle,
        at=header.address,
        header_index=image.index,
        bytes=image.nbytes,
        channels=image.channels,
        dtype=str(image.dtype),
        shape=image.shape,
        header=header_data(header),
        header_words=[f"0x{w:08x}" for w in header.words()],
        layout=layout_data(image.layout()),
        sampler=sampler_data(pools.sampler(image.handle >> 20)) if texture else ABSENT,
        disabled=ABSENT if texture else image.index in pools.disabled,
    )


def _list(session: DebugSession, kind: str) -> Table:
    found = (image_row(session, i) for i in images_of(session) if i.kind == kind)
    return Table(ImageRecord, tuple(found), empty=f"no {kind}s")


def _sizes(image: DeviceImage) -> list[int]:
    header = image.header
    sizes = {"x": header.width, "y": header.height, "z": header.slices, "l": header.layers}
    return [sizes[axis] for axis in header.axes]


def _describe(session: DebugSession, kind: str, argument: str) -> Table | Card:
    """The list, one image, or one texel."""
    words = _words(argument.replace(",", " "))
    if not words:
        return _list(session, kind)
    image = image_named(session, words[0], kind)
    if len(words) > 1:
        return _texel(session, image, _integers(words[1:]))
    head, content = summary(image.header), views.array_words(image.array())
    return Card(image_row(session, image), lambda row: _image_lines(row, head, content))


def _image_lines(image: ImageRecord, head: str, content: str) -> list[str]:
    lines = [f"{image.name}: {head}", f"  handle 0x{image.handle:x}"]
    if image.layout:
        lines.append("  " + ", ".join(f"{k} {v}" for k, v in image.layout.items()))
    if image.kind == "texture":
        s = image.sampler
        lines.append(f"  {'/'.join(s['address'])}, {s['mag_filter']}, {s['mip_filter']}")
    elif image.disabled:
        lines.append("  disabled: updates are dropped")
    return [*lines, f"  {content}"]


@typed_row
class WriterRow:
    """Who wrote a texel last."""

    pc: int = column()
    where: str = column()
    block: Dim3 = column(None, COORDINATES)
    thread: Dim3 = column(None, COORDINATES)
    count: int = column()


@typed_row
class TexelRow:
    """A texel, where it lies, and who wrote it last; `steps` lead to its address."""

    coords: dict[str, int] = column()
    value: Any = column()
    hex: str = column()
    offset: int = column()
    address: int = column()
    writer: WriterRow | None = column(None, ROWS)
    shown: str = column(key="")
    steps: tuple[str, ...] = column(key="")
    written: str = column(key="")

    def lines(self) -> list[str]:
        """The texel for people."""
        return [
            self.shown,
            f"  offset {self.offset}, address 0x{self.address:x}",
            *(f"    {step}" for step in self.steps),
            *([f"  {self.written}"] if self.written else []),
        ]


def _texel(session: DebugSession, image: DeviceImage, coords: list[int]) -> Card:
    at = texel_place(image, coords)
    values = slice_of(image, at["z"] or at["layer"])
    layout = image.layout()
    offset = int(layout.offset(at["x"] * layout.texel, at["y"], at["z"], at["layer"]))
    place = layout.place(offset)
    writer = last_writer(session, image, at["x"], at["y"], at["z"], at["layer"])
    texel = np.ascontiguousarray(values[at["y"], at["x"]])
    shown = views_image.texel_words(values, at["x"], at["y"])
    if image.options.format:
        shown += "  " + decoded_words(image, values, at["x"], at["y"])
    written = f"written by {writer.words()}" if writer else "not written in this run"
    row = TexelRow(
        coords=at,
        value=texel.tolist(),
        hex="0x" + texel.tobytes()[::-1].hex(),
        offset=offset,
        address=image.header.address + offset,
        writer=None
        if writer is None
        else WriterRow(writer.pc, writer.where, writer.block, writer.thread, writer.count),
        shown=shown,
        steps=tuple(steps(layout, place)) if place is not None else (),
        written=written if image.kind == "surface" else "",
    )
    return Card(row, TexelRow.lines)


@command(
    "info surfaces",
    "info surface",
    usage="info surfaces [NAME [X Y [Z]]]",
    help="surfaces: layout and format; one in full; one texel, its address and who wrote it last",
    group="status",
    completer=_names("surface"),
)
def info_surfaces(session: DebugSession, argument: str) -> Table | Card:
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
def info_textures(session: DebugSession, argument: str) -> Table | Card:
    """List textures, or explain one."""
    return _describe(session, "texture", argument)


@command(
    "info outside",
    "info clamps",
    usage="info outside [COUNT] [IGN|NEAR|TRAP]",
    help="surface accesses outside their surface: every lane, and what the clamp did to it",
    group="status",
)
def info_outside(session: DebugSession, argument: str) -> Card:
    """The last accesses outside a surface or through an invalid header."""
    unit = unit_of(session)
    words = argument.upper().split()
    clamps = [w for w in words if w in CLAMPS]
    numbers = _integers([w for w in words if w not in CLAMPS])
    count = numbers[0] if numbers else DEFAULT_ACCESSES
    log, totals = (list(unit.log), unit.outside) if unit is not None else ([], {})
    chosen = [a for a in log if not clamps or getattr(a, "clamp", "") in clamps]
    found = OutsideAccesses(
        totals=tuple(
            OutsideTotal(pc, session.symbols.describe_line(pc), clamp, lanes)
            for (pc, clamp), lanes in totals.items()
            if log
        ),
        last=tuple(_access(session, a) for a in (chosen[-count:] if count > 0 else ())),
        none=not log,
    )
    return Card(found, OutsideAccesses.lines)


@typed_row
class OutsideTotal:
    """Lanes outside their surface at one instruction."""

    pc: int = column()
    where: str = column()
    clamp: str = column()
    lanes: int = column()

    def __str__(self) -> str:
        return f"{self.lanes} lanes outside at {self.where}, clamp {self.clamp}"


@typed_row
class OutsideAccess:
    """An access of a warp; through an invalid header `why` says that nothing was done."""

    op: str = column()
    image: str = column()
    pc: int = column()
    where: str = column()
    sm: int = column()
    warp: int = column()
    block: Dim3 = column(None, COORDINATES)
    lanes: int = column(default=ABSENT)
    why: str = column(default=ABSENT)
    clamp: str = column(default=ABSENT)
    size: int = column(default=ABSENT)
    outside: tuple[OutsideLane, ...] = column(None, ROWS, default=ABSENT)

    def lines(self) -> list[str]:
        """The access for people."""
        head = f"{self.op} on {self.image} at {self.where}, block {self.block} warp {self.warp}"
        if self.why is not ABSENT:
            return [head, f"  {self.lanes.bit_count()} lanes did nothing: {self.why}"]
        return [f"{head}, clamp {self.clamp}", *map(str, self.outside)]


@typed_row
class OutsideAccesses:
    """Surface accesses outside their surfaces: how many by instruction, and the last ones."""

    totals: tuple[OutsideTotal, ...] = column(None, ROWS)
    last: tuple[OutsideAccess, ...] = column(None, ROWS)
    none: bool = column(key="")

    def lines(self) -> list[str]:
        """The accesses for people."""
        if self.none:
            return ["no surface access was outside its surface"]
        return [*map(str, self.totals), *(line for a in self.last for line in a.lines())]


def _access(session: DebugSession, access: SurfaceAccess | InvalidAccess) -> OutsideAccess:
    found = OutsideAccess(
        access.op,
        access.image.name,
        access.pc,
        session.symbols.describe_line(access.pc),
        access.sm,
        access.warp,
        access.block,
    )
    if isinstance(access, InvalidAccess):
        return replace(found, lanes=access.lanes, why=access.why)
    lanes = tuple(access.lanes_outside())
    return replace(found, clamp=access.clamp, size=access.size, outside=lanes)


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
def picture(session: DebugSession, argument: str) -> Card:
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
    window = views_image.PictureWindow(start[0], start[1], PICTURE_COLUMNS, PICTURE_ROWS, zoom)
    shades = shades_of(values)
    cells = views_image.pixel_cells(pixels_of(values, shades), window)
    black, white = f"{shades.low:g}", f"{shades.high:g}"
    shown = PictureRow(image.name, width, height, zoom, black, white, views_image.ansi(cells))
    return Card(shown, PictureRow.lines)


@typed_row
class PictureRow:
    """A picture of an image; `drawn` are its lines."""

    name: str = column()
    width: int = column()
    height: int = column()
    zoom: int = column()
    black: str = column(key="")
    white: str = column(key="")
    drawn: list[str] = column(key="")

    def lines(self) -> list[str]:
        """The picture below its name."""
        shades = f"{self.black} black to {self.white} white"
        return [f"{self.name} {self.width}x{self.height}, {shades}", *self.drawn]


@command(
    "export surface",
    "export texture",
    usage="export surface NAME FILE.png|FILE.npy [zoom N] [slice N]",
    help="write a surface or texture to a file",
    group="data",
    completer=_names(""),
)
def export_command(session: DebugSession, argument: str) -> Notice:
    """Write a file."""
    words = _words(argument)
    zoom, number = _option(words, "zoom", 1), _option(words, "slice", 0)
    if len(words) != 2:
        raise CommandError("export surface needs a name and a file")
    line = export_image(image_named(session, words[0]), words[1], number, zoom)
    return Notice(line, {"file": words[1], "name": words[0]})
