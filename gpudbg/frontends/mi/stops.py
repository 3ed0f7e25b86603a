"""Why the program stopped, as `*stopped` and as the words before it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gpudbg.debug.focus import coords_fields, coords_words, current_coords
from gpudbg.debug.stops import (
    BreakpointStop,
    EntryStop,
    Stop,
    WatchpointStop,
    arrival_words,
    signal_of,
)
from gpudbg.debug.values import frames
from gpudbg.errors import CommandError
from gpudbg.frontends.mi.shown import Fields, frame_fields, position_lines

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession
    from gpudbg.debug.stops import Trigger

ASSERT = "CUDA_EXCEPTION_12"
"""The signal of a failed assertion."""

FINISHED = ("end-stepping-range", "function-finished", "location-reached")
"""Reasons of a command that did what it was asked to: nothing is printed when MI asked."""


def stopped_fields(session: DebugSession, stop: Stop, reason: Fields, thread: int | None) -> Fields:
    """`*stopped` of a stop that leaves a warp to look at."""
    out: Fields = {}
    try:
        out["CudaFocus"] = coords_fields(current_coords(session))
    except CommandError:
        pass
    out |= reason
    out["frame"] = frame_fields(session, frames(session)[0], level=False, args=True)
    out["thread-id"] = thread if thread is not None else 0
    out["stopped-threads"] = "all"
    out["core"] = session.warp().state.sm
    return out


def reason_fields(
    session: DebugSession, stop: Stop, finished: str, temporary: Iterable[int]
) -> Fields:
    """reason and what belongs to it.

    Args:
        session: what stopped.
        stop: its stop.
        finished: reason of a command that came to its end ("end-stepping-range", …).
        temporary: breakpoints that the stop deleted.
    """
    if isinstance(stop, WatchpointStop):
        return watch_fields(stop.watch[0])
    if isinstance(stop, BreakpointStop):
        number = stop.breakpoints[0] if stop.breakpoints else 0
        gone = number in set(temporary)
        return {
            "reason": "breakpoint-hit",
            "disp": "del" if gone else "keep",
            "bkptno": number,
            **_location_number(session, number),
            **_arrived(stop),
        }
    if isinstance(stop, EntryStop) and stop.detail:
        return {"reason": "no-history"}
    signal = signal_of(stop)
    if signal is not None:
        return {
            "reason": "signal-received",
            "signal-name": signal.name,
            "signal-meaning": signal.meaning,
            **_errors(stop),
        }
    return {"reason": finished}


def _errors(stop: Stop) -> Fields:
    """Warp errors as data: names as in `--json`, addresses in hexadecimal, no key for None."""
    rows = [{key: _constant(key, v) for key, v in e.to_json().items()} for e in stop.errors]
    kept = [{key: v for key, v in row.items() if v is not None} for row in rows]
    return {"errors": kept} if kept else {}


def _constant(key: str, value: object) -> object:
    return f"0x{value:x}" if key in ("address", "pc") and isinstance(value, int) else value


def _arrived(stop: Stop) -> Fields:
    """How many warps and threads a gathered stop found at the breakpoint."""
    if stop.arrived_warps < 2:
        return {}
    return {"arrived-warps": stop.arrived_warps, "arrived-threads": stop.arrived_threads}


def _location_number(session: DebugSession, number: int) -> Fields:
    """Which of a breakpoint's several locations the focused warp is at."""
    row = next((b for b in session.breakpoints if b.number == number), None)
    pc = session.warp().state.pc
    if row is None or len(row.addresses) < 2 or pc not in row.addresses:
        return {}
    return {"locno": row.addresses.index(pc) + 1}


WATCH_REASONS = {
    "write": ("watchpoint-trigger", "wpt"),
    "read": ("read-watchpoint-trigger", "hw-rwpt"),
    "access": ("access-watchpoint-trigger", "hw-awpt"),
    "store": ("watchpoint-trigger", "wpt"),
}
"""Kind of watchpoint -> (reason of the stop, key of the watchpoint)."""


def watch_fields(seen: Trigger) -> Fields:
    """reason, watchpoint and values of a stop at a watchpoint."""
    if seen.over:
        return {"reason": "watchpoint-scope", "wpnum": seen.number}
    reason, key = WATCH_REASONS[seen.kind]
    value = {"value": seen.new} if seen.old == seen.new else {"old": seen.old, "new": seen.new}
    if seen.kind == "access" and seen.old == seen.new:
        value = {"new": seen.new}
    return {
        "reason": reason,
        key: {"number": seen.number, "exp": seen.expression},
        "value": value,
    }


def stop_words(
    session: DebugSession,
    stop: Stop,
    reason: Fields,
    thread: int | None,
    switched: bool,
    moved: bool = True,
) -> list[str]:
    """Console text of a stop, in cuda-gdb's words.

    Args:
        thread: number of the thread that stopped.
        switched: the focus is in another warp than before.
        moved: it is in another function than before.
    """
    out: list[str] = []
    place = f"[Switching focus to CUDA {coords_words(current_coords(session))}]\n"
    if stop.errors or reason["reason"] == "signal-received":
        out += _exception_words(session, stop, reason)
        out += [
            f'\nThread {thread} "warp {session.warp().state.index}" received signal '
            f"{reason['signal-name']}, {reason['signal-meaning']}.\n",
            place,
        ]
        moved = True
    elif isinstance(stop, WatchpointStop):
        out += [place] if switched else []
        out.append("\n" if stop.watch[0].over else "\nCUDA thread hit ")
        out += [f"{line}\n" for line in stop.detail]
        moved = True
    elif isinstance(stop, BreakpointStop):
        out += [place] if switched else []
        word = "Temporary breakpoint" if reason["disp"] == "del" else "Breakpoint"
        number = ".".join(str(reason[k]) for k in ("bkptno", "locno") if k in reason)
        words = arrival_words(stop)
        out += [f"[{words}]\n"] if words else []
        out += [f"{line}\n" for line in stop.detail]
        out.append(f"\nCUDA thread hit {word} {number}, ")
        moved = True
    elif reason["reason"] == "no-history":
        # As gdb says it, on consoles too: nothing has moved.
        out += ["\n", *(f"{line}\n" for line in stop.detail)]
    elif switched:
        out.append(place)
    out.append(position_lines(session, moved))
    return out


def _exception_words(session: DebugSession, stop: Stop, reason: Fields) -> list[str]:
    """What cuda-gdb says of an exception before the signal."""
    out: list[str] = []
    if stop.errors:
        pc = session.symbols.pc(stop.errors[0].pc)
        line = session.symbols.line(pc)
        where = f"  ({line})" if line is not None else ""
        out.append(f"\nCUDA Exception: {reason['signal-meaning']}\n")
        out.append(
            f"The exception was triggered at PC 0x{pc:x}  {session.symbols.function(pc)}{where}\n"
        )
        if reason["signal-name"] == ASSERT:
            out.append("Assertion failed.\n")
    out += [f"{line}\n" for line in stop.detail]
    if stop.errors and stop.errors[0].detail and stop.errors[0].detail not in stop.detail:
        out.append(f"{stop.errors[0].detail}\n")
    out += [f"{stop.recorded}\n"] if stop.recorded else []
    return out
