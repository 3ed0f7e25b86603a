"""Programs, source files, line tables, symbols, disassembly."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from gpudbg.debug import as_written
from gpudbg.debug.commands import lane_remarks
from gpudbg.errors import CommandError
from gpudbg.frontends.mi import shown
from gpudbg.frontends.mi.commands.data import readable
from gpudbg.frontends.mi.commands.registry import MiCall, mi
from gpudbg.frontends.mi.parser import MiError, take_options
from gpudbg.frontends.mi.records import Pairs
from gpudbg.patterns import user_pattern
from gpudbg.symbols import CodeLine
from gpudbg.symbols import readable as function_text

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession

Fields = dict[str, Any]


@mi("file-exec-and-symbols", "file-exec-file", "file-symbol-file")
def file_exec(call: MiCall) -> None:
    """Load a program; without a name forget it."""
    if not call.words:
        call.bridge.close_program()
        return
    path = call.words[0] if len(call.words) == 1 else call.text
    call.bridge.open(shlex.split(path)[0] if path.startswith("'") else path)


@mi("file-list-exec-source-files", running="ok")
def source_files(call: MiCall) -> Fields:
    """Source files of the line table."""
    session = call.bridge.session
    rows = []
    for file in session.symbols.files if session is not None else ():
        assert session is not None
        full = session.sources.fullname(file)
        rows.append({"file": as_written(file), "fullname": full, "debug-fully-read": "true"})
    return {"files": rows}


@mi("file-list-exec-source-file", running="ok")
def source_file(call: MiCall) -> Fields:
    """Where the program stands; before a run, where the kernel's source is."""
    session = call.bridge.loaded()
    if call.bridge.started and call.bridge.run is None:
        frame = shown.selected_frame(session)
        if frame.line is not None:
            return {**shown.source_fields(session, frame), "macro-info": 0}
    pcs = (pc for pc in session.symbols.pcs if session.symbols.line(pc) is not None)
    first = next(pcs, None)
    line = session.symbols.line(first) if first is not None else None
    if line is None:
        raise MiError("-file-list-exec-source-file: No line number information available.")
    return {
        "line": line.number,
        "file": as_written(line.file),
        "fullname": session.sources.fullname(line.file),
        "macro-info": 0,
    }


@mi("file-list-shared-libraries", running="ok")
def shared_libraries(call: MiCall) -> Fields:
    """There are none."""
    return {"shared-libraries": []}


@mi("symbol-list-lines", running="ok")
def list_lines(call: MiCall) -> Fields:
    """The line table of a file."""
    if len(call.words) != 1:
        raise MiError("-symbol-list-lines: Usage: SOURCE_FILENAME")
    session = call.bridge.loaded()
    rows = session.symbols.line_rows(session.symbols.recorded_file(call.words[0], session.origin()))
    if not rows:
        raise MiError("-symbol-list-lines: Unknown source file name.")
    return {"lines": [{"pc": shown.address(pc), "line": line} for pc, line in rows]}


class _Wanted:
    """`[--include-nondebug] [--type RE] [--name RE] [--max-results N]` of -symbol-info-…"""

    def __init__(self, call: MiCall) -> None:
        opts = take_options(
            call.name,
            call.words,
            flags="--include-nondebug --",
            values="--type --name --module --max-results",
        )
        limit = opts.get("--max-results") or "unlimited"
        if opts.rest or not (limit.isdecimal() or limit == "unlimited"):
            raise MiError(
                f"-{call.name}: Usage: [--include-nondebug] [--type TYPE_REGEXP] "
                "[--name NAME_REGEXP] [--max-results N]"
            )
        self.nondebug = opts.has("--include-nondebug")
        self.left = int(limit) if limit.isdecimal() else 1 << 30
        try:
            self._name = user_pattern(opts.get("--name") or "")
            self._type = user_pattern(opts.get("--type") or "")
        except CommandError as error:
            raise MiError(f"-{call.name}: {error}") from None

    def take(self, name: str, kind: str = "") -> bool:
        """Whether a symbol is one of those asked for; counts it."""
        fits = self._name.search(name) is not None and self._type.search(kind) is not None
        if fits and self.left > 0:
            self.left -= 1
            return True
        return False


@mi("symbol-info-functions", running="ok")
def info_functions(call: MiCall) -> Fields:
    """Functions by source file; those without lines when asked for, or when none has lines."""
    session, wanted = call.bridge.loaded(), _Wanted(call)
    files: dict[str, list[Fields]] = {}
    other: list[Fields] = []
    for fn in session.program.functions.values():
        pc = session.symbols.layout.first(session.symbols.image.address_in(fn.section, fn.offset))
        line = session.symbols.line(pc)
        name, kind = (
            function_text(fn.label),
            "__global__" if fn.is_kernel else "__device__",
        )
        if line is None and session.symbols.has_lines and not wanted.nondebug:
            continue
        if not wanted.take(name, kind):
            continue
        if line is None:
            other.append({"address": shown.address(pc), "name": name})
            continue
        row = {"line": line.number, "name": name, "type": kind, "description": f"{kind} {name};"}
        files.setdefault(line.file, []).append(row)
    debug = [
        {"filename": f, "fullname": session.sources.fullname(f), "symbols": rows}
        for f, rows in files.items()
    ]
    out: Fields = {"debug": debug} if debug else {}
    if other:
        out["nondebug"] = other
    return {"symbols": out}


@mi("symbol-info-variables", running="ok")
def info_variables(call: MiCall) -> Fields:
    """`__device__` and `__constant__` variables (the file gives names and places, no types)."""
    session, wanted = call.bridge.loaded(), _Wanted(call)
    rows = [
        {"address": shown.address(session.memory.address_of(name)), "name": name}
        for name in session.program.globals
        if wanted.take(name)
    ]
    return {"symbols": {"nondebug": rows} if rows else {}}


@mi(
    "symbol-info-types",
    "symbol-info-modules",
    "symbol-info-module-functions",
    "symbol-info-module-variables",
    running="ok",
)
def info_nothing(call: MiCall) -> Fields:
    """Line tables name no types, and there are no modules."""
    call.bridge.loaded()
    _Wanted(call)
    return {"symbols": {}}


# ---- disassembly -----------------------------------------------------------------------
@mi("data-disassemble")
def disassemble(call: MiCall) -> Fields:
    """Instructions of a range, a function or a line.

    `--lanes` is ours: it adds a field `lanes`, what the code says of a warp's lanes there.
    """
    opts = take_options(
        call.name,
        call.words,
        flags="--no-source --lanes",
        values="-s -e -a -f -l -n --opcodes",
    )
    mode = opts.rest[0] if opts.rest else "0"
    if mode == "--":
        mode = opts.rest[1] if len(opts.rest) > 1 else "0"
    if mode not in ("0", "1", "2", "3", "4", "5"):
        raise MiError("-data-disassemble: Mode argument must be in the range 0-5.")
    rows = _chosen(call, opts.values)
    session = call.bridge.loaded()
    raw = mode in ("2", "3", "5") or opts.get("--opcodes") in ("bytes", "display")
    remarks = lane_remarks(session, rows) if "--lanes" in opts.values else {}
    fields = {r.pc: instruction_fields(session, r, raw, remarks.get(r.pc, "")) for r in rows}
    if mode in ("0", "2"):
        return {"asm_insns": list(fields.values())}
    return {"asm_insns": _with_source(session, fields, by_line=mode in ("1", "3"))}


def _chosen(call: MiCall, opts: dict[str, str]) -> list[CodeLine]:
    session = readable(call, opts.get("-s", "") + opts.get("-e", "") + opts.get("-a", ""))
    symbols = session.symbols
    if "-s" in opts and "-e" in opts:
        first, last = (_code_address(session, opts[k]) for k in ("-s", "-e"))
        return _range(session, first, last)
    if "-a" in opts:
        first = _code_address(session, opts["-a"])
        return symbols.function_rows(first)
    if "-f" in opts and "-l" in opts:
        if not opts["-l"].isdecimal():
            raise MiError("-data-disassemble: -l needs a line number")
        found = symbols.resolve(f"{opts['-f']}:{opts['-l']}", session.origin()).addresses
        rows = symbols.function_rows(found[0])
        count = opts.get("-n", "-1")
        if not count.lstrip("-").isdecimal():
            raise MiError("-data-disassemble: -n needs a number")
        if int(count) < 0:
            return rows
        return [r for r in rows if r.pc >= found[0]][: int(count)]
    raise MiError(
        "-data-disassemble: Usage: ( [-f filename -l linenum [-n howmany]] | "
        "[-s startaddr -e endaddr] | [-a addr] ) [--] mode."
    )


def _code_address(session: DebugSession, text: str) -> int:
    symbols = session.symbols
    if text.isidentifier():
        return symbols.resolve(text, session.origin()).addresses[0]
    # Numbers are code addresses, also those before the code that views ask for.
    return session.integer(text, "an address")


def _range(session: DebugSession, first: int, last: int) -> list[CodeLine]:
    """Instructions that lie in a range, also in part; control words belong to what follows."""
    symbols = session.symbols
    if last - first > 1 << 22:
        raise MiError("-data-disassemble: the range is too long")
    rows = symbols.rows_between(first, last)
    if rows or last <= first:
        return rows
    if symbols.image.section_offset(first) is None:
        raise MiError(f"Cannot access memory at address 0x{first:x}")
    near = symbols.instruction(first)
    return [near] if near is not None else []


def instruction_fields(session: DebugSession, row: CodeLine, raw: bool, remark: str = "") -> Fields:
    """One instruction, and what the code says of lanes there if there is a remark on them."""
    name, offset = session.symbols.function_offset(row.pc)
    out: Fields = {"address": shown.address(row.pc), "func-name": name, "offset": offset}
    if raw:
        out["opcodes"] = row.word.to_bytes(row.size, "little").hex(" ")
    return {**out, "inst": row.text} | ({"lanes": remark} if remark else {})


def _with_source(session: DebugSession, fields: dict[int, Fields], by_line: bool) -> Pairs:
    """Instructions by their source lines; `fields`: each one's, by pc."""
    groups: list[tuple[Any, list[Fields]]] = []
    for pc, found in fields.items():
        line = session.symbols.line(pc)
        if not groups or groups[-1][0] != line:
            groups.append((line, []))
        groups[-1][1].append(found)
    if by_line:
        merged: dict[Any, list[Fields]] = {}
        for line, insns in groups:
            merged.setdefault(line, []).extend(insns)
        groups = sorted(merged.items(), key=lambda g: (g[0].file, g[0].number) if g[0] else ("", 0))
    out = []
    for line, insns in groups:
        place: Fields = {"line": line.number if line else 0}
        if line is not None:
            place |= {"file": line.file, "fullname": session.sources.fullname(line.file)}
        out.append({**place, "line_asm_insn": insns})
    return Pairs.of("src_and_asm_line", out)
