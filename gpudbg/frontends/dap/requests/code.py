"""Code and source: disassembly, source files that are not on this machine."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from gpudbg.errors import CommandError
from gpudbg.frontends.dap.points import source_of
from gpudbg.frontends.dap.protocol import Body
from gpudbg.frontends.dap.registry import request, text_of, whole_of

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession
    from gpudbg.frontends.dap.adapter import Adapter

MOST_INSTRUCTIONS = 1 << 16


def file_of(session: DebugSession, arguments: Body) -> str:
    """The recorded name of a request's source file.

    Raises:
        CommandError: the program has no code of it.
    """
    source = arguments.get("source")
    if not isinstance(source, dict):
        raise CommandError("source: an object is wanted")
    number, path = source.get("sourceReference"), source.get("path") or source.get("name")
    files = session.symbols.files
    if isinstance(number, int) and 0 < number <= len(files):
        return files[number - 1]
    if not isinstance(path, str) or not path:
        raise CommandError("source: neither path nor name")
    for file in files:
        if session.sources.fullname(file) == path or file == path:
            return file
    file = session.symbols.recorded_file(path, session.origin())
    if file in files:
        session.sources.open_in_editor(file, path)
    return file


def code_address(text: str) -> int:
    """The pc of an instruction reference.

    Raises:
        CommandError: it is none.
    """
    try:
        return int(text.removeprefix("code:"), 0)
    except ValueError:
        raise CommandError(f"{text!r} is no address of code", "0x1000") from None


@request("disassemble")
def disassemble(adapter: Adapter, arguments: Body) -> Body:
    """Instructions around a place; beyond the function, rows that are marked invalid."""
    session = adapter.opened()
    pc = code_address(text_of(arguments, "memoryReference")) + whole_of(arguments, "offset", 0)
    first = whole_of(arguments, "instructionOffset", 0)
    count = whole_of(arguments, "instructionCount")
    if not 0 <= count <= MOST_INSTRUCTIONS:
        raise CommandError(f"instructionCount {count}: at most {MOST_INSTRUCTIONS}")
    rows = session.symbols.function_rows(pc)
    at = bisect_left([row.pc for row in rows], pc)
    found: list[Body] = []
    before: object = None
    for n in range(at + first, at + first + count):
        if not 0 <= n < len(rows):
            size = rows[0].size if rows else 8
            address = max(pc + (n - at) * size, 0)
            found.append(
                {
                    "address": f"0x{address:x}",
                    "instruction": "??",
                    "presentationHint": "invalid",
                }
            )
            continue
        row = rows[n]
        line = session.symbols.line(row.pc)
        body: Body = {
            "address": f"0x{row.pc:x}",
            "instruction": row.text,
            "instructionBytes": f"{row.word:0{2 * row.size}x}",
            "symbol": session.symbols.describe(row.pc),
        }
        if line is not None and line != before:
            body |= {"location": source_of(session, line.file), "line": line.number}
        before = line
        found.append(body)
    return {"instructions": found}


@request("source", running="ok")
def source(adapter: Adapter, arguments: Body) -> Body:
    """The text of a source file that the program carries with it."""
    session = adapter.opened()
    lines = session.sources.lines(file_of(session, {"source": {**arguments, **_given(arguments)}}))
    if lines is None:
        raise CommandError("the source file is not on this machine")
    return {"content": "".join(f"{line}\n" for line in lines), "mimeType": "text/x-cuda"}


def _given(arguments: Body) -> Body:
    given = arguments.get("source")
    return given if isinstance(given, dict) else {}


@request("loadedSources", running="ok")
def loaded_sources(adapter: Adapter, arguments: Body) -> Body:
    """Every file that the program has lines of."""
    session = adapter.opened()
    return {"sources": [source_of(session, file) for file in session.symbols.files]}
