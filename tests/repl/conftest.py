"""A session of a shipped program, and a shell on it."""

from __future__ import annotations

import io

import pytest

from gpudbg.debug.session import DebugSession
from gpudbg.frontends.repl.shell import Shell
from tests.launching import open_story


@pytest.fixture
def session() -> DebugSession:
    return open_story("first_steps")


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
