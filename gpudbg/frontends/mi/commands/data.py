"""Data: expressions, registers, memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpudbg.debug.values import never_written, spans
from gpudbg.debug.views import (
    MemoryRef,
    code_pointer,
    format_bits,
    memory_at,
    read_prefix,
    register_names,
    register_text,
)
from gpudbg.errors import CommandError
from gpudbg.frontends.mi.bridge import NO_REGISTERS
from gpudbg.frontends.mi.commands.registry import MiCall, mi
from gpudbg.frontends.mi.parser import MiError, take_options
from gpudbg.frontends.mi.varobj import VECTORS, value_text

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession

Fields = dict[str, Any]
UNREADABLE = "Unable to read memory."
MAX_BYTES = 1 << 22
"""Bytes one command reads."""


def readable(call: MiCall, text: str) -> DebugSession:
    """The session to evaluate in: of a stopped program; before a run for names without `$`."""
    bridge = call.bridge
    if bridge.run is None and bridge.session is not None and not bridge.started:
        resting = bridge.session.focus is None and bridge.session.launched
        if "$" in text or resting:
            raise MiError(NO_REGISTERS)
        return bridge.session
    return bridge.process()


def expression_text(session: DebugSession, text: str) -> str:
    """The value of an expression as `-data-evaluate-expression` shows it."""
    if text.strip() in VECTORS:
        name = text.strip()
        lane = session.focus.lane if session.focus else 0
        parts = [f"{a} = {session.evaluate(f'{name}.{a}').values[lane]}" for a in "xyz"]
        return "{" + ", ".join(parts) + "}"
    return code_pointer(session, text) or value_text(session, session.evaluate(text))


@mi("data-evaluate-expression")
def evaluate(call: MiCall) -> Fields:
    """A value."""
    if len(call.words) < 1:
        raise MiError("-data-evaluate-expression: Usage: -data-evaluate-expression EXPRESSION")
    text = " ".join(call.words)
    return {"value": expression_text(readable(call, text), text)}


# ---- registers -------------------------------------------------------------------------
def _numbers(call: MiCall, words: list[str], count: int) -> list[int]:
    out = []
    for word in words:
        if not word.isdecimal() or int(word) >= count:
            raise MiError("bad register number")
        out.append(int(word))
    return out or list(range(count))


@mi("data-list-register-names", running="ok")
def register_names_(call: MiCall) -> Fields:
    """Names by position."""
    session = call.bridge.session
    if session is None:
        raise MiError(NO_REGISTERS)
    names = register_names(session) if call.bridge.run is None else call.bridge.names
    call.bridge.names = names
    return {"register-names": [names[n] for n in _numbers(call, call.words, len(names))]}


@mi("data-list-register-values")
def register_values(call: MiCall) -> Fields:
    """Values by position."""
    words = call.words
    flags = ("--skip-unavailable",)
    words = [w for w in words if w not in flags]
    session = call.bridge.process()
    if not words or words[0] not in tuple("xodtrNuz"):
        raise MiError(
            "-data-list-register-values: Usage: -data-list-register-values "
            "[--skip-unavailable] <format> [<regnum1>...<regnumN>]"
        )
    names = register_names(session)
    rows = [
        {"number": n, "value": register_text(session, names[n], words[0])}
        for n in _numbers(call, words[1:], len(names))
    ]
    return {"register-values": rows}


@mi("data-list-changed-registers")
def changed_registers(call: MiCall) -> Fields:
    """Positions of those that differ since this was asked last for the thread."""
    bridge = call.bridge
    session = bridge.process()
    names = register_names(session)
    now = {n: register_text(session, name, "r") for n, name in enumerate(names)}
    thread = bridge.ids.focused(session) or 0
    seen = bridge.registers_seen.get(thread, {})
    bridge.registers_seen[thread] = now
    return {"changed-registers": [n for n, value in now.items() if seen.get(n) != value]}


@mi("data-write-register-values")
def write_registers(call: MiCall) -> None:
    """Set registers."""
    session = call.bridge.process()
    names = register_names(session)
    pairs = call.words[1:]
    if len(pairs) < 2 or len(pairs) % 2:
        raise MiError("-data-write-register-values: Usage: <format> [<regnum1> <value1>…]")
    for number, value in zip(pairs[::2], pairs[1::2], strict=True):
        index = _numbers(call, [number], len(names))[0]
        session.evaluate(f"${names[index]} = {value}")


# ---- memory ----------------------------------------------------------------------------
def _integer(session: DebugSession, text: str, what: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        pass
    try:
        return session.integer(text, what)
    except CommandError as error:
        raise MiError(f"bad {what}: {error}") from None


def place(call: MiCall, session: DebugSession, text: str) -> MemoryRef:
    """A memory place, or gdb's error."""
    try:
        return memory_at(session, text)
    except CommandError as e:
        raise MiError(str(e)) from None


def _size(session: DebugSession, text: str) -> int:
    size = _integer(session, text, "count")
    if not 0 < size <= MAX_BYTES:
        raise MiError(f"a count is 1 to {MAX_BYTES} bytes, not {size}")
    return size


@mi("data-read-memory-bytes")
def read_memory_bytes(call: MiCall) -> Fields:
    """Bytes in hex; what can be read of them."""
    opts = take_options(call.name, call.words, values="-o")
    if len(opts.rest) != 2:
        raise MiError("Usage: [ -o OFFSET ] ADDR LENGTH.")
    session = readable(call, opts.rest[0])
    offset = _integer(session, opts.get("-o") or "0", "offset")
    ref = place(call, session, opts.rest[0]).moved(offset)
    data = read_prefix(session, ref, _size(session, opts.rest[1]))
    if not data:
        raise MiError(UNREADABLE)
    row: Fields = {
        "begin": _address(ref.shown),
        "offset": _address(0),
        "end": _address(ref.shown + len(data)),
        "contents": data.hex(),
    }
    row |= _never_fields(session, ref, len(data))
    return {"memory": [row]}


def _never_fields(session: DebugSession, ref: MemoryRef, count: int) -> Fields:
    """A field of our own, which clients pass over: the bytes never written."""
    never = never_written(session, ref.space, ref.address, count)
    if never is None or not never.any():
        return {}
    rows = [{"offset": _address(first), "end": _address(last + 1)} for first, last in spans(never)]
    return {"never-written": rows}


def _address(value: int) -> str:
    return f"0x{value & (1 << 64) - 1:016x}"


@mi("data-read-memory")
def read_memory(call: MiCall) -> Fields:
    """A table of words (Emacs)."""
    opts = take_options(call.name, call.words, values="-o")
    if len(opts.rest) not in (5, 6):
        raise MiError(
            "-data-read-memory: Usage: ADDR WORD-FORMAT WORD-SIZE NR-ROWS NR-COLS [ASCHAR]"
        )
    session = readable(call, opts.rest[0])
    text, letter, *numbers = opts.rest[:5]
    unit, rows, columns = (_integer(session, w, "number") for w in numbers)
    if unit not in (1, 2, 4, 8) or rows < 1 or columns < 1 or unit * rows * columns > MAX_BYTES:
        raise MiError("-data-read-memory: invalid number of rows, columns or word size.")
    offset = _integer(session, opts.get("-o") or "0", "offset")
    ref = place(call, session, text).moved(offset)
    total = unit * rows * columns
    data = read_prefix(session, ref, total)
    if not data:
        raise MiError(UNREADABLE)
    wide = unit * columns
    out: Fields = {
        "addr": _address(ref.shown),
        "nr-bytes": len(data),
        "total-bytes": total,
        "next-row": _address(ref.shown + wide),
        "prev-row": _address(ref.shown - wide),
        "next-page": _address(ref.shown + total),
        "prev-page": _address(ref.shown - total),
    }
    fill = opts.rest[5][:1] if len(opts.rest) == 6 else None
    out["memory"] = [
        _memory_row(data, ref.shown, row * wide, unit, columns, letter, fill) for row in range(rows)
    ]
    return out | _never_fields(session, ref, len(data))


def _memory_row(
    data: bytes, base: int, at: int, unit: int, columns: int, letter: str, fill: str | None
) -> Fields:
    cells = []
    for n in range(columns):
        piece = data[at + n * unit : at + (n + 1) * unit]
        whole = len(piece) == unit
        cells.append(_word(int.from_bytes(piece, "little"), unit, letter) if whole else "N/A")
    row: Fields = {"addr": _address(base + at), "data": cells}
    if fill is not None:
        part = data[at : at + unit * columns]
        row["ascii"] = "".join(chr(b) if 32 <= b < 127 else fill for b in part)
    return row


def _word(bits: int, unit: int, letter: str) -> str:
    if letter == "x":
        return f"0x{bits:0{unit * 2}x}"
    if letter == "t":
        return f"{bits:0{unit * 8}b}"
    if letter not in tuple("duofcaz"):
        raise MiError(f"-data-read-memory: undefined output format '{letter}'")
    return format_bits(bits, unit, letter)


@mi("data-write-memory-bytes")
def write_memory_bytes(call: MiCall) -> None:
    """Bytes in hex into memory."""
    if len(call.words) not in (2, 3):
        raise MiError("Usage: ADDR DATA [COUNT].")
    session = readable(call, call.words[0])
    try:
        data = bytes.fromhex(call.words[1])
    except ValueError:
        raise MiError("Hex-encoded data must be pairs of hex digits.") from None
    if len(call.words) == 3 and data:
        count = _size(session, call.words[2])
        data = (data * (count // len(data) + 1))[:count]
    if not data:
        raise MiError("Hex-encoded data is empty.")
    ref = place(call, session, call.words[0])
    session.memory.write(ref.space, ref.address, data)


@mi("data-write-memory")
def write_memory(call: MiCall) -> None:
    """Words into memory, one after the other."""
    opts = take_options(call.name, call.words, values="-o")
    if len(opts.rest) < 4:
        raise MiError("-data-write-memory: Usage: [-o COLUMN_OFFSET] ADDR FORMAT WORD-SIZE VALUE.")
    session = readable(call, opts.rest[0])
    unit = _integer(session, opts.rest[2], "word size")
    if unit not in (1, 2, 4, 8):
        raise MiError("-data-write-memory: bad word size")
    offset = _integer(session, opts.get("-o") or "0", "offset") * unit
    mask = (1 << unit * 8) - 1
    values = [_integer(session, text, "value") & mask for text in opts.rest[3:]]
    ref = place(call, session, opts.rest[0]).moved(offset)
    data = b"".join(value.to_bytes(unit, "little") for value in values)
    session.memory.write(ref.space, ref.address, data)
