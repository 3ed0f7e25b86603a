"""The option schema: one row for each thing a user may choose about a launch or the emulated GPU.

A row says how the option is given everywhere: as a flag of the command line, as a key of the launch
table, as a keyword of the Python API and as a setting of a session.  Flags, keys, ranges, defaults
and help texts are read from here (`launch.flags`, `formats.launch_toml`, `device.device`,
`debug.settings`), so that they cannot disagree.
"""

from __future__ import annotations

from enum import Enum

from gpudbg.dataclass import dataclass

MAX_INTEGER = 2**63 - 1
MAX_SEED = 1 << 65536
"""A seed may stand for a schedule with its switches, some forty bits each."""
DEFAULT_JOBS = 1
ENGINES = {
    "auto": "step by step until a launch turns out to run long, then compiled (the default)",
    "step": "one warp instruction at a time, with NumPy; every instruction has it",
    "run": "compiled to the host's code; what has no compiled version goes step by step",
}
"""Ways to execute, each with what it does."""


class OptionScope(Enum):
    """What an option belongs to, and so when it may change."""

    LAUNCH = "one launch"
    MACHINE = "the emulated GPU; may change between launches"
    DEVICE = "the emulated GPU; fixed when it is made"
    WORDS = "what a file of raw instruction words does not say itself"


class OptionKind(Enum):
    """What a value is."""

    WHOLE = "a whole number"
    TEXT = "a text"
    TEXTS = "texts; a flag may be given more than once"
    ARCH = "an architecture"
    CHOICE = "one of some words"


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """One option.

    Attributes:
        name: the keyword of the Python API and the attribute of the launch table in memory.
        scope: what it belongs to.
        kind: what its values are.
        help: one line for users; empty for options without a flag.
        flag: the word after `--`, or empty.
        short: the letter after `-`, or empty.
        metavar: stands for the value in usage texts.
        table: launch-table section that holds the key `name`: "" the top level, "sm", "raw";
            None where the launch table has no such key.
        least, most: range of whole numbers.
        default: of whole numbers and choices; None where the program or the machine decides.
        choices: allowed words.
        setting: its short description as the setting `launch FLAG`; empty where there is none.
    """

    name: str
    scope: OptionScope
    kind: OptionKind
    help: str = ""
    flag: str = ""
    short: str = ""
    metavar: str = ""
    table: str | None = None
    least: int = 0
    most: int = MAX_INTEGER
    default: int | str | None = None
    choices: tuple[str, ...] = ()
    setting: str = ""

    @property
    def dest(self) -> str:
        """Attribute that holds the flag's value after parsing."""
        return self.flag.replace("-", "_")

    @property
    def range(self) -> str:
        """The allowed whole numbers in words."""
        if self.most >= MAX_INTEGER:
            return f"at least {self.least}"
        return f"between {self.least} and {self.most}"

    def allows(self, value: int) -> bool:
        """Whether a whole number is in range."""
        return self.least <= value <= self.most

    def trouble(self, value: int) -> str:
        """What is wrong with a whole number, or an empty string."""
        return "" if self.allows(value) else f"{self.name} {value}: {self.range}"


_LAUNCH, _MACHINE, _DEVICE, _WORDS = (
    OptionScope.LAUNCH,
    OptionScope.MACHINE,
    OptionScope.DEVICE,
    OptionScope.WORDS,
)
_WHOLE, _TEXT, _TEXTS = OptionKind.WHOLE, OptionKind.TEXT, OptionKind.TEXTS

OPTIONS = (
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
        "different blocks is not the same from run to run",
        "jobs", metavar="N", least=1, most=256, default=DEFAULT_JOBS,
    ),
    OptionSpec("num_regs", _WORDS, _WHOLE, table="raw", least=1, most=255),
    OptionSpec("num_barriers", _WORDS, _WHOLE, table="raw", most=16),
    OptionSpec("params", _WORDS, _TEXTS, table="raw"),
    OptionSpec("shared_bytes", _WORDS, _WHOLE, table="raw"),
    OptionSpec("local_bytes", _WORDS, _WHOLE, table="raw"),
)  # fmt: skip
"""Every option, in the order that usage texts list them."""

FLAGS = tuple(option for option in OPTIONS if option.flag)
"""Those that are flags of every verb that launches."""


def option(name: str) -> OptionSpec:
    """The flag-bearing option called `name`."""
    return _BY_NAME[name]


def keys(table: str) -> dict[str, OptionSpec]:
    """The keys of a section of the launch table ("" is its top level)."""
    return {row.name: row for row in OPTIONS if row.table == table}


_BY_NAME = {row.name: row for row in FLAGS}
JOBS = _BY_NAME["jobs"]
