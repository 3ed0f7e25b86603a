"""Makes the accesses of findings: who, and where in the source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Protocol

from gpudbg.debug.symbols import Symbols
from gpudbg.sanitizer.findings import FindingAccess
from gpudbg.symbols.lane_reasons import LaneReasons


class InWarp(Protocol):
    """A warp, which may have ended."""

    @property
    def block(self) -> tuple[int, int, int]:
        """Coordinates of its CTA."""

    @property
    def index(self) -> int:
        """In its CTA."""

    def thread(self, lane: int) -> tuple[int, int, int]:
        """Coordinates of a lane."""


class AccessPlaces:
    """Makes accesses for findings of one launch.

    Attributes:
        base: code address that offsets of its stops are from.
        reasons: why lanes part, how addresses lie, as far as the code says.
    """

    def __init__(
        self,
        symbols: Symbols,
        threads: tuple[int, int, int],
        outlined: Callable[[], Mapping[int, int]] = dict,
    ) -> None:
        """Args:
        threads: of a block.
        outlined: code that belongs to another place's line (`hand_over.outlined`).
        """
        self.reasons = LaneReasons.of_launch(symbols.image, symbols.kernel, threads)
        self._symbols, self._outlined = symbols, cache(outlined)
        self.base = symbols.base
        self._rows: dict[int, tuple[int, str, str | None, int | None, tuple[str, ...]]] = {}

    def row(self, pc: int) -> tuple[int, str, str | None, int | None, tuple[str, ...]]:
        """(offset, function, file, line, inlined calls) of a code address."""
        found = self._rows.get(pc)
        if found is None:
            place = self._symbols.place(self._outlined().get(pc, pc))
            where = self._symbols.image.section_offset(pc)
            found = self._rows[pc] = (
                where[1] if where is not None else pc,
                self._symbols.function(pc) or self._symbols.kernel.name,
                _as_written(place.file),
                place.line,
                tuple(str(site) for site in place.inlined_at),
            )
        return found

    def parted(self, pc: int) -> str:
        """Why only some lanes of a warp come to a code address, as far as the code says."""
        return self.reasons.parted(pc - self.base)

    def lanes(self, pc: int) -> str:
        """How the lanes of an access's address lie, and what parts them, as far as known."""
        offset = pc - self.base
        found = self.reasons.address(offset), self.reasons.parted(offset)
        return ", ".join(text for text in found if text)

    def access(self, kind: str, pc: int, warp: InWarp, lane: int, **more: Any) -> FindingAccess:
        """An access of a lane; `more`: the other fields of `Access`."""
        return self.access_of(kind, pc, warp.block, warp.thread(lane), lane, warp.index, **more)

    def access_of(
        self,
        kind: str,
        pc: int,
        block: tuple[int, int, int],
        thread: tuple[int, int, int],
        lane: int,
        warp: int,
        **more: Any,
    ) -> FindingAccess:
        """An access of a thread that may have ended."""
        offset, function, file, line, inlined = self.row(pc)
        return FindingAccess(
            kind, pc, offset, function, file, line, inlined, block, thread, lane, warp, **more
        )


def _as_written(file: str | None) -> str | None:
    """A source's name; NVRTC records `k.cu` as `/k.cu`."""
    if file is not None and file.startswith("/") and "/" not in file[1:]:
        return file[1:]
    return file
