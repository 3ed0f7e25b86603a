"""Data: print, x, display, output, output buffers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpudbg.analysis.contents import not_finite
from gpudbg.answers import Answer, Card, Listing, Notice, Printed, Sections, column, typed_row
from gpudbg.answers.formats import ABSENT
from gpudbg.dataclass import dataclass
from gpudbg.debug.commands.table import command
from gpudbg.debug.displays import DisplayedValue
from gpudbg.debug.values.access import MAX_READ
from gpudbg.debug.values.backtrace import selected_pc
from gpudbg.debug.values.unwritten import (
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
from gpudbg.debug.views.aggregates import data_text, data_value
from gpudbg.debug.views.format import Spec, format_bits, parse_int, split_spec
from gpudbg.errors import CommandError
from gpudbg.expr import Result
from gpudbg.expr.evaluation import (
    FUNCTION,
    OPTIMIZED_OUT,
    Place,
    as_number,
    per_lane,
    pointer_to_function,
    uniform,
)
from gpudbg.expr.types import TYPES, U8, U32, U64, Array, Pointer, Scalar, Struct, value_bytes

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession

FORMAT_HELP = """\
/FMT: x hex, d signed, u unsigned, o octal, t binary, z padded hex, c char, f float, a address
`print all EXPR` shows the 32 lanes, `print EXPR` the focused one (or `set print-lanes all`)."""


def _json_value(result: Result, lane: int) -> Any:
    if not result.valid[lane]:
        return OPTIMIZED_OUT if result.why.startswith(OPTIMIZED_OUT) else None
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
def print_(session: DebugSession, argument: str) -> Card:
    """Evaluate, show, and number the value in the history."""
    shown, result = _shown(session, argument)
    if result is None:
        return Card(shown, attrgetter("lines"))
    session.value_history.append(result)
    number = len(session.value_history)
    return Card(shown, lambda value: (f"${number} = {value.lines[0]}", *value.lines[1:]))


@command(
    "output",
    usage="output[/FMT] [all] EXPRESSION",
    help="the value of an expression, without a number in the history",
    group="data",
    needs="stopped or ended",
    repeats=False,
    completer=lambda s, text: s.complete_expression(text),
)
def output(session: DebugSession, argument: str) -> Printed:
    """Evaluate and show; the line is not ended, as in gdb."""
    shown, _ = _shown(session, argument)
    return Printed("\n".join(shown.lines), shown)


@typed_row
class ShownValue:
    """A value as `print` shows it: of one lane, with those of the others."""

    lines: tuple[str, ...] = column(key="")
    type: str = column()
    lane: int = column()
    value: Any = column()
    values: list[Any] = column(default=ABSENT)
    never_written: str = column(default=ABSENT)


_Shown = tuple[ShownValue, Result | None]
"""What is shown, and what goes into the history, if anything."""


def _vector(session: DebugSession, axes: Mapping[str, Result], letter: str | None) -> _Shown:
    assert session.focus is not None
    lane = session.focus.lane
    texts = (f"{a} = {views.value_text(r, lane, letter)}" for a, r in axes.items())
    value = {a: _json_value(r, lane) for a, r in axes.items()}
    return ShownValue((f"{{{', '.join(texts)}}}",), "dim3", lane, value), axes["x"]


def _shown(session: DebugSession, argument: str) -> _Shown:
    spec, text = split_spec(argument)
    every = session.settings.shown("print-lanes") == "all"
    if text.startswith("all "):
        every, text = True, text[4:]
    letter = None if spec.letter in ("r", "s") else spec.letter
    axes = session.context().vector(text)
    if axes is not None:
        return _vector(session, axes, letter)
    result = session.evaluate(text)
    lane = session.focus.lane if session.focus is not None else 0
    shown, kept = shown_value(session, result, text, letter, every)
    never = _never_written(session, text, result, lane)
    if not never:
        return _with_reason(session, shown, result), kept
    first, *more = shown.lines
    lines = (first if gdb_text.wanted(session) else f"{first}  {never}", *more)
    return replace(shown, lines=lines, never_written=never), kept


def _with_reason(session: DebugSession, shown: ShownValue, result: Result) -> ShownValue:
    """The value with the reason for a missing one appended; gdb prints only `<optimized out>`."""
    reason = result.why.removeprefix(OPTIMIZED_OUT + ": ")
    if shown.value != OPTIMIZED_OUT or reason == result.why or gdb_text.wanted(session):
        return shown
    first, *more = shown.lines
    return replace(shown, lines=(f"{first} ({reason})", *more))


def _never_written(session: DebugSession, text: str, result: Result, lane: int) -> str:
    """Note for a register or memory that has never been written; "" where all of it was."""
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
        # A nonzero value proves that the memory was written.
        unknown = not_known(session, place.space, address)
        return (
            UNKNOWN if unknown and not any(session.memory.read(place.space, address, size)) else ""
        )
    return ranges_words(found & value_bytes(result.type)[: len(found)])


def shown_value(
    session: DebugSession, result: Result, text: str, letter: str | None = None, every: bool = False
) -> _Shown:
    """A value as `print` shows it, and what goes into the history.

    Args:
        text: the expression it is of.
        letter: a format's, or None for its type's.
        every: all lanes.
    """
    lane = session.focus.lane if session.focus is not None else 0
    style = gdb_text.style_of(session)
    if every and session.focus is not None:
        # Half precision is a structure to the compiler; its lanes are numbers.
        result = as_number(result, session.context())
    if isinstance(result.type, Struct | Array) and not result.valid[lane]:
        # Nothing is read through an address whose value is unknown.
        words = views.value_text(result, lane)
        return ShownValue((words,), str(result.type), lane, words), result
    if isinstance(result.type, Struct) or _nested(result):
        raw = session.memory.bytes_of(result, lane)
        follow = session.memory.at
        words = data_text(result.type, raw, letter, style, follow=follow)
        value = data_value(result.type, raw, follow)
        return ShownValue(tuple(words.split("\n")), str(result.type), lane, value), result
    if isinstance(result.type, Array):
        letter = style.letter(result.type.target, letter)
        result, elements = session.memory.array(result, lane)
        values = elements.tolist()
        words = elements_text(elements, letter, style.limit)
        return ShownValue((words,), str(result.type), lane, values, values), result
    mask = session.warp().state.active if session.focus is not None else 1
    kept: Result | None = result
    pointer = gdb_text.code_pointer(session, text) if letter is None else None
    if letter is None and result.place is not None and result.place.kind == FUNCTION:
        pointer = _function_text(session, result, lane)
    if pointer is not None:
        lines = [pointer]
    elif every:
        kept, kind = None, result.values.dtype.kind
        words = views.shape_words(result.values, mask, kind)
        lines = [words, *views.lanes_text(result, mask, letter)]
    else:
        lines = [views.value_text(result, lane, style.letter(result.type, letter))]
        if letter is None and isinstance(result.type, Pointer) and result.valid[lane]:
            lines = [lines[0] + style.label(result.type, int(result.values[lane]))]
    values = [_json_value(result, i) for i in range(32)]
    return ShownValue(tuple(lines), str(result.type), lane, values[lane], values), kept


def _function_text(session: DebugSession, result: Result, lane: int) -> str | None:
    """`{int (float)} 0x1588 <f(float)>` of a function; None where there is none."""
    if not result.valid[lane]:
        return None
    address = int(result.values[lane])
    assert result.place is not None
    written = Pointer("code", result.type, text=pointer_to_function(str(result.type)))
    known = result.place.name
    label = f" <{known}>" if known else gdb_text.pointer_label(session, written, address)
    return f"{{{result.type}}} 0x{address:x}{label}"


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
def examine(session: DebugSession, argument: str) -> Answer:
    """Dump memory."""
    spec, text = split_spec(argument)
    head = argument[: len(argument) - len(text)].strip() if text else argument
    # An empty line goes on behind what is shown now.
    session.last_line = f"x{head}"
    if spec.letter == "i":
        return _instructions(session, spec, text)
    space, address, unit, letter = _target(session, spec, text)
    if letter == "f" and spec.size is None:
        unit = max(unit, 4)  # as in gdb: a float is smaller than a word only with a size letter
    count = abs(spec.count) if spec.count is not None else 1
    if count > 65536:
        raise CommandError("x shows 65536 units at most")
    if letter == "s":
        return _string(session, space, address)
    if spec.count is not None and spec.count < 0:
        # As in gdb: the units before the address, and the next ones before these.
        address -= count * unit
    after = address if spec.count is not None and spec.count < 0 else address + count * unit
    data = session.memory.read(space, address, count * unit)
    values = [int.from_bytes(data[i : i + unit], "little") for i in range(0, len(data), unit)]
    session.examine_state = (space, after, unit, letter)
    _remember(session, space, address + (count - 1) * unit, unit, values[-1] if values else 0)
    never = never_written(session, space, address, len(data))
    unknown = never is None and not any(data) and bool(not_known(session, space, address))
    found = MemoryWords(
        space, address, unit, values, ABSENT if never is None or not never.any() else spans(never)
    )
    if gdb_text.wanted(session):
        labels = gdb_text.memory_labels(session, space, address, unit, count)
        found = replace(found, never_written=UNKNOWN) if unknown else found
        return Card(found, lambda x: gdb_text.memory_lines(x.values, unit, letter, labels))
    if unknown:
        return Card(
            replace(found, never_written=UNKNOWN),
            lambda words: [*_memory_lines(words, letter), f"  {UNKNOWN}"],
        )
    return Card(found, lambda words: _with_never(words, _memory_lines(words, letter), never))


UNSIGNED = {1: U8, 2: TYPES["u16"], 4: U32, 8: U64}


def _remember(session: DebugSession, space: str, address: int, unit: int, value: int) -> None:
    """`$_` is the last address that was examined, `$__` what is there."""
    kind = UNSIGNED[unit]
    at = np.full(32, address, np.uint64)
    session.variables["$_"] = per_lane(at, Pointer(space, kind), Place("variable", name="$_"))
    session.variables["$__"] = uniform(value, kind)


@typed_row
class MemoryWords:
    """Units of memory from an address on; `never_written` is where memory was never written."""

    space: str = column()
    address: int = column()
    unit: int = column()
    values: list[int] = column()
    never_written: Any = column(default=ABSENT)


def _with_never(words: MemoryWords, lines: list[str], never: NDArray[np.bool_] | None) -> list[str]:
    """Lines of `x`; bytes that were never written are named at their ends."""
    if never is None or not never.any():
        return lines
    room, width = words.unit * gdb_text.PER_LINE[words.unit], max(map(len, lines))
    out = []
    for n, line in enumerate(lines):
        unwritten = ranges_words(never[n * room : (n + 1) * room])
        out.append(f"{line:{width}}  {unwritten}" if unwritten else line)
    return out


def _memory_lines(words: MemoryWords, letter: str) -> list[str]:
    unit, count = words.unit, gdb_text.PER_LINE[words.unit]
    lines = []
    for i in range(0, len(words.values), count):
        cells = (
            format_bits(v, unit, letter).rjust(_width(unit, letter))
            for v in words.values[i : i + count]
        )
        lines.append(f"0x{words.address + i * unit:x}:  " + "  ".join(cells))
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


def _string(session: DebugSession, space: str, address: int) -> Notice:
    raw = bytearray()
    while len(raw) < 4096:
        byte = session.memory.read(space, address + len(raw), 1)
        if byte == b"\0":
            break
        raw += byte
    text = raw.decode("utf-8", "replace")
    begin = f"0x{address:x}:  "
    if gdb_text.wanted(session):
        begin = f"0x{address:x}{gdb_text.variable_label(session, space, address)}:\t"
    return Notice(f'{begin}"{text}"', {"address": address, "string": text})


def _instructions(session: DebugSession, spec: Spec, text: str) -> Listing:
    from gpudbg.debug.commands.code import instruction_listing

    if text in ("", "$pc"):
        # Where no warp stands, the kernel's code begins.
        focused = session.focus is not None
        start = selected_pc(session) if focused else session.symbols.base
        if not text and session.examine_state and session.examine_state[3] == "i":
            start = session.examine_state[1]
    else:
        start = _code_place(session, text)
    rows = session.symbols.around(start, 0, (spec.count or 1) - 1)
    if rows:
        session.examine_state = ("code", session.symbols.layout.next(rows[-1].pc), 8, "i")
    return instruction_listing(session, rows)


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
def display(session: DebugSession, argument: str) -> Sections:
    """Add a display, or show all of them."""
    if not argument.strip():
        return _displayed(session, None)
    spec, text = split_spec(argument)
    head = argument[: len(argument) - len(text)].strip()
    verb = "x" if spec.letter in ("i", "s") or spec.count is not None else "output"
    row = session.displays.add(f"{verb}{head} {text}")
    return _displayed(session, row.number)


def _displayed(session: DebugSession, number: int | None) -> Sections:
    shown = Listing(session.displays.shown(number), DisplayedValue.lines)
    return Sections((shown,), number)


@command(
    "undisplay",
    "delete display",
    usage="undisplay [N]",
    help="stop showing an expression",
    group="data",
    needs="nothing",
)
def undisplay(session: DebugSession, argument: str) -> Notice:
    """Remove a display."""
    session.displays.remove(parse_int(argument, "display number") if argument.strip() else None)
    return Notice("" if gdb_text.wanted(session) else "done")


@command("info display", help="expressions shown at every stop", group="data", needs="nothing")
def info_display(session: DebugSession, argument: str) -> Listing:
    """List displays."""
    rows = tuple(DisplayRow(r.number, r.title) for r in session.displays.rows.values())
    if not gdb_text.wanted(session):
        return Listing(rows, str, empty="no displays; `display EXPRESSION` adds one")
    title = gdb_text.DISPLAYS if rows else ("There are no auto-display expressions now.",)
    return Listing(rows, lambda row: f"{row.number}:   y  {row.command}", title=title)


@typed_row
class DisplayRow:
    """An expression that is shown at every stop."""

    number: int = column()
    command: str = column()

    def __str__(self) -> str:
        return f"{self.number}: {self.command}"


@command(
    "info buffers",
    "info outputs",
    usage="info buffers [NAME]",
    help="the launch's device buffers and what is in them",
    group="data",
)
def info_buffers(session: DebugSession, argument: str) -> Listing | Card:
    """Show buffers."""
    name = argument.strip()
    if name:
        array = session.buffer(parse_int(name, "argument number") if name.isdecimal() else name)
        return Card(BufferElements(array.copy()), BufferElements.lines)
    found = [a for a in session.launch.arguments if a.buffer is not None]
    return Listing(
        tuple(BufferRow.of(a.name, a.buffer) for a in found),
        empty="the kernel takes no buffers",
    )


@dataclass(frozen=True, slots=True)
class BufferElements:
    """What is in a buffer."""

    array: NDArray[Any]

    def lines(self) -> list[str]:
        """The elements for people."""
        return str(np.array2string(self.array, max_line_width=100, threshold=2000)).splitlines()

    def to_json(self) -> Any:
        """The elements in lists."""
        return self.array.tolist()


@typed_row
class BufferRow:
    """A buffer of the launch, and what is in it."""

    name: str = column()
    address: int = column()
    dtype: str = column()
    count: int = column()
    nan: int = column()
    first_nan: int | None = column()
    inf: int = column()
    first_inf: int | None = column()
    never_written: str = column()
    content: str = column(key="")

    @classmethod
    def of(cls, name: str, buffer: Any) -> BufferRow:
        """The row of a buffer."""
        array = buffer.array()
        odd = not_finite(array)
        return cls(
            name,
            buffer.address,
            str(array.dtype),
            int(array.size),
            odd.nan,
            odd.first_nan,
            odd.inf,
            odd.first_inf,
            buffer_words(buffer),
            views.buffer_text(buffer),
        )

    def __str__(self) -> str:
        return f"{self.name:10} 0x{self.address:x}  {self.content}"


@command(
    "show values",
    usage="show values [N]",
    help="the last ten values that were printed, or ten around value N",
    group="data",
    needs="stopped or ended",
)
def show_values(session: DebugSession, argument: str) -> Listing:
    """List the history."""
    history = session.value_history
    last = len(history)
    first = parse_int(argument, "value number") - 5 if argument.strip() else last - 9
    first = max(first, history.first + 1, 1)
    lines = []
    for number in range(first, min(first + 10, last + 1)):
        shown, _ = _shown(session, f"${number}")
        lines.append(f"${number} = " + "\n".join(shown.lines))
    return Listing(tuple(lines), str.splitlines)
