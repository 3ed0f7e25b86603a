"""Beside a surface's picture: the texel under the cursor, all surfaces, lanes that were outside."""

from __future__ import annotations

import textwrap

from gpudbg.debug.pictures import DIDS, ImagePicture, Writer
from gpudbg.frontends.tui.appearance import Appearance
from gpudbg.frontends.tui.text import Row, row
from gpudbg.frontends.tui.view import ScreenView
from gpudbg.frontends.tui.widgets.base import Content, LinePane
from gpudbg.frontends.tui.widgets.surface import SurfacePane, _code

LABEL = 10
SMALL = 8
"""Below this many rows the cursor pane says the least."""


def coordinates(value: tuple[int, int, int]) -> str:
    """`3,0`; `3,0,1` where z counts."""
    return ",".join(map(str, value if value[2] else value[:2]))


def writer_words(writer: Writer) -> tuple[str, str]:
    """Where and who."""
    who = f"block {coordinates(writer.block)} thread {coordinates(writer.thread)}"
    return writer.where, f"{who}, warp {writer.warp} lane {writer.lane}"


class CursorPane(LinePane):
    """The texel under the cursor: value, place in memory, last writer."""

    number, title, pane = "2", "Cursor", "surfacecursor"
    empty = "A texel under the cursor shows here."

    def __init__(self, appearance: Appearance, source: SurfacePane) -> None:
        super().__init__(appearance)
        self.source = source

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """Label and words; the least in a few rows."""
        picture = view.image
        if picture is None:
            return Content(())
        x, y = self.source.here
        x, y = min(x, picture.width - 1), min(y, picture.height - 1)
        if height < SMALL:
            return Content(self._small(picture, x, y, width))
        rows: list[Row] = []
        number = picture.rows[picture.index]
        rows += self._line("Format", f"{number.format}, {number.dim} {number.size}", width, "text")
        rows += self._line("Layout", self._layout(picture), width, "text")
        if picture.modes:
            rows += self._line("Sampler", picture.modes, width, "text")
        rows += [Row(), *self._texel(picture, x, y, width), Row()]
        for label, words in picture.place_words(x, y):
            rows += self._line(label, words, width, "text")
        rows += [Row(), *self._written(picture, x, y, width)]
        fresh = int(picture.fresh.sum())
        if fresh:
            words = f"{fresh:,} texels since the stop before"
            rows += self._line("New", words, width, "now")
        return Content(rows, "under the mouse" if self.source.hover is not None else "")

    def _line(self, label: str, words: str, width: int, style: str) -> list[Row]:
        parts = textwrap.wrap(words, max(width - LABEL - 2, 12)) or [""]
        return [
            row((f" {label if not n else '':{LABEL}}", "muted"), (part, style))
            for n, part in enumerate(parts)
        ]

    def _layout(self, picture: ImagePicture) -> str:
        layout = picture.image.layout()
        if layout.kind == "PITCH":
            return f"pitch {layout.pitch:,} B"
        if layout.kind != "BLOCKLINEAR":
            return "linear"
        high, deep = 1 << layout.height_log2, 1 << layout.depth_log2
        shape = f"GOB 64 B x 8, block {high} high"
        return f"block linear, {shape}" + (f" {deep} deep" if deep > 1 else "")

    def _texel(self, picture: ImagePicture, x: int, y: int, width: int) -> list[Row]:
        swatch = _code(self.source.pixels(picture)[y, x])
        plain = self.appearance.palette.plain or self.appearance.glyphs.name == "ascii"
        box = () if plain else (("  ", f"{swatch}/{swatch}"), ("  ", "text"))
        texel = row((f" {'Texel':{LABEL}}", "muted"), *box, (f"{x}, {y}", "you.b"))
        fresh = "now" if picture.fresh[y, x] else "text"
        rows = [texel, *self._line("Value", f"0x{picture.hex(x, y)}", width, fresh)]
        decoded = picture.decoded(x, y)
        return rows + (self._line("", decoded, width, fresh) if decoded else [])

    def _written(self, picture: ImagePicture, x: int, y: int, width: int) -> list[Row]:
        writer = picture.writer(x, y)
        if writer is None:
            words = "never in this run" if picture.image.kind == "surface" else "by no kernel"
            return self._line("Written", words, width, "muted")
        where, who = writer_words(writer)
        rows = self._line("Written", where, width, "text") + self._line("", who, width, "text")
        if writer.count > 1:
            rows += self._line("", f"{writer.count:,} writes so far", width, "muted")
        return rows

    def _small(self, picture: ImagePicture, x: int, y: int, width: int) -> list[Row]:
        decoded = picture.decoded(x, y)
        place = dict(picture.place_words(x, y))
        inside = (
            f"  block {place['Block'].split()[0]}  GOB {place['GOB'].split()[0]}"
            if ("Block" in place)
            else ""
        )
        writer = picture.writer(x, y)
        words = "  ".join(writer_words(writer)) if writer is not None else "never in this run"
        return [
            row(
                (" Texel    ", "muted"),
                (f"{x}, {y}  ", "you.b"),
                (f"0x{picture.hex(x, y)}  {decoded}", "text"),
            ),
            row((" Offset   ", "muted"), (f"{place['Offset']}{inside}", "text")),
            row((" Written  ", "muted"), (words, "text")),
        ]


class ImagesPane(LinePane):
    """Every surface and texture of the launch."""

    number, title, pane = "3", "Surfaces and textures", "surfacelist"
    empty = "No surfaces and no textures. A launch table or `--arg` makes them."

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """A row each."""
        picture = view.image
        if picture is None:
            return Content(())
        g = self.appearance.glyphs
        rows = [
            row(
                (f" {g.pc if n == picture.index else ' '} ", "you"),
                (f"{image.name:9} ", "text.b" if n == picture.index else "text"),
                (f"{image.kind:8} {image.size:9} ", "text"),
                (image.format, "muted"),
                key=("image", image.name),
            )
            for n, image in enumerate(picture.rows)
        ]
        return Content(rows, str(len(rows)))


class OutsidePane(LinePane):
    """Accesses outside the surface: instruction, clamp, lanes, and what was done to each."""

    number, title, pane = "4", "Outside", "surfaceoutside"
    empty = "No access was outside this image."

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """By instruction; the lanes of its last access below."""
        picture = view.image
        if picture is None:
            return Content(())
        rows: list[Row] = []
        for found in picture.outside:
            rows.append(
                row(
                    (f" {found.clamp:5}", "stop.b"),
                    (found.where, "text"),
                    key=("pc", found.pc),
                )
            )
            words = f"{found.lanes:,} lanes {DIDS[found.clamp]}"
            rows.append(row((f"      {words}", "muted")))
        for found in picture.outside:
            rows += [Row(), row((f"  lane  last {found.clamp}: {found.warp}", "muted"))]
            for lane in found.last:
                at = " ".join(f"{k} {v}" for k, v in lane.coords.items())
                rows.append(row((f"  {lane.lane:4}  ", "muted"), (f"{at}: {lane.did}", "text")))
        total = sum(r.lanes for r in picture.outside)
        return Content(rows, f"{total:,} lanes" if total else "")
