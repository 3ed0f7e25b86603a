"""Focus commands: focus, cuda, thread, lane, warp, block, and what is at the focus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.debug.commands.table import Handler, command
from gpudbg.debug.focus.focus import describe, thread_of
from gpudbg.debug.registry import Output
from gpudbg.debug.stops.standing import standing_pc

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession


def _shown(session: DebugSession) -> Output:
    assert session.focus is not None
    state = session.warp().state
    lane = session.focus.lane
    words = describe(session.grid, session.focus)
    code = session.symbols.instruction(standing_pc(session, state))
    lines = [words, f"{session.symbols.describe_line(standing_pc(session, state))}"]
    if code is not None:
        note = "" if state.active >> lane & 1 else "   (this lane is not active here)"
        lines.append(f"=> {code.offset:04x}  {code.text}{note}")
    data = {
        "sm": session.focus.sm,
        "warp": session.focus.warp,
        "lane": lane,
        "block": list(state.cta.block),
        "thread": list(thread_of(state, lane)),
        "pc": session.symbols.offset(standing_pc(session, state)),
        "active": bool(state.active >> lane & 1),
    }
    return Output(tuple(lines), data)


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
def focus(session: DebugSession, argument: str) -> Output:
    """Show or move the focus."""
    query = argument.strip() in ("", *("block thread", "kernel block thread", "sm warp lane"))
    if not query and not argument.strip().isalpha():
        session.set_focus(argument)
    return _shown(session)


def _one(word: str) -> Handler:
    def handler(session: DebugSession, argument: str) -> Output:
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
