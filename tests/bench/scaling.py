"""Cost against the size of the grid (1 to 65,536 blocks) and against divergence (1 to 32 paths).

    python tests/bench/scaling.py [--out FOLDER] [--reps 5]

Prints both tables and writes scaling.svg and scaling.json.  Both must be linear: what each further
block or path costs stays the same once the fixed cost of a run no longer shows.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import numpy as np  # noqa: E402

CUBINS = HERE.parent / "data" / "bench" / "cubin"
OUT = HERE.parents[1] / "build" / "bench"
"""Where results go unless one says otherwise; git ignores it."""
BLOCKS = tuple(1 << n for n in range(0, 17, 2))
PATHS = (1, 2, 4, 8, 16, 32)

Point = tuple[int, float]


def divergent_kernel() -> str:
    """A kernel whose lanes take `mask + 1` paths (a power of 2), each a loop of its own."""
    lines = [".arch sm_50", ".kernel paths", ".param mask 4", ".param rounds 4"]
    lines += ["    S2R R0, SR_LANEID ;", "    LOP.AND R1, R0, c[0x0][mask] ;"]
    lines += ["    MOV R2, c[0x0][rounds] ;", "    SSY end ;"]
    for path in range(1, 32):
        lines.append(f"    ISETP.EQ.U32.AND P0, PT, R1, {path:#x}, PT ;")
        lines.append(f"    @P0 BRA path{path} ;")
    for path in range(32):
        lines.append(f"path{path}:")
        lines += [f"    IADD R{3 + n % 4}, R{3 + n % 4}, {path + n:#x} ;" for n in range(16)]
        lines += ["    IADD32I R2, R2, -0x1 ;", "    ISETP.NE.U32.AND P1, PT, R2, RZ, PT ;"]
        lines += [f"    @P1 BRA path{path} ;", "    SYNC ;"]
    return "\n".join([*lines, "end:", "    EXIT ;"])


def best_of(reps: int, launch: Callable[[], Any]) -> float:
    """The shortest of some runs, in seconds; one run before them compiles."""
    best = math.inf
    for n in range(reps + 1):
        session = launch()
        start = time.perf_counter()
        session.grid.run()
        if n:
            best = min(best, time.perf_counter() - start)
    return best


def against_grid(reps: int) -> list[Point]:
    """Seconds of saxpy, 32 threads a block, by blocks."""
    import gpudbg

    program = gpudbg.load(str(CUBINS / "saxpy.sm_50.cubin"), engine="run")
    points = []
    for blocks in BLOCKS:
        count = 32 * blocks
        x = program.device.buffer(np.ones(count, np.float32))
        y = program.device.buffer(np.ones(count, np.float32))
        arguments = [x, y, np.int32(count), np.float32(2)]

        def launch(blocks: int = blocks, arguments: list[Any] = arguments) -> Any:
            return program.launch(grid=blocks, block=32, args=arguments)

        points.append((blocks, best_of(reps, launch)))
        x.free()
        y.free()
    return points


def against_divergence(reps: int) -> list[Point]:
    """Seconds of 64 warps whose lanes take 1 to 32 paths of 2,000 rounds."""
    import gpudbg
    from gpudbg.assembler import assemble_file

    program = gpudbg.load(assemble_file(divergent_kernel()).cubin(), engine="run")
    points = []
    for paths in PATHS:
        arguments = [np.int32(paths - 1), np.int32(2000)]

        def launch(arguments: list[Any] = arguments) -> Any:
            return program.launch(grid=64, block=32, args=arguments)

        points.append((paths, best_of(reps, launch)))
    return points


def marginal(points: list[Point]) -> list[float]:
    """Seconds that each further block or path costs, from every size to the next."""
    return [
        (seconds - before) / (size - smaller)
        for (smaller, before), (size, seconds) in pairwise(points)
    ]


# ---- the plot ---------------------------------------------------------------------------------

WIDTH, HEIGHT, MARGIN = 420, 320, 60


def panel(left: int, title: str, unit: str, points: list[Point]) -> list[str]:
    """One log-log plot as SVG: the points, and a line of slope 1 through the last."""
    xs = [math.log10(size) for size, _ in points]
    ys = [math.log10(seconds * 1e3) for _, seconds in points]
    low_x, high_x = min(xs), max(xs)
    low_y, high_y = math.floor(min(ys)), math.ceil(max(ys))

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - low_x) / (high_x - low_x) * (WIDTH - 2 * MARGIN)
        up = (y - low_y) / (high_y - low_y) * (HEIGHT - 2 * MARGIN)
        return left + MARGIN + across, HEIGHT - MARGIN - up

    x0, y0 = place(low_x, low_y)
    x1, y1 = place(high_x, high_y)
    out = [f'<rect x="{x0}" y="{y1}" width="{x1 - x0}" height="{y0 - y1}" class="frame"/>']
    middle = (x0 + x1) / 2
    out.append(f'<text x="{middle}" y="{y1 - 16}" class="title">{title}</text>')
    out.append(f'<text x="{middle}" y="{y0 + 40}">{unit}</text>')
    for size, x in zip((size for size, _ in points), xs, strict=True):
        out.append(f'<text x="{place(x, low_y)[0]:.1f}" y="{y0 + 18}">{size:,}</text>')
    for decade in range(low_y, high_y + 1):
        at = place(low_x, decade)[1]
        out.append(f'<path d="M{x0} {at:.1f} H{x1}" class="grid"/>')
        out.append(f'<text x="{x0 - 8}" y="{at + 4:.1f}" class="right">{10.0**decade:g} ms</text>')
    start = max(low_x, xs[-1] - (ys[-1] - low_y))
    a, b = place(start, ys[-1] - (xs[-1] - start)), place(xs[-1], ys[-1])
    out.append(f'<path d="M{a[0]:.1f} {a[1]:.1f} L{b[0]:.1f} {b[1]:.1f}" class="linear"/>')
    line = " L".join("{:.1f} {:.1f}".format(*place(x, y)) for x, y in zip(xs, ys, strict=True))
    out.append(f'<path d="M{line}" class="data"/>')
    for x, y in zip(xs, ys, strict=True):
        px, py = place(x, y)
        out.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3"/>')
    return out


STYLE = """
text { font: 11px sans-serif; text-anchor: middle } .right { text-anchor: end }
.title { font-weight: bold } .frame { fill: none; stroke: #888 } .grid { stroke: #ddd }
.linear { stroke: #c60; stroke-dasharray: 5 4; fill: none } .data { stroke: #06c; fill: none }
circle { fill: #06c }
"""


def plot(panels: Sequence[tuple[str, str, list[Point]]]) -> str:
    """Plots beside each other, each with its title and unit; the broken line is linear cost."""
    body = [line for n, each in enumerate(panels) for line in panel(n * WIDTH, *each)]
    size = f'width="{len(panels) * WIDTH}" height="{HEIGHT}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
            f"<style>{STYLE}</style>",
            '<rect width="100%" height="100%" fill="white"/>',
            *body,
            "</svg>",
        ]
    )


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=OUT, metavar="FOLDER")
    parser.add_argument("--reps", type=int, default=5)
    options = parser.parse_args()
    found = {
        "blocks": against_grid(options.reps),
        "paths": against_divergence(options.reps),
    }
    for unit, points in found.items():
        further = [math.nan, *marginal(points)]
        for (size, seconds), more in zip(points, further, strict=True):
            tail = "" if math.isnan(more) else f"  {more * 1e6:10.3f} us each further one"
            print(f"{size:6d} {unit} {seconds * 1e3:10.3f} ms{tail}")
    options.out.mkdir(parents=True, exist_ok=True)
    panels = [
        ("saxpy, 32 threads a block", "blocks", found["blocks"]),
        ("64 warps, lanes on several paths", "paths", found["paths"]),
    ]
    (options.out / "scaling.svg").write_text(plot(panels))
    (options.out / "scaling.json").write_text(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
