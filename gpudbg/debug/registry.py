"""Command tables: rows, lookup by abbreviation, and the form of answers.

A command is one row: names, usage, help, whether it needs a stopped program, and a handler that
turns its argument text into an answer (`gpudbg.answers`), which frontends get as an `Output`: lines
for people, plain data for programs.  It knows nothing of what commands are carried out on;
`gpudbg.debug.commands` has the debugger's own.

Names may have two words ("info warps").  A typed word may be any unambiguous prefix; an exact
name or alias always wins.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar

from gpudbg import html
from gpudbg.answers.columns import Column, is_row, shown_columns
from gpudbg.answers.data import data_of
from gpudbg.answers.records import NOTHING, Answer, Listing, Sections, Table
from gpudbg.answers.text import is_open, lines_of, printed_text
from gpudbg.dataclass import dataclass
from gpudbg.errors import CommandError, for_user

Subject = TypeVar("Subject")
"""The object that commands of a table act on."""

Needs = Literal["nothing", "launch", "stopped", "stopped or ended"]
"""State that a command requires; "stopped" is a warp in focus."""

GROUP_ALIASES = {"i": "info"}
"""gdb's short names of command groups that would be ambiguous prefixes."""


@dataclass(frozen=True)
class Output:
    """What a command answers: text lines and the same as JSON-able data, both of one record.

    Attributes:
        answer: the record (`gpudbg.answers`).
    """

    answer: Answer = NOTHING

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The answer as lines of text."""
        return tuple(for_user(lines_of, self.answer))

    @cached_property
    def data(self) -> Any:
        """The answer as JSON-able data."""
        return for_user(data_of, self.answer)

    @property
    def open(self) -> bool:
        """Whether the next output continues the last line, as after `echo` and `printf`."""
        return is_open(self.answer)

    @property
    def printed(self) -> str:
        """The lines as a console prints them."""
        return for_user(printed_text, self.answer)

    @property
    def text(self) -> str:
        """The lines joined."""
        return "\n".join(self.lines)

    def __str__(self) -> str:
        return self.text

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.text)

    def _repr_html_(self) -> str:
        return output_html(self)


@dataclass(frozen=True, slots=True)
class Command(Generic[Subject]):
    """One row of the command table."""

    names: tuple[str, ...]
    usage: str
    help: str
    group: str
    needs: Needs
    handler: Callable[[Subject, str], Answer]
    details: str = ""
    repeats: bool = False
    completer: Callable[[Subject, str], list[str]] | None = None

    @property
    def name(self) -> str:
        """The full name."""
        return self.names[0]

    def carry_out(self, subject: Subject, argument: str) -> Output:
        """What the command answers.

        Raises:
            GpudbgError: whatever it raised, as front ends show it.
        """
        return Output(for_user(self.handler, subject, argument))


class UndefinedCommandError(CommandError):
    """No command begins with the line's first word."""


@dataclass(slots=True)
class CommandTable(Generic[Subject]):
    """All commands, with lookup by exact name, alias and unambiguous prefix.

    Attributes:
        absent: names of gdb's that are not here → why, and what to do.
    """

    absent: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    commands: list[Command[Subject]] = field(default_factory=list)
    _exact: dict[str, Command[Subject]] = field(default_factory=dict)
    _parents: set[str] = field(default_factory=set)
    """Words before the blank of two-word names."""

    def add(self, command: Command[Subject]) -> None:
        """Enter a command; a name taken twice is a programming error."""
        for name in command.names:
            if name in self._exact:
                raise ValueError(f"command name {name!r} is taken by {self._exact[name].name!r}")
            self._exact[name] = command
            self._parents.update(name[:at] for at, letter in enumerate(name) if letter == " ")
        self.commands.append(command)

    def has(self, name: str) -> bool:
        """Whether a name is taken."""
        return name in self._exact

    def knows(self, line: str) -> bool:
        """Whether a line names a command, or the beginning of several."""
        try:
            self.resolve(line)
        except UndefinedCommandError:
            return False
        except CommandError:
            return True
        return True

    def words(self, prefix: str = "") -> list[str]:
        """Full names that start with `prefix`."""
        return sorted(c.name for c in self.commands if c.name.startswith(prefix))

    def resolve(self, line: str) -> tuple[Command[Subject], str]:
        """The command a line names, and its argument text.

        Raises:
            CommandError: nothing or several commands match; candidates are listed.
        """
        word, rest = _first_word(line)
        word = GROUP_ALIASES.get(word, word)
        command = self._match(word, (n for n in self._exact if " " not in n))
        if command is not None and not self._has_children(command.name):
            return command, rest
        parent = command.name if command else self._parent(word)
        if parent is None:
            raise self._unknown(word, rest)
        sub, tail = _first_word(rest)
        if not sub:
            if command is not None:
                return command, ""
            raise CommandError(f"'{parent}' needs a subcommand", ", ".join(self._children(parent)))
        prefix = parent + " "
        names = [n for n in self._exact if n.startswith(prefix)]
        child = self._match(prefix + sub, names)
        if child is not None:
            return child, tail
        if prefix + sub in self.absent:
            raise self._unknown(parent, sub)
        if command is not None and not parent.startswith("info"):
            return command, rest
        near = difflib.get_close_matches(sub, self._children(parent), n=3)
        hint = (
            f"did you mean {', '.join(near)}?"
            if near
            else "try " + ", ".join(self._children(parent))
        )
        raise CommandError(f"'{parent}' has no subcommand {sub!r}", hint)

    def _children(self, parent: str) -> list[str]:
        prefix = parent + " "
        return sorted({c.name[len(prefix) :] for c in self.commands if c.name.startswith(prefix)})

    def _has_children(self, name: str) -> bool:
        return name in self._parents

    def _parent(self, word: str) -> str | None:
        parents = sorted({n.split(" ")[0] for n in self._exact if " " in n})
        if word in parents:
            return word
        found = [p for p in parents if p.startswith(word)]
        return found[0] if len(found) == 1 else None

    def _match(self, word: str, names: Iterable[str]) -> Command[Subject] | None:
        if word in self._exact:
            return self._exact[word]
        found = {self._exact[n].name: self._exact[n] for n in names if n.startswith(word)}
        parents = {n.split(" ")[0] for n in self._exact if " " in n and n.startswith(word)}
        extra = {p for p in parents if " " not in word and p not in found}
        if len(found) + len(extra) > 1:
            candidates = ", ".join(sorted(set(found) | extra))
            raise CommandError(f"ambiguous command {word!r}", candidates)
        return next(iter(found.values()), None)

    def _unknown(self, word: str, rest: str = "") -> CommandError:
        whole = f"{word} {_first_word(rest)[0]}".rstrip()
        for name in (whole, word):
            if name in self.absent:
                why, instead = self.absent[name]
                return UndefinedCommandError(f"{name}: {why}", instead)
        near = difflib.get_close_matches(word, self.words(), n=3)
        hint = f"did you mean {', '.join(near)}?" if near else None
        return UndefinedCommandError(f'Undefined command: "{word}".  Try "help".', hint)


def _first_word(line: str) -> tuple[str, str]:
    """Split at the first blank or at a slash (`x/4i`, `p/x`); the slash stays with the rest."""
    text = line.strip()
    for i, ch in enumerate(text):
        if ch.isspace() or (ch == "/" and i):
            return text[:i], text[i:].strip()
    return text, ""


def quoted_words(argument: str) -> list[str]:
    """The words of an argument; quotes hold blanks together.

    Raises:
        CommandError: a quote is not closed.
    """
    import shlex

    try:
        return shlex.split(argument)
    except ValueError as error:
        raise CommandError(f"{argument}: {error}") from None


def output_html(answer: Output) -> str:
    """A command's answer: a table where it has rows with headings, else its lines."""
    record = answer.answer
    if isinstance(record, Table | Listing) and record.rows and is_row(record.rows[0]):
        shown = record.shown if isinstance(record, Table) else ()
        columns = shown_columns(type(record.rows[0]), shown)
        if len(columns) > 1:
            return _rows_html(record, columns)
    if isinstance(record, Sections):
        return "".join(output_html(Output(part)) for part in record.parts)
    return html.pre(answer.lines)


def _rows_html(record: Table | Listing, columns: Sequence[Column]) -> str:
    """Rows under their headings, with what stands before, below and behind them."""
    replaced = dict(record.headings) if isinstance(record, Table) else {}
    heads = [replaced.get(c.key or "", c.heading or "") for c in columns]
    cells = [[c.text(row) for c in columns] for row in record.rows]
    styles = [html.HERE if texts[0] == "*" else "" for texts in cells]
    below = record.below if isinstance(record, Table) else None
    more = [line for row in record.rows for line in below(row)] if below is not None else []
    return (
        (html.pre(record.title) if record.title else "")
        + html.table(heads, cells, styles)
        + (html.pre([*more, *record.foot]) if more or record.foot else "")
    )
