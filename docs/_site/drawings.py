"""Drawings of the explanations, from real launches: `python docs/_site/drawings.py`.

Each is an SVG with its own background, in the reader's theme. `make docs` makes them anew.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path

import numpy as np

import gpudbg
from gpudbg import cli

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "explanation" / "drawings"
SESSIONS = ROOT / "sessions"
STYLE = """
  .paper { fill: #ffffff; } text { font: 12px ui-monospace, Consolas, monospace; fill: #24292f; }
  .note { fill: #57606a; font-size: 11px; } .head { font-weight: bold; }
  .line { stroke: #57606a; stroke-width: 1.2; fill: none; } .box { stroke: #57606a; fill: #f6f8fa; }
  .c0 { fill: #4c8fd6; } .c1 { fill: #e0823d; } .c2 { fill: #4ba36a; } .c3 { fill: #a06cc7; }
  .c4 { fill: #c9a227; } .c5 { fill: #d0577b; } .off { fill: #e4e7eb; } .bad { fill: #d1242f; }
  .on { fill: #ffffff; }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #161b22; } text { fill: #e6edf3; } .note { fill: #9da7b3; }
    .line { stroke: #9da7b3; } .box { stroke: #9da7b3; fill: #21262d; } .off { fill: #2d333b; }
    .on { fill: #0d1117; }
  }
"""


class Drawing:
    """Shapes of one SVG."""

    def __init__(self, title: str, width: int, height: int) -> None:
        self.size = width, height
        self.parts = [f"<title>{escape(title)}</title>", f"<style>{STYLE}</style>"]
        self.parts.append(f'<rect class="paper" width="{width}" height="{height}" rx="6"/>')

    def text(self, x: float, y: float, words: object, kind: str = "", end: bool = False) -> None:
        """A line of text; `end`: it ends at x."""
        anchor = ' text-anchor="end"' if end else ""
        text = escape(str(words)).replace("  ", "\u00a0\u00a0")
        self.parts.append(f'<text class="{kind}" x="{x:g}" y="{y:g}"{anchor}>{text}</text>')

    def box(self, x: float, y: float, w: float, h: float, kind: str = "box", r: float = 2) -> None:
        """A rectangle."""
        place = f'x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}"'
        self.parts.append(f'<rect class="{kind}" {place} rx="{r:g}"/>')

    def line(self, points: Iterable[tuple[float, float]], arrow: bool = False) -> None:
        """A line through points, with an arrow's head where it ends."""
        way = list(points)
        joined = " ".join(f"{x:g},{y:g}" for x, y in way)
        self.parts.append(f'<polyline class="line" points="{joined}"/>')
        if arrow:
            (ax, ay), (x, y) = way[-2:]
            dx, dy = np.sign(x - ax), np.sign(y - ay)
            head = [(x, y), (x - 6 * dx - 4 * dy, y - 6 * dy - 4 * dx)]
            head.append((x - 6 * dx + 4 * dy, y - 6 * dy + 4 * dx))
            self.parts.append(
                '<polygon class="line" points="' + " ".join(f"{a:g},{b:g}" for a, b in head) + '"/>'
            )

    def svg(self) -> str:
        """The whole."""
        w, h = self.size
        body = "\n".join(self.parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" '
            f'width="{w}" height="{h}" role="img">\n{body}\n</svg>\n'
        )


def opened(story: str, program: str = "", **more: object) -> gpudbg.DebugSession:
    """A session of a shipped story."""
    return gpudbg.open(SESSIONS / story / f"{program or story}.cubin", **more)


def divergence() -> Drawing:
    """Who executes when: the same lanes by the stack of sm_50, and by groups of sm_80."""
    d = Drawing("Lanes of a warp by tick, on sm_50 and on sm_80", 900, 460)
    lock = "spin_lock", "spin_lock_ends"
    for number, (story, title) in enumerate(
        zip(lock, ("sm_50: one pc and a stack", "sm_80: a pc for each lane"), strict=True)
    ):
        session = opened(story)
        session.execute(f"set max-instructions {3000 if number else 56}")
        with session.trace("instruction") as log:
            session.cont()
        left, top = 40 + number * 440, 60
        d.text(left, 28, title, "head")
        d.text(left, 46, f"{story}: lanes 0 to 31 down, instructions across", "note")
        pcs = sorted({entry.offset for entry in log})
        entries = list(log)
        # Where the lane that has the lock comes to give it back, if it ever does.
        alone = [n for n, entry in enumerate(entries) if entry.lanes == (0,)]
        first = max(0, alone[-1] - 40) if number else 0
        for tick, entry in enumerate(entries[first : first + 56]):
            colour = f"c{pcs.index(entry.offset) * 6 // len(pcs)}"
            active = set(entry.lanes)
            for lane in range(32):
                kind = colour if lane in active else "off"
                d.box(left + tick * 7, top + lane * 10, 6, 9, kind, 1)
        for lane in (0, 15, 31):
            d.text(left - 6, top + lane * 10 + 9, lane, "note", end=True)
        shown = (
            [f"instructions {first} to {first + 55} of {len(entries)}, lock free at the end"]
            if number
            else _lines(session, "info stack")
        )
        for line, words in enumerate(shown[:3]):
            d.text(left, top + 345 + 16 * line, words[:58], "note")
    d.text(
        40, 450, "A coloured cell: the lane executed; one colour for each part of the code.", "note"
    )
    return d


def lane_shapes() -> Drawing:
    """Registers of one warp whose 32 values follow a rule, and some that do not."""
    d = Drawing("Values of registers in 32 lanes", 900, 330)
    session = opened("divergent_branch")
    session.execute("until *0x98")
    d.text(20, 26, "divergent_branch at 0x98: each row a register, each cell a lane", "head")
    for row, name in enumerate(("$R0", "$R2", "$P0", "$R3", "$R4", "$pc")):
        said = session.execute(f"print all {name}")
        values = np.asarray(said["values"] if isinstance(said, dict) else said, dtype=float).ravel()
        y = 56 + row * 44
        d.text(20, y + 14, name)
        low, high = float(values.min()), float(values.max())
        for lane, value in enumerate(values[:32]):
            share = (value - low) / (high - low) if high > low else 0
            d.box(70 + lane * 17, y, 15, 20, "off", 1)
            d.box(70 + lane * 17, y + 18 - 18 * share, 15, 2 + 18 * share, "c0", 1)
        d.text(630, y + 14, _rule(values), "note")
    return d


def _rule(values: np.ndarray) -> str:
    steps = np.diff(values)
    if (steps == 0).all():
        return f"uniform: {values[0]:g} in all"
    if (steps == steps[0]).all():
        return f"affine: {values[0]:g} + {steps[0]:g} * lane"
    return f"no rule: {len(set(values.tolist()))} values"


def block_linear() -> Drawing:
    """Where the texels of a small surface lie, by the answers of `info surfaces`."""
    d = Drawing("Offsets of texels in a block-linear surface", 900, 430)
    session = opened("surface_clamp")
    d.text(
        20, 26, "blurred, 96x64 bytes: colours are blocks of 2,048 bytes, numbers offsets", "head"
    )
    for by in range(16):
        for bx in range(6):
            x, y = bx * 16, by * 4
            text = "\n".join(_lines(session, f"info surfaces blurred {x} {y}"))
            offset = int(text.split("offset ")[1].split(",")[0])
            kind = f"c{offset // 2048 % 6}"
            d.box(20 + bx * 130, 40 + by * 23, 126, 20, kind, 2)
            d.text(26 + bx * 130, 54 + by * 23, f"({x},{y}) {offset}", "on")
    d.text(
        20,
        422,
        "Within a block of 64x32 bytes, GOBs of 64x8; within a GOB, pieces of 16x2.",
        "note",
    )
    return d


def _lines(session: gpudbg.DebugSession, command: str) -> Sequence[str]:
    from gpudbg.debug.commands.families import load

    row, argument = load().resolve(command)
    return row.carry_out(session, argument).lines


def windows() -> Drawing:
    """Which addresses mean what, from the constants of a launch; where lanes' local words lie."""
    d = Drawing("Windows of generic addresses and the weave of local memory", 900, 330)
    session = opened("spill_windows")
    d.text(20, 26, "Generic addresses of spill_windows, sm_50", "head")
    names = (("local window", 0x4), ("shared window", 0x0))
    shown = {name: _lines(session, f"print/x c[0x0][{at:#x}]")[0] for name, at in names}
    bases = {name: int(line.rpartition(" ")[2], 16) for name, line in shown.items()}
    y = 44
    for name, base in sorted(bases.items(), key=lambda item: item[1]):
        d.box(20, y, 250, 30, "c1" if "local" in name else "c2")
        d.text(30, y + 20, f"{name} from 0x{base:x}", "on")
        y += 34
    d.box(20, y, 250, 60, "c0")
    d.text(30, y + 20, "global: buffers from 0x705000000", "on")
    d.text(20, y + 90, "LD and ST look at the address, LDL and LDS", "note")
    d.text(20, y + 106, "take an offset in the window.", "note")
    d.text(330, 26, "l[0x10] of 32 lanes in device memory, warp 3 (Tesla's rule)", "head")
    for lane in range(32):
        line = _lines(session, f"tesla local --addr 0x10 --tp 0 --mp 0 --warp 3 --lane {lane}")[0]
        place = int(line.rpartition("0x")[2], 16)
        x, row = 330 + lane % 8 * 68, 44 + lane // 8 * 40
        d.box(x, row, 64, 34, f"c{lane // 8}")
        d.text(x + 6, row + 14, f"lane {lane}", "on")
        d.text(x + 6, row + 28, f"0x{place:x}", "on")
    d.text(
        330, 228, "One address, 32 places: neighbours in memory, one access for the warp.", "note"
    )
    return d


def control_words() -> Drawing:
    """Stall counts and scoreboards of the first instructions of a kernel, over cycles."""
    d = Drawing("Instructions by the cycles their control words ask for", 900, 420)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        cli.main(["dis", str(SESSIONS / "first_steps" / "first_steps.cubin"), "--json"])
    rows = json.loads(out.getvalue())[0]["instructions"][:16]
    d.text(
        20,
        26,
        "first_steps: cycles from issue to issue, and who waits for which scoreboard",
        "head",
    )
    waiting: dict[str, tuple[int, float]] = {}
    cycle = 0
    for number, row in enumerate(rows):
        waits, _, written, _, stall = row["control_text"].split(":")[:5]
        y, x = 44 + number * 22, 330 + cycle * 5
        d.text(20, y + 12, f"{row['offset']:04x}  {row['text']}"[:42])
        d.box(x, y, max(int(stall[1:]), 1) * 5, 14, "c0", 1)
        for name in waits[1:].replace("-", ""):
            if name in waiting:
                since, begun = waiting.pop(name)
                d.line([(begun, since + 14), (begun, y + 7), (x, y + 7)], arrow=True)
        if written[1:] != "-":
            d.text(x + 4 + int(stall[1:]) * 5, y + 11, f"SB{written[1:]}", "note")
            waiting[written[1:]] = (y, x + 2)
        cycle += int(stall[1:])
    d.text(
        330,
        412,
        "A bar: the stall count, 5 pixels a cycle. An arrow: the wait for a scoreboard.",
        "note",
    )
    return d


def traps() -> Drawing:
    """From a stray store to the handler and the host, with the values of trap_handler."""
    d = Drawing("The way of an error: SM, handler, host", 900, 400)
    session = opened("trap_handler", "scatter")
    stop = session.cont()
    text = "\n".join(_lines(session, "info esr"))
    words = {line.split(" = ")[0]: line.split(" = ")[1].split("  ")[0].split(" ")[0]
             for line in text.splitlines() if line[:1].isupper() and " = " in line}  # fmt: skip
    where = "\n".join(_lines(session, "info trap")).partition("interrupted at ")[2].split(",")[0]
    steps = (
        ("the kernel", where, " ".join(_lines(session, f"x/i {where.split()[0]}")[0].split())),
        ("the SM", f"SR_WarpErrorStatus {words['SR_WarpErrorStatus']}",
         f"HWW_WARP_ESR {words['HWW_WARP_ESR']}, pc {words['HWW_WARP_ESR_PC']}"),
        ("the handler", stop.where if hasattr(stop, "where") else "trap_handler+0x8",
         "saves registers, reads its status, BPT.PAUSE"),
    )  # fmt: skip
    session.cont()
    port = "\n".join(_lines(session, "info sm port"))
    paused = next(line for line in port.splitlines() if line.startswith("BPT_PAUSE_MASK_LO"))
    more = (
        ("the host", " ".join(paused.split()[:1] + paused.split()[2:]),
         "reads the save area, prints an Xid line, sets RUN_TRIGGER"),
        ("the handler", "RTT.TERMINATE", "the warp with the error ends, others go on"),
    )  # fmt: skip
    for number, (who, first, second) in enumerate((*steps, *more)):
        y = 30 + number * 72
        d.box(150, y, 620, 48)
        d.text(20, y + 28, who, "head")
        d.text(164, y + 20, first)
        d.text(164, y + 38, second, "note")
        if number:
            d.line([(460, y - 24), (460, y)], arrow=True)
    return d


def engines() -> Drawing:
    """State hashes of the two engines at the same ticks."""
    d = Drawing("The state of both engines at the same ticks", 900, 330)
    d.text(20, 26, "first_steps: session.state_hash() where both engines stop", "head")
    places = ("block_max+0x168", "block_max+0x178", "block_max+0x1b0")
    sessions = [opened("first_steps", engine=engine) for engine in ("step", "run")]
    for column, engine in enumerate(("step engine", "run engine")):
        d.text(160 + column * 360, 54, engine, "head")
    for row in range(5):
        y = 66 + row * 48
        hashes = []
        for column, session in enumerate(sessions):
            if row:
                session.execute(f"until {places[(row - 1) % 3]}") if row < 4 else session.run()
            value = str(session.state_hash())[:32]
            hashes.append(value)
            d.box(160 + column * 360, y, 330, 34)
            d.text(172 + column * 360, y + 22, value)
        name = "entry" if not row else "end" if row == 4 else places[row - 1].partition("+")[2]
        d.text(20, y + 22, name)
        d.text(500, y + 22, "=" if hashes[0] == hashes[1] else "differ", "head")
    return d


def clusters() -> Drawing:
    """Two blocks of a cluster: who stores, waits and loads when, and from whose memory."""
    page = (ROOT / "docs" / "explanation" / "clusters.md").read_text(encoding="utf-8")
    text = page.partition("<!-- file: swap.cu -->\n```cuda\n")[2].partition("```")[0]
    out = np.zeros(2, np.int32)
    session = gpudbg.compile(text, arch="sm_90").launch("swap", 2, 1, [out])
    with session.trace("instruction", "access") as log:
        session.run()
    words = session.buffer(0)[::-1]
    shown = [e for e in log if _of_cluster(e)]
    d = Drawing("Two blocks of a cluster that read each other's word", 760, 80 + 22 * len(shown))
    d.text(20, 26, "swap, sm_90: instructions in their order, from the top down", "head")
    for rank in range(2):
        d.text(40 + rank * 440, 50, f"block {rank}, its word becomes {words[rank]}", "head")
    stores: dict[int, float] = {}
    waits: dict[int, float] = {}
    for row, entry in enumerate(shown):
        rank, y = entry.block[0], 60 + 22 * row
        x = 40 + rank * 440
        if rank in waits and "UCGABAR" not in entry.text:
            since = waits.pop(rank)
            d.box(x - 12, since, 6, y - since, "c4")
        kind = {"shared": "c2", "cluster": "c0", "global": "c3"}.get(entry.space, "box")
        label = entry.text
        if entry.space == "shared":
            stores[rank] = y
            label += f"   {words[rank]}"
        elif entry.space == "cluster":
            other = entry.addresses[0] >> 24
            label += f"   {words[other]}, of block {other}"
            edge = 40 + other * 440 + (0 if other else 250)
            d.line([(edge, stores[other] + 9), (x + (0 if rank else 250), y + 9)])
        d.box(x, y, 250, 18, kind)
        d.text(x + 8, y + 13, label[:34], "on" if kind != "box" else "")
        if "UCGABAR_WAIT" in entry.text:
            waits[rank] = y
    d.text(20, 70 + 22 * len(shown), "A bar: the block waits. A line: whose word is read.", "note")
    return d


def _of_cluster(entry: gpudbg.TraceEntry) -> bool:
    """Accesses, the barriers of the cluster, and the end."""
    if entry.event == "access":
        return True
    return entry.text.startswith(("UCGABAR", "EXIT"))


DRAWINGS: dict[str, Callable[[], Drawing]] = {
    "divergence": divergence,
    "lane-shapes": lane_shapes,
    "block-linear": block_linear,
    "windows": windows,
    "control-words": control_words,
    "traps": traps,
    "engines": engines,
    "clusters": clusters,
}
"""File -> what draws it."""


def write(names: Iterable[str] = tuple(DRAWINGS)) -> None:
    """Draw, and write what has changed."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in names:
        file, text = FOLDER / f"{name}.svg", DRAWINGS[name]().svg()
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1:] or DRAWINGS)
