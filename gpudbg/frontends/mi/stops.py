"""Why the program stopped, as `*stopped` and as the words before it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gpudbg.debug import cuda_coords
from gpudbg.debug.cuda_exceptions import signal_of
from gpudbg.debug.frames import frames
from gpudbg.errors import CommandError
from gpudbg.frontends.mi.shown import Fields, frame_fields, position_lines

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.debug.stop import Stop, Trigger


def stopped_fields(session: DebugSession, stop: Stop, reason: Fields, thread: int | None) -> Fields:
    """`*stopped` of a stop that leaves a warp to look at."""
    out: Fields = {}
    try:
        out["CudaFocus"] = cuda_coords.fields(cuda_coords.current(session))
    except CommandError:
        pass
    out |= reason
    out["frame"] = frame_fields(session, frames(session)[0], level=False, args=True)
    out["thread-id"] = thread if thread is not None else 0
    out["stopped-threads"] = "all"
    out["core"] = session.warp().state.sm
    return out


def reason_fields(stop: Stop, finished: str, temporary: Iterable[int]) -> Fields:
    """reason and what belongs to it.

    Args:
        stop: the session's stop.
        finished: reason of a command that came to its end ("end-stepping-range", …).
        temporary: breakpoints that the stop deleted.
    """
    if stop.watch:
        return watch_fields(stop.watch[0])
    if stop.kind == "breakpoint":
        number = stop.breakpoints[0] if stop.breakpoints else 0
        gone = number in set(temporary)
        return {
            "reason": "breakpoint-hit",
            "disp": "del" if gone else "keep",
            "bkptno": number,
        }
    signal = signal_of(stop)
    if signal is not None:
        return {
            "reason": "signal-received",
            "signal-name": signal.name,
            "signal-meaning": signal.meaning,
        }
    return {"reason": finished}


WATCH_REASONS = {
    "write": ("watchpoint-trigger", "wpt"),
    "read": ("read-watchpoint-trigger", "hw-rwpt"),
    "access": ("access-watchpoint-trigger", "hw-awpt"),
}
"""Kind of watchpoint -> (reason of the stop, key of the watchpoint)."""


def watch_fields(seen: Trigger) -> Fields:
    """reason, watchpoint and values of a stop at a watchpoint."""
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
    session: DebugSession, stop: Stop, reason: Fields, thread: int | None, switched: bool
) -> list[str]:
    """Console text of a stop, in cuda-gdb's words."""
    out: list[str] = []
    place = cuda_coords.words(cuda_coords.current(session))
    if stop.errors or reason["reason"] == "signal-received":
        out.append("\n")
        if stop.errors:
            pc = session.symbols.pc(stop.errors[0].pc)
            out.append(f"CUDA Exception: {reason['signal-meaning']}\n")
            out.append(
                f"The exception was triggered at PC 0x{pc:x}  {session.symbols.describe_line(pc)}\n"
            )
        out += [f"{line}\n" for line in stop.detail]
        if stop.errors and stop.errors[0].detail:
            out.append(f"{stop.errors[0].detail}\n")
        out.append(
            f"Thread {thread} received signal {reason['signal-name']}, "
            f"{reason['signal-meaning']}.\n"
        )
        out.append(f"[Switching focus to CUDA {place}]\n")
    elif stop.watch:
        if switched:
            out.append(f"[Switching focus to CUDA {place}]\n")
        out.append("\nCUDA thread hit ")
        out += [f"{line}\n" for line in stop.detail]
    elif stop.kind == "breakpoint":
        if switched:
            out.append(f"[Switching focus to CUDA {place}]\n")
        word = "Temporary breakpoint" if reason["disp"] == "del" else "Breakpoint"
        out.append(f"\nCUDA thread hit {word} {reason['bkptno']}, ")
    elif switched:
        out.append(f"[Switching focus to CUDA {place}]\n")
    if reason["reason"] == "function-finished":
        out.append("Run till exit\n")
    out.append(position_lines(session))
    return out
