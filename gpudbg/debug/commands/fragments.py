"""Tensor cores: the operands of a matrix instruction, lane by lane."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.answers import Card
from gpudbg.debug.commands.table import command
from gpudbg.debug.views.fragments import fragment_lines
from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession

OPERANDS = frozenset("ABCDEM")
SCALES = frozenset(("SA", "SB"))
DISPLAYS = ("values", "raw", "lanes")


@command(
    "info fragment",
    "info fragments",
    "info matrix",
    usage="info fragment [A|B|C|D|E|M|SA|SB …] [values|raw|lanes] [LOCATION]",
    help="operands of a tensor-core instruction as matrices, the focused lane's elements marked",
    group="status",
    needs="stopped",
    details="The instruction that comes next, the one before it, or the nearest that follows;\n"
    "LOCATION names another one, which the registers of now are shown by.  `lanes` shows who\n"
    "holds each place (`5:R4.1`: lane 5, register R4, element 1), in shared memory its address;\n"
    "`raw` shows the bits.  E is the metadata of a sparse A, M a matrix that is moved, SA and SB\n"
    "are scale factors.",
)
def info_fragment(session: DebugSession, argument: str) -> Card:
    """Show matrices."""
    words = argument.split()
    names: set[str] = set()
    while words and (word := words[0].upper()) and (word in SCALES or set(word) <= OPERANDS):
        names |= {word} if word in SCALES else set(word)
        words.pop(0)
    show = words.pop(0) if words and words[0] in DISPLAYS else "values"
    view = session.fragments(" ".join(words) or None)
    known = [matrix.name for matrix in view.matrices]
    if names and not names & set(known):
        raise CommandError(
            f"{view.text} has no {', '.join(sorted(names))}", f"it has {', '.join(known)}"
        )
    return Card(view, lambda found: fragment_lines(found, session.lane, names, show))
