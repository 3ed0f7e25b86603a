"""Wait-for lines in a deadlock of warps whose lanes have pcs of their own (sm_70 and later).

The machine names warps and CTA barriers; each waiting group of lanes adds a line: where it waits,
and for which lanes.  Warps with a divergence stack wait at barriers as a whole: nothing is added.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from gpudbg.answers.words import dim, lane_list
from gpudbg.debug.values.lane_groups import lane_groups

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior

MOST_LINES: Final = 12


def group_lines(inferior: Inferior) -> tuple[str, ...]:
    """A line for each waiting group of the warps that are not at a CTA barrier as a whole."""
    found = list(_lines(inferior))
    more = len(found) - MOST_LINES
    return (
        *found[:MOST_LINES],
        *([f"  waits   … {more} more groups of lanes"] if more > 0 else []),
    )


def _lines(inferior: Inferior) -> Iterator[str]:
    symbols = inferior.symbols
    for warp in inferior.grid.warps():
        groups = lane_groups(warp)
        if len(groups) == 1 and groups[0].state == "barrier":
            continue
        for group in groups:
            if group.waiting:
                where = symbols.describe_line(symbols.layout.before(group.pc))
                many = "s" if group.mask.bit_count() > 1 else ""
                yield (
                    f"  waits   warp {warp.slot} of block {dim(warp.cta.block)}, "
                    f"lane{many} {lane_list(group.mask)} at {where}: {group.words}"
                )
