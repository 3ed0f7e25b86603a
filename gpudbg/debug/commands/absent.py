"""gdb's commands that are not here: why, and what does the work."""

from __future__ import annotations

_HOST = "there is no process of the host: a kernel runs on an emulated GPU"
_BACK = "the machine does not run backwards"
_HISTORY = "`info stops` and the history screen show what was, `restart` begins again"
_OPEN = "`file PROGRAM` opens another program"
_RUN = "`run` launches, `set args` says with what"
_MAINT = "gdb's own insides are not here"
_SIGNALS = "a kernel gets no signals"
_FAULTS = "faults and traps stop it by themselves: `info esr`, `info trap`"

ABSENT: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("record", "rec", "target record-full"), (_BACK, _HISTORY)),
    **dict.fromkeys(
        ("reverse-step", "reverse-stepi", "reverse-next", "reverse-nexti", "reverse-continue",
         "reverse-finish", "rs", "rsi", "rn", "rni", "rc", "info record", "checkpoint"),
        (_BACK, _HISTORY),
    ),
    **dict.fromkeys(
        ("maintenance", "maint", "mt"),
        (_MAINT, "`info engine`, `info policy` and `info program` tell of this debugger's"),
    ),
    **dict.fromkeys(("attach", "detach", "target", "monitor", "remote"), (_HOST, _RUN)),
    **dict.fromkeys(
        ("inferior", "add-inferior", "clone-inferior", "remove-inferiors", "info inferiors",
         "info auxv", "info os", "info proc", "info sharedlibrary"),
        (_HOST, "`info kernels` and `info blocks` show what there is"),
    ),
    **dict.fromkeys(
        ("core-file", "generate-core-file", "gcore"), (_HOST, "`dump` writes memory to a file")
    ),
    **dict.fromkeys(("symbol-file", "exec-file", "add-symbol-file", "load"), (_OPEN, _RUN)),
    **dict.fromkeys(("handle", "signal", "queue-signal", "info signals"), (_SIGNALS, _FAULTS)),
    **dict.fromkeys(("catch", "tcatch"), ("there are no events of the host to catch", _FAULTS)),
    **dict.fromkeys(
        ("trace", "ftrace", "strace", "tstart", "tstop", "tstatus", "tfind", "info tracepoints"),
        ("there are no tracepoints", "`dprintf` tells at a place and goes on; `session.trace` in "
         "Python keeps instructions and accesses"),
    ),
    **dict.fromkeys(
        ("compile", "explore", "macro", "info macro", "overlay", "jit-reader-load", "skip"),
        ("it is not here", "`help` lists the commands"),
    ),
    **dict.fromkeys(
        ("info float", "info vector"), ("a GPU has no such registers", "`info registers`")
    ),
}  # fmt: skip
"""Name → why it is not here, and what to do."""
