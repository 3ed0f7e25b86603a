"""Screen lines: console lines that arrange the screen, which carries them out itself."""

from __future__ import annotations

from gpudbg.debug.commands import GROUP, load
from gpudbg.errors import CommandError
from gpudbg.frontends.tui import layout

GDB_PANES = {"src": "source", "asm": "code", "cmd": "console", "regs": "registers"}
"""gdb's window names -> panes."""


def screen_line(line: str) -> tuple[str, list[str]] | None:
    """The screen command that a line is, and its words; None: it is none."""
    try:
        command, argument = load().resolve(line)
    except CommandError:
        return None
    words = argument.split()
    if command.name == "focus" and len(words) == 1 and words[0] not in ("sm", "warp", "lane"):
        pane = words[0] if words[0] in ("next", "prev") else pane_of(words[0])
        return ("focus", [pane]) if pane else None
    return (command.name, words) if command.group == GROUP else None


def concerns(line: str) -> bool:
    """Whether the screen carries a line out."""
    return screen_line(line) is not None


def pane_of(word: str) -> str:
    """The pane a word names, or "": its name, its beginning, or gdb's name."""
    if word in GDB_PANES:
        return GDB_PANES[word]
    found = [name for name in layout.ORDER if name.startswith(word)]
    return found[0] if word in layout.ORDER or len(found) == 1 else ""
