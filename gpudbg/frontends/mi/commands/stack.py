"""Threads and call frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpudbg.debug.commands import variable_rows
from gpudbg.debug.values import Frame, frames
from gpudbg.debug.views import frame_arguments
from gpudbg.frontends.mi import shown
from gpudbg.frontends.mi.commands.registry import MiCall, mi
from gpudbg.frontends.mi.parser import MiError, take_options
from gpudbg.frontends.mi.records import Pairs

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession
    from gpudbg.frontends.mi.bridge import Bridge

Fields = dict[str, Any]


# ---- threads ---------------------------------------------------------------------------
def thread_rows(bridge: Bridge, number: int | None = None) -> list[Fields]:
    """Warps as threads; all of them, or one."""
    session = bridge.session
    if session is None or not bridge.started:
        return []
    known = bridge.ids.known()
    if number is not None:
        known = [n for n in known if n == number]
    running = bridge.run is not None
    if running:
        # The engine's thread owns the warps now: numbers only, and no look at their state.
        return [{"id": n, "target-id": bridge.ids.title(n), "state": "running"} for n in known]
    return [shown.thread_fields(session, row) for row in bridge.ids.threads(session, known)]


def _thread(text: str) -> int:
    number = text.rpartition(".")[2]
    if not number.isdecimal():
        raise MiError(f"Invalid thread ID: {text}")
    return int(number)


@mi("thread-info", running="ok", selects=False)
def thread_info(call: MiCall) -> Fields:
    """Threads and which is selected."""
    bridge = call.bridge
    # As in gdb, --thread selects and does not filter; Emacs gives it always.
    wanted = _thread(call.words[0]) if call.words else None
    if wanted is not None and not bridge.started:
        return {"threads": []}
    out: Fields = {"threads": thread_rows(bridge, wanted)}
    if wanted is None and bridge.started and bridge.session is not None:
        current = bridge.ids.focused(bridge.session) if bridge.run is None else bridge.selected()
        if current is not None:
            out["current-thread-id"] = current
    return out


@mi("thread-list-ids", running="ok")
def thread_list_ids(call: MiCall) -> Fields:
    """Thread numbers."""
    bridge = call.bridge
    numbers = bridge.ids.known() if bridge.started else []
    # A tuple with one repeated key, as gdb has it.
    out: Fields = {"thread-ids": _Repeated("thread-id", numbers)}
    if numbers and bridge.session is not None:
        out["current-thread-id"] = bridge.selected() or numbers[0]
    out["number-of-threads"] = len(numbers)
    return out


class _Repeated(dict[str, Any]):
    """A tuple `{thread-id="1",thread-id="2"}`."""

    def __init__(self, key: str, values: list[int]) -> None:
        super().__init__([(key, v) for v in values[:1]])
        self._pairs = [(key, v) for v in values]

    def items(self) -> Any:
        """Every pair, keys repeated."""
        return self._pairs


@mi("thread-select", selects=False)
def thread_select(call: MiCall) -> Fields:
    """Look at another warp."""
    if len(call.words) != 1:
        raise MiError("-thread-select: USAGE: threadnum.")
    number = _thread(call.words[0])
    session = call.bridge.process(f"Invalid thread id: {number}")
    if number not in call.bridge.ids.known():
        raise MiError(f"Thread ID {number} not known.")
    call.bridge.ids.select(session, number)
    call.bridge.mark_selection()
    frame = shown.selected_frame(session)
    return {
        "new-thread-id": number,
        "frame": shown.frame_fields(session, frame, args=True),
    }


# ---- frames ----------------------------------------------------------------------------
def _integer(call: MiCall, text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise MiError(f"-{call.name}: '{text}' is not a number") from None


def _range(call: MiCall, words: list[str], session: DebugSession) -> list[Frame]:
    rows = list(frames(session))
    if not words:
        return rows
    if len(words) != 2:
        raise MiError(f"-{call.name}: Usage: [FRAME_LOW FRAME_HIGH]")
    low, high = (_integer(call, w) for w in words)
    if low < 0:
        return rows
    if low >= len(rows) and call.name == "stack-list-frames":
        raise MiError(f"-{call.name}: Not enough frames in stack.")
    return rows[low : high + 1] if high >= 0 else rows[low:]


@mi("stack-info-depth")
def stack_info_depth(call: MiCall) -> Fields:
    """How many frames, at most as many as asked for."""
    session = call.bridge.process()
    depth = len(frames(session))
    if call.words:
        limit = _integer(call, call.words[0])
        depth = min(depth, limit) if limit >= 0 else depth
    return {"depth": depth}


@mi("stack-list-frames")
def stack_list_frames(call: MiCall) -> Fields:
    """Frames, innermost first."""
    opts = take_options(call.name, call.words, flags="--no-frame-filters")
    session = call.bridge.process()
    rows = _range(call, opts.rest, session)
    return {"stack": Pairs.of("frame", [shown.frame_fields(session, f) for f in rows])}


@mi("stack-info-frame")
def stack_info_frame(call: MiCall) -> Fields:
    """The selected frame."""
    session = call.bridge.process()
    return {"frame": shown.frame_fields(session, shown.selected_frame(session))}


@mi("stack-select-frame", selects=False)
def stack_select_frame(call: MiCall) -> None:
    """Select a frame."""
    session = call.bridge.process()
    if call.thread is not None:
        call.bridge.ids.select(session, call.thread)
    if not call.words:
        raise MiError("-stack-select-frame: Usage: FRAME_SPEC")
    level = _integer(call, call.words[0])
    if not 0 <= level < len(frames(session)):
        raise MiError("No frame at level " + call.words[0] + ".")
    session.frame_level = level
    call.bridge.mark_selection()


_MODES = {
    "0": 0,
    "--no-values": 0,
    "1": 1,
    "--all-values": 1,
    "2": 2,
    "--simple-values": 2,
}


def print_values(call: MiCall, words: list[str]) -> tuple[int, list[str]]:
    """The print mode in front of arguments: 0 names, 1 values, 2 types and simple values."""
    words = [w for w in words if w not in ("--no-frame-filters", "--skip-unavailable")]
    if not words or words[0] not in _MODES:
        raise MiError(
            f"-{call.name}: Usage: PRINT_VALUES; it must be one of: "
            '0 or "--no-values", 1 or "--all-values", 2 or "--simple-values"'
        )
    return _MODES[words[0]], words[1:]


def _arguments(session: DebugSession, frame: Frame, mode: int) -> list[Any]:
    rows = frame_arguments(session, frame)
    if mode == 0:
        return [{"name": a.entry} for a in rows]
    return [
        {"name": a.entry, **({"type": a.type} if mode == 2 else {}), "value": a.text} for a in rows
    ]


@mi("stack-list-arguments")
def stack_list_arguments(call: MiCall) -> Fields:
    """Arguments of frames."""
    mode, rest = print_values(call, call.words)
    session = call.bridge.process()
    rows = []
    for frame in _range(call, rest, session):
        args: Any = _arguments(session, frame, mode)
        if mode == 0:
            args = Pairs.of("name", [a["name"] for a in args])
        rows.append({"level": frame.level, "args": args})
    return {"stack-args": Pairs.of("frame", rows)}


@mi("stack-list-locals")
def stack_list_locals(call: MiCall) -> Fields:
    """Locals: a program without -G tables says nothing of them."""
    mode, _ = print_values(call, call.words)
    rows = _locals(call.bridge.process(), mode)
    return {"locals": Pairs.of("name", [r["name"] for r in rows]) if mode == 0 else rows}


@mi("stack-list-variables")
def stack_list_variables(call: MiCall) -> Fields:
    """Arguments and locals of the selected frame."""
    mode, _ = print_values(call, call.words)
    session = call.bridge.process()
    rows = _arguments(session, shown.selected_frame(session), mode)
    arguments = [{"name": r["name"], "arg": 1, **r} for r in rows]
    return {"variables": [*arguments, *_locals(session, mode)]}


def _locals(session: DebugSession, mode: int) -> list[Any]:
    """Variables of the selected frame; in mode 2 those of structures and arrays without values."""
    known = session.context().variables()
    if known is None:
        return []
    found = []
    for row in variable_rows(session, known, parameters=False):
        fields: Fields = {"name": row.name.partition("@")[0]}
        if mode == 2:
            fields["type"] = row.type
        if mode == 1 or (mode == 2 and not row.text.startswith("{")):
            fields["value"] = row.text
        found.append(fields)
    return found
