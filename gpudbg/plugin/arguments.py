"""Arguments of decoders: options in a table, parsed without argparse, errors as UsageError.

A decoder is most easily written as

    @decoder(usage="VALUE...", options=(Option("--chipset", unsigned(16), 0x50, "chip id"),))
    def physid(args: Arguments) -> Decoded: ...

which has the contract's signature `(argv, json) -> Decoded`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpudbg.dataclass import dataclass
from gpudbg.errors import UsageError
from gpudbg.plugin.contract import Decoded

_INT = re.compile(r"[+-]?(0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|[0-9][0-9_]*)$")


def parse_int(word: str, what: str = "value", bits: int | None = None) -> int:
    """An integer as users write it (decimal, 0x, 0b, 0o, `_` between digits).

    Args:
        word: the text.
        what: its name in messages.
        bits: when given, the value must fit that many unsigned bits.

    Raises:
        UsageError: not a number, or out of range.
    """
    if len(word) > 256 or not _INT.match(word):
        shown = word if len(word) <= 40 else word[:40] + "..."
        raise UsageError(f"{what}: '{shown}' is not a number", "decimal, 0x..., 0b... or 0o...")
    try:
        value = int(word, 0) if not re.match(r"[+-]?0[0-9_]", word) else int(word, 10)
    except ValueError:
        raise UsageError(f"{what}: '{word}' is not a number") from None
    if bits is not None and not 0 <= value < 1 << bits:
        raise UsageError(f"{what}: {word} does not fit {bits} bits", f"0..0x{(1 << bits) - 1:x}")
    return value


Converter = Callable[[str, str], Any]


def unsigned(bits: int) -> Converter:
    """A converter for unsigned integers of `bits` bits."""
    return lambda word, what: parse_int(word, what, bits)


def text(word: str, what: str) -> str:
    """A converter that keeps the text."""
    return word


def one_of(*choices: str) -> Converter:
    """A converter for one of `choices`, compared without case; gives the spelling listed."""
    table = {choice.lower(): choice for choice in choices}

    def convert(word: str, what: str) -> str:
        if word.lower() not in table:
            raise UsageError(f"{what}: '{word}' is none of {', '.join(choices)}")
        return table[word.lower()]

    return convert


@dataclass(frozen=True, slots=True)
class Option:
    """One `--name VALUE`, or a flag when `convert` is None.

    Args:
        flag: with its dashes.
        convert: (word, option name) -> value; None for a flag without value.
        default: value when absent.
        help: one line.
        required: absence is a usage error.
    """

    flag: str
    convert: Converter | None = None
    default: Any = None
    help: str = ""
    required: bool = False

    @property
    def key(self) -> str:
        """Name in `Arguments`: the flag without dashes, `-` as `_`."""
        return self.flag.lstrip("-").replace("-", "_")


@dataclass(frozen=True, slots=True)
class Arguments:
    """Parsed arguments: option values by key, the positionals, and which options were given."""

    values: Mapping[str, Any]
    words: tuple[str, ...]
    given: frozenset[str]
    json: bool = False

    def __getitem__(self, key: str) -> Any:
        return self.values[key]


def parse_arguments(
    argv: Sequence[str],
    options: Sequence[Option] = (),
    *,
    words: tuple[int, int | None] = (0, None),
    usage: str = "",
    json: bool = False,
) -> Arguments:
    """Split `argv` into options and positionals.

    `--name value` and `--name=value` are the same; `--` ends the options; a word that is a
    negative number is a positional.

    Args:
        argv: the words after the decoder's name.
        options: the table.
        words: least and most positionals (None: any number).
        usage: shown as the hint of errors.
        json: kept in the result.

    Raises:
        UsageError: unknown or repeated option, missing value, wrong number of positionals.
    """
    table = {option.flag: option for option in options}
    values = {option.key: option.default for option in options}
    given: set[str] = set()
    rest: list[str] = []
    hint = f"usage: {usage}" if usage else None
    queue = list(argv)
    while queue:
        word = queue.pop(0)
        if word == "--":
            rest += queue
            break
        if not word.startswith("-") or word == "-" or _INT.match(word):
            rest.append(word)
            continue
        name, equals, value = word.partition("=")
        option = table.get(name)
        if option is None:
            raise UsageError(f"unknown option '{name}'", hint)
        if option.key in given:
            raise UsageError(f"option '{name}' is given twice", hint)
        given.add(option.key)
        if option.convert is None:
            if equals:
                raise UsageError(f"option '{name}' takes no value", hint)
            values[option.key] = True
            continue
        if not equals:
            if not queue:
                raise UsageError(f"option '{name}' needs a value", hint)
            value = queue.pop(0)
        values[option.key] = option.convert(value, name)
    for option in options:
        if option.required and option.key not in given:
            raise UsageError(f"option '{option.flag}' is required", hint)
    least, most = words
    if len(rest) < least:
        raise UsageError(f"{least - len(rest)} more argument(s) needed", hint)
    if most is not None and len(rest) > most:
        raise UsageError(f"unexpected argument '{rest[most]}'", hint)
    return Arguments(values, tuple(rest), frozenset(given), json)


@dataclass(frozen=True, slots=True)
class TableDecoder:
    """A decoder with its option table; calling it follows the contract's `Decoder`."""

    function: Callable[[Arguments], Decoded]
    usage: str
    options: tuple[Option, ...]
    words: tuple[int, int | None]

    def __call__(self, argv: list[str], json: bool) -> Decoded:
        """Parse `argv` by the table and decode."""
        return self.function(
            parse_arguments(argv, self.options, words=self.words, usage=self.usage, json=json)
        )

    def help_lines(self) -> list[str]:
        """One line an option, for `--help`."""
        rows = [(o.flag + (" VALUE" if o.convert else ""), o) for o in self.options]
        width = max((len(left) for left, _ in rows), default=0)
        return [f"  {left:<{width}}  {o.help}{_default_note(o)}" for left, o in rows]


def _default_note(option: Option) -> str:
    if option.default is None or option.convert is None:
        return ""
    return f" (default {option.default})"


def decoder(
    *,
    usage: str = "",
    options: Sequence[Option] = (),
    words: tuple[int, int | None] = (0, None),
) -> Callable[[Callable[[Arguments], Decoded]], TableDecoder]:
    """Make a decoder of a function of `Arguments`.

    Args:
        usage: the arguments as the usage line shows them.
        options: the option table.
        words: least and most positionals.
    """

    def wrap(function: Callable[[Arguments], Decoded]) -> TableDecoder:
        return TableDecoder(function, usage, tuple(options), words)

    return wrap
