"""gdb's command language: blocks, user-defined commands, files of commands.

`blocks` reads lines into statements, `scope` keeps what scripts define, `player` carries statements
out: it hands plain lines to a frontend one at a time and carries out the control flow itself.
"""

from gpudbg.debug.script.blocks import (
    BlockReader,
    ScriptBlock,
    ScriptLine,
    Statement,
    head_of,
    shown_lines,
    statements,
)
from gpudbg.debug.script.host import check_head, command_numbers, holds, keep_commands
from gpudbg.debug.script.player import Player, play
from gpudbg.debug.script.scope import Scope, UserCommand

__all__ = (
    "BlockReader",
    "Player",
    "Scope",
    "ScriptBlock",
    "ScriptLine",
    "Statement",
    "UserCommand",
    "check_head",
    "command_numbers",
    "head_of",
    "holds",
    "keep_commands",
    "play",
    "shown_lines",
    "statements",
)
