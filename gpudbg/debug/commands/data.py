"""Data: print, x, display, output, output buffers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpudbg.analysis.contents import not_finite
from gpudbg.debug.commands.table import command
from gpudbg.debug.registry import Output
from gpudbg.debug.stops.standing import standing_pc
from gpudbg.debug.values.access import MAX_READ
from gpudbg.debug.values.never_written import (
    UNKNOWN,
    WORDS,
    buffer_words,
    never_written,
    not_known,
    ranges_words,
    register_number,
    spans,
    untouched_registers,
)
from gpudbg.debug.views import gdb_text
from gpudbg.debug.views import text as views
from gpudbg.debug.views.aggregates import Style, data_text, data_value
from gpudbg.debug.views.format import Spec, format_bits, parse_int, split_spec
from gpudbg.errors import CommandError
from gpudbg.expr import Result
from gpudbg.expr.types import Array, Pointer, Scalar, Struct

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession

FORMAT_HELP = """\
/FMT: x hex, d signed, u unsigned, o octal, t binary, z padded hex, c char, f float, a address
`print all EXPR` shows the 32 lanes, `print EXPR` the focused one (or `set print-lanes all`)."""


def _json_value(result: Result, lane: int) -> Any:
    if not result.valid[lane]:
        return None
    return result.values[lane].item()


@command(
    "print",
    "p",
    "pr",
    "inspect",
    "call",
    usage="print[/FMT] [all] EXPRESSION",
    help="the value of an expression",
    group="data",
    needs="stopped or ended",
    repeats=False,
    details=FORMAT_HELP,
    completer=lambda s, text: s.complete_expression(text),
)
def print_(session: DebugSession, argument: str) -> Output:
    """Evaluate, show, and number the value in the history."""
    shown = _shown(session, argument)
    if shown.result is None:
        return Output(shown.lines, shown.data)
    session.value_history.append(shown.result)
    number = len(session.value_history)
    return Output((f"${number} = {shown.lines[0]}", *shown.lines[1:]), shown.data)


@command(
    "output",
    usage="output[/FMT] [all] EXPRESSION",
    help="the value of an expression, without a number in the history",
    group="data",
    needs="stopped or ended",
    repeats=False,
    completer=lambda s, text: s.complete_expression(text),
)
def output(session: DebugSession, argument: str) -> Output:
    """Evaluate and show; the line is not ended, as in gdb."""
    shown = _shown(session, argument)
    return Output(shown.lines, shown.data, open=True)


class _Shown(NamedTuple):
    """What `print` shows; `result` is None where there is nothing for the history."""

    lines: tuple[str, ...]
    data: Any
    result: Result | None = None


def _vector(session: DebugSession, axes: Mapping[str, Result], letter: str | None) -> _Shown:
    assert session.focus is not None
    lane = session.focus.lane
    texts = (f"{a} = {views.value_text(r, lane, letter)}" for a, r in axes.items())
    value = {a: _json_value(r, lane) for a, r in axes.items()}
    data = {"type": "dim3", "lane": lane, "value": value}
    return _Shown((f"{{{', '.join(texts)}}}",), data, axes["x"])


def _shown(session: DebugSession, argument: str) -> _Shown:
    spec, text = split_spec(argument)
    every = session.settings.shown("print-lanes") == "all"
    if text.startswith("all "):
        every, text = True, text[4:]
    letter = None if spec.letter == "r" else spec.letter
    axes = session.context().vector(text)
    if axes is not None:
        return _vector(session, axes, letter)
    result = session.evaluate(text)
    lane = session.focus.lane if session.focus is not None else 0
    shown = _value_shown(session, result, text, letter, every)
    never = _never_written(session, text, result, lane)
    if not never:
        return shown
    lines = shown.lines if gdb_text.wanted(session) else (
        f"{shown.lines[0]}  {never}", *shown.lines[1:]
    )  # fmt: skip
    return _Shown(lines, {**shown.data, "never_written": never}, shown.result)


def _never_written(session: DebugSession, text: str, result: Result, lane: int) -> str:
    """Words for a register or bytes in memory that nobody has written; empty where all were."""
    place = result.place
    number = register_number(text)
    if number is not None:
        untouched = untouched_registers(session) >> number & 1
        return WORDS if untouched and not result.values.any() else ""
    if place is None or place.kind != "memory" or place.addresses is None or not result.valid[lane]:
        return ""
    size = min(max(result.type.size, 1), MAX_READ)
    address = int(place.addresses[lane])
    found = never_written(session, place.space, address, size)
    if found is None:
        # What holds anything but zeros was written.
        unknown = not_known(session, place.space, address)
        return (
            UNKNOWN if unknown and not any(session.memory.read(place.space, address, size)) else ""
        )
    return ranges_words(found)


def _value_shown(
    session: DebugSession, result: Result, text: str, letter: str | None, every: bool
) -> _Shown:
    """`_shown` of one value."""
    lane = session.focus.lane if session.focus is not None else 0
    style = Style.of(session.settings)
    if isinstance(result.type, Struct) or _nested(result):
        raw = session.memory.bytes_of(result, lane)
        data = {"type": str(result.type), "lane": lane, "value": data_value(result.type, raw)}
        return _Shown((data_text(result.type, raw, letter, style),), data, result)
    if isinstance(result.type, Array):
        letter = style.letter(result.type.target, letter)
        result, elements = session.memory.array(result, lane)
        values = elements.tolist()
        data = {"type": str(result.type), "lane": lane, "value": values, "values": values}
        return _Shown((elements_text(elements, letter, style.limit),), data, result)
    mask = session.warp().state.active if session.focus is not None else 1
    data = {
        "type": str(result.type),
        "lane": lane,
        "value": _json_value(result, lane),
        "values": [_json_value(result, i) for i in range(32)],
    }
    pointer = gdb_text.code_pointer(session, text) if letter is None else None
    if pointer is not None:
        return _Shown((pointer,), data, result)
    if every:
        kind = result.values.dtype.kind
        words = views.shape_words(result.values, mask, kind)
        return _Shown((words, *views.lanes_text(result, mask, letter)), data)
    letter = style.letter(result.type, letter)
    return _Shown((views.value_text(result, lane, letter),), data, result)


def _nested(result: Result) -> bool:
    """Whether a value is an array of arrays or structures, or a C string."""
    if not isinstance(result.type, Array):
        return False
    target = result.type.target
    return isinstance(target, Array | Struct) or (
        isinstance(target, Scalar) and target.name == "char"
    )


def elements_text(data: Any, letter: str | None, limit: int = 64) -> str:
    """The first elements of an array as `{1, 2, 3}`."""
    shown = data[:limit]
    if letter is None:
        items = ", ".join(views.number_text(v) for v in shown)
    else:
        size = data.dtype.itemsize
        raw = shown.view(f"u{size}")
        items = ", ".join(format_bits(int(v), size, letter) for v in raw)
    more = f", … {len(data) - limit} more" if len(data) > limit else ""
    return f"{{{items}{more}}}"


X_HELP = """\
x/8xw ADDRESS     eight words in hex; units b h w g; formats as print; i = instructions
ADDRESS is an expression; a pointer names its space: x/16xw (@shared int*)0 , x &coeff
A plain number is a generic address; `x/4i $pc` and `x/4i kernel+0x20` disassemble.
An empty line goes on where the last x ended."""


@command(
    "x",
    usage="x[/NFU] ADDRESS",
    help="examine memory or instructions",
    group="data",
    needs="stopped or ended",
    repeats=True,
    details=X_HELP,
)
def examine(session: DebugSession, argument: str) -> Output:
    """Dump memory."""
    spec, text = split_spec(argument)
    head = argument[: len(argument) - len(text)].strip() if text else argument
    # An empty line goes on behind what is shown now.
    session.last_line = f"x{head}"
    if spec.letter == "i":
        return _instructions(session, spec, text)
    space, address, unit, letter = _target(session, spec, text)
    if letter == "f" and spec.size is None:
        unit = max(unit, 4)  # as in gdb: only a size letter makes a float smaller than a word
    count = abs(spec.count) if spec.count is not None else 1
    if count > 65536:
        raise CommandError("x shows 65536 units at most")
    if letter == "s":
        return _string(session, space, address)
    data = session.memory.read(space, address, count * unit)
    values = [int.from_bytes(data[i : i + unit], "little") for i in range(0, len(data), unit)]
    if gdb_text.wanted(session):
        lines = gdb_text.memory_lines(session, space, address, values, unit, letter)
    else:
        lines = _memory_lines(address, values, unit, letter)
    session.examine_state = (space, address + count * unit, unit, letter)
    data_out: dict[str, Any] = {
        "space": space, "address": address, "unit": unit, "values": values
    }  # fmt: skip
    never = never_written(session, space, address, len(data))
    if never is not None and never.any():
        data_out["never_written"] = spans(never)
        lines = _with_never(session, lines, never, unit)
    elif never is None and not any(data) and not_known(session, space, address):
        data_out["never_written"] = UNKNOWN
        if not gdb_text.wanted(session):
            lines.append(f"  {UNKNOWN}")
    return Output(tuple(lines), data_out)


def _with_never(
    session: DebugSession, lines: list[str], never: NDArray[np.bool_], unit: int
) -> list[str]:
    """Lines of `x`, with what nobody has written at their ends."""
    if gdb_text.wanted(session):
        return lines
    room, width = unit * gdb_text.PER_LINE[unit], max(map(len, lines))
    out = []
    for n, line in enumerate(lines):
        words = ranges_words(never[n * room : (n + 1) * room])
        out.append(f"{line:{width}}  {words}" if words else line)
    return out


def _memory_lines(address: int, values: list[int], unit: int, letter: str) -> list[str]:
    lines = []
    for i in range(0, len(values), gdb_text.PER_LINE[unit]):
        cells = (
            format_bits(v, unit, letter).rjust(_width(unit, letter))
            for v in values[i : i + gdb_text.PER_LINE[unit]]
        )
        lines.append(f"0x{address + i * unit:x}:  " + "  ".join(cells))
    return lines


def _width(unit: int, letter: str) -> int:
    return {"x": unit * 2 + 2, "z": unit * 2 + 2, "d": 11, "u": 10, "f": 12}.get(letter, 0)


def _target(session: DebugSession, spec: Spec, text: str) -> tuple[str, int, int, str]:
    previous = session.examine_state
    letter = spec.letter or (previous[3] if previous else "x")
    unit = spec.size or (previous[2] if previous else 4)
    if not text:
        if previous is None:
            raise CommandError("an address is missing", "x/8xw (@shared int*)0")
        return previous[0], previous[1], unit, letter
    result = session.evaluate(text)
    lane = session.focus.lane if session.focus is not None else 0
    if not result.valid[lane]:
        raise CommandError(f"{text}: no value here: {result.why}")
    match result.type:
        case Pointer(space, target):
            if spec.size is None and isinstance(target, Scalar) and target.size in (1, 2, 4, 8):
                unit = target.size
            return space, int(result.values[lane]), unit, letter
        case Array() | Struct():
            assert result.place is not None
            return result.place.space, int(result.values[lane]), unit, letter
        case Scalar(kind="f"):
            raise CommandError("a floating-point number is not an address")
    return "generic", int(result.values[lane]) & (1 << 64) - 1, unit, letter


def _string(session: DebugSession, space: str, address: int) -> Output:
    raw = bytearray()
    while len(raw) < 4096:
        byte = session.memory.read(space, address + len(raw), 1)
        if byte == b"\0":
            break
        raw += byte
    text = raw.decode("utf-8", "replace")
    return Output((f'0x{address:x}:  "{text}"',), {"address": address, "string": text})


def _instructions(session: DebugSession, spec: Spec, text: str) -> Output:
    from gpudbg.debug.commands.code import instruction_rows

    if text in ("", "$pc"):
        # Where no warp stands, the kernel's code begins.
        focused = session.focus is not None
        start = standing_pc(session, session.warp().state) if focused else session.symbols.base
        if not text and session.examine_state and session.examine_state[3] == "i":
            start = session.examine_state[1]
    else:
        start = _code_place(session, text)
    rows = session.symbols.around(start, 0, (spec.count or 1) - 1)
    if rows:
        session.examine_state = ("code", session.symbols.layout.next(rows[-1].pc), 8, "i")
    return instruction_rows(session, rows)


def _code_place(session: DebugSession, text: str) -> int:
    """Where code is: an address, or a function as in `break`."""
    try:
        return session.symbols.resolve(f"*{text}", session.origin()).addresses[0]
    except CommandError:
        if not text[0].isalpha() and text[0] != "_":
            raise
    return session.symbols.resolve(text, session.origin()).addresses[0]


@command(
    "display",
    usage="display[/FMT] EXPRESSION",
    help="show an expression at every stop",
    group="data",
    needs="nothing",
)
def display(session: DebugSession, argument: str) -> Output:
    """Add a display, or show all of them."""
    if not argument.strip():
        return Output(tuple(session.displays.lines()))
    spec, text = split_spec(argument)
    head = argument[: len(argument) - len(text)].strip()
    verb = "x" if spec.letter in ("i", "s") or spec.count is not None else "output"
    row = session.displays.add(f"{verb}{head} {text}")
    return Output(tuple(session.displays.lines(row.number)), row.number)


@command(
    "undisplay",
    "delete display",
    usage="undisplay [N]",
    help="stop showing an expression",
    group="data",
    needs="nothing",
)
def undisplay(session: DebugSession, argument: str) -> Output:
    """Remove a display."""
    session.displays.remove(parse_int(argument, "display number") if argument.strip() else None)
    return Output(() if gdb_text.wanted(session) else ("done",))


@command("info display", help="expressions shown at every stop", group="data", needs="nothing")
def info_display(session: DebugSession, argument: str) -> Output:
    """List displays."""
    rows = [(r.number, r.title) for r in session.displays.rows.values()]
    lines = [f"{n}: {c}" for n, c in rows] or ["no displays; `display EXPRESSION` adds one"]
    if gdb_text.wanted(session):
        lines = gdb_text.display_lines(rows)
    return Output(tuple(lines), [{"number": n, "command": c} for n, c in rows])


@command(
    "info buffers",
    "info outputs",
    usage="info buffers [NAME]",
    help="the launch's device buffers and what is in them",
    group="data",
)
def info_buffers(session: DebugSession, argument: str) -> Output:
    """Show buffers."""
    rows = [a for a in session.launch.arguments if a.buffer is not None]
    name = argument.strip()
    if name:
        array = session.buffer(parse_int(name, "argument number") if name.isdecimal() else name)
        lines = str(np.array2string(array, max_line_width=100, threshold=2000)).splitlines()
        return Output(tuple(lines), array.tolist())
    data = [
        {
            "name": a.name,
            "address": a.buffer.address,
            "dtype": str(a.buffer.array().dtype),
            "count": int(a.buffer.array().size),
            **not_finite(a.buffer.array()).to_json(),
            "never_written": buffer_words(a.buffer),
        }
        for a in rows
    ]
    lines = [f"{a.name:10} 0x{a.buffer.address:x}  {views.buffer_text(a.buffer)}" for a in rows]
    return Output(tuple(lines or ["the kernel takes no buffers"]), data)
