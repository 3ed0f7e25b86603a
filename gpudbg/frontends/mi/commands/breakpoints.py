"""Breakpoints: insert, list, delete, enable, condition, ignore, commands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpudbg.debug.breakpoints import Breakpoint, WatchKind
from gpudbg.debug.script import statements
from gpudbg.debug.values import check_names
from gpudbg.errors import CommandError
from gpudbg.frontends.mi import shown
from gpudbg.frontends.mi.commands.registry import MiCall, mi
from gpudbg.frontends.mi.parser import MiError, MiOptions, take_options
from gpudbg.frontends.mi.stops import WATCH_REASONS

Fields = dict[str, Any]


def _location(call: MiCall, opts: MiOptions) -> tuple[str, str]:
    """(location for the session, text that `original-location` keeps)."""
    source, line = opts.get("--source"), opts.get("--line")
    function = opts.get("--function")
    parts = f"-source {source} " if source is not None else ""
    only = "-qualified " if opts.has("--qualified") else ""
    if function is not None:
        both = f" -line {line}" if line is not None else ""
        text = f"{parts}{only}-function {function}{both}"
        return text, text
    if line is not None:
        where = f"{source}:{line}" if source is not None else line
        return where, f"{parts}-line {line}"
    if source is not None:
        raise MiError(f"-{call.name}: --source needs --line or --function")
    text = " ".join(opts.rest).strip()
    if not text:
        raise MiError(f"-{call.name}: Missing <location>")
    return (f"-qualified -function {text}", f"-qualified {text}") if only else (text, text)


@mi("break-insert", running="pause")
def break_insert(call: MiCall) -> Fields:
    """A new breakpoint."""
    opts = take_options(
        call.name,
        call.words,
        flags="-t -h -f -d -a -g --qualified --force-condition",
        values="-c -i -p -g --source --line --function --label",
    )
    if opts.has("-a"):
        raise MiError("-break-insert: tracepoints are not supported")
    location, original = _location(call, opts)
    return _inserted(call, opts, location, original, _condition(call, opts))


def _inserted(
    call: MiCall,
    opts: MiOptions,
    location: str,
    original: str,
    condition: str | None,
    dprintf: str = "",
) -> Fields:
    """Set a breakpoint with the options that `-break-insert` and `-dprintf-insert` share."""
    ignore = _number(opts.get("-i") or "0", "ignore count")
    thread = _thread(call, opts)
    row = insert(
        call,
        location,
        condition=condition,
        temporary=opts.has("-t"),
        ignore=ignore,
        pending=opts.has("-f"),
    )
    row.enabled = not opts.has("-d")
    row.dprintf = dprintf
    if thread is not None:
        row.thread, row.only = thread, call.bridge.ids.key(thread)
    row.original = original
    return shown.breakpoint_result(call.bridge.breakpoint_record(row.number, call.ui.version))


def _condition(call: MiCall, opts: MiOptions) -> str | None:
    return opts.get("-c")


def _thread(call: MiCall, opts: MiOptions) -> int | None:
    """The thread of `-p`, which has to exist: a warp's number means another one in another run."""
    text = opts.get("-p")
    if text is None:
        return None
    number = _number(text.rpartition(".")[2], "thread")
    if number not in call.bridge.ids.known():
        raise MiError(f"Unknown thread {text}.")
    return number


def insert(
    call: MiCall,
    location: str,
    condition: str | None,
    temporary: bool,
    ignore: int,
    pending: bool,
) -> Breakpoint:
    """A breakpoint in the session, or a pending one in the table that waits for a program."""
    bridge = call.bridge
    if bridge.session is None:
        if not pending:
            bridge.loaded()
        return bridge.breakpoints.add(location, (), (), condition, temporary, ignore)
    try:
        return bridge.session.break_at(location, condition, temporary, ignore)
    except CommandError as e:
        if not pending:
            raise
        call.ui.stream("&", f"{e}\n")
    return bridge.session.break_at(location, condition, temporary, ignore, pending=True)


def _number(text: str, what: str) -> int:
    try:
        return int(text, 0) if text.strip("-").startswith("0x") else int(text)
    except ValueError:
        raise MiError(f"bad {what}: '{text}'") from None


@mi("break-list", running="ok")
def break_list(call: MiCall) -> Fields:
    """All of them."""
    return _table(call, [b.number for b in call.bridge.breakpoints])


@mi("break-info", running="ok")
def break_info(call: MiCall) -> Fields:
    """Some of them; what is not there is not in the table."""
    known = [b.number for b in call.bridge.breakpoints]
    wanted = set(_listed(call)) if call.words else set(known)
    return _table(call, [number for number in known if number in wanted])


def _table(call: MiCall, numbers: list[int]) -> Fields:
    bridge = call.bridge
    return shown.breakpoint_table([bridge.breakpoint_record(n, call.ui.version) for n in numbers])


def _existing(call: MiCall, text: str) -> int:
    number = _number(text, "breakpoint number")
    try:
        call.bridge.breakpoints.get(number)
    except CommandError:
        raise MiError(f"No breakpoint number {number}.") from None
    return number


@mi("break-delete", running="pause")
def break_delete(call: MiCall) -> None:
    """Some, or all."""
    known = [b.number for b in call.bridge.breakpoints]
    for number in _listed(call) if call.words else known:
        if _is_there(call, number):
            call.bridge.breakpoints.remove(number)


def _listed(call: MiCall) -> Iterator[int]:
    """Numbers, `2-4` among them."""
    for word in call.words:
        first, dash, last = word.partition("-")
        if dash and not first and last.isdecimal():
            raise MiError("negative value")
        number = first.isascii() and first.isdecimal() and (last.isdecimal() or not dash)
        if not number:
            raise MiError(f"Bad breakpoint number '{word}'")
        low, high = int(first[:9]), int((last or first)[:9])
        if high < low:
            raise MiError("inverted range")
        # Those that are there, and one message for those that are not.
        known = [b.number for b in call.bridge.breakpoints if low <= b.number <= high]
        yield from known or [low]


def _is_there(call: MiCall, number: int) -> bool:
    """Whether there is a breakpoint; as gdb has it: said, and no error."""
    if any(row.number == number for row in call.bridge.breakpoints):
        return True
    call.ui.stream("~", f"No breakpoint number {number}.\n")
    return False


def _enable(call: MiCall, on: bool) -> None:
    if not call.words:
        for row in call.bridge.breakpoints:
            row.enabled = on
        return
    breakpoints = call.bridge.breakpoints
    places = [word.partition(".") for word in call.words]
    if any(dot for _, dot, _ in places):
        for number, dot, place in places:
            found = _existing(call, number)
            if dot:
                breakpoints.enable_place(found, _number(place, "location number"), on)
            else:
                breakpoints.enable(found, on)
        return
    for one in _listed(call):
        if _is_there(call, one):
            breakpoints.enable(one, on)


@mi("break-enable", running="pause")
def break_enable(call: MiCall) -> None:
    """On."""
    _enable(call, True)


@mi("break-disable", running="pause")
def break_disable(call: MiCall) -> None:
    """Off."""
    _enable(call, False)


@mi("break-condition", running="pause")
def break_condition(call: MiCall) -> None:
    """Set or drop a condition."""
    words = call.words[1:] if call.words[:1] == ["--force"] else call.words
    if not words:
        raise MiError("-break-condition: Missing the <number> argument")
    number = _existing(call, words[0])
    text = " ".join(words[1:])
    bridge = call.bridge
    if text and bridge.session is not None and "--force" not in call.words[:1]:
        check_names(bridge.session, text)
    bridge.breakpoints.set_condition(number, text or None)


@mi("break-after", running="pause")
def break_after(call: MiCall) -> None:
    """Ignore some hits."""
    if len(call.words) != 2:
        raise MiError("-break-after: Usage: NUMBER COUNT")
    number = _existing(call, call.words[0])
    call.bridge.breakpoints.set_ignore(number, _number(call.words[1], "ignore count"))


@mi("break-commands", running="pause")
def break_commands(call: MiCall) -> None:
    """Console lines to carry out at a breakpoint."""
    if not call.words:
        raise MiError("-break-commands: USAGE: NUMBER COMMAND…")
    number = _existing(call, call.words[0])
    call.bridge.breakpoints.get(number).commands = statements(call.words[1:])


@mi("break-watch", running="pause")
def break_watch(call: MiCall) -> Fields:
    """A watchpoint on the place an expression names in the focused lane."""
    opts = take_options(call.name, call.words, flags="-a -r --store", values="")
    expression = " ".join(opts.rest).strip()
    if not expression:
        raise MiError("-break-watch: USAGE: [-r|-a|--store] EXPRESSION")
    kind: WatchKind = "store" if opts.has("--store") else "write"
    kind = "read" if opts.has("-r") else "access" if opts.has("-a") else kind
    row = call.bridge.loaded().watch_at(expression, kind)
    row.original = expression
    return {WATCH_REASONS[kind][1]: {"number": row.number, "exp": expression}}


@mi("dprintf-insert", running="pause")
def dprintf_insert(call: MiCall) -> Fields:
    """A breakpoint that prints and goes on."""
    opts = take_options(
        call.name,
        call.words,
        flags="-t -f -d --qualified --force-condition",
        values="-c -i -p --source --line --function --label",
    )
    words = list(opts.rest)
    place = (
        words.pop(0) if words and not opts.has("--source") and not opts.has("--function") else ""
    )
    place = place if not opts.has("--line") else ""
    location, original = _location(call, MiOptions(opts.values, [place] if place else []))
    if not words:
        raise MiError("-dprintf-insert: Missing <format>")
    template, *arguments = words
    quoted = template.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    text = ", ".join([f'"{quoted}"', *arguments])
    return _inserted(call, opts, location, original, opts.get("-c"), text)


@mi("break-passcount", "catch-load", "catch-unload")
def not_supported(call: MiCall) -> None:
    """What a program on a GPU does not have."""
    raise MiError(f"-{call.name}: not supported for device code")
