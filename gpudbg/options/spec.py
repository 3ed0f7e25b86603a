"""What a row of the option schema says."""

from __future__ import annotations

from enum import Enum

from gpudbg.dataclass import dataclass

MAX_INTEGER = 2**63 - 1


class OptionScope(Enum):
    """What an option belongs to, and so when it may change."""

    LAUNCH = "one launch"
    MACHINE = "the emulated GPU; may change between launches"
    DEVICE = "the emulated GPU; fixed when it is made"
    WORDS = "what a file of raw instruction words does not say itself"
    COMPILER = "how a source file is compiled"
    CHECK = "what a check looks for, and how"
    VERB = "a verb of the command line"


class OptionKind(Enum):
    """What a value is."""

    WHOLE = "a whole number"
    NUMBER = "a number, hexadecimal digits with letters included"
    TEXT = "a text"
    TEXTS = "texts; a flag may be given more than once"
    ARCH = "an architecture"
    CHOICE = "one of some words"
    WORDS = "some of some words, with commas between them"
    SWITCH = "on where the flag is given"
    STEPS = "a command or a file of them; kept in the order given"
    REST = "all words that follow"


Default = int | str | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """One option, or one operand of a verb.

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
        default: of whole numbers, choices and words; None where the program or the machine decides.
        choices: allowed words.
        setting: its short description as the setting `launch FLAG`; empty where there is none.
        verbs: verbs of the command line that have it; `decode insn` counts as one.
        spelled: the flag as it is written, where that is not `--FLAG` and `-SHORT`.
        attribute: what holds the value after parsing, where that is not FLAG (operands: `name`).
        group: heading in help texts; empty is argparse's own.
        exclusive: options with the same word exclude each other.
        count: of an operand: "" one, "?" one or none, "*" any number, "+" at least one.
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
    default: Default = None
    choices: tuple[str, ...] = ()
    setting: str = ""
    verbs: tuple[str, ...] = ()
    spelled: tuple[str, ...] = ()
    attribute: str = ""
    group: str = ""
    exclusive: str = ""
    count: str = ""

    @property
    def dest(self) -> str:
        """Attribute that holds the flag's value after parsing."""
        return self.attribute or self.flag.replace("-", "_") or self.name

    @property
    def flags(self) -> tuple[str, ...]:
        """The flag as it is written; empty for operands and for what no flag gives."""
        if self.spelled or not self.flag:
            return self.spelled
        return (f"--{self.flag}", *([f"-{self.short}"] if self.short else []))

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
