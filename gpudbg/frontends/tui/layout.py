"""Where every pane stands: a pure function of the terminal's size and the launch.

Heights depend on the launch (warps of an SM, registers of the kernel), never on the stop, so a
step moves nothing.  A slot shows one of several panes; the others stand in its title.  `Changes`
are what the user made of an arrangement; `changed.py` lays them over it.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpudbg.dataclass import dataclass

CODE_SLOT = ("code", "source")
SOURCE_SLOT = ("source", "code")
MEMORY_SLOT = ("memory", "output", "stops", "watch", "marks", "notes")
VALUES_SLOT = ("registers", "variables", "output", "matrix")
NAMES = ("variables", "frames")
PATHS = ("paths", "frames")
MIDDLE_SLOT = ("lanes", "warps", "paths", "registers", *NAMES, *MEMORY_SLOT, "matrix")
ORDER = ("source", "code", "lanes", "warps", "paths", "frames", "registers", "variables", "memory",
         "stops", "watch", "output", "marks", "notes", "matrix", "console")  # fmt: skip
"""Tab order."""

LANE_COLUMNS = 16 + 32 + 13
"""A name, 32 lanes, words about them."""

Parts = list[tuple[tuple[str, ...], int]]
Rect = tuple[int, int, int, int]
"""x, y, width, height."""


@dataclass(frozen=True, slots=True)
class LayoutShape:
    """What heights depend on: warps an SM holds, registers of the kernel."""

    warps: int
    registers: int


@dataclass(frozen=True, slots=True)
class PaneSlot:
    """A place on the screen and the panes that can stand in it."""

    panes: tuple[str, ...]
    rect: Rect


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Slots, the fixed rows, and the vertical line (None: one column)."""

    size: str
    slots: tuple[PaneSlot, ...]
    rows: dict[str, Rect]
    splitter: Rect | None = None

    def slot_of(self, pane: str) -> PaneSlot | None:
        """The slot a pane can stand in."""
        return next((s for s in self.slots if pane in s.panes), None)


PRESETS: dict[str, tuple[tuple[str, ...], ...]] = {
    "default": (),
    "asm": (CODE_SLOT, ("console",)),
    "src": (SOURCE_SLOT, ("console",)),
    "split": (("source",), ("code",), ("console",)),
    "source": (("source",), ("code",), NAMES, ("console",)),
    "cmd": (("console",),),
    "regs": (("registers", "warps", "paths"), CODE_SLOT, ("console",)),
}
"""gdb's layouts: panes from the top; nothing is all panes, as the terminal has room."""

BARE = ("asm", "split", "source")
"""Layouts whose code pane has no source lines among the instructions."""


SIZES = ("small", "medium", "large")
"""Classes of terminals: what is changed in one class says nothing of another."""


def size_of(width: int) -> str:
    """The class of a terminal."""
    return SIZES[(width >= 110) + (width >= 180)]


def arrange(
    width: int,
    height: int,
    shape: LayoutShape,
    split: int | None = None,
    preset: str = "default",
    notes: bool = False,
) -> Arrangement:
    """The arrangement for a terminal of `width` x `height`.

    Args:
        split: column of the vertical line, where it was dragged.
        notes: those of a story are shown: a paragraph and the result of a command have room,
            and the console, which says the same, is low.
    """
    stacked = PRESETS.get(preset, ())
    if preset == "source":
        return _source_first(width, height)
    if stacked:
        return _preset(width, height, stacked)
    if width < 110:
        return _one_column(width, height, shape, notes)
    return _two_columns(width, height, shape, split, notes)


def _preset(width: int, height: int, stacked: tuple[tuple[str, ...], ...]) -> Arrangement:
    rows, top = _rows(width, height, bar=height >= 32)
    room = max(height - top - 1, 3 * len(stacked))
    proportions = {1: (10,), 2: (7, 3), 3: (4, 4, 2)}[len(stacked)]
    heights = [max(room * proportion // 10, 3) for proportion in proportions[:-1]]
    heights.append(room - sum(heights))
    parts: Parts = list(zip(stacked, heights, strict=True))
    return Arrangement(size_of(width), _stack(parts, 0, top, width), rows)


def _source_first(width: int, height: int) -> Arrangement:
    """The source-first arrangement: source large, instructions below; variables, frames and warps
    beside.
    """
    rows, top = _rows(width, height, bar=height >= 24)
    room = max(height - top - 1, 12)
    console = max(3, room // 6)
    folded = max(4, min(room // 5, 8))
    if width < 110:
        names = max(5, room // 3)
        folded = 3 if height < 32 else folded
        upper: Parts = [
            (("source",), room - folded - names - console), (("code",), folded),
            ((*NAMES, "registers", *MEMORY_SLOT), names), (("console",), console),
        ]  # fmt: skip
        return Arrangement(size_of(width), _stack(upper, 0, top, width), rows)
    # Keep room for the lanes beside names and words, as in the other layouts.
    left = min(width * 11 // 20, width - LANE_COLUMNS - 1)
    right, x = width - left - 1, left + 1
    frames = max(4, room // 6)
    warps = max(4, room // 4)
    slots = [
        *_stack(
            [
                (("source",), room - folded - console),
                (("code",), folded),
                (("console",), console),
            ],
            0, top, left,
        ),
        *_stack(
            [
                (("variables", "registers", *MEMORY_SLOT), room - frames - warps),
                (("frames",), frames),
                (("warps", "paths"), warps),
            ],
            x, top, right,
        ),
    ]  # fmt: skip
    return Arrangement(size_of(width), tuple(slots), rows, (left, top, 1, room))


def _rows(width: int, height: int, bar: bool) -> tuple[dict[str, Rect], int]:
    names = ["appbar"] * bar + ["stopline", "strip"]
    rows = {name: (0, y, width, 1) for y, name in enumerate(names)}
    rows["keys"] = (0, height - 1, width, 1)
    return rows, len(names)


def _one_column(width: int, height: int, shape: LayoutShape, notes: bool) -> Arrangement:
    rows, top = _rows(width, height, bar=height >= 32)
    room = max(height - top - 1, 6)
    if height < 32:
        console = 3
        middle = max(min(8 + (room - 21) // 3, 14), 3) if room >= 16 else 5
        if notes and room >= 16:
            middle = max(middle, (room - console) * 11 // 18)
        code = room - console - middle
        parts: Parts = [(CODE_SLOT, code), (MIDDLE_SLOT, middle), (("console",), console)]
        return Arrangement("small", _stack(parts, 0, top, width), rows)
    console = max(room // 6, 4)
    warps = min(max(shape.warps + 1, 3), room // 5)
    code = room * (3 if notes else 4) // 10
    rest = room - console - warps - code
    parts = [
        (CODE_SLOT, code),
        (("warps", "paths"), warps),
        (("registers", *NAMES, *MEMORY_SLOT, "matrix"), rest),
        (("console",), console),
    ]
    return Arrangement("small", _stack(parts, 0, top, width), rows)


def _two_columns(
    width: int, height: int, shape: LayoutShape, split: int | None, notes: bool
) -> Arrangement:
    rows, top = _rows(width, height, bar=height >= 24)
    room = height - top - 1
    lanes = 16 + 64 + 16 if width >= 180 else LANE_COLUMNS
    left = width - lanes - 1
    if split is not None:
        left = max(40, min(split, width - 16 - 32 - 8))
    right = width - left - 1
    slots = [
        *_left(room, left, top, height, notes),
        *_right(room, left + 1, right, top, shape, height),
    ]
    return Arrangement(size_of(width), tuple(slots), rows, (left, top, 1, room))


def _left(room: int, width: int, top: int, height: int, notes: bool) -> list[PaneSlot]:
    console = max(3, min(room * 8 // 36, 12))
    memory = max(3, min(room * 7 // 36, 14)) if height >= 30 else 0
    if notes and memory:
        console, memory = max(3, room * 4 // 36), max(room * 15 // 36, memory)
    code = room - console - memory
    out = [PaneSlot(CODE_SLOT, (0, top, width, code))]
    y = top + code
    if memory and width >= 100 and not notes:
        half = 58
        out.append(PaneSlot(("memory", "watch", "marks", "notes"), (0, y, half, memory)))
        out.append(PaneSlot(("stops", "output"), (half, y, width - half, memory)))
    elif memory:
        out.append(PaneSlot(MEMORY_SLOT, (0, y, width, memory)))
    out.append(PaneSlot(("console",), (0, y + memory, width, console)))
    return out


def _right(
    room: int, x: int, width: int, top: int, shape: LayoutShape, height: int
) -> list[PaneSlot]:
    if height < 30:
        warps = min(max(shape.warps + 1, 3), max(room // 4, 3))
        return list(
            _stack(
                [
                    (("warps", "paths"), warps),
                    (("registers", *NAMES, *MEMORY_SLOT, "matrix"), room - warps),
                ],
                x,
                top,
                width,
            )
        )
    paths = 6
    # Title, a row for each, and two for why the one under the cursor does not run.
    warps = min(max(shape.warps + 3, 4), 15 if height < 50 else 22)
    wanted = shape.registers + 7 + 4 + 4
    free = room - warps - paths
    extra = free - wanted
    if extra < 5:
        parts: Parts = [(("warps",), warps), (PATHS, paths), (VALUES_SLOT, free)]
        return list(_stack(parts, x, top, width))
    if extra >= 12:
        # Rows to spare: open two more panes.
        low = extra // 2
        lower: Parts = [(("watch", "marks"), extra - low), (("output", "stops"), low)]
    else:
        panes = (
            ("output", "watch", "stops", "marks") if width < 90 else ("watch", "output", "marks")
        )
        extra = min(extra, max(room // 4, 6))
        lower = [(panes, extra)]
    parts = [
        (("warps",), warps),
        (PATHS, paths),
        (VALUES_SLOT, free - extra),
        *lower,
    ]
    return list(_stack(parts, x, top, width))


def _stack(
    parts: Sequence[tuple[tuple[str, ...], int]], x: int, top: int, width: int
) -> tuple[PaneSlot, ...]:
    out = []
    y = top
    for panes, height in parts:
        out.append(PaneSlot(panes, (x, y, width, height)))
        y += height
    return tuple(out)


def zoomed(arrangement: Arrangement, pane: str) -> Rect:
    """The rectangle of a zoomed pane: everything between the fixed rows."""
    top = sum(1 for name in arrangement.rows if name != "keys")
    _, y, width, _ = arrangement.rows["keys"]
    return (0, top, width, y - top)


def choose(arrangement: Arrangement, chosen: dict[PaneSlot, str] | None = None) -> dict[str, Rect]:
    """Which pane stands where: each slot's chosen pane, every pane at most once."""
    out: dict[str, Rect] = {}
    for slot in arrangement.slots:
        wanted = (chosen or {}).get(slot, "")
        order = [wanted, *slot.panes] if wanted in slot.panes else list(slot.panes)
        pane = next((p for p in order if p not in out), None)
        if pane is not None:
            out[pane] = slot.rect
    return out
