"""When compiled code crashes: a message and a file to report, instead of a process that is gone.

A handler of the signals that a host's processor raises looks whether the instruction is one of
compiled code.  If so the thread goes on in Python, which tells the kernel and where it was, writes
a file, and ends the process with exit code 4; where Python's `faulthandler` is enabled, with the
tracebacks it shows.  All other crashes belong to who handled these signals before.

The handler is compiled code itself and calls nothing but what a signal handler may.  It runs on a
stack of its own, which each thread that runs compiled code is given (`own_signal_stack`): a crash
may be that the thread's own stack is full.  Linux alone has it: it must know where a signal's
context keeps registers.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from gpudbg.errors import EXIT_GAP
from gpudbg.mem.pages import address_of, zeroed
from gpudbg.sm.engines.llvm import for_ever

SIGNALS: Final = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)

# ---- words of the state that the handler reads --------------------------------------------------

_COUNT, _GOAL, _SIGACTION, _SELF, _YIELD, _RAISE, _BUSY, _BEFORE, _STACK, _FULL = range(10)
"""Indices of the words of `_state`: number of code ranges; pc at which a crashed thread continues;
addresses of four C library functions; the thread that has crashed, or 0; previous signal handlers
by number; end of the stack for a thread whose own is full; whether it was full.
"""
_RANGES: Final = 10
"""First word of the ranges: begin and end of each."""
_MOST_RANGES: Final = 1024
"""Most ranges kept; older ones are dropped."""
_ACTION_BYTES: Final = 256
"""Size of a `struct sigaction`, with reserve."""

# ---- stacks -------------------------------------------------------------------------------------

_SIGNAL_STACK_BYTES: Final = 64 << 10
"""Bytes of the handler's stack: a signal's context with the widest registers takes 12 KiB."""
_MESSAGE_STACK_BYTES: Final = 8 << 20
"""Bytes of the stack that the message is made on where the thread's own is full; untouched pages
cost nothing.
"""
_NEAR: Final = 64 << 10
"""Bytes: a fault this close to the stack pointer means a full stack, since compiled code touches
its pages in order (`succession.ON_STACK`).
"""
_NO_STACK: Final = 2
"""`SS_DISABLE`."""


class _Context(NamedTuple):
    """Offsets in a signal's context: pc, stack pointer, the first three arguments, and where a
    call goes back to (-1: that is on the stack)."""

    pc: int
    sp: int
    arguments: tuple[int, int, int]
    link: int


_CONTEXTS: Final = {
    "x86_64": _Context(168, 160, (104, 112, 136), -1),
    "aarch64": _Context(440, 432, (184, 192, 200), 424),
}
"""By machine, on Linux: `ucontext_t`."""

HANDLER: Final = "gpudbg_on_signal"
SET_STATE: Final = "gpudbg_on_signal_state"


def handler_text(context: _Context) -> str:
    """The module with the handler, as LLVM IR."""
    back = (
        f"%linkp = getelementptr i8, ptr %context, i64 {context.link}\n"
        if context.link >= 0
        else "%linkp = inttoptr i64 %sp to ptr\n"
    )
    moves = "\n".join(
        f"%a{n} = getelementptr i8, ptr %context, i64 {place}\nstore i64 {value}, ptr %a{n}"
        for n, (place, value) in enumerate(
            zip(context.arguments, ("%number", "%address", "%at"), strict=True)
        )
    )
    # x86 pushes the return address: place it below the stack pointer, as a call does.
    below = 8 if context.link < 0 else 0

    def word(name: str, place: int) -> str:
        return (
            f"%{name}.p = getelementptr i64, ptr %state, i64 {place}\n"
            f"%{name} = load i64, ptr %{name}.p"
        )

    return f"""
@state = internal global ptr null
define void @{SET_STATE}(ptr %to) {{
store ptr %to, ptr @state
ret void
}}
define void @{HANDLER}(i32 %signal, ptr %info, ptr %context) {{
%state = load ptr, ptr @state
%number = zext i32 %signal to i64
%codep = getelementptr i8, ptr %info, i64 8
%code = load i32, ptr %codep
%addressp = getelementptr i8, ptr %info, i64 16
%address = load i64, ptr %addressp
%pcp = getelementptr i8, ptr %context, i64 {context.pc}
%spp = getelementptr i8, ptr %context, i64 {context.sp}
%pc = load i64, ptr %pcp
%sp = load i64, ptr %spp
%sent = icmp sle i32 %code, 0
br i1 %sent, label %others, label %ours
ours:
%lost = icmp eq i64 %pc, %address
br i1 %lost, label %wild, label %search
wild:
{back}%link = load i64, ptr %linkp
br label %search
search:
%at = phi i64 [ %pc, %ours ], [ %link, %wild ]
{word("count", _COUNT)}
br label %each
each:
%n = phi i64 [ 0, %search ], [ %next, %no ]
%over = icmp uge i64 %n, %count
br i1 %over, label %others, label %range
range:
%twice = mul i64 %n, 2
%low.n = add i64 %twice, {_RANGES}
%low.p = getelementptr i64, ptr %state, i64 %low.n
%low = load i64, ptr %low.p
%high.p = getelementptr i64, ptr %low.p, i64 1
%high = load i64, ptr %high.p
%above = icmp uge i64 %at, %low
%under = icmp ult i64 %at, %high
%in = and i1 %above, %under
br i1 %in, label %found, label %no
no:
%next = add i64 %n, 1
br label %each
found:
{word("self.f", _SELF)}
%self.c = inttoptr i64 %self.f to ptr
%self = call i64 %self.c()
%busy.p = getelementptr i64, ptr %state, i64 {_BUSY}
%pair = cmpxchg ptr %busy.p, i64 0, i64 %self seq_cst seq_cst
%first = extractvalue {{ i64, i1 }} %pair, 1
br i1 %first, label %divert, label %second
second:
%who = extractvalue {{ i64, i1 }} %pair, 0
%again = icmp eq i64 %who, %self
br i1 %again, label %others, label %wait
wait:
{word("yield.f", _YIELD)}
%yield.c = inttoptr i64 %yield.f to ptr
call i32 %yield.c()
br label %wait
divert:
{moves}
{word("goal", _GOAL)}
store i64 %goal, ptr %pcp
{word("fresh", _STACK)}
%lowest = sub i64 %sp, {_NEAR}
%above.it = sub i64 %address, %lowest
%full = icmp ult i64 %above.it, {2 * _NEAR}
%full.n = zext i1 %full to i64
%full.p = getelementptr i64, ptr %state, i64 {_FULL}
store i64 %full.n, ptr %full.p
%stack = select i1 %full, i64 %fresh, i64 %sp
%lower = sub i64 %stack, 4096
%even = and i64 %lower, -64
%placed = sub i64 %even, {below}
store i64 %placed, ptr %spp
ret void
others:
{word("before.v", _BEFORE)}
%before = inttoptr i64 %before.v to ptr
%old.at = mul i64 %number, {_ACTION_BYTES}
%old = getelementptr i8, ptr %before, i64 %old.at
{word("set.f", _SIGACTION)}
%set.c = inttoptr i64 %set.f to ptr
call i32 %set.c(i32 %signal, ptr %old, ptr null)
br i1 %sent, label %again.sent, label %done
again.sent:
{word("raise.f", _RAISE)}
%raise.c = inttoptr i64 %raise.f to ptr
call i32 %raise.c(i32 %signal)
br label %done
done:
ret void
}}
"""


# ---- what runs ---------------------------------------------------------------------------------


class CrashedLaunch(Protocol):
    """The part of a launch that a crash report reads (`workers.Workers`)."""

    launched: Any
    workers: Any


_running: list[weakref.ref[CrashedLaunch]] = []
"""Launches with compiled code running, the latest last."""
_lock = threading.Lock()
_leaving: list[Callable[[], None]] = []


def before_message(call: Callable[[], None]) -> None:
    """Register a function to call before the message, by which a frontend restores the terminal."""
    _leaving.append(call)


class CrashWatch:
    """`with CrashWatch(launch):` around compiled code: a crash in it is the launch's.

    One serves every call of a launch's code, one call at a time.
    """

    __slots__ = ("_reference",)

    def __init__(self, launch: CrashedLaunch) -> None:
        self._reference = weakref.ref(launch)

    def __enter__(self) -> None:
        own_signal_stack()
        _running.append(self._reference)

    def __exit__(self, *_: object) -> None:
        if self._reference in _running:
            _running.remove(self._reference)


@cache
def _state() -> Any:
    """The handler's state words; allocated once and never freed, like the handler."""
    return for_ever(zeroed(8 * (_RANGES + 2 * _MOST_RANGES)).view(np.int64))


class _StackT(ctypes.Structure):
    """`stack_t`."""

    _fields_ = (("sp", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t))


_free_stacks: list[Any] = []
"""Stacks of ended threads, for reuse; never unmapped, since a signal may arrive in between."""


class _SignalStack:
    """An alternate signal stack of this thread, until the thread ends."""

    def __init__(self, call: Callable[[Any, Any], int]) -> None:
        self._call = call
        self._thread = threading.get_native_id()
        try:
            self._memory = _free_stacks.pop()
        except IndexError:
            self._memory = for_ever(zeroed(_SIGNAL_STACK_BYTES))
        made = _StackT(address_of(self._memory), 0, _SIGNAL_STACK_BYTES)
        call(ctypes.byref(made), None)
        # Bound early: at the end of Python module globals are cleared.
        self._ident, self._free = threading.get_native_id, _free_stacks
        self._off = ctypes.byref(_StackT(None, _NO_STACK, 0))

    def __del__(self) -> None:
        if self._ident() == self._thread:
            self._call(self._off, None)
            self._free.append(self._memory)


_of_thread = threading.local()


def own_signal_stack() -> None:
    """Give this thread a stack for signal handlers, once, if it has none."""
    if hasattr(_of_thread, "stack"):
        return
    _of_thread.stack = None
    if not install():
        return
    call = ctypes.CDLL(None).sigaltstack
    there = _StackT()
    if call(None, ctypes.byref(there)) == 0 and there.flags & _NO_STACK:
        _of_thread.stack = _SignalStack(call)


_ranges = 0


def add_range(begin: int, end: int) -> None:
    """Register a range of compiled code with the handler."""
    global _ranges
    words = _state()
    with _lock:
        at = _RANGES + 2 * (_ranges % _MOST_RANGES)
        # Empty the range first: a signal must not see the new begin with the old end.
        words[at + 1] = 0
        words[at], words[at + 1] = begin, end
        _ranges += 1
        words[_COUNT] = min(_ranges, _MOST_RANGES)


@cache
def install() -> bool:
    """Install the handler. Returns false where the host does not allow it."""
    context = _CONTEXTS.get(os.uname().machine) if sys.platform == "linux" else None
    if context is None:
        return False
    from gpudbg.sm.engines.llvm import build

    code = build.Code(build.object_of(handler_text(context), 1))
    library = ctypes.CDLL(None, use_errno=True)
    goal = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_size_t, ctypes.c_size_t)(_crashed)
    before = zeroed(_ACTION_BYTES * (max(SIGNALS) + 1))
    stack = zeroed(_MESSAGE_STACK_BYTES)
    for kept in (code, goal, before, stack):
        for_ever(kept)
    words = _state()
    words[_GOAL] = ctypes.cast(goal, ctypes.c_void_p).value
    names = {_SIGACTION: "sigaction", _SELF: "pthread_self", _YIELD: "sched_yield"}
    for place, name in {**names, _RAISE: "raise"}.items():
        words[place] = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    words[_BEFORE] = address_of(before)
    words[_STACK] = address_of(stack) + _MESSAGE_STACK_BYTES
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address(SET_STATE))(address_of(words))
    # struct sigaction: handler, 128 bytes of mask, flags: SA_SIGINFO and SA_ONSTACK.
    action = np.zeros(_ACTION_BYTES, np.uint8)
    action.view(np.int64)[0] = code.address(HANDLER)
    action.view(np.int32)[136 // 4] = 0x4 | 0x0800_0000
    sigaction = library.sigaction
    sigaction.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    for number in SIGNALS:
        sigaction(number, address_of(action), address_of(before) + _ACTION_BYTES * number)
    return True


# ---- a crash -------------------------------------------------------------------------------------


def _crashed(number: int, address: int, pc: int) -> None:
    """Report a crash and end the process."""
    import faulthandler
    import traceback

    try:
        for call in reversed(_leaving):
            with suppress(Exception):
                call()
        facts = _facts(number, address, pc)
        path = _report(facts)
        os.write(2, _message(facts, path).encode(errors="replace"))
        if faulthandler.is_enabled():
            faulthandler.dump_traceback()
    except BaseException:
        with suppress(BaseException):
            os.write(2, f"gpudbg: compiled code crashed\n{traceback.format_exc()}".encode())
    finally:
        os._exit(EXIT_GAP)


def _facts(number: int, address: int, pc: int) -> dict[str, Any]:
    """What is known of a crash."""
    import platform
    import traceback

    facts: dict[str, Any] = {
        "gpudbg": sys.modules["gpudbg"].__version__,
        "python": sys.version,
        "platform": platform.platform(),
        "signal": signal.Signals(number).name,
        "host_address": hex(address),
        "host_pc": hex(pc),
        "stack_full": bool(_state()[_FULL]),
        "thread": threading.current_thread().name,
        "stack": traceback.format_stack(),
    }
    launch = next((s for s in (r() for r in reversed(_running)) if s is not None), None)
    if launch is not None:
        with suppress(Exception):
            facts |= _launch(launch)
    return facts


def _launch(launch: CrashedLaunch) -> dict[str, Any]:
    """The launch, and where its warps were."""
    from gpudbg.sm.engines.llvm import build

    launched = launch.launched
    config, host = launched.config, build.host()
    bank = launched.constants.banks.get(0)
    return {
        "host": [host.triple, host.cpu, host.features],
        "program": launched.code.program.path,
        "arch": launched.code.program.arch,
        "kernel": config.kernel.name,
        "grid": config.grid,
        "block": config.block,
        "shared_bytes": config.shared_bytes,
        "local_bytes": config.local_bytes,
        "jobs": len(launch.workers),
        "instructions": launched.total,
        "turns": [turn for turn in (worker.running() for worker in launch.workers) if turn],
        "constants": "" if bank is None else bank.data.tobytes().hex(),
        "memory": [(a.name, hex(a.base), a.size) for a in launched.memory.allocations()],
    }


def _report(facts: dict[str, Any]) -> str:
    """Write the file to report: into the folder for temporary files; its path, or ""."""
    import io
    import json
    import tempfile
    import zipfile

    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("crash.json", json.dumps(facts, indent=1, default=str))
        launch = next((s for s in (r() for r in reversed(_running)) if s is not None), None)
        if launch is not None:
            archive.writestr("program", bytes(launch.launched.code.program.data))
    try:
        handle, path = tempfile.mkstemp(prefix="gpudbg-crash-", suffix=".zip")
        with os.fdopen(handle, "wb") as file:
            file.write(content.getvalue())
    except OSError:
        return ""
    return path


def _message(facts: dict[str, Any], path: str) -> str:
    """What the user reads."""
    kernel = f" of kernel {facts['kernel']}" if "kernel" in facts else ""
    turns = facts.get("turns") or []
    places = ", ".join(f"0x{turn['pc']:x} (warp {turn['warp']} of block {turn['block']})"
                       for turn in turns)  # fmt: skip
    where = f", in the turn that began at pc {places}" if len(turns) == 1 else ""
    if len(turns) > 1:
        where = f", in one of the turns that began at pc {places}"
    full = ": the stack of its host thread is full" if facts["stack_full"] else ""
    report = (
        f"Please report it with the file {path}, which holds the program and the launch but no "
        "buffers."
        if path
        else "No file to report could be written."
    )
    return (
        f"gpudbg: compiled code{kernel} crashed ({facts['signal']} at host address "
        f"{facts['host_address']}{full}){where}.\n"
        "This is a mistake of gpudbg, not of the program; --engine step runs it without compiled "
        f"code.\n{report}\n"
    )
