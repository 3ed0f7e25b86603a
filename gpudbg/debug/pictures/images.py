"""A slice of a surface or texture and its writers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpudbg.answers.words import extents
from gpudbg.dataclass import dataclass
from gpudbg.debug.launched import launch_shape
from gpudbg.debug.values.images import images_of, place_words, unit_of
from gpudbg.debug.values.outside import OutsideRow, outside_of
from gpudbg.device import Shades, components, decoded_words, shades_of, slice_of

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.device import DeviceImage

SLICES = {"z": "z slice", "l": "layer"}
DIDS = {"IGN": "dropped or read as 0", "NEAR": "moved to the edge", "TRAP": "trapped"}
"""What each clamp does to a lane outside, in words."""


@dataclass(frozen=True, slots=True)
class ImageRow:
    """One surface or texture of the list; `slices` are its layers, faces or z slices."""

    name: str
    kind: str
    dim: str
    size: str
    format: str
    slices: int


@dataclass(frozen=True, slots=True)
class Writer:
    """Who wrote a texel last: thread, lane, instruction; `count` writes so far."""

    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    warp: int
    lane: int
    pc: int
    where: str
    count: int


@dataclass(frozen=True, slots=True)
class ImagePicture:
    """A slice as it is at a stop.

    Attributes:
        image: the surface or texture; only what never changes of it is read here.
        rows, index: all of them, and which is shown.
        number: of the slice; `slice_word` says what a slice is.
        values: raw numbers, (height, width, channels); `shown` the channels that make colours.
        shades: the range of the colours.
        fresh: texels written since the stop before.
        writers: pc, CTA, thread and count by texel, or None where memory was never written.
        outside: instructions with lanes outside, `edges` the rows and columns they missed, by side.
        modes: address modes and filter of a texture.
    """

    image: DeviceImage
    rows: tuple[ImageRow, ...]
    index: int
    number: int
    slice_word: str
    values: npt.NDArray[Any]
    shown: npt.NDArray[Any]
    shades: Shades
    fresh: npt.NDArray[np.bool_]
    writers: dict[str, npt.NDArray[Any]] | None
    outside: tuple[OutsideRow, ...]
    edges: dict[str, frozenset[int]]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    describe: Callable[[int], str]
    modes: str = ""

    @property
    def height(self) -> int:
        """Rows of texels."""
        return int(self.values.shape[0])

    @property
    def width(self) -> int:
        """Texels of a row."""
        return int(self.values.shape[1])

    def hex(self, x: int, y: int) -> str:
        """A texel's bytes, highest first."""
        return np.ascontiguousarray(self.values[y, x]).tobytes()[::-1].hex()

    def number_text(self, x: int, y: int) -> str:
        """A texel's numbers as the array has them."""
        texel = self.values[y, x]
        return " ".join(f"{v:g}" if texel.dtype.kind == "f" else str(v) for v in texel.tolist())

    def decoded(self, x: int, y: int) -> str:
        """A texel by its format."""
        return decoded_words(self.image, self.values, x, y)

    def place_words(self, x: int, y: int) -> list[tuple[str, str]]:
        """(label, words) of how the texel's offset comes about."""
        z, layer = (self.number, 0) if self.slice_word == SLICES["z"] else (0, self.number)
        return place_words(self.image, x, y, z, layer)

    def writer(self, x: int, y: int) -> Writer | None:
        """Who wrote a texel last."""
        found = self.writers
        if found is None or not found["count"][y, x]:
            return None
        pc, thread = int(found["pc"][y, x]), int(found["thread"][y, x])
        return Writer(
            _unlinear(int(found["cta"][y, x]), self.grid),
            _unlinear(thread, self.block),
            thread // 32,
            thread % 32,
            pc,
            self.describe(pc),
            int(found["count"][y, x]),
        )


def _unlinear(number: int, sizes: tuple[int, int, int]) -> tuple[int, int, int]:
    x, y, _ = sizes
    return number % x, number // x % y, number // (x * y)


@dataclass(slots=True)
class ImageTaker:
    """Takes pictures of one session; remembers counts of writes to tell what is fresh."""

    session: DebugSession
    _now: dict[int, npt.NDArray[Any]] = field(default_factory=dict)
    _before: dict[int, npt.NDArray[Any]] = field(default_factory=dict)
    _stop: int = -1

    def take(self, name: str, number: int, stop: int) -> ImagePicture | None:
        """The picture of an image, the first where none has the name; None without images.

        Args:
            name: of the image.
            number: of the slice; beyond the last, the last.
            stop: counts stops; with a new one, what was new becomes old.
        """
        s = self.session
        images = images_of(s)
        if not images:
            return None
        if stop != self._stop:
            self._stop, self._before = stop, dict(self._now)
        index = next((n for n, i in enumerate(images) if i.name == name), _first(images))
        image = images[index]
        header = image.header
        rows = tuple(map(_row, images))
        number = max(0, min(number, rows[index].slices - 1))
        values = slice_of(image, number)
        shown = components(image, values)
        writers, fresh = self._writers(image, number, values.shape[:2])
        outside, edges = outside_of(s, image)
        modes = ""
        if image.kind == "texture":
            o = image.options
            modes = (
                f"{o.address if isinstance(o.address, str) else '/'.join(o.address)}, {o.filter}"
            )
            modes += ", normalized" if o.normalized else ""
        launch = launch_shape(s)
        axis = "z" if "z" in header.axes else "l"
        return ImagePicture(
            image, rows, index, number, SLICES[axis], values, shown, shades_of(shown), fresh,
            writers, outside, edges, launch.grid, launch.block, s.symbols.describe_line, modes,
        )  # fmt: skip

    def _writers(
        self, image: DeviceImage, number: int, shape: tuple[int, int]
    ) -> tuple[dict[str, npt.NDArray[Any]] | None, npt.NDArray[np.bool_]]:
        unit = unit_of(self.session)
        found = unit.writers.get(image.index) if unit is not None else None
        if found is None:
            self._now.pop(image.index, None)
            return None, np.zeros(shape, np.bool_)
        self._now[image.index] = found.count.copy()
        before = self._before.get(image.index)
        at = (0, number) if "z" in image.header.axes else (number, 0)
        parts = {n: getattr(found, n)[at].copy() for n in ("pc", "cta", "thread", "count")}
        old = before[at] if before is not None else np.zeros_like(parts["count"])
        return parts, parts["count"] != old


def _first(images: list[DeviceImage]) -> int:
    """The surface a kernel most likely writes: the last one; the last texture without any."""
    surfaces = [n for n, i in enumerate(images) if i.kind == "surface"]
    return (surfaces or list(range(len(images))))[-1]


def _row(image: DeviceImage) -> ImageRow:
    header = image.header
    sizes = {"x": header.width, "y": header.height, "z": header.slices, "l": header.layers}
    slices = max(int(np.prod(image.shape[: len(image.shape)])), 1)
    slices //= max(header.width * header.height * image.channels, 1)
    return ImageRow(
        image.name,
        image.kind,
        image.options.dim,
        extents([sizes[axis] for axis in header.axes]),
        f"{header.format.name} {header.type_name}",
        max(slices, 1),
    )
