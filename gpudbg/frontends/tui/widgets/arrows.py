"""Branch arrows beside the code: lines from a branch to its target, short ones inside long ones."""

from __future__ import annotations

from collections.abc import Iterable

from gpudbg.dataclass import dataclass
from gpudbg.frontends.tui.glyphs import Glyphs
from gpudbg.frontends.tui.text import Span


@dataclass(frozen=True, slots=True)
class Jump:
    """A branch by rows of the code pane; `here` when it is the next instruction."""

    source: int
    target: int
    here: bool = False

    @property
    def low(self) -> int:
        """The upper row."""
        return min(self.source, self.target)

    @property
    def high(self) -> int:
        """The lower row."""
        return max(self.source, self.target)


def lanes(jumps: Iterable[Jump], count: int) -> dict[Jump, int]:
    """The lane of every jump that finds one, 0 nearest the code; the next branch always does."""
    out: dict[Jump, int] = {}
    for jump in sorted(jumps, key=lambda j: (not j.here, j.high - j.low, j.low)):
        busy = {k for j, k in out.items() if j.low <= jump.high and jump.low <= j.high}
        free = [k for k in range(count) if k not in busy]
        if free:
            out[jump] = free[0]
    return out


def draw(
    jumps: Iterable[Jump], first: int, rows: int, count: int, glyphs: Glyphs
) -> dict[int, tuple[Span, ...]]:
    """Spans of `count` + 1 columns for every row of a window that an arrow touches.

    Args:
        jumps: of the program or of the window.
        first, rows: the window.
        count: lanes.
    """
    seen = [j for j in jumps if j.low < first + rows and j.high >= first and j.low != j.high]
    grid: dict[int, list[tuple[str, bool]]] = {}
    # Long ones first: what is near the code is drawn over what is far.
    for jump, lane in sorted(lanes(seen, count).items(), key=lambda item: -item[1]):
        at = count - 1 - lane
        for line in range(max(jump.low, first), min(jump.high, first + rows - 1) + 1):
            cells = grid.setdefault(line, [(" ", False)] * (count + 1))
            end = line in (jump.source, jump.target)
            if not end:
                if cells[at][0] in (" ", glyphs.column):
                    cells[at] = (glyphs.column, jump.here)
                continue
            corner = glyphs.top_left if line == jump.low else glyphs.low_left
            cells[at] = (corner, jump.here)
            for n in range(at + 1, count + 1):
                cells[n] = (glyphs.rule, jump.here)
            if line == jump.target:
                cells[count] = (glyphs.pc, jump.here)
    return {
        line: tuple((text, "now" if here else "dim") for text, here in cells)
        for line, cells in grid.items()
    }
