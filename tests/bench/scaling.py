"""Cost against the size of the grid (1 to 65,536 blocks) and against divergence (1 to 32 paths).

    python tests/bench/scaling.py [--out FOLDER] [--reps 5] [--kernels NAME,...]

Prints both tables and writes scaling.svg and scaling.json.  Both must be linear: what each further
block or path costs stays the same once the fixed cost of a run no longer shows.

The same of the twenty kernels of the wide suite (`--kernels` chooses some, or `none`) is in
scaling-wide.svg: time against the warp instructions of three sizes, and what a warp instruction
costs against the lanes that are active in it, of all kernels.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import numpy as np  # noqa: E402
import suite  # noqa: E402
import wide  # noqa: E402

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


# ---- the wide suite ---------------------------------------------------------------------------

SIZES = ("tiny", "small", "full")


@dataclass(frozen=True)
class Scaled:
    """A kernel at three sizes.

    Attributes:
        points: warp instructions and seconds of each size.
        lanes: active in a warp instruction, the mean at the least size.
    """

    points: list[Point]
    lanes: float

    @property
    def instruction_ns(self) -> float:
        """What a warp instruction costs at the largest size."""
        count, seconds = self.points[-1]
        return seconds / count * 1e9


def against_size(kernel: str, reps: int) -> Scaled:
    """A kernel of the wide suite; its outputs are checked at each size."""
    from bench import gpudbg_run

    points = []
    for size in SIZES:
        problem = suite.problem(kernel, size)
        report: dict[str, Any] = {}
        once = gpudbg_run(problem, 1, report)
        once()
        # Code that is made beside the first launches takes over when it is done.
        seconds: list[float] = []
        while len(seconds) < reps or (len(seconds) < 10 * reps and sum(seconds) < 0.1):
            spent, outputs = once()
            seconds.append(spent)
        if not problem.correct(outputs):
            raise SystemExit(f"{kernel}, {size}: a wrong output")
        points.append((report["thread_instructions"] // 32, min(seconds)))
    return Scaled(points, active_lanes(suite.problem(kernel, SIZES[0])))


def active_lanes(problem: Any) -> float:
    """The mean number of lanes that execute a warp instruction of a kernel."""
    import gpudbg

    class Lanes(gpudbg.Observer):
        count = total = 0

        def instruction(self, warp: Any, pc: int, instruction: Any, lanes: int) -> None:
            self.count += 1
            self.total += lanes.bit_count()

    program = gpudbg.load(str(CUBINS / f"{problem.name}.{problem.arch}.cubin"))
    buffers = [program.device.buffer(b) for b in problem.bufs]
    session = program.launch(
        grid=problem.grid, block=problem.block, args=[*buffers, *problem.scalars]
    )
    seen = Lanes()
    session.subscribe(seen)
    session.run()
    return seen.total / seen.count


# ---- the plots --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Frame:
    """Where a plot stands, and the room around it for words."""

    left: float = 0
    top: float = 0
    width: float = 420
    height: float = 320
    margin: float = 60

    def place(self, across: float, up: float) -> tuple[float, float]:
        """A point by its parts of the width and height."""
        x = self.left + self.margin + across * (self.width - 2 * self.margin)
        return x, self.top + self.height - self.margin - up * (self.height - 2 * self.margin)

    def box(self, title: str, unit: str) -> list[str]:
        """The frame with its words."""
        (x0, y0), (x1, y1) = self.place(0, 0), self.place(1, 1)
        size = f'width="{x1 - x0:.1f}" height="{y0 - y1:.1f}"'
        return [
            f'<rect x="{x0:.1f}" y="{y1:.1f}" {size} class="frame"/>',
            f'<text x="{(x0 + x1) / 2:.1f}" y="{y1 - 8:.1f}" class="title">{title}</text>',
            f'<text x="{(x0 + x1) / 2:.1f}" y="{y0 + 34:.1f}">{unit}</text>',
        ]

    def level(self, up: float, words: str) -> list[str]:
        """A line across, with what it stands for."""
        (x0, y), (x1, _) = self.place(0, up), self.place(1, up)
        return [
            f'<path d="M{x0:.1f} {y:.1f} H{x1:.1f}" class="grid"/>',
            f'<text x="{x0 - 8:.1f}" y="{y + 4:.1f}" class="right">{words}</text>',
        ]

    def below(self, across: float, words: str) -> str:
        """Words under a place."""
        x, y = self.place(across, 0)
        return f'<text x="{x:.1f}" y="{y + 16:.1f}">{words}</text>'


def short(number: float) -> str:
    """A count in few letters: 950, 1.2k, 35M."""
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= unit:
            return (
                f"{number / unit:.2g}{name}" if number < 10 * unit else f"{number / unit:.0f}{name}"
            )
    return f"{number:g}"


def decades(values: Sequence[float]) -> tuple[int, int]:
    """The powers of ten below and above some values."""
    low = math.floor(math.log10(min(values)))
    return low, max(low + 1, math.ceil(math.log10(max(values))))


def panel(frame: Frame, title: str, unit: str, points: list[Point]) -> list[str]:
    """One log-log plot as SVG: the points, and a line of slope 1 through the last."""
    xs = [math.log10(size) for size, _ in points]
    ys = [math.log10(seconds * 1e3) for _, seconds in points]
    low_x, high_x = min(xs), max(xs)
    low_y, high_y = decades([seconds * 1e3 for _, seconds in points])

    def place(x: float, y: float) -> str:
        parts = (x - low_x) / (high_x - low_x), (y - low_y) / (high_y - low_y)
        return "{:.1f} {:.1f}".format(*frame.place(*parts))

    out = frame.box(title, unit)
    for (size, _), x in zip(points, xs, strict=True):
        out.append(frame.below((x - low_x) / (high_x - low_x), short(size)))
    for decade in range(low_y, high_y + 1):
        out += frame.level((decade - low_y) / (high_y - low_y), f"{10.0**decade:g} ms")
    start = max(low_x, xs[-1] - (ys[-1] - low_y))
    line = place(start, ys[-1] - (xs[-1] - start)), place(xs[-1], ys[-1])
    out.append(f'<path d="M{line[0]} L{line[1]}" class="linear"/>')
    found = [place(x, y) for x, y in zip(xs, ys, strict=True)]
    out.append(f'<path d="M{" L".join(found)}" class="data"/>')
    return out + [_dot(at) for at in found]


def _dot(place: str) -> str:
    x, y = place.split()
    return f'<circle cx="{x}" cy="{y}" r="3"/>'


def lanes_panel(frame: Frame, found: dict[str, Scaled]) -> list[str]:
    """What a warp instruction costs against the lanes that are active in it; a dot a kernel."""
    low, high = decades([each.instruction_ns for each in found.values()])
    out = frame.box("a warp instruction at the largest size", "lanes active in it, on average")
    for decade in range(low, high + 1):
        out += frame.level((decade - low) / (high - low), f"{10.0**decade:g} ns")
    out += [frame.below(lanes / 32, str(lanes)) for lanes in (0, 8, 16, 24, 32)]
    dots = {
        name: frame.place(each.lanes / 32, (math.log10(each.instruction_ns) - low) / (high - low))
        for name, each in found.items()
    }
    taken = [(x - 4, y - 2, x + 4, y + 6) for x, y in dots.values()]
    for name, (x, y) in sorted(dots.items(), key=lambda item: item[1]):
        right, base = _free(x - 9, y + 4, 6.2 * len(name), taken)
        out.append(f'<path d="M{x:.1f} {y:.1f} L{right + 2:.1f} {base - 4:.1f}" class="grid"/>')
        out.append(f'<text x="{right:.1f}" y="{base:.1f}" class="right">{name}</text>')
    out += [_dot(f"{x:.1f} {y:.1f}") for x, y in dots.values()]
    return out


Box = tuple[float, float, float, float]


def _free(right: float, base: float, width: float, taken: list[Box]) -> tuple[float, float]:
    """Where words that end at a place cover nothing, near it; they are taken from now on."""
    for distance in range(200):
        for left, sign in ((0, 1), (0, -1), (30, 1), (30, -1), (75, 1), (75, -1)):
            end, at = right - left, base + sign * 3 * distance
            box = end - width, at - 9, end, at + 3
            if not any(_overlap(box, other) for other in taken):
                taken.append(box)
                return end, at
    return right, base


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


STYLE = """
text { font: 11px sans-serif; text-anchor: middle } .right { text-anchor: end }
.title { font-weight: bold } .frame { fill: none; stroke: #888 } .grid { stroke: #ddd }
.linear { stroke: #c60; stroke-dasharray: 5 4; fill: none } .data { stroke: #06c; fill: none }
circle { fill: #06c }
"""


def picture(width: float, height: float, body: Sequence[str]) -> str:
    """Plots as one SVG."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}">',
            f"<style>{STYLE}</style>",
            '<rect width="100%" height="100%" fill="white"/>',
            *body,
            "</svg>",
        ]
    )


def plot(panels: Sequence[tuple[str, str, list[Point]]]) -> str:
    """Plots beside each other, each with its title and unit; the broken line is linear cost."""
    width = Frame().width
    body = [line for n, each in enumerate(panels) for line in panel(Frame(n * width), *each)]
    return picture(len(panels) * width, Frame().height, body)


COLUMNS = 7


def plot_wide(found: dict[str, Scaled]) -> str:
    """A small plot for each kernel, and one of all by the lanes that are active."""
    width, height = 215, 175
    body = []
    for n, (name, each) in enumerate(found.items()):
        frame = Frame(n % COLUMNS * width, n // COLUMNS * height, width, height, 54)
        body += panel(frame, f"{name}, {each.lanes:.0f} lanes", "warp instructions", each.points)
    top = -(-len(found) // COLUMNS) * height
    body += lanes_panel(Frame(0, top, COLUMNS * width, 460), found)
    return picture(COLUMNS * width, top + 460, body)


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=OUT, metavar="FOLDER")
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--kernels", default=",".join(wide.PROBLEMS), metavar="NAME,...")
    options = parser.parse_args()
    chosen = [] if options.kernels == "none" else options.kernels.split(",")
    if unknown := [name for name in chosen if name not in (*wide.PROBLEMS, *suite.NAMES)]:
        parser.error(f"no kernels: {', '.join(unknown)}")
    options.out.mkdir(parents=True, exist_ok=True)
    found = {
        "blocks": against_grid(options.reps),
        "paths": against_divergence(options.reps),
    }
    for unit, points in found.items():
        further = [math.nan, *marginal(points)]
        for (size, seconds), more in zip(points, further, strict=True):
            tail = "" if math.isnan(more) else f"  {more * 1e6:10.3f} us each further one"
            print(f"{size:6d} {unit} {seconds * 1e3:10.3f} ms{tail}")
    panels = [
        ("saxpy, 32 threads a block", "blocks", found["blocks"]),
        ("64 warps, lanes on several paths", "paths", found["paths"]),
    ]
    (options.out / "scaling.svg").write_text(plot(panels))
    scaled = {}
    for kernel in chosen:
        scaled[kernel] = each = against_size(kernel, options.reps)
        times = "  ".join(f"{short(n):>5} {seconds * 1e3:8.3f} ms" for n, seconds in each.points)
        print(f"{kernel:14} {times}  {each.instruction_ns:7.2f} ns, {each.lanes:4.1f} lanes")
    if scaled:
        (options.out / "scaling-wide.svg").write_text(plot_wide(scaled))
    rows = {name: {"points": each.points, "lanes": each.lanes} for name, each in scaled.items()}
    (options.out / "scaling.json").write_text(json.dumps(found | {"kernels": rows}, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
