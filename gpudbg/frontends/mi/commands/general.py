"""Session commands: version, features, settings, environment, interpreters, exit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gpudbg.errors import CommandError
from gpudbg.frontends.mi.commands.registry import TABLE, Answer, MiCall, mi
from gpudbg.frontends.mi.commands.stack import thread_rows
from gpudbg.frontends.mi.console import common_prefix, completions, run_console
from gpudbg.frontends.mi.invoke import run_mi
from gpudbg.frontends.mi.parser import MiError, take_options
from gpudbg.frontends.mi.settings import set_words, shown_value, use_terminal
from gpudbg.frontends.mi.words import version_lines

Fields = dict[str, Any]

FEATURES = (
    "frozen-varobjs",
    "pending-breakpoints",
    "thread-info",
    "data-read-memory-bytes",
    "breakpoint-notifications",
    "language-option",
    "info-gdb-mi-command",
    "undefined-command-error-code",
    "exec-run-start-option",
    "data-disassemble-a-option",
)


@mi("gdb-version", running="ok")
def gdb_version(call: MiCall) -> None:
    """The banner."""
    for line in version_lines():
        call.ui.stream("~", f"{line}\n")


@mi("list-features", running="ok")
def list_features(call: MiCall) -> Fields:
    """What this MI can do."""
    return {"features": list(FEATURES)}


@mi("list-target-features", running="ok")
def list_target_features(call: MiCall) -> Fields:
    """`async` and `reverse` once there is a target; before, Emacs would take it for non-stop.

    Warps stop together here, so it is not announced to a client that asked for non-stop: Emacs then
    goes back to all-stop, however early the user has started the program.
    """
    settings = call.bridge.settings
    on = settings.shown("mi-async") == "on" and settings.shown("non-stop") != "on"
    if not call.bridge.target:
        return {"features": []}
    return {"features": ["async", "reverse"] if on else ["reverse"]}


@mi("info-gdb-mi-command", running="ok")
def info_command(call: MiCall) -> Fields:
    """Whether a command exists."""
    if len(call.words) != 1:
        raise MiError("Usage: -info-gdb-mi-command MI_COMMAND_NAME")
    known = call.words[0].removeprefix("-") in TABLE
    return {"command": {"exists": "true" if known else "false"}}


@mi("gdb-set", running="ok")
def gdb_set(call: MiCall) -> None:
    """`set`, with its words as they are."""
    if not call.words:
        raise MiError("-gdb-set: Usage: NAME VALUE")
    set_words(call.bridge, " ".join(call.words))


@mi("gdb-show", running="ok")
def gdb_show(call: MiCall) -> Fields:
    """A setting's value."""
    if not call.words:
        raise MiError("-gdb-show: Usage: NAME")
    return {"value": shown_value(call.bridge, " ".join(call.words))}


@mi("enable-pretty-printing", "enable-frame-filters", running="ok")
def enable(call: MiCall) -> None:
    """Nothing to enable."""


@mi("enable-timings", running="ok")
def enable_timings(call: MiCall) -> None:
    """Times are not reported."""
    if call.words and call.words[0] not in ("yes", "no"):
        raise MiError("-enable-timings: Usage: {yes|no}")


@mi("inferior-tty-set", running="ok")
def tty_set(call: MiCall) -> None:
    """Where the program's output goes."""
    use_terminal(call.bridge, call.words[0] if call.words else "")


@mi("inferior-tty-show", running="ok")
def tty_show(call: MiCall) -> Fields:
    """Where the program's output goes."""
    shown = call.bridge.settings.shown("inferior-tty")
    return {"inferior_tty_terminal": shown} if shown else {}


@mi("environment-cd", running="ok")
def environment_cd(call: MiCall) -> None:
    """Where relative paths begin."""
    if len(call.words) != 1:
        raise MiError("-environment-cd: Usage DIRECTORY")
    there = Path(call.bridge.cwd, call.words[0]).expanduser()
    if not there.is_dir():
        raise MiError(f"{call.words[0]}: No such file or directory.")
    call.bridge.cwd = str(there.resolve())


@mi("environment-pwd", running="ok")
def environment_pwd(call: MiCall) -> Fields:
    """Where relative paths begin."""
    return {"cwd": call.bridge.cwd}


@mi("environment-directory", running="ok")
def environment_directory(call: MiCall) -> Fields:
    """The source path."""
    opts = take_options(call.name, call.words, flags="-r")
    sources = call.bridge.sources
    if opts.has("-r"):
        sources.add_directories([])
    if opts.rest:
        sources.add_directories([str(Path(call.bridge.cwd, p)) for p in opts.rest])
    return {"source-path": ":".join([*sources.directories, "$cdir", "$cwd"])}


@mi("environment-path", running="ok")
def environment_path(call: MiCall) -> Fields:
    """The search path of host programs, which nothing here uses."""
    return {"path": os.environ.get("PATH", "")}


@mi("interpreter-exec", running="ok")
def interpreter_exec(call: MiCall) -> Answer:
    """Console commands, or MI commands, inside MI."""
    if len(call.words) < 2:
        raise MiError("-interpreter-exec: Usage: -interpreter-exec interp command")
    kind, *lines = call.words
    if kind not in ("console", "mi", "mi2", "mi3", "mi4"):
        raise MiError(f'-interpreter-exec: could not find interpreter "{kind}"')
    answer = Answer("done")
    for line in lines:
        if kind == "console":
            answer = run_console(call.bridge, call.ui, line)
        else:
            answer = run_mi(call.bridge, call.ui, line)
    return answer


@mi("complete", running="ok")
def complete(call: MiCall) -> Fields:
    """How a console line could go on."""
    if len(call.words) != 1:
        raise MiError('Usage: -complete COMMAND "TEXT"')
    text = call.words[0]
    found = completions(call.bridge, text)
    out: Fields = {}
    if found:
        out["completion"] = common_prefix(found)
    return {**out, "matches": found[:200], "max_completions_reached": int(len(found) > 200)}


@mi("target-select", running="ok")
def target_select(call: MiCall) -> Answer:
    """The emulated GPU is the only target."""
    kind = call.words[0] if call.words else ""
    if kind not in ("native", "exec", "sim", "emulator"):
        raise MiError(f"-target-select: no target {kind!r} here; the emulated GPU is `native`")
    call.bridge.target = True
    return Answer("connected")


@mi("target-disconnect", "target-detach", "exec-abort", running="ok")
def detach(call: MiCall) -> None:
    """End the program."""
    call.bridge.kill()


@mi("info-os", "target-attach", "target-download", "target-file-put", running="ok")
def no_target(call: MiCall) -> None:
    """Nothing to attach to."""
    raise MiError(f"-{call.name}: there is no other machine behind an emulated GPU")


@mi("gdb-exit", running="ok")
def gdb_exit(call: MiCall) -> Answer:
    """Leave."""
    call.bridge.exiting = True
    return Answer("exit")


@mi("list-thread-groups", running="ok")
def list_thread_groups(call: MiCall) -> Fields:
    """The one group, or its threads."""
    bridge = call.bridge
    opts = take_options(call.name, call.words, flags="--available", values="--recurse")
    if opts.has("--available"):
        return {"groups": []}
    if opts.rest:
        if opts.rest != ["i1"]:
            raise MiError(f"Non-existent thread group id '{opts.rest[0]}'")
        return {"threads": thread_rows(bridge)}
    group: Fields = {"id": "i1", "type": "process"}
    if bridge.started:
        group["pid"] = os.getpid()
    if bridge.path is not None:
        group["executable"] = bridge.path
    if opts.get("--recurse") == "1":
        group["threads"] = thread_rows(bridge)
    return {"groups": [group]}


@mi("add-inferior", "remove-inferior", running="ok")
def no_inferiors(call: MiCall) -> None:
    """There is one."""
    raise CommandError("one program at a time")
