"""What scripts define and share: user commands, convenience variables, what may be run."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass
from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.debug.script.blocks import Statement
    from gpudbg.expr import Result

SHELL_REFUSED = "shell commands are off"
SHELL_HINT = "start with `gpudbg --allow-shell …`; no command and no file can switch them on"
PREFIXES = ("info", "set", "show")
"""Commands that may get subcommands of the user's."""
_BEGINNING = {n: re.compile(r"\s+".join([r"[\w.-]+"] * n) + r"(?=[\s/]|$)") for n in (1, 2, 3)}
"""The first words of a line."""
_NAME = re.compile(r"[A-Za-z_][\w.-]*(?: [A-Za-z_][\w.-]*)?")


@dataclass(slots=True)
class UserCommand:
    """A command made by `define`; `help` is what `document` says of it."""

    name: str
    body: list[Statement]
    help: tuple[str, ...] = ()


@dataclass(slots=True)
class Scope:
    """What all scripts of a debugger process see.

    Attributes:
        commands: user commands by name.
        aliases: what other names of commands stand for.
        variables: `$name` to value.
        shell: whether the user allowed shell commands as the debugger was started.
    """

    commands: dict[str, UserCommand] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    variables: dict[str, Result] = field(default_factory=dict)
    shell: bool = False

    def define(self, name: str, body: list[Statement]) -> None:
        """Make or replace a command.

        Raises:
            CommandError: no name, or none that a command can have.
        """
        name = self.checked(name)
        kept = self.commands.get(name)
        self.commands[name] = UserCommand(name, body, kept.help if kept else ())

    def checked(self, name: str) -> str:
        """The name of a command to define.

        Raises:
            CommandError: there is none, or it cannot be one.
        """
        name = " ".join(name.split())
        if not name:
            raise CommandError("Argument required (name of command to define).")
        if not _NAME.fullmatch(name):
            raise CommandError(f"Junk in argument list: {name[:80]!r}", "define NAME")
        first, _, rest = name.partition(" ")
        if rest and first not in PREFIXES and first not in self.commands:
            raise CommandError(f'"{first[:80]}" is not a prefix command.', "define NAME")
        return name

    def documented(self, name: str) -> UserCommand:
        """The user command to document.

        Raises:
            CommandError: there is none.
        """
        found = self.commands.get(" ".join(name.split()))
        if found is None:
            raise CommandError(
                f'Undefined command: "{name[:80]}".' if name else "a command's name is missing",
                "`document` follows `define`",
            )
        return found

    def find(self, line: str) -> tuple[UserCommand, str] | None:
        """The user command a line calls by its whole name, and the arguments' text."""
        if not self.commands:
            return None
        words = line.split(None, 2)
        for count in (2, 1):
            found = self.commands.get(" ".join(words[:count])) if len(words) >= count else None
            if found is not None:
                return found, line.split(None, count)[count] if len(words) > count else ""
        return None

    def expanded(self, line: str) -> str:
        """Replace a leading alias by what it stands for."""
        if not self.aliases:
            return line
        text = line.lstrip()
        for count in (3, 2, 1):
            made = _BEGINNING[count].match(text)
            name = " ".join(made[0].split()) if made else ""
            if made and name in self.aliases:
                return self.aliases[name] + text[made.end() :]
        return line

    def abbreviated(self, line: str) -> tuple[UserCommand, str] | None:
        """As `find`, for an unambiguous abbreviation of a user command's name."""
        word, _, rest = line.strip().partition(" ")
        found = [c for n, c in self.commands.items() if n.startswith(word)]
        return (found[0], rest.strip()) if len(found) == 1 else None

    def require_shell(self) -> None:
        """Raise CommandError unless shell commands were allowed."""
        if not self.shell:
            raise CommandError(SHELL_REFUSED, SHELL_HINT)


def arguments(text: str) -> list[str]:
    """The words of a user command's arguments; quotes, and backslashes, hold blanks."""
    words: list[str] = []
    word, quote, began = "", "", False
    escaped = False
    for ch in text:
        if escaped:
            word, escaped = word + ch, False
        elif ch == "\\":
            word, escaped, began = word + ch, True, True
        elif quote:
            word += ch
            quote = "" if ch == quote else quote
        elif ch.isspace():
            if began:
                words.append(word)
            word, began = "", False
        else:
            quote = ch if ch in "\"'" else ""
            word, began = word + ch, True
    if began:
        words.append(word)
    return words


_ARGUMENT = re.compile(r"\$arg(c|\d+)(?![A-Za-z_0-9])")


def substituted(text: str, given: list[str] | None) -> str:
    """A line with `$argc`, `$arg0` … replaced; as it is outside a user command.

    Raises:
        CommandError: there is no such argument.
    """
    if given is None or "$arg" not in text:
        return text

    def one(match: re.Match[str]) -> str:
        if match[1] == "c":
            return str(len(given))
        index = int(match[1]) if len(match[1]) < 6 else len(given)
        if index >= len(given):
            raise CommandError(f"Missing argument {match[1][:12]} in user function.")
        return given[index]

    return _ARGUMENT.sub(one, text)
