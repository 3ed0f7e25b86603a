"""Session settings: rows of name, default, choices and help; `set NAME VALUE` changes one."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from gpudbg.dataclass import dataclass
from gpudbg.debug.views.format import parse_int
from gpudbg.errors import CommandError
from gpudbg.options import FLAGS, JOBS, ON_FAULT, RECORD_ON_FAULT

if TYPE_CHECKING:
    from gpudbg.sm.gpu import Gpu


SCOPES = ("lane", "warp", "cta", "sm", "all")
"""What a step can move; a lane moves with its warp."""


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting; `choices` empty means a number, or any text where `text` says so.

    Those of the `screen` are the terminal UI's: it gives them their choices (`Settings.adopt`).
    A row that is `inert` changes nothing here: only its default is true, so other values are
    refused, but for the settings that gdb's frontends send as they start (`ACCEPTED`).
    """

    name: str
    default: str
    choices: tuple[str, ...]
    help: str
    text: bool = False
    screen: bool = False
    inert: bool = False


GDB_ROWS = (
    ("annotate", "0"),
    ("architecture", "auto"),
    ("auto-load safe-path", "/"),
    ("auto-solib-add", "on"),
    ("backtrace limit", "unlimited"),
    ("backtrace past-main", "off"),
    ("basenames-may-differ", "off"),
    ("breakpoint always-inserted", "off"),
    ("breakpoint auto-hw", "on"),
    ("can-use-hw-watchpoints", "1"),
    ("case-sensitive", "auto"),
    ("charset", "auto"),
    ("check type", "on"),
    ("cp-abi", "auto"),
    ("cwd", ""),
    ("debug-file-directory", "/usr/lib/debug"),
    ("debuginfod enabled", "off"),
    ("detach-on-fork", "on"),
    ("disable-randomization", "on"),
    ("disassemble-next-line", "off"),
    ("dprintf-style", "gdb"),
    ("disassembly-flavor", "att"),
    ("editing", "off"),
    ("endian", "auto"),
    ("environment", ""),
    ("exec-wrapper", ""),
    ("extended-prompt", ""),
    ("filename-display", "relative"),
    ("follow-exec-mode", "same"),
    ("follow-fork-mode", "parent"),
    ("history save", "off"),
    ("history size", "256"),
    ("host-charset", "auto"),
    ("inferior-tty", ""),
    ("input-radix", "10"),
    ("language", "auto"),
    ("logging enabled", "off"),
    ("max-completions", "200"),
    ("max-value-size", "65536"),
    ("mi-async", "off"),
    ("multiple-symbols", "all"),
    ("new-console", "off"),
    ("non-stop", "off"),
    ("opaque-type-resolution", "on"),
    ("osabi", "auto"),
    ("overload-resolution", "on"),
    ("print address", "on"),
    ("print array", "off"),
    ("print array-indexes", "off"),
    ("print asm-demangle", "off"),
    ("print demangle", "on"),
    ("print entry-values", "default"),
    ("print finish", "on"),
    ("print frame-arguments", "scalars"),
    ("print inferior-events", "on"),
    ("print max-depth", "20"),
    ("print nibbles", "off"),
    ("print null-stop", "off"),
    ("print object", "off"),
    ("print raw-frame-arguments", "off"),
    ("print repeats", "10"),
    ("print sevenbit-strings", "off"),
    ("print static-members", "on"),
    ("print symbol", "on"),
    ("print symbol-filename", "off"),
    ("print thread-events", "on"),
    ("print type methods", "on"),
    ("print union", "on"),
    ("print vtbl", "off"),
    ("prompt", "(gdb) "),
    ("python print-stack", "message"),
    ("record full insn-number-max", "200000"),
    ("schedule-multiple", "off"),
    ("scheduler-locking", "replay"),
    ("skip-solib-deps", "on"),
    ("solib-search-path", ""),
    ("source open", "on"),
    ("startup-with-shell", "on"),
    ("step-mode", "off"),
    ("stop-on-solib-events", "0"),
    ("style enabled", "off"),
    ("sysroot", ""),
    ("target-async", "off"),
    ("target-charset", "auto"),
    ("target-wide-charset", "auto"),
    ("tcp auto-retry", "on"),
    ("trace-commands", "off"),
    ("tui border-kind", "acs"),
    ("tui compact-source", "off"),
    ("unwindonsignal", "off"),
    ("verbose", "off"),
)
"""gdb's settings, kept and shown, and their defaults."""

REAL = frozenset(
    ("annotate", "args", "inferior-tty", "mi-async", "non-stop", "prompt", "target-async")
)
"""Those of `GDB_ROWS` that have an effect: in GDB/MI."""

ACCEPTED = frozenset(
    (
        "architecture",
        "auto-load safe-path",
        "auto-solib-add",
        "breakpoint always-inserted",
        "charset",
        "confirm",
        "cuda api_failures",
        "cuda kernel_events",
        "debug-file-directory",
        "debuginfod enabled",
        "detach-on-fork",
        "disable-randomization",
        "disassembly-flavor",
        "dprintf-style",
        "editing",
        "environment",
        "filename-display",
        "height",
        "history save",
        "history size",
        "host-charset",
        "max-completions",
        "multiple-symbols",
        "new-console",
        "overload-resolution",
        "pagination",
        "print asm-demangle",
        "print demangle",
        "print max-depth",
        "print object",
        "print repeats",
        "print sevenbit-strings",
        "print static-members",
        "print symbol",
        "print thread-events",
        "print inferior-events",
        "print union",
        "print vtbl",
        "python print-stack",
        "solib-search-path",
        "source open",
        "startup-with-shell",
        "stop-on-solib-events",
        "style enabled",
        "sysroot",
        "target-charset",
        "target-wide-charset",
        "tui border-kind",
        "tui compact-source",
        "unwindonsignal",
        "verbose",
    )
)
"""Settings without an effect that frontends send as they start: accepted, with a note."""

SAME = {
    "language": ("c", "c++", "auto", "local"),
    "scheduler-locking": ("replay", "off"),
    "endian": ("auto", "little"),
    "case-sensitive": ("auto", "on"),
    "cuda break_on_launch": ("none", "system"),
    "cuda step_divergent_lanes": ("on",),
    "cuda coalescing": ("on", "off", "auto"),
    "print entry-values": ("default", "only", "preferred", "compact", "if-needed"),
    "print frame-arguments": ("scalars", "all"),
    "check type": ("on",),
}
"""Values besides the default that also describe this debugger truthfully."""

CUDA_ROWS = (
    ("api_failures", "ignore"),
    ("collect_stats", "on"),
    ("context_events", "off"),
    ("defer_kernel_launch_notifications", "off"),
    ("disassemble_from", "elf_image"),
    ("disassemble_per", "function"),
    ("driver_log_level", "0"),
    ("driver_logs", "off"),
    ("gpu_busy_check", "on"),
    ("hide_internal_frame", "on"),
    ("kernel_events", "none"),
    ("kernel_events_depth", "1"),
    ("launch_blocking", "off"),
    ("memcheck", "auto"),
    ("notify", "youngest"),
    ("printf_flushing", "on"),
    ("ptx_cache", "on"),
    ("single_stepping_optimizations", "on"),
    ("software_preemption", "auto"),
    ("step_divergent_lanes", "on"),
    ("stop_signal", "SIGURG"),
    ("thread_selection", "logical"),
    ("value_extrapolation", "off"),
)
"""cuda-gdb's `set cuda` options with their defaults, without an effect of their own."""

ON_OFF = {"1": "on", "yes": "on", "enable": "on", "0": "off", "no": "off", "disable": "off"}
"""gdb's synonyms of on and off."""

NO_SCREEN = "there is no screen here; `gpudbg PROG` on a terminal opens one"
"""Reply of the terminal UI's settings and commands where there is no screen."""

ROWS = (
    SettingRow(
        "trap-entry", "stop", ("stop", "run"), "whether entering the trap handler stops `continue`"
    ),
    SettingRow(
        "step-handler",
        "through",
        ("through", "enter"),
        "with a trap handler, `stepi` runs the handler that a step enters, or stops in it",
    ),
    SettingRow("step", "warp", SCOPES[1:], "what stepi moves"),
    SettingRow(
        "exec-direction",
        "forward",
        ("forward", "reverse"),
        "whether step, next, stepi, nexti, continue, finish and until go backwards",
    ),
    SettingRow("print-lanes", "focus", ("focus", "all"), "lanes `print` shows"),
    SettingRow("max-instructions", "0", (), "warp instructions `run` and `continue` may take"),
    SettingRow(JOBS.name, str(JOBS.default), (), JOBS.help),
    SettingRow(ON_FAULT.flag, "stop", ON_FAULT.choices, ON_FAULT.help),
    SettingRow(RECORD_ON_FAULT.flag, "", (), RECORD_ON_FAULT.help, text=True),
    SettingRow(
        "timeline",
        "auto",
        ("on", "off", "auto", "small"),
        "record what warps execute, tick by tick: auto does from when the history screen opens, "
        "small (in the terminal UI) launches of up to 1,024 warps until 262,144 instructions, too",
    ),
    SettingRow(
        "gather",
        "off",
        ("on", "off"),
        "whether a breakpoint's stop lets the other resident warps run until they reach it, too",
    ),
    SettingRow("gather-limit", "10000", (), "instructions a warp may spend on its way there"),
    SettingRow(
        "stop-on-hang",
        "on",
        ("on", "off"),
        "end a run as a deadlock where it is proven that nothing can change any more",
    ),
    SettingRow("listsize", "10", (), "source lines `list` shows"),
    SettingRow("pagination", "off", ("on", "off"), "no effect: nothing pages", inert=True),
    SettingRow("confirm", "off", ("on", "off"), "no effect: nothing asks", inert=True),
    SettingRow("width", "100", (), "columns of console output"),
    SettingRow("height", "0", (), "no effect: nothing pages", inert=True),
    SettingRow("print elements", "64", (), "elements of an array that are shown; 0: all"),
    SettingRow("output-radix", "10", ("8", "10", "16"), "base that integers are shown in"),
    SettingRow(
        "cuda break_on_launch",
        "none",
        ("none", "application", "system", "all"),
        "whether `run` stops at the kernel's entry (application, all)",
    ),
    SettingRow(
        "step-along", "cta", ("cta", "none"), "who moves with the focused warp in line steps"
    ),
    SettingRow(
        "addresses", "offset", ("offset", "code"), "what $pc and *ADDRESS are: offsets or code"
    ),
    SettingRow("theme", "", (), "colours of the terminal UI", text=True, screen=True),
    SettingRow("keymap", "", (), "which keys the terminal UI has", text=True, screen=True),
    SettingRow("ascii", "", (), "the terminal UI with ASCII marks only", text=True, screen=True),
    SettingRow("args", "", (), "launch flags of the next start, all of them", text=True),
    *(
        SettingRow(f"launch {row.flag}", "", (), f"{row.setting} of the next start", text=True)
        for row in FLAGS
        if row.setting
    ),
    SettingRow("print pretty", "off", ("on", "off"), "members of structures on lines of their own"),
    SettingRow("breakpoint pending", "auto", ("on", "off", "auto"), "keep unknown locations"),
    SettingRow("cuda coalescing", "on", ("on", "off", "auto"), "group rows of info cuda tables"),
    *(SettingRow(f"cuda {n}", d, (), "of cuda-gdb", True, inert=True) for n, d in CUDA_ROWS),
    *(SettingRow(n, d, (), "of gdb", True, inert=n not in REAL) for n, d in GDB_ROWS),
)
"""Every setting."""


_BY_NAME: Final = {row.name: row for row in ROWS}
_DEFAULTS: Final = {row.name: row.default for row in ROWS}


class Settings:
    """Current values."""

    def __init__(self) -> None:
        self.rows = dict(_BY_NAME)
        self._values = dict(_DEFAULTS)
        self._effects: dict[str, Callable[[str], None]] = {}
        self._shown: dict[str, Callable[[], str]] = {}

    def row(self, name: str) -> SettingRow:
        """The row called `name`.

        Raises:
            CommandError: unknown.
        """
        if name not in self.rows:
            near = difflib.get_close_matches(name, self.rows, n=3)
            hint = f"did you mean {', '.join(near)}?" if near else "known: " + ", ".join(self.rows)
            raise CommandError(f"{name!r} is not a setting", hint)
        return self.rows[name]

    def shown(self, name: str) -> str:
        """The value as text."""
        if name in self._shown:
            return self._shown[name]()
        return self._values[self.row(name).name]

    def number(self, name: str) -> int:
        """The value of a numeric setting."""
        return int(self.shown(name))

    def adopt(
        self,
        name: str,
        choices: tuple[str, ...],
        shown: Callable[[], str],
        change: Callable[[str], None],
    ) -> None:
        """Let the screen implement a setting: its choices, its present value, how to change it."""
        self.rows[name] = replace(self.row(name), choices=choices, text=False, screen=False)
        self._shown[name], self._effects[name] = shown, change

    def set(self, name: str, value: str) -> str:
        """Change one.

        Returns:
            The value it has now.

        Raises:
            CommandError: unknown setting or value.
        """
        row = self.row(name)
        value = self._meant(row, value)
        if row.inert:
            self._check_inert(row, value)
        if row.text:
            self._values[name] = value
            return value
        if row.choices and value not in row.choices:
            raise CommandError(f"{name} cannot be {value!r}", "one of " + ", ".join(row.choices))
        if not row.choices:
            value = str(parse_int(value))
        if name in self._effects:
            self._effects[name](value)
        self._values[name] = value
        return value

    def _check_inert(self, row: SettingRow, value: str) -> None:
        """Refuse a value that a setting without effect cannot have."""
        switch = row.default in ("on", "off")
        if switch and value not in ("on", "off"):
            raise CommandError('"on" or "off" expected.', f"set {row.name} on")
        if value == row.default or value in SAME.get(row.name, ()) or row.name in ACCEPTED:
            return
        raise CommandError(
            f"set {row.name} {value}: not supported, it stays {row.default or 'empty'}",
            "`show` lists the settings",
        )

    def note(self, name: str) -> str:
        """A note on a setting just set: that it has no effect; "" otherwise."""
        row = self.row(name)
        value = self._values[name]
        if not row.inert or value == row.default or value in SAME.get(name, ()):
            return ""
        return f"set {name} {value}: no effect here"

    def attach(self, gpu: Gpu) -> None:
        """Connect the settings that the device stores."""

        def change_jobs(value: str) -> None:
            if JOBS.trouble(int(value)):
                raise CommandError(JOBS.trouble(int(value)))
            gpu.jobs = int(value)

        self._values[JOBS.name] = str(gpu.jobs)
        self._effects[JOBS.name] = change_jobs

        def change_on_fault(value: str) -> None:
            gpu.on_fault.goes_on = value == "continue"

        self._values[ON_FAULT.flag] = gpu.on_fault.word
        self._effects[ON_FAULT.flag] = change_on_fault

    def on_change(self, name: str, act: Callable[[str], None]) -> None:
        """Register the function that a setting acts by; called at once with the present value and
        at each change.
        """
        self._effects[name] = act
        act(self._values[name])

    def _meant(self, row: SettingRow, value: str) -> str:
        switch = {"on", "off"} <= set(row.choices) or row.default in ("on", "off")
        if switch and not value:
            return "on"
        if value in ("unlimited", "-1") and not row.choices and not row.text:
            return "0"
        return ON_OFF.get(value, value) if switch else value

    def split(self, text: str) -> tuple[str, str] | None:
        """Setting name and the rest of `print object on`; None when no setting begins it."""
        words = text.split()
        for count in (3, 2, 1):
            name = " ".join(words[:count])
            if len(words) >= count and name in self.rows:
                rest = text.strip()
                for word in words[:count]:
                    rest = rest[len(word) :].lstrip()
                return name, rest
        return None

    def complete(self, text: str) -> list[str]:
        """Settings, or values of a setting, that fit what was typed."""
        names = [n for n in self.rows if n.startswith(text)]
        found = self.split(text)
        if found is None or (found[0] == text):
            return names
        name, prefix = found
        return [f"{name} {c}" for c in self.rows[name].choices if c.startswith(prefix)] or names
