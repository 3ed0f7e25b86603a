"""Options of `gpudbg check`: its flags, and the keywords of `gpudbg.check`."""

from __future__ import annotations

from typing import Any

from gpudbg.options.launching import MAX_SEED
from gpudbg.options.spec import OptionKind, OptionScope, OptionSpec

VERB = "check"


def _setting(name: str, kind: OptionKind, text: str = "", **more: Any) -> OptionSpec:
    """A keyword of `gpudbg.check` that is a flag, too."""
    return OptionSpec(
        name, OptionScope.CHECK, kind, text, name.replace("_", "-"), verbs=(VERB,), **more
    )


def _flag(name: str, kind: OptionKind, text: str = "", **more: Any) -> OptionSpec:
    """A flag of the verb alone: what it runs on, what it writes."""
    return OptionSpec(
        name, OptionScope.VERB, kind, text, name.replace("_", "-"), verbs=(VERB,), **more
    )


_WHOLE, _TEXT, _CHOICE, _SWITCH, _WORDS = (
    OptionKind.WHOLE, OptionKind.TEXT, OptionKind.CHOICE, OptionKind.SWITCH, OptionKind.WORDS,
)  # fmt: skip

CHECK_OPTIONS = (
    _setting(
        "checks", _WORDS,
        "of memory, race, init, sync, leak, hazards; default: all but hazards",
        metavar="A,B", default=("memory", "race", "init", "sync", "leak"),
        choices=("memory", "race", "init", "sync", "leak", "hazards"),
    ),
    _flag(
        "launches", OptionKind.TEXTS,
        "a launch table, or a folder of them; again for more launches (default: PROG.toml and "
        "PROG.*.toml)",
        spelled=("--launch",), metavar="FILE.toml",
    ),
    _flag("quick", _SWITCH, "bad accesses alone, on compiled code"),
    _setting(
        "views", _CHOICE,
        "what accesses outside of a view are; default: stores errors, loads warnings",
        choices=("error", "warning", "ignore"),
    ),
    _setting("performance", _SWITCH, "count bank conflicts and sectors"),
    _setting("portability", _SWITCH, "note what only lock-step orders"),
    _setting(
        "init", _CHOICE,
        "undefined values are reported where they decide something (use), or where they are "
        "loaded (load)",
        choices=("use", "load"), default="use",
    ),
    _setting(
        "volatile", _CHOICE, "volatile accesses: by PTX's rule (relaxed), or as others (data)",
        choices=("relaxed", "data"), default="relaxed",
    ),
    _setting(
        "schedules", _WHOLE, "search so many schedules", metavar="N", least=1, default=1,
    ),
    OptionSpec("seed", OptionScope.CHECK, _WHOLE, most=MAX_SEED, default=0),
    _flag("write_schedule", _TEXT, "write the schedule that shows a fault", metavar="FILE"),
    _setting("suppressions", _TEXT, "rules: `kind[:cause] glob` a line", metavar="FILE"),
    _setting("baseline", _TEXT, "findings that are known", metavar="FILE"),
    _flag("write_baseline", _TEXT, "write the findings as known ones", metavar="FILE"),
    _flag(
        "format", _CHOICE, "of the report",
        choices=("text", "json", "sarif", "junit", "github"), default="text",
    ),
    _flag("report", _TEXT, "write the report there", spelled=("-o",), metavar="FILE"),
    _setting(
        "fail_on", _CHOICE, "the least severity that counts for the exit code",
        choices=("error", "warning", "note"), default="warning",
    ),
    _setting(
        "max_instructions", _WHOLE,
        "warp instructions of a launch after which it counts as not ending",
        least=1, metavar="N",
    ),
    _setting(
        "max_findings", _WHOLE, "findings that are kept", least=1, default=1000, metavar="N",
    ),
    _flag(
        "dask", _TEXT,
        "fan out on a Dask cluster at this address, or on one of this machine (local)",
        metavar="ADDRESS",
    ),
    _flag(
        "timeout", _WHOLE, "the report says what was found until then",
        least=1, metavar="SECONDS",
    ),
)  # fmt: skip
"""In the order that the help text lists them."""
