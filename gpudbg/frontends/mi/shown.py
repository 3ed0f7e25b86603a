"""What the session's objects look like in MI: frames, breakpoints, threads, stops' words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpudbg.answers import YES, align_of, dim, shown_columns, width_of
from gpudbg.debug import as_written, launch_shape
from gpudbg.debug.commands import frame_words, mid_line
from gpudbg.debug.values import Frame, frames
from gpudbg.debug.views import breakpoint_address, frame_arguments
from gpudbg.frontends.mi.records import Pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpudbg.answers import Table
    from gpudbg.debug import DebugSession, Line
    from gpudbg.debug.breakpoints import BreakpointRow, LocationRow
    from gpudbg.debug.focus import WarpThread

Fields = dict[str, Any]

GROUP = "i1"
"""The one thread group."""

COLUMNS = (
    ("7", "-1", "number", "Num"),
    ("14", "-1", "type", "Type"),
    ("4", "-1", "disp", "Disp"),
    ("3", "-1", "enabled", "Enb"),
    ("18", "-1", "addr", "Address"),
    ("40", "2", "what", "What"),
)
"""Header of the breakpoint table."""


def address(pc: int) -> str:
    """A code address, always as long."""
    return f"0x{pc:016x}"


def header(columns: Any) -> list[Fields]:
    """A table's `hdr`."""
    keys = ("width", "alignment", "col_name", "colhdr")
    return [dict(zip(keys, column, strict=True)) for column in columns]


def table_fields(
    table: Table, rows: Sequence[Any], finished: Callable[[Fields], Fields] = dict
) -> Fields:
    """A table by its name: header, and rows.

    Args:
        table: the table; its columns are as wide as all of its rows want.
        rows: those to give.
        finished: what becomes of a row's fields.
    """
    columns = shown_columns(table.kind, table.shown, "mi")
    hdr = header(
        (
            width_of(c, table.rows),
            align_of(c, table),
            c.key,
            c.heading,
        )
        for c in columns
    )
    body = [finished({c.key: c.text(row) for c in columns}) for row in rows]
    content = {
        "nr_rows": len(body),
        "nr_cols": len(columns),
        "hdr": hdr,
        "body": Pairs.of(table.name.removesuffix("Table") + "Row", body),
    }
    return {table.name: content}


# ---- frames ----------------------------------------------------------------------------
def source_fields(session: DebugSession, frame: Frame) -> Fields:
    """file, fullname and line of a frame, where they are known."""
    if frame.line is None:
        return {}
    return {
        "file": as_written(frame.line.file),
        "fullname": session.sources.fullname(frame.line.file),
        "line": frame.line.number,
    }


def argument_fields(session: DebugSession, frame: Frame) -> list[Fields]:
    """A frame's arguments, as far as they are known (`frame_arguments`)."""
    return [{"name": a.entry, "value": a.text} for a in frame_arguments(session, frame)]


def frame_fields(
    session: DebugSession, frame: Frame, level: bool = True, args: bool = False
) -> Fields:
    """A frame as `frame={…}`."""
    return {
        **({"level": frame.level} if level else {}),
        "addr": address(frame.pc),
        "func": frame.function,
        **({"args": argument_fields(session, frame)} if args else {}),
        **source_fields(session, frame),
        "arch": session.program.arch,
    }


def selected_frame(session: DebugSession) -> Frame:
    """The frame that commands mean."""
    rows = frames(session)
    return rows[min(session.frame_level, len(rows) - 1)]


def position_lines(session: DebugSession, moved: bool = True) -> str:
    """Where the program stands, as cuda-gdb prints it.

    `walk<<<(2,1,1),(64,1,1)>>> (in=…) at walk.cu:24` and the source line; the line alone unless
    the function has `moved`, with the address before it where it is not the line's first.
    """
    frame = frames(session)[0]
    middle = mid_line(session, frame)
    launch = launch_shape(session)
    shape = f"<<<{dim(launch.grid)},{dim(launch.block)}>>>"
    words = frame_words(session, frame)
    where = words.replace(" (", f"{shape} (", 1) if frame.own else words
    out = ""
    if moved or frame.line is None:
        out = f"{address(frame.pc)} in {where}\n" if middle else f"{where}\n"
    if frame.line is not None:
        before = f"{address(frame.pc)}\t" if middle and not moved else ""
        out += f"{before}{frame.line.number}\t{source_text(session, frame)}\n"
    else:
        code = session.symbols.instruction(frame.pc)
        out += f"=> {address(frame.pc)}:\t{code.text if code else '?'}\n"
    return out


def annotation(session: DebugSession) -> str:
    """The selected frame's place for an editor, or nothing."""
    frame = selected_frame(session)
    middle = bool(frame.level) or mid_line(session, frame)
    return line_annotation(session, frame.line, frame.pc, middle)


def line_annotation(session: DebugSession, line: Line | None, pc: int, middle: bool) -> str:
    """A line as `gdb --fullname` tells it to an editor; nothing where the file is not here.

    `\\032\\032FILE:LINE:CHARACTER:beg|middle:0xADDRESS`, the character counted from 0.
    """
    lines = session.sources.lines(line.file) if line is not None else None
    if line is None or lines is None:
        return ""
    before = sum(len(text) + 1 for text in lines[: line.number - 1])
    file = session.sources.fullname(line.file)
    where = "middle" if middle else "beg"
    return f"\032\032{file}:{line.number}:{before}:{where}:{address(pc)}\n"


def source_text(session: DebugSession, frame: Frame) -> str:
    """The text of a frame's line; gdb's words where the file is not here."""
    assert frame.line is not None
    file = frame.line.file
    if session.sources.lines(file) is None:
        return f"{as_written(file)}: No such file or directory."
    return session.sources.text(file, frame.line.number)


# ---- breakpoints -----------------------------------------------------------------------
def location_fields(place: LocationRow) -> Fields:
    """addr, func, file, fullname and line of a breakpoint's location."""
    out: Fields = {"addr": address(place.pc)}
    if place.place:
        out["func"] = place.inside
    if place.line is not None:
        out["file"] = as_written(place.line.file)
        out["fullname"] = place.fullname
        out["line"] = place.line.number
    return out


def breakpoint_fields(row: BreakpointRow, version: int) -> Fields:
    """A breakpoint as `bkpt={…}`."""
    out: Fields = {
        "number": row.number,
        "type": row.type,
        "disp": "del" if row.temporary else "keep",
        "enabled": YES.text(row.enabled),
    }
    several = len(row.locations) > 1
    if row.watch is not None:
        out["what"] = row.location
    elif len(row.locations) == 1:
        out |= {**location_fields(row.locations[0]), "thread-groups": [GROUP]}
    else:
        out["addr"] = breakpoint_address(row)
        out |= {} if several else {"pending": row.original}
    if row.thread is not None:
        out["thread"] = row.thread
    if row.condition:
        out["cond"] = row.condition
    out["times"] = row.hits
    if row.ignore:
        out["ignore"] = row.ignore
    if row.dprintf:
        out["script"] = [f"printf {row.dprintf}"]
    out["original-location"] = row.original
    if several:
        places = [
            {
                "number": f"{row.number}.{place.number}",
                "enabled": YES.text(place.enabled),
                **location_fields(place),
                "thread-groups": [GROUP],
            }
            for place in row.locations
        ]
        if version >= 3:
            out["locations"] = places
        else:
            # mi2 lets the places follow the breakpoint, without a key; see `records.fields_text`.
            out["\0places"] = places
    return out


def breakpoint_result(fields: Fields) -> Fields:
    """`bkpt={…}`, for mi2 followed by its places."""
    places = fields.pop("\0places", [])
    return {"bkpt": fields, **{" " * (n + 1): place for n, place in enumerate(places)}}


def breakpoint_table(rows: list[Fields]) -> Fields:
    """`BreakpointTable={…}`"""
    body = Pairs()
    for row in rows:
        places = row.pop("\0places", [])
        body.append(("bkpt", row))
        body += [("", place) for place in places]
    return {
        "BreakpointTable": {
            "nr_rows": len(rows),
            "nr_cols": len(COLUMNS),
            "hdr": header(COLUMNS),
            "body": body,
        }
    }


# ---- threads ---------------------------------------------------------------------------
def thread_fields(session: DebugSession, thread: WarpThread) -> Fields:
    """A warp as a thread."""
    words = {"barrier": "waits at a barrier", "error": "stopped by an error", "trap": "trapped"}
    return {
        "id": thread.number,
        "target-id": thread.title,
        "name": f"warp {thread.index}",
        "frame": frame_fields(session, thread.frame, args=True),
        "state": "stopped",
        **({"details": words[thread.status]} if thread.status in words else {}),
        "core": thread.sm,
    }
