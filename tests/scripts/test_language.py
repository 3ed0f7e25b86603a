"""gdb's command language, held against what gdb 13 answers to the same scripts."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

import gpudbg
from gpudbg.debug.inferior import Inferior
from gpudbg.debug.script import host
from gpudbg.debug.session import DebugSession
from gpudbg.debug.values.evaluation import evaluate
from gpudbg.errors import CommandError
from gpudbg.expr.evaluation import Result
from gpudbg.frontends.console.console import Console
from tests.launching import FIRST

LANGUAGE = Path(__file__).resolve().parent / "language"
SCRIPTS = sorted(LANGUAGE.glob("*.gdb"))
WRONG = sorted((LANGUAGE / "errors").glob("*.gdb"))


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> DebugSession:
    monkeypatch.chdir(LANGUAGE)
    return gpudbg.open(str(FIRST))


def console(session: DebugSession) -> tuple[Console, io.StringIO, io.StringIO]:
    out, err = io.StringIO(), io.StringIO()
    return Console(session, out, err), out, err


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.stem)
def test_answers_as_gdb_does(session: DebugSession, script: Path) -> None:
    said, out, err = console(session)
    assert said.execute(f"source {script.name}"), err.getvalue()
    assert out.getvalue().rstrip("\n") == script.with_suffix(".out").read_text().rstrip("\n")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.stem)
def test_one_answer_from_python(session: DebugSession, script: Path) -> None:
    found = session.command(script.read_text())
    assert found.text.rstrip("\n") == script.with_suffix(".out").read_text().rstrip("\n")


@pytest.mark.parametrize("script", WRONG, ids=lambda p: p.stem)
def test_fails_as_gdb_does(
    session: DebugSession, script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was said before is the same; the message has gdb's words or names the line."""
    monkeypatch.chdir(script.parent)
    *said, place, why = script.with_suffix(".out").read_text().splitlines()
    talk, out, err = console(session)
    assert not talk.execute(f"source {script.name}")
    assert out.getvalue().splitlines() == said
    assert re.match(r"\S+\.gdb:\d+: Error in sourced command file:$", place)
    message = err.getvalue()
    assert message.count("\n") == 1
    assert re.match(rf"gpudbg: {script.name}:\d+: ", message)
    assert why.rstrip(".") in message


def test_lines_of_errors(session: DebugSession, tmp_path: Path) -> None:
    """A message names each place it came through: the call, and the line of the command."""
    inner, outer = tmp_path / "inner.gdb", tmp_path / "outer.gdb"
    inner.write_text("define f\n  if 1\n    print zork\n  end\nend\nf\n")
    outer.write_text(f"\nsource {inner}\n")
    with pytest.raises(CommandError) as failure:
        session.command(f"source {outer}")
    text = str(failure.value)
    assert text.startswith(f"{outer}:2: source {inner}: {inner}:6: f: {inner}:3: print zork: No sy")


def test_console_blocks_over_lines(session: DebugSession) -> None:
    talk, out, err = console(session)
    for line in ("define hello", "echo hello $arg0\\n", "end", "hello world"):
        assert talk.execute(line)
    assert out.getvalue() == "hello world\n"
    assert talk.execute("while 1")
    assert talk.pending == "while 1"
    assert not talk.finish()
    assert "no `end`" in err.getvalue()


BREAK = "break block_max+0x178\ncommands\n{}\nend\nrun\n"


def test_commands_at_a_stop(session: DebugSession) -> None:
    body = 'silent\nif threadIdx.x == 0\nprintf "x=%d\\n", threadIdx.x\ncontinue\nend\necho here\\n'
    out = session.command(BREAK.format(body) + "echo after\\n").text
    assert out.splitlines()[1:] == ["x=0", "here", "after"]


def test_commands_nest_and_are_kept_with_temporary_breakpoints(session: DebugSession) -> None:
    text = session.command(
        "tbreak block_max+0x28\ncommands\nsilent\necho first\\n\nbreak block_max+0x178\n"
        "commands\nsilent\necho second\\n\nend\ncontinue\nend\nrun\n"
    ).text
    assert "first\n" in text
    assert text.endswith("second")
    shown = session.command("info breakpoints").text
    assert "        silent\n        echo second\\n" in shown


def test_commands_of_a_line_from_python(session: DebugSession) -> None:
    session.command("break block_max+0x178\ncommands\nsilent\necho met\\n\nend")
    assert session.command("run").text == "met"
    assert session.breakpoints.get(1).to_json()["commands"] == ["silent", "echo met\\n"]


def test_variables_without_a_warp(session: DebugSession) -> None:
    """Before the first run, at the end and after `kill`."""
    session.command("run")
    assert session.finished
    assert session.command("set $n = 4\nprint $n + 1\nprint $nope").text == "$1 = 5\n$2 = void"
    session.kill()
    assert session.command("set $n = 6\nprint $n").text == "$3 = 6"
    with pytest.raises(CommandError, match="no warp"):
        session.command("print $R4")


def test_an_interrupt_ends_a_loop(session: DebugSession, monkeypatch: pytest.MonkeyPatch) -> None:
    session.command('define hook-echo\nprintf ""\nend')
    calls = []

    def counted(inferior: Inferior, text: str) -> Result:
        calls.append(text)
        if len(calls) == 50:
            session.interrupt()
        return evaluate(inferior, text)

    monkeypatch.setattr(host, "evaluate", counted)
    with pytest.raises(CommandError, match="interrupted"):
        session.command("while 1\nend")
    assert len(calls) == 50


def test_other_programs_are_not_started(session: DebugSession, tmp_path: Path) -> None:
    file = tmp_path / "stranger.gdb"
    for line in ("shell id", "!id", "make all", "pipe info warps | cat", "| echo a | cat"):
        file.write_text(line + "\n")
        with pytest.raises(CommandError, match="shell commands are off"):
            session.command(f"source {file}")
    for line in ("set shell on", "python print(1)", "python\nprint(1)\nend"):
        file.write_text(line + "\n")
        with pytest.raises(CommandError):
            session.command(f"source {file}")
    session.scripting.scope.shell = True
    assert session.command("shell echo yes; exit 3").text == "yes"
    assert session.command("print $_shell_exitcode").text == "$1 = 3"
    assert session.command("pipe echo a\\n | tr a b").text == "b"
