"""`set exec-direction reverse`: commands that run and step go backwards, as in gdb."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.debug.registry import Command, CommandTable
    from gpudbg.debug.settings import Settings

Subject = TypeVar("Subject")
BACKWARDS: Final = {
    "step": "reverse-step",
    "next": "reverse-next",
    "stepi": "reverse-stepi",
    "nexti": "reverse-nexti",
    "continue": "reverse-continue",
    "finish": "reverse-finish",
    "until": "reverse-until",
}
"""A command, and the one that it is while the direction is `reverse`."""
_FORWARDS: Final = {back: forward for forward, back in BACKWARDS.items()}


def is_backwards(settings: Settings) -> bool:
    """Whether commands go backwards now."""
    return settings.shown("exec-direction") == "reverse"


def directed(
    table: CommandTable[Subject], command: Command[Subject], settings: Settings
) -> Command[Subject]:
    """The command that is carried out when one is asked for.

    Raises:
        CommandError: it goes backwards by itself while the direction is reversed.
    """
    if not is_backwards(settings):
        return command
    if command.name in _FORWARDS:
        raise CommandError(
            f"Already in reverse mode.  Use '{_FORWARDS[command.name]}' or 'set exec-dir forward'."
        )
    return table.resolve(BACKWARDS.get(command.name, command.name))[0]
