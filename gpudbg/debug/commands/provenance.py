"""Where a value came from: who-wrote and who-read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from gpudbg.answers import Card, Table
from gpudbg.debug.commands.run import stop_answer
from gpudbg.debug.commands.table import command
from gpudbg.debug.provenance import PlaceTouch, tree_lines
from gpudbg.debug.views.format import parse_int
from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession

LISTED: Final = 10
"""Times that `/l` lists."""
_OPTIONS: Final = re.compile(r"/(\d*)([a-z]*)\s+")
DEPTH: Final = 4
"""Values one below the other that `why` shows."""
_PLACES: Final = (
    "EXPRESSION is a variable, an element, *(@SPACE TYPE *)ADDRESS, a register ($R4, $UR2) or a\n"
    "predicate ($P0)."
)
_DETAILS: Final = _PLACES + (
    "  A store of the value that was there counts; atomics, copies, and what was\n"
    "changed from the prompt are named as such.\n"
    "/N lists the last N times, /l the last ten, /a the last one for each of the warp's lanes;\n"
    "nothing moves then.  `goto TICK` goes to one of a list."
)


def _given(argument: str, usage: str) -> tuple[int | None, bool, str]:
    """Parse `/N` or `/l` and the expression: (times to list, whether for all lanes, expression)."""
    found = _OPTIONS.match(argument + " ")
    count, lanes = None, False
    if found is not None:
        argument = argument[found.end() :]
        if set(found[2]) - {"l", "a"}:
            raise CommandError(f"{found[0].strip()} is no option of {usage}", "/N, /l or /a")
        lanes = "a" in found[2]
        count = parse_int(found[1], "count") if found[1] else LISTED if "l" in found[2] else None
        if count == 0:
            raise CommandError("a list has at least one row", f"{usage}/3 out[2]")
    if not argument.strip():
        what = "writer" if usage == "who-wrote" else "reader"
        raise CommandError(f"whose {what}?", f"{usage} out[2], {usage} $R4, {usage}/3 shared[3]")
    return count, lanes, argument.strip()


def _answer(session: DebugSession, argument: str, usage: str) -> Card | Table:
    count, lanes, expression = _given(argument, usage)
    who = session.who_wrote if usage == "who-wrote" else session.who_read
    found = who(expression, count, lanes=lanes)
    if not isinstance(found, tuple):
        return stop_answer(session, found)
    done = "written" if usage == "who-wrote" else "read"
    every = "tick kind block thread lanes pc instruction value note".split()
    shown = tuple(every)
    if lanes:
        shown = ("asked", *(k if k != "value" else "values" for k in every if k != "lanes"))
    return Table(
        PlaceTouch, found, empty=f"nothing has {done} {expression}", shown=shown, name="touches"
    )


@command(
    "who-wrote",
    usage="who-wrote[/N|/l|/a] EXPRESSION",
    help="go back to the instruction that wrote a place last, or list the last ones",
    group="running",
    details="The launch stands before it, the focus on the lane that did it.\n" + _DETAILS,
    completer=lambda s, text: s.complete_expression(text),
)
def who_wrote(session: DebugSession, argument: str) -> Card | Table:
    """Go to the last writer of a place, or list writers."""
    return _answer(session, argument, "who-wrote")


@command(
    "who-read",
    usage="who-read[/N|/l|/a] EXPRESSION",
    help="go back to the instruction that read a place last, or list the last ones",
    group="running",
    details="The launch stands before it, the focus on a lane that did it.\n" + _DETAILS,
    completer=lambda s, text: s.complete_expression(text),
)
def who_read(session: DebugSession, argument: str) -> Card | Table:
    """Go to the last reader of a place, or list readers."""
    return _answer(session, argument, "who-read")


@command(
    "why",
    usage="why[/DEPTH][/c] EXPRESSION",
    help="what a value was computed from, back to loads and parameters, as a tree",
    group="running",
    details="A register goes on at what its writer read, a load at who wrote the memory, a\n"
    "shuffle in the other lane.  /6 shows six values below one another (4 otherwise), /c also the\n"
    "branches that led to an instruction.  `goto TICK` goes to one of them.\n" + _PLACES,
    completer=lambda s, text: s.complete_expression(text),
)
def why(session: DebugSession, argument: str) -> Card:
    """Show the tree of what a value was computed from."""
    depth, control, text = DEPTH, False, argument.strip()
    while text.startswith("/"):
        option, _, text = text[1:].partition(" ") if " " in text else (text[1:], "", "")
        for word in option.split("/"):
            number = word.removesuffix("c")
            control = control or word.endswith("c")
            depth = parse_int(number, "depth") if number else depth
        text = text.strip()
    if not text:
        raise CommandError("which value?", "why $R4, why out[2], why/8 $F0")
    if depth < 1:
        raise CommandError("a tree is at least one value deep", "why/4 $R4")
    return Card(session.why(text, depth, control=control), tree_lines)
