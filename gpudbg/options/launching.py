"""Options of launches and of the emulated GPU: flags, keys of launch tables, keywords, settings."""

from __future__ import annotations

from gpudbg.options.spec import OptionKind, OptionScope, OptionSpec

MAX_SEED = 1 << 65536
"""A seed may stand for a schedule with its switches, some forty bits each."""
DEFAULT_JOBS = 1
ENGINES = {
    "auto": "step by step until a launch turns out to run long, then compiled (the default)",
    "step": "one warp instruction at a time, with NumPy; every instruction has it",
    "run": "compiled to the host's code; what has no compiled version goes step by step",
}
"""Ways to execute, each with what it does."""

_LAUNCH, _MACHINE, _DEVICE, _WORDS = (
    OptionScope.LAUNCH, OptionScope.MACHINE, OptionScope.DEVICE, OptionScope.WORDS,
)  # fmt: skip
_WHOLE, _TEXT, _TEXTS = OptionKind.WHOLE, OptionKind.TEXT, OptionKind.TEXTS

LAUNCH_OPTIONS = (
    OptionSpec(
        "launch", _LAUNCH, _TEXT, "the launch table (default: PROG.toml)",
        "launch", metavar="FILE.toml",
    ),
    OptionSpec(
        "kernel", _LAUNCH, _TEXT, "entry point",
        "kernel", "k", "NAME", table="", setting="kernel",
    ),
    OptionSpec(
        "grid", _LAUNCH, _TEXT, "blocks",
        "grid", "g", "X[,Y[,Z]]", table="", setting="blocks",
    ),
    OptionSpec(
        "block", _LAUNCH, _TEXT, "threads of a block",
        "block", "b", "X[,Y[,Z]]", table="", setting="threads of a block",
    ),
    OptionSpec(
        "cluster", _LAUNCH, _TEXT, "blocks of a cluster (sm_90 and later)",
        "cluster", metavar="X[,Y[,Z]]", table="", setting="blocks of a cluster",
    ),
    OptionSpec(
        "shared_bytes", _LAUNCH, _WHOLE, "dynamic shared memory",
        "shared", metavar="BYTES", table="", setting="dynamic shared memory",
    ),
    OptionSpec(
        "args", _LAUNCH, _TEXTS,
        "an argument: i32:1000, f32:2.5, x=f32[1000]:lcg_real(seed=1,lo=0,hi=1), y=@y.npy; "
        "all of them in order, or NAME=VALUE for those that differ from the launch table",
        "arg", "a", "ARG", table="", setting="one argument, NAME=VALUE,",
    ),
    OptionSpec("symbols", _LAUNCH, _TEXTS, "set a variable", "symbol", metavar="NAME=…", table=""),
    OptionSpec(
        "outputs", _LAUNCH, _TEXTS, "show at the end", "output", "o", "NAME[A:B]", table="",
    ),
    OptionSpec(
        "num_sms", _MACHINE, _WHOLE, "SMs of the emulated GPU",
        "num-sms", metavar="N", table="sm", least=1, most=511,
    ),
    OptionSpec(
        "seed", _MACHINE, _WHOLE, "schedule seed (default 0: round robin)",
        "seed", metavar="N", table="sm", most=MAX_SEED,
    ),
    OptionSpec(
        "arch", _DEVICE, OptionKind.ARCH, "architecture (of raw words)", "arch", table="sm",
    ),
    OptionSpec(
        "heap_bytes", _DEVICE, _WHOLE, "device heap", "heap", metavar="BYTES", table="sm",
    ),
    OptionSpec(
        "stack_bytes", _MACHINE, _WHOLE, "local stack of a thread",
        "stack", metavar="BYTES", table="sm",
    ),
    OptionSpec(
        "engine", _MACHINE, OptionKind.CHOICE,
        "step by step, compiled code, or whatever is best (default)",
        "engine", default="auto", choices=tuple(ENGINES),
    ),
    OptionSpec(
        "jobs", _MACHINE, _WHOLE,
        "host threads for compiled code; with more than one, the order of instructions of "
        "different blocks is not the same from run to run; of check: processes for --schedules",
        "jobs", metavar="N", least=1, most=256, default=DEFAULT_JOBS,
    ),
    OptionSpec(
        "on_fault", _MACHINE, OptionKind.CHOICE,
        "a wild access stops the machine, or (continue) is dropped and noted: loads give 0, the "
        "exit code is 1",
        "on-fault", default="stop", choices=("stop", "continue"),
    ),
    OptionSpec("num_regs", _WORDS, _WHOLE, table="raw", least=1, most=255),
    OptionSpec("num_barriers", _WORDS, _WHOLE, table="raw", most=16),
    OptionSpec("params", _WORDS, _TEXTS, table="raw"),
    OptionSpec("shared_bytes", _WORDS, _WHOLE, table="raw"),
    OptionSpec("local_bytes", _WORDS, _WHOLE, table="raw"),
)  # fmt: skip
"""Those of launches and of the emulated GPU, in the order that usage texts list them."""
