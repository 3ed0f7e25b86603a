"""A session of a shipped program, and a shell on it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from gpudbg.api.opening import add_launch_flags, open_session
from gpudbg.arguments import Parser
from gpudbg.debug.session import DebugSession
from gpudbg.frontends.repl.shell import Shell

ROOT = Path(__file__).resolve().parents[2]


def story(name: str) -> DebugSession:
    """A session of a shipped story with its own launch table."""
    parser = Parser(prog="test")
    add_launch_flags(parser)
    return open_session(ROOT / "sessions" / name / f"{name}.cubin", parser.parse_args([]))


@pytest.fixture
def session() -> DebugSession:
    return story("first_steps")


class Spoken:
    """A shell whose words can be read."""

    def __init__(self, session: DebugSession) -> None:
        self.out, self.err = io.StringIO(), io.StringIO()
        self.shell = Shell(session, self.out, self.err)

    def say(self, text: str) -> str:
        """Carry out an input; what was printed on both streams."""
        self.shell.push(text)
        said = self.out.getvalue() + self.err.getvalue()
        for stream in (self.out, self.err):
            stream.seek(0)
            stream.truncate()
        return said


@pytest.fixture
def spoken(session: DebugSession) -> Spoken:
    return Spoken(session)
