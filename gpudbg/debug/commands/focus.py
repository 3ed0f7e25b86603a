"""Focus commands: focus, cuda, thread, lane, warp, block, and what is at the focus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.answers import Card, column, typed_row
from gpudbg.answers.formats import COORDINATES
from gpudbg.debug.commands.table import Handler, command
from gpudbg.debug.focus.focus import Dim3, describe, thread_of
from gpudbg.debug.stops.standing import standing_pc
from gpudbg.symbols.listing import CodeLine

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession


@typed_row
class FocusRow:
    """Where the focus is: the hardware's coordinates, CUDA's, and the instruction there."""

    words: str = column(key="")
    where: str = column(key="")
    code: CodeLine | None = column(key="")
    sm: int = column()
    warp: int = column()
    lane: int = column()
    block: Dim3 = column(None, COORDINATES)
    thread: Dim3 = column(None, COORDINATES)
    pc: int = column()
    active: bool = column()

    def lines(self) -> list[str]:
        """The focus for people."""
        out = [self.words, self.where]
        if self.code is not None:
            note = "" if self.active else "   (this lane is not active here)"
            out.append(f"=> {self.code.offset:04x}  {self.code.text}{note}")
        return out


def _shown(session: DebugSession) -> Card:
    assert session.focus is not None
    state = session.warp().state
    focus, pc = session.focus, standing_pc(session, state)
    found = FocusRow(
        words=describe(session.grid, focus),
        where=session.symbols.describe_line(pc),
        code=session.symbols.instruction(pc),
        sm=focus.sm,
        warp=focus.warp,
        lane=focus.lane,
        block=state.cta.block,
        thread=thread_of(state, focus.lane),
        pc=session.symbols.offset(pc),
        active=bool(state.active >> focus.lane & 1),
    )
    return Card(found, FocusRow.lines)


DETAILS = """\
focus                         where the focus is
focus block 1 thread (5,0,0)  by CUDA coordinates
focus sm 0 warp 3 lane 5      by hardware coordinates
What is not named stays as it is.  `cuda` does the same in cuda-gdb's words."""


@command(
    "focus",
    usage="focus [sm N] [warp N] [lane N] | [block (X,Y,Z)] [thread (X,Y,Z)]",
    help="look at another warp, lane, block or thread",
    group="focus",
    needs="stopped",
    details=DETAILS,
)
def focus(session: DebugSession, argument: str) -> Card:
    """Show or move the focus."""
    query = argument.strip() in ("", *("block thread", "kernel block thread", "sm warp lane"))
    if not query and not argument.strip().isalpha():
        session.set_focus(argument)
    return _shown(session)


def _one(word: str) -> Handler:
    def handler(session: DebugSession, argument: str) -> Card:
        if argument:
            session.set_focus(f"{word} {argument}")
        return _shown(session)

    return handler


for _word, _aliases, _usage in (
    ("sm", (), "sm N"),
    ("warp", (), "warp N"),
    ("lane", (), "lane N"),
    ("block", (), "block (X,Y,Z)"),
    ("thread", ("t",), "thread (X,Y,Z)"),
):
    command(
        _word,
        *_aliases,
        usage=_usage,
        help=f"move the focus to another {_word}",
        group="focus",
        needs="stopped",
    )(_one(_word))
