"""gdb's commands that are not here: why, and what does the work."""

from __future__ import annotations

_HOST = "there is no process of the host: a kernel runs on an emulated GPU"
_BACK = "states need not be kept by hand"
_HISTORY = "`bookmark NAME` names this one, `goto NAME` goes there, `run` begins again"
_RECORDS = "a launch is always recorded"
_OPEN = "a session keeps its program"
_OTHER = "start gpudbg with the other program; under MI `file` opens one"
_TRACE = "there are no tracepoints"
_DPRINTF = (
    "`dprintf` tells at a place and goes on; `session.trace` in Python keeps instructions and "
    "accesses"
)
_SCREEN = "it belongs to gdb's own screen"
_LAYOUT = "`layout`, `winheight`, `refresh` and the keys in `help screen` arrange this one"
_NO_PYTHON = "gdb's extension languages are not here"
_SCRIPT = "`gpudbg script FILE.py` runs Python with sessions"
_LANGUAGE = "kernels have none"
_RUN = "`run` launches, `set args` says with what"
_MAINT = "gdb's own insides are not here"
_SIGNALS = "a kernel gets no signals"
_FAULTS = "faults and traps stop it by themselves: `info esr`, `info trap`"

ABSENT: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("checkpoint", "restart", "info checkpoints"), (_BACK, _HISTORY)),
    "target record-full": (_RECORDS, "`record save FILE` writes it, `reverse-step` goes back"),
    **dict.fromkeys(
        ("maintenance", "maint", "mt"),
        (_MAINT, "`info engine`, `info policy` and `info program` tell of this debugger's"),
    ),
    **dict.fromkeys(
        ("attach", "detach", "disconnect", "target", "monitor", "remote", "flash-erase",
         "sharedlibrary", "nosharedlibrary", "path", "unset environment", "unset exec-wrapper",
         "unset tdesc"),
        (_HOST, _RUN),
    ),
    "tty": (_HOST, "what kernels print is shown as it comes; `info outputs` shows it again"),
    **dict.fromkeys(
        ("inferior", "add-inferior", "clone-inferior", "remove-inferiors", "info inferiors",
         "info auxv", "info os", "info proc", "info sharedlibrary", "info dcache",
         "info connections", "info terminal", "info probes", "info exceptions", "info tasks",
         "info selectors", "task"),
        (_HOST, "`info kernels` and `info blocks` show what there is"),
    ),
    **dict.fromkeys(
        ("core-file", "generate-core-file", "gcore"), (_HOST, "`dump` writes memory to a file")
    ),
    **dict.fromkeys(
        ("file", "symbol-file", "exec-file", "add-symbol-file", "add-symbol-file-from-memory",
         "remove-symbol-file", "load", "section", "compare-sections"),
        (_OPEN, _OTHER),
    ),
    **dict.fromkeys(
        ("handle", "signal", "queue-signal", "info signals", "info handle"), (_SIGNALS, _FAULTS)
    ),
    **dict.fromkeys(("catch", "tcatch"), ("there are no events of the host to catch", _FAULTS)),
    **dict.fromkeys(
        ("trace", "tp", "ftrace", "strace", "tstart", "tstop", "tstatus", "tfind", "tdump", "tsave",
         "tvariable", "teval", "actions", "collect", "passcount", "while-stepping", "stepping",
         "ws", "agent-printf", "save tracepoints", "info tracepoints", "info tvariables",
         "info static-tracepoint-markers"),
        (_TRACE, _DPRINTF),
    ),
    **dict.fromkeys(
        ("compile", "expression", "explore", "print-object", "overlay", "jit-reader-load",
         "jit-reader-unload", "define-prefix", "new-ui", "interpreter-exec", "update",
         "save gdb-index"),
        ("it is not here", "`help` lists the commands"),
    ),
    **dict.fromkeys(
        ("macro", "info macro", "info macros"),
        ("no file says which macros a program had", "`list` shows the source as it is"),
    ),
    **dict.fromkeys(
        ("skip", "info skip"),
        ("step enters every function that has lines", "`next` steps over calls, `finish` leaves"),
    ),
    **dict.fromkeys(
        ("guile", "guile-repl", "gu", "gr", "python-interactive", "info guile",
         "info pretty-printer", "info type-printers", "info frame-filter", "info unwinder",
         "info xmethod", "info auto-load", "info extensions", "add-auto-load-safe-path",
         "add-auto-load-scripts-directory", "function"),
        (_NO_PYTHON, _SCRIPT),
    ),
    **dict.fromkeys(
        ("fs", "tui focus", "tui layout", "tui new-layout", "tui refresh", "tui reg", "tui window",
         "info win", "winwidth", "winname"),
        (_SCREEN, _LAYOUT),
    ),
    **dict.fromkeys(
        ("info classes", "info common", "info module", "info modules", "info vtbl"),
        (f"{_LANGUAGE}, or no table of theirs tells", "`info functions`, `info variables`"),
    ),
    **dict.fromkeys(
        ("dump srec", "dump ihex", "dump tekhex", "dump verilog"),
        ("files are written as they are", "`dump binary memory FILE START STOP`"),
    ),
    **dict.fromkeys(
        ("mem", "memory-tag"),
        ("spaces are what they are", "`info allocations`, `info buffers` list memory"),
    ),
    "break-range": ("a breakpoint is at places", "`break` at each; `rbreak` for many functions"),
    "edit": ("there is no editor here", "`info line`, `info source` say where the source is"),
    "interrupt": ("nothing runs while a command is read", "Ctrl-C stops a run"),
    "stop": ("it is there for `hook-stop`, which comes at each stop", "`define hook-stop`"),
    "thread name": ("threads are called by their coordinates", "`info threads`"),
    "thread find": ("threads are called by their coordinates", "`info threads`, `focus`"),
    "info copying": ("see the LICENSE file", "`gpudbg --version`"),
    "info warranty": ("see the LICENSE file", "`gpudbg --version`"),
    "info set": ("it is called `show`", "`show`"),
    **dict.fromkeys(
        ("info float", "info vector"), ("a GPU has no such registers", "`info registers`")
    ),
}  # fmt: skip
"""gdb command that gpudbg lacks -> (why, what to use instead)."""
