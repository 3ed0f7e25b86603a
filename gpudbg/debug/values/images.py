"""Textures and surfaces of the inferior's device: found by name, and who wrote a texel last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass
from gpudbg.errors import CommandError
from gpudbg.mem.surface import GOB_BYTES
from gpudbg.sm.images.unit import ImageUnit

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.device.images import DeviceImage


def images_of(inferior: Inferior) -> list[DeviceImage]:
    """The textures and surfaces of a session's device; none where it has no device of ours."""
    loaded = getattr(inferior.launch, "loaded", None)
    return list(loaded.device.images) if loaded is not None else []


def image_named(inferior: Inferior, name: str, kind: str = "") -> DeviceImage:
    """A texture or surface by name, handle or header index.

    Raises:
        CommandError: there is none.
    """
    found = [i for i in images_of(inferior) if not kind or i.kind == kind]
    for image in found:
        if name in (image.name, f"0x{image.handle:x}", str(image.index)):
            return image
    known = ", ".join(i.name for i in found) or "none"
    raise CommandError(f"no {kind or 'texture or surface'} {name!r}", f"there are: {known}")


def unit_of(inferior: Inferior) -> ImageUnit | None:
    """The texture and surface unit of a session's launch."""
    unit = inferior.grid.engine.images
    return unit if isinstance(unit, ImageUnit) else None


@dataclass(frozen=True, slots=True)
class LastWriter:
    """Who wrote a texel last in this run.

    Attributes:
        pc: code address of the store, reduction or atomic.
        where: the same in words.
        block, thread: coordinates.
        count: writes to the texel so far.
    """

    pc: int
    where: str
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    count: int

    def words(self) -> str:
        """One line."""
        times = f", write {self.count} of this texel" if self.count > 1 else ""
        return f"block {self.block} thread {self.thread} at {self.where}{times}"


def _unlinear(number: int, sizes: tuple[int, int, int]) -> tuple[int, int, int]:
    x, y, _ = sizes
    return number % x, number // x % y, number // (x * y)


def last_writer(
    inferior: Inferior, image: DeviceImage, x: int, y: int = 0, z: int = 0, layer: int = 0
) -> LastWriter | None:
    """The last writer of a texel in this run, or None."""
    unit = unit_of(inferior)
    found = unit.writers.get(image.index) if unit is not None else None
    if found is None or not found.count[layer, z, y, x]:
        return None
    place = (layer, z, y, x)
    pc = int(found.pc[place])
    return LastWriter(
        pc,
        inferior.symbols.describe_line(pc),
        _unlinear(int(found.cta[place]), inferior.grid.grid),
        _unlinear(int(found.thread[place]), inferior.grid.block),
        int(found.count[place]),
    )


def place_words(image: DeviceImage, x: int, y: int, z: int, layer: int) -> list[tuple[str, str]]:
    """(label, words) of how a texel's offset comes about."""
    layout = image.layout()
    offset = int(layout.offset(x * layout.texel, y, z, layer))
    out = [("Offset", f"0x{offset:x}"), ("Address", f"0x{image.header.address + offset:x}")]
    if layout.layers > 1:
        out.append(("Layer", f"{layer}  + 0x{layer * layout.layer_bytes:x}"))
    place = layout.place(offset)
    if place is None or place.block is None:
        if layout.kind == "PITCH":
            row = f"{y} x pitch {layout.pitch} + byte {x * layout.texel}"
            out.append(("Row", row))
        return out
    number, (bx, by, bz) = place.block
    column, line = place.gob_xy
    inner = offset % GOB_BYTES
    raw = int(layout.offset(x * layout.texel, y, z, layer, "raw16bx2"))
    return [
        *out,
        ("Block", f"{number} at {bx},{by},{bz}  + 0x{number * layout.block_bytes:x}"),
        ("GOB", f"{place.gob} of the block  + 0x{place.gob * GOB_BYTES:x}"),
        ("Byte", f"column {column} row {line}  + 0x{inner:x}"),
        ("Raw view", f"0x{raw:x} (16Bx2)"),
    ]
