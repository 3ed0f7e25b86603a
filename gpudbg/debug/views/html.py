"""Stops, warps, memory and reports as HTML, for notebooks (`_repr_html_`).

Every text is escaped here and nowhere else: names of files, kernels and sources come from a
program, and a notebook would run what they say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from gpudbg.debug.stops.stop import dim

if TYPE_CHECKING:
    from gpudbg.api.programs import LoadedProgram
    from gpudbg.debug.commands.registry import Output
    from gpudbg.debug.session import DebugSession
    from gpudbg.debug.snapshot import Snapshot
    from gpudbg.debug.stops.stop import Stop
    from gpudbg.debug.warp_view import LaneView, WarpView

REGISTERS = 32
"""Registers of a warp that are drawn; the rest is counted."""
ROWS = 200
"""Rows of a table that are drawn; the rest is counted."""
AROUND = 4
"""Instructions drawn before and after the next one."""
_OFF = "opacity:0.4"
_HERE = "font-weight:bold"


def pre(lines: Iterable[str]) -> str:
    """Lines of text as they stand."""
    return f"<pre>{escape(chr(10).join(lines))}</pre>"


def heading(text: str) -> str:
    """What a view is of."""
    return f"<p><b>{escape(text)}</b></p>"


def table(header: Sequence[str], rows: Sequence[Sequence[Any]], styles: Sequence[str] = ()) -> str:
    """A table; `styles` has the CSS of each row, where it has one."""
    cells = "".join(f"<th>{escape(str(word))}</th>" for word in header)
    out = [f"<table><thead><tr>{cells}</tr></thead><tbody>"]
    for number, row in enumerate(rows[:ROWS]):
        style = styles[number] if number < len(styles) else ""
        begin = f'<tr style="{escape(style)}">' if style else "<tr>"
        body = "".join(f"<td><code>{escape(str(cell))}</code></td>" for cell in row)
        out.append(f"{begin}{body}</tr>")
    out.append("</tbody></table>")
    left = len(rows) - ROWS
    return "".join(out) + (f"<p>… {left:,} more</p>" if left > 0 else "")


def stop(shown: Stop) -> str:
    """A stop: what, where and who; the card of a fault, trap or deadlock."""
    rows: list[tuple[str, str]] = []
    if shown.file is not None:
        rows.append(("source", f"{shown.file}:{shown.line}"))
    if shown.function:
        rows.append(("function", shown.function))
    rows += [("inlined at", str(site)) for site in shown.inlined_at]
    if shown.block is not None:
        who = f"block {dim(shown.block)} thread {dim(shown.thread)}"
        rows.append(("thread", f"{who}, sm {shown.sm} warp {shown.warp} lane {shown.lane}"))
    rows.append(("instructions", f"{shown.instructions:,}"))
    more = shown.card[1:] or shown.detail
    return (
        heading(f"{shown.kind}: {shown.message}")
        + table(("", ""), rows)
        + (pre(more) if more else "")
    )


def warp(view: WarpView) -> str:
    """A warp: its state, the code around its pc, lanes × registers."""
    lanes = range(32)
    active = view.active
    head = f"warp {view.index} on sm {view.sm}, block {dim(view.block)}: {view.status}"
    file = view.R
    shown = min(len(file), REGISTERS)
    rows = [[f"R{n}", *(f"{v:08x}" for v in file[n])] for n in range(shown)]
    rows += [[f"P{n}", *("1" if v else "0" for v in view.P[n])] for n in range(7)]
    rows.append(["active", *("#" if on else "_" for on in active)])
    more = len(file) - shown
    return (
        heading(head)
        + code(view)
        + table(("", *map(str, lanes)), rows)
        + (f"<p>… R{shown} to R{len(file) - 1}</p>" if more else "")
    )


def code(view: WarpView) -> str:
    """The instructions around a warp's next one."""
    rows = view.around(AROUND)
    return table(
        ("", "offset", "instruction", "source"),
        [("=>" if here else "", f"{offset:04x}", text, line) for here, offset, text, line in rows],
        [_HERE if here else "" for here, *_ in rows],
    )


def lane(view: LaneView) -> str:
    """A lane: who it is and its registers."""
    word = "ended" if view.exited else "active" if view.active else "waiting"
    head = f"lane {view.index}: block {dim(view.block)} thread {dim(view.thread)}, {word}"
    file = view.R
    shown = min(len(file), REGISTERS)
    rows = [(f"R{n}", f"0x{file[n]:08x}", _signed(file[n]), _float(file[n])) for n in range(shown)]
    rows += [(f"P{n}", str(view.P[n]), "", "") for n in range(7)]
    more = f"<p>… R{shown} to R{len(file) - 1}</p>" if len(file) > shown else ""
    return heading(head) + table(("", "bits", "signed", "float"), rows) + more


def _signed(word: int) -> str:
    return str(word - (1 << 32) if word >> 31 else word)


def _float(word: int) -> str:
    import struct

    return f"{struct.unpack('<f', struct.pack('<I', word))[0]:.6g}"


def snapshot(taken: Snapshot) -> str:
    """The machine at a stop: a row for each resident warp."""
    rows = [(w.sm, w.slot, dim(w.block), w.where, w.state, w.executed, w.why) for w in taken.warps]
    header = ("SM", "warp", "block", "at", "state", "instructions", "why not running")
    focus = taken.focus
    here = [
        _HERE if focus is not None and (w.sm, w.slot) == (focus.sm, focus.warp) else ""
        for w in taken.warps
    ]
    head = f"{taken.kernel}<<<{dim(taken.grid)}, {dim(taken.block)}>>> on {taken.arch}"
    return heading(head) + stop(taken.stop) + table(header, rows, here)


def session(live: DebugSession) -> str:
    """A session: what was launched, why it stands, and the code there."""
    head = repr(live)[1:-1]
    body = stop(live.stop) if live.stop is not None else ""
    return heading(head) + body + (code(live.warp()) if live.focus is not None else "")


def program(loaded: LoadedProgram) -> str:
    """A program: its kernels and variables."""
    kernels = [
        (k.name, ", ".join(str(p.size) for p in k.params), k.num_regs, k.shared_static_bytes)
        for k in loaded.kernels.values()
    ]
    variables = [(v.name, v.space, v.size) for v in loaded.program.globals.values()]
    out = heading(f"{loaded.program.path}, {loaded.program.arch}")
    out += table(("kernel", "parameters (bytes)", "registers", "shared bytes"), kernels)
    return out + (table(("variable", "space", "bytes"), variables) if variables else "")


def output(answer: Output) -> str:
    """A command's answer: a table where its data is one, else its lines."""
    data = answer.data
    flat = isinstance(data, list) and data and all(isinstance(row, Mapping) for row in data)
    if not flat or not answer.lines:
        return pre(answer.lines)
    header = list(dict.fromkeys(key for row in data for key in row))
    return table(header, [[row.get(key, "") for key in header] for row in data])
