"""The prompt's engine: which lines are commands, how values look, rc files and trust."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudbg.debug.commands.families import load
from gpudbg.debug.session import DebugSession
from gpudbg.errors import CommandError
from gpudbg.frontends.repl import app, prompt
from gpudbg.frontends.repl.ipython import attach, transform
from gpudbg.frontends.repl.lines import as_command
from gpudbg.frontends.repl.places import Places
from gpudbg.frontends.repl.show import SHOWN
from tests.launching import open_story
from tests.repl.conftest import Spoken

TABLE = load()
NAMES = {"dbg": 1, "program": 1, "device": 1, "np": 1, "gpudbg": 1}


@pytest.mark.parametrize(
    "line",
    [
        "info warps", "i r", "stepi", "si 5", "c", "continue", "break foo+0x48", "print $R4",
        "print all $R4", "p/x $R4", "x/4i $pc", "x/8dw (@shared int*)0", "thread (5,0,0)",
        "warp 3", "lane 5", "set $R4 = 7", "list", "help info", "!info warps", "! x/4i $pc",
        "display $R4", "until *0x98", "info nonsense", "delete 1", "finish", "quit",
    ],
)  # fmt: skip
def test_commands(line: str) -> None:
    assert as_command(line, TABLE, NAMES) == line.removeprefix("!").strip()


@pytest.mark.parametrize(
    "line",
    [
        "print(x)", "x = 3", "x", "list(range(3))", "dbg", "dbg.stop", "import os", "del y",
        "for i in range(3):", "np.arange(4)", "1 + 1", "help(print)", "set((1, 2))", "r = 5",
        "  info warps", "foo", "lambda: 1", "with open('f') as f: pass", "next(iter([1]))",
        "if 1: pass", "s[0]", "c.x", "# comment", "", "x == 3",
    ],
)  # fmt: skip
def test_python(line: str) -> None:
    names = {**NAMES, "x": 1, "s": 1, "c": 1}
    assert as_command(line, TABLE, names) is None


def test_a_users_name_wins_and_the_mark_forces() -> None:
    assert as_command("step", TABLE, NAMES) == "step"
    assert as_command("step", TABLE, {"step": 4}) is None
    assert as_command("!step", TABLE, {"step": 4}) == "step"


@given(st.text(max_size=60))
def test_any_line_is_one_or_the_other(text: str) -> None:
    found = as_command(text.replace("\n", " "), TABLE, NAMES)
    assert found is None or isinstance(found, str)


# ---- values ----------------------------------------------------------------------------
def test_values_at_the_prompt(spoken: Spoken) -> None:
    assert "################################" in spoken.say("dbg.warp(0)")
    assert "next   0008  MOV R1, c[0x0][0x20]" in spoken.say("dbg.warp(0)")
    assert "=> 0008  MOV R1" in spoken.say("dbg.stop")
    assert spoken.say("dbg").startswith("session of block_max")
    assert "thread (3,0,0), active" in spoken.say("dbg.warp(0).lane(3)")
    assert "705000000  000000fa" in spoken.say("dbg.memory('in', 32)")
    assert "SMId = 0" in spoken.say("dbg.sreg('SR_VIRTID')")
    said = spoken.say("dbg.instruction(0x10)")
    assert "0010  MOV R4, RZ" in said
    assert "writes R4" in said
    assert "Copy" in said
    assert "kernel block_max(8, 8, 4): 12 registers" in spoken.say("program")
    assert "sm_50, 2 SMs" in spoken.say("device")
    assert "i32[4]" in spoken.say("dbg.launch.arguments[1].buffer")
    assert "sm 1 warp 3" in spoken.say("dbg.snapshot()")
    assert "lane 0: 0" in spoken.say("dbg.evaluate('$R4')")
    assert "reads R2 R3" in spoken.say("gpudbg.decode(0x5c10000000370204)")
    assert spoken.say("None") == ""
    assert spoken.say("[1, 2]") == "[1, 2]\n"


def test_a_value_that_has_gone_falls_back_to_its_repr(spoken: Spoken) -> None:
    spoken.say("w = dbg.warp(0)")
    spoken.say("dbg.run()")
    assert spoken.say("w")
    assert "4974" in spoken.say("dbg.stop")


def test_every_view_names_a_type_that_users_meet() -> None:
    assert all(isinstance(kind, type) for kind in SHOWN)


def test_memory_and_registers_are_plain_data(session: DebugSession) -> None:
    memory = session.memory("in", 16)
    assert memory.array(np.int32).tolist() == session.buffer(0)[:4].tolist()
    assert bytes(memory) == memory.data
    assert len(memory) == 16
    assert memory.space == "global"
    found = session.sreg("SR_LANEID")
    assert found.values.tolist() == list(range(32))
    session.set_focus("lane 5")
    assert session.sreg("SR_VIRTID").fields["LaneId"] == 5
    with pytest.raises(CommandError, match="no special register is called 'SR_NOTHING'"):
        session.sreg("SR_NOTHING")
    with pytest.raises(CommandError):
        session.memory(0, 16)


# ---- behaviour -------------------------------------------------------------------------
def test_commands_and_python_share_a_session(spoken: Spoken) -> None:
    spoken.say("stepi 6")
    assert spoken.say("dbg.warp().pc == 0x48") == "True\n"
    spoken.say("info warps")
    assert spoken.say("len(_)") == "8\n"
    assert spoken.say("hex(_)") == "'0x8'\n"


def test_an_empty_line_repeats_a_command(spoken: Spoken) -> None:
    spoken.say("stepi")
    assert "block_max+0x18" in spoken.say("")
    spoken.say("1")
    assert spoken.say("") == ""


def test_errors_are_one_line_or_the_users_own_frames(spoken: Spoken) -> None:
    assert spoken.say("info nothing").count("\n") == 1
    assert spoken.say("dbg.break_at('nowhere')").startswith("gpudbg: ")
    said = spoken.say("1/0")
    assert said.splitlines()[-1] == "ZeroDivisionError: division by zero"
    assert "shell.py" not in said
    assert "SyntaxError" in spoken.say("1 +* 2")


def test_device_printf_is_shown(tmp_path: Path) -> None:
    spoken = Spoken(open_story("first_steps"))
    spoken.shell.dbg.output.write("")
    spoken.shell.names["emit"] = lambda: spoken.shell.dbg.output.write("from the device\n")
    assert spoken.say("emit()") == "from the device\n"


def test_the_end(spoken: Spoken) -> None:
    spoken.say("exit()")
    assert spoken.shell.quit_requested
    assert spoken.shell.exit_code() == 0


def test_exit_code_of_a_fault() -> None:
    spoken = Spoken(open_story("out_of_bounds"))
    assert "MMU_FAULT" in spoken.say("continue")
    assert spoken.shell.exit_code() == 3


def test_another_session_takes_over(spoken: Spoken) -> None:
    spoken.say("dbg = program.launch('block_max', 4, 64, [np.zeros(256, np.int32), dbg.launch"
               ".arguments[1].buffer, 250])")  # fmt: skip
    assert "block_max ended" in spoken.say("continue")


def test_ipython_lines(spoken: Spoken) -> None:
    shell = spoken.shell
    assert transform(shell, ["info warps\n"]) == ["__gpudbg_command__('info warps')\n"]
    assert transform(shell, ["!x/4i $pc\n"]) == ["__gpudbg_command__('x/4i $pc')\n"]
    for lines in (["x = 3\n"], ["info warps\n", "b\n"], ["dbg.warp(0)\n"]):
        assert transform(shell, lines) == lines


# ---- files -----------------------------------------------------------------------------
SCRIPT = """\
# a comment
def twice(n):
    if n:
        return 2 * n

    return 0

rows = [
    twice(2),
    twice(3),
]
stepi 6
try:
    1 / 0
except ZeroDivisionError:
    rows.append(dbg.warp().pc)
rows
"""


def test_a_file_mixes_blocks_and_commands(spoken: Spoken, tmp_path: Path) -> None:
    file = tmp_path / "rc"
    file.write_text(SCRIPT)
    spoken.shell.run_file(file)
    assert spoken.out.getvalue().splitlines()[-1] == "[4, 6, 72]"


def test_a_file_stops_at_what_fails(spoken: Spoken, tmp_path: Path) -> None:
    file = tmp_path / "rc"
    file.write_text("a = 1\ninfo nonsense\na = 2\n")
    with pytest.raises(CommandError, match="rc:2: a line of the file failed"):
        spoken.shell.run_file(file)
    assert spoken.shell.names["a"] == 1
    assert "cannot read" in spoken.say("source /nowhere/at/all")


def test_lines_of_a_stream(spoken: Spoken) -> None:
    assert prompt.read_stream(spoken.shell, io.StringIO("a = 4\nfor i in range(2):\n  a += i\na\n"))
    assert spoken.out.getvalue() == "5\n"


def places(tmp_path: Path) -> Places:
    for name in ("config", "project"):
        (tmp_path / name).mkdir(exist_ok=True)
    return Places(tmp_path / "config", tmp_path / "state", tmp_path / "project")


def test_trust_is_of_a_file_with_its_content(tmp_path: Path) -> None:
    here = places(tmp_path)
    assert here.project_rc is None
    rc = here.project / ".gpudbgrc"
    rc.write_text("a = 1\n")
    assert here.project_rc == rc
    assert not here.trusts(rc)
    here.trust(rc)
    assert here.trusts(rc)
    rc.write_text("a = 2\n")
    assert not here.trusts(rc)
    (here.state / "trusted.json").write_text("nonsense")
    assert not here.trusts(rc)


def test_rc_files_without_a_terminal(
    session: DebugSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    here = places(tmp_path)
    here.rc.write_text("mine = 'user'\n")
    (here.project / ".gpudbgrc").write_text("mine = 'project'\n")
    for trust, expected in ((False, "'user'"), (True, "'project'"), (False, "'project'")):
        monkeypatch.setattr("sys.stdin", io.StringIO("mine\n"))
        assert app.run_repl(session, trust=trust, places=here) == 0
        said = capsys.readouterr()
        assert said.out.strip() == expected
        assert ("is not trusted" in said.err) == (expected == "'user'")


def test_a_broken_rc_is_told_and_passed(
    session: DebugSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    here = places(tmp_path)
    here.rc.write_text("info nonsense\n")
    monkeypatch.setattr("sys.stdin", io.StringIO("1 + 1\n"))
    app.run_repl(session, places=here)
    said = capsys.readouterr()
    assert said.out == "2\n"
    assert ".gpudbgrc:1: a line of the file failed" in said.err


def test_ipython_completes_and_complains_as_the_prompt_does(
    spoken: Spoken, capsys: pytest.CaptureFixture[str]
) -> None:
    """A real IPython shell, without a terminal."""
    from IPython.core.completer import provisionalcompleter
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    shell = spoken.shell
    config = Config()
    config.HistoryManager.enabled = False
    ipython = InteractiveShell(config=config, user_ns=shell.names)
    attach(ipython, shell)

    def completed(text: str) -> set[str]:
        with provisionalcompleter():
            found = list(ipython.Completer.completions(text, len(text)))
        return {text[: c.start] + c.text + text[c.end :] for c in found}

    for text, whole in (
        ("info regi", "info registers"),
        ("!info regi", "!info registers"),
        ("print $R1", "print $R11"),
        ("dbg.warp(0).lane(3", "dbg.warp(0).lane(31"),
        ("dbg.break_at('blo", "dbg.break_at('block_max"),
        ("np.aran", "np.arange"),
    ):
        assert whole in completed(text), text
    ipython.run_cell("stepi")
    ipython.run_cell("dbg.break_at('nowhere')")
    assert "=> 0010" in spoken.out.getvalue()
    assert spoken.err.getvalue().count("\n") == 1
    ipython.run_cell("step = 3")
    ipython.run_cell("step")
    assert "3" in capsys.readouterr().out
    ipython.run_cell("dbg.stop")
    assert "=> 0010" in capsys.readouterr().out
    del shell.names["dbg"]
    assert shell.exit_code() == 0
