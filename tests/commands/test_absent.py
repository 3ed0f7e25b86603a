"""Commands of gdb's that are not here say so by their name, and what does the work."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudbg.debug.commands.absent import ABSENT
from gpudbg.debug.commands.families import load
from gpudbg.debug.session import DebugSession
from gpudbg.errors import CommandError
from tests.launching import open_story
from tests.variants import rows

TABLE = load()
STEPS = Path(__file__).resolve().parents[2] / "sessions/first_steps/first_steps.cubin"


@pytest.fixture(scope="module")
def session() -> DebugSession:
    return open_story("first_steps")


@rows("name", sorted(ABSENT))
def test_each_is_named(session: DebugSession, name: str) -> None:
    with pytest.raises(CommandError) as caught:
        session.command(f"{name} anything")
    why, hint = ABSENT[name]
    assert str(caught.value) == f"{name}: {why} ({hint})"


def test_what_is_here_is_not_listed() -> None:
    assert not [name for name in ABSENT if TABLE.has(name)]


@rows(
    "name", (Path(__file__).parent / "gdb_names.txt").read_text(encoding="utf-8").split("\n")[:-1]
)
def test_every_command_of_gdb_is_here_or_refused_by_name(session: DebugSession, name: str) -> None:
    """`complete` of gdb 13 lists them."""
    if name in ("end", "else", *"!|<>-+"):
        return  # words of blocks and of the screen, not commands of the table
    try:
        TABLE.resolve(name)
    except CommandError as error:
        words = str(error)
        assert "Undefined command" not in words, words
        assert "has no subcommand" not in words, words
        absent = name in ABSENT or name.partition(" ")[0] in ABSENT
        assert absent or "ambiguous" in words or "needs a subcommand" in words, words
