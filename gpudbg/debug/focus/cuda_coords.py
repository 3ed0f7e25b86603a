"""CUDA coordinates as cuda-gdb reads and writes them: focus queries, switches, filters.

One launch is kernel 0, grid 1, on device 0.  Hardware coordinates are device, sm, warp, lane;
software coordinates kernel, grid, block, thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from gpudbg.answers.words import dim
from gpudbg.dataclass import dataclass
from gpudbg.debug.focus.focus import Dim3, Focus, thread_of
from gpudbg.debug.views.format import parse_int
from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.sm.state import WarpState

NAMES = ("kernel", "grid", "block", "thread", "device", "sm", "warp", "lane")
"""Coordinates in the order cuda-gdb prints them."""
HARDWARE = frozenset(("device", "sm", "warp", "lane"))
DEVICE, KERNEL, GRID = 0, 0, 1
INVALID = "Invalid coordinates requested. CUDA focus unchanged."

Wanted = dict[str, "int | Dim3 | str"]
"""Coordinate -> number, triple, or one of the words current, all, any."""


@dataclass(frozen=True, slots=True)
class LanePlace:
    """A lane of a resident warp, by all its coordinates."""

    sm: int
    warp: int
    lane: int
    block: Dim3
    thread: Dim3
    state: WarpState

    def value(self, name: str) -> int | Dim3:
        """One coordinate by its name."""
        fixed = {"device": DEVICE, "kernel": KERNEL, "grid": GRID}
        found: int | Dim3 = fixed[name] if name in fixed else getattr(self, name)
        return found

    @property
    def focus(self) -> Focus:
        """The place as a focus."""
        return Focus(self.sm, self.warp, self.lane)


_WORD = re.compile(
    r"\s*(?P<name>[a-zA-Z_]+)"
    r"(?:\s*(?P<value>\(\s*\d[\d\s,]*\)|\d+(?:\s*,\s*\d+)*|current|all|any)(?![\w]))?\s*,?"
)


def parse_coords(text: str, extra: tuple[str, ...] = ()) -> tuple[list[str], Wanted]:
    """Coordinates named alone, and coordinates with values.

    Raises:
        CommandError: cuda-gdb's "Unrecognized argument(s)."
    """
    asked: list[str] = []
    wanted: Wanted = {}
    at = 0
    text = text.strip()
    while at < len(text):
        m = _WORD.match(text, at)
        if m is None or m["name"] not in (*NAMES, *extra):
            raise CommandError("Unrecognized argument(s).")
        at = m.end()
        if m["value"] is None:
            asked.append(m["name"])
            continue
        wanted[m["name"]] = _value(m["name"], m["value"])
    return asked, wanted


def _value(name: str, text: str) -> int | Dim3 | str:
    if text[0].isalpha():
        return text
    numbers = [parse_int(n, "coordinate") for n in re.findall(r"\d+", text)]
    if name in ("block", "thread"):
        if len(numbers) > 3:
            raise CommandError("Unrecognized argument(s).")
        x, y, z = [*numbers, 0, 0][:3]
        return (x, y, z)
    if len(numbers) != 1:
        raise CommandError("Unrecognized argument(s).")
    return numbers[0]


def places(inferior: Inferior) -> Iterator[LanePlace]:
    """Every lane of every resident warp that has not ended."""
    for warp in inferior.grid.warps():
        live = warp.valid & ~warp.exited
        for lane in range(32):
            if live >> lane & 1:
                yield LanePlace(
                    warp.sm, warp.slot, lane, warp.cta.block, thread_of(warp, lane), warp
                )


def current_coords(inferior: Inferior) -> LanePlace:
    """All coordinates of the focused lane.

    Raises:
        CommandError: "Focus is not set on any active CUDA kernel."
    """
    focus = inferior.focus
    if focus is None or inferior.finished:
        raise CommandError("Focus is not set on any active CUDA kernel.")
    warp = inferior.focused()
    return LanePlace(
        warp.sm, warp.slot, focus.lane, warp.cta.block, thread_of(warp, focus.lane), warp
    )


def fits(place: LanePlace, wanted: Mapping[str, int | Dim3 | str], here: LanePlace | None) -> bool:
    """Whether a lane has the wanted coordinates; `here` resolves the word `current`."""
    for name, value in wanted.items():
        if isinstance(value, str):
            if value != "current":
                continue
            if here is None:
                return False
            value = here.value(name)
        if place.value(name) != value:
            return False
    return True


def switch_to_coords(inferior: Inferior, wanted: Wanted) -> bool:
    """Move the focus to the fitting lane nearest to it; False when it is there already.

    Nearest is meant by hardware coordinates when any of those is wanted, else by block and thread.

    Raises:
        CommandError: no such lane.
    """
    here = current_coords(inferior)
    found = [p for p in places(inferior) if fits(p, wanted, here)]
    if not found:
        raise CommandError(INVALID)
    physical = bool(HARDWARE & set(wanted))

    def distance(p: LanePlace) -> tuple[int, ...]:
        if physical:
            pairs = [(p.sm, here.sm), (p.warp, here.warp), (p.lane, here.lane)]
        else:
            there = (*p.block[::-1], *p.thread[::-1])
            pairs = list(zip(there, (*here.block[::-1], *here.thread[::-1]), strict=True))
        return tuple(abs(a - b) for a, b in pairs)

    best = min(found, key=distance)
    if best.focus == here.focus:
        return False
    inferior.focus = best.focus
    inferior.frame_level = 0
    return True


def coords_words(place: LanePlace, names: tuple[str, ...] | list[str] = NAMES) -> str:
    """`block (0,0,0), thread (1,0,0), device 0, sm 0, warp 0, lane 1`"""
    parts = []
    for name in NAMES:
        if name in names:
            value = place.value(name)
            parts.append(f"{name} {dim(value) if isinstance(value, tuple) else value}")
    return ", ".join(parts)


def coords_fields(place: LanePlace) -> dict[str, str]:
    """cuda-gdb's `CudaFocus` fields, in its order."""
    return {
        "device": str(DEVICE),
        "sm": str(place.sm),
        "warp": str(place.warp),
        "lane": str(place.lane),
        "kernel": str(KERNEL),
        "grid": str(GRID),
        "blockIdx": dim(place.block),
        "threadIdx": dim(place.thread),
    }
